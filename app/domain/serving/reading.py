"""Reads what people hand to a serving check: JSON, lines of JSON, numbers and logs, all of them bounded.

Each input has a most of bytes, of values and of nesting, so that none takes more time or memory than a file
of honest size. What is refused ends in one sentence that names the file.
"""

from __future__ import annotations

import json
import re
import reprlib
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from app.domain.query_error import QueryError, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
_LOOKED_AT: Final = 100
_TOO_DEEP: Final = "give JSON that is not nested so deep"
_SPACE: Final = re.compile(r"[ \t\r\n]+")
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class InputError(QueryError):
    """An input that cannot be used: which file or field, what it says, and what would be right."""

    def __init__(self, field_name: str, value: str, expected: str) -> None:
        """Keep the three parts, none with a character that a terminal cannot take."""
        super().__init__(_printable(field_name), _printable(cut(value)), _printable(expected))


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
    return _printable(cut(text, most))


def _printable(text: str) -> str:
    if text.isprintable():
        return text
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One JSON value of a file; `line` is its number where each value has a line of its own, else 0."""

    place: str
    found: Any
    line: int = 0


def read_documents(data: bytes, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each JSON object of a file with its place, of whatever values stand there one after another.

    A value is an object or an array of objects. Objects on a line each are `name line 3`, a second one on
    that line `name line 3 object 2`; others are `name`, `name 2` and so on; what is in an array is
    `name entry 4`. Numbers with a point are Decimal. `NaN` and
    `Infinity`, which some tools write, are the float of that name; `figure` refuses them where they are used.

    Raises:
        InputError: empty, no JSON, nested too deep, too many values, or something that is no object.
    """
    return list(_documents(read_values(data, name), name))


def _documents(values: Iterable[Value], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    count = 0
    for value in values:
        if isinstance(value.found, list):
            places = [(f"{value.place} entry {at}", one) for at, one in _numbered(value.found, name)]
        else:
            places = [(value.place, value.found)]
        count += len(places)
        _check_entries(count, name)
        yield from ((place, _object(one, place)) for place, one in places)


def read_values(data: bytes, name: str) -> list[Value]:
    """Return the JSON values that stand in a file one after another; see `read_documents` for the errors."""
    _check_values(data, name)
    text = read_text(data, name)
    if not text.strip():
        raise InputError(name, "", "is empty; give JSON")
    is_lines = _is_lines(text, name)
    found: list[Value] = []
    line, end, at, on_line = 1, 0, _after_space(text, 0), 0
    while at < len(text):
        started = text.count("\n", end, at)
        line, on_line = line + started, 1 if started else on_line + 1
        place = f"{name} line {line}" if is_lines else f"{name} {len(found) + 1}" if found else name
        place += f" object {on_line}" if is_lines and on_line > 1 else ""
        value, end = _parse_at(text, at, place=place)
        found.append(Value(place=place, found=value, line=line if is_lines else 0))
        _check_entries(len(found), name)
        ended = text.count("\n", at, end)
        line, on_line = line + ended, 0 if ended else on_line
        at = _after_space(text, end)
    return found


def _is_lines(text: str, name: str) -> bool:
    """Tell whether each line is an object of its own: there are several, and the first holds a whole one."""
    newline = text.rstrip().find("\n")
    if newline < 0 or not text[:newline].lstrip().startswith("{"):
        return False
    try:
        _, end = _parse_at(text[:newline], _after_space(text, 0), place=name)
    except InputError:
        return False
    return newline < _after_space(text, end)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _numbered(entries: list[Any], name: str) -> Iterator[tuple[int, Any]]:
    _check_entries(len(entries), name)
    return enumerate(entries, start=1)


def _check_entries(count: int, name: str) -> None:
    if count > MOST_ENTRIES:
        raise InputError(name, f"{count:,} entries", f"give at most {MOST_ENTRIES:,}")


def most_values_in(data: bytes) -> int:
    """Return how many values a file has at most, of JSON, of numbers or of a log, without reading it.

    Each value of JSON but one that stands alone has a comma or a bracket before it, and each line has an end.
    """
    return sum(data.count(mark) for mark in (b",", b"[", b"{", b"\n"))


def _check_values(data: bytes, name: str) -> None:
    values = most_values_in(data)
    if values > MOST_VALUES:
        raise InputError(name, f"{values:,} values", f"give at most {MOST_VALUES:,}")


def _parse(text: str, name: str) -> Any:
    try:
        return json.loads(text, parse_float=_decimal, parse_int=_integer)
    except RecursionError as error:
        raise InputError(name, shown(text), _TOO_DEEP) from error
    except ValueError as error:
        raise InputError(name, shown(text), f"give JSON ({error})") from error


def _parse_at(text: str, at: int, *, place: str) -> tuple[Any, int]:
    """Return the JSON value that begins there, and where it ends."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError as error:
        raise InputError(place, shown(text[at : at + _LOOKED_AT]), _TOO_DEEP) from error
    except ValueError as error:
        raise InputError(place, shown(text[at : at + _LOOKED_AT]), f"give JSON ({error})") from error


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


_DECODER: Final = json.JSONDecoder(parse_float=_decimal, parse_int=_integer)


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
        _check_entries(text.count(",") + 1, name)  # before it is parsed, which takes seconds for the longest
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
