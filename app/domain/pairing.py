"""Cards side by side at one provider under the same terms: which costs less, by what multiple, how surely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.doubts import Doubt, compare, line_doubts, value_as
from app.domain.left_out import LeftOut, left_out, why_without
from app.domain.metrics import View
from app.domain.offers import MICROS_PER_USD, OWN_PREFIX, PairKey, pair_key
from app.domain.providers import VIA
from app.domain.question import labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from app.domain.accelerators import Accelerator
    from app.domain.metrics import Metric
    from app.domain.question import Question
    from app.domain.rows import Row

STANDS_RULE: Final = "the smallest minimum quantity, then the lowest price"
"""Which offer stands for a card at a provider under one set of terms."""

TERMS_RULE: Final = "the terms with most of the cards, then the lowest price of the first of them"
"""Which terms count for a provider that lists the cards under several."""

LEAST_CARDS: Final = 2
"""Cards that a provider has to list under the same terms; of the reader's own figures one will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One card at one provider. `row` is the offer that stands for it, None with the reason in `why`.

    `multiple` is its price over the baseline's and `breakeven` the multiple at which both cost the same by
    the metric; `passes` says whether it does better than the baseline. All three are None for the baseline.
    `stands_for` counts the offers under these terms.
    """

    card: Accelerator
    row: Row | None
    usd_per_gpu_hour: Decimal | None = None
    value: Decimal | None = None
    multiple: Decimal | None = None
    breakeven: Decimal | None = None
    passes: bool | None = None
    stands_for: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One provider under one set of terms. Several `winners` are a tie; none: the metric knows no better.

    `counts` is False for terms beside those that stand for the provider, for an aggregator's word beside the
    provider's own, and for the reader's own figures (`is_own`), whose line may have one card alone.
    """

    provider: str
    terms: PairKey
    cells: tuple[Cell, ...]
    winners: tuple[str, ...]
    doubts: tuple[Doubt, ...]
    counts: bool = True

    @property
    def is_own(self) -> bool:
        """Tell whether this is a line of the reader's own figures."""
        return self.provider.startswith(OWN_PREFIX)

    def cell(self, card_id: str) -> Cell:
        """Return the cell of a card."""
        return next(cell for cell in self.cells if cell.card.id == card_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How a card does: lines with its figure and another's, those it wins alone, those against the baseline.

    `beats`, `ties` and `loses` are the lines that also have the baseline's figure.
    """

    card: Accelerator
    listed: tuple[Line, ...]
    wins: tuple[Line, ...]
    beats: tuple[Line, ...]
    ties: tuple[Line, ...]
    loses: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The answer: lines by provider, those left out with the reason, and how each card does.

    The reader's own lines stand first.
    """

    question: Question
    lines: tuple[Line, ...]
    left_out: tuple[LeftOut, ...]
    tallies: tuple[Tally, ...]

    @property
    def counted(self) -> tuple[Line, ...]:
        """Return the one line that counts for each provider."""
        return tuple(line for line in self.lines if line.counts)


def pair_cards(rows: Iterable[Row], question: Question) -> Pairing:
    """Pair the cards of a question over the rows of a board."""
    by_provider: dict[str, list[Row]] = {}
    for row in rows:
        by_provider.setdefault(row.offer.provider, []).append(row)
    names = labels(question.cards)
    lines: list[Line] = []
    out: list[LeftOut] = []
    for provider, listed in sorted(by_provider.items()):
        found = _provider_lines(provider, listed, question=question, names=names)
        lines += found
        if not found and not provider.startswith(OWN_PREFIX):
            out.append(left_out(provider, listed, question=question, names=names))
    lines = _once_each(lines)
    return Pairing(
        question=question,
        lines=tuple(lines),
        left_out=tuple(out),
        tallies=tuple(_tally(card, lines, baseline=question.baseline) for card in question.cards),
    )


def _once_each(lines: Sequence[Line]) -> list[Line]:
    """Let each provider count once: an aggregator's word on it only where its own page was not read."""
    seen: set[str] = set()
    found = []
    for line in sorted(lines, key=lambda line: VIA in line.provider):
        own = line.provider.partition(VIA)[0]
        found.append(replace(line, counts=line.counts and own not in seen))
        if line.counts:
            seen.add(own)
    return sorted(found, key=lambda line: (not line.is_own, line.provider))


def _provider_lines(
    provider: str, rows: Sequence[Row], *, question: Question, names: Mapping[str, str]
) -> list[Line]:
    """Return the lines of one provider, the one that counts first."""
    wanted = {card.id for card in question.cards}
    offers: dict[PairKey, dict[str, list[Row]]] = {}
    for row in rows:
        if row.accelerator and row.accelerator.id in wanted and question.takes(row):
            offers.setdefault(pair_key(row.offer), {}).setdefault(row.accelerator.id, []).append(row)
    is_own = provider.startswith(OWN_PREFIX)
    least = 1 if is_own else LEAST_CARDS
    paired = [(terms, found) for terms, found in offers.items() if len(found) >= least]
    lines = []
    for terms, found in paired:
        missing = {
            card.id: why_without(card, rows, question=question, names=names)
            for card in question.cards
            if card.id not in found
        }
        lines.append(_line(provider, terms, found=found, missing=missing, question=question, rows=rows))
    lines.sort(key=_order_of_terms)
    return [replace(line, counts=number == 0 and not is_own) for number, line in enumerate(lines)]


def _order_of_terms(line: Line) -> tuple[object, ...]:
    prices = [cell.usd_per_gpu_hour for cell in line.cells if cell.usd_per_gpu_hour is not None]
    return (-len(prices), prices[0], tuple(map(str, line.terms)))


def _line(
    provider: str,
    terms: PairKey,
    *,
    found: Mapping[str, Sequence[Row]],
    missing: Mapping[str, str],
    question: Question,
    rows: Sequence[Row],
) -> Line:
    standing = {each: min(offers, key=_standing_order) for each, offers in found.items()}
    view = _view(question, terms, standing=standing)
    cells = [
        _cell(card, standing[card.id], question=question, view=view, stands_for=len(found[card.id]))
        if card.id in standing
        else Cell(card=card, row=None, why=missing[card.id])
        for card in question.cards
    ]
    base = next(cell for cell in cells if cell.card.id == question.baseline.id)
    cells = [cell if cell is base else _against(cell, base, question=question) for cell in cells]
    winners = _winners(cells, question.metric)
    doubts = (
        line_doubts(cells, question=question, view=view, terms=terms, winners=winners, rows=rows)
        if question.wants_doubts
        else ()
    )
    return Line(provider=provider, terms=terms, cells=tuple(cells), winners=winners, doubts=doubts)


def _standing_order(row: Row) -> tuple[int, int, int]:
    return (row.offer.min_gpus, row.stored.usd_micros_per_gpu_hour or 0, row.stored.offer_id)


def _view(question: Question, terms: PairKey, *, standing: Mapping[str, Row]) -> View:
    base = standing.get(question.baseline.id)
    price = None if base is None else usd_of(base)
    return View(
        precision=question.precision,
        weights_gb=question.weights_gb,
        baseline=question.baseline,
        baseline_usd_per_gpu_hour={} if price is None else {terms: price},
    )


def usd_of(row: Row) -> Decimal | None:
    """Return dollars for one GPU for one hour."""
    micros = row.stored.usd_micros_per_gpu_hour
    return None if micros is None else Decimal(micros) / MICROS_PER_USD


def _cell(card: Accelerator, row: Row, *, question: Question, view: View, stands_for: int) -> Cell:
    value = value_as(question.metric, row, card=card, view=view)
    return Cell(
        card=card,
        row=row,
        usd_per_gpu_hour=usd_of(row),
        value=value,
        stands_for=stands_for,
        why="" if value is not None else question.metric.why_unknown(replace(row, accelerator=card), view),
    )


def _against(cell: Cell, base: Cell, *, question: Question) -> Cell:
    """Return a cell with its multiples of the baseline's and whether it does better."""
    ours, theirs = cell.usd_per_gpu_hour, base.usd_per_gpu_hour
    if not ours or not theirs:
        return cell
    multiple = ours / theirs
    if not cell.value or not base.value:
        return replace(cell, multiple=multiple)
    # Both figures hold their own price, so the multiple at which they would be equal is without either.
    breakeven = base.value * ours / (cell.value * theirs) if question.has_price else None
    order = compare(cell.value, base.value, metric=question.metric)
    return replace(cell, multiple=multiple, breakeven=breakeven, passes=None if order is None else order > 0)


def _winners(cells: Sequence[Cell], metric: Metric) -> tuple[str, ...]:
    known = {cell.card.id: cell.value for cell in cells if cell.value is not None}
    if len(known) < LEAST_CARDS or metric.better == "neither":
        return ()
    best = (min if metric.better == "lower" else max)(known.values())
    return tuple(each for each, value in known.items() if value == best)


def _tally(card: Accelerator, lines: Sequence[Line], *, baseline: Accelerator) -> Tally:
    counted = [line for line in lines if line.counts and line.winners]
    listed = [line for line in counted if line.cell(card.id).value is not None]
    paired = [line for line in listed if line.cell(card.id).passes is not None and card.id != baseline.id]
    ties = [line for line in paired if line.cell(card.id).value == line.cell(baseline.id).value]
    beats = [line for line in paired if line.cell(card.id).passes]
    return Tally(
        card=card,
        listed=tuple(listed),
        wins=tuple(line for line in listed if line.winners == (card.id,)),
        beats=tuple(beats),
        ties=tuple(ties),
        loses=tuple(line for line in paired if line not in beats and line not in ties),
    )
