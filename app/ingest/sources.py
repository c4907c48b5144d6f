"""Which sources there are and which are on, and the scrape of one: claim, ask, run."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from app.domain.providers import is_on, load_providers
from app.ingest.answer import keep_answers
from app.ingest.ask import Asking, ask_source
from app.ingest.checked import hold
from app.ingest.fetch import fetching, keys_of, limits_of
from app.ingest.fetched import FetchError
from app.ingest.read import Reading, read_pages
from app.ingest.run import RunOutcome, already, claim, run_answers, settle_run
from app.ingest.surfaces import compare_surface
from app.store import session, switches
from app.store.records import Outcome, Switch
from scrapers import ALTERNATIVES, SCRAPERS, Page, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Engine

    from app.domain.providers import ProviderFacts
    from app.ingest.fetch import Fetcher
    from app.settings import Settings
    from scrapers import Scraper

log = logging.getLogger(__name__)

REFUSALS = frozenset(("disallowed_by_robots", "foreign_host", "post_redirected", "key_in_answer"))
"""Codes of fetches that we refused, where the others failed."""

NOTHING_SAID: Mapping[str, Switch] = MappingProxyType({})


class SourceError(ValueError):
    """A source that is not there; the message is a sentence that names those that are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One source: its scraper, what we know of its provider, and whether it is on; `why` says why not.

    `switch` is what the operator said about it, if anything.
    """

    scraper: Scraper
    facts: ProviderFacts
    is_on: bool
    why: str = ""
    switch: Switch | None = None


def sources_now(engine: Engine, settings: Settings) -> tuple[Source, ...]:
    """Return every source as it is switched at this moment; raises SourceError as `sources` does."""
    with session.reading(engine) as connection:
        switched = switches.switches(connection)
    return sources(settings, switched)


def sources(settings: Settings, switched: Mapping[str, Switch] = NOTHING_SAID) -> tuple[Source, ...]:
    """Return every source, on or off; raises SourceError when the settings turn on one that is not there.

    What INFERPRICE_ENABLED_SOURCES names is on. For the rest the operator's switch decides, else its default.
    """
    for provider in settings.enabled_sources:
        if provider not in SCRAPERS:
            raise SourceError(f"INFERPRICE_ENABLED_SOURCES: {_no_source(provider)}")
    return tuple(source(provider, settings, switched=switched) for provider in SCRAPERS)


def source(provider: str, settings: Settings, *, switched: Mapping[str, Switch] = NOTHING_SAID) -> Source:
    """Return one source by its provider; raises SourceError for one that is not there."""
    if provider not in SCRAPERS:
        raise SourceError(_no_source(provider))
    facts, switch = load_providers()[provider], switched.get(provider)
    on = is_on(facts, switched=switch.is_on if switch else None, enabled=settings.enabled_sources)
    return Source(
        scraper=SCRAPERS[provider],
        facts=facts,
        is_on=on,
        why="" if on else _why_off(facts, switch),
        switch=switch,
    )


def _why_off(facts: ProviderFacts, switch: Switch | None) -> str:
    """Return why a source is off and how it is turned on."""
    if switch is not None:
        return f"{facts.name} was turned off on {switch.changed_at:%Y-%m-%d}: {switch.because}"
    return (
        f"{facts.name} is off by default. {facts.terms_note} "
        f"`inferprice sources enable {facts.id}` turns it on."
    )


def switch_source(engine: Engine, provider: str, *, is_on: bool, because: str, now: datetime) -> None:
    """Turn a source on or off for every process on this database; raises SourceError as `source` does."""
    if provider not in SCRAPERS:
        raise SourceError(_no_source(provider))
    with session.writing(engine) as connection:
        switches.switch(connection, provider, is_on=is_on, because=because, now=now)


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
    progress: Callable[[str, RunOutcome | None], None] = lambda _provider, _outcome: None,
) -> tuple[RunOutcome, ...]:
    """Run the sources of these providers, or all that are on; one that fails does not keep the others.

    `slot` is what each source runs once for: the minute by default, a day for the scheduler. A source that is
    off is not run, and its outcome says why. `progress` is called with each provider before
    its run, and after it with how that ended. Raises SourceError for a provider without a source.
    """
    every = {each.scraper.provider: each for each in sources_now(engine, settings)}
    for provider in providers:
        if provider not in every:
            raise SourceError(_no_source(provider))
    asked = [every[provider] for provider in providers] or [each for each in every.values() if each.is_on]
    slot = slot or f"{clock():%Y-%m-%dT%H:%MZ}"
    ended = []
    with ExitStack() as stack:
        fetcher = fetcher or stack.enter_context(fetching(limits_of(settings), clock, keys=keys_of(settings)))
        for each in asked:
            progress(each.scraper.provider, None)
            ended.append(_scrape_one(engine, settings, each, fetcher=fetcher, clock=clock, slot=slot))
            progress(each.scraper.provider, ended[-1])
    return tuple(ended)


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
    asking = Asking(engine=engine, archive=archive, hosts=each.facts.hosts, fetcher=fetcher)
    try:
        answers = ask_source(asking, each.scraper)
    except Exception as error:  # noqa: BLE001 - a fault of one source must not keep the others
        keep_answers(engine, archive, answers=asking.got, run_id=run_id)
        reading = _without_page(provider, error)
        return settle_run(
            engine, run_id, provider=provider, reading=reading, observed_at=clock(), now=clock()
        )
    return run_answers(
        engine,
        archive,
        scraper=each.scraper,
        answers=answers,
        run_id=run_id,
        now=clock(),
        compared=lambda offers: compare_surface(
            asking, ALTERNATIVES.get(provider), offers=offers, run_id=run_id
        ),
    )


def _without_page(provider: str, error: Exception) -> Reading:
    """Return what a run is that got no page: refused by us, or failed."""
    if isinstance(error, FetchError):
        fault = Outcome.REFUSED if error.code in REFUSALS else Outcome.FAILED
        return Reading(findings=(hold(error.code, str(error), **error.evidence),), fault=fault)
    if isinstance(error, ParseError):
        finding = hold(error.code, str(error), **error.evidence)
        return Reading(findings=(finding,), fault=Outcome.REFUSED)
    log.error("The fetch of %s broke.", provider, exc_info=error)
    name = type(error).__name__
    finding = hold("fetch_failed", f"The fetch broke with {name}.", type=name, message=error)
    return Reading(findings=(finding,), fault=Outcome.FAILED)
