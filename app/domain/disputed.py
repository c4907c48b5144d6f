"""Marks rows whose order against another card of the provider hangs on which published bandwidth holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.domain.rows import Flag, comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from app.domain.accelerators import Accelerator
    from app.domain.offers import PairKey
    from app.domain.rows import Row

Priced = tuple[int, int]
"""A price in micro-dollars for one GPU for one hour, and the number of its row."""


@dataclass(frozen=True, slots=True)
class _Card:
    """A card with its lowest and its highest published bandwidth in bytes per second."""

    card: Accelerator
    low: int
    high: int


def mark_disputed_orders(
    rows: Sequence[Row], groups: Mapping[PairKey, Sequence[int]] | None = None
) -> tuple[Row, ...]:
    """Flag rows that change places with another card's cheapest price, per TB/s, under another bandwidth.

    Cards are compared at one provider under the same service, pricing, tier and term, and only where one of
    the two has a second published bandwidth (Fireworks' B200 against its H200 at 8.0 and at 7.7 TB/s).
    `groups` are those of `comparable`, where they are at hand.
    """
    marked = list(rows)
    cards: dict[str, _Card] = {}
    for group in (comparable(rows) if groups is None else groups).values():
        priced: dict[str, list[Priced]] = {}
        for number in group:
            row = rows[number]
            card, price = row.accelerator, row.stored.usd_micros_per_gpu_hour
            if card is not None and price is not None:
                if card.id not in cards:
                    cards[card.id] = _bandwidths(card)
                priced.setdefault(card.id, []).append((price, number))
        for number, other in _disputed(priced, cards):
            marked[number] = _marked(rows[number], other)
    return tuple(marked)


def _bandwidths(card: Accelerator) -> _Card:
    main = card.memory_bandwidth_bytes_per_s
    other = main if card.bandwidth_alt_tb_s is None else int(card.bandwidth_alt_tb_s * 10**12)
    return _Card(card, min(main, other), max(main, other))


def _marked(row: Row, other: Accelerator) -> Row:
    gravest = row.flags[:1] if row.dearer_than else ()
    flags = (*gravest, Flag.DISPUTED_ORDER, *row.flags[len(gravest) :])
    return replace(row, flags=flags, disputed_with=other)


def _disputed(
    group: Mapping[str, list[Priced]], cards: Mapping[str, _Card]
) -> Iterator[tuple[int, Accelerator]]:
    """Yield the numbers of a group's rows whose order is open, each with a card it is open against."""
    cheapest = [(cards[each], min(priced)[0]) for each, priced in group.items()]
    disputed = [(card, price) for card, price in cheapest if card.low != card.high]
    for each, priced in group.items() if disputed else ():
        card = cards[each]
        spans = list(_open_prices(card, disputed if card.low == card.high else cheapest))
        least, most = (pick(limit) for pick, limit in ((min, _lows(spans)), (max, _highs(spans))))
        for price, number in priced:
            if least <= price <= most:
                other = next((other for low, high, other in spans if low <= price <= high), None)
                if other is not None:
                    yield number, other


Span = tuple[int, int, "Accelerator"]
"""The lowest and the highest price at which a card's order against another is open."""


def _lows(spans: Iterable[Span]) -> list[int]:
    return [low for low, _, _ in spans] or [1]


def _highs(spans: Iterable[Span]) -> list[int]:
    return [high for _, high, _ in spans] or [0]


def _open_prices(card: _Card, rivals: Iterable[tuple[_Card, int]]) -> Iterator[Span]:
    """Yield between which prices of a card its order against each rival's cheapest price is open.

    At such a price one choice of bandwidths makes the two equal per TB/s or turns their order.
    """
    for other, price in rivals:
        if other is not card:
            yield -(-card.low * price // other.high), card.high * price // other.low, other.card
