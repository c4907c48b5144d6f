"""Checks against the provider's offers before this run: prices that jumped, and offers that are gone."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Final

from app.domain.offers import offer_key, usd_per_gpu_hour
from app.ingest.checked import hold, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.findings import Finding
    from app.domain.offers import Offer
    from app.ingest.checked import Checked

LARGEST_MOVE: Final = Decimal("0.40")
"""Share by which a price may move between two runs; above it somebody looks (architecture, section 4)."""

MOST_MOVED: Final = Decimal("0.50")
"""Share of the prices that may move in one run by any amount, where at least `FEWEST_MOVED` do.

Of ten providers watched for 34 to 49 days in 2026 seven moved no price at all, and none half of them in a day
(anchors.md, section 5): so many at once are another unit, another table or an old page until somebody looked.
"""

FEWEST_MOVED: Final = 4

LARGEST_LOSS: Final = Decimal("0.20")
"""Share of the offers whose absence holds the run: a fifth (architecture, section 4)."""

LARGEST_MARKET_LOSS: Final = Decimal("0.50")
"""The same for a marketplace, whose sellers come and go: half of its count."""

MEDIAN_NEEDS: Final = 5
"""Offers of one accelerator that a median takes (providers.md: another index asks for 5 as well)."""


def check_moves(checked: Checked) -> Iterator[Finding]:
    """Hold list prices that moved too far; of several prices of one offer the nearest one counts.

    An old column left on the page beside an announced price would otherwise look like a fall.
    """
    if checked.is_marketplace:
        yield from _check_medians(checked)
        return
    now: defaultdict[str, list[Offer]] = defaultdict(list)
    for offer in checked.offers:
        now[offer_key(offer)].append(offer)
    for before in checked.previous:
        moves = [move for offer in now[offer_key(before)] if (move := _move(before, offer)) is not None]
        if moves and min(map(abs, moves)) > LARGEST_MOVE:
            nearest = min(now[offer_key(before)], key=lambda offer: abs(_move(before, offer) or Decimal(0)))
            yield _moved(before, nearest, min(moves, key=abs))


def check_wholesale(checked: Checked) -> Iterator[Finding]:
    """Hold a list whose prices moved nearly all at once, however little each did."""
    if checked.is_marketplace:
        return
    now: defaultdict[str, list[Offer]] = defaultdict(list)
    for offer in checked.offers:
        now[offer_key(offer)].append(offer)
    nearest = [_nearest_move(before, now[offer_key(before)]) for before in checked.previous]
    known = [move for move in nearest if move is not None]
    moved = [move for move in known if move > 0]
    if len(moved) >= FEWEST_MOVED and Decimal(len(moved)) / len(known) > MOST_MOVED:
        yield hold(
            "most_prices_moved",
            f"{len(moved)} of {len(known)} prices moved at once since the last good run.",
            largest=f"{max(moved):.1%}",
            smallest=f"{min(moved):.1%}",
        )


def _nearest_move(before: Offer, offers: Sequence[Offer]) -> Decimal | None:
    """Return the smallest share by which a price may have moved, None where nothing can be compared."""
    moves = (_move(before, offer) for offer in offers)
    return min((abs(move) for move in moves if move is not None), default=None)


def _move(before: Offer, offer: Offer) -> Decimal | None:
    """Return by what share a price moved, None where the two cannot be compared."""
    old, new = usd_per_gpu_hour(before), usd_per_gpu_hour(offer)
    if (before.currency, offer.currency) != ("USD", "USD"):
        if (before.currency, before.price_basis) != (offer.currency, offer.price_basis):
            return None
        old, new = before.list_price, offer.list_price
    return None if old is None or new is None or old == 0 else new / old - 1


def _moved(before: Offer, offer: Offer, move: Decimal) -> Finding:
    return hold(
        "price_moved",
        f"The price of {named(offer)} moved by {move:+.0%} since the last good run.",
        was=f"{before.list_price} {before.currency} {before.price_basis.value}",
        now=f"{offer.list_price} {offer.currency} {offer.price_basis.value}",
    )


def _check_medians(checked: Checked) -> Iterator[Finding]:
    """Hold a marketplace where an accelerator's median moved too far; few offers make no median."""
    before, now = _prices(checked.previous), _prices(checked.offers)
    moved = False
    for accelerator, prices in now.items():
        old = before.get(accelerator, [])
        if min(len(old), len(prices)) < MEDIAN_NEEDS:
            continue
        move = median(prices) / median(old) - 1
        if abs(move) > LARGEST_MOVE:
            moved = True
            yield hold(
                "median_moved",
                f"The median price of {accelerator} moved by {move:+.0%} since the last good run.",
                was=f"{median(old)} USD over {len(old)} offers",
                now=f"{median(prices)} USD over {len(prices)} offers",
            )
    if not moved:
        yield from _check_whole_market(checked)


def _check_whole_market(checked: Checked) -> Iterator[Finding]:
    """Hold a marketplace whose prices moved together: another unit, or totals taken for prices of one GPU.

    A single card's median may rise by half in a day and be right (providers.md, traps, 14); not all of them.
    """
    now = {offer_key(offer): offer for offer in checked.offers}
    pairs = ((before, now.get(offer_key(before))) for before in checked.previous)
    moves = [move for before, offer in pairs if offer and (move := _move(before, offer)) is not None]
    if len(moves) >= MEDIAN_NEEDS and abs(median(moves)) > LARGEST_MOVE:
        yield hold(
            "market_moved",
            f"The prices of {len(moves)} offers moved by {median(moves):+.0%} in the middle.",
            smallest=f"{min(moves):+.0%}",
            largest=f"{max(moves):+.0%}",
        )


def _prices(offers: Sequence[Offer]) -> Mapping[str, list[Decimal]]:
    """Return dollars per GPU-hour by accelerator."""
    prices: defaultdict[str, list[Decimal]] = defaultdict(list)
    for offer in offers:
        price = usd_per_gpu_hour(offer)
        if offer.accelerator is not None and price is not None:
            prices[offer.accelerator].append(price)
    return prices


def check_losses(checked: Checked) -> Iterator[Finding]:
    """Hold a run that lacks too many offers of the one before; a marketplace is judged by count."""
    before = {offer_key(offer): offer for offer in checked.previous}
    if not before:
        return
    now = {offer_key(offer) for offer in checked.offers}
    gone = [offer for key, offer in before.items() if key not in now]
    lost = Decimal(len(gone)) / len(before)
    limit = LARGEST_LOSS
    if checked.is_marketplace:
        lost, limit = 1 - Decimal(len(now)) / len(before), LARGEST_MARKET_LOSS
    if lost >= limit:
        yield hold(
            "offers_gone",
            f"{lost:.0%} of the {len(before)} offers of the last good run are gone.",
            now=len(now),
            first_missing="; ".join(named(offer) for offer in gone[:5]),
        )
