"""The history of a card's prices as a page, JSON, CSV and a figure: one line a provider, gaps left open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
from starlette.responses import RedirectResponse

from app.domain.accelerators import PRECISIONS
from app.domain.offers import MICROS_PER_USD, OWN_PREFIX, PricingModel, ServiceKind
from app.domain.query import OfferQuery, query_pairs
from app.web import charts, words
from app.web.boards import last_second_of
from app.web.history_query import (
    DAYS,
    PRICED,
    History,
    HistoryQuery,
    history_link,
    history_pairs,
    load_history,
    read_history_query,
)
from app.web.kept import answer_kept, base_of, csv_of, json_of, page_of
from app.web.own_figures import figures_of
from app.web.render import unit
from app.web.stands import in_json, stands
from app.web.state import joined, link, query_text, read_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.history import Line, Stretch
    from app.domain.metrics import Metric
    from app.domain.offers import Offer
    from app.web.answers import Answer
    from app.web.boards import Served
    from app.web.own_figures import OwnFigure

MOST_LINES: Final = 300
"""Stretches that the page's table shows, the latest first; CSV and JSON have all."""

COLUMNS: Final = (
    "provider",
    "line",
    "from",
    "to",
    "value",
    "unit",
    "usd_per_gpu_hour",
    "announced",
    "offer_id",
    "is_own",
    "precision",
    "weights_gb",
    "spec",
    "as_of",
)

RANGES: Final = (30, 90, DAYS)
"""Days from today back that one link each shows."""


class Choice(NamedTuple):
    """A link that changes one part of the query."""

    label: str
    href: str
    chosen: bool


class HistoryLine(NamedTuple):
    """One stretch of a line as the table shows it."""

    provider: str
    name: str
    what: str
    starts: str
    ends: str
    value: str
    raw: str
    usd: str
    announced: bool
    href: str
    is_own: bool


class Box(NamedTuple):
    """One provider or kind of service to choose, and whether it is chosen."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """What the template of the history shows."""

    title: str
    query: HistoryQuery
    history: History
    unit: str
    metrics: tuple[Metric, ...]
    listed: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...]
    lines: tuple[HistoryLine, ...]
    left_out: int
    notices: tuple[str, ...]
    ranges: tuple[Choice, ...]
    spec_label: str
    spec_href: str
    today: str
    precisions: tuple[str, ...]
    pricings: tuple[tuple[str, str], ...]
    services: tuple[Box, ...]
    providers: tuple[Box, ...]
    own: tuple[OwnFigure, ...]
    kept: tuple[tuple[str, str], ...]
    canonical: str
    csv_href: str
    json_href: str
    figure_href: str
    board_href: str
    gpu_href: str
    quote_href: str


def history(request: Request) -> Response:
    """Answer the history page. A form's empty fields are redirected away, so that addresses stay short."""
    text = query_text(request)
    if any(not value for _, value in read_pairs(text)):
        served = request.app.state.shared.keeper.current()
        return RedirectResponse(history_link("/history", read_history_query(text, served.words)), 303)
    base = base_of(request)
    return _answer(
        request,
        lambda served, found: page_of("history.html", page=history_page(served, found), base=base),
        base=base,
    )


def history_json(request: Request) -> Response:
    """Answer the lines as JSON."""
    return _answer(request, lambda _served, found: json_of(history_document(found)))


def history_csv(request: Request) -> Response:
    """Answer the lines as CSV, one line a stretch."""

    def make(_served: Served, found: History) -> Answer:
        ends = stands(found.query, instant=found.now).values()
        rows = [
            [words.provider_name(line.provider), *_plain_stretch(found, line, each), *ends]
            for line in found.shown
            for each in line.stretches
        ]
        return csv_of(f"history-{found.query.gpu}", COLUMNS, rows=rows)

    return _answer(request, make)


def history_figure(request: Request) -> Response:
    """Answer the lines as a figure for plotly."""
    return _answer(
        request,
        lambda _served, found: json_of(charts.history_figure(found, unit=unit_of(found))),
    )


def _answer(request: Request, make: Callable[[Served, History], Answer], *, base: str = "") -> Response:
    shared = request.app.state.shared

    def made(served: Served, text: str) -> Answer:
        query = read_history_query(text, served.words)
        return make(served, load_history(shared, served, query=query))

    return answer_kept(request, made, base=base)


def unit_of(found: History) -> str:
    """Return the unit of the history's metric with what it depends on."""
    asked = OfferQuery(precision=found.query.precision, weights_gb=found.query.weights_gb)
    return unit(found.metric, asked)


def history_page(served: Served, found: History) -> HistoryPage:
    """Work out what the page shows."""
    query, own = found.query, OfferQuery(quote=found.query.quote, own=found.query.own)
    on_board = {row.accelerator.id for row in served.board.rows if row.accelerator}
    names = [(card.id, card.name) for card in served.board.catalogue.accelerators]
    stretches = sum(len(line.stretches) for line in found.lines)
    return HistoryPage(
        title=f"{found.card.name}: {found.metric.label.lower()} over time",
        query=query,
        history=found,
        unit=unit_of(found),
        metrics=tuple(PRICED.values()),
        listed=tuple(pair for pair in names if pair[0] in on_board),
        others=tuple(pair for pair in names if pair[0] not in on_board),
        lines=tuple(table_lines(found, most=MOST_LINES)),
        left_out=max(0, stretches - MOST_LINES),
        notices=tuple(_notices(found)),
        ranges=tuple(_ranges(served, query)),
        spec_label=_spec_label(found),
        spec_href=history_link("/history", query, spec="alt" if query.spec == "main" else "main"),
        today=served.words.today.isoformat(),
        precisions=PRECISIONS,
        pricings=tuple((each.value, words.PRICING[each]) for each in PricingModel),
        services=tuple(
            Box(each.value, words.SERVICE[each], each.value in query.service) for each in ServiceKind
        ),
        providers=_providers(served, query),
        own=tuple(figures_of(query, href=lambda without: history_link("/history", without))),
        kept=query_pairs(own.replace(spec=query.spec)),
        canonical=history_link("/history", query),
        csv_href=history_link("/history.csv", query),
        json_href=history_link("/history.json", query),
        figure_href=history_link("/figures/history.json", query),
        board_href=link("/", own, gpu=(query.gpu,), provider=query.provider),
        gpu_href=link(f"/gpus/{query.gpu}", own),
        quote_href=f"/quote?{joined([('back', '/history'), *history_pairs(query)])}",
    )


def _providers(served: Served, query: HistoryQuery) -> tuple[Box, ...]:
    """Return the providers to choose from: those on the board, and what is chosen."""
    listed = {row.offer.provider for row in served.board.rows if not row.offer.is_own}
    found = [
        Box(each, words.provider_name(each), each in query.provider) for each in {*listed, *query.provider}
    ]
    return tuple(sorted(found, key=lambda each: (each.label.casefold(), each.value)))


def _ranges(served: Served, query: HistoryQuery) -> Iterator[Choice]:
    """Yield links to the last days, and to all from the first with a price."""
    starts = {
        f"{days} days": None if days == DAYS else served.words.today - timedelta(days=days) for days in RANGES
    }
    if served.first_day and served.first_day < served.words.today - timedelta(days=DAYS):
        starts[f"all since {served.first_day}"] = served.first_day
    for label, start in starts.items():
        href = history_link("/history", query, start=start, end=None)
        yield Choice(label, href, chosen=query.end is None and query.start == start)


def _spec_label(found: History) -> str:
    """Return what a link to the other published bandwidth says; empty where it would change nothing."""
    if found.other_card is None:
        return ""
    return f"Work it out with {words.exact(found.other_card.bandwidth_tb_s)} TB/s, which is published too"


def _notices(found: History) -> Iterator[str]:
    if found.query.spec == "alt" and found.other_card is not None:
        yield (
            f"Worked out with the other published bandwidth, {words.exact(found.card.bandwidth_tb_s)} TB/s, "
            f"not the {words.exact(found.other_card.bandwidth_tb_s)} TB/s of all other pages."
        )
    elif found.query.spec == "alt":
        yield f"This figure of the {found.card.name} is the same with any published bandwidth."
    if found.other_currency:
        who = ", ".join(words.provider_name(each) for each in found.other_currency)
        yield f"Prices in another currency than dollars are left out: {who}."
    if any(value is None for value in found.figures.values()):
        yield (
            f"No dense {found.query.precision.upper()} rate is published for the {found.card.name}, "
            "so this figure is unknown."
        )
    yield from _own_notices(found)


def _own_notices(found: History) -> Iterator[str]:
    """Yield which of the reader's own figures are not drawn, and which have other terms than what is."""
    for row in found.own_elsewhere:
        card = row.accelerator.name if row.accelerator else row.offer.accelerator_as_written
        yield f"{_own_name(row.offer)} is for the {card} and is not shown here."
    for row, _ in found.own:
        offer = row.offer
        if offer.pricing_model.value != found.query.pricing:
            lines = words.PRICING[PricingModel(found.query.pricing)]
            yield f"{_own_name(offer)} is {words.pricing(offer)}; the other lines are {lines}."
        if found.query.service and offer.service_kind.value not in found.query.service:
            kinds = ", ".join(words.SERVICE[ServiceKind(each)] for each in found.query.service)
            yield f"{_own_name(offer)} is for: {words.SERVICE[offer.service_kind]}; the other lines: {kinds}."


def _own_name(offer: Offer) -> str:
    """Return what a reader's own figure is called: your quote Hale."""
    return f"{offer.sku.capitalize()} {words.provider_name(offer.provider)}"


def table_lines(found: History, *, most: int) -> list[HistoryLine]:
    """Return the reader's own lines, then the stretches of all others, the latest first; at most so many."""
    own = [(each.line, stretch) for each in found.own for stretch in each.line.stretches]
    pairs = [(line, each) for line in found.lines for each in line.stretches]
    pairs.sort(key=lambda pair: pair[1].starts, reverse=True)
    return [_table_line(found, line, each) for line, each in [*own, *pairs][:most]]


def _table_line(found: History, line: Line, each: Stretch) -> HistoryLine:
    value = found.figures[each.usd_micros]
    return HistoryLine(
        provider=line.provider,
        name=words.provider_name(line.provider),
        what=charts.WHAT[line.what],
        starts=words.moment(each.starts),
        ends="" if each.starts <= found.now <= each.ends else words.moment(each.ends),
        value=words.DASH if value is None else words.number(value, max(3, found.metric.decimals)),
        raw="" if value is None else words.exact(value),
        usd=words.number(Decimal(each.usd_micros) / MICROS_PER_USD, 3),
        announced=each.announced,
        href=_evidence(each, found),
        is_own=line.provider.startswith(OWN_PREFIX),
    )


def _evidence(each: Stretch, found: History) -> str:
    """Return the address of what stands behind a price, on a day whose board holds it; else nothing."""
    if each.offer_id is None or each.starts > found.now:
        return ""
    if each.offer_id < 0:
        query = found.query
        figures = OfferQuery(precision=query.precision, weights_gb=query.weights_gb, spec=query.spec)
        return link(f"/offers/{each.offer_id}", figures, quote=query.quote, own=query.own)
    if each.ends >= found.now:
        return f"/offers/{each.offer_id}"
    last = last_second_of(each.starts.date())
    return f"/offers/{each.offer_id}?as_of={each.starts.date()}" if each.ends > last else ""


def _plain_stretch(found: History, line: Line, each: Stretch) -> list[object]:
    value = found.figures[each.usd_micros]
    return [
        line.what,
        words.utc(each.starts),
        words.utc(each.ends),
        None if value is None else float(value),
        unit_of(found),
        each.usd_micros / MICROS_PER_USD,
        each.announced,
        each.offer_id,
        line.provider.startswith(OWN_PREFIX),
    ]


def history_document(found: History) -> dict[str, Any]:
    """Return the lines as one document for programs; a time without a stretch is one nobody read."""
    query = found.query
    figures = {micros: None if value is None else float(value) for micros, value in found.figures.items()}
    return {
        "gpu": query.gpu,
        "metric": query.metric,
        "unit": unit_of(found),
        **in_json(stands(query, instant=found.now)),
        "bandwidth_tb_s": float(found.card.bandwidth_tb_s),
        "provider": list(query.provider),
        "pricing": query.pricing,
        "service": list(query.service),
        "from": found.first.isoformat(),
        "to": query.end.isoformat() if query.end else None,
        "not_in_dollars": list(found.other_currency),
        "own_not_shown": [row.offer.provider for row in found.own_elsewhere],
        "lines": [
            {
                "provider": line.provider,
                "line": line.what,
                "is_own": line.provider.startswith(OWN_PREFIX),
                "stretches": _stretches_json(line, figures),
            }
            for line in found.shown
        ],
    }


def _stretches_json(line: Line, figures: Mapping[int, float | None]) -> orjson.Fragment:
    """Return stretches as JSON that a document can hold, times to the second in UTC (RFC 3339).

    A long history has tens of thousands of them: the JSON library writes their times, and a line is text
    before the next one is made.
    """
    plain = [
        {
            "from": each.starts,
            "to": each.ends,
            "value": figures[each.usd_micros],
            "usd_per_gpu_hour": each.usd_micros / MICROS_PER_USD,
            "announced": each.announced,
            "offer_id": each.offer_id,
        }
        for each in line.stretches
    ]
    return orjson.Fragment(orjson.dumps(plain, option=orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS))
