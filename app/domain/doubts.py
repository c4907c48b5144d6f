"""What could change the order of two cards: another published figure, variant or price, or a mere floor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import other_figures
from app.domain.offers import pair_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.metrics import Metric, View
    from app.domain.offers import PairKey
    from app.domain.pairing import Cell
    from app.domain.question import Question
    from app.domain.rows import Row


class Why(StrEnum):
    """Why an order is in doubt."""

    SPEC = "spec"
    FORM = "form_factor"
    FLOOR = "floor"
    ANNOUNCED = "announced"
    STALE = "stale"


WHY_MEANINGS: Final = {
    Why.SPEC: "another published bandwidth of a card would change who wins or whether it breaks even",
    Why.FORM: "the page names no form factor, and another variant would change the order",
    Why.FLOOR: "the price is only known to be at least this, and at this price the card would do best",
    Why.ANNOUNCED: "the price was announced for this date, and no run has seen it as the current one yet",
    Why.STALE: "the price has not been seen for a while and may have moved",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One thing that could change the order of two cards of a line, or a card's place in it.

    `card` is the one in doubt and `other` the one it would change places with, None for an old price
    and for one that was only announced.
    `instead` is the card as it would then be. `value` and `other_value` are both figures as they would be.
    """

    why: Why
    card: Accelerator
    other: Accelerator | None = None
    instead: Accelerator | None = None
    value: Decimal | None = None
    other_value: Decimal | None = None


def value_as(metric: Metric, row: Row, *, card: Accelerator, view: View) -> Decimal | None:
    """Return a row's figure with the figures of `card`, which may be the card's alternative ones."""
    return metric.value(row if row.accelerator is card else replace(row, accelerator=card), view)


def compare(value: Decimal | None, other: Decimal | None, *, metric: Metric) -> int | None:
    """Return 1 when a figure is better than another, -1 when worse, 0 when equal, None when none can tell."""
    if value is None or other is None or metric.better == "neither":
        return None
    order = (value < other) - (value > other)
    return order if metric.better == "lower" else -order


def line_doubts(
    cells: Sequence[Cell],
    *,
    question: Question,
    view: View,
    terms: PairKey,
    winners: tuple[str, ...],
    rows: Sequence[Row],
) -> tuple[Doubt, ...]:
    """Return what could change the winner of a line or how a card does against the baseline."""
    shown = [cell for cell in cells if cell.row is not None and cell.value is not None]
    decide = {*winners, question.baseline.id}
    found = [
        doubt
        for one, two in combinations(shown, 2)
        if {one.card.id, two.card.id} & decide
        for doubt in _pair_doubts(one, two, question=question, view=view)
    ]
    found += _floors(cells, question=question, view=view, terms=terms, winners=winners, rows=rows)
    for why, card in _unseen(shown):
        found.append(Doubt(why=why, card=card))
    return tuple(found)


def _unseen(cells: Sequence[Cell]) -> Iterator[tuple[Why, Accelerator]]:
    """Yield the cards whose price no run has seen yet, and those whose offer none has seen for long."""
    rows = [(cell.card, cell.row) for cell in cells if cell.row is not None]
    yield from ((Why.ANNOUNCED, card) for card, row in rows if row.stored.announced_since_page)
    yield from ((Why.STALE, card) for card, row in rows if row.is_stale)


def _pair_doubts(one: Cell, two: Cell, *, question: Question, view: View) -> Iterator[Doubt]:
    """Yield the first change of published figures, and each other variant, that turns the order of two."""
    spec = next(_turns(one, two, _published(one, two), question=question, view=view), None)
    if spec is not None:
        yield spec
    for cell, other in ((one, two), (two, one)):
        if cell.row is not None and cell.row.offer.variant_assumed:
            variants = [(each, other.card) for each in question.siblings[cell.card.id]]
            yield from _turns(cell, other, variants, question=question, view=view, why=Why.FORM)


def _published(one: Cell, two: Cell) -> list[tuple[Accelerator, Accelerator]]:
    """Return the other choices of published figures of two cards: one of them changed, then both."""
    first, second = other_figures(one.card), other_figures(two.card)
    choices = ((first, two.card), (one.card, second), (first, second))
    return [(ours, theirs) for ours, theirs in choices if ours is not None and theirs is not None]


def _turns(
    one: Cell,
    two: Cell,
    choices: Sequence[tuple[Accelerator, Accelerator]],
    *,
    question: Question,
    view: View,
    why: Why = Why.SPEC,
) -> Iterator[Doubt]:
    """Yield each choice of figures that turns the order of two cells."""
    before = compare(one.value, two.value, metric=question.metric)
    for ours, theirs in choices:
        seen = _view_with(view, (one, ours), (two, theirs))
        value, other = (
            value_as(question.metric, cell.row, card=card, view=seen)
            for cell, card in ((one, ours), (two, theirs))
            if cell.row is not None
        )
        after = compare(value, other, metric=question.metric)
        if after is None or after == before:
            continue
        if ours is one.card:  # it is the second that is in doubt
            yield Doubt(
                why=why, card=two.card, other=one.card, instead=theirs, value=other, other_value=value
            )
        else:
            yield Doubt(why=why, card=one.card, other=two.card, instead=ours, value=value, other_value=other)


def _view_with(view: View, *changed: tuple[Cell, Accelerator]) -> View:
    """Return the view with the baseline's figures changed too, where it is one of the two."""
    for cell, card in changed:
        if view.baseline is not None and cell.card.id == view.baseline.id:
            return replace(view, baseline=card)
    return view


def _floors(
    cells: Sequence[Cell],
    *,
    question: Question,
    view: View,
    terms: PairKey,
    winners: tuple[str, ...],
    rows: Sequence[Row],
) -> Iterator[Doubt]:
    """Yield the cards of which only a floor is known that at this floor would do as well as the winner.

    A price is never under its floor, so a floor that does worse changes nothing.
    """
    best = next((cell for cell in cells if cell.card.id in winners), None)
    for cell in cells:
        if cell.row is not None or best is None:
            continue
        floors = [
            row
            for row in rows
            if row.accelerator and row.accelerator.id == cell.card.id and row.offer.is_floor
            if pair_key(row.offer) == terms
        ]
        for row in floors[:1]:
            firm = replace(row, stored=replace(row.stored, offer=replace(row.offer, is_floor=False)))
            value = value_as(question.metric, firm, card=cell.card, view=view)
            order = compare(value, best.value, metric=question.metric)
            if order is not None and order >= 0:
                yield Doubt(
                    why=Why.FLOOR, card=cell.card, other=best.card, value=value, other_value=best.value
                )
