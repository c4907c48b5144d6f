"""Add the hashes of past days and the exchange rates.

Safe on a live database: two new tables, and nothing is rewritten.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_seal_days"
down_revision = "2026_11_29_switch_sources"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "snapshot",
        _text("day"),
        _text("methodology_version"),
        _text("sha256"),
        sa.Column("offers_count", sa.Integer(), nullable=False),
        sa.Column("last_offer_id", BIG, nullable=False),
        sa.Column("made_at", BIG, nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_snapshot"),
        sqlite_strict=True,
    )
    op.create_table(
        "fx_rate",
        _text("day"),
        _text("currency"),
        _text("usd_per_unit"),
        _text("source_url"),
        _text("capture_sha256"),
        sa.PrimaryKeyConstraint("day", "currency", name="pk_fx_rate"),
        sqlite_strict=True,
    )


def downgrade() -> None:
    op.drop_table("fx_rate")
    op.drop_table("snapshot")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)
