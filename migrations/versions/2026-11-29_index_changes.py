"""Index when prices begin, when they were announced, and when an accelerator was first offered.

Each index is built in one pass over its table; nothing is rewritten, and no reader needs them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_index_changes"
down_revision = "2026_11_29_create_offers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_price_valid_from", "price", ["valid_from"])
    op.create_index(
        "ix_price_announced_observed_at",
        "price",
        ["observed_at"],
        sqlite_where=sa.text("announced = 1"),
        postgresql_where=sa.text("announced"),
    )
    op.create_index("ix_offer_accelerator_first_seen_at", "offer", ["accelerator", "first_seen_at"])


def downgrade() -> None:
    op.drop_index("ix_offer_accelerator_first_seen_at", "offer")
    op.drop_index("ix_price_announced_observed_at", "price")
    op.drop_index("ix_price_valid_from", "price")
