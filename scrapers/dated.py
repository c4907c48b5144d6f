"""Titles and headings with a date in them: a price that holds until a day, or from a day on."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from scrapers.base import ParseError
from scrapers.reading import MONTHS, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

_DAY: Final = r"[a-z]{3,9}\.? [0-9]{1,2}(?:, 20[0-9]{2})?|20[0-9]{2}-[0-9]{2}-[0-9]{2}"
DATED: Final = re.compile(
    r"(?P<title>.*?)[\s:,(\u2013\u2014-]*"
    r"\b(?P<word>from|effective|starting|as of|until|through|up to|before)"
    rf" (?P<day>{_DAY})(?: onwards?)?\)?"
)
"""A title with a date, as `title_key` gives it."""


def dated_titles(titles: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """Return patterns for these titles with a date behind them, and for a date that stands alone."""
    known = "|".join(map(re.escape, titles))
    after = DATED.pattern.removeprefix("(?P<title>.*?)")
    return re.compile(rf"(?:{known}){after}"), re.compile(after)


_UNTIL: Final = frozenset({"until", "through", "up to", "before"})
_WORDS: Final = re.compile(r"([a-z]{3,9})\.? ([0-9]{1,2})(?:, (20[0-9]{2}))?")
_SHORTEST_MONTH: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A title without its date; `valid_from` is the first day it holds, `last_day` the last, None if open."""

    title: str
    valid_from: date | None = None
    last_day: date | None = None


def split_date(title: str, near: date) -> Dated:
    """Return a title with its date apart; a date without a year is the one nearest to `near`.

    `title` is as `title_key` gives it. Raises ParseError for words in the place of a date that are none.
    """
    found = DATED.fullmatch(title)
    if found is None:
        return Dated(title=title)
    day = read_day(found["day"], near)
    if found["word"] not in _UNTIL:
        return Dated(title=found["title"].strip(), valid_from=day)
    last = day - timedelta(days=1) if found["word"] == "before" else day
    return Dated(title=found["title"].strip(), last_day=last)


def read_day(text: str, near: date) -> date:
    """Return the day of words such as "Sep 1", "November 16, 2026" or "2026-11-16"."""
    line = one_line(text).casefold()
    with suppress(ValueError):
        return date.fromisoformat(line)
    found = _WORDS.fullmatch(line)
    month = _month(found[1]) if found else None
    if found is not None and month is not None:
        years = [int(found[3])] if found[3] else [near.year - 1, near.year, near.year + 1]
        with suppress(ValueError):
            days = [date(year, month, int(found[2])) for year in years]
            return min(days, key=lambda day: abs(day - near))
    raise ParseError("unreadable_date", "A date in a title cannot be read.", text=line)


def _month(word: str) -> int | None:
    short = "sep" if word == "sept" else word
    fits = [number for number, name in enumerate(MONTHS, start=1) if name.startswith(short)]
    return fits[0] if len(fits) == 1 and len(short) >= _SHORTEST_MONTH else None
