"""Create the offers, their prices, and the runs, captures and findings behind them.

Safe on any database: nothing is there yet.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "2026_11_29_create_offers"
down_revision = None
branch_labels = None
depends_on = None

# Spelled out here and not imported: a migration must go on making the tables of its own day.
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FLAG = sa.Boolean().with_variant(sa.Integer(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")
CHILDREN_FIRST = ("data_version", "quarantine", "finding", "capture", "price", "scrape_run", "offer")


def _id() -> sa.Column[int]:
    return sa.Column("id", BIG, autoincrement=True, nullable=False)


def _own_id() -> sa.Column[int]:
    return sa.Column("id", BIG, autoincrement=False, nullable=False)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def _run_id() -> sa.Column[int]:
    return sa.Column("run_id", BIG, nullable=False)


def _key(table: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint("id", name=f"pk_{table}")


def _of_run(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run_id"], ["scrape_run.id"], name=f"fk_{table}_run_id")


def upgrade() -> None:
    _create_offer()
    _create_scrape_run()
    _create_price()
    _create_capture()
    _create_finding()
    _create_quarantine()
    _create_data_version()


def downgrade() -> None:
    for table in CHILDREN_FIRST:
        op.drop_table(table)


def _create_offer() -> None:
    op.create_table(
        "offer",
        _own_id(),
        _text("key"),
        _text("provider"),
        _text("sku"),
        sa.Column("accelerator", sa.Text()),
        sa.Column("family", sa.Text()),
        _text("accelerator_as_written"),
        sa.Column("slice_of", sa.Text()),
        sa.Column("variant_assumed", FLAG, nullable=False),
        sa.Column("gpu_count", sa.Integer(), nullable=False),
        sa.Column("min_gpus", sa.Integer(), nullable=False),
        _text("service_kind"),
        _text("pricing_model"),
        _text("provider_term"),
        _text("tier"),
        sa.Column("term_days_min", sa.Integer()),
        sa.Column("term_days_max", sa.Integer()),
        _text("region"),
        sa.Column("memory_gb_as_written", sa.Text()),
        _text("assumptions"),
        sa.Column("first_seen_at", BIG, nullable=False),
        sa.Column("last_seen_at", BIG, nullable=False),
        sa.Column("closed_at", BIG),
        _key("offer"),
        sa.UniqueConstraint("key", name="uq_offer_key"),
        sa.CheckConstraint("gpu_count > 0", name=op.f("ck_offer_gpu_count_above_zero")),
        sa.CheckConstraint("min_gpus > 0", name=op.f("ck_offer_min_gpus_above_zero")),
        sqlite_strict=True,
    )
    op.create_index("ix_offer_provider", "offer", ["provider"])


def _create_scrape_run() -> None:
    op.create_table(
        "scrape_run",
        _id(),
        _text("source"),
        _text("slot"),
        _text("provider"),
        sa.Column("started_at", BIG, nullable=False),
        sa.Column("finished_at", BIG),
        sa.Column("outcome", sa.Text()),
        _text("sentence"),
        sa.Column("offers_count", sa.Integer()),
        sa.Column("observed_at", BIG),
        _key("scrape_run"),
        sa.UniqueConstraint("source", "slot", name="uq_scrape_run_source_slot"),
        sa.CheckConstraint(
            "outcome IN ('published', 'unchanged', 'quarantined', 'refused', 'failed')",
            name=op.f("ck_scrape_run_known_outcome"),
        ),
        sqlite_strict=True,
    )
    op.create_index("ix_scrape_run_provider_observed_at", "scrape_run", ["provider", "observed_at"])


def _create_price() -> None:
    op.create_table(
        "price",
        _own_id(),
        sa.Column("offer_id", BIG, nullable=False),
        sa.Column("valid_from", BIG, nullable=False),
        sa.Column("valid_to", BIG),
        _text("list_price"),
        _text("currency"),
        _text("price_basis"),
        sa.Column("usd_micros_per_gpu_hour", BIG),
        sa.Column("is_floor", FLAG, nullable=False),
        sa.Column("announced", FLAG, nullable=False),
        sa.Column("confirmed_at", BIG),
        _text("source_url"),
        _text("fragment"),
        _text("capture_sha256"),
        _run_id(),
        sa.Column("observed_at", BIG, nullable=False),
        _key("price"),
        sa.ForeignKeyConstraint(["offer_id"], ["offer.id"], name="fk_price_offer_id"),
        _of_run("price"),
        sa.CheckConstraint("valid_to > valid_from", name=op.f("ck_price_ends_after_it_starts")),
        sa.CheckConstraint("usd_micros_per_gpu_hour > 0", name=op.f("ck_price_above_zero")),
        sa.CheckConstraint(
            "(currency = 'USD') = (usd_micros_per_gpu_hour IS NOT NULL)",
            name=op.f("ck_price_normalised_when_in_dollars"),
        ),
        sqlite_strict=True,
    )
    still_open = sa.text("valid_to IS NULL")
    op.create_index(
        "uq_price_open",
        "price",
        ["offer_id"],
        unique=True,
        sqlite_where=still_open,
        postgresql_where=still_open,
    )
    op.create_index("ix_price_offer_id_valid_to", "price", ["offer_id", "valid_to"])
    op.create_index("ix_price_valid_to_valid_from", "price", ["valid_to", "valid_from"])


def _create_capture() -> None:
    op.create_table(
        "capture",
        _id(),
        _text("sha256"),
        _text("url"),
        _text("method"),
        _text("request_sha256"),
        sa.Column("fetched_at", BIG, nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", JSON, nullable=False),
        _text("content_type"),
        sa.Column("size_bytes", BIG, nullable=False),
        _run_id(),
        _key("capture"),
        _of_run("capture"),
        sqlite_strict=True,
    )
    op.create_index("ix_capture_request", "capture", ["url", "method", "request_sha256", "fetched_at"])
    op.create_index("ix_capture_run_id", "capture", ["run_id"])
    op.create_index("ix_capture_sha256", "capture", ["sha256"])


def _create_finding() -> None:
    op.create_table(
        "finding",
        _id(),
        _run_id(),
        _text("code"),
        _text("level"),
        _text("sentence"),
        sa.Column("evidence", JSON, nullable=False),
        _key("finding"),
        _of_run("finding"),
        sa.CheckConstraint("level IN ('info', 'warning', 'hold')", name=op.f("ck_finding_known_level")),
        sqlite_strict=True,
    )
    op.create_index("ix_finding_run_id", "finding", ["run_id"])


def _create_quarantine() -> None:
    op.create_table(
        "quarantine",
        _id(),
        _run_id(),
        _text("provider"),
        sa.Column("payload", JSON, nullable=False),
        _text("state"),
        sa.Column("decided_at", BIG),
        _text("because"),
        _key("quarantine"),
        _of_run("quarantine"),
        sa.UniqueConstraint("run_id", name="uq_quarantine_run_id"),
        sa.CheckConstraint(
            "state IN ('held', 'approved', 'rejected')", name=op.f("ck_quarantine_known_state")
        ),
        sqlite_strict=True,
    )


def _create_data_version() -> None:
    table = op.create_table(
        "data_version",
        _own_id(),
        sa.Column("version", BIG, nullable=False),
        sa.Column("changed_at", BIG),
        _key("data_version"),
        sa.CheckConstraint("id = 1", name=op.f("ck_data_version_single_row")),
        sqlite_strict=True,
    )
    op.bulk_insert(table, [{"id": 1, "version": 0, "changed_at": None}])
