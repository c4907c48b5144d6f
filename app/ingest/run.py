"""One run of one source: archive what came, read it, and publish all of it, hold all of it, or refuse it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy.exc import DataError, IntegrityError

from app.domain.findings import Finding, Level
from app.ingest.answer import Answer, keep_answers
from app.ingest.checked import hold
from app.ingest.older import asked, check_older
from app.ingest.read import Reading, read_pages
from app.store import held as held_store
from app.store import runs, session
from app.store.queries import offers_as_of
from app.store.records import Outcome
from app.store.write import OlderRunError, PublishError, PublishResult, publish
from scrapers.base import Page, Request, Scraper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from app.domain.offers import Offer
    from app.store.records import HeldOffers

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How one run of one provider ended; `outcome` is None when none was made; `sentence` says why.

    `offers_count` is how many offers were read, whatever became of them.
    """

    provider: str
    outcome: Outcome | None
    sentence: str
    findings: tuple[Finding, ...] = ()
    run_id: int | None = None
    quarantine_id: int | None = None
    result: PublishResult | None = None
    offers_count: int | None = None


def run_pages(
    engine: Engine,
    archive: Path,
    *,
    scraper: Scraper,
    pages: Sequence[Page],
    slot: str,
    now: datetime,
) -> RunOutcome:
    """Claim a slot and run a source on pages that are at hand; the first half of `scrape` is in `sources`."""
    run_id = claim(engine, scraper.provider, slot=slot, now=now)
    if run_id is None:
        return already(scraper.provider, slot)
    answers = [Answer(request=Request(url=page.url), page=page) for page in pages]
    return run_answers(engine, archive, scraper=scraper, answers=answers, run_id=run_id, now=now)


def claim(
    engine: Engine,
    provider: str,
    *,
    slot: str,
    now: datetime,
    lapses_after: timedelta = runs.CLAIM_LAPSES_AFTER,
) -> int | None:
    """Return the id of a run that has the provider's slot to itself, or None when it is taken."""
    with session.writing(engine) as connection:
        return runs.claim_slot(
            connection,
            source=provider,
            slot=slot,
            provider=provider,
            now=now,
            lapses_after=lapses_after,
        )


def already(provider: str, slot: str) -> RunOutcome:
    """Return the outcome of a run whose slot is taken."""
    return RunOutcome(
        provider=provider, outcome=None, sentence=f"{provider} has already been read for {slot}."
    )


def run_answers(
    engine: Engine,
    archive: Path,
    *,
    scraper: Scraper,
    answers: Sequence[Answer],
    run_id: int,
    now: datetime,
    compared: Callable[[Sequence[Offer]], Sequence[Finding]] = lambda _offers: (),
) -> RunOutcome:
    """Archive the answers of a claimed run, read them, and settle what becomes of the offers.

    `compared` returns what another surface of the provider says to the offers that were read.
    """
    keep_answers(engine, archive, answers=answers, run_id=run_id)
    pages = [answer.page for answer in answers]
    observed_at = max((page.fetched_at for page in pages), default=now)
    with session.reading(engine) as connection:
        provider = scraper.provider
        previous = previous_offers(connection, provider, source=provider, instant=observed_at)
        reading = read_pages(scraper, pages, previous=previous)
        if not reading.refused:
            older = check_older(
                connection, provider, offers=reading.offers, previous=previous, answers=answers
            )
            more = (*older, *compared(reading.offers))
            reading = replace(reading, findings=(*reading.findings, *more))
    return settle_run(
        engine, run_id, provider=scraper.provider, reading=reading, observed_at=observed_at, now=now
    )


def settle_run(
    engine: Engine, run_id: int, *, provider: str, reading: Reading, observed_at: datetime, now: datetime
) -> RunOutcome:
    """Settle a run in a transaction of its own; one that lost its slot by now keeps nothing and says so."""
    try:
        with session.writing(engine) as connection:
            return settle(
                connection,
                run_id,
                provider=provider,
                reading=reading,
                observed_at=observed_at,
                now=now,
                not_before=today(now),
            )
    except runs.LostClaimError as error:
        return RunOutcome(provider=provider, outcome=None, sentence=str(error), run_id=run_id)


def previous_offers(
    connection: Connection, provider: str, *, source: str, instant: datetime
) -> tuple[Offer, ...]:
    """Return the provider's offers before a run, when they are from the same source, else none to compare."""
    last = runs.last_good_run(connection, provider)
    if last is None or last.source != source:
        return ()
    return tuple(each.offer for each in offers_as_of(connection, instant, provider=provider))


def settle(
    connection: Connection,
    run_id: int,
    *,
    provider: str,
    reading: Reading,
    observed_at: datetime,
    now: datetime,
    not_before: datetime | None = None,
) -> RunOutcome:
    """Publish, hold or refuse what was read, and note it, all in the caller's transaction.

    `not_before` as in `publish`.
    """
    if reading.fault is not None:
        ended = _refused(provider, reading.findings, outcome=reading.fault)
    elif reading.held:
        ended = _held(connection, run_id, provider=provider, reading=reading, now=now)
    else:
        ended = publish_reading(
            connection,
            run_id,
            provider=provider,
            reading=reading,
            observed_at=observed_at,
            not_before=not_before,
        )
        if ended.result is not None:
            _supersede(connection, provider, run_id=run_id, observed_at=observed_at, now=now)
    runs.record_findings(connection, run_id, findings=ended.findings)
    runs.finish_run(
        connection,
        run_id,
        outcome=ended.outcome or Outcome.FAILED,
        sentence=ended.sentence,
        now=now,
        observed_at=observed_at,
        offers_count=len(reading.offers),
    )
    log.info("%s", ended.sentence)
    return replace(ended, run_id=run_id, offers_count=len(reading.offers))


def today(now: datetime) -> datetime:
    """Return when the day began (UTC) that is not over yet: a run changes none that is."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _supersede(
    connection: Connection, provider: str, *, run_id: int, observed_at: datetime, now: datetime
) -> None:
    """Put aside what was held before this good run: there is nothing left to decide on."""
    because = f"Run {run_id} read {provider} well at {observed_at:%Y-%m-%d %H:%M} UTC, after this one."
    held_store.supersede(connection, provider, read_by=observed_at, because=because, now=now)


def _refused(provider: str, findings: Sequence[Finding], *, outcome: Outcome) -> RunOutcome:
    """Return the outcome of a run that has nothing to publish; the last finding says why."""
    why = findings[-1].sentence if findings else "It gave no reason."
    did = "broke" if outcome is Outcome.FAILED else "was refused"
    sentence = f"The run of {provider} {did}, and its last good offers stay: {why}"
    return RunOutcome(provider=provider, outcome=outcome, sentence=sentence, findings=tuple(findings))


def _held(
    connection: Connection, run_id: int, *, provider: str, reading: Reading, now: datetime
) -> RunOutcome:
    """Keep the offers for review, and say so when they are those that were held before."""
    waiting = held_store.quarantined(connection, provider=provider)
    agreeing = [each for each in waiting if asked(each.offers) == asked(reading.offers)]
    for each in agreeing:
        held_store.note_agreement(connection, each.quarantine_id, now=now)
    quarantine_id = held_store.hold_offers(
        connection, run_id, provider=provider, offers=reading.offers, captures=reading.captures
    )
    holding = [finding for finding in reading.findings if finding.level is Level.HOLD]
    more = f" (and {len(holding) - 1} more)" if len(holding) > 1 else ""
    return RunOutcome(
        provider=provider,
        outcome=Outcome.QUARANTINED,
        sentence=f"The {len(reading.offers)} offers of {provider} are held for review as number "
        f"{quarantine_id}, and its last good offers stay: {holding[0].sentence}{more}{_again(agreeing)}",
        findings=reading.findings,
        quarantine_id=quarantine_id,
    )


def _again(agreeing: Sequence[HeldOffers]) -> str:
    """Say that held offers were read before, since when and how often."""
    if not agreeing:
        return ""
    first = agreeing[-1]
    times = f"; it is reading {len(agreeing) + 1} of the same" if len(agreeing) > 1 else ""
    return f" It agrees with number {first.quarantine_id}, held since {first.run.started_at:%Y-%m-%d}{times}."


def publish_reading(
    connection: Connection,
    run_id: int,
    *,
    provider: str,
    reading: Reading,
    observed_at: datetime,
    not_before: datetime | None = None,
) -> RunOutcome:
    """Publish the offers, or refuse them when they cannot stand beside what is stored."""
    try:
        # A savepoint: what the database refuses must not take the note about it along.
        with connection.begin_nested():
            result = publish(
                connection,
                provider=provider,
                offers=reading.offers,
                observed_at=observed_at,
                run_id=run_id,
                capture_sha256=reading.captures,
                not_before=not_before,
            )
    except (PublishError, IntegrityError, DataError, UnicodeEncodeError) as error:
        finding = _why_unpublished(error)
        outcome = Outcome.REFUSED if isinstance(error, PublishError) else Outcome.FAILED
        return _refused(provider, (*reading.findings, finding), outcome=outcome)
    return RunOutcome(
        provider=provider,
        outcome=Outcome.PUBLISHED if result.new or result.changed or result.closed else Outcome.UNCHANGED,
        sentence=f"{provider}: {result.new} new, {result.changed} changed, {result.closed} closed, "
        f"{result.unchanged} unchanged.",
        findings=reading.findings,
        result=result,
    )


def _why_unpublished(error: Exception) -> Finding:
    """Return what is noted about offers that could not be published."""
    if isinstance(error, OlderRunError):
        return hold("older_run", str(error))
    if isinstance(error, PublishError):
        return hold("not_publishable", str(error))
    log.error("The database refused offers.", exc_info=error)
    return hold("refused_by_database", "The database refused the offers.", message=error)
