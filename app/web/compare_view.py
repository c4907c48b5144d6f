"""What the page of a comparison shows: lines, cells with their marks, who is left out, and the form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import PRECISIONS
from app.domain.compare_query import COMPARED, compare_pairs
from app.domain.doubts import WHY_MEANINGS, Why
from app.domain.fit import does_not_fit, is_about_weights
from app.domain.metrics import View
from app.domain.offers import PricingModel, ServiceKind
from app.domain.pairing import STANDS_RULE, TERMS_RULE
from app.domain.providers import VIA
from app.domain.query import OfferQuery
from app.domain.question import labels
from app.domain.rows import FLAG_MEANINGS, Flag
from app.web import compare_words, words
from app.web.choices import Choice, choices
from app.web.render import NATURE, counted_flag, unit
from app.web.state import joined, link

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from app.domain.accelerators import Accelerator
    from app.domain.compare_query import CompareQuery
    from app.domain.metrics import Metric
    from app.domain.pairing import Cell, Line, Pairing
    from app.domain.question import Question
    from app.web.boards import Served

_KINDS: Final = {
    Why.SPEC: Flag.DISPUTED_ORDER,
    Why.FORM: Flag.ASSUMED,
    Why.FLOOR: Flag.FLOOR,
    Why.ANNOUNCED: Flag.ANNOUNCED,
    Why.STALE: Flag.STALE,
}
"""Which of the board's flags a doubt looks like."""
CSV: Final = "text/csv; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A small word beside a cell, of one of the board's kinds of flag, and what it means here."""

    kind: str
    word: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """One card at one provider as the table shows it; numbers are empty where unknown, with `why`."""

    usd: str
    usd_raw: str
    value: str
    value_raw: str
    why: str
    href: str
    about: str
    multiple: str
    breakeven: str
    verdict: str
    is_baseline: bool
    wins: bool
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineView:
    """One provider under one set of terms as the table shows it."""

    name: str
    terms: str
    is_own: bool
    counts: bool
    cells: tuple[CellView, ...]
    winner: str
    in_doubt: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """One compared card as the head of the table shows it; `baseline_href` makes it the baseline."""

    name: str
    full_name: str
    is_baseline: bool
    baseline_href: str
    figures: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """What the template of the comparison shows. Links hold only what differs from the default."""

    title: str
    canonical: str
    json_href: str
    csv_href: str
    spec_href: str
    spec_label: str
    notices: tuple[str, ...]
    counts: tuple[str, ...]
    doubts: tuple[str, ...]
    metric: Metric
    metric_unit: str
    metric_nature: str
    has_price: bool
    cards: tuple[CardView, ...]
    lines: tuple[LineView, ...]
    left_out: tuple[tuple[str, str], ...]
    gpus: tuple[Choice, ...]
    baselines: tuple[Choice, ...]
    metrics: tuple[Choice, ...]
    precisions: tuple[Choice, ...]
    pricings: tuple[Choice, ...]
    services: tuple[Choice, ...]
    weights_gb: str
    as_of: str
    today: str
    first_day: str
    kept_fields: tuple[tuple[str, str], ...]
    quote_href: str
    stands_rule: str
    terms_rule: str
    meanings: tuple[tuple[str, str], ...]


def compare_link(path: str, query: CompareQuery, **changes: Any) -> str:
    """Return the address of a comparison with some fields changed; the bare path when all is default."""
    text = joined(compare_pairs(query.replace(**changes)))
    return f"{path}?{text}" if text else path


def _quote_link(query: CompareQuery) -> str:
    """Return the address at which the reader adds figures of their own to this comparison."""
    return f"/quote?{joined([('back', '/compare'), *compare_pairs(query)])}"


def compare_page(served: Served, query: CompareQuery, *, pairing: Pairing) -> ComparePage:
    """Work out what the page shows."""
    question = pairing.question
    names = labels(question.cards)
    metric = question.metric
    is_alt = query.spec == "alt"
    plain = OfferQuery(precision=query.precision, weights_gb=query.weights_gb)
    return ComparePage(
        title=f"{compare_words.joined([*names.values()])}{f', {query.as_of}' if query.as_of else ''}",
        canonical=compare_link("/compare", query),
        json_href=compare_link("/compare.json", query),
        csv_href=compare_link("/compare.csv", query),
        spec_href=compare_link("/compare", query, spec="main" if is_alt else "alt"),
        spec_label=_spec_label(question.cards, names, is_alt=is_alt),
        notices=(*_notices(served, query), *_own_left_out(served, pairing)),
        counts=compare_words.counts(pairing),
        doubts=compare_words.doubts(pairing),
        metric=metric,
        metric_unit=unit(metric, plain),
        metric_nature=NATURE[metric.nature],
        has_price=question.has_price,
        cards=tuple(_card(card, query, names=names) for card in question.cards),
        lines=tuple(_line(line, pairing, query=query) for line in pairing.lines),
        left_out=_left_out(pairing),
        **_form(served, query),
        kept_fields=_kept_fields(query, metric),
        quote_href=_quote_link(query),
        stands_rule=STANDS_RULE,
        terms_rule=TERMS_RULE,
        meanings=tuple((compare_words.DOUBT[why], meaning) for why, meaning in WHY_MEANINGS.items()),
    )


def _kept_fields(query: CompareQuery, metric: Metric) -> tuple[tuple[str, str], ...]:
    """Return what the form keeps without showing it, as what the figure does not depend on."""
    kept = {"spec", "quote", "own"} | ({"precision", "weights_gb"} - {*metric.depends})
    return tuple(pair for pair in compare_pairs(query) if pair[0] in kept)


def _left_out(pairing: Pairing) -> tuple[tuple[str, str], ...]:
    """Return each reason with whom it leaves out; an aggregator's word on a paired provider is not told."""
    paired = {line.provider.partition(VIA)[0] for line in pairing.lines}
    found: dict[str, list[str]] = {}
    for each in sorted(pairing.left_out, key=lambda one: not one.lists):
        if VIA not in each.provider or each.provider.partition(VIA)[0] not in paired:
            found.setdefault(each.why, []).append(words.provider_name(each.provider))
    return tuple((compare_words.joined(names), why) for why, names in found.items())


def _form(served: Served, query: CompareQuery) -> dict[str, Any]:
    """Return what the form offers: the compared cards first, then the others on the board."""
    catalogue = served.board.catalogue
    here = {row.accelerator.id for row in served.board.rows if row.accelerator}
    others = [card.id for card in catalogue.accelerators if card.id in here and card.id not in query.gpu]
    pricing = tuple(PricingModel)
    return {
        "gpus": choices([(each, catalogue.by_id[each].name) for each in (*query.gpu, *others)], query.gpu),
        "baselines": choices(
            [(each, catalogue.by_id[each].name) for each in query.gpu[1:]], (query.baseline or "",)
        ),
        "metrics": choices(
            [(key, f"{each.label}, {each.unit}") for key, each in COMPARED.items()], (query.metric,)
        ),
        "precisions": choices([(each, each.upper()) for each in PRECISIONS], (query.precision,)),
        "pricings": choices([(each.value, words.PRICING[each]) for each in pricing], query.pricing),
        "services": choices([(each.value, words.SERVICE[each]) for each in ServiceKind], query.service),
        "weights_gb": words.exact(query.weights_gb),
        "as_of": query.as_of.isoformat() if query.as_of else "",
        "today": served.words.today.isoformat(),
        "first_day": served.first_day.isoformat() if served.first_day else "",
    }


def _spec_label(cards: tuple[Accelerator, ...], names: Mapping[str, str], *, is_alt: bool) -> str:
    """Return what the link to the other figures says; empty when no compared card has any."""
    others = [f"{names[card.id]} {card.bandwidth_alt_tb_s} TB/s" for card in cards if card.bandwidth_alt_tb_s]
    if not others:
        return ""
    return f"{'Back to' if is_alt else 'Recompute with'} {compare_words.joined(others)}"


def _notices(served: Served, query: CompareQuery) -> tuple[str, ...]:
    found = []
    if served.outage:
        found.append(f"The database is away. These are the prices of {words.moment(served.board.instant)}.")
    if query.as_of is not None and query.as_of < served.words.today:
        found.append(f"These are the prices of {query.as_of}, not today's.")
        if served.first_day is not None and query.as_of < served.first_day:
            found.append(f"No price was recorded before {served.first_day}.")
    if query.spec == "alt":
        found.append("Computed with the other published bandwidth of each card that has one.")
    return tuple(found)


def _own_left_out(served: Served, pairing: Pairing) -> Iterator[str]:
    """Yield a sentence for each of the reader's own figures that takes no part."""
    question = pairing.question
    cards = {card.id for card in question.cards}
    for row in served.board.rows:
        if not row.offer.is_own or (row.offer.accelerator in cards and question.takes(row)):
            continue
        terms = f"{words.SERVICE[row.offer.service_kind]}, {words.pricing(row.offer)}"
        why = f"{terms} is not compared here" if row.offer.accelerator in cards else "it is for another card"
        yield f"Your own figure {words.provider_name(row.offer.provider)} takes no part: {why}."


def _card(card: Accelerator, query: CompareQuery, *, names: Mapping[str, str]) -> CardView:
    first = query.baseline or query.gpu[0]
    speeds = [f"{words.exact(card.bandwidth_tb_s)} TB/s"]
    if card.bandwidth_alt_tb_s is not None:
        speeds.append(f"also published: {words.exact(card.bandwidth_alt_tb_s)}")
    return CardView(
        name=names[card.id],
        full_name=card.name,
        is_baseline=card.id == first,
        baseline_href=compare_link("/compare", query, baseline=None if card.id == query.gpu[0] else card.id),
        figures="; ".join(speeds),
    )


def _line(line: Line, pairing: Pairing, *, query: CompareQuery) -> LineView:
    names = labels(pairing.question.cards)
    offer = next(cell.row.offer for cell in line.cells if cell.row)
    wins = " and ".join(names[each] for each in line.winners)
    return LineView(
        name=words.provider_name(line.provider),
        terms=f"{words.SERVICE[offer.service_kind]}, {words.pricing(offer)}",
        is_own=line.is_own,
        counts=line.counts,
        cells=tuple(_cell(cell, line, pairing=pairing, query=query) for cell in line.cells),
        winner=f"tie: {wins}" if len(line.winners) > 1 else wins,
        in_doubt=any(each.why is not Why.STALE for each in line.doubts),
    )


def _cell(cell: Cell, line: Line, *, pairing: Pairing, query: CompareQuery) -> CellView:
    metric = pairing.question.metric
    usd, value, row = cell.usd_per_gpu_hour, cell.value, cell.row
    multiple, even = _multiples(cell)
    figures = OfferQuery(**{name: getattr(query, name) for name in _IN_EVIDENCE})
    return CellView(
        usd="" if usd is None else words.number(usd, 2),
        usd_raw="" if usd is None else words.exact(usd),
        value="" if value is None else words.number(value, metric.decimals),
        value_raw="" if value is None else words.exact(value),
        why=cell.why,
        href=link(f"/offers/{row.stored.offer_id}", figures) if row else "",
        about=_about(cell),
        multiple=multiple,
        breakeven=even,
        verdict=""
        if cell.passes is None
        else "passes"
        if cell.passes
        else "tie"
        if multiple == even
        else "fails",
        is_baseline=cell.card.id == pairing.question.baseline.id,
        wins=line.winners == (cell.card.id,),
        marks=tuple(_marks(cell, line, pairing=pairing)),
    )


_IN_EVIDENCE: Final = ("precision", "weights_gb", "as_of", "spec", "quote", "own")
"""Fields that a cell's link to its evidence keeps."""


def _multiples(cell: Cell) -> tuple[str, str]:
    if cell.multiple is None:
        return "", ""
    if cell.breakeven is None:
        return words.number(cell.multiple, 2), ""
    return compare_words.apart(cell.multiple, cell.breakeven)


def _about(cell: Cell) -> str:
    if cell.row is None:
        return ""
    offer = cell.row.offer
    others = f"; {cell.stands_for} offers, this one stands for them" if cell.stands_for > 1 else ""
    region = f", {offer.region}" if offer.region else ""
    return f"Evidence: {offer.sku}, {offer.gpu_count} GPUs an instance{region}{others}"


def _too_large(cell: Cell, *, question: Question) -> Iterator[Mark]:
    """Yield that the weights do not fit one card, where the figure that is compared depends on them."""
    view = View(precision=question.precision, weights_gb=question.weights_gb)
    if cell.row is None or not is_about_weights(question.metric):
        return
    if said := does_not_fit(cell.row, view):
        flag = Flag.OVER_MEMORY
        word = f"{words.FLAG[flag]}{counted_flag(cell.row, view, flag=flag)}"
        yield Mark(kind=flag, word=word, meaning=f"{words.exact(view.weights_gb)} GB {said}")


def _marks(cell: Cell, line: Line, *, pairing: Pairing) -> Iterator[Mark]:
    """Yield the small words beside a cell: what is in doubt about it, an assumption, a minimum."""
    said: dict[Why, list[str]] = {}
    for each in line.doubts:
        if each.card.id == cell.card.id:
            said.setdefault(each.why, []).append(compare_words.doubt(line, each, pairing=pairing))
    for why, sentences in said.items():
        is_very_stale = why is Why.STALE and cell.row is not None and Flag.VERY_STALE in cell.row.flags
        kind = Flag.VERY_STALE if is_very_stale else _KINDS[why]
        word = words.FLAG[kind] if is_very_stale else compare_words.DOUBT[why]
        yield Mark(kind=kind, word=word, meaning=" ".join(sentences))
    yield from _too_large(cell, question=pairing.question)
    if cell.row is not None and cell.row.offer.variant_assumed:
        yield Mark(kind=Flag.ASSUMED, word=words.FLAG[Flag.ASSUMED], meaning=FLAG_MEANINGS[Flag.ASSUMED])
    if cell.row is not None and cell.row.offer.min_gpus > 1:
        least = cell.row.offer.min_gpus
        word = f"{words.FLAG[Flag.MIN_QUANTITY]} {least}"
        yield Mark(kind=Flag.MIN_QUANTITY, word=word, meaning=f"rented {least} GPUs or more at a time")
