"""The journal: which runs there were, what they fetched and found, and which offers are held for review."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.domain.findings import Finding, Level
from app.store.plain import offer_from_plain, offer_to_plain
from app.store.queries import GOOD_OUTCOMES
from app.store.records import Capture, HeldOffers, Outcome, Run, State
from app.store.tables import capture, finding, quarantine, scrape_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping, Select

    from app.domain.offers import Offer

CLAIM_LAPSES_AFTER: Final = timedelta(hours=1)
"""A run without an outcome for this long was killed, and another may take its slot."""

_RUN_COLUMNS: Final = (
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
) -> int | None:
    """Return the id of a new run, or None when another has, or had, this source's slot.

    The unique pair of source and slot decides, so any number of schedulers on one database scrape once.
    """
    dialect_insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    claim = (
        dialect_insert(scrape_run)
        .values(source=source, slot=slot, provider=provider, started_at=now, sentence="")
        .on_conflict_do_nothing(index_elements=["source", "slot"])
        .returning(scrape_run.c.id)
    )
    run_id: int | None = connection.execute(claim).scalar_one_or_none()
    return _take_over(connection, source=source, slot=slot, now=now) if run_id is None else run_id


def _take_over(connection: Connection, *, source: str, slot: str, now: datetime) -> int | None:
    """Return the id of the slot's run when that was killed, now under way again."""
    lapsed = (
        update(scrape_run)
        .where(scrape_run.c.source == source, scrape_run.c.slot == slot, scrape_run.c.outcome.is_(None))
        .where(scrape_run.c.started_at <= now - CLAIM_LAPSES_AFTER)
        .values(started_at=now)
        .returning(scrape_run.c.id)
    )
    run_id: int | None = connection.execute(lapsed).scalar_one_or_none()
    return run_id


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
    """Note how a run ended, in the same transaction as what it published."""
    connection.execute(
        update(scrape_run)
        .where(scrape_run.c.id == run_id)
        .values(
            outcome=outcome.value,
            sentence=sentence,
            finished_at=now,
            observed_at=observed_at,
            offers_count=offers_count,
        )
    )


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


def hold_offers(
    connection: Connection, run_id: int, *, provider: str, offers: Sequence[Offer], captures: Sequence[str]
) -> int:
    """Keep the offers of a run for review; return the id under which they are approved or rejected.

    `captures` holds one hash per offer, in the same order.
    """
    payload = {"offers": [offer_to_plain(each) for each in offers], "captures": list(captures)}
    held = insert(quarantine).values(
        run_id=run_id, provider=provider, payload=payload, state=State.HELD.value, because=""
    )
    return int(connection.execute(held.returning(quarantine.c.id)).scalar_one())


def decide(connection: Connection, quarantine_id: int, *, state: State, because: str, now: datetime) -> None:
    """Note what became of held offers, and why."""
    connection.execute(
        update(quarantine)
        .where(quarantine.c.id == quarantine_id)
        .values(state=state.value, because=because, decided_at=now)
    )


def runs(connection: Connection, *, provider: str | None = None, limit: int = 100) -> list[Run]:
    """Return the latest runs, newest first, of one provider or of all."""
    query = select(*_RUN_COLUMNS).order_by(scrape_run.c.id.desc()).limit(limit)
    if provider is not None:
        query = query.where(scrape_run.c.provider == provider)
    return [_run(row) for row in connection.execute(query).mappings()]


def last_runs(connection: Connection) -> Mapping[str, Run]:
    """Return every provider's latest run, by provider."""
    latest = select(func.max(scrape_run.c.id)).group_by(scrape_run.c.provider)
    query = select(*_RUN_COLUMNS).where(scrape_run.c.id.in_(latest))
    return {row["provider"]: _run(row) for row in connection.execute(query).mappings()}


def last_good_run(connection: Connection, provider: str) -> Run | None:
    """Return the run that the provider's offers are from, or None when it was never read well."""
    query = (
        select(*_RUN_COLUMNS)
        .where(scrape_run.c.provider == provider, scrape_run.c.outcome.in_(GOOD_OUTCOMES))
        .order_by(scrape_run.c.observed_at.desc(), scrape_run.c.id.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _run(row)


def run_of_slot(connection: Connection, *, source: str, slot: str) -> Run | None:
    """Return the run that has a source's slot, or None."""
    query = select(*_RUN_COLUMNS).where(scrape_run.c.source == source, scrape_run.c.slot == slot)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _run(row)


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


def quarantined(connection: Connection, *, state: State = State.HELD) -> list[HeldOffers]:
    """Return the held offers of every run in this state, newest first."""
    query = _held().where(quarantine.c.state == state.value).order_by(quarantine.c.id.desc())
    return [_held_offers(row) for row in connection.execute(query).mappings()]


def quarantine_by_id(connection: Connection, quarantine_id: int) -> HeldOffers | None:
    """Return the held offers of one run, or None for an id that is not there."""
    row = connection.execute(_held().where(quarantine.c.id == quarantine_id)).mappings().one_or_none()
    return None if row is None else _held_offers(row)


def _held() -> Select[Any]:
    """Return the query for held offers with their run."""
    return select(
        *_RUN_COLUMNS,
        quarantine.c.id.label("quarantine_id"),
        quarantine.c.payload,
        quarantine.c.state,
        quarantine.c.decided_at,
        quarantine.c.because,
    ).join_from(quarantine, scrape_run)


def _held_offers(row: RowMapping) -> HeldOffers:
    """Return held offers from a row of `_held`."""
    return HeldOffers(
        quarantine_id=row["quarantine_id"],
        run=_run(row),
        provider=row["provider"],
        offers=tuple(offer_from_plain(each) for each in row["payload"]["offers"]),
        captures=tuple(row["payload"]["captures"]),
        state=State(row["state"]),
        decided_at=row["decided_at"],
        because=row["because"],
    )


def _run(row: RowMapping) -> Run:
    """Return a run from a row that has the columns of `_RUN_COLUMNS`."""
    fields = {name: row[name] for name in Run.__dataclass_fields__}
    return Run(**{**fields, "outcome": None if row["outcome"] is None else Outcome(row["outcome"])})
