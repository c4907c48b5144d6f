"""The evidence behind one row: what was printed, where and when, what was assumed, figures worked out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.fit import does_not_fit, flags_in, is_about_weights
from app.domain.metrics import METRICS, Metric
from app.domain.offers import HOURS_PER_MONTH, hours_per_basis
from app.web import words
from app.web.own_figures import figures_of
from app.web.render import NATURE, environment, title, unit
from app.web.state import link

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.metrics import Operand, View
    from app.domain.query import OfferQuery
    from app.domain.rows import Flag, Row
    from app.web.boards import Served
    from app.web.own_figures import OwnFigure

_TO_AN_HOUR: Final = {
    "second": "\N{MULTIPLICATION SIGN} 3600 s",
    "minute": "\N{MULTIPLICATION SIGN} 60 min",
    "month": f"\N{DIVISION SIGN} {HOURS_PER_MONTH} h",
}
"""What brings a printed figure to one hour, by the unit it is printed for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """One figure with its formula and the numbers in it; `why` says why it is unknown."""

    key: str
    label: str
    unit: str
    value: str
    formula: str
    working: str
    nature: str
    assumes: str
    why: str
    does_not_fit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePage:
    """What the evidence template shows; `own` is the reader's own figure when the row is of one."""

    title: str
    row: Row
    printed: str
    pricing: str
    service: str
    source_href: str
    next_price: str
    converted: str
    card: Accelerator | None
    rates: tuple[tuple[str, Decimal], ...]
    worked: tuple[Worked, ...]
    colspan: int
    here: str
    json_href: str
    csv_href: str
    back: str
    own: OwnFigure | None
    flags: tuple[Flag, ...]
    does_not_fit: str


def render_evidence(served: Served, row: Row, *, query: OfferQuery, partial: bool, base: str) -> str:
    """Return the evidence page of a row on the site at `base`, or the table row that htmx puts below it."""
    page = evidence_page(served, row, query=query)
    template = environment().get_template("_evidence_row.html" if partial else "evidence.html")
    return template.render(page=page, base=base)


def evidence_page(served: Served, row: Row, *, query: OfferQuery) -> EvidencePage:
    """Work out what the evidence of a row shows, with figures for the query's precision and weights."""
    offer, card, view = row.offer, row.accelerator, served.board.view(query)
    return EvidencePage(
        title=title(row),
        row=row,
        printed=f"{offer.list_price} {offer.currency} {words.BASIS[offer.price_basis]}",
        pricing=words.pricing(offer),
        service=words.SERVICE[offer.service_kind],
        source_href=words.safe_url(offer.source_url),
        next_price=_next_price(row),
        converted=_converted(row),
        card=card,
        rates=tuple(card.dense_tflops.items()) if card else (),
        worked=tuple(
            _worked(metric, row, view, query) for metric in METRICS.values() if _shown(metric, query)
        ),
        colspan=len(query.columns) + 1,
        here=link(f"/offers/{row.stored.offer_id}", query),
        json_href=link(f"/offers/{row.stored.offer_id}.json", query),
        csv_href=link(f"/offers/{row.stored.offer_id}.csv", query),
        back=link("/", query),
        own=_own(row, query),
        flags=flags_in(row, view),
        does_not_fit=f"{words.exact(view.weights_gb)} GB {does_not_fit(row, view)}, before any KV cache",
    )


def _own(row: Row, query: OfferQuery) -> OwnFigure | None:
    figures = figures_of(query, href=lambda without: link("/", without))
    return next((each for each in figures if each.offer_id == row.stored.offer_id), None)


def _shown(metric: Metric, query: OfferQuery) -> bool:
    return "baseline" not in metric.depends or query.baseline is not None


def _next_price(row: Row) -> str:
    coming = row.stored.next_price
    if coming is None:
        return ""
    price = f"{coming.list_price} {coming.currency} {words.BASIS[coming.price_basis]}"
    return f"{price} from {coming.valid_from.date().isoformat()}"


def _converted(row: Row) -> str:
    """Return by which rate of which day a price in another currency was turned into dollars, else nothing."""
    return words.rate(row.stored.rate) if row.stored.rate else ""


def _worked(metric: Metric, row: Row, view: View, query: OfferQuery) -> Worked:
    value = metric.value(row, view)
    return Worked(
        key=metric.key,
        label=metric.label,
        unit=unit(metric, query),
        value=words.DASH if value is None else words.number(value, metric.decimals),
        formula=metric.formula,
        working="" if value is None else _working(metric, row, view, value),
        nature=NATURE[metric.nature],
        assumes=metric.assumes,
        why=metric.why_unknown(row, view),
        does_not_fit=does_not_fit(row, view) if is_about_weights(metric) else "",
    )


def _working(metric: Metric, row: Row, view: View, value: Decimal) -> str:
    """Return the formula with the numbers in it: what is multiplied, then what it is divided by."""
    if metric.nature == "specification" and len(metric.numerator) == 1:
        return f"{words.exact(value)} {metric.unit}, as published"
    if metric.nature == "price":
        return f"{_from_printed(metric, row)} = {words.exact(value)} {metric.unit}"
    above = [_term(operand, row, view) for operand in metric.numerator]
    below = [_term(operand, row, view) for operand in metric.denominator]
    above += [words.exact(metric.scale)] if metric.scale != 1 else []
    below += [words.exact(metric.divisor)] if metric.divisor != 1 else []
    times, over = " \N{MULTIPLICATION SIGN} ", " \N{DIVISION SIGN} "
    text = times.join(above)
    if below:
        text += over + (below[0] if len(below) == 1 else f"({times.join(below)})")
    return f"{text} = {words.exact(value)} {metric.unit}"


def _from_printed(metric: Metric, row: Row) -> str:
    """Return how the price of one GPU, or of the instance, follows from the figure as printed."""
    offer = row.offer
    text = f"{offer.list_price} {words.BASIS[offer.price_basis]}"
    span = offer.price_basis.value.partition("_")[2]
    if span == "term":
        text += f" \N{DIVISION SIGN} {hours_per_basis(offer.price_basis, term_days=offer.term_days_max)} h"
    elif span in _TO_AN_HOUR:
        text += f" {_TO_AN_HOUR[span]}"
    for_instance = metric.key == "usd_per_instance_hour"
    if offer.price_basis.is_per_instance and not for_instance:
        text += f" \N{DIVISION SIGN} {offer.gpu_count} GPUs"
    if for_instance and not offer.price_basis.is_per_instance and offer.gpu_count > 1:
        text += f" \N{MULTIPLICATION SIGN} {offer.gpu_count} GPUs"
    rate = row.stored.rate
    if rate is not None:
        text += f" \N{MULTIPLICATION SIGN} {words.exact(rate.usd_per_unit)} USD/{rate.currency}"
    return text


def _term(operand: Operand, row: Row, view: View) -> str:
    value = operand.get(row, view)
    return "unknown" if value is None else f"{words.exact(value)} {operand.unit}"
