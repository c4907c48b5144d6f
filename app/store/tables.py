"""The tables: offers, their prices over time, the runs that brought them, sealed days, exchange rates."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from app.store.types import BIG_INTEGER, ExactDecimal, Flag, Json, Texts, UtcSeconds

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def _id() -> Column[int]:
    """Return an id that the database counts up."""
    return Column("id", BIG_INTEGER, primary_key=True)


def _own_id() -> Column[int]:
    """Return an id that the writer hands out under its lock, so that new rows can name each other."""
    return Column("id", BIG_INTEGER, primary_key=True, autoincrement=False)


def _text(name: str, **options: Any) -> Column[str]:
    """Return a text column that is never null: a word that is not there is the empty text."""
    return Column(name, Text, nullable=False, **options)


offer: Final = Table(
    "offer",
    metadata,
    _own_id(),
    _text("key", unique=True),
    _text("provider", index=True),
    _text("sku"),
    Column("accelerator", Text),
    Column("family", Text),
    _text("accelerator_as_written"),
    Column("slice_of", Text),
    Column("variant_assumed", Flag, nullable=False),
    Column("gpu_count", Integer, nullable=False),
    Column("min_gpus", Integer, nullable=False),
    _text("service_kind"),
    _text("pricing_model"),
    _text("provider_term"),
    _text("tier"),
    Column("term_days_min", Integer),
    Column("term_days_max", Integer),
    _text("region"),
    Column("memory_gb_as_written", ExactDecimal),
    Column("assumptions", Texts, nullable=False),
    Column("first_seen_at", UtcSeconds, nullable=False),
    Column("last_seen_at", UtcSeconds, nullable=False),
    Column("closed_at", UtcSeconds),
    CheckConstraint("gpu_count > 0", name="gpu_count_above_zero"),
    CheckConstraint("min_gpus > 0", name="min_gpus_above_zero"),
    Index("ix_offer_accelerator_first_seen_at", "accelerator", "first_seen_at"),
    sqlite_strict=True,
)

scrape_run: Final = Table(
    "scrape_run",
    metadata,
    _id(),
    _text("source"),
    _text("slot"),
    _text("provider"),
    Column("started_at", UtcSeconds, nullable=False),
    Column("finished_at", UtcSeconds),
    Column("outcome", Text),
    _text("sentence"),
    Column("offers_count", Integer),
    Column("observed_at", UtcSeconds),
    UniqueConstraint("source", "slot"),
    CheckConstraint(
        "outcome IN ('published', 'unchanged', 'quarantined', 'refused', 'failed')", name="known_outcome"
    ),
    Index("ix_scrape_run_provider_observed_at", "provider", "observed_at"),
    sqlite_strict=True,
)

price: Final = Table(
    "price",
    metadata,
    _own_id(),
    Column("offer_id", BIG_INTEGER, ForeignKey("offer.id"), nullable=False),
    Column("valid_from", UtcSeconds, nullable=False),
    Column("valid_to", UtcSeconds),
    Column("list_price", ExactDecimal, nullable=False),
    _text("currency"),
    _text("price_basis"),
    Column("usd_micros_per_gpu_hour", BIG_INTEGER),
    Column("is_floor", Flag, nullable=False),
    # `announced`: the page printed the start. `confirmed_at`: the first run that saw it as the current price.
    Column("announced", Flag, nullable=False),
    Column("confirmed_at", UtcSeconds),
    _text("source_url"),
    _text("fragment"),
    _text("capture_sha256"),
    Column("run_id", BIG_INTEGER, ForeignKey("scrape_run.id"), nullable=False),
    Column("observed_at", UtcSeconds, nullable=False),
    CheckConstraint("valid_to > valid_from", name="ends_after_it_starts"),
    CheckConstraint("usd_micros_per_gpu_hour > 0", name="above_zero"),
    CheckConstraint(
        "(currency = 'USD') = (usd_micros_per_gpu_hour IS NOT NULL)", name="normalised_when_in_dollars"
    ),
    sqlite_strict=True,
)
Index(
    "uq_price_open",
    price.c.offer_id,
    unique=True,
    sqlite_where=price.c.valid_to.is_(None),
    postgresql_where=price.c.valid_to.is_(None),
)
# Both lead to the prices that hold at an instant without passing those that ended before it.
Index("ix_price_offer_id_valid_to", price.c.offer_id, price.c.valid_to)
Index("ix_price_valid_to_valid_from", price.c.valid_to, price.c.valid_from)
# What happened on a day: which prices began, and which were announced.
Index("ix_price_valid_from", price.c.valid_from)
Index(
    "ix_price_announced_observed_at",
    price.c.observed_at,
    sqlite_where=text("announced = 1"),
    postgresql_where=text("announced"),
)

capture: Final = Table(
    "capture",
    metadata,
    _id(),
    _text("sha256", index=True),
    _text("url"),
    _text("method"),
    _text("request_sha256"),
    Column("fetched_at", UtcSeconds, nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", Json, nullable=False),
    _text("content_type"),
    Column("size_bytes", BIG_INTEGER, nullable=False),
    Column("run_id", BIG_INTEGER, ForeignKey("scrape_run.id"), nullable=False, index=True),
    Index("ix_capture_request", "url", "method", "request_sha256", "fetched_at"),
    sqlite_strict=True,
)

finding: Final = Table(
    "finding",
    metadata,
    _id(),
    Column("run_id", BIG_INTEGER, ForeignKey("scrape_run.id"), nullable=False, index=True),
    _text("code"),
    _text("level"),
    _text("sentence"),
    Column("evidence", Json, nullable=False),
    CheckConstraint("level IN ('info', 'warning', 'hold')", name="known_level"),
    sqlite_strict=True,
)

quarantine: Final = Table(
    "quarantine",
    metadata,
    _id(),
    Column("run_id", BIG_INTEGER, ForeignKey("scrape_run.id"), nullable=False, unique=True),
    _text("provider"),
    Column("payload", Json, nullable=False),
    _text("state"),
    Column("decided_at", UtcSeconds),
    _text("because"),
    # Later runs that read the very same offers and were held as well, and when the last of them was.
    Column("agreeing_runs", Integer, nullable=False),
    Column("agreed_at", UtcSeconds),
    CheckConstraint("state IN ('held', 'approved', 'rejected', 'superseded')", name="known_state"),
    sqlite_strict=True,
)

source_switch: Final = Table(
    "source_switch",
    metadata,
    _text("provider", primary_key=True),
    Column("is_on", Flag, nullable=False),
    _text("because"),
    Column("changed_at", UtcSeconds, nullable=False),
    sqlite_strict=True,
)

data_version: Final = Table(
    "data_version",
    metadata,
    _own_id(),
    Column("version", BIG_INTEGER, nullable=False),
    Column("changed_at", UtcSeconds),
    CheckConstraint("id = 1", name="single_row"),
    sqlite_strict=True,
)

# What a past day's board hashed to when it was sealed; `last_offer_id` is the last offer known then.
snapshot: Final = Table(
    "snapshot",
    metadata,
    _text("day", primary_key=True),
    _text("methodology_version"),
    _text("sha256"),
    Column("offers_count", Integer, nullable=False),
    Column("last_offer_id", BIG_INTEGER, nullable=False),
    Column("made_at", UtcSeconds, nullable=False),
    sqlite_strict=True,
)

fx_rate: Final = Table(
    "fx_rate",
    metadata,
    _text("day", primary_key=True),
    _text("currency", primary_key=True),
    Column("usd_per_unit", ExactDecimal, nullable=False),
    _text("source_url"),
    _text("capture_sha256"),
    sqlite_strict=True,
)
