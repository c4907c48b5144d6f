"""Measures everything side by side and prints the table; exits with 1 only when a side answered wrongly."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import history_rows, load, query_rows, start_rows, store_rows, stream_rows, web_rows
from benchmarks.made_offers import fill_database, make_offers
from benchmarks.results import Row, WrongAnswerError, machine, table


def main() -> int:
    """Run all measurements and print what they gave."""
    began = time.perf_counter()
    with TemporaryDirectory() as name:
        folder = Path(name)
        try:
            rows, notes = _measure(folder)
        except WrongAnswerError as error:
            print(f"A side answered wrongly: {error}", file=sys.stderr)
            return 1
    print(machine(load.name()))
    print(
        f"one server worker, loopback, medians of 5 rounds in which the sides take turns\n\n{table(rows)}\n"
    )
    print("\n".join(f"- {note}" for note in notes))
    print(f"\nmeasured in {time.perf_counter() - began:.0f} s")
    return 0


def _measure(folder: Path) -> tuple[list[Row], list[str]]:
    few, many = make_offers(5_000), make_offers(50_000)
    few_url = fill_database(folder / "few.db", few)
    many_url = fill_database(folder / "many.db", many)
    pages, notes = web_rows.measure(few_url, many_url, offers=many, folder=folder)
    return [
        *pages[:4],
        *query_rows.measure(few_url, few, folder=folder),
        pages[4],
        store_rows.measure(few, folder=folder),
        *history_rows.measure(folder),
        start_rows.measure(folder),
        stream_rows.measure(folder),
        *pages[5:],
    ], notes


if __name__ == "__main__":
    sys.exit(main())
