"""The reader's own prices and hardware above the table: what each comes to, and the link without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from app.domain.quotes import OwnHardware, own_arithmetic, usd_per_gpu_hour
from app.web import words
from app.web.render import environment
from app.web.state import link

if TYPE_CHECKING:
    from app.domain.query import OfferQuery
    from app.domain.quotes import Quote


class OwnFigure(NamedTuple):
    """One of the reader's own figures: what it is, its price, how that follows, the link without it."""

    name: str
    accelerator: str
    usd_per_gpu_hour: str
    terms: str
    working: str
    without_href: str


def own_figures(query: OfferQuery) -> Markup:
    """Return the list of the reader's own figures, each with a link to the board without it."""
    quotes = [_quote(each, query) for each in query.quote]
    hardware = [_hardware(each, query) for each in query.own]
    html = environment().get_template("_own.html").render(figures=[*quotes, *hardware])
    return Markup(html)  # noqa: S704 - a template's output


def _quote(quote: Quote, query: OfferQuery) -> OwnFigure:
    others = tuple(each for each in query.quote if each is not quote)
    return OwnFigure(
        name=quote.name,
        accelerator=quote.accelerator,
        usd_per_gpu_hour=words.money(quote.usd_per_gpu_hour),
        terms=quote.terms,
        working="",
        without_href=link("/", query, quote=others),
    )


def _hardware(own: OwnHardware, query: OfferQuery) -> OwnFigure:
    others = tuple(each for each in query.own if each is not own)
    return OwnFigure(
        name=own.name,
        accelerator=own.accelerator,
        usd_per_gpu_hour=words.money(usd_per_gpu_hour(own)),
        terms="",
        working=own_arithmetic(own),
        without_href=link("/", query, own=others),
    )
