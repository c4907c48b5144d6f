"""What has to happen to an offer's stored prices so that they say what its page says; no database here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from app.domain.offers import Offer

ALWAYS: Final = -1
"""Start of a price that the page prints without a date: before every date it can print."""


class Asked(NamedTuple):
    """One price on a page: since when (Unix seconds or `ALWAYS`), and the hash of the bytes it is from."""

    starts_at: int
    offer: Offer
    capture_sha256: str


class Stored(NamedTuple):
    """One stored price that still matters: it holds now or will hold; times are Unix seconds."""

    price_id: int
    offer_id: int
    valid_from: int
    valid_to: int | None
    announced: bool
    confirmed_at: int | None
    list_price: Decimal
    currency: str
    price_basis: str
    is_floor: bool


class Added(NamedTuple):
    """One price to store over `[valid_from, valid_to)`."""

    asked: Asked
    valid_from: int
    valid_to: int | None
    announced: bool


class Steps(NamedTuple):
    """What to do with one offer's prices: `ended` holds (new end, price id), the others what they say."""

    added: tuple[Added, ...] = ()
    ended: tuple[tuple[int | None, int], ...] = ()
    withdrawn: tuple[int, ...] = ()
    confirmed: tuple[int, ...] = ()

    @property
    def is_change(self) -> bool:
        """Tell whether any price is another one than before."""
        return bool(self.added or self.ended or self.withdrawn)


NOTHING: Final = Steps()
"""What to do when the page asks what it asked before."""


def price_steps(stored: Sequence[Stored], asked: Sequence[Asked], *, seen_at: int) -> Steps:
    """Return how to bring the stored prices to the asked ones; without any asked, they all end at `seen_at`.

    `stored` are the prices that hold at `seen_at` or begin later, oldest first. `asked` may hold one price
    without a date and several with one: the current one is the latest that has begun, so an old column left
    on the page after a change does not come back. Later ones are announcements, and end the one before them.
    """
    if len(asked) == 1 and asked[0].starts_at == ALWAYS:
        # Nearly every offer: one price without a date, new or unchanged. The rest finds the same, slowly.
        if not stored:
            return Steps((Added(asked[0], seen_at, None, announced=False),))
        if _is_open_and_confirmed(stored) and _is_same(stored[0], asked[0].offer):
            return NOTHING
    wanted = _wanted(stored, sorted(asked, key=_start), seen_at=seen_at)
    left = {price.valid_from: price for price in stored}
    added: list[Added] = []
    ended: list[tuple[int | None, int]] = []
    confirmed: list[int] = []
    for step in wanted:
        price = left.get(step.valid_from)
        if price is None or not _is_same(price, step.asked.offer):
            added.append(step)
            continue
        del left[step.valid_from]
        if price.valid_to != step.valid_to:
            ended.append((step.valid_to, price.price_id))
        if price.announced and price.confirmed_at is None and not step.announced:
            confirmed.append(price.price_id)
    ended += [(seen_at, price.price_id) for price in left.values() if price.valid_from < seen_at]
    withdrawn = tuple(price.price_id for price in left.values() if price.valid_from >= seen_at)
    return Steps(tuple(added), tuple(ended), withdrawn, tuple(confirmed))


def _wanted(stored: Sequence[Stored], asked: Sequence[Asked], *, seen_at: int) -> list[Added]:
    """Return the prices from now on as they should stand, oldest first, each ending where the next begins.

    The current price keeps the start it is stored with while it stays the same, and else begins now.
    """
    begun = [each for each in asked if each.starts_at <= seen_at]
    later = [each for each in asked if each.starts_at > seen_at]
    starts = [each.starts_at for each in later]
    if begun:
        current = stored[0] if stored and stored[0].valid_from <= seen_at else None
        kept = current is not None and _is_same(current, begun[-1].offer)
        starts.insert(0, current.valid_from if current is not None and kept else seen_at)
        later.insert(0, begun[-1])
    ends = [*starts[1:], None]
    return [
        Added(each, start, end, announced=start > seen_at)
        for each, start, end in zip(later, starts, ends, strict=False)
    ]


def _is_open_and_confirmed(stored: Sequence[Stored]) -> bool:
    """Tell whether there is one price only, which runs has been seen as the current one and has no end."""
    first = stored[0]
    is_confirmed = not first.announced or first.confirmed_at is not None
    return len(stored) == 1 and first.valid_to is None and is_confirmed


def _is_same(price: Stored, offer: Offer) -> bool:
    """Tell whether the page still asks what is stored (the GPU count and the term are part of the key)."""
    return (
        price.list_price == offer.list_price
        and price.currency == offer.currency
        and price.price_basis == offer.price_basis.value
        and price.is_floor == offer.is_floor
    )


def _start(asked: Asked) -> int:
    """Return the start of an asked price, to sort by."""
    return asked.starts_at
