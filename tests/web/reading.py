"""Reads what the application answers the way its readers do: the page's table, the CSV, the JSON document."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.query import OfferQuery, query_pairs


@dataclass(frozen=True, slots=True)
class Table:
    """A page's table: the ids of its rows in order, and of each cell the number it holds or its text."""

    ids: tuple[int, ...]
    cells: tuple[tuple[str, ...], ...]
    tree: LexborHTMLParser


def address(path: str, query: OfferQuery) -> str:
    """Return the address of a query, with page and per_page always said so that exports page too."""
    pairs = dict.fromkeys(query_pairs(query))
    pairs |= dict.fromkeys([("page", str(query.page)), ("per_page", str(query.per_page))])
    return f"{path}?{urlencode(list(pairs))}"


def read_table(html: str) -> Table:
    tree = LexborHTMLParser(html)
    rows = tree.css("table.offers > tbody > tr")
    ids = tuple(int((row.id or "").removeprefix("o")) for row in rows)
    return Table(ids, tuple(tuple(_cells(row.css("td"))) for row in rows), tree)


def _cells(cells: Sequence[object]) -> list[str]:
    return [cell.attributes.get("data-value") or cell.text().strip() for cell in cells[1:]]  # type: ignore[attr-defined]  # selectolax has no types


def choices(tree: LexborHTMLParser, menu: str) -> dict[str, tuple[int, bool]]:
    """Return each choice of a filter's menu: the number beside it, and whether it is ticked."""
    found = {}
    for label in tree.css(f"#menu-{menu} label"):
        box, count = label.css_first("input"), label.css_first(".count")
        found[box.attributes["value"] or ""] = (int(count.text()), "checked" in box.attributes)
    return found


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def get(client: TestClient, address_: str) -> str:
    answer = client.get(address_)
    assert answer.status_code == 200, answer.text[:500]
    return answer.text
