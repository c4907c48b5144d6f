"""What a parser did not read: prices outside the tables it knows, and tables about GPUs it has never met."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from app.domain.findings import Finding, Level
from scrapers.base import ParseError
from scrapers.grid import MONEY, children, climb, text_nodes
from scrapers.reading import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from selectolax.lexbor import LexborNode

_GPU: Final = re.compile(r"\bgpu", re.IGNORECASE)
_PRICE_TITLE: Final = re.compile(
    r"\b(?:price|hour|hourly|on-demand|spot|preemptible|reserved)\b|/hr", re.IGNORECASE
)
_LONGEST_TITLE: Final = 60
_FEWEST_TITLES: Final = 3
_SAMPLES: Final = 3


def check_leftovers(root: LexborNode, read: Iterable[LexborNode]) -> list[Finding]:
    """Report prices outside the tables that were read.

    Raises ParseError when what is left holds a row of titles about GPUs and prices: a new table may say
    something else about the same GPUs, so nothing is published until somebody has looked.
    """
    seen = {node.mem_id for table in read for node in table.traverse(include_text=True)}
    left = [(parent, text) for parent, text in text_nodes(root) if parent.mem_id not in seen]
    for parent, text in left:
        if len(text) <= _LONGEST_TITLE and _GPU.search(text):
            _refuse_titles(parent)
    money = [one_line(text)[:80] for _, text in left if MONEY.search(text)]
    return list(_unread(money))


def _refuse_titles(cell: LexborNode) -> None:
    row = climb(cell, lambda node: node.tag == "body" or len(children(node)) > 1)
    titles = [one_line(title.text()) for title in children(row)]
    if len(titles) < _FEWEST_TITLES or any(len(title) > _LONGEST_TITLE for title in titles):
        return
    if any(_PRICE_TITLE.search(title) for title in titles):
        raise ParseError(
            "unknown_gpu_table", "A table about GPUs was not read.", titles=" | ".join(titles)[:200]
        )


def _unread(money: list[str]) -> Iterator[Finding]:
    if money:
        yield Finding(
            code="unread_prices",
            level=Level.INFO,
            sentence="Amounts stand outside the tables that are read.",
            evidence={"count": str(len(money)), "samples": " | ".join(money[:_SAMPLES])},
        )
