"""Publishing a run beside bare inserts of the same rows into the same tables."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, Final

from app.store import migrate
from app.store.session import make_engine
from benchmarks.made_offers import of_one_provider, publish
from benchmarks.results import Row, WrongAnswerError, compare_times

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from app.domain.offers import Offer

ROUNDS: Final = 5
PRAGMAS: Final = ("journal_mode = WAL", "foreign_keys = ON", "synchronous = NORMAL")
"""What our own connections set too, so that both sides write the same way."""

Rows = dict[str, list[tuple[object, ...]]]
"""Rows by table."""


def measure(offers: Sequence[Offer], *, folder: Path) -> Row:
    """Return the row for a run of so many offers that are all new, into an empty database each time."""
    empty = folder / "empty.db"
    engine = make_engine(f"sqlite:///{empty}")
    migrate.upgrade(engine)
    engine.dispose()
    run, read_at = of_one_provider(offers), datetime.now(UTC).replace(microsecond=0)
    published, bare = [], []
    for number in range(ROUNDS):
        ours, theirs = folder / f"published-{number}.db", folder / f"bare-{number}.db"
        shutil.copy(empty, ours)
        shutil.copy(empty, theirs)
        published.append(publish(f"sqlite:///{ours}", run, read_at=read_at))
        rows = _rows(ours)
        bare.append(_insert(theirs, rows))
        if _rows(theirs) != rows or len(rows["price"]) != len(offers):
            raise WrongAnswerError("publishing and bare inserts left different rows")
    work = f"publish a run of {len(offers):,} new offers, against raw executemany of the same rows"
    return compare_times(work, median(published), median(bare), at_least=0.5)


def _rows(path: Path) -> Rows:
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()  # noqa: S608 - our names
            for table in ("scrape_run", "offer", "price")
        }


def _insert(path: Path, rows: Rows) -> float:
    """Insert the rows in one transaction with the driver alone; return the seconds it took."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        began = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        for table, values in rows.items():
            holes = ", ".join("?" * len(values[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({holes})", values)  # noqa: S608 - our names
        connection.execute("COMMIT")
        return time.perf_counter() - began
