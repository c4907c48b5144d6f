"""HTML taken apart into headings, tables and lines by what elements are, never by generated class names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from scrapers.base import ParseError
from scrapers.blocks import (
    SIDE_TITLES,
    Heading,
    Line,
    Table,
    TableCell,
    Vocabulary,
    holds_amount,
    split_titles,
)
from scrapers.grid import children, descend
from scrapers.reading import one_line, title_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from selectolax.lexbor import LexborNode

    from scrapers.blocks import Block

_SKIPPED: Final = frozenset({"script", "style", "template", "title", "svg", "head", "noscript"})
_INLINE: Final = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "svg", "time", "u", "var", "wbr",
})  # fmt: skip
_HEADING: Final = re.compile(r"h([1-6])")
_STRUCK: Final = frozenset({"del", "s", "strike"})
_HIDING_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_HIDING_CLASSES: Final = frozenset({
    "hide", "hidden", "d-none", "is-hidden", "invisible", "w-condition-invisible", "sr-only",
    "visually-hidden",
})  # fmt: skip
_SHOWN_WIDE: Final = re.compile(r"(?:sm|md|lg|xl|2xl):(?:block|flex|grid|inline|table|contents)\S*")
_DEEPEST: Final = 200
_MOST_SPAN: Final = 60
_FEWEST_TITLES: Final = 2


def is_hidden(node: LexborNode) -> bool:
    """Tell whether an element hides what is in it, by itself; one shown on wide screens is not hidden."""
    attributes = node.attributes
    classes = (attributes.get("class") or "").split()
    hiding = _HIDING_CLASSES.intersection(classes) and not any(map(_SHOWN_WIDE.fullmatch, classes))
    style = attributes.get("style") or ""
    hides = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    return bool(hiding) or hides or _HIDING_STYLE.search(style) is not None


def html_blocks(root: LexborNode, vocabulary: Vocabulary) -> Iterator[Block]:
    """Yield the blocks of an HTML page in its order: real tables, tables of nested elements, and lines.

    Raises ParseError for a page whose elements are nested deeper than people write them.
    """
    _refuse_deep(root)
    grids = _find_grids(root, vocabulary)
    yield from _walk(root, _Walk(vocabulary, grids), inside=(), hidden=False, struck=False)


def _refuse_deep(root: LexborNode) -> None:
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise ParseError("too_deep", "The page's elements are nested too deep to be read.")
        waiting.extend((child, depth + 1) for child in node.iter())


class _Walk:
    """What a walk knows everywhere; `grids` has tables at their first elements, None at the others."""

    __slots__ = ("grids", "vocabulary")

    def __init__(self, vocabulary: Vocabulary, grids: dict[int, Table | None]) -> None:
        self.vocabulary = vocabulary
        self.grids = grids


def _walk(
    node: LexborNode, walk: _Walk, *, inside: tuple[int, ...], hidden: bool, struck: bool
) -> Iterator[Block]:
    """Yield the blocks under one element."""
    inside = (*inside, node.mem_id)
    run: list[LexborNode] = []
    for child in [*node.iter(include_text=True), None]:
        if child is not None and _is_inline(child):
            run.append(child)
            continue
        text, line_struck = _run(run)
        run = []
        if text:
            yield Line(text=text, inside=inside, is_hidden=hidden, is_struck=struck or line_struck)
        if child is None or child.tag in _SKIPPED:
            continue
        if child.mem_id in walk.grids:
            grid = walk.grids[child.mem_id]
            yield from () if grid is None else (_hide(grid) if hidden else grid,)
            continue
        yield from _element(
            child, walk, inside=inside, hidden=hidden or is_hidden(child), struck=struck or _is_struck(child)
        )


def _element(
    node: LexborNode, walk: _Walk, *, inside: tuple[int, ...], hidden: bool, struck: bool
) -> Iterator[Block]:
    level = _HEADING.fullmatch(node.tag or "")
    if level is not None or node.attributes.get("role") == "heading":
        number = level[1] if level else node.attributes.get("aria-level") or "2"
        text = cell_text(node)
        if text:
            yield Heading(level=int(number) if number.isdigit() else 2, text=text, is_hidden=hidden)
    elif node.tag == "table":
        yield _table(node, walk.vocabulary, hidden=hidden)
    else:
        yield from _walk(node, walk, inside=inside, hidden=hidden, struck=struck)


def _is_inline(node: LexborNode) -> bool:
    """Tell whether a node is part of a line of text: text, a comment, or an inline element without blocks."""
    if node.is_text_node or node.is_comment_node:
        return True
    if node.tag not in _INLINE or is_hidden(node):
        return False
    return all(_is_inline(child) for child in node.iter(include_text=True))


def _run(nodes: Sequence[LexborNode]) -> tuple[str, bool]:
    """Return the text of a run of inline nodes, and whether any of it is struck through.

    A comment between two texts adds no space, because frameworks put comments inside numbers.
    """
    elements = [node for node in nodes if node.is_element_node]
    pieces = (
        f" {cell_text(node)} " if node.is_element_node else node.text_content or ""
        for node in nodes
        if not node.is_comment_node
    )
    return one_line("".join(pieces)), any(_is_struck(part) for one in elements for part in one.traverse())


def _is_struck(node: LexborNode) -> bool:
    classes = (node.attributes.get("class") or "").split() if node.is_element_node else []
    return node.tag in _STRUCK or "line-through" in classes


def cell_text(node: LexborNode) -> str:
    """Return the visible text of an element on one line; a superscript's digits get a caret (`4 ^1`)."""
    return one_line("".join(_pieces(node)))


def _pieces(node: LexborNode) -> Iterator[str]:
    for child in node.iter(include_text=True):
        if child.is_text_node:
            text = child.text_content or ""
            yield f" ^{text.strip()}" if node.tag == "sup" and text.strip()[:1].isdigit() else text
        elif child.is_element_node and child.tag not in _SKIPPED and not is_hidden(child):
            yield " "
            yield from _pieces(child)
            yield " "


def _cell(node: LexborNode, *, hidden: bool = False) -> TableCell:
    return TableCell(
        text=cell_text(node),
        is_hidden=hidden or is_hidden(node),
        is_struck=any(map(_is_struck, node.traverse())),
    )


def _hide(table: Table) -> Table:
    rows = tuple(
        tuple(TableCell(text=cell.text, is_hidden=True, is_struck=cell.is_struck) for cell in row)
        for row in table.rows
    )
    return Table(title_rows=table.title_rows, rows=rows, caption=table.caption)


def _table(node: LexborNode, vocabulary: Vocabulary, *, hidden: bool) -> Table:
    """Read a real table; a cell over several rows or columns stands in each of them."""
    lines = [row for row in node.css("tr") if _own_table(row, node)]
    rows = _spread(lines, hidden=hidden)
    marked = 0
    while marked < len(lines) and _is_head(lines[marked]):
        marked += 1
    caption = node.css_first("caption")
    titles, cells = split_titles(rows, vocabulary, marked=marked)
    return Table(title_rows=titles, rows=cells, caption="" if caption is None else cell_text(caption))


def _own_table(row: LexborNode, table: LexborNode) -> bool:
    above = row.parent
    while above is not None and above.tag != "table":
        above = above.parent
    return above is not None and above.mem_id == table.mem_id


def _is_head(row: LexborNode) -> bool:
    cells = children(row)
    in_head = row.parent is not None and row.parent.tag == "thead"
    return in_head or (bool(cells) and all(cell.tag == "th" for cell in cells))


def _spread(lines: Sequence[LexborNode], *, hidden: bool) -> list[tuple[TableCell, ...]]:
    """Return the rows with each spanning cell repeated where it spans."""
    rows: list[tuple[TableCell, ...]] = []
    waiting: dict[int, tuple[TableCell, int]] = {}
    for line in lines:
        row: list[TableCell] = []
        row_hidden = hidden or is_hidden(line) or (line.parent is not None and is_hidden(line.parent))
        for node in [*children(line), None]:
            while len(row) in waiting:
                cell, left = waiting.pop(len(row))
                if left > 1:
                    waiting[len(row)] = (cell, left - 1)
                row.append(cell)
            if node is None:
                break
            cell = _cell(node, hidden=row_hidden)
            down = _span(node, "rowspan")
            for _ in range(_span(node, "colspan")):
                if down > 1:
                    waiting[len(row)] = (cell, down - 1)
                row.append(cell)
        rows.append(tuple(row))
    return rows


def _span(node: LexborNode, name: str) -> int:
    text = node.attributes.get(name) or "1"
    return min(int(text), _MOST_SPAN) if text.isdigit() and int(text) > 0 else 1


def _find_grids(root: LexborNode, vocabulary: Vocabulary) -> dict[int, Table | None]:
    """Return tables made of nested elements, each under its first element; None marks its other elements.

    Such a table shows itself by a row of at least two titles we know, followed by rows of as many cells.
    """
    found: dict[int, Table | None] = {}
    for node in root.traverse():
        if not node.is_element_node or node.tag in {"tr", "thead", "tbody", "table", *_SKIPPED}:
            continue
        kids = children(node)
        if len(kids) < _FEWEST_TITLES:
            continue
        if _are_titles(kids, vocabulary):
            _grid_after(node, kids, found=found)
        elif (width := _leading_titles(kids, vocabulary)) and len(kids) % width == 0:
            _flat_grid(kids, width, found=found)
    return found


def _are_titles(kids: Sequence[LexborNode], vocabulary: Vocabulary) -> bool:
    texts = [cell_text(kid) for kid in kids]
    known = [text for text in texts if vocabulary.is_title(text)]
    others = [text for text in texts[1:] if not vocabulary.is_title(text)]
    return len(known) >= _FEWEST_TITLES and all(title_key(text) in SIDE_TITLES for text in others)


def _leading_titles(kids: Sequence[LexborNode], vocabulary: Vocabulary) -> int:
    """Return how many titles stand at the head of a flat grid of cells, 0 when it is none."""
    width = 0
    while width < len(kids) and vocabulary.is_title(cell_text(kids[width])):
        width += 1
    return width if _FEWEST_TITLES <= width < len(kids) else 0


def _flat_grid(kids: Sequence[LexborNode], width: int, *, found: dict[int, Table | None]) -> None:
    cells = [_cell(kid) for kid in kids]
    rows = [tuple(cells[start : start + width]) for start in range(0, len(cells), width)]
    table = Table(title_rows=(rows[0],), rows=tuple(rows[1:]))
    found.update({kid.mem_id: None for kid in kids})
    found[kids[0].mem_id] = table


def _grid_after(head: LexborNode, titles: Sequence[LexborNode], *, found: dict[int, Table | None]) -> None:
    """Find the rows that belong to a row of titles: beside it, or in the element that follows it."""
    node = head
    while node.mem_id not in found:
        after = _elements_after(node)
        if after:
            break
        if node.parent is None or node.parent.tag == "body" or len(children(node.parent)) != 1:
            return
        node = node.parent
    else:
        return
    taken, rows = _rows(after, len(titles))
    if rows:
        found.update({one.mem_id: None for one in taken})
        cells = tuple(tuple(_row_cells(row)) for row in rows)
        found[node.mem_id] = Table(title_rows=(tuple(map(_cell, titles)),), rows=cells)


def _rows(after: list[LexborNode], width: int) -> tuple[list[LexborNode], list[LexborNode]]:
    """Return the elements after a row of titles that hold its rows, and the rows."""
    inner = children(descend(after[0]))
    alone = len(after) == 1 or not _fits(after[1], width)
    if inner and alone and all(_fits(one, width) for one in inner):
        return after[:1], inner
    kept = _leading(after, width)
    return kept, kept


def _row_cells(row: LexborNode) -> Iterator[TableCell]:
    return (_cell(cell, hidden=is_hidden(row)) for cell in children(descend(row)))


def _leading(nodes: Sequence[LexborNode], width: int) -> list[LexborNode]:
    kept: list[LexborNode] = []
    for node in nodes:
        if not _fits(node, width):
            break
        kept.append(node)
    return kept


def _fits(node: LexborNode, width: int) -> bool:
    """Tell whether an element is a row of so many cells, or a shorter one without an amount."""
    cells = children(descend(node))
    if len(cells) == width:
        return True
    return _FEWEST_TITLES <= len(cells) < width and not holds_amount(map(_cell, cells))


def _elements_after(node: LexborNode) -> list[LexborNode]:
    after: list[LexborNode] = []
    here = node.next
    while here is not None:
        if here.is_element_node:
            after.append(here)
        here = here.next
    return after
