"""Markdown and plain text taken apart into headings, tables and lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from scrapers.blocks import Heading, Line, Table, TableCell, split_titles
from scrapers.reading import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapers.blocks import Block, Vocabulary

_COMMENT: Final = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_RULE: Final = re.compile(r"\|?\s*:?-{3,}:?\s*(?:\|\s*:?-{3,}:?\s*)*\|?")
_BETWEEN_CELLS: Final = re.compile(r"(?<!\\)\|")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_EMPHASIS: Final = re.compile(r"(\*\*|__)(.+?)\1")
_STRUCK: Final = re.compile(r"~~.+?~~|<(?:s|del|strike)>", re.IGNORECASE)
_LIST_MARK: Final = re.compile(r"(?:[-*+]|[0-9]+\.)\s+")
_ESCAPED: Final = re.compile(r"\\([\\`*_{}\[\]()#+\-.!$|~<>])")


def markdown_blocks(text: str, vocabulary: Vocabulary) -> Iterator[Block]:
    """Yield the blocks of a Markdown document in its order.

    A table is a run of lines with a bar in them; the rule under its titles may stand anywhere or be missing.
    """
    table: list[str] = []
    for raw in [*_COMMENT.sub("\n", text).splitlines(), ""]:
        line = raw.strip()
        if _BETWEEN_CELLS.search(line):
            table.append(line)
            continue
        if table:
            yield _table(table, vocabulary)
            table = []
        if line:
            yield _block(line)


def _block(line: str) -> Block:
    found = _HEADING.fullmatch(line)
    if found is not None:
        return Heading(level=len(found[1]), text=_plain(found[2]))
    struck = _STRUCK.search(line) is not None
    return Line(text=_plain(_LIST_MARK.sub("", line, count=1)), is_struck=struck)


def _table(lines: list[str], vocabulary: Vocabulary) -> Table:
    rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
    rows = [_cells(line) for line in lines if not _RULE.fullmatch(line)]
    marked = rules[0] if rules else 0
    title_rows, cell_rows = split_titles(rows, vocabulary, marked=marked)
    return Table(title_rows=title_rows, rows=cell_rows)


def _cells(line: str) -> tuple[TableCell, ...]:
    inner = line.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    pieces = _BETWEEN_CELLS.split(inner)
    return tuple(
        TableCell(text=_plain(piece), is_struck=_STRUCK.search(piece) is not None) for piece in pieces
    )


def _plain(text: str) -> str:
    """Return the text without links, emphasis and escapes; footnote asterisks at the end stay."""
    linked = _LINK.sub(r"\1", text)
    return one_line(_ESCAPED.sub(r"\1", _EMPHASIS.sub(r"\2", linked)))
