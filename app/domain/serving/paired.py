"""Timings by configuration: those of a result file kept apart, each beside its like of another file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from math import comb
from typing import TYPE_CHECKING, Final

from app.domain.serving.benches import read_runs
from app.domain.serving.benchmarked import configurations, evidence_of, grouped
from app.domain.serving.reading import InputError, shown
from app.domain.serving.speedup import short
from app.domain.serving.timings import NOTHING_KNOWN, after_warm_up, compared, is_result, read_timings
from app.domain.serving.traps import LEAST_REPETITIONS, in_evidence, unchecked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from app.domain.serving.benches import Run
    from app.domain.serving.timings import Comparison, Outcome, Unit
    from app.domain.serving.traps import Evidence, Trap

_MOST_NAMED: Final = 3
_LONGEST_TITLE: Final = 200
_BEFORE: Final = "before"
_AFTER: Final = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """What was timed on one side: bare numbers, and runs of result files."""

    numbers: tuple[Decimal, ...]
    runs: tuple[Run, ...]

    @property
    def values(self) -> tuple[Decimal, ...]:
        """All of it, in order."""
        return (*self.numbers, *chain.from_iterable(run.tokens_per_s for run in self.runs))


def read_timed(files: Iterable[tuple[bytes, str]], *, unit: Unit) -> Timed:
    """Return the timings in files, each with its name.

    Raises:
        InputError: a file can be read as neither, or is a result where the unit is another; then it names
            `unit`.
    """
    numbers: list[Decimal] = []
    runs: list[Run] = []
    for data, name in files:
        if not is_result(data):
            numbers += read_timings(data, name)
        elif unit != "tokens/s":
            raise InputError("unit", unit, f"{name} holds tokens/s")
        else:
            runs += read_runs(data, name)
    return Timed(numbers=tuple(numbers), runs=tuple(runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One configuration before and after; `title` tells it from the others, empty where there are none."""

    title: str
    comparison: Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A setting that has one value on each side, of which the two differ; None where a side has it not."""

    name: str
    before: str | None
    after: str | None

    @property
    def sentence(self) -> str:
        """What was changed, in words."""
        values = ("not stated" if value is None else value for value in (self.before, self.after))
        return f"{self.name}: {' before, '.join(values)} after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """What was timed before beside its like after, and the titles of what was timed in one alone."""

    pairs: tuple[Pair, ...]
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    changed: tuple[Changed, ...] = ()

    @property
    def traps(self) -> tuple[Trap, ...]:
        """The traps of all."""
        return tuple(trap for pair in self.pairs for trap in pair.comparison.traps)

    @property
    def is_one(self) -> bool:
        """Whether each side is one configuration."""
        return len(self.pairs) == 1 and not (self.only_before or self.only_after)

    @property
    def sentence(self) -> str:
        """The verdict in words: that of the only pair, or how many there are of each."""
        if self.is_one:
            return self.pairs[0].comparison.sentence
        outcomes = [pair.comparison.outcome for pair in self.pairs]
        told = [f"{outcomes.count(name):,} {_NAMED[name]}" for name in _NAMED if name in outcomes]
        count = len(self.pairs)
        many = "1 configuration was" if count == 1 else f"{count:,} configurations were"
        said = f"{many} timed before and after, each compared by itself: {', '.join(told)}."
        return f"{said} {self._chance}" if self.by_chance is not None else said

    @property
    def by_chance(self) -> Decimal | None:
        """How many of the pairs would come out different on average if all were alike, at most.

        None where there is one pair, or none came out different. Of n and m values in an order that is
        chance alone, whatever their distribution, all n lie below all m, or all above, in 2 of the
        C(n + m, n) orders: the ends of U in H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics
        18 (1947), 50. Being different asks for that and for more. It is summed over the pairs with enough
        repetitions for any finding; the sum holds of averages whether or not pairs depend on each other.
        """
        if len(self.pairs) == 1 or all(pair.comparison.outcome != "different" for pair in self.pairs):
            return None
        return sum((Decimal(2) / comb(sum(counts), counts[0]) for counts in self._enough), Decimal(0))

    @property
    def _enough(self) -> list[tuple[int, int]]:
        """How many values the pairs have on both sides that have enough for a finding."""
        counts = ((pair.comparison.before.count, pair.comparison.after.count) for pair in self.pairs)
        return [each for each in counts if min(each) >= LEAST_REPETITIONS]

    @property
    def _chance(self) -> str:
        most = short(self.by_chance or Decimal(0))
        return (
            f"Were nothing changed, up to {most} of the {len(self._enough):,} with {LEAST_REPETITIONS} "
            "repetitions or more would come out with a difference by chance, on average."
        )


_NAMED: Final[Mapping[Outcome, str]] = {
    "different": "with a difference",
    "same": "alike",
    "undecided": "undecided",
    "refused": "without a finding",
}


def compared_timed(
    before: Timed, after: Timed, *, unit: Unit, warm_up: int = 0, evidence: Evidence = NOTHING_KNOWN
) -> Paired:
    """Return each configuration of one side beside its like of the other, by what tells them apart.

    A setting that has one value on each side does not tell: where the two differ, it is what was changed. The
    phase and the lengths of prompts and answers always do. `warm_up` values are left out at the start of
    every configuration. How many were in flight is what result files say where `evidence` does not.

    Raises:
        InputError: the two sides have no configuration in common, or bare numbers stand beside several; or
            as of `compared`.
    """
    if before.numbers or after.numbers:
        found = [_Group(title="", before=_only_set(before, _BEFORE), after=_only_set(after, _AFTER))]
    else:
        found = _groups(before.runs, after.runs)
    shared = [each for each in found if each.before and each.after]
    if not shared:
        raise _nothing_shared(found)
    known = replace(evidence, sent=sent_of(before, after, sent=evidence.sent))
    traps, untold = tuple(in_evidence(known)), tuple(unchecked(known))
    pairs = []
    for each in shared:
        sets = (after_warm_up(values, name, warm_up=warm_up) for name, values in each.sides)
        one = compared(*sets, unit=unit)
        one = replace(one, traps=(*one.traps, *traps), unchecked=untold)
        pairs.append(Pair(title=each.title if len(found) > 1 else "", comparison=one))
    return Paired(
        pairs=tuple(pairs),
        only_before=tuple(each.title for each in found if not each.after),
        only_after=tuple(each.title for each in found if not each.before),
        changed=tuple(_changed(before.runs, after.runs)),
    )


def sent_of(before: Timed, after: Timed, *, sent: int | None = None) -> int | None:
    """Return how many requests were in flight at most: as somebody says, or else as files of both sides do.

    Bare numbers tell nothing of it, and neither do they beside a result that does.
    """
    if sent is not None or before.numbers or after.numbers:
        return sent
    return evidence_of(configurations((*before.runs, *after.runs)), sent=None, log="", flags=()).sent


def _changed(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Changed]:
    """Yield the settings that have one value on each side, and not the same, in the order of the files."""
    if not (before and after):
        return
    sides = [[dict(_all_settings(run)) for run in side] for side in (before, after)]
    names = dict.fromkeys(name for side in sides for run in side for name in run)
    for name in names:
        was, now = ({run.get(name) for run in side} for side in sides)
        if len(was) == len(now) == 1 and was != now:
            yield Changed(name=name, before=was.pop(), after=now.pop())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The repetitions of one configuration on both sides, none where it was not timed there."""

    title: str
    before: tuple[Decimal, ...]
    after: tuple[Decimal, ...]

    @property
    def sides(self) -> tuple[tuple[str, tuple[Decimal, ...]], ...]:
        return (_BEFORE, self.before), (_AFTER, self.after)


def _only_set(side: Timed, name: str) -> tuple[Decimal, ...]:
    """Return all values of a side that is one configuration; bare numbers have no settings to match."""
    groups = _groups(side.runs, ())
    titles = [*(["numbers alone"] if side.numbers else []), *(each.title for each in groups)]
    if len(titles) > 1:
        expected = f"give one on each side where one side is numbers alone; it holds {_some(titles)}"
        raise InputError(name, f"{len(titles):,} configurations", expected)
    return side.values


def _groups(before: Sequence[Run], after: Sequence[Run]) -> list[_Group]:
    """Return the configurations of both sides, each side's runs known by their place."""
    names = _telling(before, after)
    runs = [
        *(_told_by(names, run, place=_BEFORE) for run in before),
        *(_told_by(names, run, place=_AFTER) for run in after),
    ]
    groups = grouped(runs)
    told = [_settings_told(group[0]) for group in groups]
    times = Counter(told)
    return [
        _Group(
            title=shown(f"{title}{_lengths_told(group) if times[title] > 1 else ''}", most=_LONGEST_TITLE),
            before=_rates(group, place=_BEFORE),
            after=_rates(group, place=_AFTER),
        )
        for title, group in zip(told, groups, strict=True)
    ]


def _telling(before: Sequence[Run], after: Sequence[Run]) -> frozenset[str]:
    """Return the names of settings of which one side has several values."""
    names: set[str] = set()
    for side in (before, after):
        settings = [dict(_all_settings(run)) for run in side]
        every = set().union(*settings)
        names |= {name for name in every if len({each.get(name) for each in settings}) > 1}
    return frozenset(names)


def _all_settings(run: Run) -> tuple[tuple[str, str], ...]:
    own = {"tool": run.tool, "model": run.model or "not stated"}
    stated = ((f"{name} as set" if name in own else name, value) for name, value in run.settings)
    return (*own.items(), *stated)


def _told_by(names: frozenset[str], run: Run, *, place: str) -> Run:
    """Return a run with the settings of these names alone, on the side that its place says."""
    settings = tuple(pair for pair in _all_settings(run) if pair[0] in names)
    return replace(run, place=place, tool="", model=None, settings=settings)


def _rates(runs: Sequence[Run], *, place: str) -> tuple[Decimal, ...]:
    return tuple(rate for run in runs if run.place == place for rate in run.tokens_per_s)


def _settings_told(run: Run) -> str:
    return ", ".join([run.phase, *(f"{name} {value}" for name, value in run.settings)])


def _lengths_told(runs: Sequence[Run]) -> str:
    """Return how long prompts and answers were, of the first run, where it tells."""
    run = runs[0]
    lengths = (("a prompt", run.mean_prompt_tokens), ("an answer", run.mean_output_tokens))
    return "".join(f", mean tokens of {what} {mean:,.1f}" for what, mean in lengths if mean is not None)


def _nothing_shared(found: Sequence[_Group]) -> InputError:
    was, told = (
        _some([each.title for each in found if (each.before if is_before else each.after)])
        for is_before in (True, False)
    )
    expected = f"give a configuration that was timed before, too: {was}; it holds {told}"
    return InputError(_AFTER, "no configuration of both", expected)


def _some(titles: Sequence[str]) -> str:
    more = len(titles) - _MOST_NAMED
    return "; ".join([*titles[:_MOST_NAMED], *([f"and {more:,} more"] if more > 0 else [])])
