"""Pages of any make read as labelled records: the headings above, a name, and cells under their titles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scrapers.base import ParseError
from scrapers.blocks import MARKER_LEVEL, Heading, Line, Table
from scrapers.data_blocks import data_blocks, linked_blocks
from scrapers.embedded import embedded_values, flight_rows
from scrapers.grid import OTHER_CURRENCY, read_document
from scrapers.html_blocks import html_blocks
from scrapers.line_records import line_records
from scrapers.markdown_blocks import markdown_blocks
from scrapers.reading import title_key
from scrapers.table_records import table_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapers.blocks import Block, Vocabulary
    from scrapers.records import Record

_HTML: Final = re.compile(r"<!doctype html|<html[\s>]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The headings above a stretch of a page, the key of the nearest one we know, and the blocks of it."""

    path: tuple[str, ...]
    key: str
    blocks: tuple[Line | Table, ...]


def read_labelled(
    body: bytes, vocabulary: Vocabulary, *, wanted: Callable[[Record], bool]
) -> tuple[Record, ...]:
    """Return the records of a page that are wanted, from the first way of reading it that has any.

    The ways are: what the page shows (HTML or Markdown), then the data frameworks put into it. Raises
    ParseError when no way gives a wanted record, or a wanted one cannot be read with certainty.
    """
    for blocks in _ways(body, vocabulary):
        records: list[Record] = []
        for section in _sections(blocks, vocabulary):
            found = [record for record in _section_records(section, vocabulary) if wanted(record)]
            if found:
                _refuse_other_currency(section)
            records.extend(map(_certain, found))
        if records:
            return tuple(records)
    raise ParseError("missing_table", "The page holds no table of the kind this parser reads.")


def _certain(record: Record) -> Record:
    if record.problem:
        raise ParseError(
            record.problem, f"An entry of {record.place} cannot be read with certainty.",
            text=" | ".join((record.name, *(cell.text for cell in record.cells)))[:200],
        )  # fmt: skip
    return record


def _refuse_other_currency(section: Section) -> None:
    """Refuse prices under a heading, caption or sentence that names another currency than the US dollar."""
    texts = [*section.path, *(one.caption if isinstance(one, Table) else one.text for one in section.blocks)]
    for text in texts:
        if OTHER_CURRENCY.search(text):
            raise ParseError("other_currency", "A part of the page names another currency.", text=text[:120])


def _ways(body: bytes, vocabulary: Vocabulary) -> Iterator[Iterable[Block]]:
    text = _text(body)
    if _HTML.search(text[:5000]) is None:
        yield markdown_blocks(text, vocabulary)
        return
    root = read_document(body)
    yield html_blocks(root, vocabulary)
    rows = flight_rows(root)
    yield [
        block for value in embedded_values(root) for block in data_blocks(value, rows, vocabulary=vocabulary)
    ]
    yield linked_blocks(root)


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError("not_utf8", "The page is not UTF-8 text.", position=str(error.start)) from None


def _section_records(section: Section, vocabulary: Vocabulary) -> Iterator[Record]:
    """Yield the records of a section in page order."""
    lines: list[Line] = []
    for block in section.blocks:
        if isinstance(block, Line):
            lines.append(block)
            continue
        yield from line_records(lines, vocabulary, path=section.path, key=section.key)
        lines = []
        yield from table_records(block, vocabulary, path=section.path, key=section.key)
    yield from line_records(lines, vocabulary, path=section.path, key=section.key)


def _sections(blocks: Iterable[Block], vocabulary: Vocabulary) -> Iterator[Section]:
    path: list[Heading] = []
    held: list[Line | Table] = []
    for block in [*_dealt(list(_marked(blocks, vocabulary))), Heading(level=0, text="")]:
        if not isinstance(block, Heading):
            held.append(block)
            continue
        if held or path:
            yield _section(path, held, vocabulary)
        held = []
        path = [*(above for above in path if above.level < block.level), block]


def _section(path: list[Heading], held: list[Line | Table], vocabulary: Vocabulary) -> Section:
    known = [title_key(one.text) for one in path if vocabulary.is_heading(one.text)]
    texts = tuple(one.text for one in path)
    return Section(path=texts, key=known[-1] if known else "", blocks=tuple(held))


def _marked(blocks: Iterable[Block], vocabulary: Vocabulary) -> Iterator[Block]:
    """Turn plain lines that stand where headings would into headings."""
    for block in blocks:
        if isinstance(block, Line) and vocabulary.is_heading(block.text):
            yield Heading(level=MARKER_LEVEL, text=block.text, is_hidden=block.is_hidden)
        else:
            yield block


def _dealt(blocks: list[Block]) -> Iterator[Block]:
    """Deal out a row of tabs over the tables that follow it, one to each.

    Several plain headings in a row with nothing between them are tabs. Where the tables after them are as
    many, each gets its own; otherwise nobody can say which is whose, and they become one unknown heading.
    """
    place = 0
    while place < len(blocks):
        tabs = _tabs(blocks, place)
        if len(tabs) <= 1:
            yield blocks[place]
            place += 1
            continue
        place += len(tabs)
        following = _until_heading(blocks, place)
        tables = sum(isinstance(block, Table) for block in following)
        if tables != len(tabs):
            yield Heading(level=MARKER_LEVEL, text=" | ".join(tab.text for tab in tabs))
            continue
        waiting = iter(tabs)
        for block in following:
            if isinstance(block, Table):
                yield next(waiting)
            yield block
        place += len(following)


def _tabs(blocks: list[Block], place: int) -> list[Heading]:
    tabs: list[Heading] = []
    for block in blocks[place:]:
        if not isinstance(block, Heading) or block.level != MARKER_LEVEL:
            break
        tabs.append(block)
    return tabs


def _until_heading(blocks: list[Block], place: int) -> list[Block]:
    end = place
    while end < len(blocks) and not isinstance(blocks[end], Heading):
        end += 1
    return blocks[place:end]
