"""Figures as they are printed, with a sign or a unit: `+58.6 %`, `3.78x`, `1.23 s`, `613 tok/s`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.serving.reading import InputError, shown
from app.domain.serving.speedup import follows
from app.domain.typed import MAX_TYPED_LENGTH, read_figure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from app.domain.serving.speedup import Follows, Form

_PRINTED: Final = re.compile("([+\N{MINUS SIGN}-]? *[$0-9.,]+)\\s*(.*)", re.DOTALL)

_PERCENT: Final = "%"
_TIMES: Final = "times"
_POWERS: Final[Mapping[str, int]] = {"ns": -6, "us": -3, "ms": 0, "s": 3}
"""The units of time that are known, each with the power of ten that it is of a millisecond."""

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    _PERCENT: ("%", "percent", "per cent"),
    _TIMES: ("x", "\N{MULTIPLICATION SIGN}", "times", "fold", "-fold"),
    "us": ("microseconds", "microsecond"),
    "ms": ("milliseconds", "millisecond"),
    "s": ("sec", "seconds", "second"),
    "tokens/s": ("tokens/s", "token/s", "tok/s", "toks/s", "tokens/sec", "tok/sec", "tps"),
    "requests/s": ("requests/s", "request/s", "req/s", "reqs/s"),
    "tokens": ("tokens", "token", "tok"),
}
"""How units are spelled out, in capitals or not."""

_SYMBOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "ns": ("ns",),
    "us": ("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"),
    "ms": ("ms", "msec"),
    "s": ("s",),
    "tokens/s": ("t/s",),
    **{
        f"{prefix}{of}{per}": tuple(f"{prefix}{symbol}" for symbol in symbols)
        for prefix in ("", "k", "K", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")
        for of, per, symbols in (
            ("B", "", ("B",)),
            ("B", "/s", ("B/s", "Bps")),
            ("b", "", ("b", "bit")),
            ("b", "/s", ("b/s", "bps", "bit/s")),
        )
    },
}
"""Units in letters of which the case is a part of what they mean, each as it is shown and as it is written.

A byte is B and a bit is b in IEC 80000-13; m is a thousandth and M a million in the SI, where S is siemens.
KB is thousand or 1,024 bytes, whichever its writer had in mind, and so is neither kB nor KiB.
"""

_UNITS: Final[Mapping[str, str]] = {word: unit for unit, words in _WORDS.items() for word in words}
_EXACTLY: Final[Mapping[str, str]] = {word: unit for unit, words in _SYMBOLS.items() for word in words}
_KNOWN: Final = "the number alone, or with a unit as ms, s, tok/s, % or x"


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A figure with the digits it was printed with.

    `unit` is one of those known here, empty where none is printed, and `is_signed` whether a plus or a minus
    stands before it: a figure with neither may be the amount of a fall.
    """

    value: Decimal
    unit: str = ""
    is_signed: bool = False


def read_printed(text: str) -> Printed:
    """Return a figure as it is printed; raises ValueError with what would be right."""
    found = _PRINTED.fullmatch(text.strip()) if len(text) <= MAX_TYPED_LENGTH else None
    number = found[1].replace("\N{MINUS SIGN}", "-").replace(" ", "") if found else text
    value = read_figure(number)
    word = found[2] if found else ""
    return Printed(value=value, unit=_unit(word), is_signed=number.startswith(("+", "-")))


def _unit(word: str) -> str:
    """Return which unit a word is, empty for none; raises ValueError with what would be right."""
    text = " ".join(word.split())
    unit = _EXACTLY.get(text) or _UNITS.get(text.casefold()) if text else ""
    if unit is not None:
        return unit
    folded = text.casefold()
    near = " or ".join(dict.fromkeys(_EXACTLY[each] for each in _EXACTLY if each.casefold() == folded))
    known = f"where capitals tell units apart: give {near}" if near else f"give {_KNOWN}"
    raise ValueError(f"'{shown(word)}' is no unit that is known here, {known}")


def read_milliseconds(text: str) -> Decimal:
    """Return a time in milliseconds, which one without a unit has; raises ValueError for another unit."""
    found = read_printed(text)
    if found.unit and found.unit not in _POWERS:
        raise ValueError(f"a time is not in {found.unit}: give it in ms, us or s")
    return found.value.scaleb(_POWERS[found.unit or "ms"])


def read_percent(text: str) -> Decimal:
    """Return a percentage, which a figure without a unit is; raises ValueError for another unit."""
    found = read_printed(text)
    if found.unit == _TIMES:
        raise ValueError("a gain is in percent, not in times: twice as fast, or 2x, is 100 %")
    if found.unit not in {"", _PERCENT}:
        raise ValueError(f"a gain is in percent, not in {found.unit}")
    return found.value


def follows_printed(before: Printed, after: Printed, *, stated: Printed, form: Form) -> Follows:
    """Return whether a figure follows from two numbers, each as it is printed.

    Raises:
        InputError: the two are in units that differ, the stated figure is in one that it cannot have in this
            form, or no figure follows from them.
    """
    units = {each.unit for each in (before, after)} - {""}
    if len(units) > 1:
        expected = f"give both in one unit; the number before is in {before.unit}"
        raise InputError("after", f"{after.value:f} {after.unit}", expected)
    fitting = {"percent": {_PERCENT}, "share": {_PERCENT}, "times": {_TIMES}}.get(form, units)
    if stated.unit and fitting and stated.unit not in fitting:
        expected = _expected(form, unit=", ".join(fitting), stated=stated.unit)
        raise InputError("stated", f"{stated.value:f} {stated.unit}", expected)
    return follows(before.value, after.value, stated=stated.value, form=form, is_signed=stated.is_signed)


def _expected(form: Form, *, unit: str, stated: str) -> str:
    """Return what is right of a stated figure whose unit does not fit its form."""
    if form == "difference":
        return f"give the difference in {unit}, as the two numbers are"
    other = {_PERCENT: "percent, or as a share", _TIMES: "times as much"}.get(stated, "the difference")
    what = {"percent": "percentage", "share": "share"}.get(form, "factor")
    return f"a {what} is in {unit}; or say that it is stated as {other}"
