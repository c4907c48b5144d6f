"""A long table sent while it is made: how much the server's memory grows beside the size of what it sends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from benchmarks.made_offers import fill_database, make_offers
from benchmarks.processes import serving
from benchmarks.results import Row, WrongAnswerError

if TYPE_CHECKING:
    from pathlib import Path

OFFERS: Final = 100_000
MOST: Final = 0.1
"""Growth of memory as a share of the body: made whole, a body is held once as text and once as bytes."""


def measure(folder: Path) -> Row:
    """Return the row of all offers as CSV, after one page was asked for."""
    url = fill_database(folder / "streamed.db", make_offers(OFFERS))
    command = [sys.executable, "-m", "benchmarks.serve", "board"]
    with serving(command, first_path="/healthz", environment={"DATABASE_URL": url}) as server:
        server.read_watched("/offers.csv?page=1")
        before = server.memory_mb()
        body, most = server.read_watched("/offers.csv")
    lines = body.count(b"\r\n")
    if lines != OFFERS + 1:
        raise WrongAnswerError(f"the CSV of {OFFERS:,} offers has {lines:,} lines")
    growth, size = max(0.0, most - before), len(body) / 1e6
    return Row(
        f"memory while {OFFERS:,} offers are read as CSV, against the size of the CSV",
        f"{growth:.1f} MB more",
        f"{size:.0f} MB",
        f"{growth / size:.3f}",
        f"< {MOST:g}",
        growth / size < MOST,
    )
