"""How the figures of a claim and of two sets of timings are worked out, with their numbers put in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.domain.serving.speedup import UNITS, about, between, ends, half_step, precise, short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal

    from app.domain.serving.speedup import Follows, Form, Speedup
    from app.domain.serving.timings import Comparison, Summary

_PERCENT: Final = 100


def speedup_arithmetic(found: Speedup) -> tuple[str, ...]:
    """Return a line for each figure that was worked out, then those that lead back to what was given."""
    solved = [_SOLVED[name, found.given](found) for name in _STEPS if name not in found.given]
    read = [_READ[name](found) for name in _READ if name not in found.given]
    rates = [_rate(found, "before", found.old_step_ms), _rate(found, "after", found.new_step_ms)]
    back = [f"And back: {_READ[name](found)}" for name in _READ if name in found.given]
    if not back:
        back = [f"And back: {_old_of_both(found)}"]
    return (*solved, *read, *rates, *back)


def _rate(found: Speedup, when: str, step_ms: Decimal) -> str:
    rate = found.old_tokens_per_s if when == "before" else found.new_tokens_per_s
    streams = f"{found.streams:,} x " if found.streams > 1 else ""
    formula = "streams x 1000 / step" if streams else "1000 / step"
    told = short(rate) if short(rate) == about(rate) else f"{short(rate)}, about {about(rate)}"
    return f"tokens/s {when} = {formula} = {streams}1000 / {precise(step_ms)} = {told}"


def _saved(found: Speedup) -> str:
    old, new = precise(found.old_step_ms), precise(found.new_step_ms)
    return f"saved = old step - new step = {old} - {new} = {precise(found.saved_ms)} ms"


def _gain(found: Speedup) -> str:
    old, new = precise(found.old_step_ms), precise(found.new_step_ms)
    return f"gain = old step / new step - 1 = {old} / {new} - 1 = {signed(found.gain_percent)} %"


def _old_of_both(found: Speedup) -> str:
    gain = found.gain_percent / _PERCENT
    if not gain:
        return "no time is saved and nothing is gained, so any step would do"
    put_in = f"{precise(found.saved_ms)} x {precise(1 + gain)} / {precise(gain)}"
    return f"old step = saved x (1 + gain) / gain = {put_in} = {precise(found.old_step_ms)} ms"


def _old_of_saved(found: Speedup) -> str:
    put_in = f"{precise(found.new_step_ms)} + {precise(found.saved_ms)}"
    return f"old step = new step + saved = {put_in} = {precise(found.old_step_ms)} ms"


def _old_of_gain(found: Speedup) -> str:
    put_in = f"{precise(found.new_step_ms)} x {precise(1 + found.gain_percent / _PERCENT)}"
    return f"old step = new step x (1 + gain) = {put_in} = {precise(found.old_step_ms)} ms"


def _new_of_saved(found: Speedup) -> str:
    put_in = f"{precise(found.old_step_ms)} - {precise(found.saved_ms)}"
    return f"new step = old step - saved = {put_in} = {precise(found.new_step_ms)} ms"


def _new_of_gain(found: Speedup) -> str:
    put_in = f"{precise(found.old_step_ms)} / {precise(1 + found.gain_percent / _PERCENT)}"
    return f"new step = old step / (1 + gain) = {put_in} = {precise(found.new_step_ms)} ms"


_STEPS: Final = ("old_step_ms", "new_step_ms")
_READ: Final[Mapping[str, Callable[[Speedup], str]]] = {"saved_ms": _saved, "gain_percent": _gain}
_SOLVED: Final[Mapping[tuple[str, tuple[str, ...]], Callable[[Speedup], str]]] = {
    ("old_step_ms", ("saved_ms", "gain_percent")): _old_of_both,
    ("new_step_ms", ("saved_ms", "gain_percent")): _new_of_saved,
    ("new_step_ms", ("saved_ms", "old_step_ms")): _new_of_saved,
    ("new_step_ms", ("gain_percent", "old_step_ms")): _new_of_gain,
    ("old_step_ms", ("saved_ms", "new_step_ms")): _old_of_saved,
    ("old_step_ms", ("gain_percent", "new_step_ms")): _old_of_gain,
}


def follows_arithmetic(found: Follows) -> tuple[str, ...]:
    """Return what the two numbers give as printed, what rounding allows, and the way back."""
    unit = UNITS[found.form]
    wide, deep = half_step(found.before), half_step(found.after)
    low, high = found.before - wide, found.before + wide
    least = _put_in(high, found.after - deep, form=found.form)
    most = _put_in(low, found.after + deep, form=found.form)
    meets = "the two ranges meet" if found.agrees else "the two ranges do not meet"
    printed = _put_in(found.before, found.after, form=found.form)
    may_be = f"{found.stated_least:f} to {found.stated_most:f}{unit}"
    if found.but_for_sign:
        meets = f"with a minus, as {found.meant:f}{unit}, {meets}"
    low_end, high_end = ends(found.least, found.most)
    return (
        f"{_NAMED[found.form]} = {printed} = {_computed(found)}{unit}",
        f"before may be {low:f} to {high:f}, after {found.after - deep:f} to {found.after + deep:f}",
        f"at least {least} = {low_end}{unit}",
        f"at most {most} = {high_end}{unit}",
        f"stated {found.printed} may be {may_be}: {meets}",
        *_back(found),
    )


def _computed(found: Follows) -> str:
    """Return what two numbers give, to five digits or to as many more as keep it within its range."""
    told = between(found.computed, least=found.least, most=found.most)
    return max(told, precise(found.computed), key=len)


_NAMED: Final[Mapping[Form, str]] = {
    "percent": "(after / before - 1) x 100",
    "times": "after / before",
    "difference": "after - before",
    "share": "after / before x 100",
}


def _put_in(before: Decimal, after: Decimal, *, form: Form) -> str:
    return _NAMED[form].replace("after", f"{after:f}").replace("before", f"{before:f}")


def _back(found: Follows) -> tuple[str, ...]:
    stated = f"{found.meant:f}{UNITS[found.form]}"
    after, before = found.after_if_stated, found.before_if_stated
    return (
        *([f"And back: {stated} from {found.before:f} would lead to {precise(after)}"] if after else []),
        *([f"And back: {stated} to {found.after:f} would start from {precise(before)}"] if before else []),
    )


def comparison_arithmetic(found: Comparison) -> tuple[str, ...]:
    """Return how the change, the speed, the overlap and the verdict's two conditions are worked out."""
    old, new, unit = precise(found.before.median), precise(found.after.median), found.unit
    change, speed = signed(found.change_percent), signed(found.speedup_percent)
    rate = f"speed = median before / median after - 1 = {old} / {new} - 1 = {speed} %"
    return (
        f"change = median after / median before - 1 = {new} / {old} - 1 = {change} %",
        *([rate] if unit == "ms" else []),
        _overlap(found),
        _spread("before", found.before),
        _spread("after", found.after),
        f"the medians differ by {precise(found.moved)} {unit}",
        f"the wider middle half is {precise(found.widest_half)} {unit}",
    )


def _spread(name: str, summary: Summary) -> str:
    half = f"({precise(summary.high_quartile)} - {precise(summary.low_quartile)})"
    put_in = f"{half} / {precise(summary.median)}"
    return f"spread {name} = middle half / median = {put_in} = {short(summary.spread_percent)} %"


def _overlap(found: Comparison) -> str:
    low, high = found.shared
    least, most = found.whole
    if least == most:
        return f"overlap: every value is {precise(least)}, so both ranges are one"
    put_in = f"({precise(high)} - {precise(low)}) / ({precise(most)} - {precise(least)})"
    if high < low:
        return f"overlap = 0 %: the ranges do not meet, {precise(low)} lies above {precise(high)}"
    return f"overlap = shared range / whole range = {put_in} = {short(found.overlap_percent)} %"


def signed(number: Decimal) -> str:
    """Return a change to three significant digits, with its sign."""
    return f"+{short(number)}" if number > 0 else short(number)
