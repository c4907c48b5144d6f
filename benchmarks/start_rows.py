"""From nothing to the first page: the command that `make run` ends in, in a home folder that is empty."""

from __future__ import annotations

import sys
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.processes import serving
from benchmarks.results import Row, WrongAnswerError, limit

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS: Final = 5


def measure(folder: Path) -> Row:
    """Return the row of a cold start: make the database, fill it, answer the first page."""
    took = []
    for number in range(ROUNDS):
        home = {
            "INFERPRICE_HOME": str(folder / f"home-{number}"),
            "DATABASE_URL": "",
            "INFERPRICE_LOG_LEVEL": "error",
            "INFERPRICE_SCHEDULER": "off",
        }
        with serving([sys.executable, "-m", "app", "serve", "--port"], environment=home) as server:
            if b'<tr id="o' not in server.get("/").body:
                raise WrongAnswerError("the first page of a new database shows no offer")
            took.append(server.started_in_s)
    return limit("cold start of the embedded default to the first page", median(took), unit="s", below=2)
