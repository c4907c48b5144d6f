"""On which days each claim held: judged on every day on which prices changed, once while the data stands."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import SQLAlchemyError

from app.domain.claims import judge, load_claims
from app.domain.rows import make_row
from app.store import queries
from app.store.changes import change_days
from app.store.session import reading
from app.web.boards import NoBoardError, last_second_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from sqlalchemy import Connection, Engine

    from app.domain.accelerators import Catalogue

MOST_DAYS: Final = 90
"""Days with changes that are looked back on, the latest ones."""

Held = tuple[bool | None, ...]
"""Whether each claim held on a day, in the order of the claims."""


@dataclass(frozen=True, slots=True)
class Step:
    """From this day on a claim held, did not hold, or could not be told."""

    day: date
    holds: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What the days say: for each claim its steps, oldest first, and how far back was looked.

    `is_whole` says whether that reaches the first day with a price.
    """

    steps: Mapping[str, tuple[Step, ...]]
    first: date | None
    days: int
    is_whole: bool


class ClaimDays:
    """The judged days of one process, kept while the data is the same, and through an outage of the store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: int | None = None
        self._held: dict[date, Held] = {}
        self._is_whole = False

    def look_back(self, engine: Engine, catalogue: Catalogue, *, until: date) -> Looked:
        """Judge every claim on the latest days with changes up to a day.

        While the store is away the days that were judged before stand; raises NoBoardError without any.
        """
        with self._lock:
            try:
                days = self._judge(engine, catalogue, until)
            except SQLAlchemyError as error:
                days = sorted(day for day in self._held if day <= until)[-MOST_DAYS:]
                if not days:
                    raise NoBoardError("the database cannot be read") from error
            held = [(day, self._held[day]) for day in days]
            is_whole = self._is_whole
        return Looked(
            steps={claim.id: _steps(held, number) for number, claim in enumerate(load_claims())},
            first=days[0] if days else None,
            days=len(days),
            is_whole=is_whole,
        )

    def _judge(self, engine: Engine, catalogue: Catalogue, until: date) -> list[date]:
        """Return the days to look at, oldest first, each judged."""
        with reading(engine) as connection:
            found = change_days(connection, until=until, limit=MOST_DAYS + 1)
            version = queries.data_version(connection)
            if version != self._version:
                self._version, self._held = version, {}
            self._is_whole = len(found) <= MOST_DAYS
            days = sorted(found[:MOST_DAYS])
            for day in days:
                if day not in self._held:
                    self._held[day] = _judge_day(connection, catalogue, day)
        return days


def _judge_day(connection: Connection, catalogue: Catalogue, day: date) -> Held:
    instant = last_second_of(day)
    cards = {card for claim in load_claims() for card in claim.cards}
    stored = queries.offers_as_of(connection, instant, accelerators=sorted(cards))
    rows = [make_row(each, catalogue, instant=instant) for each in stored]
    return tuple(judge(claim, rows, catalogue=catalogue).holds for claim in load_claims())


def _steps(held: Sequence[tuple[date, Held]], number: int) -> tuple[Step, ...]:
    """Return the days on which one claim's standing changed, with the first."""
    found: list[Step] = []
    for day, each in held:
        if not found or found[-1].holds != each[number]:
            found.append(Step(day, each[number]))
    return tuple(found)
