"""Tables inside data: objects with titles as keys, titles beside rows, texts with markup, and JSON-LD."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from selectolax.lexbor import LexborHTMLParser

from scrapers.blocks import Heading, Table, TableCell
from scrapers.embedded import is_element, linked_data, rendered_html
from scrapers.html_blocks import html_blocks
from scrapers.markdown_blocks import markdown_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from selectolax.lexbor import LexborNode

    from scrapers.blocks import Block, Vocabulary

_MARKUP: Final = re.compile(r"<(?:table|h[1-6]|div|dl|section|p)[\s>]", re.IGNORECASE)
_FEWEST_TITLES: Final = 2


def data_blocks(value: Any, rows: Mapping[str, Any], *, vocabulary: Vocabulary) -> Iterator[Block]:
    """Yield the blocks in a JSON value in its order; `rows` are the rows of a flight payload."""
    if is_element(value):
        yield from _from_html(rendered_html(value, rows), vocabulary)
        yield from data_blocks(
            [one for key, one in value[3].items() if key != "children"], rows, vocabulary=vocabulary
        )
    elif isinstance(value, str):
        yield from _from_text(value, vocabulary)
    elif isinstance(value, list):
        table = _list_table(value, vocabulary)
        if table is not None:
            yield table
            return
        for one in value:
            yield from data_blocks(one, rows, vocabulary=vocabulary)
    elif isinstance(value, dict):
        yield from _from_object(value, rows, vocabulary)


def _from_text(text: str, vocabulary: Vocabulary) -> Iterator[Block]:
    if _MARKUP.search(text):
        yield from _from_html(text, vocabulary)
    elif "\n" in text and "|" in text:
        yield from markdown_blocks(text, vocabulary)


def _from_html(text: str, vocabulary: Vocabulary) -> Iterator[Block]:
    root = LexborHTMLParser(text).root
    if root is not None:
        yield from html_blocks(root, vocabulary)


def _from_object(value: dict[str, Any], rows: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[Block]:
    """Yield the heading an object names, the table of its titles and rows, and what is inside it."""
    for text in value.values():
        if isinstance(text, str) and vocabulary.is_heading(text):
            yield Heading(level=2, text=text)
    titles = next((one for one in value.values() if _are_titles(one, vocabulary)), None)
    for one in value.values():
        if titles is not None and one is not titles and _are_rows(one, len(titles)):
            yield Table(title_rows=(_cells(titles),), rows=tuple(map(_cells, one)))
        elif one is not titles:
            yield from data_blocks(one, rows, vocabulary=vocabulary)


def _are_titles(value: Any, vocabulary: Vocabulary) -> bool:
    if not isinstance(value, list) or len(value) < _FEWEST_TITLES:
        return False
    return all(isinstance(one, str) and vocabulary.is_title(one) for one in value)


def _are_rows(value: Any, width: int) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, list) and len(row) == width for row in value)
    )


def _cells(row: list[Any]) -> tuple[TableCell, ...]:
    return tuple(TableCell(text="" if one is None else str(one)) for one in row)


def _list_table(value: list[Any], vocabulary: Vocabulary) -> Table | None:
    """Return the table that a list of objects with titles as keys is."""
    if not value or not all(isinstance(one, dict) for one in value):
        return None
    titles = list(value[0])
    known = [title for title in titles if vocabulary.is_title(title)]
    if len(known) < _FEWEST_TITLES or any(list(one) != titles for one in value):
        return None
    return Table(title_rows=(_cells(titles),), rows=tuple(_cells(list(one.values())) for one in value))


def linked_blocks(root: LexborNode) -> Iterator[Block]:
    """Yield a heading and a table of one row for each product of the page's JSON-LD.

    Its properties are columns, and each price is one under the name or unit printed with it.
    """
    for product in linked_data(root):
        offers = product.get("offers")
        if product.get("@type") != "Product" or offers is None:
            continue
        yield Heading(level=2, text=str(product.get("category", "")))
        pairs = [("", str(product.get("name", "")))]
        pairs += [
            (str(one.get("name", "")), str(one.get("value", "")))
            for one in product.get("additionalProperty", [])
        ]
        pairs += [_price(one) for one in (offers if isinstance(offers, list) else [offers])]
        titles, texts = zip(*pairs, strict=True)
        yield Table(title_rows=(_cells(list(titles)),), rows=(_cells(list(texts)),))


def _price(offer: Mapping[str, Any]) -> tuple[str, str]:
    """Return the title and the text of an offer's price; a currency that is not the dollar stays in it."""
    asked = offer.get("priceSpecification", offer)
    sign = "$" if asked.get("priceCurrency") == "USD" else f"{asked.get('priceCurrency')} "
    unit = str(asked.get("unitText", ""))
    return str(asked.get("name", offer.get("name", ""))), f"{sign}{asked.get('price')}{unit}"
