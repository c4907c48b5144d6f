"""Changes to words: units, currencies, dates, headings, labels, names."""

# ruff: noqa: ARG001 - every change has one signature, whatever it uses of it

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.scrapers.dom import Element, Text
from tests.scrapers.drift_tables import find_tables, gpu_tables
from tests.scrapers.truth import Key

if TYPE_CHECKING:
    from tests.scrapers.drift import Dice
    from tests.scrapers.drift_tables import Table, Truth

CURRENCIES = ("€", "£", "¥", "EUR ", "GBP ", "A$", "C$", "₹", "", "¢", "USD ", "US$")
SAME_CURRENCY = ("USD ", "US$")
UNITS = (
    ("Per Hour", ("Per Minute", "Per Month", "Per Second", "Per Day", "Per 8 Hours", "")),
    ("/ Hour", ("/ Minute", "/ Month", "/ GPU Hour", "/ Day")),
    ("GPU-hour", ("GPU-month", "instance-hour", "GPU-minute", "vCPU-hour", "GPU-second", "8 GPU-hour")),
)
DATES = ("Effective soon", "Effective 10/01/2026", "Effective October 32, 2026", "Effective Q4 2026",
         "Effective 1 October 2026", "Effective Oktober 1, 2026", "Effective", "Until October 1")  # fmt: skip
NOTES = ("All prices are in euros.", "Prices in EUR, without VAT.", "Canadian dollars", "CAD", "€")


def change_currency(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Another sign, word or none at the numbers of the page, a table, a row or one place of a row."""
    sign, suffix = dice.pick(CURRENCIES), dice.pick(["", "", " EUR", " €"])
    tables = gpu_tables(root, provider)
    if not tables:
        return
    table: Table = dice.pick(tables)
    row = dice.pick(table.rows)
    scope = dice.pick(["page", "table", "row", "place"])
    money = [text for text in row.texts() if "$" in text.text]
    texts = {"page": root.texts, "table": table.block.texts, "row": row.node.texts}.get(scope)
    chosen = list(texts()) if texts else [dice.pick(money)] if money else []
    if sign not in SAME_CURRENCY or suffix:
        for one in tables if scope == "page" else [table]:
            one.forget(truth, None if scope in {"page", "table"} else {row.name})
    for text in chosen:
        if "$" in text.text:
            text.text = text.text.replace("$", sign) + suffix


def currency_note(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """A sentence beside a table says that its dollars are none; beside a table of CPUs it is not ours."""
    tables = find_tables(root, provider)
    if tables:
        table = dice.pick(tables)
        table.forget(truth)
        note = Element("p", {}, [Text(dice.pick(NOTES))], parent=table.block)
        table.block.inner.insert(dice.number(0, len(table.block.inner)), note)


def change_unit(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Another unit in every title and label, or in one of them."""
    old, new_words = dice.pick(
        [unit for unit in UNITS if any(unit[0] in text.text for text in root.texts())] or UNITS
    )
    new, tables = dice.pick(new_words), gpu_tables(root, provider)
    if dice.flip() and tables:
        table = dice.pick(tables)
        places = [text for text in table.block.texts() if old in text.text]
        tables, places = [table], [dice.pick(places)] if places else []
    else:
        places = list(root.texts())
    for table in tables:
        table.forget(truth)
    for text in places:
        text.text = text.text.replace(old, new)


def change_date(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """A date that cannot be read, or another one that can."""
    new = dice.pick([*DATES, "Effective November 2, 2026", "effective NOVEMBER 2, 2026"])
    dated = [key for key in truth if key.valid_from]
    for table in gpu_tables(root, provider):
        for text in [text for title in table.titles for text in title.texts() if "(Effective" in text.text]:
            text.text = f"GPU-hour ({new})"
            for key in dated:
                price = truth.pop(key)
                if "november" in new.casefold():
                    truth[Key(key.name, key.region, key.kind, "2026-11-02", key.gpu_count)] = price


def change_heading(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Another heading over a table, or none."""
    tables = find_tables(root, provider)
    if not tables:
        return
    table = dice.pick(tables)
    regions = [
        "REGION: ASIA",
        "REGION: EUROPE",
        "REGION:EUROPE",
        "EUROPE",
        "REGION: NORTH AMERICA (RESERVED)",
        "",
    ]
    nebius = ["GPU Instances", "Reserved NVIDIA GPU Instances", "NVIDIA GPU Instances in China", "Storage",
              "CPU-only instances", "Preemptible NVIDIA GPU Instances", ""]  # fmt: skip
    new = dice.pick(regions if provider == "coreweave" else nebius)
    if new != table.heading.text:
        table.forget(truth)
        table.heading.text = new


def swap_headings(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Nebius: the page contradicts its titles. CoreWeave: two regions exchanged, see `_exchange_regions`."""
    tables = gpu_tables(root, provider) if provider == "coreweave" else find_tables(root, provider)
    if len(tables) < 2:
        return
    one, two = tables[0], tables[dice.number(1, len(tables) - 1)]
    if provider == "coreweave":
        _exchange_regions(truth, one.heading.text, two.heading.text)
    else:
        one.forget(truth)
        two.forget(truth)
    one.heading.text, two.heading.text = two.heading.text, one.heading.text


def _exchange_regions(truth: Truth, one: str, two: str) -> None:
    """Follow the page: nothing but the heading says which region a table is for."""
    first, second = (heading.removeprefix("REGION: ").casefold() for heading in (one, two))
    other = {first: second, second: first}
    moved = {
        Key(key.name, other.get(key.region, key.region), key.kind, key.valid_from, key.gpu_count): price
        for key, price in truth.items()
    }
    truth.clear()
    truth.update(moved)


def change_labels(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """CoreWeave's labels for narrow screens exchanged or reworded, in one row or in all."""
    new = dice.pick(
        ["Spot Price:", "Reserved Price:", "Price:", "Inference Single CPU Price:", "On-Demand Price"]
    )
    everywhere = dice.flip()
    for table in gpu_tables(root, provider)[:1] if provider == "coreweave" else []:
        for row in table.rows if everywhere else [dice.pick(table.rows)]:
            table.forget(truth, {row.name})
            for text in [text for block in row.narrow for text in block.texts()]:
                text.text = text.text.replace("On-Demand Price:", new)


def change_name(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """A new name in one place; where all of CoreWeave's places change, the thing has a new name."""
    tables = gpu_tables(root, provider)
    if not tables:
        return
    table = dice.pick(tables)
    row = dice.pick(table.rows)
    old, everywhere = row.name, dice.flip() or provider == "nebius"
    new = dice.pick(["NVIDIA Rubin", old + " (beta)", old.replace("NVIDIA", "Nvidia Corp.")])
    for key in [key for key in truth if table.holds(key) and key.name == old]:
        price = truth.pop(key)
        if everywhere:
            truth[Key(new, key.region, key.kind, key.valid_from, key.gpu_count)] = price
    for text in [text for text in row.texts() if text.text == old][: None if everywhere else 1]:
        text.text = new


def swap_names(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    """Two rows exchange their names, in the wide cell alone; at Nebius where the hosts tell them apart."""
    for table in gpu_tables(root, provider)[:1]:
        one, two = dice.pick(table.rows), dice.pick(table.rows)
        if one is two:
            continue
        hosts = [[cell.text() for cell in row.cells[1:3]] for row in (one, two)]
        if provider == "nebius" and (hosts[0] == hosts[1] or not _in_spot(truth, one.name, two.name)):
            continue
        table.forget(truth, {one.name, two.name})
        first, second = next(one.cells[0].texts()), next(two.cells[0].texts())
        first.text, second.text = second.text, first.text


def _in_spot(truth: Truth, *names: str) -> bool:
    """Say whether one of the names is also in the preemptible table, where its host can be compared."""
    return bool({key.name for key in truth if key.kind == "spot"} & set(names))


def change_case(root: Element, provider: str, truth: Truth, dice: Dice) -> None:
    how = dice.pick([str.upper, str.lower, str.title])
    for table in gpu_tables(root, provider):
        for title in table.titles:
            for text in title.texts():
                text.text = how(text.text)


CHANGES = (
    change_currency, currency_note, change_unit, change_date, change_heading, swap_headings, change_labels,
    change_name, swap_names, change_case,
)  # fmt: skip
