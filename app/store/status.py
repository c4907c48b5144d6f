"""How the sources are: what their runs found, how they ended, and which wait for a decision."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from app.domain.findings import Finding, Level
from app.store.queries import GOOD_OUTCOMES
from app.store.records import State
from app.store.tables import finding, quarantine, scrape_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRun:
    """A run that waits for a decision, without its offers; times are aware and UTC."""

    quarantine_id: int
    run_id: int
    provider: str
    held_at: datetime
    sentence: str
    offers_count: int
    agreeing_runs: int


def held_runs(connection: Connection) -> list[HeldRun]:
    """Return every run that waits for a decision, newest first; their offers, which are large, stay there."""
    query = (
        select(
            quarantine.c.id.label("quarantine_id"),
            scrape_run.c.id.label("run_id"),
            quarantine.c.provider,
            scrape_run.c.started_at.label("held_at"),
            scrape_run.c.sentence,
            func.coalesce(scrape_run.c.offers_count, 0).label("offers_count"),
            quarantine.c.agreeing_runs,
        )
        .join_from(quarantine, scrape_run)
        .where(quarantine.c.state == State.HELD.value)
        .order_by(quarantine.c.id.desc())
    )
    return [HeldRun(**row) for row in connection.execute(query).mappings()]


def findings_by_run(connection: Connection, run_ids: Iterable[int]) -> Mapping[int, list[Finding]]:
    """Return what each of these runs noticed, in the order it noticed it."""
    query = (
        select(finding.c.run_id, finding.c.code, finding.c.level, finding.c.sentence, finding.c.evidence)
        .where(finding.c.run_id.in_(list(run_ids)))
        .order_by(finding.c.id)
    )
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for run_id, code, level, sentence, evidence in connection.execute(query):
        found[run_id].append(Finding(code=code, level=Level(level), sentence=sentence, evidence=evidence))
    return found


def runs_by_outcome(connection: Connection) -> Mapping[tuple[str, str], int]:
    """Return how many runs of each source ended in each way, by source and outcome; those under way too."""
    query = select(scrape_run.c.source, scrape_run.c.outcome, func.count()).group_by(
        scrape_run.c.source, scrape_run.c.outcome
    )
    return {(source, outcome or "under_way"): number for source, outcome, number in connection.execute(query)}


def sources_read_well(connection: Connection) -> frozenset[str]:
    """Return the sources that have had a good run of their own: their parsers have met the page as served."""
    query = select(scrape_run.c.source).where(scrape_run.c.outcome.in_(GOOD_OUTCOMES)).distinct()
    return frozenset(connection.scalars(query))
