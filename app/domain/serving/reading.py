"""Reads what people hand to a serving check: JSON, lines of JSON, numbers and logs, all of them bounded.

Each input has a most of bytes, of values and of nesting, so that none takes more time or memory than a file
of honest size. What is refused ends in one sentence that names the file.
"""

from __future__ import annotations

import json
import reprlib
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from app.domain.query_error import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_BYTES: Final = 32_000_000
"""Longest input that is read."""

MOST_VALUES: Final = 2_000_000
"""Most values in one input: each takes some hundred bytes of memory, however short its text is."""

MOST_ENTRIES: Final = 100_000
"""Most requests, runs or timings in one input."""

MOST_FIGURE: Final = Decimal(10) ** 15
"""No figure of a serving benchmark is larger: a month in nanoseconds, a petabyte."""

_LONGEST_NUMBER: Final = 60
_SHOWN: Final = 60
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class InputError(QueryError):
    """An input that cannot be used: which file or field, what it says, and what would be right."""

    def __init__(self, field_name: str, value: str, expected: str) -> None:
        """Keep the three parts, none with a character that a terminal cannot take."""
        super().__init__(_printable(field_name), _printable(value), _printable(expected))


def read_bounded(stream: BinaryIO, name: str) -> bytes:
    """Return all bytes of a stream.

    Raises:
        InputError: there are more than `MOST_BYTES`; no more than that is read.
    """
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InputError(name, f"more than {MOST_BYTES:,} bytes", f"give at most {MOST_BYTES // 10**6} MB")
    return data


def shown(value: object, *, most: int = _SHOWN) -> str:
    """Return the start of any value as text that every terminal and log can take."""
    # A full repr of what is nested or long could itself run out of stack or memory.
    text = str(value) if isinstance(value, str | Decimal) else reprlib.repr(value)
    cut = text if len(text) <= most else f"{text[:most]}..."
    return _printable(cut)


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def read_text(data: bytes, name: str) -> str:
    """Return bytes as text in UTF-8, with or without its mark.

    Raises:
        InputError: it is another encoding, or no text.
    """
    if data.startswith(_WIDE_MARKS):
        raise InputError(name, "UTF-16", "save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(name, f"byte {error.start}", "give text in UTF-8") from error


def read_documents(data: bytes, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each JSON object of a file with its place: one object, an array of them, or one a line.

    Numbers with a point are Decimal. `NaN` and `Infinity`, which some tools write, are the float of that
    name; `figure` refuses them where they are used.

    Raises:
        InputError: empty, no JSON, nested too deep, too many values, or something that is no object.
    """
    _check_values(data, name)
    text = read_text(data, name)
    if not text.strip():
        raise InputError(name, "", "is empty; give JSON")
    if text.count("\n", 0, len(text.rstrip())) and _is_json(text.partition("\n")[0], name):
        return list(_lines(text, name))
    document = _parse(text, name)
    if isinstance(document, list):
        return [
            (f"{name} entry {at}", _object(one, f"{name} entry {at}"))
            for at, one in _numbered(document, name)
        ]
    return [(name, _object(document, name))]


def _is_json(line: str, name: str) -> bool:
    """Tell whether a first line is a whole object of its own, so that each line is one."""
    if not line.lstrip().startswith("{"):
        return False
    try:
        _parse(line, name)
    except InputError:
        return False
    return True


def _lines(text: str, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            found += 1
            _check_entries(found, name)
            place = f"{name} line {number}"
            yield place, _object(_parse(line, place), place)


def _numbered(entries: list[Any], name: str) -> Iterator[tuple[int, Any]]:
    _check_entries(len(entries), name)
    return enumerate(entries, start=1)


def _check_entries(count: int, name: str) -> None:
    if count > MOST_ENTRIES:
        raise InputError(name, f"{count:,} entries", f"give at most {MOST_ENTRIES:,}")


def _check_values(data: bytes, name: str) -> None:
    values = sum(data.count(mark) for mark in (b",", b"[", b"{", b"\n"))
    if values > MOST_VALUES:
        raise InputError(name, f"{values:,} values", f"give at most {MOST_VALUES:,}")


def _parse(text: str, name: str) -> Any:
    try:
        return json.loads(text, parse_float=_decimal, parse_int=_integer)
    except RecursionError as error:
        raise InputError(name, shown(text), "give JSON that is not nested so deep") from error
    except ValueError as error:
        raise InputError(name, shown(text), f"give JSON ({error})") from error


def _decimal(text: str) -> Decimal:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text):,} characters")
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"the number {shown(text)}") from error


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text):,} characters")
    return int(text)


def _object(document: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise InputError(place, shown(document), "give a JSON object")
    return document


def figure(document: Mapping[str, Any], key: str, *, place: str, least: Decimal = Decimal(0)) -> Decimal:
    """Return the number under a key.

    Raises:
        InputError: it is missing, no number, not finite, below `least` or above `MOST_FIGURE`.
    """
    return as_figure(document.get(key), f"{place}: {key}", least=least)


def as_figure(value: Any, field: str, *, least: Decimal = Decimal(0)) -> Decimal:
    """Return a value as a figure; see `figure` for the errors."""
    number = Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None
    if number is None or not least <= number <= MOST_FIGURE:
        expected = f"give a number from {least} to {MOST_FIGURE:.0e}"
        raise InputError(field, shown(value if value is not None else "missing"), expected)
    return number


def read_numbers(data: bytes, name: str) -> tuple[Decimal, ...]:
    """Return the figures of a plain file: one a line, or a JSON array; `#` starts a remark.

    Raises:
        InputError: one is no positive number, or there is none.
    """
    _check_values(data, name)
    text = read_text(data, name)
    if text.lstrip().startswith("["):
        found = _parse(text, name)
        numbers = [as_figure(one, f"{name} entry {at}") for at, one in _numbered(found, name)]
    else:
        numbers = [
            _typed(line.partition("#")[0].strip(), f"{name} line {at}")
            for at, line in _numbered(text.split("\n"), name)
            if line.partition("#")[0].strip()
        ]
    if not numbers:
        raise InputError(name, "", "holds no number; give one a line")
    return tuple(numbers)


def _typed(text: str, field: str) -> Decimal:
    try:
        number = _decimal(text)
    except ValueError as error:
        raise InputError(field, shown(text), "give a number") from error
    if not number.is_finite():
        raise InputError(field, shown(text), "give a number that is finite")
    return as_figure(number, field)
