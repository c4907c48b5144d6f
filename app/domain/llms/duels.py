"""At each provider, so many of a bigger card against twice as many of a smaller one, for the same model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, permutations
from typing import TYPE_CHECKING, Final

from app.domain.llms.compare import Comparison, Side, compare
from app.domain.llms.unknown import Unknown
from app.domain.offers import pair_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.llms.costs import OfferCost, Serving
    from app.domain.offers import PairKey

TIMES: Final = 2
"""How many smaller GPUs stand against each bigger one."""

MOST_CARDS: Final = 4
"""Cards of one provider under one set of terms: the first in the order of the offers."""

MOST_DUELS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The cheapest offer of a card at one provider under one set of terms."""

    cost: OfferCost
    card: Accelerator
    usd_per_gpu_hour: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """A bigger card on the fewest GPUs that hold the first batch, against twice as many of a smaller one.

    Both are offers of one provider under the same terms. Only the GPUs in use are paid for.
    """

    bigger: Listed
    smaller: Listed
    gpus: int
    comparison: Comparison


def duels(serving: Serving, costs: Iterable[OfferCost]) -> tuple[Duel, ...]:
    """Return pairs of cards that a provider lists under the same terms, in the order of the offers.

    They are those of its first `MOST_CARDS` cards, and `MOST_DUELS` in all.
    """
    best: dict[PairKey, dict[str, Listed]] = {}
    for cost in costs:
        card, usd = cost.row.accelerator, cost.usd_per_gpu_hour
        if card is None or isinstance(usd, Unknown):
            continue
        there = best.setdefault(pair_key(cost.row.offer), {})
        known = there.get(card.id)
        if known is None and len(there) == MOST_CARDS:
            continue
        if known is None or usd < known.usd_per_gpu_hour:
            there[card.id] = Listed(cost=cost, card=card, usd_per_gpu_hour=usd)
    every = (duel for there in best.values() for duel in _among(serving, list(there.values())))
    return tuple(islice(every, MOST_DUELS))


def _among(serving: Serving, offers: list[Listed]) -> Iterator[Duel]:
    for bigger, smaller in permutations(offers, 2):
        gpus = bigger.cost.gpus
        if bigger.card.memory_gb <= smaller.card.memory_gb or gpus is None:
            continue
        first = Side(card=bigger.card, gpus=gpus, usd_per_gpu_hour=bigger.usd_per_gpu_hour)
        second = Side(card=smaller.card, gpus=TIMES * gpus, usd_per_gpu_hour=smaller.usd_per_gpu_hour)
        yield Duel(
            bigger=bigger,
            smaller=smaller,
            gpus=gpus,
            comparison=compare(serving.setup, first, second=second),
        )
