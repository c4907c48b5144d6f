"""What can happen to an offer on a day: its price moves or is only written otherwise, it comes, it goes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from app.domain.offers import hours_per_basis

if TYPE_CHECKING:
    from datetime import date, datetime
    from decimal import Decimal

    from app.domain.offers import Offer, PriceBasis

ROUNDING_PERCENT: Final = 1
"""A price that is less than this many percent off after a change of unit was only rounded (0.134 a minute
is 8.04 an hour, and was 8.00)."""


class ChangeKind(StrEnum):
    """What happened, in the order in which a day tells it."""

    MOVE = "move"
    ANNOUNCED = "announced"
    NEW = "new"
    BACK = "back"
    WITHDRAWN = "withdrawn"
    RESTATED = "restated"


@dataclass(frozen=True, slots=True, kw_only=True)
class PricePoint:
    """One price as printed, and in micro-dollars for one GPU for one hour (None when not in dollars)."""

    list_price: Decimal
    currency: str
    price_basis: PriceBasis
    usd_micros_per_gpu_hour: int | None
    is_floor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that happened to one offer at `at` (aware, UTC).

    `offer` carries the price `after`, or the last one when it was withdrawn, and where that was read.
    `before` is the price that stood until then, None for an offer that had none. `starts_at` is the date of
    an announced price, `announced_at` when a price that now began was announced. `source` is the source of
    the run that brought the price, and `shown_on` a day whose board holds the offer, None when no day does.
    """

    kind: ChangeKind
    at: datetime
    offer_id: int
    offer: Offer
    before: PricePoint | None
    after: PricePoint | None
    starts_at: datetime | None
    announced_at: datetime | None
    source: str
    shown_on: date | None

    @property
    def percent(self) -> Decimal | None:
        """Return by how many percent the price of one GPU for one hour changed; see `percent_between`."""
        if self.before is None or self.after is None:
            return None
        return percent_between(self.before, self.after, offer=self.offer)


def kind_of_step(
    before: PricePoint | None, after: PricePoint, *, offer: Offer, is_gap: bool = False
) -> ChangeKind:
    """Say what a price that begins is: new, back after a time without any, moved, or written otherwise.

    It is only restated when the unit changed and the price is the same but for rounding, when the price is
    the same, or when the currency changed, since then nothing tells whether it moved.
    """
    if before is None:
        return ChangeKind.NEW
    if is_gap:
        return ChangeKind.BACK
    if before.price_basis is after.price_basis and before.currency == after.currency:
        # In one unit the printed prices tell; a large run has thousands of them.
        return ChangeKind.MOVE if before.list_price != after.list_price else ChangeKind.RESTATED
    percent = percent_between(before, after, offer=offer)
    is_same = percent is None or abs(percent) < ROUNDING_PERCENT
    return ChangeKind.RESTATED if is_same else ChangeKind.MOVE


def percent_between(before: PricePoint, after: PricePoint, *, offer: Offer) -> Decimal | None:
    """Return the change from one price of an offer to another in percent; None between two currencies."""
    if before.currency != after.currency:
        return None
    old, new = (per_gpu_hour(price, offer=offer) for price in (before, after))
    return (new - old) / old * 100 if old else None


def per_gpu_hour(price: PricePoint, *, offer: Offer) -> Decimal:
    """Return the price of one GPU for one hour in the price's own currency."""
    hours = hours_per_basis(price.price_basis, term_days=offer.term_days_max)
    gpus = offer.gpu_count if price.price_basis.is_per_instance else 1
    return price.list_price / hours / gpus
