"""Runs of result files put together by configuration, with the traps that each configuration springs.

Where files tell how long prompts and answers were, runs repeat one configuration only if the means of a
request lie near the least of them. A seed draws other lengths, and a mean of n of them strays: by
1 / sqrt(3n) of itself where they lie evenly between 0 and twice their mean, by about 1 / sqrt(n) with a long
tail, as an exponential has. Means lie near one another within 5 / sqrt(n), which the least and the most of
eight such means seldom exceed (normal means: 1 in 100), at least within `LENGTH_TOLERANCE` and at most within
`MOST_TOLERANCE`, as workloads that people set apart mostly differ by a factor of two. n is the fewer requests
that completed of two runs.

Where more than half of the runs have another within `FIXED_TOLERANCE`, lengths are fixed and stray by no
draw: then `LENGTH_TOLERANCE` holds whatever n is. A tenth more to read of a cache moves the bound of a batch
by less than a tenth, and a file of vLLM does not tell a fixed length from a mean; lengths that a file names
as settings are told apart however near they lie.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from app.domain.serving.figures import counted_as
from app.domain.serving.timings import NOTHING_KNOWN, Summary, summarised
from app.domain.serving.traps import Evidence, Trap, in_all, in_evidence, in_one, too_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from app.domain.serving.bench_run import Run
    from app.domain.serving.layout import Layout

_MOST_NAMED: Final = 3
LENGTH_TOLERANCE: Final = Decimal("0.1")
MOST_TOLERANCE: Final = Decimal("0.5")
FIXED_TOLERANCE: Final = Decimal("0.002")
_DEVIATIONS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Runs that share tool, model, phase, settings and lengths: each further one repeats it."""

    runs: tuple[Run, ...]
    summary: Summary
    traps: tuple[Trap, ...]
    remarks: tuple[str, ...]

    @property
    def title(self) -> str:
        """Whose it is, of what, and the settings that tell it from the others."""
        run = self.runs[0]
        return f"{run.tool}, {run.model or 'model not stated'}, {run.phase}"

    @property
    def in_flight(self) -> int | None:
        """How many requests were in flight at most, None where a run does not tell."""
        sent = [run.sent for run in self.runs if run.sent is not None]
        return max(sent) if len(sent) == len(self.runs) else None

    @property
    def context(self) -> int | None:
        """How many tokens a stream had before the first that was timed, None where the files do not tell."""
        return self.runs[0].context

    @property
    def layout(self) -> Layout | None:
        """How GPUs shared the model, None where the files do not tell."""
        return self.runs[0].layout

    @property
    def least_mean_prompt(self) -> int | None:
        """The least of the runs' means of the tokens of a prompt, rounded down, None where none tells."""
        means = [run.mean_prompt_tokens for run in self.runs if run.mean_prompt_tokens is not None]
        return int(min(means)) if means else None

    @property
    def per_pass(self) -> Decimal | None:
        """The most tokens that a pass gave a stream in a run with drafts, None without any."""
        return max((run.per_pass for run in self.runs if run.per_pass is not None), default=None)

    @property
    def ttft_ms(self) -> Decimal | None:
        """The median of the runs' own medians of the time to a first token, None where none tells."""
        return _median(run.ttft_ms for run in self.runs)

    @property
    def itl_ms(self) -> Decimal | None:
        """The median of the runs' own medians of the time between tokens, None where none tells."""
        return _median(run.itl_ms for run in self.runs)

    @property
    def mean_ttft_ms(self) -> Decimal | None:
        """The mean of the runs' own means of the time to a first token, None where none tells its prompts."""
        return _mean(run.mean_ttft_ms for run in self.runs)

    @property
    def mean_prompt_tokens(self) -> Decimal | None:
        """The mean of the runs' own means of the tokens of a prompt, None where none tells."""
        return _mean(run.mean_prompt_tokens for run in self.runs)

    @property
    def mean_output_tokens(self) -> Decimal | None:
        """The mean of the runs' own means of the tokens of an answer, None where none tells."""
        return _mean(run.mean_output_tokens for run in self.runs)

    @property
    def told(self) -> str:
        """The settings that tell it from the others, and how long prompts and answers were."""
        lengths = (
            ("mean tokens of a prompt", self.mean_prompt_tokens),
            ("mean tokens of an answer", self.mean_output_tokens),
        )
        settings = [f"{name} {value}" for name, value in self.runs[0].settings]
        return ", ".join([*settings, *(f"{name} {mean:,.1f}" for name, mean in lengths if mean is not None)])


def _mean(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return sum(known, Decimal(0)) / len(known) if known else None


def _median(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def configurations(runs: Iterable[Run]) -> list[Configuration]:
    """Return the runs by configuration, in the order in which each first comes."""
    return [_configuration(group) for group in grouped(distinct(runs))]


def distinct(runs: Iterable[Run]) -> list[Run]:
    """Return each result once, with a remark where it was given several times.

    All that is read of it is the same, and when it ran is among that: a summary and the files it was made of
    hold the same results, and so does a file that is given twice.
    """
    found: dict[Run, list[str]] = {}
    for run in runs:
        found.setdefault(replace(run, place=""), []).append(run.place)
    return [_once(run, places) for run, places in found.items()]


def _once(run: Run, places: Sequence[str]) -> Run:
    first, *others = places
    if not others:
        return replace(run, place=first)
    more = f" and {len(others) - _MOST_NAMED:,} more" if len(others) > _MOST_NAMED else ""
    said = f"the same result was given {len(places):,} times, also as {', '.join(others[:_MOST_NAMED])}{more}"
    return replace(run, place=first, remarks=(*run.remarks, f"{said}; it counts once."))


def grouped(runs: Iterable[Run]) -> list[list[Run]]:
    """Return the runs of each configuration, in the order in which each first comes.

    Of runs that are the same in everything, their place as well, one counts.
    """
    alike: dict[tuple[object, ...], list[tuple[int, Run]]] = {}
    for at, run in enumerate(dict.fromkeys(runs)):
        alike.setdefault((run.tool, run.model, run.phase, run.settings), []).append((at, run))
    groups = [
        sorted(group, key=_place)
        for each in alike.values()
        for prompts in _near(each, of=_prompt)
        for group in _near(prompts, of=_answer)
    ]
    return [[run for _, run in group] for group in sorted(groups, key=lambda group: group[0][0])]


def _place(placed: tuple[int, Run]) -> int:
    return placed[0]


def _figure(known: tuple[Decimal, int, Run]) -> tuple[Decimal, int]:
    return known[:2]


def _prompt(run: Run) -> Decimal | None:
    return run.mean_prompt_tokens


def _answer(run: Run) -> Decimal | None:
    return run.mean_output_tokens


def _near(
    runs: Sequence[tuple[int, Run]], *, of: Callable[[Run], Decimal | None]
) -> list[list[tuple[int, Run]]]:
    """Return runs whose figure lies near the least of theirs, in whatever order they come.

    Those without a figure are a group of their own.
    """
    known = sorted(((value, at, run) for at, run in runs if (value := of(run)) is not None), key=_figure)
    are_fixed = _are_fixed([value for value, _, _ in known])
    groups = [[(at, run) for at, run in runs if of(run) is None]]
    least: tuple[Decimal, Run] | None = None
    for value, at, run in known:
        if least is None or value > least[0] * (1 + _tolerance(least[1], run, are_fixed=are_fixed)):
            least = value, run
            groups.append([])
        groups[-1].append((at, run))
    return [group for group in groups if group]


def _are_fixed(ordered: Sequence[Decimal]) -> bool:
    """Tell whether more than half of the means have another next to them that no draw would come so near."""
    is_next = [other <= value * (1 + FIXED_TOLERANCE) for value, other in pairwise(ordered)]
    beside = [before or after for before, after in zip([False, *is_next], [*is_next, False], strict=True)]
    return 2 * sum(beside) > len(ordered)


def _tolerance(one: Run, other: Run, *, are_fixed: bool) -> Decimal:
    """Return how far means of the lengths of one workload may lie apart, as a share of the lesser."""
    if are_fixed or not one.completed or not other.completed:
        return LENGTH_TOLERANCE
    strays = _DEVIATIONS / Decimal(min(one.completed, other.completed)).sqrt()
    return min(max(strays, LENGTH_TOLERANCE), MOST_TOLERANCE)


def _configuration(runs: Sequence[Run]) -> Configuration:
    name = runs[0].place
    summary = summarised([value for run in runs for value in run.tokens_per_s], name)
    traps = [*in_one(summary, name, unit="tokens/s"), *too_wide(summary, name)]
    return Configuration(runs=tuple(runs), summary=summary, traps=tuple(traps), remarks=tuple(_remarks(runs)))


def _remarks(runs: Iterable[Run]) -> Iterator[str]:
    for run in runs:
        yield from (f"{run.place}: {remark}" for remark in run.remarks)
        if run.failed:
            failed = counted_as(run.failed, "request")
            yield f"{run.place}: {failed} failed; those that did not may have had it easier."
        if run.per_pass is not None:
            yield f"{run.place}: drafts gave a stream {run.per_pass:.2f} tokens a pass; a bound counts one."


def evidence_of(
    found: Sequence[Configuration], *, sent: int | None, log: str, flags: Sequence[str]
) -> Evidence:
    """Return what is known beside the files; their own most in flight where nobody says how many were."""
    known = [one.in_flight for one in found]
    own = None if None in known else max((each for each in known if each is not None), default=None)
    return Evidence(sent=own if sent is None else sent, log=log, flags=tuple(flags))


def traps_of_all(found: Sequence[Configuration], evidence: Evidence = NOTHING_KNOWN) -> list[Trap]:
    """Return the traps that show only across configurations, or beside the files."""
    return [*in_all([one.summary for one in found]), *in_evidence(evidence)]
