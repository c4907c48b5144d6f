"""Runs of result files put together by configuration, with the traps that each configuration springs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.serving.timings import NOTHING_KNOWN, Summary, summarised
from app.domain.serving.traps import Trap, in_all, in_evidence, in_one, too_wide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from app.domain.serving.benches import Run
    from app.domain.serving.traps import Evidence


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


def configurations(runs: Sequence[Run]) -> list[Configuration]:
    """Return the runs by configuration, in the order in which each first comes."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.tool, run.model, run.phase, run.settings), []).append(run)
    return [_configuration(group) for group in groups.values()]


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


def traps_of_all(found: Sequence[Configuration], evidence: Evidence = NOTHING_KNOWN) -> list[Trap]:
    """Return the traps that show only across configurations, or beside the files."""
    return [*in_all([one.summary for one in found]), *in_evidence(evidence)]
