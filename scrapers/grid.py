"""Tables of nested elements: found by their titles, read by their structure, never by class."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrapers.base import ParseError
from scrapers.reading import one_line, title_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

OTHER_CURRENCY: Final = re.compile(
    r"[€£¥₹₪₩]|\b(?:EUR|GBP|JPY|CNY|INR|ILS|CHF|SEK|NOK|DKK|PLN|CAD|AUD|NZD|SGD|HKD)\b"
    r"|(?i:\beuros?\b|\bpounds? sterling\b|\b(?:canadian|australian|singapore|hong kong) dollars?\b)"
)
"""Signs and words that say a table is not in US dollars, whatever sign stands at the number."""

MONEY: Final = re.compile(r"[$]\s*[0-9]")

_NOT_TEXT: Final = frozenset({"script", "style", "template", "title"})
_STRUCK: Final = frozenset({"del", "s", "strike"})
_HIDING_CLASS: Final = "w-condition-invisible"
"""Not a generated class: how pages built with Webflow, as CoreWeave's, hide an element on a condition."""
_HIDING: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grid:
    """One table: its titles as written, the row of titles, and the element that holds the rows."""

    titles: tuple[str, ...]
    header: LexborNode
    body: LexborNode

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the titles for look-up, in page order."""
        return tuple(title_key(title) for title in self.titles)


def read_document(body: bytes) -> LexborNode:
    """Return the root of a complete HTML page.

    Raises ParseError when the bytes are not UTF-8 or the page breaks off before its closing tag.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError("not_utf8", "The page is not UTF-8 text.", position=str(error.start)) from None
    if "</html>" not in text[-200:].casefold():
        raise ParseError("broken_off", "The page breaks off before its end.", tail=one_line(text[-80:]))
    root = LexborHTMLParser(text).root
    if root is None:
        raise ParseError("no_document", "The page holds no HTML.")
    return root


def children(node: LexborNode) -> list[LexborNode]:
    """Return the child elements, without text and comments."""
    return [child for child in node.iter() if child.is_element_node]


def text_nodes(node: LexborNode) -> Iterator[tuple[LexborNode, str]]:
    """Yield every piece of visible text under a node with the element it stands in.

    Pieces with nothing but a comment between them are one: some frameworks put comments inside a number.
    """
    parent: LexborNode | None = None
    pieces: list[str] = []
    for piece in node.traverse(include_text=True):
        if piece.is_comment_node:
            continue
        above = piece.parent if piece.is_text_node else None
        if parent is not None and (above is None or above.mem_id != parent.mem_id):
            yield parent, "".join(pieces)
            parent, pieces = None, []
        text = piece.text_content if above is not None and above.tag not in _NOT_TEXT else None
        if text and (pieces or not text.isspace()):
            parent = above
            pieces.append(text)
    if parent is not None:
        yield parent, "".join(pieces)


def words(node: LexborNode) -> str:
    """Return the text of a cell on one line, with a space wherever an element begins or ends.

    The space is what keeps `4<b>1</b>` from becoming 41. A superscript's digits get a caret (`4 ^1`).
    """
    pieces = (f"^{text.strip()}" if _is_mark(parent, text) else text for parent, text in text_nodes(node))
    return one_line(" ".join(pieces))


def _is_mark(parent: LexborNode, text: str) -> bool:
    return parent.tag == "sup" and text.strip()[:1].isdigit()


def find_grids(root: LexborNode, first_titles: Collection[str]) -> list[Grid]:
    """Return every table whose row of titles begins with one of these, in page order.

    The row of titles is the nearest element above the first title with more than one child; the rows lie in
    the element that follows it, or follows the element it is alone in.
    """
    starts = [parent for parent, text in text_nodes(root) if title_key(text) in first_titles]
    return [_grid(parent) for parent in starts]


def _grid(first_title: LexborNode) -> Grid:
    header = climb(first_title, lambda node: len(children(node)) > 1)
    titles = tuple(words(cell) for cell in children(header))
    head = climb(header, lambda node: _next_element(node) is not None)
    body = _next_element(head)
    after = None if body is None else _next_element(body)
    if body is None or (after is not None and MONEY.search(after.text())):
        # Footnotes may follow the rows; prices that follow them would be rows we do not see.
        raise ParseError(
            "rows_unclear", "The rows of a table are not in one place.", titles=" | ".join(titles)
        )
    _refuse_hidden(header, body)
    return Grid(titles, header, body)


def _refuse_hidden(header: LexborNode, body: LexborNode) -> None:
    """Refuse a table with hidden or struck-through text: which of two texts holds is not ours to say."""
    above: list[LexborNode] = []
    here = body.parent
    while here is not None:
        above.append(here)
        here = here.parent
    for node in (*above, *header.traverse(), *body.traverse()):
        if node.tag in _STRUCK or _is_hidden(node.attributes):
            text = one_line(node.text())[:80]
            raise ParseError("struck_or_hidden", "A table holds struck-through or hidden text.", text=text)


def _is_hidden(attributes: Mapping[str, str | None]) -> bool:
    classes = (attributes.get("class") or "").split()
    styled = _HIDING.search(attributes.get("style") or "")
    return "hidden" in attributes or _HIDING_CLASS in classes or styled is not None


def climb(node: LexborNode, accept: Callable[[LexborNode], bool]) -> LexborNode:
    """Return the nearest element that is accepted, the node itself first."""
    here: LexborNode | None = node
    while here is not None:
        if accept(here):
            return here
        here = here.parent
    raise ParseError("no_table", "A title stands in no table.", text=one_line(node.text())[:80])


def descend(node: LexborNode) -> LexborNode:
    """Return the first element at or below the node that has more than one child, or no child."""
    while len(inner := children(node)) == 1:
        node = inner[0]
    return node


def column_cells(grid: Grid, cells: list[str], *, place: str) -> dict[str, str]:
    """Return a row's cells under their title keys.

    Raises ParseError when the row has another number of cells than the table has titles.
    """
    if len(cells) != len(grid.titles):
        raise ParseError(
            "wrong_cell_count",
            f"A row of {place} has {len(cells)} cells under {len(grid.titles)} titles.",
            row=" | ".join(cells)[:200],
        )
    return dict(zip(grid.keys, cells, strict=True))


def check_titles(grid: Grid, *, required: Collection[str], known: Collection[str], place: str) -> None:
    """Raise ParseError unless each title is known, stands once, and none that is required is missing."""
    keys = grid.keys
    strange = [title for title, key in zip(grid.titles, keys, strict=True) if key not in known]
    if strange:
        raise ParseError("unknown_column", f"{place} has a column nobody has met.", column=strange[0])
    if len(set(keys)) != len(keys):
        raise ParseError("double_column", f"{place} has a column twice.", columns=" | ".join(grid.titles))
    missing = [key for key in required if key not in keys]
    if missing:
        raise ParseError("missing_column", f"{place} lacks a column.", column=missing[0])


def refuse_other_currency(node: LexborNode, place: str) -> None:
    """Raise ParseError when a currency other than the US dollar is named in this part of the page."""
    for _, text in text_nodes(node):
        found = OTHER_CURRENCY.search(text)
        if found:
            raise ParseError(
                "other_currency",
                f"{place} names another currency.",
                text=one_line(text)[:120],
                word=found.group(),
            )


def _next_element(node: LexborNode) -> LexborNode | None:
    following = node.next
    while following is not None and not following.is_element_node:
        following = following.next
    return following
