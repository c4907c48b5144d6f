"""Turns rows and headings into HTML: the one template environment and what cells and columns show."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app import __version__
from app.domain.columns import COLUMNS, Fact
from app.domain.metrics import METRICS, Metric, Nature
from app.domain.query import DEFAULT_SORT, OfferQuery
from app.domain.rows import FLAG_MEANINGS
from app.paths import static_dir, templates_dir
from app.web import words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal

    from app.domain.metrics import View
    from app.domain.rows import Row

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


def row_html(row: Row, view: View, *, columns: tuple[str, ...], evidence_query: str) -> str:
    """Return one row of the table. `evidence_query` is the part of a link that figures depend on."""
    cells = [cell(COLUMNS[key], row, view=view) for key in columns]
    html: str = _row_macro()(row, cells, evidence_query, title(row))
    return html


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
    return said(row) if said else _fact_cell(column, row)


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


def _fact_cell(column: Fact, row: Row) -> Cell:
    value = column.get(row)
    if value is None or value == "":
        return Cell("unknown" if column.numeric else "unstated", words.DASH, why="not stated on the page")
    if isinstance(value, bool):
        return Cell("text", "yes" if value else "no")
    if column.key == "form_factor":
        return Cell("text", words.FORM_FACTOR.get(str(value), str(value)))
    return Cell("number" if column.numeric else "text", str(value), raw=str(value) if column.numeric else "")


def _metric_cell(metric: Metric, row: Row, view: View) -> Cell:
    value = metric.value(row, view)
    if value is None:
        return Cell("unknown", words.DASH, why=metric.why_unknown(row, view))
    text = words.number(value, metric.decimals)
    if row.offer.is_floor and metric.nature == "price":
        text = f"\N{GREATER-THAN OR EQUAL TO} {text}"
    if metric.key == "usd_per_gpu_hour":
        return Cell("price", text, raw=words.exact(value), href=words.safe_url(row.offer.source_url))
    return Cell("number", text, raw=words.exact(value))


class Heading(NamedTuple):
    """One column's heading: its words, its unit, what it means, the link that sorts by it."""

    key: str
    label: str
    unit: str
    meaning: str
    numeric: bool
    nature: str
    aria_sort: str
    href: str


def headings_html(query: OfferQuery, *, rest: str) -> Markup:
    """Return the headings of the chosen columns with their sort links.

    `rest` is the query string of what the links keep: all but order and page.
    """
    html = _headings_html(query.columns, query.sort, query.precision, query.weights_gb)
    if rest:
        return html.replace(_REST, escape(rest))
    return html.replace(f"{_REST}&amp;", "").replace(f"?{_REST}", "")


_REST: Final = "@rest@"
"""Stands in sort links for the rest of a query, which never holds these characters in a link."""


@lru_cache(maxsize=256)
def _headings_html(columns: tuple[str, ...], sort: str, precision: str, weights_gb: Decimal) -> Markup:
    query = OfferQuery(columns=columns, sort=sort, precision=precision, weights_gb=weights_gb)
    made = headings(query, rest=_REST)
    html = environment().get_template("_headings.html").render(headings=made)
    return Markup(html)  # noqa: S704 - a template's output


def headings(query: OfferQuery, *, rest: str) -> list[Heading]:
    """Return the headings of the chosen columns with their sort links; a second click turns the order.

    `rest` is the query string of what the links keep.
    """
    found = []
    for key in query.columns:
        column = COLUMNS[key]
        metric = column if isinstance(column, Metric) else None
        first = f"-{key}" if metric and metric.better == "higher" else key
        sorted_by = query.sort_key == key
        priced = metric is not None and metric.unit.startswith("$")
        following = key if query.descending else f"-{key}"
        target = following if sorted_by else first
        pairs = [part for part in (rest, "" if target == DEFAULT_SORT else f"sort={target}") if part]
        found.append(
            Heading(
                key=key,
                label=metric.unit if priced and metric else column.label,
                unit=_small_print(column, query, priced=priced),
                meaning=f"{metric.meaning} It is {NATURE[metric.nature]}." if metric else "",
                numeric=metric is not None or (isinstance(column, Fact) and column.numeric),
                nature=metric.nature if metric and metric.nature in {"bound", "ratio"} else "",
                aria_sort=("descending" if query.descending else "ascending") if sorted_by else "none",
                href=f"/?{'&'.join(pairs)}" if pairs else "/",
            )
        )
    return found


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
