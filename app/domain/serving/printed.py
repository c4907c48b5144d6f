"""Figures as they are printed, with a sign or a unit: `+46.8 %`, `4.8x`, `1.23 s`, `613 tok/s`."""

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

_SPELLED: Final[Mapping[str, tuple[str, ...]]] = {
    _PERCENT: ("%", "percent", "per cent"),
    _TIMES: ("x", "\N{MULTIPLICATION SIGN}", "times", "fold", "-fold"),
    "ns": ("ns",),
    "us": ("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s", "microseconds", "microsecond"),
    "ms": ("ms", "msec", "milliseconds", "millisecond"),
    "s": ("s", "sec", "seconds", "second"),
    "tokens/s": ("tokens/s", "token/s", "tok/s", "toks/s", "t/s", "tokens/sec", "tok/sec", "tps"),
    "requests/s": ("requests/s", "request/s", "req/s", "reqs/s"),
    "tokens": ("tokens", "token", "tok"),
    **{
        f"{name}{per}": (f"{name}{per}",)
        for name in ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")
        for per in ("", "/s")
    },
}
_UNITS: Final[Mapping[str, str]] = {
    word.casefold(): unit for unit, words in _SPELLED.items() for word in words
}
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
    unit = _UNITS.get(" ".join(word.casefold().split())) if word else ""
    if unit is None:
        raise ValueError(f"'{shown(word)}' is no unit that is known here, give {_KNOWN}")
    return Printed(value=value, unit=unit, is_signed=number.startswith(("+", "-")))


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
