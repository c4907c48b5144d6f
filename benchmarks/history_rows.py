"""A long history: our JSON over HTTP beside the bare queries that read the same rows."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy.dialects import sqlite

from app.domain.cadence import DAILY, MISSED_TO_STALE
from app.domain.history import FOR_EVER
from app.store.changes import midnight
from app.store.history import Wanted, prices_query, runs_query
from app.web.history_query import MOST_PRICES
from benchmarks import processes
from benchmarks.made_history import CARD, DAYS, SERIES, fill_history
from benchmarks.results import Row, WrongAnswerError, compare_times

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from sqlalchemy import Select

    from benchmarks.processes import Server

ROUNDS: Final = 5
AT_LEAST: Final = round(1 / 3, 3)
"""Our answer may take three times as long as the bare queries."""


class Bare(NamedTuple):
    """What the bare queries gave: how long they took, how many prices and runs there are."""

    seconds: float
    prices: int
    runs: int


def measure(folder: Path) -> list[Row]:
    """Return the rows of an unseen history, of another figure of the same lines, and of it from memory.

    The sides take turns.
    """
    path = folder / "history.db"
    url = fill_history(path)
    today = datetime.now(UTC).date()
    unseen, another, kept, bare = [], [], [], []
    with processes.board(url) as server, closing(sqlite3.connect(path)) as connection:
        for number in range(ROUNDS + 1):
            # A day later each time, so that no answer is known; of 400 days that is next to nothing less.
            start = today - timedelta(days=DAYS - number)
            statements = _statements(start)
            theirs = _ask_bare(connection, statements)
            ours, lines, stretches = _ask(server, start)
            if lines != SERIES or not theirs.prices - SERIES <= stretches <= theirs.prices:
                raise WrongAnswerError(f"{lines} lines of {stretches} stretches for {theirs.prices} prices")
            other, *_ = _ask(server, start, "&metric=usd_per_tbs_hour")
            again, *_ = _ask(server, start)
            if number:
                unseen.append(ours)
                another.append(other)
                kept.append(again)
                bare.append(theirs.seconds)
    work = f"history of {DAYS} days and {SERIES} lines as JSON, against the bare queries of its rows"
    return [
        compare_times(f"{work}, unseen", median(unseen), median(bare), at_least=AT_LEAST),
        compare_times(f"{work}, another figure of them", median(another), median(bare), at_least=AT_LEAST),
        compare_times(f"{work}, from memory", median(kept), median(bare), at_least=AT_LEAST),
    ]


def _statements(start: date) -> list[str]:
    """Return the SQL of both queries of a history, with its values in it."""
    since = midnight(start)
    wanted = Wanted(accelerator=CARD, pricing="on_demand")
    names = [f"made-up-{number:02}" for number in range(1, SERIES + 1)]
    queries: Sequence[Select[tuple[object, ...]]] = (
        prices_query(wanted, start=since, end=FOR_EVER, limit=MOST_PRICES + 1),
        runs_query(names, start=since - DAILY * MISSED_TO_STALE, end=datetime.now(UTC) + DAILY),
    )
    dialect = sqlite.dialect()
    return [str(each.compile(dialect=dialect, compile_kwargs={"literal_binds": True})) for each in queries]


def _ask_bare(connection: sqlite3.Connection, statements: Sequence[str]) -> Bare:
    began = time.perf_counter()
    prices, runs = (len(connection.execute(each).fetchall()) for each in statements)
    return Bare(time.perf_counter() - began, prices, runs)


def _ask(server: Server, start: date, more: str = "") -> tuple[float, int, int]:
    """Return how long an answer took, and how many lines and stretches it has."""
    began = time.perf_counter()
    answer = server.get(f"/history.json?gpu={CARD}&from={start}{more}")
    seconds = time.perf_counter() - began
    lines = json.loads(answer.body)["lines"]
    return seconds, len(lines), sum(len(line["stretches"]) for line in lines)
