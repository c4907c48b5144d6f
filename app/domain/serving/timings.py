"""Two sets of repeated timings: medians, spread and overlap, and whether they may be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final, Literal

from app.domain.serving.reading import InputError
from app.domain.serving.traps import Evidence, in_all, in_evidence, in_one, too_wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.serving.traps import Trap

Unit = Literal["ms", "tokens/s"]
Outcome = Literal["same", "different", "undecided", "refused"]

_QUARTERS: Final = 4
_PERCENT: Final = 100

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


def summarised(values: Sequence[Decimal], name: str) -> Summary:
    """Return the summary of repetitions.

    Raises:
        InputError: there is none, or one is not above 0.
    """
    if not values or min(values) <= 0:
        raise InputError(name, f"{min(values, default=0)}", "give timings above 0, at least one")
    cuts = quantiles(values, n=_QUARTERS, method="inclusive") if len(values) > 1 else [values[0]]
    return Summary(values=tuple(values), median=median(values), low_quartile=cuts[0], high_quartile=cuts[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two configurations side by side, what their timings say, and the traps that forbid a finding."""

    before: Summary
    after: Summary
    unit: Unit
    traps: tuple[Trap, ...] = ()

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
    def overlap_percent(self) -> Decimal:
        """The part of the whole range that both ranges cover; 100 when both are one and the same value."""
        every = (*self.before.values, *self.after.values)
        low = max(min(self.before.values), min(self.after.values))
        high = min(max(self.before.values), max(self.after.values))
        whole = max(every) - min(every)
        if whole == 0:
            return Decimal(_PERCENT)
        return max(high - low, Decimal(0)) / whole * _PERCENT

    @property
    def is_apart(self) -> bool:
        """Whether every value of one lies above every value of the other."""
        return min(self.before.values) > max(self.after.values) or min(self.after.values) > max(
            self.before.values
        )

    @property
    def outcome(self) -> Outcome:
        """What may be said.

        Same: ranges meet and the medians differ by no more than the wider middle half. Different: ranges do
        not meet and the medians differ by more than that, and no trap forbids it.
        """
        moved = abs(self.after.median - self.before.median)
        is_small = moved <= max(self.before.quartile_range, self.after.quartile_range)
        if is_small and not self.is_apart:
            return "same"
        if self.traps:
            return "refused"
        return "different" if self.is_apart and not is_small else "undecided"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        match self.outcome:
            case "same" if sorted(self.before.values) == sorted(self.after.values):
                return f"{SAME}: value for value they are equal, as if one file were read twice."
            case "same":
                return f"{SAME}: the medians differ by less than the repetitions of one do."
            case "different":
                return f"They differ: {self.speedup_percent:+.1f} % in speed, and their ranges do not meet."
            case "undecided":
                return (
                    "Undecided: the medians differ by more than the spread, but the ranges meet; repeat more."
                )
            case "refused":
                return f"No finding: {', '.join(trap.code for trap in self.traps)}."


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
    return Comparison(before=one, after=other, unit=unit, traps=tuple(found))
