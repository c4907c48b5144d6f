"""The exchange rates: fetched as any source is, once a day, while a price is in another currency."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from app.ingest.archive import store_body
from app.ingest.checked import hold
from app.ingest.fetch import fetching, limits_of
from app.ingest.fetched import FetchError
from app.ingest.run import RunOutcome, already, claim
from app.store import rates as store
from app.store import runs, session
from app.store.records import Capture, Outcome
from scrapers.base import Page, ParseError
from scrapers.ecb import DAILY, HOSTS, LAST_90_DAYS, PROVIDER, parse_rates

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Engine

    from app.domain.findings import Finding
    from app.ingest.fetch import Fetcher
    from app.ingest.fetched import Fetched
    from app.settings import Settings

LONGEST_GAP: Final = timedelta(days=4)
"""With no rate for longer than a weekend with a holiday, the file of 90 days is asked for, not the day's."""


def refresh(
    engine: Engine,
    settings: Settings,
    *,
    slot: str,
    clock: Callable[[], datetime],
    fetcher: Fetcher | None = None,
) -> RunOutcome:
    """Fetch the reference rates for a slot and keep those that are new; does nothing while none is needed."""
    with session.reading(engine) as connection:
        needed, newest = store.are_needed(connection), store.newest_day(connection)
    if not needed:
        return RunOutcome(provider=PROVIDER, outcome=None, sentence="Every price is in dollars.")
    lapses_after = timedelta(seconds=settings.run_limit_s)
    run_id = claim(engine, PROVIDER, slot=slot, now=clock(), lapses_after=lapses_after)
    if run_id is None:
        return already(PROVIDER, slot)
    is_short = newest is None or clock().date() - newest > LONGEST_GAP
    with ExitStack() as stack:
        asking = fetcher or stack.enter_context(fetching(limits_of(settings), clock))
        try:
            answer = asking.fetch(LAST_90_DAYS if is_short else DAILY, hosts=HOSTS)
        except FetchError as error:
            finding = hold(error.code, str(error), **error.evidence)
            return _end(engine, run_id, outcome=Outcome.FAILED, finding=finding, now=clock())
    return _keep(engine, settings, run_id=run_id, answer=answer, now=clock())


def _keep(engine: Engine, settings: Settings, *, run_id: int, answer: Fetched, now: datetime) -> RunOutcome:
    """Archive the file, read it, and store the rates of days that have none."""
    capture = Capture(
        sha256=store_body(settings.archive, answer.body),
        url=answer.url,
        fetched_at=answer.fetched_at,
        status=answer.status,
        headers=answer.headers,
        content_type=answer.content_type,
        size_bytes=len(answer.body),
    )
    with session.writing(engine) as connection:
        runs.record_capture(connection, run_id, answer=capture)
    try:
        rates = parse_rates(Page(url=answer.url, body=answer.body, fetched_at=answer.fetched_at))
    except ParseError as error:
        finding = hold(error.code, str(error), **error.evidence)
        return _end(engine, run_id, outcome=Outcome.REFUSED, finding=finding, now=now)
    with session.writing(engine) as connection:
        added = store.keep_rates(connection, rates, capture_sha256=capture.sha256)
        sentence = f"{added} new exchange rates; the latest are of {max(rate.day for rate in rates)}."
        outcome = Outcome.PUBLISHED if added else Outcome.UNCHANGED
        runs.finish_run(
            connection, run_id, outcome=outcome, sentence=sentence, now=now, observed_at=answer.fetched_at
        )
    return RunOutcome(provider=PROVIDER, outcome=outcome, sentence=sentence, run_id=run_id)


def _end(engine: Engine, run_id: int, *, outcome: Outcome, finding: Finding, now: datetime) -> RunOutcome:
    """Note that there are no new rates, and why; the ones before stay in use until they are too old."""
    sentence = f"No exchange rates were read, and the last ones stay in use: {finding.sentence}"
    with session.writing(engine) as connection:
        runs.record_findings(connection, run_id, findings=(finding,))
        runs.finish_run(connection, run_id, outcome=outcome, sentence=sentence, now=now)
    return RunOutcome(
        provider=PROVIDER, outcome=outcome, sentence=sentence, findings=(finding,), run_id=run_id
    )
