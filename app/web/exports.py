"""Rows for programs: the same selection as the page, as plain values, CSV text or a JSON document."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from app.domain.accelerators import load_catalogue
from app.domain.columns import COLUMNS, Fact, export_columns
from app.domain.fit import flags_in
from app.domain.listing import StoredOffer
from app.domain.metrics import METRICS, Metric, View
from app.domain.offers import usd_micros_per_gpu_hour
from app.domain.query import OfferQuery
from app.domain.rows import make_row
from app.web import words
from app.web.render import NATURE, unit
from app.web.stands import in_json, with_baseline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from app.domain.board import Selection
    from app.domain.offers import Offer
    from app.domain.rows import Row
    from app.web.boards import Served

Value = str | int | float | bool | None

_FORMULA_STARTS: Final = (
    *("=", "+", "-", "@", "\t", "\r", "\n", "\0"),
    "\N{FULLWIDTH EQUALS SIGN}",
    "\N{FULLWIDTH PLUS SIGN}",
    "\N{FULLWIDTH HYPHEN-MINUS}",
    "\N{FULLWIDTH COMMERCIAL AT}",
)
"""Characters with which a spreadsheet begins a formula, or skips to one that follows."""


def plain_values(row: Row, view: View, *, columns: tuple[str, ...]) -> list[Value]:
    """Return one row's values for programs: numbers as numbers, unknown as None, an empty text as None."""
    return [_plain(COLUMNS[key], row, view) for key in columns]


def _plain(column: Fact | Metric, row: Row, view: View) -> Value:
    value = column.value(row, view)
    if isinstance(value, Decimal):
        return float(value)
    return None if value == "" else value


def csv_text(
    rows: Iterable[Row], view: View, *, columns: tuple[str, ...], stands: Mapping[str, object]
) -> str:
    """Return rows as CSV: a header of column keys, whose names end in their unit, then a line a row.

    Each line ends in what its figures stand for.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*columns, *stands])
    shown, ends = [COLUMNS[key] for key in columns], [_csv_cell(value) for value in stands.values()]
    writer.writerows([*[_csv_cell(column.value(row, view)) for column in shown], *ends] for row in rows)
    return out.getvalue()


def _csv_cell(value: object) -> str | int:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return words.exact(value)
    return value if isinstance(value, int) else harmless(str(value))


def harmless(text: str) -> str:
    """Return a text that a spreadsheet shows instead of running: an apostrophe goes before a formula sign."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def json_document(
    selection: Selection, rows: Iterable[Any], *, instant: datetime, next_href: str
) -> dict[str, Any]:
    """Return the selection as one document: what was asked, what the columns are, the rows."""
    query = selection.query
    return {
        "as_of": words.utc(instant),
        "precision": query.precision,
        "weights_gb": float(query.weights_gb),
        "baseline": query.baseline,
        "spec": query.spec,
        "sort": query.sort,
        "total": selection.total,
        "page": query.page,
        "per_page": query.per_page,
        "next": next_href or None,
        "columns": _described(query.columns, query.precision, query.weights_gb),
        "rows": list(rows),
    }


def json_rows(served: Served, selection: Selection) -> Iterator[orjson.Fragment]:
    """Return the asked rows as JSON that a document can hold."""
    columns, view = export_columns(selection.query.columns), selection.view
    rows = served.rendered(
        selection, "json", renderer=lambda: lambda row: json_bytes(json_row(row, view, columns=columns))
    )
    return map(orjson.Fragment, rows)


@lru_cache(maxsize=64)
def _described(columns: tuple[str, ...], precision: str, weights_gb: Decimal) -> orjson.Fragment:
    """Return what the columns of an export are, as JSON that a document can hold."""
    query = OfferQuery(columns=columns, precision=precision, weights_gb=weights_gb)
    return orjson.Fragment(json_bytes([describe(key, query) for key in export_columns(columns)]))


def json_row(
    row: Row, view: View, *, columns: tuple[str, ...], stands: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Return one row as JSON: the columns by key, then why a figure is unknown.

    `stands` is what its figures stand for, where no head of a document says it.
    """
    values: dict[str, Any] = dict(zip(columns, plain_values(row, view, columns=columns), strict=True))
    values["flags"] = [flag.value for flag in flags_in(row, view)]
    values["assumptions"] = list(row.offer.assumptions)
    shown = [METRICS[key] for key in columns if key in METRICS]
    values["unknown"] = {metric.key: why for metric in shown if (why := metric.why_unknown(row, view))}
    values.update(stands or {})
    return values


def describe(key: str, query: OfferQuery) -> dict[str, str]:
    """Return what a column is, for a program that shows it: label, unit, and for a metric its meaning."""
    column = COLUMNS[key]
    about = {"key": key, "label": column.label, "unit": unit(column, query)}
    if isinstance(column, Metric):
        about |= {
            "meaning": column.meaning,
            "formula": column.formula,
            "assumes": column.assumes,
            "kind": NATURE[column.nature],
        }
    return about


def json_bytes(document: object) -> bytes:
    """Return a document as UTF-8 JSON, its figures as numbers."""
    return orjson.dumps(document, default=_number)


def _number(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def parsed_text(offers: Sequence[Offer], *, fetched_at: datetime, shape: str) -> str:
    """Return parsed offers, in page order, as CSV or JSON with the default metrics."""
    query, catalogue = OfferQuery(), load_catalogue()
    view = View(precision=query.precision, weights_gb=query.weights_gb)
    rows = [make_row(_as_stored(offer, fetched_at), catalogue, instant=fetched_at) for offer in offers]
    columns = export_columns(query.columns)
    said = with_baseline(query, instant=fetched_at, baseline=query.baseline)
    if shape == "csv":
        return csv_text(rows, view, columns=columns, stands=said)
    made = [json_row(row, view, columns=columns, stands=in_json(said)) for row in rows]
    return json_bytes(made).decode() + "\n"


def _as_stored(offer: Offer, fetched_at: datetime) -> StoredOffer:
    """Return a parsed offer in the form that rows are made of; a printed start date is an announcement."""
    day = offer.valid_from
    starts = datetime(day.year, day.month, day.day, tzinfo=UTC) if day else fetched_at
    return StoredOffer(
        offer=offer,
        offer_id=0,
        usd_micros_per_gpu_hour=usd_micros_per_gpu_hour(offer),
        price_valid_from=starts,
        announced_since_page=day is not None,
        first_seen_at=fetched_at,
        last_seen_at=fetched_at,
        observed_at=fetched_at,
        capture_sha256="",
    )
