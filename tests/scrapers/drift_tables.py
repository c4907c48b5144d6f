"""Where the tables of a page lie, found without the parsers: blocks, titles, rows, and the keys they hold."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from tests.scrapers.dom import Element, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.scrapers.truth import Key

Truth = dict["Key", Decimal]
NARROW = ("On-Demand Price:", "GPU Count")


@dataclass(eq=False)
class Row:
    """One row: its wide cells under the titles, and CoreWeave's two blocks for narrow screens."""

    node: Element
    cells: list[Element]
    narrow: list[Element]

    @property
    def name(self) -> str:
        return self.cells[0].text() if self.cells else ""

    def texts(self) -> list[Text]:
        return list(self.node.texts())


@dataclass(eq=False)
class Table:
    """One table with its part of the page (heading and rows) and the function that tells its keys."""

    block: Element
    heading: Text
    titles: list[Element]
    rows: list[Row]
    holds: Callable[[Key], bool]
    is_gpu: bool

    def column(self, word: str) -> int | None:
        """Return the place of the first title that begins with the word."""
        places = (place for place, title in enumerate(self.titles) if title.text().startswith(word))
        return next(places, None)

    def forget(self, truth: Truth, names: Iterable[str] | None = None) -> None:
        """Take the table's keys out of the truth, all or those of some rows."""
        chosen = None if names is None else set(names)
        for key in [key for key in truth if self.holds(key) and (chosen is None or key.name in chosen)]:
            del truth[key]


def find_tables(root: Element, provider: str) -> list[Table]:
    """Return the tables that can still be told; a page changed beyond recognition has none."""
    find = _coreweave if provider == "coreweave" else _nebius
    headers = [node for node in root.walk() if _is_header(node, provider)]
    return [table for header in headers if (table := find(header)) is not None]


def gpu_tables(root: Element, provider: str) -> list[Table]:
    return [table for table in find_tables(root, provider) if table.is_gpu and table.rows]


def _is_header(node: Element, provider: str) -> bool:
    cells = node.elements()
    first = {"GPU Model", "CPU Model"} if provider == "coreweave" else {"Item"}
    return len(cells) > 2 and cells[0].text() in first


def _coreweave(header: Element) -> Table | None:
    block, heading = _up_to(header, lambda text: text.text.startswith("REGION: "))
    if block is None or heading is None:
        return None
    region = heading.text.removeprefix("REGION: ").casefold()
    rows = [_coreweave_row(node) for node in block.walk() if node.attributes.get("role") == "listitem"]
    is_gpu = header.elements()[0].text() == "GPU Model"
    return Table(block, heading, header.elements(), rows, lambda key: is_gpu and key.region == region, is_gpu)


def _coreweave_row(item: Element) -> Row:
    grid = next((node for node in item.walk() if len(node.elements()) > 3), item)
    narrow = [cell for cell in grid.elements() if any(word in cell.text() for word in NARROW)]
    return Row(item, [cell for cell in grid.elements() if cell not in narrow], narrow)


def _nebius(header: Element) -> Table | None:
    content = header.parent.parent if header.parent else None
    block, heading = _up_to(
        header, lambda text: "GPU Instances" in text.text or text.text in {"CPU-only instances", "Storage"}
    )
    if content is None or block is None or heading is None or len(content.elements()) != 2:
        return None
    rows = [Row(node, node.elements(), []) for node in content.elements()[1].elements()]
    kinds = {"NVIDIA GPU Instances": "on_demand", "Preemptible NVIDIA GPU Instances": "spot"}
    kind = kinds.get(heading.text)
    return Table(block, heading, header.elements(), rows, lambda key: key.kind == kind, kind is not None)


def _up_to(header: Element, is_heading: Callable[[Text], bool]) -> tuple[Element | None, Text | None]:
    node: Element | None = header
    while node is not None:
        found = [text for text in node.texts() if is_heading(text)]
        if found:
            return node, found[0]
        node = node.parent
    return None, None


def swap(one: Element, two: Element) -> None:
    """Exchange the places of two elements, wherever they are."""
    if one is two or one.parent is None or two.parent is None:
        return
    first, second = one.parent, two.parent
    here, there = first.inner.index(one), second.inner.index(two)
    first.inner[here], second.inner[there] = two, one
    one.parent, two.parent = second, first


def copy_of(node: Element) -> Element:
    """Return a deep copy without a parent."""
    twin = Element(node.tag, dict(node.attributes))
    for child in node.inner:
        if isinstance(child, Element):
            inner = copy_of(child)
            inner.parent = twin
            twin.inner.append(inner)
        else:
            twin.inner.append(Text(child.text, child.raw))
    return twin


def put_after(node: Element, new: Element) -> None:
    assert node.parent is not None
    new.parent = node.parent
    node.parent.inner.insert(node.parent.inner.index(node) + 1, new)
