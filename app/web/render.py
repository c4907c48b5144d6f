"""Turns rows and headings into HTML: the one template environment and what cells and columns show."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote_plus

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app import __version__
from app.domain.columns import COLUMNS, Fact
from app.domain.fit import does_not_fit, gpus_for_weights, shown_flags
from app.domain.metrics import METRICS, Metric, Nature
from app.domain.query import DEFAULT_SORT, MAX_SORTS, OfferQuery
from app.domain.rows import FLAG_MEANINGS, Flag
from app.domain.shown import shown_column
from app.paths import static_dir, templates_dir
from app.web import words
from app.web.public_address import public_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from decimal import Decimal

    from app.domain.metrics import View
    from app.domain.rows import Row
    from app.domain.shown import Units

NATURE: Final[Mapping[Nature, str]] = {
    "price": "a list price",
    "ratio": "a ratio of published figures",
    "bound": "a bound, not a speed or a forecast",
    "specification": "the maker's figure",
}


class Cell(NamedTuple):
    """One cell of a row as the template needs it. `kind` picks the markup; `raw` is the number unrounded."""

    kind: str
    text: str
    raw: str = ""
    why: str = ""
    href: str = ""


@cache
def environment() -> Environment:
    """Return the one template environment; a missing name in a template is an error."""
    made = Environment(
        loader=FileSystemLoader(templates_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"moment": words.moment, "exact": words.exact, "number": words.number}
    made.filters |= {"public_address": public_address}
    made.globals |= {
        "version": __version__,
        "asset": asset,
        "flag_words": words.FLAG,
        "flag_meanings": FLAG_MEANINGS,
        "nature_words": NATURE,
        "metrics": METRICS,
    }
    return made


@cache
def _manifest() -> Mapping[str, Mapping[str, Any]]:
    path = static_dir() / "vendor" / "manifest.json"
    files: Mapping[str, Mapping[str, Any]] = orjson.loads(path.read_bytes())["files"]
    return files


@cache
def asset(name: str) -> str:
    """Return the address of a browser file: third-party ones by their hashed name, ours by version."""
    built = _manifest().get(name)
    if built is not None:
        return f"/static/vendor/{built['file']}"
    stamp = int((static_dir() / name).stat().st_mtime)
    return f"/static/{name}?v={__version__}.{stamp}"


def row_html(
    row: Row,
    view: View,
    *,
    columns: Sequence[Fact | Metric],
    evidence_query: str,
    has_picks: bool = False,
) -> str:
    """Return one row of the table. `evidence_query` is the part of a link that figures depend on.

    With `has_picks` the row can be picked to be compared.
    """
    cells = [cell(column, row, view=view) for column in columns]
    flags = [said_flag(row, view, flag=flag) for flag in shown_flags(row, view, columns=columns)]
    html: str = _row_macro()(row, cells, evidence_query, title(row), has_picks, flags)
    return html


def said_flag(row: Row, view: View, *, flag: Flag) -> tuple[Flag, str, str]:
    """Return a warning with the words it is said in and what it means for this row."""
    return flag, f"{words.FLAG[flag]}{counted_flag(row, view, flag=flag)}", _flag_title(flag, row, view)


def counted_flag(row: Row, view: View, *, flag: Flag) -> str:
    """Return the number that a warning is said with, behind its words; empty for most."""
    if flag is Flag.MIN_QUANTITY:
        return f" {row.offer.min_gpus}"
    return f": {gpus_for_weights(row, view):,} GPUs" if flag is Flag.OVER_MEMORY else ""


def _flag_title(flag: Flag, row: Row, view: View) -> str:
    """Return what a warning means for this row."""
    if flag is Flag.OVER_MEMORY:
        fit = does_not_fit(row, view)
        return f"{words.exact(view.weights_gb)} GB {fit}; the ceiling is no speed that one GPU can have"
    if flag is Flag.DEARER_PER_TBS and row.dearer_than:
        return f"cheaper per hour than the {row.dearer_than.name} at this provider, but dearer per TB/s"
    if flag is Flag.DISPUTED_ORDER and row.disputed_with:
        other = row.disputed_with.name
        rule = "at this provider if the other published bandwidth is right"
        return f"changes places per TB/s with the {other} {rule}"
    if flag is Flag.MIN_QUANTITY:
        return f"rented {row.offer.min_gpus} GPUs or more at a time"
    return FLAG_MEANINGS[flag]


@cache
def _row_macro() -> Any:
    return environment().get_template("_row.html").module.row  # type: ignore[attr-defined]  # a Jinja macro


def title(row: Row) -> str:
    """Return what a row is about in a few words, for labels."""
    name = row.accelerator.name if row.accelerator else row.offer.accelerator_as_written
    return f"{words.provider_name(row.offer.provider)} {name}, {words.pricing(row.offer)}"


def cell(column: Fact | Metric, row: Row, *, view: View) -> Cell:
    """Return what a column shows for a row: a number, a text, or a dash with the reason."""
    if isinstance(column, Metric):
        return _metric_cell(column, row, view)
    said = _SAID.get(column.key)
    return said(row) if said else _fact_cell(column, row, view)


def _card_cell(row: Row) -> Cell:
    return Cell("card", row.accelerator.name if row.accelerator else row.offer.accelerator_as_written)


_SAID: Final[Mapping[str, Callable[[Row], Cell]]] = {
    "provider": lambda row: Cell("text", words.provider_name(row.offer.provider)),
    "accelerator": _card_cell,
    "pricing_model": lambda row: Cell("text", words.pricing(row.offer)),
    "service_kind": lambda row: Cell("text", words.SERVICE[row.offer.service_kind]),
    "price_basis": lambda row: Cell("text", words.BASIS[row.offer.price_basis]),
    "source_url": lambda row: Cell("link", "page", href=words.safe_url(row.offer.source_url)),
}
"""Facts that are said in other words than they are stored."""


AT_LEAST: Final = "\N{GREATER-THAN OR EQUAL TO} "
"""What stands before a price that is written as 'from'."""


def _fact_cell(column: Fact, row: Row, view: View) -> Cell:
    value = column.value(row, view)
    if value is None or value == "":
        return Cell("unknown" if column.numeric else "unstated", words.DASH, why="not stated on the page")
    if isinstance(value, bool):
        return Cell("text", "yes" if value else "no")
    if column.key == "form_factor":
        return Cell("text", words.FORM_FACTOR.get(str(value), str(value)))
    if not column.numeric:
        return Cell("text", str(value))
    is_least = column.key == "list_price" and row.offer.is_floor
    return Cell("number", f"{AT_LEAST}{value}" if is_least else str(value), raw=str(value))


def _metric_cell(metric: Metric, row: Row, view: View) -> Cell:
    value = metric.value(row, view)
    if value is None:
        return Cell("unknown", words.DASH, why=metric.why_unknown(row, view))
    text = words.number(value, metric.decimals)
    if row.offer.is_floor and metric.nature == "price":
        text = f"{AT_LEAST}{text}"
    if metric.numerator in _PRINTED:
        return Cell("price", text, raw=words.exact(value), href=words.safe_url(row.offer.source_url))
    return Cell("number", text, raw=words.exact(value))


_PRINTED: Final = (METRICS["usd_per_gpu_hour"].numerator, METRICS["usd_per_instance_hour"].numerator)
"""What a price that stands on the provider's page is worked out from: its cell links there."""


class Heading(NamedTuple):
    """One column's heading: its words, its unit, what it means, the link that sorts by it.

    `place` is its place among several columns sorted by, 0 where there is but one or it is none of them.
    `add_href` sorts by it after the columns sorted by now. `where` is the condition on it, `hint` an example.
    """

    key: str
    label: str
    unit: str
    meaning: str
    numeric: bool
    nature: str
    aria_sort: str
    place: int
    href: str
    add_href: str
    where: str
    hint: str


def headings_html(query: OfferQuery, units: Units, *, rest: str) -> Markup:
    """Return the headings of the chosen columns with their sort links, and the conditions below them.

    `rest` is the query string of what the links keep: all but order and page.
    """
    where = tuple((condition.column, condition.text) for condition in query.where)
    html = _headings_html(_Head(query.columns, query.sort, query.precision, query.weights_gb, units, where))
    return filled_links(html, rest)


def filled_links(html: str, rest: str) -> Markup:
    """Return HTML whose links have `REST` where the rest of a query belongs, with that filled in."""
    if rest:
        return Markup(html.replace(REST, str(escape(rest))))  # noqa: S704 - a template's output
    return Markup(html.replace(f"{REST}&amp;", "").replace(f"?{REST}", ""))  # noqa: S704 - same


REST: Final = "@rest@"
"""Stands in sort links for the rest of a query, which never holds these characters in a link."""


class _Head(NamedTuple):
    """What headings depend on."""

    columns: tuple[str, ...]
    sort: str
    precision: str
    weights_gb: Decimal
    units: Units
    where: tuple[tuple[str, str], ...]


@lru_cache(maxsize=256)
def _headings_html(head: _Head) -> str:
    query = OfferQuery(
        columns=head.columns, sort=head.sort, precision=head.precision, weights_gb=head.weights_gb
    )
    made = [_heading(key, query, head, rest=REST) for key in head.columns]
    return environment().get_template("_headings.html").render(headings=made)


def _heading(key: str, query: OfferQuery, head: _Head, *, rest: str) -> Heading:
    """Return a column's heading; a second click turns the order. `rest` is what its links keep."""
    column = shown_column(key, head.units)
    metric = column if isinstance(column, Metric) else None
    numeric = metric is not None or (isinstance(column, Fact) and column.numeric)
    order = dict(query.sort_keys)
    first = f"-{key}" if metric and metric.better == "higher" else key
    target = first if key not in order else key if order[key] else f"-{key}"
    others = [part for part in query.sort.split(",") if part.removeprefix("-") != key]
    priced = metric is not None and COLUMNS[key].unit.startswith("$")
    return Heading(
        key=key,
        label=column.unit if priced else column.label,
        unit=_small_print(column, query, priced=priced),
        meaning=f"{metric.meaning} It is {NATURE[metric.nature]}." if metric else "",
        numeric=numeric,
        nature=metric.nature if metric and metric.nature in {"bound", "ratio"} else "",
        aria_sort="none" if key not in order else "descending" if order[key] else "ascending",
        place=list(order).index(key) + 1 if key in order and len(order) > 1 else 0,
        href=_sort_href(target, rest=rest),
        add_href=_sort_href(",".join([*others, target][-MAX_SORTS:]), rest=rest),
        where=dict(head.where).get(key, ""),
        hint=_HINTS[0] if metric else _HINTS[1] if numeric else _HINTS[2],
    )


_HINTS: Final = ("<2", "1..8", "!word")
"""An example of a condition: on a figure, on another number, on words."""


def _sort_href(sort: str, *, rest: str) -> str:
    pairs = [part for part in (rest, "" if sort == DEFAULT_SORT else f"sort={quote_plus(sort)}") if part]
    return f"/?{'&'.join(pairs)}" if pairs else "/"


def _small_print(column: Fact | Metric, query: OfferQuery, *, priced: bool) -> str:
    """Return what stands under a heading: the unit and what it depends on, without what the heading says."""
    text = unit(column, query)
    return text.removeprefix(column.unit).removeprefix(", ") if priced else text


def unit(column: Fact | Metric, query: OfferQuery) -> str:
    """Return a column's unit with what it depends on: the precision, the weights."""
    if isinstance(column, Fact):
        return column.unit
    parts = [column.unit]
    if "precision" in column.depends:
        parts.append(query.precision.upper())
    if "weights_gb" in column.depends:
        parts.append(f"{words.exact(query.weights_gb)} GB")
    return ", ".join(parts)
