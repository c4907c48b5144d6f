"""Carry in the days of the aggregator gpurentalprices.com, in order, and tell price moves from its rates.

A provider whose own list is in another currency (`OWN_CURRENCY` of its parser) gets dollars from the
aggregator that move with an exchange rate. When all its rows moved by one and the same factor since the day
before, within what rounding leaves open, only the rate moved: the price that is stored stays. When they did
not, nobody can tell a list price from the rate; the new figures are stored and counted as unclear. Neither is
a price move.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.findings import holds
from app.domain.offers import offer_key
from app.domain.providers import MARKETPLACE, VIA, via
from app.ingest.archive import store_body
from app.ingest.checks import check_offers
from app.ingest.read import Reading
from app.ingest.run import RunOutcome, publish_reading
from app.store import queries, runs, session
from app.store.records import Capture, Outcome
from app.store.snapshots import sealed_until_of
from scrapers.base import Expect, Page, ParseError
from scrapers.gpurentalprices import OWN_CURRENCY, PROVIDER, parse, read_day

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from app.domain.findings import Finding
    from app.domain.offers import Offer

DIGITS: Final = Decimal("0.00005")
"""How far the aggregator's dollars may be from what they stand for: it rounds to four places."""

_UNKNOWN: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for when a file was made until its own word for that is read."""

EXPECT: Final = Expect(min_offers=1)


class ImportRefusedError(ValueError):
    """A folder or a file that is not the aggregator's; the message is a sentence."""


@dataclass(slots=True)  # it counts while days are carried in
class Imported:
    """What an import did, by provider; `left_out` says why a provider's day was not taken over."""

    days: int = 0
    price_rows: int = 0
    moves: Counter[str] = field(default_factory=Counter)
    rate_moves: Counter[str] = field(default_factory=Counter)
    unclear: Counter[str] = field(default_factory=Counter)
    offers: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)


@dataclass(slots=True)  # it remembers the day before
class _Before:
    """A provider's dollars as the aggregator had them the day before, and as they are stored, by offer."""

    printed: dict[str, Decimal] = field(default_factory=dict)
    kept: dict[str, Decimal] = field(default_factory=dict)


def import_folder(engine: Engine, archive: Path, *, folder: Path, now: datetime) -> Imported:
    """Carry in every day in a folder, oldest first; days that were carried in before change nothing.

    It is one transaction for all, so an import that is killed starts from nothing again. Raises
    ImportRefusedError for a folder without a day, and for a file that is not one.
    """
    pages = [_page(path) for path in sorted(folder.glob("*.json"))]
    if not pages:
        raise ImportRefusedError(f"There is no day (a file like 2026-07-05.json) in {folder}.")
    done, before = Imported(), defaultdict[str, _Before](_Before)
    with session.writing(engine) as connection:
        for page in sorted(pages, key=lambda page: page.fetched_at):
            store_body(archive, page.body)
            _import_day(connection, page, done=done, before=before, now=now)
        done.days, done.price_rows = len(pages), queries.count_prices(connection, via(PROVIDER, ""))
    return done


def _page(path: Path) -> Page:
    """Return a file as if it had been fetched when the aggregator made it."""
    page = Page(url=f"{PROVIDER}:{path.name}", body=path.read_bytes(), fetched_at=_UNKNOWN)
    try:
        made_at = datetime.fromisoformat(read_day(page)["generated_at"])
    except (ParseError, ValueError) as error:
        raise ImportRefusedError(f"{path.name} is no day of {PROVIDER}: {error}") from None
    if made_at.tzinfo is None:
        raise ImportRefusedError(f"{path.name} does not say in which zone its times are.")
    return replace(page, fetched_at=made_at.replace(microsecond=0), content_type="application/json")


def _import_day(
    connection: Connection, page: Page, *, done: Imported, before: Mapping[str, _Before], now: datetime
) -> None:
    """Carry in one day, provider by provider; a file whose rows are not understood ends the import."""
    try:
        parsed = parse(page)
    except ParseError as error:
        why = ", ".join(error.evidence.values())
        raise ImportRefusedError(f"{page.url} was not understood: {error} ({why})") from None
    by_provider: defaultdict[str, list[Offer]] = defaultdict(list)
    for offer in parsed.offers:
        by_provider[offer.provider].append(offer)
    for provider, offers in by_provider.items():
        stored, unclear = _without_rate(provider, offers, before=before[provider], done=done)
        about = tuple(each for each in parsed.findings if each.evidence.get("provider") == provider)
        run = _Run(provider=provider, page=page, offers=tuple(stored), findings=about, now=now)
        moved = _publish(connection, run, done=done)
        (done.unclear if unclear else done.moves)[provider] += moved


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One provider's part of one day."""

    provider: str
    page: Page
    offers: tuple[Offer, ...]
    findings: tuple[Finding, ...]
    now: datetime


def _publish(connection: Connection, run: _Run, *, done: Imported) -> int:
    """Publish one provider's part in a run of its own; return how many offers changed their price."""
    slot = f"{run.page.fetched_at:%Y-%m-%d} {run.provider}"
    run_id = runs.claim_slot(connection, source=PROVIDER, slot=slot, provider=run.provider, now=run.now)
    if run_id is None:
        return 0
    capture = Capture(
        sha256=hashlib.sha256(run.page.body).hexdigest(),
        url=run.page.url,
        fetched_at=run.page.fetched_at,
        status=200,
        headers={},
        content_type=run.page.content_type,
        size_bytes=len(run.page.body),
    )
    runs.record_capture(connection, run_id, answer=capture)
    ended = _settle(connection, run, run_id=run_id, sha256=capture.sha256)
    if ended.outcome is Outcome.REFUSED:
        done.left_out.append(f"{slot}: {ended.sentence}")
    done.offers[run.provider] = len(run.offers)
    runs.record_findings(connection, run_id, findings=(*run.findings, *ended.findings))
    runs.finish_run(
        connection,
        run_id,
        outcome=ended.outcome or Outcome.FAILED,
        sentence=ended.sentence,
        now=run.now,
        observed_at=run.page.fetched_at,
        offers_count=len(run.offers),
    )
    return ended.result.changed if ended.result else 0


def _settle(connection: Connection, run: _Run, *, run_id: int, sha256: str) -> RunOutcome:
    """Publish what passes the checks; the rest is refused and not held, since nobody reviews days gone by."""
    findings = check_offers(run.offers, EXPECT, kind=MARKETPLACE)
    until = sealed_until_of(connection, run.provider)
    sentence = findings[0].sentence if holds(findings) else ""
    if until is not None and run.page.fetched_at < until:
        sentence = f"The days before {until:%Y-%m-%d} are sealed."
    if sentence:
        return RunOutcome(
            provider=run.provider, outcome=Outcome.REFUSED, sentence=sentence, findings=findings
        )
    reading = Reading(offers=run.offers, captures=(sha256,) * len(run.offers), findings=findings)
    return publish_reading(
        connection, run_id, provider=run.provider, reading=reading, observed_at=run.page.fetched_at
    )


def _without_rate(
    provider: str, offers: Sequence[Offer], *, before: _Before, done: Imported
) -> tuple[list[Offer], bool]:
    """Return the offers as they are to be stored, and whether list price and rate cannot be told apart."""
    printed = {offer_key(offer): offer.list_price for offer in offers}
    last, before.printed = before.printed, printed
    if provider.partition(VIA)[0] not in OWN_CURRENCY:
        return list(offers), False
    common = [key for key in printed if key in last]
    unclear = not only_the_rate_moved([(last[key], printed[key]) for key in common])
    if not unclear:
        done.rate_moves[provider] += sum(last[key] != printed[key] for key in common)
    kept = before.kept
    before.kept = {key: price if unclear or key not in last else kept[key] for key, price in printed.items()}
    return [replace(offer, list_price=before.kept[offer_key(offer)]) for offer in offers], unclear


def only_the_rate_moved(pairs: Sequence[tuple[Decimal, Decimal]]) -> bool:
    """Tell whether one factor leads from all old prices to all new ones, as far as four places can show.

    A single price that moved proves nothing: it may be its own.
    """
    if all(old == new for old, new in pairs):
        return True
    lowest = max((new - DIGITS) / (old + DIGITS) for old, new in pairs)
    highest = min((new + DIGITS) / (old - DIGITS) for old, new in pairs)
    return len(pairs) > 1 and lowest <= highest
