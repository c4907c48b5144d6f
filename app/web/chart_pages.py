"""Charts of the board under its own query: both ratios of each offer with the frontier, bars by provider."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.responses import RedirectResponse

from app.domain.metrics import METRICS, Metric
from app.domain.offers import OWN_PREFIX, PricingModel
from app.domain.query import query_pairs
from app.web import charts, words
from app.web.kept import answer_kept, base_of, json_of, page_of
from app.web.pages import find_board
from app.web.render import unit
from app.web.state import joined, link, query_string, query_text, read_pairs, read_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from decimal import Decimal

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.accelerators import Accelerator
    from app.domain.offers import Offer
    from app.domain.query import OfferQuery
    from app.domain.rows import Row
    from app.web.answers import Answer
    from app.web.boards import Served
    from app.web.charts import Figure

MOST_POINTS: Final = 300
"""Points of the scatter: the first of the query's order, all on the frontier, and the reader's own."""
MOST_CARDS: Final = 5
"""Cards of the bars: those that most providers list, unless the query chooses, and the reader's own."""

X: Final = METRICS["usd_per_tbs_hour"]
Y: Final = METRICS["usd_per_pflop_hour"]
BARS: Final = tuple(key for key, metric in METRICS.items() if metric.unit.startswith("$"))
"""The metrics that bars show: what a figure of the board is sorted by, when it is one of these."""


class Point(NamedTuple):
    """One offer in the plane of both ratios; the numbers are exact."""

    row: Row
    card: Accelerator
    x: Decimal
    y: Decimal
    is_efficient: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """The points in the query's order, how many offers match in all, and how many have both figures."""

    points: tuple[Point, ...]
    total: int
    known: int


class Cell(NamedTuple):
    """The offer that stands for a card at a provider, with its figure."""

    row: Row
    value: Decimal


def _terms(offer: Offer) -> tuple[PricingModel, str]:
    """Return the pricing model, and it in words with the term that a price is for."""
    return offer.pricing_model, words.pricing(replace(offer, tier=""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """The best figure of each card at each provider; providers are in the order of their best."""

    metric: Metric
    cards: tuple[Accelerator, ...]
    providers: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]
    left_out: int

    @property
    def own(self) -> frozenset[str]:
        """Return those of the providers that are the reader's own figures."""
        return frozenset(each for each in self.providers if each.startswith(OWN_PREFIX))

    @property
    def floors(self) -> frozenset[tuple[str, str]]:
        """Return the provider and the card of each figure that is only a floor, a price written as "from"."""
        return frozenset(key for key, cell in self.cells.items() if cell.row.offer.is_floor)

    @property
    def unlike_terms(self) -> str:
        """Return how many figures are under which terms, in words; empty where all are under the same."""
        by_terms = Counter(_terms(cell.row.offer) for cell in self.cells.values())
        if len(by_terms) < 2:  # noqa: PLR2004 - one is like itself
            return ""
        order = list(PricingModel)
        said = sorted(by_terms, key=lambda each: (order.index(each[0]), each[1]))
        return "; ".join(f"{by_terms[each]} {each[1]}" for each in said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A link that changes one part of the query."""

    label: str
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPage:
    """What both templates show beside their chart."""

    title: str
    query: OfferQuery
    canonical: str
    figure_href: str
    csv_href: str
    json_href: str
    offers_href: str
    board_href: str
    other_href: str
    quote_href: str
    pricings: tuple[Choice, ...]
    evidence_query: str
    x_unit: str
    y_unit: str


def scatter(request: Request) -> Response:
    """Answer the page of the scatter."""

    def make(served: Served, query: OfferQuery) -> Answer:
        page = _page("/charts/scatter", query, title="Bandwidth price against compute price")
        found = scatter_of(served, query)
        return page_of("scatter.html", page=page, scatter=found, words=words, base=base)

    base = base_of(request)
    return _tidied(request) or answer_query(request, make, base=base)


def scatter_figure(request: Request) -> Response:
    """Answer the scatter as a figure for plotly."""
    return answer_query(
        request, lambda served, query: json_of(_scatter_figure(scatter_of(served, query), query))
    )


def bars(request: Request) -> Response:
    """Answer the page of the bars."""

    def make(served: Served, query: OfferQuery) -> Answer:
        found = bars_of(served, query)
        page = _page("/charts/bars", query, title=f"{found.metric.label} by provider")
        metrics = tuple(
            Choice(
                label=METRICS[key].label,
                href=link("/charts/bars", query, sort=key),
                chosen=key == found.metric.key,
            )
            for key in BARS
        )
        text = unit(found.metric, query)
        return page_of("bars.html", page=page, bars=found, metrics=metrics, unit=text, words=words, base=base)

    base = base_of(request)
    return _tidied(request) or answer_query(request, make, base=base)


def bars_figure(request: Request) -> Response:
    """Answer the bars as a figure for plotly."""
    return answer_query(request, lambda served, query: json_of(_bars_figure(bars_of(served, query), query)))


def answer_query(
    request: Request, make: Callable[[Served, OfferQuery], Answer], *, base: str = ""
) -> Response:
    """Answer what is made of the board and its own query."""
    return answer_kept(request, lambda served, text: make(served, read_query(text, served.words)), base=base)


def _tidied(request: Request) -> Response | None:
    """Return a redirect that leaves out a form's empty fields, so that addresses stay short; else None."""
    text = query_text(request)
    if all(value for _, value in read_pairs(text)):
        return None
    served = find_board(request.app.state.shared, text)
    return RedirectResponse(link(str(request.scope["path"]), read_query(text, served.words)), 303)


def _page(path: str, query: OfferQuery, *, title: str) -> ChartPage:
    kept = query.replace(page=1)
    columns = tuple(dict.fromkeys([*query.columns, X.key, Y.key]))
    other = "/charts/bars" if path.endswith("scatter") else "/charts/scatter"
    pricings = [("all", ()), *((words.PRICING[each], (each.value,)) for each in PricingModel)]
    text = query_string(_figures_only(query))
    return ChartPage(
        title=title,
        query=query,
        canonical=link(path, kept),
        figure_href=link(path.replace("/charts/", "/figures/") + ".json", kept),
        csv_href=link(f"{path}.csv", kept),
        json_href=link(f"{path}.json", kept),
        offers_href=link("/offers.csv", kept, columns=columns),
        board_href=link("/", kept),
        other_href=link(other, kept),
        quote_href=f"/quote?{joined([('back', path), *query_pairs(kept)])}",
        pricings=tuple(
            Choice(label=label, href=link(path, kept, pricing=value), chosen=query.pricing == value)
            for label, value in pricings
        ),
        evidence_query=f"?{text}" if text else "",
        x_unit=unit(X, query),
        y_unit=unit(Y, query),
    )


def _figures_only(query: OfferQuery) -> OfferQuery:
    """Return the part of a query that the evidence of a row depends on."""
    return type(query)(
        precision=query.precision,
        weights_gb=query.weights_gb,
        baseline=query.baseline,
        as_of=query.as_of,
        spec=query.spec,
        quote=query.quote,
        own=query.own,
    )


def scatter_of(served: Served, query: OfferQuery) -> Scatter:
    """Return the offers of a query that have both ratios, and which of them are efficient.

    An offer is efficient when no other is as cheap in both and cheaper in one.
    """
    selection = served.board.select(query, everything=True)
    found: list[tuple[Row, Accelerator, Decimal, Decimal]] = []
    for number in selection.rows:
        row = served.board.rows[number]
        x, y = X.value(row, selection.view), Y.value(row, selection.view)
        if row.accelerator is not None and x is not None and y is not None:
            found.append((row, row.accelerator, x, y))
    best = efficient((x, y) for _, _, x, y in found)
    points = [Point(*each, (each[2], each[3]) in best) for each in found]
    shown = [
        point
        for number, point in enumerate(points)
        if number < MOST_POINTS or point.is_efficient or point.row.offer.is_own
    ]
    return Scatter(points=tuple(shown), total=selection.total, known=len(found))


def efficient(pairs: Iterable[tuple[Decimal, Decimal]]) -> frozenset[tuple[Decimal, Decimal]]:
    """Return the pairs that no other undercuts: none is at most as large in both and smaller in one."""
    found: list[tuple[Decimal, Decimal]] = []
    for x, y in sorted(set(pairs)):
        if not found or y < found[-1][1]:
            found.append((x, y))
    return frozenset(found)


def _scatter_figure(found: Scatter, query: OfferQuery) -> Figure:
    groups: dict[str, list[charts.Point]] = {}
    own: dict[str, list[charts.Point]] = {}
    for point in found.points:
        offer = point.row.offer
        label = charts.provider_label(offer.provider)
        same = own.setdefault(label, []) if offer.is_own else groups.setdefault(point.card.name, [])
        said = f"{label} {point.card.name}, {words.pricing(offer)}"
        same.append((float(point.x), float(point.y), said))
    frontier = sorted({(float(each.x), float(each.y), "") for each in found.points if each.is_efficient})
    return charts.scatter_figure(groups, frontier, own=own, x_unit=unit(X, query), y_unit=unit(Y, query))


def bars_of(served: Served, query: OfferQuery) -> Bars:
    """Return the best offer of each card at each provider by the query's order, where that is a price."""
    metric = METRICS[query.sort_key] if query.sort_key in BARS else X
    selection = served.board.select(query, everything=True)
    rows = [served.board.rows[number] for number in selection.rows]
    cards = _cards(rows, everything=bool(query.gpu))
    cells: dict[tuple[str, str], Cell] = {}
    for row in rows:
        value = metric.value(row, selection.view)
        if row.accelerator is None or value is None or row.accelerator not in cards:
            continue
        key = (row.offer.provider, row.accelerator.id)
        if key not in cells or value < cells[key].value:
            cells[key] = Cell(row, value)
    best: dict[str, Decimal] = {}
    for (provider, _), cell in cells.items():
        best[provider] = min(best.get(provider, cell.value), cell.value)
    providers = tuple(sorted(best, key=lambda each: (best[each], each)))
    known = {row.accelerator.id for row in rows if row.accelerator}
    return Bars(
        metric=metric, cards=cards, providers=providers, cells=cells, left_out=len(known) - len(cards)
    )


def _cards(rows: Sequence[Row], *, everything: bool) -> tuple[Accelerator, ...]:
    """Return the cards that bars show: those that most providers list; more only when the query chose.

    Those of the reader's own figures are always among them.
    """
    by_id = {row.accelerator.id: row.accelerator for row in rows if row.accelerator}
    pairs = {
        (row.accelerator.id, row.offer.provider) for row in rows if row.accelerator and not row.offer.is_own
    }
    own = {row.accelerator.id for row in rows if row.accelerator and row.offer.is_own}
    counts = Counter(card for card, _ in pairs)
    order = sorted(by_id, key=lambda card: (-counts[card], card))
    most = len(charts.COLOURS) if everything else MOST_CARDS
    return tuple(by_id[each] for number, each in enumerate(order) if number < most or each in own)


def _bars_figure(found: Bars, query: OfferQuery) -> Figure:
    by_card = {
        card.name: {
            charts.provider_label(provider): float(cell.value)
            for provider in found.providers
            if (cell := found.cells.get((provider, card.id))) is not None
        }
        for card in found.cards
    }
    names = [charts.provider_label(each) for each in found.providers]
    own = {charts.provider_label(each) for each in found.own}
    floors = {
        (card.name, charts.provider_label(provider))
        for provider, card_id in found.floors
        for card in found.cards
        if card.id == card_id
    }
    by_id = {card.id: card.name for card in found.cards}
    terms = {
        (by_id[card_id], charts.provider_label(provider)): words.pricing(cell.row.offer)
        for (provider, card_id), cell in found.cells.items()
    }
    text = unit(found.metric, query)
    return charts.bars_figure(by_card, names, own=own, floors=floors, terms=terms, unit=text)
