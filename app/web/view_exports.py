"""What is on the screen, to take along: /view.csv, .tsv, .json, .md, .xlsx and .parquet.

All hold the rows of the query in its order, the chosen columns in theirs, and the shown units. Figures are
unrounded but in Markdown, which holds what the screen says.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from app.domain.fit import flags_in
from app.domain.query_error import QueryError
from app.web import words
from app.web.answers import Answer
from app.web.api import CSV, JSON, export_kept
from app.web.exports import json_bytes
from app.web.kept import base_of, csv_cell
from app.web.render import cell
from app.web.stands import in_json
from app.web.streams import STREAMED_ROWS, Streamed, batches, csv_chunks
from app.web.view_files import MOST_SHEET_ROWS, parquet_chunks, workbook_chunks
from app.web.view_table import one_line, plain, view_table, warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.query import OfferQuery
    from app.domain.rows import Row
    from app.web.boards import Served
    from app.web.view_table import ViewColumn, ViewTable

# ---------------------------------------------------------------- CSV and TSV


def csv_view(table: ViewTable) -> Iterator[bytes]:
    """Yield a table as CSV (RFC 4180): keys, then rows; unknown is empty, no text is run by a spreadsheet.

    Each row ends in what its figures stand for, as their names do not say it.
    """
    return _separated(table, separator=",", line_end="\r\n")


def tsv_view(table: ViewTable) -> Iterator[bytes]:
    """Yield the same as lines of cells with tabs between; no cell holds a tab or a line end."""
    return _separated(table, separator="\t", line_end="\n")


def _separated(table: ViewTable, *, separator: str, line_end: str) -> Iterator[bytes]:
    ends = [csv_cell(value) for value in table.stands.values()]

    def write(rows: Iterable[Row]) -> str:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=separator, lineterminator=line_end)
        writer.writerow([*table.names, *table.stands])
        writer.writerows([*map(csv_cell, table.values(row)), *ends] for row in rows)
        return out.getvalue()

    return csv_chunks(table.rows, write)


# ---------------------------------------------------------------- JSON


def json_view(table: ViewTable) -> Iterator[bytes]:
    """Yield a table as one document: what is shown in which units, then the rows.

    A row has its values by key, its warnings (`flags`), and why each value that is null is `unknown`.
    """
    yield json_bytes(_described(table)).removesuffix(b"}") + b',"rows":['
    for number, batch in enumerate(batches(table.rows)):
        text = b",".join(json_bytes(_json_row(row, table)) for row in batch)
        yield b"," + text if number else text
    yield b"]}"


def _described(table: ViewTable) -> dict[str, Any]:
    units, rate = table.units, table.units.rate
    return {
        **in_json(table.stands),
        "units": {
            "period": units.period,
            "per": units.per,
            "currency": table.query.currency,
            "rate_usd_per_unit": None if rate is None else float(rate.usd_per_unit),
            "rate_day": None if rate is None else rate.day.isoformat(),
        },
        "total": table.total,
        "columns": [
            {"key": column.name, "label": column.label, "unit": column.unit} for column in table.typed
        ],
    }


def _json_row(row: Row, table: ViewTable) -> dict[str, Any]:
    values: dict[str, Any] = dict(zip(table.names, map(plain, table.values(row)), strict=True))
    values["flags"] = [flag.value for flag in flags_in(row, table.view)]
    values["unknown"] = {
        column.name: column.why_unknown(row, table.view)
        for column in table.typed
        if values[column.name] is None
    }
    return values


# ---------------------------------------------------------------- Markdown


def markdown_view(table: ViewTable) -> Iterator[bytes]:
    """Yield a table as the screen shows it with bars between, and below it where and when it was taken."""
    yield _markdown_line(_escaped(column.heading) for column in table.columns)
    yield _markdown_line("---:" if column.is_numeric else "---" for column in table.columns)
    for batch in batches(table.rows):
        yield b"".join(
            _markdown_line(_markdown_cell(column, row, table) for column in table.columns) for row in batch
        )
    said = [f"InferPrice, as of {words.utc(table.as_of)}", *filter(None, [_escaped(table.rate)])]
    yield f"\n{'; '.join(said)}: <{quote(table.address, safe=_IN_ADDRESS)}>\n".encode()


def _markdown_line(cells: Iterable[str]) -> bytes:
    return f"| {' | '.join(cells)} |\n".encode()


def _markdown_cell(column: ViewColumn, row: Row, table: ViewTable) -> str:
    shown = cell(column.shown, row, view=table.view)
    if shown.kind == "link":
        return f"[{shown.text}](<{quote(shown.href, safe=_IN_ADDRESS)}>)" if shown.href else ""
    if shown.kind == "card" and (said := warnings(row, table)):
        return _escaped(f"{shown.text} ({', '.join(said)})")
    return _escaped(shown.text)


_MARKUP: Final = re.compile(r"[\\`*_\[\]|~]|:(?=//)|(?<=www)\.", re.IGNORECASE)
"""What Markdown would not leave as it is: its own signs, and the beginnings of addresses."""

_ENTITIES: Final = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
_IN_ADDRESS: Final = ":/?#@!$&'()*+,;=%~"


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", one_line(text)).translate(_ENTITIES)


# ---------------------------------------------------------------- addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form that a view can be had in. `is_page` says that a browser shows it; others it saves.

    `most_rows` is how many it can hold, None for any number.
    """

    name: str
    media_type: str
    chunks: Callable[[ViewTable], Iterator[bytes]]
    is_page: bool = False
    most_rows: int | None = None


FORMS: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "csv": Form(name="CSV", media_type=CSV, chunks=csv_view),
        "tsv": Form(
            name="tab-separated values",
            media_type="text/tab-separated-values; charset=utf-8",
            chunks=tsv_view,
        ),
        "json": Form(name="JSON", media_type=JSON, chunks=json_view, is_page=True),
        "md": Form(
            name="a Markdown table",
            media_type="text/markdown; charset=utf-8",
            chunks=markdown_view,
            is_page=True,
        ),
        "xlsx": Form(
            name="an Excel workbook",
            media_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            chunks=workbook_chunks,
            most_rows=MOST_SHEET_ROWS,
        ),
        "parquet": Form(name="Parquet", media_type="application/vnd.apache.parquet", chunks=parquet_chunks),
    }
)
"""The forms by how their addresses end."""


def view_answer(ending: str) -> Callable[[Request], Response]:
    """Return what answers the view that ends in this."""

    def answer(request: Request) -> Response:
        def make(served: Served, query: OfferQuery, *, everything: bool) -> Answer | Streamed:
            table = view_table(request, served, query=query, everything=everything)
            return _made(ending, table, day=str(query.as_of or served.words.today))

        return export_kept(request, make, base=base_of(request))

    return answer


def _made(ending: str, table: ViewTable, *, day: str) -> Answer | Streamed:
    form, count = FORMS[ending], len(table.rows)
    if form.most_rows is not None and count > form.most_rows:
        most = f"{form.most_rows:,} rows fit {form.name}: filter, name a page, or take CSV or Parquet"
        raise QueryError(f"view.{ending}", f"{count:,} rows", most)
    place = "inline" if form.is_page else "attachment"
    headers = {"content-disposition": f'{place}; filename="inferprice-view-{day}.{ending}"'}
    if count > STREAMED_ROWS:
        return Streamed(chunks=form.chunks(table), media_type=form.media_type, headers=headers)
    return Answer(b"".join(form.chunks(table)), form.media_type, headers)
