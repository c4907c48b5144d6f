"""Runs of result files put together by configuration, with the traps that each configuration springs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING

from app.domain.serving.timings import NOTHING_KNOWN, Summary, summarised
from app.domain.serving.traps import Evidence, Trap, in_all, in_evidence, in_one, too_wide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from app.domain.serving.benches import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Runs that share tool, model, phase and settings: each further one repeats it."""

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


def _mean(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return sum(known, Decimal(0)) / len(known) if known else None


def _median(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def configurations(runs: Iterable[Run]) -> list[Configuration]:
    """Return the runs by configuration, in the order in which each first comes."""
    return [_configuration(group) for group in grouped(runs)]


def grouped(runs: Iterable[Run]) -> list[list[Run]]:
    """Return the runs of each configuration, in the order in which each first comes."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.tool, run.model, run.phase, run.settings), []).append(run)
    return list(groups.values())


def _configuration(runs: Sequence[Run]) -> Configuration:
    name = runs[0].place
    summary = summarised([value for run in runs for value in run.tokens_per_s], name)
    traps = [*in_one(summary, name, unit="tokens/s"), *too_wide(summary, name)]
    return Configuration(runs=tuple(runs), summary=summary, traps=tuple(traps), remarks=tuple(_remarks(runs)))


def _remarks(runs: Iterable[Run]) -> Iterator[str]:
    for run in runs:
        yield from (f"{run.place}: {remark}" for remark in run.remarks)
        if run.failed:
            yield f"{run.place}: {run.failed:,} requests failed; those that did not may have had it easier."
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
