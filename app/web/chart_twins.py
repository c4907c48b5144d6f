"""What both charts of the board show, for programs: the numbers of the table beside each, unrounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from app.web.chart_pages import X, Y, answer_query, bars_of, scatter_of
from app.web.exports import describe
from app.web.kept import csv_of_objects, json_of
from app.web.stands import in_json, stands

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.accelerators import Accelerator
    from app.domain.query import OfferQuery
    from app.domain.rows import Row
    from app.web.answers import Answer
    from app.web.boards import Served
    from app.web.chart_pages import Bars, Scatter

_OFFER: Final = ("provider", "accelerator", "pricing_model", "tier", "term_days_min", "term_days_max")


def scatter_json(request: Request) -> Response:
    """Answer the points of the scatter as one document."""

    def make(served: Served, query: OfferQuery) -> Answer:
        found = scatter_of(served, query)
        return json_of(
            {
                **in_json(stands(query, instant=served.board.instant)),
                "metrics": [describe(each.key, query) for each in (X, Y)],
                "total": found.total,
                "with_both_figures": found.known,
                "points": list(_points(found)),
            }
        )

    return answer_query(request, make)


def scatter_csv(request: Request) -> Response:
    """Answer the points of the scatter as CSV, a line for each offer with what its figures stand for."""

    def make(served: Served, query: OfferQuery) -> Answer:
        said = stands(query, instant=served.board.instant)
        columns = (*_OFFER, X.key, Y.key, "efficient", "offer_id", *said)
        day = query.as_of or served.words.today
        lines = ({**each, **said} for each in _points(scatter_of(served, query)))
        return csv_of_objects(f"scatter-{day}", lines, columns=columns)

    return answer_query(request, make)


def bars_json(request: Request) -> Response:
    """Answer the bars as one document, one figure for each provider and card."""

    def make(served: Served, query: OfferQuery) -> Answer:
        found = bars_of(served, query)
        return json_of(
            {
                **in_json(stands(query, instant=served.board.instant)),
                "metric": describe(found.metric.key, query),
                "accelerators": [card.id for card in found.cards],
                "accelerators_left_out": found.left_out,
                "bars": list(_bars(found)),
            }
        )

    return answer_query(request, make)


def bars_csv(request: Request) -> Response:
    """Answer the bars as CSV, a line for each provider and card with what its figure stands for."""

    def make(served: Served, query: OfferQuery) -> Answer:
        found = bars_of(served, query)
        day, said = query.as_of or served.words.today, stands(query, instant=served.board.instant)
        columns = (*_OFFER, found.metric.key, "offer_id", "is_floor", *said)
        return csv_of_objects(f"bars-{day}", ({**each, **said} for each in _bars(found)), columns=columns)

    return answer_query(request, make)


def _points(found: Scatter) -> Iterator[dict[str, Any]]:
    for point in found.points:
        figures = {X.key: point.x, Y.key: point.y}
        yield {
            **_plain(point.row, point.card, figures),
            "efficient": point.is_efficient,
            "offer_id": point.row.stored.offer_id,
        }


def _bars(found: Bars) -> Iterator[dict[str, Any]]:
    for provider in found.providers:
        for card in found.cards:
            cell = found.cells.get((provider, card.id))
            if cell is not None:
                figures = {found.metric.key: cell.value}
                yield {
                    **_plain(cell.row, card, figures),
                    "offer_id": cell.row.stored.offer_id,
                    "is_floor": cell.row.offer.is_floor,
                }


def _plain(row: Row, card: Accelerator, figures: dict[str, Decimal]) -> dict[str, Any]:
    offer = row.offer
    return {
        "provider": offer.provider,
        "accelerator": card.id,
        "pricing_model": offer.pricing_model.value,
        "tier": offer.tier or None,
        "term_days_min": offer.term_days_min,
        "term_days_max": offer.term_days_max,
        **{key: float(value) for key, value in figures.items()},
    }
