"""Keep which sources the operator turned on or off, and what became of held runs that were overtaken.

The held runs are few and are copied in one transaction; nothing refers to them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "2026_11_29_switch_sources"
down_revision = "2026_11_29_index_changes"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FLAG = sa.Boolean().with_variant(sa.Integer(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "source_switch",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("is_on", FLAG, nullable=False),
        sa.Column("because", sa.Text(), nullable=False),
        sa.Column("changed_at", BIG, nullable=False),
        sa.PrimaryKeyConstraint("provider", name="pk_source_switch"),
        sqlite_strict=True,
    )
    again = (
        sa.Column("agreeing_runs", sa.Integer(), nullable=False),
        sa.Column("agreed_at", BIG),
    )
    _remake_quarantine(
        "state IN ('held', 'approved', 'rejected', 'superseded')",
        again,
        "INSERT INTO quarantine"
        " SELECT id, run_id, provider, payload, state, decided_at, because, 0, NULL FROM kept",
    )


def downgrade() -> None:
    _remake_quarantine(
        "state IN ('held', 'approved', 'rejected')",
        (),
        "INSERT INTO quarantine SELECT id, run_id, provider, payload,"
        " CASE state WHEN 'superseded' THEN 'rejected' ELSE state END, decided_at, because FROM kept",
    )
    op.drop_table("source_switch")


def _remake_quarantine(states: str, more: tuple[sa.Column[int], ...], put_back: str) -> None:
    """Make the table again with these states and columns: SQLite cannot change a constraint in place."""
    op.execute("CREATE TEMPORARY TABLE kept AS SELECT * FROM quarantine")
    op.drop_table("quarantine")
    op.create_table(
        "quarantine",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("payload", JSON, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("decided_at", BIG),
        sa.Column("because", sa.Text(), nullable=False),
        *more,
        sa.PrimaryKeyConstraint("id", name="pk_quarantine"),
        sa.ForeignKeyConstraint(["run_id"], ["scrape_run.id"], name="fk_quarantine_run_id"),
        sa.UniqueConstraint("run_id", name="uq_quarantine_run_id"),
        sa.CheckConstraint(states, name=op.f("ck_quarantine_known_state")),
        sqlite_strict=True,
    )
    op.execute(put_back)
    op.execute("DROP TABLE kept")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "SELECT setval(pg_get_serial_sequence('quarantine', 'id'), (SELECT max(id) FROM quarantine))"
            " FROM quarantine LIMIT 1"
        )
