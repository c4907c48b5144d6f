"""One entry of a price table, however the page is made: where it stands, its name, its labelled cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapers.base import ParseError
from scrapers.reading import title_key

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One text under its titles, from the outermost to its own; a text that stands alone has none."""

    titles: tuple[str, ...]
    text: str
    is_hidden: bool = False
    is_struck: bool = False

    @property
    def key(self) -> str:
        """Return the cell's own title for look-up, empty when it has none."""
        return title_key(self.titles[-1]) if self.titles else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One entry: the headings above as written, the key of the nearest known one, its name and its cells.

    `name_title` is the key of the title over the name, empty where names have none.
    `table_keys` are the keys of all titles of its table, which a broken row may lack.
    `problem` is the code of what keeps the entry from being read with certainty, empty when nothing does.
    """

    path: tuple[str, ...]
    section: str
    name: str
    cells: tuple[Cell, ...]
    name_title: str = ""
    table_keys: frozenset[str] = frozenset()
    problem: str = ""
    is_hidden: bool = False

    @property
    def place(self) -> str:
        """Return where the entry stands, for people."""
        return " > ".join(part for part in (*self.path, self.name) if part)

    @property
    def keys(self) -> frozenset[str]:
        """Return the titles of the cells and of the table they are in, for look-up."""
        return self.table_keys | {cell.key for cell in self.cells}

    def text(self, *keys: str) -> str:
        """Return the text under the first of these titles that the entry has, empty when it has none."""
        found = [cell.text for key in keys for cell in self.cells if cell.key == key]
        return found[0] if found else ""

    def check(self, known: Collection[str], *, side: Collection[str] = ()) -> None:
        """Raise ParseError when a title is unknown or stands twice."""
        keys = [cell.key for cell in self.cells if cell.key not in side]
        strange = [cell.titles[-1] if cell.titles else cell.text for cell in self.cells
                   if cell.key not in known and cell.key not in side]  # fmt: skip
        if strange:
            raise ParseError("unknown_column", f"{self.place} has a title nobody has met.", column=strange[0])
        if len(set(keys)) != len(keys):
            raise ParseError("double_column", f"{self.place} has a title twice.", columns=" | ".join(keys))
