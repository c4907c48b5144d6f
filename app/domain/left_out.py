"""Why a provider, or a card at a provider, takes no part in a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.accelerators import Accelerator
    from app.domain.question import Question
    from app.domain.rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A provider without two of the cards under the same terms; `lists` says whether it has any of them."""

    provider: str
    why: str
    lists: bool


def left_out(provider: str, rows: Sequence[Row], *, question: Question, names: Mapping[str, str]) -> LeftOut:
    """Return why a provider is left out, card by card."""
    reasons = [why_without(card, rows, question=question, names=names) for card in question.cards]
    families = {card.family for card in question.cards}
    if not any(row.family in families or _slice_family(row, question) for row in rows):
        return LeftOut(provider=provider, why="lists none of these cards", lists=False)
    given = list(dict.fromkeys(reason for reason in reasons if reason != UNDER_OTHER_TERMS))
    if len(reasons) - sum(reason != UNDER_OTHER_TERMS for reason in reasons) > 1:
        given.insert(0, "lists no two of them under the same terms")
    return LeftOut(provider=provider, why="; ".join(given), lists=True)


UNDER_OTHER_TERMS = "only under other terms"


def _slice_family(row: Row, question: Question) -> bool:
    return any(row.offer.slice_of == card.id for card in question.cards)


def why_without(
    card: Accelerator, rows: Sequence[Row], *, question: Question, names: Mapping[str, str]
) -> str:
    """Return why no offer among a provider's rows stands for a card under the terms of the others."""
    name = names[card.id]
    listed = [row for row in rows if row.accelerator is not None and row.accelerator.id == card.id]
    if not listed:
        return _why_not_listed(card, rows, name=name)
    if any(question.takes(row) for row in listed):
        return UNDER_OTHER_TERMS
    allowed = [row for row in listed if question.allows(row)]
    if not allowed:
        priced = [row for row in listed if row.offer.pricing_model in question.pricing]
        kinds = {row.offer.service_kind.value if priced else row.offer.pricing_model.value for row in listed}
        return f"lists the {name} only as {' and '.join(sorted(kinds)).replace('_', ' ')}"
    if any(row.offer.is_floor for row in allowed):
        return f"gives only a floor for the {name}"
    return f"has no price in dollars for the {name}"


def _why_not_listed(card: Accelerator, rows: Sequence[Row], *, name: str) -> str:
    if any(row.accelerator is None and row.family == card.family and not row.offer.slice_of for row in rows):
        return f"lists an {card.family.upper()} of unknown form factor"
    if any(row.offer.is_own for row in rows):
        return f"none of yours is for the {name}"
    if any(row.offer.slice_of == card.id for row in rows):
        return f"lists only slices of the {name}"
    return f"lists no {name}"
