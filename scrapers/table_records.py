"""The rows of a table as records, each cell under the titles of its column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapers.blocks import NEUTRAL_TITLES, SIDE_TITLES, holds_amount, undoubled
from scrapers.reading import title_key
from scrapers.records import Cell, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapers.blocks import Table, TableCell, Vocabulary

_Titles = tuple[tuple[str, ...], ...]


def table_records(
    table: Table, vocabulary: Vocabulary, *, path: tuple[str, ...], key: str
) -> Iterator[Record]:
    """Yield a record for each row; one text across the whole table is a heading for the rows below it."""
    width = max((len(row) for row in table.rows), default=0)
    titles = _titles(table.title_rows, width, vocabulary)
    keys = frozenset(title_key(cell.text) for row in table.title_rows for cell in row if cell.text)
    above = (*path, table.caption) if table.caption else path
    group: tuple[str, ...] = ()
    for row in table.rows:
        if _is_group(row):
            group = (row[0].text,)
            continue
        record = _record(row, titles, vocabulary)
        name_title = record.name_title or min(keys & vocabulary.name_titles, default="")
        yield replace(record, path=(*above, *group), section=key, name_title=name_title, table_keys=keys)


def _is_group(row: Sequence[TableCell]) -> bool:
    texts = {cell.text for cell in row}
    return len(row) > 1 and len(texts) == 1 and not holds_amount(row)


def _titles(rows: Sequence[Sequence[TableCell]], width: int, vocabulary: Vocabulary) -> _Titles | None:
    """Return the titles over each column, empty ones for a headless table, None when they do not fit.

    Where the lowest row of titles leaves the name column out because a row above has its title, and so is
    one cell short, that title is put back in front.
    """
    if not rows:
        return ((),) * width
    lowest = [cell.text for cell in rows[-1]]
    if len(lowest) == width - 1 and len(rows) > 1 and rows[0]:
        first = rows[0][0].text
        if title_key(first) in vocabulary.name_titles and title_key(lowest[0]) not in vocabulary.name_titles:
            lowest = [first, *lowest]
    if len(lowest) != width:
        return None
    full = [[cell.text for cell in row] for row in rows[:-1] if len(row) == width]
    columns = zip(*full, lowest, strict=True)
    return tuple(tuple(dict.fromkeys(text for text in column if text)) for column in columns)


def _record(row: Sequence[TableCell], titles: _Titles | None, vocabulary: Vocabulary) -> Record:
    problem = ""
    if titles is None:
        problem, titles = "titles_unclear", ((),) * len(row)
    elif len(row) < len(titles) and holds_amount(row):
        problem = "wrong_cell_count"
    cells = [_cell(cell, over) for cell, over in zip(row, titles, strict=False)]
    if not problem and not all(map(vocabulary.is_title, _above(cells))):
        problem = "unknown_column"
    at = next((place for place, cell in enumerate(cells) if cell.key in vocabulary.name_titles), 0)
    cell = cells.pop(at)
    name = undoubled(cell.text)
    if not problem and not vocabulary.may_be_name(name):
        problem = "name_unclear"
    return Record(
        path=(), section="", name=name, name_title=cell.key, cells=tuple(cells), problem=problem,
        is_hidden=cell.is_hidden,
    )  # fmt: skip


def _above(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the titles above the cells' own that may change what a price is for."""
    for cell in cells:
        yield from (
            title for title in cell.titles[:-1] if title_key(title) not in NEUTRAL_TITLES | SIDE_TITLES
        )


def _cell(cell: TableCell, titles: tuple[str, ...]) -> Cell:
    """Return a cell under its titles, without its own title before it, which narrow screens print again."""
    text, own = cell.text, titles[-1] if titles else ""
    if own and text.casefold().startswith(own.casefold()):
        text = text[len(own) :].lstrip(" :")
    return Cell(titles=titles, text=text, is_hidden=cell.is_hidden, is_struck=cell.is_struck)
