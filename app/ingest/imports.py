"""Publish the table of prices that comes with the program, so that a new database has something to show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from app.ingest.archive import store_body
from app.ingest.read import Reading, read_pages
from app.ingest.run import RunOutcome, already, settle
from app.store import runs, session
from app.store.queries import data_version
from app.store.records import Capture, Outcome
from scrapers import BUNDLED, Page

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy import Connection, Engine

TABLE: Final = "price_table_2026-10-30.csv"
OBSERVED_AT: Final = datetime(2026, 10, 30, tzinfo=UTC)
"""When the table's prices were read, all on one day (its column observed_on)."""

SOURCE: Final = "inferprice"


def import_when_empty(engine: Engine, home: Path, *, now: datetime) -> tuple[RunOutcome, ...]:
    """Import the table into a database to which nothing was ever published; does nothing to any other."""
    with session.reading(engine) as connection:
        is_empty = data_version(connection) == 0
    return import_table(engine, home, now=now) if is_empty else ()


def import_table(engine: Engine, home: Path, *, now: datetime) -> tuple[RunOutcome, ...]:
    """Publish the table's offers, provider by provider, as of the day they were read.

    A provider that was read well since then keeps what it has and is refused. A second import changes
    nothing. It is one transaction for all, so an import that is killed starts from nothing again.
    """
    page = _page()
    reading = read_pages(BUNDLED[SOURCE], [page])
    if reading.refused or reading.held:
        why = reading.findings[-1].sentence
        return (
            RunOutcome(provider=SOURCE, outcome=Outcome.REFUSED, sentence=why, findings=reading.findings),
        )
    store_body(home / "archive", page.body)
    with session.writing(engine) as connection:
        return tuple(
            _import_provider(connection, provider, part, page=page, now=now)
            for provider, part in _by_provider(reading).items()
        )


def _page() -> Page:
    """Return the table as if it had been fetched on the day its prices were read."""
    body = (files("app.domain") / "data" / TABLE).read_bytes()
    return Page(url=f"bundled:{TABLE}", body=body, fetched_at=OBSERVED_AT, content_type="text/csv")


def _by_provider(reading: Reading) -> Mapping[str, Reading]:
    """Return the offers of each provider in the table."""
    parts: dict[str, Reading] = {}
    for offer, sha256 in zip(reading.offers, reading.captures, strict=True):
        part = parts.get(offer.provider, Reading(findings=reading.findings))
        parts[offer.provider] = replace(part, offers=(*part.offers, offer), captures=(*part.captures, sha256))
    return parts


def _import_provider(
    connection: Connection, provider: str, part: Reading, *, page: Page, now: datetime
) -> RunOutcome:
    """Publish one provider's part in a run of its own."""
    slot = f"{OBSERVED_AT:%Y-%m-%d} {provider}"
    run_id = runs.claim_slot(connection, source=SOURCE, slot=slot, provider=provider, now=now)
    if run_id is None:
        return already(provider, f"the table of {OBSERVED_AT:%Y-%m-%d}")
    capture = Capture(
        sha256=part.captures[0],
        url=page.url,
        fetched_at=page.fetched_at,
        status=200,
        headers={},
        content_type=page.content_type,
        size_bytes=len(page.body),
    )
    runs.record_capture(connection, run_id, answer=capture)
    return settle(connection, run_id, provider=provider, reading=part, observed_at=page.fetched_at, now=now)
