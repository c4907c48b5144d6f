"""What the checks of a serving setup share: how they read a file, refuse, and lay out timings and traps."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from app.domain.query_error import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from app.domain.serving.printed import Printed
    from app.domain.serving.timings import Summary
    from app.domain.serving.traps import Trap

_Read = TypeVar("_Read")

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)

SHAPE = click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text")


def number(text: str) -> Decimal:
    """Return a number as people type it, 0.109, 1,200 or +75, its digits as typed."""
    from app.domain.typed import read_figure  # noqa: PLC0415 - keeps --help quick

    return _as_printed(text, read_figure)


def milliseconds(text: str) -> Decimal:
    """Return a time in milliseconds: 0.109, 109 us or 1.23 s."""
    from app.domain.serving.printed import read_milliseconds  # noqa: PLC0415 - keeps --help quick

    return _as_printed(text, read_milliseconds)


def percent(text: str) -> Decimal:
    """Return a percentage: 75 or +75 %."""
    from app.domain.serving.printed import read_percent  # noqa: PLC0415 - keeps --help quick

    return _as_printed(text, read_percent)


def printed(text: str) -> Printed:
    """Return a figure as it is printed, with its sign and unit: 613 tok/s or 4.8x."""
    from app.domain.serving.printed import read_printed  # noqa: PLC0415 - keeps --help quick

    return _as_printed(text, read_printed)


def _as_printed(text: str, read: Callable[[str], _Read]) -> _Read:
    try:
        return read(str(text))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def saying(command: Callable[..., None]) -> Callable[..., None]:
    """Let bad input end in its sentence and exit code 2."""

    @wraps(command)
    def said(*args: Any, **asked: Any) -> None:
        try:
            command(*args, **asked)
        except QueryError as error:
            raise click.UsageError(str(error)) from error

    return said


def read_file(path: Path) -> bytes:
    """Return the bytes of a file, at most as many as a check reads."""
    from app.domain.serving.reading import read_bounded  # noqa: PLC0415 - keeps --help quick

    try:
        with path.open("rb") as file:
            return read_bounded(file, path.name)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror or error}") from error


def print_json(answer: Mapping[str, Any]) -> None:
    """Print an answer as JSON, its figures as numbers."""
    click.echo(json.dumps(answer, indent=2, default=_number))


def _number(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} is no figure")


def trap_lines(traps: Sequence[Trap]) -> list[str]:
    """Return a line for each trap: its name and what was seen."""
    return [f"{trap.code}: {trap.sentence}" for trap in traps]


def summary_heads(unit: str) -> list[tuple[str, bool]]:
    """Return the heads over `summary_cells`."""
    names = ("Repetitions", f"Median {unit}", f"Middle half {unit}", f"Range {unit}", "Spread %")
    return [(name, True) for name in names]


def summary_cells(summary: Summary) -> list[str]:
    """Return a summary of timings as cells of a table, with digits that tell the ends of a range apart."""
    from app.domain.serving.speedup import ends, precise  # noqa: PLC0415 - keeps --help quick

    return [
        str(summary.count),
        precise(summary.median),
        " to ".join(ends(summary.low_quartile, summary.high_quartile)),
        " to ".join(ends(min(summary.values), max(summary.values))),
        f"{summary.spread_percent:.1f}",
    ]
