"""What a comparison asks: which cards, by which figure, under which terms, with which published figures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.accelerators import other_figures
from app.domain.metrics import COMPARABLE_PRICE, INSTANCE_PRICE, LIST_PRICE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    from app.domain.accelerators import Accelerator, Catalogue
    from app.domain.metrics import Metric
    from app.domain.rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is compared: cards in the order asked for, by one metric, each against one of them.

    The cards carry the figures in use: with `use_alt` the alternative ones. `siblings` are, for each card,
    the others that a page which names no form factor could mean. Empty `service` takes every kind. Who only
    counts leaves the doubts away.
    """

    cards: tuple[Accelerator, ...]
    baseline: Accelerator
    metric: Metric
    precision: str
    weights_gb: Decimal
    pricing: tuple[str, ...]
    service: tuple[str, ...] = ()
    siblings: Mapping[str, tuple[Accelerator, ...]]
    wants_doubts: bool = True

    @property
    def has_price(self) -> bool:
        """Tell whether the metric grows with the price, so that there is a multiple to break even at."""
        priced = {LIST_PRICE.name, COMPARABLE_PRICE.name, INSTANCE_PRICE.name}
        return any(operand.name in priced for operand in self.metric.numerator)

    def allows(self, row: Row) -> bool:
        """Tell whether an offer is of the pricing models and service kinds asked for."""
        offer = row.offer
        return offer.pricing_model in self.pricing and (
            not self.service or offer.service_kind in self.service
        )

    def takes(self, row: Row) -> bool:
        """Tell whether an offer may stand for its card: asked for, with a price in dollars, and no floor."""
        return self.allows(row) and not row.offer.is_floor and bool(row.stored.usd_micros_per_gpu_hour)


def make_question(  # noqa: PLR0913 - one keyword for each part of the question
    catalogue: Catalogue,
    cards: Sequence[str],
    *,
    metric: Metric,
    precision: str,
    weights_gb: Decimal,
    baseline: str | None = None,
    pricing: tuple[str, ...] = ("on_demand",),
    service: tuple[str, ...] = (),
    use_alt: bool | frozenset[str] = False,
) -> Question:
    """Return a question about variants of the catalogue; `use_alt` may name the cards it holds for."""
    chosen = [catalogue.by_id[each] for each in cards]
    used = [
        other_figures(card) or card if use_alt is True or (use_alt and card.id in use_alt) else card
        for card in chosen
    ]
    return Question(
        cards=tuple(used),
        baseline=next(card for card in used if card.id == (baseline or cards[0])),
        metric=metric,
        precision=precision,
        weights_gb=weights_gb,
        pricing=pricing,
        service=service,
        siblings={card.id: _siblings(card, catalogue) for card in chosen},
    )


def _siblings(card: Accelerator, catalogue: Catalogue) -> tuple[Accelerator, ...]:
    """Return the variants of the family with the same memory: what else a bare name could mean."""
    members = catalogue.family_members(card.family)
    return tuple(one for one in members if one.id != card.id and one.memory_gb == card.memory_gb)


def labels(cards: Iterable[Accelerator]) -> Mapping[str, str]:
    """Return a name for each card, without its memory where that tells no two apart."""
    named = {card.id: card.name for card in cards}
    short = {each: re.sub(r" \d+ GB$", "", name) for each, name in named.items()}
    clear = [name for name in short.values() if list(short.values()).count(name) == 1]
    return {each: short[each] if short[each] in clear else name for each, name in named.items()}
