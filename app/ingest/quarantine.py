"""Decide on offers that a check held: publish them as read when they were, or leave them out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.ingest.read import Reading
from app.ingest.run import RunOutcome, publish_reading, today
from app.store import held as held_store
from app.store import runs, session
from app.store.records import Outcome, State

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Engine

    from app.store.records import HeldOffers


class QuarantineError(ValueError):
    """Held offers that cannot be decided on; the message is a sentence that says why."""


def approve(engine: Engine, quarantine_id: int, *, because: str, now: datetime) -> RunOutcome:
    """Publish held offers, and note why; a later good run makes that impossible.

    They count as read when they were, and hold from then on if that is today, else from today on: days that
    are over stay as they are. What was held before them is overtaken. Raises QuarantineError for a number
    that is not there or was decided on.
    """
    with session.writing(engine) as connection:
        held = _undecided(connection, quarantine_id)
        run_id, observed_at = held.run.run_id, held.run.observed_at or held.run.started_at
        reading = Reading(offers=held.offers, captures=held.captures)
        ended = publish_reading(
            connection,
            run_id,
            provider=held.provider,
            reading=reading,
            observed_at=observed_at,
            not_before=today(now),
        )
        runs.record_findings(connection, run_id, findings=ended.findings)
        if ended.result is None:
            return replace(ended, run_id=run_id)
        held_store.decide(connection, quarantine_id, state=State.APPROVED, because=because, now=now)
        overtaken = f"Number {quarantine_id}, read later, was approved."
        held_store.supersede(connection, held.provider, read_by=observed_at, because=overtaken, now=now)
        sentence = f"{ended.sentence} Approved: {because}"
        runs.finish_run(
            connection,
            run_id,
            outcome=Outcome.PUBLISHED,
            sentence=sentence,
            now=now,
            observed_at=observed_at,
            offers_count=len(held.offers),
        )
        return replace(ended, sentence=sentence, run_id=run_id, quarantine_id=quarantine_id)


def reject(engine: Engine, quarantine_id: int, *, because: str, now: datetime) -> RunOutcome:
    """Note that held offers are not to be published, and why; raises QuarantineError as `approve` does."""
    with session.writing(engine) as connection:
        held = _undecided(connection, quarantine_id)
        held_store.decide(connection, quarantine_id, state=State.REJECTED, because=because, now=now)
    return RunOutcome(
        provider=held.provider,
        outcome=None,
        sentence=f"The {len(held.offers)} offers of {held.provider} stay unpublished. Rejected: {because}",
        run_id=held.run.run_id,
        quarantine_id=quarantine_id,
    )


def _undecided(connection: Connection, quarantine_id: int) -> HeldOffers:
    """Return held offers that are still to be decided on, or raise QuarantineError."""
    held = held_store.quarantine_by_id(connection, quarantine_id)
    if held is None:
        raise QuarantineError(f"There are no held offers with the number {quarantine_id}.")
    if held.state is not State.HELD:
        raise QuarantineError(
            f"The held offers {quarantine_id} were {held.state.value} before: {held.because}"
        )
    return held
