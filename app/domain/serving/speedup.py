"""What a claimed speed-up implies, and whether a printed figure follows from the numbers beside it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Final, Literal

from app.domain.serving.reading import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

Form = Literal["percent", "times", "difference", "share"]

_MS_PER_S: Final = 1000
_PERCENT: Final = 100
_COARSE: Final = Decimal("0.1")
"""The share of a stated figure by which it may be off as rounded and is still no coarse one."""

_LEAST: Final = Decimal("1e-9")
_MOST: Final = Decimal("1e12")
_STATED: Final = 2
_FEW: Final = 3
_PRECISE: Final = 5
_MANY: Final = 20
_ELSEWHERE_MS: Final = tuple(map(Decimal, ("1", "5", "20", "50", "100")))

_OF_CHANGE: Final[frozenset[Form]] = frozenset(("percent", "difference"))
"""Forms of a stated figure that are below 0 where something fell."""

UNITS: Final[dict[Form, str]] = {"percent": " %", "times": " times", "difference": "", "share": " %"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Speedup:
    """A step before and after a change, in milliseconds; each step gives each of `streams` one token.

    `given` names the two figures that the others were worked out from.
    """

    old_step_ms: Decimal
    new_step_ms: Decimal
    streams: int = 1
    given: tuple[str, ...] = ("old_step_ms", "new_step_ms")

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

    @property
    def elsewhere(self) -> tuple[Elsewhere, ...]:
        """What the same saving and the same gain would be on steps of other lengths."""
        return tuple(_elsewhere(self, step_ms) for step_ms in _ELSEWHERE_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """The reverse of a claim on a step of another length, in milliseconds.

    `gain_percent` is what the same saving gains there, None where the step is no longer than the saving;
    `saved_ms` is what the same gain would have to save there.
    """

    old_step_ms: Decimal
    gain_percent: Decimal | None
    saved_ms: Decimal


def _elsewhere(claim: Speedup, step_ms: Decimal) -> Elsewhere:
    left = step_ms - claim.saved_ms
    return Elsewhere(
        old_step_ms=step_ms,
        gain_percent=(step_ms / left - 1) * _PERCENT if left > 0 else None,
        saved_ms=step_ms * (1 - claim.new_step_ms / claim.old_step_ms),
    )


def short(number: Decimal) -> str:
    """Return a number to three significant digits, or all before its point: 0.25433 is 0.254."""
    return _rounded(number, _FEW)


def about(number: Decimal) -> str:
    """Return a number to two significant digits, with commas: 3931.8 is 3,900."""
    return _rounded(number, 2, whole=True)


def precise(number: Decimal) -> str:
    """Return a number to five significant digits, for one that is reckoned on with: 0.25433."""
    return _rounded(number, _PRECISE)


def between(number: Decimal, *, least: Decimal, most: Decimal) -> str:
    """Return a number to three significant digits, or to as many more as keep it within two others."""
    fitting = (count for count in range(_FEW, _MANY) if least <= _cut(number, count) <= most)
    return _rounded(number, next(fitting, _MANY))


def ends(least: Decimal, most: Decimal) -> tuple[str, str]:
    """Return both ends of a range to five significant digits, or to as many more as its width takes."""
    widest, width = max(abs(least), abs(most)), most - least
    if not width:
        return precise(least), precise(most)
    digits = min(max(_PRECISE, widest.adjusted() - width.adjusted() + _FEW), _MANY)
    return _rounded(least, digits), _rounded(most, digits)


def _rounded(number: Decimal, digits: int, *, whole: bool = False) -> str:
    """Return a number to so many significant digits; those before its point are cut only when `whole`."""
    if number == 0:
        return "0"
    text = f"{_cut(number, digits, whole=whole):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _cut(number: Decimal, digits: int, *, whole: bool = False) -> Decimal:
    places = digits - 1 - number.adjusted()
    step = Decimal(1).scaleb(-(places if whole else max(places, 0)))
    return number.quantize(step, rounding=ROUND_HALF_UP)  # 125 is about 130, as people round


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
    names = tuple(name for name, value in given.items() if value is not None)
    _check_given(given, names)
    if streams < 1 or streams > _MOST:
        raise InputError("streams", str(streams), "give a whole number of 1 or more")
    old, new = _steps(saved_ms, gain_percent, old=old_step_ms, new=new_step_ms)
    if min(old, new) < _LEAST or max(old, new) > _MOST:
        expected = f"beside {names[1]} of {given[names[1]]:f} it makes a step that takes no time, or too much"
        raise InputError(names[0], f"{given[names[0]]:f}", expected)
    return Speedup(old_step_ms=old, new_step_ms=new, streams=streams, given=names)


def _check_given(given: Mapping[str, Decimal | None], names: tuple[str, ...]) -> None:
    """Refuse what is not two figures by the first that is missing or too many, then one out of range."""
    if len(names) != _STATED:
        wrong = next(name for name in given if name not in names) if len(names) < _STATED else names[_STATED]
        said = "empty" if len(names) < _STATED else f"{given[wrong]}"
        raise InputError(wrong, said, "give two of the four: time saved, gain, step before, step after")
    for name in names:
        _within(name, given[name])


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

    `least` and `most` bound what the two can give; `computed` is what they give as printed. A figure that is
    not `is_signed` has neither plus nor minus before it, and may be the amount of a fall.
    """

    before: Decimal
    after: Decimal
    stated: Decimal
    form: Form
    computed: Decimal
    least: Decimal
    most: Decimal
    is_signed: bool = False

    @property
    def agrees(self) -> bool:
        """Whether any rounding of the three fits, of an amount without a sign also as that of a fall."""
        return self._fits(self.stated) or self.but_for_sign

    @property
    def but_for_sign(self) -> bool:
        """Whether a percentage or difference without a sign fits as the amount of a fall, and only so."""
        is_amount = self.form in _OF_CHANGE and self.stated > 0 and not self.is_signed
        return is_amount and not self._fits(self.stated) and self._fits(-self.stated)

    def _fits(self, stated: Decimal) -> bool:
        half = half_step(stated)
        return self.least <= stated + half and stated - half <= self.most

    @property
    def meant(self) -> Decimal:
        """The stated figure with the sign that it has as a change from before to after."""
        return -self.stated if self.but_for_sign else self.stated

    @property
    def printed(self) -> str:
        """The stated figure as it is printed, with its unit."""
        sign = "+" if self.is_signed and self.stated > 0 else ""
        return f"{sign}{self.stated:f}{UNITS[self.form]}"

    @property
    def stated_least(self) -> Decimal:
        """The least that the stated figure may be rounded from."""
        return self.stated - half_step(self.stated)

    @property
    def stated_most(self) -> Decimal:
        """The most that the stated figure may be rounded from."""
        return self.stated + half_step(self.stated)

    @property
    def after_if_stated(self) -> Decimal | None:
        """What the number after would be, were the stated figure right; None if not above 0."""
        after = _reversed_after(self.before, self.meant, form=self.form)
        return after if after > 0 else None

    @property
    def before_if_stated(self) -> Decimal | None:
        """What the number before would be, were the stated figure right; None if not above 0."""
        factor = _reversed_after(Decimal(1), self.meant, form=self.form)
        if self.form == "difference":
            before = self.after - self.meant
        else:
            before = self.after / factor if factor > 0 else Decimal(0)
        return before if before > 0 else None

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        verdict = "follows from them" if self.agrees else "does not follow from them: inconsistent"
        if self.but_for_sign:
            verdict = "agrees but for its sign: right of what fell or was saved, wrong of what was gained"
        least, most = ends(self.least, self.most)
        return f"{self.told} ({least} to {most} as rounded); the stated {self.printed} {verdict}."

    @property
    def otherwise(self) -> str:
        """What the stated figure follows as where it does not follow as it stands, empty for nothing."""
        if self.agrees:
            return ""
        unit = UNITS[self.form]
        if self.form in _OF_CHANGE and self._fits(-self.stated):
            falls = "a figure of what falls is below 0" if self.stated > 0 else "one of what rises is above 0"
            return f"As {-self.stated:f}{unit} it follows: {falls}."
        if self.form == "difference":
            return ""
        swapped = follows(
            self.after, self.before, stated=self.stated, form=self.form, is_signed=self.is_signed
        )
        if not swapped.agrees:
            return ""
        return (
            f"The other way round it follows: {swapped.told}. That is right where both numbers are times and "
            "the figure is of the speed."
        )

    @property
    def coarse(self) -> str:
        """What else would follow as well as a figure of few digits does; empty where little would."""
        if not self.agrees or not self.stated or half_step(self.stated) < abs(self.stated) * _COARSE:
            return ""
        return (
            f"It is stated so coarsely that anything from {self.stated_least:f} to {self.stated_most:f}"
            f"{UNITS[self.form]} would follow as well."
        )

    @property
    def told(self) -> str:
        """What the two numbers give, in words."""
        sign = "+" if self.form == "percent" and self.computed > 0 else ""
        link = {"percent": "over", "times": "over", "difference": "less", "share": "of"}[self.form]
        found = between(self.computed, least=self.least, most=self.most)
        return f"{self.after:f} {link} {self.before:f} is {sign}{found}{UNITS[self.form]}"


def follows(
    before: Decimal, after: Decimal, *, stated: Decimal, form: Form, is_signed: bool = False
) -> Follows:
    """Return whether a stated percentage, factor, difference or share follows from two printed numbers.

    `is_signed` says that a plus or minus is printed before the stated one, which is then no bare amount.

    Raises:
        InputError: a number is not positive, too large, or so coarse that it may be zero.
    """
    for name, value in (("before", before), ("after", after)):
        if not value.is_finite() or not _LEAST <= value <= _MOST or value <= half_step(value):
            raise InputError(name, str(value), f"give a number above 0 and up to {_MOST:g}")
    if not stated.is_finite() or abs(stated) > _MOST:
        raise InputError("stated", str(stated), f"give a number up to {_MOST:g}")
    wide, deep = half_step(before), half_step(after)
    return Follows(
        before=before,
        after=after,
        stated=stated,
        form=form,
        computed=_worked(before, after, form=form),
        least=_worked(before + wide, after - deep, form=form),
        most=_worked(before - wide, after + deep, form=form),
        is_signed=is_signed,
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


def _reversed_after(before: Decimal, stated: Decimal, *, form: Form) -> Decimal:
    """Return the number after that gives just the stated figure."""
    match form:
        case "percent":
            return before * (1 + stated / _PERCENT)
        case "times":
            return before * stated
        case "difference":
            return before + stated
        case "share":
            return before * stated / _PERCENT


def half_step(number: Decimal) -> Decimal:
    """Return half of a number's last printed digit."""
    exponent = number.as_tuple().exponent
    return Decimal(1).scaleb(min(exponent, 0)) / 2 if isinstance(exponent, int) else Decimal(0)
