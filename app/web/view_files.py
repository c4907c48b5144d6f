"""What is on the screen as files that are not texts: a workbook for Excel, and Parquet.

The libraries that write them are imported when somebody asks: they take time to start and memory to keep.
"""

from __future__ import annotations

from datetime import date
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

from app import __version__
from app.domain.metrics import METHODOLOGY_VERSION
from app.web import words
from app.web.render import AT_LEAST
from app.web.streams import batches
from app.web.view_table import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from app.domain.rows import Row
    from app.web.view_table import Value, ViewColumn, ViewTable

MOST_SHEET_ROWS: Final = 1_048_576 - 1
"""Rows that a sheet holds below its header."""

LONGEST_CELL: Final = 32_767
"""UTF-16 units that a cell of a sheet holds."""

ROWS_OF_GROUP: Final = 20_000
"""Rows of a row group in Parquet, which are worked out before they are written."""

_KEPT_IN_MEMORY_BYTES: Final = 8_000_000
_CHUNK_BYTES: Final = 65_536


def _file_chunks(table: ViewTable, write: Callable[[IO[bytes], ViewTable], None]) -> Iterator[bytes]:
    """Yield what `write` writes; a long file lies on the disk meanwhile, never a reader's own figures."""
    is_private = table.query.has_own
    with BytesIO() if is_private else SpooledTemporaryFile(max_size=_KEPT_IN_MEMORY_BYTES) as file:
        write(file, table)
        file.seek(0)
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


# ---------------------------------------------------------------- a workbook


def workbook_chunks(table: ViewTable) -> Iterator[bytes]:
    """Yield a table as a workbook: a sheet of the rows, and one that says what they are."""
    return _file_chunks(table, _write_workbook)


_OPTIONS: Final = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}


def _write_workbook(file: IO[bytes], table: ViewTable) -> None:
    import xlsxwriter  # noqa: PLC0415 - needed by this format alone

    # Constant memory keeps rows on the disk meanwhile; to write in memory turns that off.
    book = xlsxwriter.Workbook(file, {**_OPTIONS, "in_memory": table.query.has_own})
    book.set_properties({"title": "InferPrice", "created": table.as_of})
    _write_rows(book, table)
    sheet = book.add_worksheet("About")
    sheet.set_column(0, 0, 22)
    sheet.set_column(1, 1, 100)
    bold = book.add_format({"bold": True})
    for number, (name, text) in enumerate(_about(table)):
        sheet.write_string(number, 0, name, bold)
        sheet.write_string(number, 1, _cell_text(text))
    book.close()


def _write_rows(book: Any, table: ViewTable) -> None:
    sheet, formats = book.add_worksheet("Offers"), _Formats(book)
    for place, column in enumerate(table.typed):
        sheet.set_column(place, place, max(len(column.heading) + 3, 12 if column.is_numeric else 20))
        head = book.add_format({"bold": True, "align": "right" if column.is_numeric else "left"})
        sheet.write_string(0, place, column.heading, head)
    for number, row in enumerate(table.rows, start=1):
        for place, (column, value) in enumerate(zip(table.typed, table.values(row), strict=True)):
            _write_cell(sheet, (number, place), value=value, format_=formats.of(column, row))
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, len(table.rows), len(table.typed) - 1)


class _Formats:
    """The number formats of a workbook, each made once."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._made: dict[str, Any] = {}

    def of(self, column: ViewColumn, row: Row) -> Any:
        """Return the format that shows a value with the decimals and the sign that the screen shows."""
        pattern = _PATTERNS.get(column.kind, "General")
        if column.decimals is not None:
            pattern = f"#,##0.{'0' * column.decimals}".rstrip(".")
        if column.is_least(row):
            pattern = f'"{AT_LEAST}"{pattern}'
        if pattern not in self._made:
            self._made[pattern] = self._book.add_format({"num_format": pattern})
        return self._made[pattern]


_PATTERNS: Final = {"count": "0", "day": "yyyy-mm-dd"}


def _write_cell(sheet: Any, place: tuple[int, int], *, value: Value, format_: Any) -> None:
    """Write a value as what it is; what is unknown leaves its cell empty."""
    if isinstance(value, str):
        sheet.write_string(*place, _cell_text(value), format_)
    elif isinstance(value, bool):
        sheet.write_boolean(*place, value, format_)
    elif isinstance(value, date):
        sheet.write_datetime(*place, value, format_)
    elif value is not None:
        sheet.write_number(*place, plain(value), format_)


def _cell_text(text: str) -> str:
    """Return a text that a cell can hold, cut with a sign where it is too long for any.

    The library takes a text in <r> and </r> for markup of its own; a space behind it keeps it a text.
    """
    if len(text.encode("utf-16-le")) > 2 * LONGEST_CELL:
        text = f"{text[: LONGEST_CELL // 2]}\N{HORIZONTAL ELLIPSIS}"
    return f"{text} " if text.endswith("</r>") else text


def _about(table: ViewTable) -> Iterator[tuple[str, str]]:
    units = table.units
    yield "Page", table.address
    yield "Query", table.query_string
    yield "As of", words.utc(table.as_of)
    yield "Rows", f"{len(table.rows):,} of {table.total:,}"
    yield "Prices are for", f"one {units.period} of one {'GPU' if units.per == 'gpu' else units.per}"
    yield "Currency", table.query.currency
    yield "Exchange rate", table.rate or "none is used"
    yield "Methodology version", METHODOLOGY_VERSION
    yield "Written by", f"InferPrice {__version__}"
    yield "Empty cells", "are unknown, never zero; the page says why"
    yield "Floor price", f"is TRUE where a price is written as 'from': it is {AT_LEAST}what its cell holds"
    yield "Warnings", "stand beside the GPU on the page; the column Notes has them here"


# ---------------------------------------------------------------- Parquet


def parquet_chunks(table: ViewTable) -> Iterator[bytes]:
    """Yield a table as Parquet with a type, unit and label for each column."""
    return _file_chunks(table, _write_parquet)


def _write_parquet(file: IO[bytes], table: ViewTable) -> None:
    import pyarrow as pa  # noqa: PLC0415 - needed by this format alone
    from pyarrow import parquet  # noqa: PLC0415 - same

    types = {
        "text": pa.string(),
        "count": pa.int64(),
        "figure": pa.float64(),
        "truth": pa.bool_(),
        "day": pa.date32(),
    }
    fields = [
        pa.field(column.name, types[column.kind], metadata={"label": column.label, "unit": column.unit})
        for column in table.typed
    ]
    schema = pa.schema(fields, metadata=_parquet_metadata(table))
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches(table.rows, size=ROWS_OF_GROUP):
            values = [[plain(column.value(row, table.view)) for row in batch] for column in table.typed]
            arrays = [pa.array(each, type=field.type) for each, field in zip(values, fields, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _parquet_metadata(table: ViewTable) -> dict[str, str]:
    return {
        "as_of": words.utc(table.as_of),
        "query": table.query_string,
        "address": table.address,
        "exchange_rate": table.rate,
        "methodology_version": METHODOLOGY_VERSION,
        "written_by": f"InferPrice {__version__}",
    }
