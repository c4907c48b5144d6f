"""Sets of rows as integers, one bit a row, so that filters, counts and pages cost a few machine words each.

Bits stand in the order of a permutation: the first row in that order is the most significant bit. So the
text of the integer in base two reads from the first row to the last, and a page is found by searching it.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

_PAGE: Final = 255
"""Values in one page of codes; the 256th code of a page means a value of another page."""

_STRETCH: Final = 2048
"""Rows that are looked at together when a page is searched for."""


@dataclass(frozen=True, slots=True)
class Codes:
    """A column of small whole numbers, one a row, with the values they stand for.

    `pages[p][row]` is the row's code within page `p`, or 255 where its value belongs to another page.
    """

    values: tuple[Hashable, ...]
    pages: tuple[bytes, ...]


def encode(column: Sequence[Hashable]) -> Codes:
    """Number the distinct values of a column in order of first appearance."""
    index: dict[Hashable, int] = {}
    numbers = [index.setdefault(value, len(index)) for value in column]
    pages = tuple(
        bytes(number - start if start <= number < start + _PAGE else _PAGE for number in numbers)
        for start in range(0, len(index), _PAGE)
    )
    return Codes(tuple(index), pages)


@dataclass(slots=True)  # it keeps the sets asked of it
class Order:
    """One order of the rows, and the sets asked of it so far, each built once."""

    permutation: Sequence[int]
    everything: int = field(init=False)
    _masks: dict[str, dict[Hashable, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the set of all rows."""
        self.everything = (1 << len(self.permutation)) - 1

    def masks(self, name: str, codes: Codes) -> Mapping[Hashable, int]:
        """Return the rows of each value of the column `name`, in the order of its values."""
        found = self._masks.get(name)
        if found is None:
            found = self._masks[name] = self._build(codes)
        return found

    def _build(self, codes: Codes) -> dict[Hashable, int]:
        found: dict[Hashable, int] = {}
        permuted = b""
        for number, value in enumerate(codes.values):
            page, local = divmod(number, _PAGE)
            if local == 0:
                permuted = bytes(map(codes.pages[page].__getitem__, self.permutation))
            table = bytearray(b"0" * 256)
            table[local] = ord("1")
            found[value] = int(permuted.translate(table), 2)
        return found

    def mask_where(self, holds: bytes) -> int:
        """Return the rows for which `holds`, in row order, has a 1."""
        if not self.permutation:
            return 0
        return int(bytes(map(holds.__getitem__, self.permutation)).translate(_DIGITS), 2)

    def rows(self, mask: int, *, start: int, count: int) -> list[int]:
        """Return the row numbers of a set in this order, from the `start`-th on, at most `count`."""
        found: list[int] = []
        size, stop = len(self.permutation), start + count
        # A stretch at a time: the first page is often in the first.
        for first in range(0, size, _STRETCH):
            if len(found) >= stop:
                break
            width = min(_STRETCH, size - first)
            text = f"{mask >> (size - first - width) & ((1 << width) - 1):0{width}b}"
            place = text.find("1")
            while place >= 0 and len(found) < stop:
                found.append(self.permutation[first + place])
                place = text.find("1", place + 1)
        return found[start:]


_DIGITS: Final = bytes([ord("0"), ord("1")]) + b"0" * 254


def sort_rows(
    values: Sequence[object | None], *, descending: bool, rows: Iterable[int] | None = None
) -> Sequence[int]:
    """Return row numbers by value, unknown (None) last either way, equal ones in the order of `rows`.

    `values` holds one for each row number; without `rows` equal ones stay in the order of their numbers.
    """
    numbers = range(len(values)) if rows is None else list(rows)
    known = [number for number in numbers if values[number] is not None]
    unknown = [number for number in numbers if values[number] is None]
    by_value: Callable[[int], object | None] = values.__getitem__
    known.sort(key=by_value, reverse=descending)  # type: ignore[arg-type]  # one column holds one kind of value
    return array("I", (*known, *unknown))
