"""Read archived pages again with today's parser: what would change, run by run, and publish the newest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.offers import offer_key
from app.ingest.archive import ArchiveError, read_body
from app.ingest.read import Reading, read_pages
from app.ingest.run import RunOutcome, already, claim, previous_offers, settle_run
from app.store import captures, session
from app.store.queries import offers_as_of
from scrapers import Page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from app.domain.offers import Offer
    from app.store.records import Capture, Run
    from scrapers import Scraper


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One offer that would be another one: `was` is None for an added one, `now` for one that is gone."""

    was: Offer | None
    now: Offer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """One run read again: what today's parser makes of its pages, and how that differs from the board then.

    `missing` says which body is no longer in the archive; there is nothing to read then.
    """

    run: Run
    observed_at: datetime
    reading: Reading
    changes: tuple[Change, ...] = ()
    missing: str = ""


def reread(engine: Engine, archive: Path, *, scraper: Scraper, since: datetime) -> tuple[Reread, ...]:
    """Read every archived run of a source from a time on again, oldest first; nothing is written."""
    with session.reading(engine) as connection:
        found = captures.runs_with_captures(connection, scraper.provider, since=since)
        return tuple(_reread(connection, archive, run, kept=kept, scraper=scraper) for run, kept in found)


def _reread(
    connection: Connection, archive: Path, run: Run, *, kept: Sequence[Capture], scraper: Scraper
) -> Reread:
    """Read one run again, and compare it with what the board showed when the run had ended."""
    observed_at = max(each.fetched_at for each in kept)
    asked = {request.url for request in scraper.requests}
    # Pages of another surface were archived with the run to be compared, and are not this parser's.
    first = [each for each in kept if each.url in asked] or list(kept)
    try:
        pages = [_page(archive, each) for each in first]
    except ArchiveError as error:
        return Reread(run=run, observed_at=observed_at, reading=Reading(), missing=str(error))
    before = previous_offers(connection, scraper.provider, source=scraper.provider, instant=observed_at)
    reading = read_pages(scraper, pages, previous=before)
    shown = [each.offer for each in offers_as_of(connection, observed_at, provider=scraper.provider)]
    changes = () if reading.refused else changes_between(shown, reading.offers)
    return Reread(run=run, observed_at=observed_at, reading=reading, changes=changes)


def _page(archive: Path, capture: Capture) -> Page:
    """Return an archived answer as the parser gets it."""
    return Page(
        url=capture.url,
        body=read_body(archive, capture.sha256),
        fetched_at=capture.fetched_at,
        content_type=capture.content_type,
    )


def changes_between(was: Sequence[Offer], now: Sequence[Offer]) -> tuple[Change, ...]:
    """Return what is gone, changed and added, in this order, between offers and later ones.

    Announced prices are for another day: where an offer has several, the one without a date is compared.
    """
    old, new = _by_key(was), _by_key(now)
    gone = (Change(was=offer, now=None) for key, offer in old.items() if key not in new)
    changed = (
        Change(was=old[key], now=offer)
        for key, offer in new.items()
        if key in old and _price(old[key]) != _price(offer)
    )
    added = (Change(was=None, now=offer) for key, offer in new.items() if key not in old)
    return (*gone, *changed, *added)


def _by_key(offers: Sequence[Offer]) -> dict[str, Offer]:
    """Return the offers by key, undated ones before dated ones."""
    dated_first = sorted(offers, key=lambda offer: offer.valid_from is None)
    return {offer_key(offer): offer for offer in dated_first}


def _price(offer: Offer) -> tuple[object, ...]:
    """Return what makes a price another one."""
    return offer.list_price, offer.currency, offer.price_basis, offer.is_floor


def publish_reread(engine: Engine, again: Reread, *, provider: str, now: datetime) -> RunOutcome:
    """Publish one run read again, in a run of its own and through the same checks; it may be held.

    It is published as read when its pages were, so the store refuses it when the provider was read well
    later: older never stands over newer. It holds from now on, or from its own time when that is today; days
    that are over keep what they showed, whatever today's parser would have made of them.
    """
    slot = f"reparse of run {again.run.run_id} at {now:%Y-%m-%dT%H:%M:%SZ}"
    run_id = claim(engine, provider, slot=slot, now=now)
    if run_id is None:
        return already(provider, slot)
    return settle_run(
        engine, run_id, provider=provider, reading=again.reading, observed_at=again.observed_at, now=now
    )


def newest_readable(rereads: Sequence[Reread]) -> Reread | None:
    """Return the last run whose pages are all there and understood, or None."""
    readable = [each for each in rereads if not each.missing and not each.reading.refused]
    return readable[-1] if readable else None
