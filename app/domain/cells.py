"""Reads our own CSV files cell by cell, so that an error names file, line, column and value."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cells:
    """One line of a file: `line` counts from 1 with the titles, `cells` maps a column title to its text.

    Every reader raises the ValueError that `error` makes when the cell is not what it promises.
    """

    file_name: str
    line: int
    cells: Mapping[str, str]

    def error(self, column: str, problem: str) -> ValueError:
        """Return the error that names the place, the value and what is wrong with it."""
        value = self.cells.get(column)
        return ValueError(f"{self.file_name}, line {self.line}, column {column}: {value!r} {problem}")

    def text(self, column: str) -> str:
        """Return the text of a cell, which may be empty but must be there."""
        value = self.cells.get(column)
        if value is None:
            raise self.error(column, "is missing")
        return value.strip()

    def required(self, column: str) -> str:
        """Return the text of a cell that must not be empty."""
        value = self.text(column)
        if not value:
            raise self.error(column, "must not be empty")
        return value

    def one_of(self, column: str, allowed: Iterable[str]) -> str:
        """Return the text of a cell that must be one of the allowed words."""
        value = self.required(column)
        words = tuple(allowed)
        if value not in words:
            raise self.error(column, f"is none of {', '.join(words)}")
        return value

    def parts(self, column: str) -> tuple[str, ...]:
        """Return what stands between the bars of a cell such as `179|183|192`."""
        return tuple(part.strip() for part in self.text(column).split("|") if part.strip())

    def positive(self, column: str) -> Decimal:
        """Return a number above zero."""
        return self._positive(column, self.required(column))

    def positive_or_none(self, column: str) -> Decimal | None:
        """Return a number above zero, None for an empty cell."""
        value = self.text(column)
        return self._positive(column, value) if value else None

    def positives(self, column: str) -> tuple[Decimal, ...]:
        """Return the numbers above zero between the bars of a cell, none for an empty one."""
        return tuple(self._positive(column, part) for part in self.parts(column))

    def whole(self, column: str) -> int:
        """Return a whole number, zero or above."""
        number = self._convert(column, int, "is not a whole number")
        if number < 0:
            raise self.error(column, "is below zero")
        return number

    def whole_or_none(self, column: str) -> int | None:
        """Return a whole number, None for an empty cell."""
        return self.whole(column) if self.text(column) else None

    def day(self, column: str) -> date:
        """Return a date written as 2026-11-29."""
        return self._convert(column, date.fromisoformat, "is not a date")

    def _convert(self, column: str, convert: Callable[[str], T], problem: str) -> T:
        try:
            return convert(self.required(column))
        except ValueError as error:
            raise self.error(column, problem) from error

    def _positive(self, column: str, value: str) -> Decimal:
        try:
            number = Decimal(value)
        except InvalidOperation as error:
            raise self.error(column, "is not a number") from error
        if not number.is_finite() or number <= 0:
            raise self.error(column, "is not above zero")
        return number


def read_lines(lines: Iterable[str], *, file_name: str) -> Iterator[Cells]:
    """Yield the lines of a CSV text below its titles; a line with too many cells is a ValueError."""
    reader = csv.DictReader(lines)
    for cells in reader:
        if None in cells:
            raise ValueError(f"{file_name}, line {reader.line_num}: more cells than titles")
        yield Cells(file_name, reader.line_num, cells)


def packaged_lines(file_name: str) -> list[str]:
    """Return the lines of a file in `app/domain/data`, from a checkout or an installed wheel."""
    return resources.files("app.domain").joinpath("data", file_name).read_text(encoding="utf-8").splitlines()
