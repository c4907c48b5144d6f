"""Which sources there are and which are on, and the scrape of one: claim, ask, run."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.providers import load_providers
from app.ingest.archive import ArchiveError, read_body
from app.ingest.checked import hold
from app.ingest.fetch import fetching, limits_of
from app.ingest.fetched import FetchError
from app.ingest.read import Reading, read_pages
from app.ingest.run import Answer, RunOutcome, already, claim, request_sha256, run_answers, settle_run
from app.store import runs, session
from app.store.records import Outcome
from scrapers import SCRAPERS, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Engine

    from app.domain.providers import ProviderFacts
    from app.ingest.fetch import Fetcher
    from app.settings import Settings
    from app.store.records import Capture
    from scrapers import Request, Scraper

log = logging.getLogger(__name__)

REFUSALS = frozenset(("disallowed_by_robots", "foreign_host"))
"""Codes of fetches that we refused, where the others failed."""


class SourceError(ValueError):
    """A source that is not there; the message is a sentence that names those that are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One source: its scraper, what we know of its provider, and whether it is on; `why` says why not."""

    scraper: Scraper
    facts: ProviderFacts
    is_on: bool
    why: str = ""


def sources(settings: Settings) -> tuple[Source, ...]:
    """Return every source, on or off; raises SourceError when the settings turn on one that is not there."""
    for provider in settings.enabled_sources:
        if provider not in SCRAPERS:
            raise SourceError(f"INFERPRICE_ENABLED_SOURCES: {_no_source(provider)}")
    return tuple(source(provider, settings) for provider in SCRAPERS)


def source(provider: str, settings: Settings) -> Source:
    """Return one source by its provider; raises SourceError for one that is not there."""
    if provider not in SCRAPERS:
        raise SourceError(_no_source(provider))
    facts = load_providers()[provider]
    is_on = facts.enabled_by_default or provider in settings.enabled_sources
    why = (
        f"{facts.name} is off by default. {facts.terms_note} "
        f"It is on when INFERPRICE_ENABLED_SOURCES names {provider}."
    )
    return Source(scraper=SCRAPERS[provider], facts=facts, is_on=is_on, why="" if is_on else why)


def _no_source(provider: str) -> str:
    return f"there is no source '{provider}'; there are {', '.join(sorted(SCRAPERS))}."


def inspect_page(scraper: Scraper, body: bytes, *, url: str | None, fetched_at: datetime) -> Reading:
    """Return what a scrape would make of a page that is at hand; nothing is stored.

    `url` is where it came from, the source's own first address when None.
    """
    page = Page(url=url or scraper.requests[0].url, body=body, fetched_at=fetched_at)
    return read_pages(scraper, [page])


def scrape(
    engine: Engine,
    settings: Settings,
    *,
    providers: Sequence[str] = (),
    clock: Callable[[], datetime],
    slot: str | None = None,
    fetcher: Fetcher | None = None,
) -> tuple[RunOutcome, ...]:
    """Run the sources of these providers, or all that are on; one that fails does not keep the others.

    `slot` is what each source runs once for: the minute by default, a day for the scheduler. A source that is
    off is not run, and its outcome says why. Raises SourceError for a provider without a source.
    """
    every = sources(settings)
    asked = [source(provider, settings) for provider in providers] or [each for each in every if each.is_on]
    slot = slot or f"{clock():%Y-%m-%dT%H:%MZ}"
    with ExitStack() as stack:
        fetcher = fetcher or stack.enter_context(fetching(limits_of(settings), clock))
        return tuple(
            _scrape_one(engine, settings, each, fetcher=fetcher, clock=clock, slot=slot) for each in asked
        )


def _scrape_one(
    engine: Engine,
    settings: Settings,
    each: Source,
    *,
    fetcher: Fetcher,
    clock: Callable[[], datetime],
    slot: str,
) -> RunOutcome:
    """Claim the slot, ask, and run what came; a page that cannot be had ends the run in a finding."""
    provider = each.scraper.provider
    if not each.is_on:
        return RunOutcome(provider=provider, outcome=None, sentence=each.why)
    archive, lapses_after = settings.archive, timedelta(seconds=settings.run_limit_s)
    run_id = claim(engine, provider, slot=slot, now=clock(), lapses_after=lapses_after)
    if run_id is None:
        return already(provider, slot)
    try:
        answers = [
            _ask(engine, archive, request, facts=each.facts, fetcher=fetcher)
            for request in each.scraper.requests
        ]
    except Exception as error:  # noqa: BLE001 - a fault of one source must not keep the others
        reading = _without_page(provider, error)
        return settle_run(
            engine, run_id, provider=provider, reading=reading, observed_at=clock(), now=clock()
        )
    return run_answers(engine, archive, scraper=each.scraper, answers=answers, run_id=run_id, now=clock())


def _without_page(provider: str, error: Exception) -> Reading:
    """Return what a run is that got no page: refused by us, or failed."""
    if isinstance(error, FetchError):
        fault = Outcome.REFUSED if error.code in REFUSALS else Outcome.FAILED
        return Reading(findings=(hold(error.code, str(error), **error.evidence),), fault=fault)
    log.error("The fetch of %s broke.", provider, exc_info=error)
    name = type(error).__name__
    finding = hold("fetch_failed", f"The fetch broke with {name}.", type=name, message=error)
    return Reading(findings=(finding,), fault=Outcome.FAILED)


def _ask(
    engine: Engine, archive: Path, request: Request, *, facts: ProviderFacts, fetcher: Fetcher
) -> Answer:
    """Return the answer to one request; a page that is as it was is taken from the archive."""
    known, kept = _last_answer(engine, archive, request)
    fetched = fetcher.fetch(request, hosts=facts.hosts, known=known)
    is_kept = fetched.is_unchanged and known is not None
    page = Page(
        url=fetched.url,
        body=kept if is_kept else fetched.body,
        fetched_at=fetched.fetched_at,
        content_type=known.content_type if is_kept and known is not None else fetched.content_type,
    )
    # A 304 need not repeat the headers by which the page is asked for again.
    headers = {**known.headers, **fetched.headers} if is_kept and known is not None else fetched.headers
    return Answer(request=request, page=page, status=fetched.status, headers=headers)


def _last_answer(engine: Engine, archive: Path, request: Request) -> tuple[Capture | None, bytes]:
    """Return the last answer to a request and its body, or none when the archive has it no longer."""
    with session.reading(engine) as connection:
        known = runs.last_capture(
            connection, request.url, method=request.method, request_sha256=request_sha256(request)
        )
    if known is None:
        return None, b""
    try:
        return known, read_body(archive, known.sha256)
    except ArchiveError as error:
        log.warning("%s The page is fetched whole.", error)
        return None, b""
