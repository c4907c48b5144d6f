"""What any page is taken apart into: headings, tables and lines; and the words a page is read with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from app.domain.aliases import names
from scrapers.reading import one_line, title_key

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKER_LEVEL: Final = 7
"""The level of a plain line that stands where a heading would: below every real heading (1 to 6)."""

AMOUNT: Final = re.compile(r"\$\s*[0-9]|[€£¥₹]\s*[0-9]|[0-9]\s*(?:¢|€|USD\b|EUR\b)")
"""What makes a text hold an amount of money, in whatever currency."""

SIDE_TITLES: Final = frozenset({"", "action", "actions", "get started", "details", "launch"})
"""Columns of buttons and links: they stand in price tables and say nothing about a price."""

LONGEST_NAME: Final = 60
"""Characters of a name; a longer text is a sentence."""

NEUTRAL_TITLES: Final = frozenset({"price", "prices", "pricing", "list price", "list prices"})
"""Titles over several price columns that add nothing to the titles below them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The words a provider's page is read with; everything is compared as `title_key` gives it.

    `titles` and `title_patterns` are column titles and labels, `name_titles` those over names; `headings` and
    `heading_patterns` are words that open a part of the page even where they stand in a plain line; `names`
    are the provider's GPU names.
    """

    titles: frozenset[str]
    name_titles: frozenset[str]
    title_patterns: tuple[re.Pattern[str], ...] = ()
    headings: frozenset[str] = frozenset()
    heading_patterns: tuple[re.Pattern[str], ...] = ()
    names: frozenset[str] = field(default=frozenset())

    def is_title(self, text: str) -> bool:
        """Tell whether a text is a column title or label we know."""
        key = title_key(text)
        return (
            key in self.titles
            or key in self.name_titles
            or any(pattern.fullmatch(key) for pattern in self.title_patterns)
        )

    def is_heading(self, text: str) -> bool:
        """Tell whether a text opens a part of the page we know."""
        key = title_key(text)
        return key in self.headings or any(pattern.fullmatch(key) for pattern in self.heading_patterns)

    def is_name(self, text: str) -> bool:
        """Tell whether a text is a GPU name of the provider."""
        return one_line(text).casefold() in self.names

    def may_be_name(self, text: str) -> bool:
        """Tell whether a text can name something for rent: a known name, or short with letters and digits."""
        if self.is_name(text):
            return True
        signs = {*filter(str.isalnum, text)}
        mixed = any(map(str.isalpha, signs)) and any(map(str.isdigit, signs))
        return mixed and len(text) <= LONGEST_NAME and not AMOUNT.search(text) and not self.is_title(text)


def undoubled(text: str) -> str:
    """Return a text that is printed twice, as labels for narrow and wide screens are, once."""
    words = text.split()
    half = len(words) // 2
    return " ".join(words[:half]) if half and words[:half] == words[half:] else text


def known_names(context: str) -> frozenset[str]:
    """Return the GPU names listed for a provider, folded for look-up."""
    return frozenset(one_line(name).casefold() for name in names(context))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading: its level (1 to 6, or `MARKER_LEVEL`), its text, and whether it is hidden."""

    level: int
    text: str
    is_hidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A piece of text on its own; `inside` names the elements around it from the outside in."""

    text: str
    inside: tuple[int, ...] = ()
    is_hidden: bool = False
    is_struck: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One cell of a table as written."""

    text: str
    is_hidden: bool = False
    is_struck: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: rows of titles above rows of cells; a headless table has no row of titles."""

    title_rows: tuple[tuple[TableCell, ...], ...]
    rows: tuple[tuple[TableCell, ...], ...]
    caption: str = ""


Block = Heading | Line | Table


def holds_amount(cells: Iterable[TableCell]) -> bool:
    """Tell whether any of the cells holds an amount of money."""
    return any(AMOUNT.search(cell.text) for cell in cells)


def split_titles(
    rows: list[tuple[TableCell, ...]], vocabulary: Vocabulary, *, marked: int = 0
) -> tuple[tuple[tuple[TableCell, ...], ...], tuple[tuple[TableCell, ...], ...]]:
    """Split rows into rows of titles and rows of cells; rows without any text are dropped.

    The first `marked` rows are titles because the page says so; a row after them is one as well when every
    text in it is a title we know.
    """
    count = marked
    while count < len(rows) and _is_title_row(rows[count], vocabulary):
        count += 1
    titles, cells = rows[:count], rows[count:]
    return tuple(filter(_has_text, titles)), tuple(filter(_has_text, cells))


def _is_title_row(row: tuple[TableCell, ...], vocabulary: Vocabulary) -> bool:
    return all(vocabulary.is_title(cell.text) or title_key(cell.text) in SIDE_TITLES for cell in row)


def _has_text(row: tuple[TableCell, ...]) -> bool:
    return any(cell.text for cell in row)
