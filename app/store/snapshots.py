"""Seals: what the board of a past day hashes to, over facts that nothing may change once the day is past.

In the hash stand, for each offer whose price held at the day's last second: its key (which names provider,
SKU, accelerator, count, terms and region), the price as printed, its currency and basis, the normalised
micro-dollars, whether it is a floor, and since when it held. Left out is what may change in place: an offer's
other words, when it was last seen, and every figure that is derived on read.

A snapshot covers the offers that were known when it was made. History of others that is carried in later does
not change it, and `publish` moves whatever it would change of a covered offer to the first day not sealed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Text, func, insert, select, type_coerce

from app.store.queries import holds_at
from app.store.tables import data_version, offer, price, snapshot
from app.store.types import BIG_INTEGER, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The hash of one day's board: by which formulas, over how many offers, and when it was made (UTC)."""

    day: date
    methodology_version: str
    sha256: str
    offers_count: int
    last_offer_id: int
    made_at: datetime


class Digest(NamedTuple):
    """What a day's board hashes to now, and over how many offers."""

    sha256: str
    offers_count: int


def seal(connection: Connection, day: date, *, methodology_version: str, now: datetime) -> Snapshot:
    """Hash a past day and keep the hash; raises IntegrityError for a day that is sealed already.

    The caller writes in this transaction, and holds `lock_prices`, so that no publish is half way.
    """
    last = connection.execute(select(func.max(offer.c.id))).scalar_one() or 0
    found = digest(connection, day, methodology_version=methodology_version, last_offer_id=last)
    made = Snapshot(
        day=day,
        methodology_version=methodology_version,
        sha256=found.sha256,
        offers_count=found.offers_count,
        last_offer_id=last,
        made_at=now,
    )
    names = Snapshot.__dataclass_fields__
    row = {name: getattr(made, name) for name in names} | {"day": day.isoformat()}
    connection.execute(insert(snapshot).values(**row))
    return made


def lock_prices(connection: Connection) -> None:
    """Wait for a publish that is under way, and let none begin before this transaction ends.

    On SQLite a writing transaction has that to itself already, and FOR UPDATE is left out.
    """
    connection.execute(select(data_version.c.id).with_for_update())


def digest(connection: Connection, day: date, *, methodology_version: str, last_offer_id: int) -> Digest:
    """Return what a day's board hashes to over the offers up to an id; the same on either database."""
    query = (
        select(
            offer.c.key,
            type_coerce(price.c.list_price, Text),
            price.c.currency,
            price.c.price_basis,
            price.c.usd_micros_per_gpu_hour,
            price.c.is_floor,
            type_coerce(price.c.valid_from, BIG_INTEGER),
        )
        .select_from(price.join(offer, offer.c.id == price.c.offer_id))
        .where(holds_at(last_second(day)), offer.c.id <= last_offer_id)
    )
    # Sorted here: two databases need not agree on the order of texts.
    lines = sorted(to_json(list(row)) for row in connection.execute(query))
    head = to_json({"day": day.isoformat(), "methodology_version": methodology_version})
    text = "\n".join([head, *lines, ""])
    return Digest(hashlib.sha256(text.encode()).hexdigest(), len(lines))


def snapshots(connection: Connection) -> list[Snapshot]:
    """Return every snapshot, oldest day first."""
    return [_snapshot(row) for row in connection.execute(select(snapshot).order_by(snapshot.c.day))]


def _snapshot(row: Row[Any]) -> Snapshot:
    fields = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name for a row by column
    return Snapshot(**{**fields, "day": date.fromisoformat(fields["day"])})


def sealed_until(connection: Connection, offer_ids: Sequence[int]) -> datetime | None:
    """Return the first moment at which prices of these offers may change, None when no day covers them."""
    if not offer_ids:
        return None
    newest = select(func.max(snapshot.c.day)).where(snapshot.c.last_offer_id >= min(offer_ids))
    day: str | None = connection.execute(newest).scalar_one()
    return None if day is None else last_second(date.fromisoformat(day)) + timedelta(seconds=1)


def sealed_until_of(connection: Connection, provider: str) -> datetime | None:
    """Return the same for all offers that a provider has ever had."""
    first = connection.execute(select(func.min(offer.c.id)).where(offer.c.provider == provider)).scalar_one()
    return None if first is None else sealed_until(connection, [first])


def last_second(day: date) -> datetime:
    """Return the last second of a day in UTC, the instant that stands for the day."""
    return datetime.combine(day, time(), UTC) + timedelta(days=1, seconds=-1)
