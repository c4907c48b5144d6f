"""How a model's ceilings move with the batch on the GPUs of an offer, up to the last that memory holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from app.domain.llms.bounds import DecodeBound
from app.domain.llms.costs import Money, Priced
from app.domain.llms.money import usd_per_mtok
from app.domain.llms.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.llms.costs import OfferCost, Serving

MOST_CURVES: Final = 5
LARGEST: Final = 1024
"""Requests at once up to which curves are drawn, where memory holds that many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One batch on a curve; all of them fit."""

    batch: int
    decode: DecodeBound
    usd_per_mtok: Decimal
    gpus: int

    @property
    def tokens_per_s_per_gpu(self) -> Decimal:
        """Tokens a second of all requests, for each GPU."""
        return self.decode.tokens_per_s / self.gpus

    @property
    def tflops_per_gpu(self) -> Decimal:
        """Operations a second of each GPU, in 10^12."""
        return self.decode.step.ops / self.decode.step_s / 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One card at the offer that stands for it, on as many GPUs as the first batch asks for.

    `wall` is the most requests that memory holds, None without a limit: there is nothing beyond.
    """

    cost: OfferCost
    card: Accelerator
    gpus: int
    wall: int | None
    points: tuple[Point, ...]

    @property
    def is_walled(self) -> bool:
        """Tell whether the curve ends where memory does."""
        return self.wall is not None and self.wall <= LARGEST


def curves(serving: Serving, costs: Iterable[OfferCost]) -> tuple[Curve, ...]:
    """Return the curves of the first cards in the order of the offers, each at its first with a cost."""
    found: dict[str, Curve] = {}
    for cost in costs:
        card = cost.row.accelerator
        if card is None or card.id in found or not isinstance(cost.first, Priced):
            continue
        if isinstance(cost.first.money, Money):
            found[card.id] = _curve(serving, cost, card=card, first=cost.first, money=cost.first.money)
        if len(found) == MOST_CURVES:
            break
    return tuple(found.values())


def _curve(serving: Serving, cost: OfferCost, *, card: Accelerator, first: Priced, money: Money) -> Curve:
    wall = first.ceiling.most_requests
    asked = (each for each in serving.batches if wall is None or each <= wall)
    batches = sorted({*_doubled(LARGEST if wall is None else min(wall, LARGEST)), *asked})
    setup = serving.setup
    points = []
    for batch in batches:
        demand = replace(setup.demand, batch=batch)
        served = serve(replace(setup, demand=demand), card, counts=(first.ceiling.gpus,))
        if isinstance(served, Served) and isinstance(served.decode, DecodeBound):
            usd = usd_per_mtok(
                money.rental.usd_per_hour,
                tokens_per_s=served.decode.tokens_per_s,
                utilisation=serving.utilisation,
            )
            points.append(Point(batch=batch, decode=served.decode, usd_per_mtok=usd, gpus=first.ceiling.gpus))
    return Curve(cost=cost, card=card, gpus=first.ceiling.gpus, wall=wall, points=tuple(points))


def _doubled(last: int) -> Iterator[int]:
    """Yield 1, 2, 4 and so on, and the last itself."""
    batch = 1
    while batch < last:
        yield batch
        batch *= 2
    yield last


def efficient(found: Iterable[Curve]) -> tuple[tuple[Curve, Point], ...]:
    """Return the points that none beats in tokens a second both of a request and of a GPU, fastest first."""
    every = [(curve, point) for curve in found for point in curve.points]
    every.sort(key=lambda one: (-one[1].decode.tokens_per_s_per_stream, -one[1].tokens_per_s_per_gpu))
    best: list[tuple[Curve, Point]] = []
    for curve, point in every:
        if not best or point.tokens_per_s_per_gpu > best[-1][1].tokens_per_s_per_gpu:
            best.append((curve, point))
    return tuple(best)
