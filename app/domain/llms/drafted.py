"""The ceilings of speculative decoding beside the plain ones, for each card and batch of a serving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.llms.costs import DoesNotFit, Priced, peaks_at
from app.domain.llms.speculation import Speculation, speculative_bound
from app.domain.llms.touched import touched_share
from app.domain.llms.unknown import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.llms.costs import BatchCost, Ceiling, OfferCost, Serving
    from app.domain.llms.profile import LlmProfile
    from app.domain.llms.speculation import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """One batch on one card, on the GPUs of its plain ceiling, or how it does not fit."""

    card: Accelerator
    cost: BatchCost
    found: Speculation | DoesNotFit | Unknown

    @property
    def gpus(self) -> int | None:
        """GPUs that hold the batch, None when it does not fit."""
        return self.cost.ceiling.gpus if isinstance(self.cost, Priced) else None


def drafted(serving: Serving, costs: Iterable[OfferCost]) -> tuple[Drafted, ...]:
    """Return each batch on each known card in the order of the offers; nothing without a draft."""
    draft = serving.draft
    if draft is None:
        return ()
    cards: dict[str, tuple[Accelerator, tuple[BatchCost, ...]]] = {}
    for cost in costs:
        card = cost.row.accelerator
        if card is not None and not isinstance(cost.batches, Unknown):
            cards.setdefault(card.id, (card, cost.batches))
    return tuple(
        Drafted(card=card, cost=each, found=_found(serving, card, each=each, draft=draft))
        for card, batches in cards.values()
        for each in batches
    )


def _found(
    serving: Serving, card: Accelerator, *, each: BatchCost, draft: Draft
) -> Speculation | DoesNotFit | Unknown:
    if isinstance(each, DoesNotFit):
        return each
    return with_draft(serving, card, ceiling=each.ceiling, draft=draft)


def with_draft(
    serving: Serving, card: Accelerator, *, ceiling: Ceiling, draft: Draft
) -> Speculation | Unknown:
    """Return a ceiling with the draft, on the same GPUs; memory for the draft is not counted."""
    setup = serving.of_batch(ceiling.batch)
    return speculative_bound(
        setup.load(ceiling.gpus), peaks_at(serving, card), demand=setup.demand, draft=draft
    )


def routed_times(profile: LlmProfile, found: Speculation) -> Decimal:
    """Return how many times the routed bytes of a plain step a pass reads; 1 without experts."""
    plain = touched_share(profile, tokens=found.plain.step.tokens)
    return touched_share(profile, tokens=found.verify.step.tokens) / plain
