"""Sets of rows as integers, one bit a row, so that filters, counts and pages cost a few machine words each.

Bits stand in the order of a permutation: the first row in that order is the most significant bit. So the
text of the integer in base two reads from the first row to the last, and a page is found by searching it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

_PAGE: Final = 255
"""Values in one page of codes; the 256th code of a page means a value of another page."""


@dataclass(frozen=True, slots=True)
class Codes:
    """A column of small whole numbers, one a row, with the values they stand for.

    `pages[p][row]` is the row's code within page `p`, or 255 where its value belongs to another page.
    """

    values: tuple[Hashable, ...]
    pages: tuple[bytes, ...]
    index: dict[Hashable, int] = field(hash=False, compare=False)


def encode(column: Sequence[Hashable]) -> Codes:
    """Number the distinct values of a column in order of first appearance."""
    index: dict[Hashable, int] = {}
    numbers = [index.setdefault(value, len(index)) for value in column]
    pages = tuple(
        bytes(number - start if start <= number < start + _PAGE else _PAGE for number in numbers)
        for start in range(0, len(index), _PAGE)
    )
    return Codes(tuple(index), pages, index)


@dataclass(slots=True)  # it keeps the sets asked of it
class Order:
    """One order of the rows, and the sets asked of it so far, each built once."""

    permutation: tuple[int, ...]
    _pages: dict[tuple[str, int], bytes] = field(default_factory=dict)
    _masks: dict[tuple[str, Hashable], int] = field(default_factory=dict)

    @property
    def everything(self) -> int:
        """Return the set of all rows."""
        return (1 << len(self.permutation)) - 1

    def mask(self, name: str, codes: Codes, *, value: Hashable) -> int:
        """Return the rows whose value in the column `name` is `value`; the empty set for an unknown value."""
        key = (name, value)
        found = self._masks.get(key)
        if found is None:
            found = self._masks[key] = self._build(name, codes, value)
        return found

    def _build(self, name: str, codes: Codes, value: Hashable) -> int:
        number = codes.index.get(value)
        if number is None or not self.permutation:
            return 0
        page, local = divmod(number, _PAGE)
        permuted = self._pages.get((name, page))
        if permuted is None:
            permuted = self._pages[name, page] = bytes(map(codes.pages[page].__getitem__, self.permutation))
        table = bytearray(b"0" * 256)
        table[local] = ord("1")
        return int(permuted.translate(table), 2)

    def mask_where(self, holds: bytes) -> int:
        """Return the rows for which `holds`, in row order, has a 1."""
        if not self.permutation:
            return 0
        return int(bytes(map(holds.__getitem__, self.permutation)).translate(_DIGITS), 2)

    def rows(self, mask: int, *, start: int, count: int) -> Iterator[int]:
        """Yield the row numbers of a set in this order, from the `start`-th on, at most `count`."""
        text = f"{mask:0{len(self.permutation)}b}" if self.permutation else ""
        place = text.find("1")
        for _ in range(start):
            if place < 0:
                return
            place = text.find("1", place + 1)
        for _ in range(count):
            if place < 0:
                return
            yield self.permutation[place]
            place = text.find("1", place + 1)


_DIGITS: Final = bytes([ord("0"), ord("1")]) + b"0" * 254


def sort_rows(values: Sequence[object | None], *, descending: bool) -> tuple[int, ...]:
    """Return row numbers by value, unknown (None) last either way, equal ones in row order."""
    known = [number for number, value in enumerate(values) if value is not None]
    unknown = [number for number, value in enumerate(values) if value is None]
    by_value: Callable[[int], object | None] = values.__getitem__
    known.sort(key=by_value, reverse=descending)  # type: ignore[arg-type]  # one column holds one kind of value
    return (*known, *unknown)
