"""An offer as the store knows it at one instant: the offer, its price then, and since when each is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from app.domain.offers import Offer, PriceBasis
    from app.domain.rates import Rate


def utc(value: datetime) -> str:
    """Return a UTC time to the second as RFC 3339 writes it (strftime's years lack their leading zeros)."""
    return value.isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPrice:
    """A price that the provider announced for a later date: as printed, and for one GPU for one hour.

    `usd_micros_per_gpu_hour` is None when the price is not in dollars. `valid_from` is aware and UTC.
    """

    list_price: Decimal
    currency: str
    price_basis: PriceBasis
    usd_micros_per_gpu_hour: int | None
    valid_from: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOffer:
    """One stored offer with the price that holds at the instant asked for; every time is aware and UTC.

    `offer` carries that price and no start date of its own (`valid_from` is None). The price has stood since
    `price_valid_from` and was read at `observed_at` from the bytes named by `capture_sha256`.
    `announced_since_page` says that the price began on a date the page had announced, and that no later run
    has yet seen it as the current one. `last_seen_at` is the last good run that listed the offer, and is
    never after the instant asked for. `usd_micros_per_gpu_hour` of a price in another currency is worked out
    with `rate`, the reference rate of the day asked for or the latest before it, and None without one.
    """

    offer: Offer
    offer_id: int
    usd_micros_per_gpu_hour: int | None
    price_valid_from: datetime
    announced_since_page: bool
    first_seen_at: datetime
    last_seen_at: datetime
    observed_at: datetime
    capture_sha256: str
    next_price: NextPrice | None = None
    rate: Rate | None = None
