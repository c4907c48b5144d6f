"""The journal: which runs there were, what they fetched and found, and which offers are held for review."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.domain.findings import Finding, Level
from app.store.queries import GOOD_OUTCOMES
from app.store.records import Capture, Outcome, Run
from app.store.tables import capture, finding, scrape_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping, Select


CLAIM_LAPSES_AFTER: Final = timedelta(hours=1)
"""A run without an outcome for this long is taken for killed, and its slot is tried once more."""

FIRST_TRY: Final = " (first try)"
"""What is added to the slot of a run that was taken for killed: the slot itself is the second try's."""


class LostClaimError(RuntimeError):
    """A run took so long that its slot was given to another: nothing of it may be kept."""


RUN_COLUMNS: Final = (
    scrape_run.c.id.label("run_id"),
    *(column for column in scrape_run.c if column.name != "id"),
)


def claim_slot(
    connection: Connection,
    *,
    source: str,
    slot: str,
    provider: str,
    now: datetime,
    lapses_after: timedelta = CLAIM_LAPSES_AFTER,
) -> int | None:
    """Return the id of a new run, or None when another has, or had, this source's slot.

    The unique pair of source and slot decides, so any number of schedulers on one database scrape once. A run
    without an outcome after `lapses_after` is noted as failed, and its slot is given out once more and no
    oftener. Should it be slow and not dead, `finish_run` refuses it, so nothing is published twice.
    """
    run_id = _claim(connection, source=source, slot=slot, provider=provider, now=now)
    if run_id is None and _give_up(connection, source=source, slot=slot, now=now, since=now - lapses_after):
        run_id = _claim(connection, source=source, slot=slot, provider=provider, now=now)
    return run_id


def _claim(connection: Connection, *, source: str, slot: str, provider: str, now: datetime) -> int | None:
    """Return the id of a new run in a slot that no run has, else None."""
    dialect_insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    claim = (
        dialect_insert(scrape_run)
        .values(source=source, slot=slot, provider=provider, started_at=now, sentence="")
        .on_conflict_do_nothing(index_elements=["source", "slot"])
        .returning(scrape_run.c.id)
    )
    run_id: int | None = connection.execute(claim).scalar_one_or_none()
    return run_id


def _give_up(connection: Connection, *, source: str, slot: str, now: datetime, since: datetime) -> bool:
    """Note the slot's run as failed if it has been under way since then, and tell whether the slot is free.

    A slot is freed once: a second run that ends without a word keeps it, since something is wrong with it.
    """
    first = f"{slot}{FIRST_TRY}"
    is_second = run_of_slot(connection, source=source, slot=first) is not None
    then = "It was the second try, and there is no third." if is_second else "Its slot is tried once more."
    lapsed = (
        update(scrape_run)
        .where(scrape_run.c.source == source, scrape_run.c.slot == slot, scrape_run.c.outcome.is_(None))
        .where(scrape_run.c.started_at <= since)
        .values(
            slot=slot if is_second else first,
            outcome=Outcome.FAILED.value,
            finished_at=now,
            sentence=f"The run ended without a word, as one that was killed does. {then}",
        )
    )
    return connection.execute(lapsed).rowcount == 1 and not is_second


def finish_run(
    connection: Connection,
    run_id: int,
    *,
    outcome: Outcome,
    sentence: str,
    now: datetime,
    observed_at: datetime | None = None,
    offers_count: int | None = None,
) -> None:
    """Note how a run ended, in the same transaction as what it published.

    Raises LostClaimError for a run that was taken for killed; only one that was held may end a second time.
    """
    may_end = or_(scrape_run.c.outcome.is_(None), scrape_run.c.outcome == Outcome.QUARANTINED.value)
    ended = connection.execute(
        update(scrape_run)
        .where(scrape_run.c.id == run_id, may_end)
        .values(
            outcome=outcome.value,
            sentence=sentence,
            finished_at=now,
            observed_at=observed_at,
            offers_count=offers_count,
        )
    )
    if ended.rowcount != 1:
        raise LostClaimError(f"Run {run_id} took so long that it was given up; nothing of it was kept.")


def record_findings(connection: Connection, run_id: int, *, findings: Iterable[Finding]) -> None:
    """Note what a run's parser and checks noticed."""
    rows = [
        {
            "run_id": run_id,
            "code": each.code,
            "level": each.level.value,
            "sentence": _storable(each.sentence),
            "evidence": {name: _storable(text) for name, text in each.evidence.items()},
        }
        for each in findings
    ]
    if rows:
        connection.execute(insert(finding), rows)


def _storable(text: str) -> str:
    """Return a text without what PostgreSQL cannot hold: a finding must be kept whatever was on the page."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def record_capture(
    connection: Connection, run_id: int, *, answer: Capture, method: str = "GET", request_sha256: str = ""
) -> None:
    """Note an answer that was archived: the request is told apart by its method and the hash of its body."""
    connection.execute(
        insert(capture).values(
            run_id=run_id,
            method=method,
            request_sha256=request_sha256,
            sha256=answer.sha256,
            url=answer.url,
            fetched_at=answer.fetched_at,
            status=answer.status,
            headers=dict(answer.headers),
            content_type=answer.content_type,
            size_bytes=answer.size_bytes,
        )
    )


def runs(connection: Connection, *, provider: str | None = None, limit: int = 100) -> list[Run]:
    """Return the latest runs, newest first, of one provider or of all."""
    query = select(*RUN_COLUMNS).order_by(scrape_run.c.id.desc()).limit(limit)
    if provider is not None:
        query = query.where(scrape_run.c.provider == provider)
    return [run_of_row(row) for row in connection.execute(query).mappings()]


def runs_of_sources(connection: Connection, sources: Iterable[str], *, limit: int) -> list[Run]:
    """Return the latest runs of these sources, the good ones before the others, then newest first."""
    query = (
        select(*RUN_COLUMNS)
        .where(scrape_run.c.source.in_(list(sources)))
        .order_by(scrape_run.c.outcome.in_(GOOD_OUTCOMES).is_not(True), scrape_run.c.id.desc())
        .limit(limit)
    )
    return [run_of_row(row) for row in connection.execute(query).mappings()]


def last_runs(connection: Connection) -> Mapping[str, Run]:
    """Return every provider's latest run, by provider."""
    latest = select(func.max(scrape_run.c.id)).group_by(scrape_run.c.provider)
    query = select(*RUN_COLUMNS).where(scrape_run.c.id.in_(latest))
    return {row["provider"]: run_of_row(row) for row in connection.execute(query).mappings()}


def last_good_run(connection: Connection, provider: str) -> Run | None:
    """Return the run that the provider's offers are from, or None when it was never read well."""
    query = (
        select(*RUN_COLUMNS)
        .where(scrape_run.c.provider == provider, scrape_run.c.outcome.in_(GOOD_OUTCOMES))
        .order_by(scrape_run.c.observed_at.desc(), scrape_run.c.id.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else run_of_row(row)


def run_of_slot(connection: Connection, *, source: str, slot: str) -> Run | None:
    """Return the run that has a source's slot, or None."""
    query = select(*RUN_COLUMNS).where(scrape_run.c.source == source, scrape_run.c.slot == slot)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else run_of_row(row)


def findings_of(connection: Connection, run_id: int) -> list[Finding]:
    """Return what one run noticed, in the order it noticed it."""
    query = (
        select(finding.c.code, finding.c.level, finding.c.sentence, finding.c.evidence)
        .where(finding.c.run_id == run_id)
        .order_by(finding.c.id)
    )
    return [
        Finding(code=code, level=Level(level), sentence=sentence, evidence=evidence)
        for code, level, sentence, evidence in connection.execute(query)
    ]


def captures_of(connection: Connection, run_id: int) -> list[Capture]:
    """Return the answers that one run archived, in the order they came."""
    query = _captures().where(capture.c.run_id == run_id).order_by(capture.c.id)
    return [Capture(**row) for row in connection.execute(query).mappings()]


def last_capture(
    connection: Connection, url: str, *, method: str = "GET", request_sha256: str = ""
) -> Capture | None:
    """Return the newest archived answer to a request, or None when there was none."""
    query = (
        _captures()
        .where(capture.c.url == url, capture.c.method == method, capture.c.request_sha256 == request_sha256)
        .order_by(capture.c.fetched_at.desc(), capture.c.id.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Capture(**row)


def _captures() -> Select[Any]:
    """Return the query for captures, its columns named as the fields of `Capture`."""
    return select(*(capture.c[name] for name in Capture.__dataclass_fields__))


def run_of_row(row: RowMapping) -> Run:
    """Return a run from a row that has the columns of `RUN_COLUMNS`."""
    fields = {name: row[name] for name in Run.__dataclass_fields__}
    return Run(**{**fields, "outcome": None if row["outcome"] is None else Outcome(row["outcome"])})
