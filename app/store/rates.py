"""Exchange rates as they are stored: one for each day and currency, written once and never changed."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from sqlalchemy import func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.domain.rates import LONGEST_USE, Rate
from app.store.tables import data_version, fx_rate, price

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection


def rates_at(connection: Connection, day: date) -> Mapping[str, Rate]:
    """Return the latest rate of each currency that is not after a day, and not too old for it."""
    oldest = (max(day, date.min + LONGEST_USE) - LONGEST_USE).isoformat()
    query = (
        select(fx_rate.c.day, fx_rate.c.currency, fx_rate.c.usd_per_unit, fx_rate.c.source_url)
        .where(fx_rate.c.day <= day.isoformat(), fx_rate.c.day >= oldest)
        .order_by(fx_rate.c.day)
    )
    return {
        currency: Rate(
            day=date.fromisoformat(of_day), currency=currency, usd_per_unit=usd, source_url=source_url
        )
        for of_day, currency, usd, source_url in connection.execute(query)
    }


def newest_day(connection: Connection) -> date | None:
    """Return the last day with a rate, or None without any."""
    day: str | None = connection.execute(select(func.max(fx_rate.c.day))).scalar_one()
    return None if day is None else date.fromisoformat(day)


def are_needed(connection: Connection) -> bool:
    """Tell whether any price that stands now is in another currency than dollars."""
    other = select(price.c.id).where(price.c.valid_to.is_(None), price.c.currency != "USD").limit(1)
    return connection.execute(other).first() is not None


def keep_rates(connection: Connection, rates: Iterable[Rate], *, capture_sha256: str) -> int:
    """Store rates of days that have none yet, and return how many are new; what is stored stays as it is.

    With new rates the data version goes up, since they are part of the board.
    """
    dialect_insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    added = 0
    for each in rates:
        row = {
            "day": each.day.isoformat(),
            "currency": each.currency,
            "usd_per_unit": each.usd_per_unit,
            "source_url": each.source_url,
            "capture_sha256": capture_sha256,
        }
        insert = dialect_insert(fx_rate).values(row).on_conflict_do_nothing().returning(fx_rate.c.day)
        added += connection.execute(insert).first() is not None
    if added:
        connection.execute(update(data_version).values(version=data_version.c.version + 1))
    return added
