"""What a claimed speed-up implies, and whether a printed figure follows from the numbers beside it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from app.domain.serving.reading import InputError

Form = Literal["percent", "times", "difference", "share"]

_MS_PER_S: Final = 1000
_PERCENT: Final = 100
_LEAST: Final = Decimal("1e-9")
_MOST: Final = Decimal("1e12")
_STATED: Final = 2

UNITS: Final[dict[Form, str]] = {"percent": " %", "times": " times", "difference": "", "share": " %"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Speedup:
    """A step before and after a change, in milliseconds; each step gives each of `streams` one token."""

    old_step_ms: Decimal
    new_step_ms: Decimal
    streams: int = 1

    @property
    def saved_ms(self) -> Decimal:
        """What a step got shorter by; negative when it got longer."""
        return self.old_step_ms - self.new_step_ms

    @property
    def gain_percent(self) -> Decimal:
        """How much faster tokens come."""
        return (self.old_step_ms / self.new_step_ms - 1) * _PERCENT

    @property
    def old_tokens_per_s(self) -> Decimal:
        """Tokens a second of all streams before."""
        return self.streams * _MS_PER_S / self.old_step_ms

    @property
    def new_tokens_per_s(self) -> Decimal:
        """Tokens a second of all streams after."""
        return self.streams * _MS_PER_S / self.new_step_ms

    @property
    def sentence(self) -> str:
        """What the two steps say, in words."""
        per = "one stream" if self.streams == 1 else f"{self.streams:,} streams"
        sign = "+" if self.gain_percent > 0 else ""
        return (
            f"{sign}{short(self.gain_percent)} % from {short(self.saved_ms)} ms saved means a "
            f"{short(self.old_step_ms)} ms step, about {about(self.old_tokens_per_s)} tokens/s on {per}, "
            f"and a {short(self.new_step_ms)} ms step after, about {about(self.new_tokens_per_s)}."
        )


def short(number: Decimal) -> str:
    """Return a number to three significant digits, or all before its point: 0.25433 is 0.254."""
    return _rounded(number, 3)


def about(number: Decimal) -> str:
    """Return a number to two significant digits, with commas: 3931.8 is 3,900."""
    return _rounded(number, 2, whole=True)


def _rounded(number: Decimal, digits: int, *, whole: bool = False) -> str:
    """Return a number to so many significant digits; those before its point are cut only when `whole`."""
    if number == 0:
        return "0"
    places = digits - 1 - number.adjusted()
    rounded = round(number, places if whole else max(places, 0))
    text = f"{rounded:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def implied(
    *,
    saved_ms: Decimal | None = None,
    gain_percent: Decimal | None = None,
    old_step_ms: Decimal | None = None,
    new_step_ms: Decimal | None = None,
    streams: int = 1,
) -> Speedup:
    """Return the speed-up that two of the four figures imply.

    With s saved and a gain of g, the old step t solves t / (t - s) = 1 + g, so t = s (1 + g) / g.

    Raises:
        InputError: not two are given, one is out of range, or no step fits them.
    """
    given = {
        "saved_ms": saved_ms,
        "gain_percent": gain_percent,
        "old_step_ms": old_step_ms,
        "new_step_ms": new_step_ms,
    }
    names = [name for name, value in given.items() if value is not None]
    if len(names) != _STATED:
        raise InputError("claim", ", ".join(names) or "nothing", f"give two of {', '.join(given)}")
    for name in names:
        _within(name, given[name])
    if streams < 1 or streams > _MOST:
        raise InputError("streams", str(streams), "give a whole number of 1 or more")
    old, new = _steps(saved_ms, gain_percent, old=old_step_ms, new=new_step_ms)
    if min(old, new) < _LEAST or max(old, new) > _MOST:
        raise InputError(
            "claim", " and ".join(names), "no step can be so: it would take no time, or too much"
        )
    return Speedup(old_step_ms=old, new_step_ms=new, streams=streams)


def _within(name: str, value: Decimal | None) -> None:
    least = {"saved_ms": -_MOST, "gain_percent": Decimal(-_PERCENT)}.get(name, _LEAST)
    if value is None or not value.is_finite() or not least <= value <= _MOST or value == least == -_PERCENT:
        raise InputError(name, str(value), f"give a number above {least:g} and up to {_MOST:g}")


def _steps(
    saved: Decimal | None, gain_percent: Decimal | None, *, old: Decimal | None, new: Decimal | None
) -> tuple[Decimal, Decimal]:
    """Return the old and the new step; exactly two of the four are given."""
    gain = None if gain_percent is None else gain_percent / _PERCENT
    if old is not None and new is not None:
        return old, new
    if saved is not None and gain is not None:
        if saved * gain <= 0:
            raise InputError("gain_percent", f"{gain_percent}", "a gain needs time saved, a loss time added")
        return saved * (1 + gain) / gain, saved / gain
    if old is not None:
        return old, old - saved if saved is not None else old / (1 + (gain or 0))
    step = new or Decimal(0)
    return (step + saved if saved is not None else step * (1 + (gain or 0))), step


@dataclass(frozen=True, slots=True, kw_only=True)
class Follows:
    """Whether a stated figure follows from two numbers, each taken to be rounded at its last digit.

    `least` and `most` bound what the two can give; `computed` is what they give as printed.
    """

    before: Decimal
    after: Decimal
    stated: Decimal
    form: Form
    computed: Decimal
    least: Decimal
    most: Decimal

    @property
    def agrees(self) -> bool:
        """Whether any rounding of the three fits."""
        half = _half_step(self.stated)
        return self.least <= self.stated + half and self.stated - half <= self.most

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        unit = UNITS[self.form]
        what = {
            "percent": f"{self.after} over {self.before} is {self.computed:+.1f}{unit}",
            "times": f"{self.after} over {self.before} is {self.computed:.2f}{unit}",
            "difference": f"{self.after} less {self.before} is {self.computed}",
            "share": f"{self.after} of {self.before} is {self.computed:.1f}{unit}",
        }[self.form]
        verdict = "follows from them" if self.agrees else "does not follow from them: inconsistent"
        bounds = f"{self.least:.3f} to {self.most:.3f} as rounded"
        return f"{what} ({bounds}); the stated {self.stated}{unit} {verdict}."


def follows(before: Decimal, after: Decimal, *, stated: Decimal, form: Form) -> Follows:
    """Return whether a stated percentage, factor, difference or share follows from two printed numbers.

    Raises:
        InputError: a number is not positive, too large, or so coarse that it may be zero.
    """
    for name, value in (("before", before), ("after", after)):
        if not value.is_finite() or not _LEAST <= value <= _MOST or value <= _half_step(value):
            raise InputError(name, str(value), f"give a number above 0 and up to {_MOST:g}")
    if not stated.is_finite() or abs(stated) > _MOST:
        raise InputError("stated", str(stated), f"give a number up to {_MOST:g}")
    wide, deep = _half_step(before), _half_step(after)
    return Follows(
        before=before,
        after=after,
        stated=stated,
        form=form,
        computed=_worked(before, after, form=form),
        least=_worked(before + wide, after - deep, form=form),
        most=_worked(before - wide, after + deep, form=form),
    )


def _worked(before: Decimal, after: Decimal, *, form: Form) -> Decimal:
    match form:
        case "percent":
            return (after / before - 1) * _PERCENT
        case "times":
            return after / before
        case "difference":
            return after - before
        case "share":
            return after / before * _PERCENT


def _half_step(number: Decimal) -> Decimal:
    """Return half of a number's last printed digit."""
    exponent = number.as_tuple().exponent
    return Decimal(1).scaleb(min(exponent, 0)) / 2 if isinstance(exponent, int) else Decimal(0)
