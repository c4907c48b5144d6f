"""Changes to numbers: footnotes, digits, separators, floors, ranges, counts, white space, struck prices."""

# ruff: noqa: ARG001 - every change has one signature, whatever it uses of it

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from tests.scrapers.dom import Element, Text
from tests.scrapers.drift_tables import gpu_tables

if TYPE_CHECKING:
    from tests.scrapers.drift import Dice
    from tests.scrapers.drift_tables import Row, Table, Truth

MARKS = ("^2", "*", "²", "**", "†", " *", "^1^2")
ODD_MARKS = ("2", "[2]", " 2", "(2)", "+", "^", "*2")
FORMS = (
    "${0},{1}", "{0}{1}¢", "${0}", "${0}.{2}", "$0{0}.{1}", "${0}.{1}/mo", "$1.00 - ${0}.{1}", "~${0}.{1}",
    "up to ${0}.{1}", "${0}.{1} ${0}.{1}", "TBD", "Sold out", "", "$-{0}.{1}", "{0}.{1}$", "$1.{0}.{1}",
    "${0}.{1}0", "$1{0}{1}", "$\u0661.\u0662\u0663", "was ${0}.{1}", "${0}.{1} off", "$1,{0}.{1}",
)  # fmt: skip
SPACES = ("\u00a0", "\n\t ", "  ", "\u200b", "\u2009")


def _pick(root: Element, provider: str, dice: Dice) -> tuple[Table, Row, Text] | None:
    """Return a table, one of its rows and a piece of text with a digit in it, outside the names."""
    tables = gpu_tables(root, provider)
    if not tables:
        return None
    table = dice.pick(tables)
    row = dice.pick(table.rows)
    names = set(row.cells[0].texts()) | {text for text in row.texts() if text.text == row.name}
    numbers = [text for text in row.texts() if re.search("[0-9]", text.text) and text not in names]
    return (table, row, dice.pick(numbers)) if numbers else None


def _twins(row: Row, text: Text) -> list[Text]:
    """Return the pieces of the row that print the same figure."""
    return [one for one in row.texts() if one.text == text.text]


def footnote(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """A mark after a number, in one place or wherever the row prints it; as text or as an element."""
    found = _pick(root, provider, dice)
    if found is None:
        return
    _, row, text = found
    mark, as_element = dice.pick([*MARKS, *ODD_MARKS]), dice.pick([None, "sup", "span", "sub"])
    if mark == "2" and as_element is None and "$" not in text.text:
        return  # 8 and 2 run together is 82, and the truth does not follow a digit
    for one in _twins(row, text) if dice.flip() else [text]:
        parent = next(node for node in root.walk() if one in node.inner)
        new = Text(mark) if as_element is None else Element(as_element, {}, [Text(mark)], parent=parent)
        parent.inner.insert(parent.inner.index(one) + 1, new)


def change_digit(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """One digit changes in one of the places; Nebius prints prices once, so the truth follows the page."""
    found = _pick(root, provider, dice)
    if found is None:
        return
    table, row, text = found
    place = dice.pick([found.start() for found in re.finditer("[0-9]", text.text)])
    old, new = text.text[place], str(dice.number(1, 9))
    if old == new:
        return
    is_price = "$" in text.text
    column = next((number for number, cell in enumerate(row.cells) if text in set(cell.texts())), None)
    text.text = text.text[:place] + new + text.text[place + 1 :]
    if provider == "coreweave":
        table.forget(truth, {row.name})
    elif is_price and column is not None:
        _follow(table, row, column, truth)


def _follow(table: Table, row: Row, column: int, truth: Truth) -> None:
    """Set Nebius's price to what the cell says now."""
    amount = re.search(r"\$([0-9.]+)", row.cells[column].text())
    dated = table.titles[column].text().startswith("GPU-hour")
    for key in [
        key for key in truth if table.holds(key) and key.name == row.name and bool(key.valid_from) == dated
    ]:
        truth[key] = Decimal(amount[1]).quantize(Decimal("0.0001")) if amount else truth[key]


def change_form(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """A price in a form no careful reader takes for that price, in one place or in all of the row."""
    found = _pick(root, provider, dice)
    if found is None:
        return
    table, row, text = found
    amount = re.search(r"\$([0-9]+)\.([0-9])([0-9])", text.text)
    if amount is None:
        return
    new = dice.pick(FORMS).format(amount[1], amount[2] + amount[3], amount[2])
    table.forget(truth, {row.name})
    for one in _twins(row, text) if dice.flip() else [text]:
        one.text = new


def struck(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """An old price struck through before the new one, or the price itself struck through."""
    found = _pick(root, provider, dice)
    if found is None:
        return
    table, row, text = found
    tag, whole = dice.pick(["s", "del", "strike"]), dice.flip()
    for one in _twins(row, text):
        parent = next(node for node in root.walk() if one in node.inner)
        old = Element(tag, {}, [Text(one.text if whole else "$99.00")], parent=parent)
        place = parent.inner.index(one)
        parent.inner[place : place + 1] = [old] if whole else [old, Text(" "), one]
    if whole:
        table.forget(truth, {row.name})


def change_count(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """CoreWeave: another number of GPUs, in one block or in both, in one region."""
    tables = gpu_tables(root, provider)
    if provider != "coreweave" or not tables:
        return
    table = dice.pick(tables)
    row = dice.pick(table.rows)
    places = [text for cell in row.cells[1:2] for text in cell.texts()]
    if dice.flip() and len(row.narrow) > 1:
        places += list(row.narrow[1].texts())[:1]
    new = dice.pick(["1", "2", "4", "8", "16", "41", "72", "80", "0", "8 x 2", "eight"])
    if places and new != places[0].text.partition("^")[0]:
        table.forget(truth, {row.name})
        for text in places:
            text.text = new


def add_space(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """White space of several kinds around text, between elements, or inside a number."""
    space, where = dice.pick(SPACES), dice.pick(["around", "between", "inside", "after sign"])
    for node in list(root.walk()):
        if where == "between" and node.elements():
            node.inner = [
                piece
                for child in node.inner
                for piece in (child, Text(space if space.strip() == "" else " "))
            ]
        for text in [
            piece for piece in node.inner if isinstance(piece, Text) and not piece.raw and piece.text.strip()
        ]:
            if where == "around":
                text.text = space + text.text + space
            elif where == "after sign":
                text.text = text.text.replace("$", "$" + space)
            elif where == "inside" and "$" in text.text:
                text.text = text.text.replace(".", space + ".")


CHANGES = (footnote, change_digit, change_form, struck, change_count, add_space)
