"""Strict readers: text of a page to numbers, dollars, counts and dates, or a refusal that shows the text."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from scrapers.base import ParseError

if TYPE_CHECKING:
    from collections.abc import Mapping

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
"""English month names in order; the standard library's depend on the machine's language."""

_INVISIBLE: Final = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_MARK: Final = r"(?:\^ ?[0-9]{1,2}|[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}|\*{1,4}|[†‡])"
_MARKED: Final = re.compile(rf"(.*?[^\s^*†‡⁰¹²³⁴⁵⁶⁷⁸⁹])\s*((?:{_MARK}\s*)+)")
_MARKS: Final = re.compile(_MARK)
_WHOLE: Final = r"(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)"
_NUMBER: Final = re.compile(rf"{_WHOLE}(?:\.[0-9]+)?")
_COUNT: Final = re.compile(_WHOLE)
_DOLLARS: Final = re.compile(rf"\$ ?({_WHOLE}\.[0-9]{{2}})")
_DATE: Final = re.compile(r"([a-z]+) ([0-9]{1,2}), (20[0-9]{2})")


NOT_SOLD_WORDS: Final = ("n/a", "-", "\u2013", "\u2014")
"""What stands in a price cell, in lower case, where a thing is not sold: N/A and the three dashes."""


class NoPrice(StrEnum):
    """Why a price cell holds no price."""

    NOT_SOLD = "not_sold"
    CONTACT = "contact"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceCell:
    """A price cell as read: dollars or the reason there are none, whether "from" stood before, footnotes."""

    text: str
    usd: Decimal | None
    no_price: NoPrice | None = None
    is_floor: bool = False
    marks: tuple[str, ...] = ()


def one_line(text: str) -> str:
    """Return the text with every run of white space as one space and invisible characters gone."""
    return " ".join(text.translate(_INVISIBLE).split())


def split_marks(text: str) -> tuple[str, tuple[str, ...]]:
    """Split footnote marks off the end: `4^1`, `$0.74**` and `Price²` give ("4", ("1",)) and so on.

    A mark has to look like one: digits count only after a caret or as superscripts, so "41" stays 41.
    """
    line = one_line(text)
    found = _MARKED.fullmatch(line)
    if found is None:
        return line, ()
    marks = (mark.lstrip("^ ").translate(_SUPERSCRIPTS) for mark in _MARKS.findall(found[2]))
    return found[1], tuple(marks)


def title_key(text: str) -> str:
    """Return a column title or heading for look-up: lower case, one space, footnote marks gone."""
    return re.sub(r"\s*\(\s*", " (", split_marks(text)[0]).replace(" )", ")").casefold().strip()


def read_number(text: str, what: str) -> tuple[Decimal, tuple[str, ...]]:
    """Return a positive plain number and its footnote marks; thousands commas only where they belong."""
    return _read(_NUMBER, text, what)


def read_count(text: str, what: str) -> tuple[int, tuple[str, ...]]:
    """Return a whole number above zero and its footnote marks."""
    number, marks = _read(_COUNT, text, what)
    return int(number), marks


def read_price(
    text: str, what: str, *, no_price: Mapping[str, NoPrice], floors: frozenset[str] = frozenset()
) -> PriceCell:
    """Read a price cell: dollars and cents, one of the floor words before them, or a known no-price word.

    Raises ParseError `unreadable_price` for everything else: another currency, another number of decimals,
    two prices, an empty cell, a word nobody has met.
    """
    line = one_line(text)
    reason = no_price.get(line.casefold())
    if reason is not None:
        return PriceCell(text=line, usd=None, no_price=reason)
    bare, marks = split_marks(line)
    word, _, rest = bare.partition("$")
    floor = word.strip().casefold()
    found = _DOLLARS.fullmatch(f"${rest}")
    if found is None or not (floor == "" or floor in floors) or bare.count("$") != 1:
        raise ParseError("unreadable_price", f"The price of {what} cannot be read.", text=line, place=what)
    usd = Decimal(found.group(1).replace(",", ""))
    if usd == 0:
        raise ParseError("zero_price", f"The price of {what} is zero.", text=line, place=what)
    return PriceCell(text=line, usd=usd, is_floor=floor in floors, marks=marks)


def read_date(text: str, what: str) -> date:
    """Return the date of words such as "October 1, 2026"."""
    found = _DATE.fullmatch(one_line(text).casefold())
    if found is not None and found[1] in MONTHS:
        with suppress(ValueError):
            return date(int(found[3]), MONTHS.index(found[1]) + 1, int(found[2]))
    raise ParseError("unreadable_date", f"The date of {what} cannot be read.", text=one_line(text))


def _read(pattern: re.Pattern[str], text: str, what: str) -> tuple[Decimal, tuple[str, ...]]:
    bare, marks = split_marks(text)
    if pattern.fullmatch(bare) is None or Decimal(bare.replace(",", "")) == 0:
        raise ParseError("unreadable_number", f"{what} is not a number.", text=one_line(text), place=what)
    return Decimal(bare.replace(",", "")), marks
