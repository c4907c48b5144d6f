"""Changes to structure: classes, tags, columns, rows, tables, blocks, wrapping, comments, hiding."""

# ruff: noqa: ARG001 - every change has one signature, whatever it uses of it

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.scrapers.dom import Element, Text
from tests.scrapers.drift_tables import Table, copy_of, find_tables, gpu_tables, put_after, swap

if TYPE_CHECKING:
    from tests.scrapers.drift import Dice
    from tests.scrapers.drift_tables import Row, Truth

PRICE_WORDS = ("On-", "Spot", "Inference", "GPU-hour")


def rename_classes(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """What a new build does to generated class names; or all classes and ids gone."""
    keep, salt = dice.flip(), dice.number(1, 10**6)
    for node in root.walk():
        names = node.attributes.pop("class", "").split()
        if keep and names:
            node.attributes["class"] = " ".join(f"c{abs(hash(name)) % 997}{salt}" for name in map(len, names))


def rename_tags(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    old, new = dice.pick(
        [("div", "section"), ("p", "div"), ("span", "b"), ("h5", "h4"), ("h3", "p"), ("h2", "h3")]
    )
    for node in root.walk():
        node.tag = new if node.tag == old else node.tag


def _columns(table: Table, dice: Dice) -> tuple[int, int]:
    one = dice.number(0, len(table.titles) - 1)
    two = dice.number(0, len(table.titles) - 2)
    return one, two + (two >= one)


def _touches_price(table: Table, columns: tuple[int, int]) -> bool:
    """Say whether a column exchanged is one that prices are told by: the name, the count or a price."""
    titles = [table.titles[column].text() for column in columns]
    return any(title.startswith((*PRICE_WORDS, "GPU", "Item")) for title in titles)


def _exchange_starts(table: Table, columns: tuple[int, int], truth: Truth, names: set[str]) -> bool:
    """Follow the page when Nebius's two on-demand columns are exchanged: it could be a real page."""
    if {table.titles[column].text()[:8] for column in columns} != {"On-deman", "GPU-hour"}:
        return False
    for now in [key for key in truth if table.holds(key) and key.name in names and not key.valid_from]:
        for then in [key for key in truth if table.holds(key) and key.name == now.name and key.valid_from]:
            truth[now], truth[then] = truth[then], truth[now]
    return True


def swap_columns(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Titles and cells move together: the page says what it said."""
    for table in gpu_tables(root, provider)[: dice.number(1, 2)]:
        one, two = _columns(table, dice)
        swap(table.titles[one], table.titles[two])
        for row in table.rows:
            if len(row.cells) == len(table.titles):
                swap(row.cells[one], row.cells[two])


def swap_cells_only(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Cells move and titles stay, in one row or in all."""
    for table in gpu_tables(root, provider)[:1]:
        columns = _columns(table, dice)
        rows = table.rows if dice.flip() else [dice.pick(table.rows)]
        names = {row.name for row in rows}
        if not _exchange_starts(table, columns, truth, names) and _touches_price(table, columns):
            table.forget(truth, names)
        for row in rows:
            if len(row.cells) == len(table.titles):
                swap(row.cells[columns[0]], row.cells[columns[1]])


def swap_titles_only(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    for table in gpu_tables(root, provider)[-1:]:
        columns = _columns(table, dice)
        names = {row.name for row in table.rows}
        if not _exchange_starts(table, columns, truth, names) and _touches_price(table, columns):
            table.forget(truth)
        swap(table.titles[columns[0]], table.titles[columns[1]])


def shift_column(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """One column's cells slip down by a row. Nebius's prices are left out: the page could be real."""
    for table in gpu_tables(root, provider)[:1]:
        column = dice.number(0, len(table.titles) - 1)
        price = _touches_price(table, (column, column))
        if (provider == "nebius" and price) or any(len(row.cells) <= column for row in table.rows):
            continue
        if price:
            table.forget(truth)
        for above, below in zip(table.rows, table.rows[1:], strict=False):
            swap(above.cells[column], below.cells[column])
            above.cells[column], below.cells[column] = below.cells[column], above.cells[column]


def drop_rows(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    for table in gpu_tables(root, provider):
        for row in table.rows[dice.number(0, len(table.rows)) :][: dice.number(1, 4)]:
            row.node.remove()


def repeat_row(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    for table in gpu_tables(root, provider)[:1]:
        row: Row = dice.pick(table.rows)
        twin = copy_of(row.node)
        if dice.flip():
            table.forget(truth, {row.name})
            for text in twin.texts():
                text.text = (
                    text.text.translate(str.maketrans("123456789", "234567891"))
                    if "$" in text.text
                    else text.text
                )
        put_after(row.node, twin)


def drop_table(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    tables = find_tables(root, provider)
    if tables:
        dice.pick(tables).block.remove()


def reorder_tables(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    tables = find_tables(root, provider)
    if len(tables) > 1:
        one, two = dice.pick(tables), dice.pick(tables)
        swap(one.block, two.block)


def drop_narrow_block(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    which, everywhere = dice.number(0, 1), dice.flip()
    for table in gpu_tables(root, provider):
        for row in table.rows if everywhere else table.rows[: dice.number(1, 3)]:
            if len(row.narrow) > which:
                row.narrow[which].remove()


def drop_cells(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """A cell is missing from one row or from all, under a title that stays."""
    for table in gpu_tables(root, provider)[: dice.number(1, 2)]:
        column = dice.number(0, len(table.titles) - 1)
        for row in table.rows if dice.flip() else [dice.pick(table.rows)]:
            if len(row.cells) > column:
                row.cells[column].remove()


def drop_title(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    for table in gpu_tables(root, provider)[: dice.number(1, 2)]:
        dice.pick(table.titles).remove()


def new_column(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    title = dice.pick(["Reserved Price (Per Hour)", "Price, GPU-hour", "Spot Price (Per Hour)", "Notes", ""])
    for table in gpu_tables(root, provider)[: dice.number(1, 2)]:
        column = dice.number(0, len(table.titles) - 1)
        put_after(table.titles[column], Element("div", {}, [Text(title)]))
        for row in table.rows:
            if len(row.cells) > column:
                put_after(row.cells[column], Element("div", {}, [Text("$1.23")]))


def bait_table(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """The same markup once more for another product, with other prices."""
    tables = gpu_tables(root, provider)
    if not tables:
        return
    table = dice.pick(tables)
    twin = copy_of(table.block)
    heading = dice.pick(["Managed GPU endpoints", table.heading.text, "REGION: ASIA", "Committed GPU prices"])
    for text in twin.texts():
        text.text = heading if text.text == table.heading.text else text.text.replace("$", "$1")
    put_after(table.block, twin)


def wrap(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Text gets an element of its own, or a number is written in two."""
    pieces = [(node, text) for node in root.walk() for text in node.inner if _is_money(text)]
    if not pieces:
        return
    everywhere, halves = dice.flip(), dice.flip()
    for node, text in pieces if everywhere else [dice.pick(pieces)]:
        place = len(text.text) // 2 if halves else 0
        inner = Element(dice.pick(["b", "span"]), {}, [Text(text.text[place:])], parent=node)
        where = node.inner.index(text)
        node.inner[where : where + 1] = [Text(text.text[:place]), inner]


def add_comments(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Comments between and inside pieces of text, as some frameworks write them."""
    step = dice.number(1, 7)
    for number, node in enumerate(list(root.walk())):
        if number % step == 0:
            for text in [piece for piece in node.inner if isinstance(piece, Text) and not piece.raw]:
                place, where = len(text.text) // 2, node.inner.index(text)
                node.inner[where : where + 1] = [
                    Text(text.text[:place]), Text("<!-- $1.00 -->", raw=True), Text(text.text[place:])
                ]  # fmt: skip


def hide(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """A row, a wide cell or a whole table is on the page and nobody sees it."""
    tables = gpu_tables(root, provider)
    if not tables:
        return
    table = dice.pick(tables)
    row = dice.pick(table.rows)
    node = dice.pick([row.node, *row.cells, table.block])
    table.forget(truth, None if node is table.block else {row.name})
    name, value = dice.pick(
        [("hidden", ""), ("style", "display: none"), ("style", "color:red;visibility:hidden")]
    )
    node.attributes[name] = value


def drop_roles(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    step = dice.number(1, 3)
    for number, node in enumerate(list(root.walk())):
        if number % step == 0:
            node.attributes.pop("role", None)
            node.attributes.pop("data-product", None)


def _is_money(piece: Element | Text) -> bool:
    return isinstance(piece, Text) and not piece.raw and "$" in piece.text


CHANGES = (
    rename_classes, rename_tags, swap_columns, swap_cells_only, swap_titles_only, shift_column, drop_rows,
    repeat_row, drop_table, reorder_tables, drop_narrow_block, drop_cells, drop_title, new_column, bait_table,
    wrap, add_comments, hide, drop_roles,
)  # fmt: skip
