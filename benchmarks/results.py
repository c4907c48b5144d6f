"""One row of the table for each kind of work, and the table as text."""

from __future__ import annotations

import os
import platform
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class WrongAnswerError(AssertionError):
    """Two sides that were asked the same gave different answers, so their times mean nothing."""


class Row(NamedTuple):
    """One kind of work: what we did, what the other side did, the ratio, and whether that is enough.

    `holds` is None where the other side could not be measured; `ratio` then says why.
    """

    work: str
    ours: str
    base: str
    ratio: str
    wanted: str
    holds: bool | None


def compare(work: str, ours: float, base: float, *, unit: str, at_least: float) -> Row:
    """Return the row of two rates: the higher, the better."""
    ratio = ours / base
    return Row(
        work, f"{ours:,.0f} {unit}", f"{base:,.0f} {unit}", f"{ratio:.2f}", f"{at_least}", ratio >= at_least
    )


def compare_times(work: str, ours_s: float, base_s: float, *, at_least: float) -> Row:
    """Return the row of two times, the ratio being how many times faster we are."""
    ratio, wanted = base_s / ours_s, f"{at_least:g}"
    shown = f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"
    return Row(work, duration(ours_s), duration(base_s), shown, wanted, ratio >= at_least)


def limit(work: str, ours: float, *, unit: str, below: float) -> Row:
    """Return the row of a figure that has to stay below a limit."""
    return Row(
        work,
        f"{ours:,.2f} {unit}" if ours < 10 else f"{ours:,.0f} {unit}",
        "",
        "",
        f"< {below:g} {unit}",
        ours < below,
    )


def not_measured(work: str, reason: str, *, wanted: str) -> Row:
    """Return the row of something whose other side is not to be had here."""
    return Row(work, "", "", f"not measured: {reason}", wanted, None)


def duration(seconds: float) -> str:
    """Return a time with the unit that fits it."""
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds * 1e6:,.0f} us"


def table(rows: Iterable[Row]) -> str:
    """Return the rows as a table in plain text."""
    heads = ("work", "ours", "other side", "ratio", "at least", "verdict")
    verdicts = {True: "holds", False: "FALLS SHORT", None: "-"}
    lines = [heads, *((*row[:5], verdicts[row.holds]) for row in rows)]
    # A reason may be long; it ends its line and widens no column.
    widths = [
        max(len(line[at]) for line in lines if not line[3].startswith("not ")) for at in range(len(heads))
    ]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join(line.rstrip() for line in (shown[0], rule, *shown[1:]))


def machine(load: str) -> str:
    """Return what the figures depend on: the machine, Python, SQLite, and what made the load."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts: Sequence[str] = (
        f"{cores} cores, {platform.machine()}, {platform.system()}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        f"load by {load}",
    )
    return "; ".join(parts)
