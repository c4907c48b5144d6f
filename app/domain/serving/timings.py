"""Two sets of repeated timings: medians, spread and overlap, and whether they may be told apart."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from decimal import Decimal
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final, Literal

from app.domain.serving.reading import MOST_ENTRIES, InputError, read_numbers, read_text, shown
from app.domain.serving.speedup import short
from app.domain.serving.traps import Evidence, in_all, in_evidence, in_one, too_wide, unchecked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.serving.traps import Trap

Unit = Literal["ms", "tokens/s"]
Outcome = Literal["same", "different", "undecided", "refused"]

_QUARTERS: Final = 4
_PERCENT: Final = 100
_LEAST: Final = Decimal("1e-9")
_LOOKED_AT: Final = 4096
_LONGEST_WORD: Final = 1_000_000
_WORD: Final = re.compile(r"[^\s]+")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_THOUSANDS: Final = re.compile(r"[0-9]{1,2},[0-9]{3}(?:\.[0-9]+)?(?:,[0-9]{1,2},[0-9]{3}(?:\.[0-9]+)?)*")

NOTHING_KNOWN: Final = Evidence()
SAME: Final = "These look like the same configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Repetitions of one configuration: how many, their median, quartiles (inclusive) and range."""

    values: tuple[Decimal, ...]
    median: Decimal
    low_quartile: Decimal
    high_quartile: Decimal

    @property
    def count(self) -> int:
        """How many repetitions."""
        return len(self.values)

    @property
    def quartile_range(self) -> Decimal:
        """The width of the middle half."""
        return self.high_quartile - self.low_quartile

    @property
    def spread_percent(self) -> Decimal:
        """The width of the middle half, as a share of the median."""
        return self.quartile_range / self.median * _PERCENT


def read_timings(data: bytes, name: str) -> tuple[Decimal, ...]:
    """Return the numbers of a file that is no benchmark's result.

    Raises:
        InputError: one is no number, there is none, or a comma may belong to one or stand between two.
    """
    return read_numbers(_one_a_line(data, name), name)


def _one_a_line(data: bytes, name: str) -> bytes:
    """Return numbers that stand between commas and spaces as one a line; a JSON array as it is.

    Raises:
        InputError: one is no number, there are too many, or a comma may belong to a number as well as
            stand between two: 1,200 may be one or two.
    """
    text = read_text(data, name).rstrip()
    if text.lstrip().startswith("["):
        return data
    lines = text.count("\n") + 1
    if lines > MOST_ENTRIES:
        raise InputError(name, f"{lines:,} lines", f"give at most {MOST_ENTRIES:,}")
    if _is_plain(text):
        return "\n".join(text.split()).encode()
    words: list[str] = []
    for at, line in enumerate(io.StringIO(text), start=1):
        for found in _WORD.finditer(line.partition("#")[0]):
            words.append(found[0])
            _check_word(words, f"{name} line {at}")
    return "\n".join(piece for word in words for piece in word.split(",") if piece).encode()


def _is_plain(text: str) -> bool:
    """Tell whether a text is numbers alone, not too many, so that no word needs to be looked at by itself."""
    words = [] if "," in text or "#" in text else text.split()
    return 0 < len(words) <= MOST_ENTRIES and all(map(_NUMBER.fullmatch, words))


def _check_word(words: Sequence[str], place: str) -> None:
    word = words[-1]
    if len(words) > MOST_ENTRIES or len(word) > _LONGEST_WORD:
        raise InputError(place, shown(word), f"give at most {MOST_ENTRIES:,} numbers, with spaces between")
    pieces = [piece for piece in word.split(",") if piece]
    wrong = next((piece for piece in pieces if not _NUMBER.fullmatch(piece)), None)
    if wrong is not None:
        raise InputError(place, shown(wrong), "give a number")
    unclear = next((each for each in (word, words[0]) if "," in each.strip(",")), None)
    if unclear and (len(words) > 1 or _THOUSANDS.fullmatch(word)):
        expected = "write numbers without commas in them, and a space after a comma between two"
        raise InputError(place, shown(unclear), expected)


def is_result(data: bytes) -> bool:
    """Tell whether a file holds JSON objects rather than bare numbers."""
    return data[:_LOOKED_AT].lstrip(b"\xef\xbb\xbf \t\r\n[").startswith(b"{")


def after_warm_up(values: Sequence[Decimal], name: str, *, warm_up: int) -> Sequence[Decimal]:
    """Return a set without the first few.

    Raises:
        InputError: none is left of it.
    """
    if warm_up and warm_up >= len(values):
        raise InputError("warm_up", f"{warm_up}", f"leave at least one of the {len(values):,} of {name}")
    return values[warm_up:]


def summarised(values: Sequence[Decimal], name: str) -> Summary:
    """Return the summary of repetitions.

    Raises:
        InputError: there is none, or one is not above 0.
    """
    if not values or min(values) < _LEAST:
        expected = f"give timings above 0, none under {_LEAST:g}, at least one"
        raise InputError(name, shown(min(values, default="nothing")), expected)
    cuts = quantiles(values, n=_QUARTERS, method="inclusive") if len(values) > 1 else [values[0]]
    return Summary(values=tuple(values), median=median(values), low_quartile=cuts[0], high_quartile=cuts[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two configurations side by side, what their timings say, and the traps that forbid a finding.

    `unchecked` says in sentences which traps were not looked for, as nothing was known to tell them by.
    """

    before: Summary
    after: Summary
    unit: Unit
    traps: tuple[Trap, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def change_percent(self) -> Decimal:
        """By how much the median moved."""
        return (self.after.median / self.before.median - 1) * _PERCENT

    @property
    def speedup_percent(self) -> Decimal:
        """By how much tokens come faster: the change of a rate, the inverse of that of a time."""
        if self.unit == "tokens/s":
            return self.change_percent
        return (self.before.median / self.after.median - 1) * _PERCENT

    @property
    def shared(self) -> tuple[Decimal, Decimal]:
        """The range that both cover, from its low end to its high one, which is below it where none is."""
        low = max(min(self.before.values), min(self.after.values))
        return low, min(max(self.before.values), max(self.after.values))

    @property
    def whole(self) -> tuple[Decimal, Decimal]:
        """The least and the most of both sets."""
        every = (*self.before.values, *self.after.values)
        return min(every), max(every)

    @property
    def overlap_percent(self) -> Decimal:
        """The part of the whole range that both ranges cover; 100 when both are one and the same value."""
        (low, high), (least, most) = self.shared, self.whole
        if least == most:
            return Decimal(_PERCENT)
        return max(high - low, Decimal(0)) / (most - least) * _PERCENT

    @property
    def moved(self) -> Decimal:
        """By how much the medians differ, in the unit of the timings."""
        return abs(self.after.median - self.before.median)

    @property
    def widest_half(self) -> Decimal:
        """The width of the wider middle half, in the unit of the timings."""
        return max(self.before.quartile_range, self.after.quartile_range)

    @property
    def is_apart(self) -> bool:
        """Whether every value of one lies above every value of the other."""
        return min(self.before.values) > max(self.after.values) or min(self.after.values) > max(
            self.before.values
        )

    @property
    def outcome(self) -> Outcome:
        """What may be said.

        Refused: a trap forbids any finding, that they look alike as well. Same: ranges meet and the medians
        differ by no more than the wider middle half. Different: ranges do not meet and the medians differ by
        more than that.
        """
        if self.traps:
            return "refused"
        is_small = self.moved <= self.widest_half
        if is_small and not self.is_apart:
            return "same"
        return "different" if self.is_apart and not is_small else "undecided"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        match self.outcome:
            case "same" if self.is_equal:
                return f"{SAME}: value for value they are equal, as if one file were read twice."
            case "same":
                return f"{SAME}: the medians differ by no more than the repetitions of one do."
            case "different":
                sign = "+" if self.speedup_percent > 0 else ""
                speed = f"{sign}{short(self.speedup_percent)} %"
                return f"They differ: {speed} in speed, and their ranges do not meet."
            case "undecided" if self.is_apart:
                return (
                    "Undecided: the ranges do not meet, but the medians differ by no more than the wider "
                    "middle half; repeat more."
                )
            case "undecided":
                return (
                    "Undecided: the medians differ by more than the spread, but the ranges meet; repeat more."
                )
            case "refused":
                codes = ", ".join(dict.fromkeys(trap.code for trap in self.traps))
                return f"No finding: {codes}.{self._equal}"

    @property
    def is_equal(self) -> bool:
        """Whether both have the same values, in whatever order."""
        return sorted(self.before.values) == sorted(self.after.values)

    @property
    def _equal(self) -> str:
        """What is plain of equal sets even where nothing may be found of what they measured."""
        if not self.is_equal:
            return ""
        return " Value for value they are equal, as if one file of the same configuration were read twice."


def compared(
    before: Sequence[Decimal], after: Sequence[Decimal], *, unit: Unit, evidence: Evidence = NOTHING_KNOWN
) -> Comparison:
    """Return two sets of repetitions side by side, with every trap that is sprung.

    A wide spread forbids a finding only where the medians differ by less than twice the wider middle half.

    Raises:
        InputError: a set is empty, or a value is not above 0.
    """
    sets = {"before": summarised(before, "before"), "after": summarised(after, "after")}
    one, other = sets.values()
    is_close = abs(one.median - other.median) < 2 * max(one.quartile_range, other.quartile_range)
    found = [
        *(trap for name, each in sets.items() for trap in in_one(each, name, unit=unit)),
        *(trap for name, each in sets.items() if is_close for trap in too_wide(each, name)),
        *in_all((one, other)),
        *in_evidence(evidence),
    ]
    return Comparison(
        before=one, after=other, unit=unit, traps=tuple(found), unchecked=tuple(unchecked(evidence))
    )
