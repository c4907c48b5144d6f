"""What a model's page is made of: the board, the model, the question, and the costs in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.llms.api_prices import prices_of
from app.domain.llms.cost_query import in_order, parse_cost, serving_of
from app.domain.llms.costs import offer_costs
from app.web.state import read_pairs

if TYPE_CHECKING:
    from app.domain.llms.api_prices import ApiPrice
    from app.domain.llms.cost_query import CostQuery
    from app.domain.llms.costs import OfferCost, Serving
    from app.domain.rows import Row
    from app.web.boards import Served
    from app.web.llm_view import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The answer to a query about a model. `api` is what costs are held against, None for the link's own.

    `costs` are all offers of the query, in its order.
    """

    served: Served
    subject: Subject
    query: CostQuery
    serving: Serving
    api: ApiPrice | None
    costs: tuple[OfferCost, ...]


def read_cost(text: str, served: Served) -> CostQuery:
    """Return the query of a query string; raises QueryError."""
    return parse_cost(read_pairs(text), served.words)


def find(served: Served, subject: Subject, *, query: CostQuery, row: Row | None = None) -> Found:
    """Work out what each offer of the query comes to, or `row` alone."""
    api = _api(served, subject, query=query)
    serving = serving_of(query, subject.profile, api_usd_per_mtok=api.usd_per_mtok_output if api else None)
    rows = [row] if row is not None else _rows(served, query)
    return Found(
        served=served,
        subject=subject,
        query=query,
        serving=serving,
        api=api,
        costs=tuple(in_order(offer_costs(serving, rows), query)),
    )


def _rows(served: Served, query: CostQuery) -> list[Row]:
    selection = served.board.select(query.offers, everything=True)
    return [served.board.rows[number] for number in selection.rows]


def _api(served: Served, subject: Subject, *, query: CostQuery) -> ApiPrice | None:
    """Return the lowest price for output that an API asks on that day, unless the link gives one."""
    if query.api is not None:
        return None
    prices = prices_of(subject.id, day=query.as_of or served.words.today)
    return prices[0] if prices else None
