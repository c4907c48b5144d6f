"""The reader's own prices and hardware in a list: what each comes to, and the link without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from app.domain.quotes import OwnHardware, own_arithmetic, usd_per_gpu_hour
from app.web import words
from app.web.render import environment
from app.web.state import link

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from app.domain.compare_query import CompareQuery
    from app.domain.llms.cost_query import CostQuery
    from app.domain.query import OfferQuery
    from app.domain.quotes import Quote
    from app.web.history_query import HistoryQuery

    Asked = OfferQuery | CompareQuery | CostQuery | HistoryQuery


class OwnFigure(NamedTuple):
    """One of the reader's own figures: what it is, its price, how that follows, the link without it.

    `offer_id` is that of the offer it becomes. `working` is empty for a quote, `terms` for hardware.
    """

    offer_id: int
    kind: str
    name: str
    accelerator: str
    usd_per_gpu_hour: str
    terms: str
    working: str
    without_href: str


def own_figures(query: OfferQuery, *, hidden: Collection[int]) -> Markup:
    """Return the list above the board, each with a link to the board without it.

    `hidden` are the ids of those that the filters hide: the list says so.
    """
    figures = figures_of(query, href=lambda without: link("/", without))
    html = environment().get_template("_own.html").render(figures=figures, hidden=hidden)
    return Markup(html)  # noqa: S704 - a template's output


def figures_of(query: Asked, *, href: Callable[[Any], str]) -> list[OwnFigure]:
    """Return the reader's own figures of a query, as the board numbers them: quotes first.

    `href` gives the link to a query of the same kind: it is asked for that without each.
    """
    parts = [_quote(each) for each in query.quote] + [_hardware(each) for each in query.own]
    return [
        OwnFigure(-number, *part, without_href=href(_without(query, number - 1)))
        for number, part in enumerate(parts, start=1)
    ]


def _without(query: Asked, place: int) -> Asked:
    count = len(query.quote)
    if place < count:
        return query.replace(quote=(*query.quote[:place], *query.quote[place + 1 :]))
    place -= count
    return query.replace(own=(*query.own[:place], *query.own[place + 1 :]))


_Part = tuple[str, str, str, str, str, str]


def _quote(quote: Quote) -> _Part:
    usd = words.money(quote.usd_per_gpu_hour)
    return "quote", quote.name, quote.accelerator, usd, quote.terms, ""


def _hardware(own: OwnHardware) -> _Part:
    usd = words.money(usd_per_gpu_hour(own))
    return "hardware", own.name, own.accelerator, usd, "", own_arithmetic(own)
