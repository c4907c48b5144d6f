"""Reads the prices an accelerator has had, and when its providers were read well; always by an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, type_coerce

from app.domain.history import FOR_EVER, Span
from app.store.queries import GOOD_OUTCOMES
from app.store.tables import offer, price, quarantine, scrape_run
from app.store.types import BIG_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row, Select


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Whose prices to read: one accelerator, one pricing model, these kinds of service (empty: all)."""

    accelerator: str
    pricing: str
    services: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Prices by provider, when the runs that brought them were, and whose are not in dollars."""

    spans: dict[str, list[Span]]
    read_at: dict[str, set[datetime]]
    other_currency: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuarantine:
    """A run that was once held for review, what became of it and why; times are aware and UTC."""

    quarantine_id: int
    held_at: datetime
    sentence: str
    offers_count: int
    state: str
    decided_at: datetime | None
    because: str


def spans_query(wanted: Wanted, *, start: datetime, end: datetime, limit: int) -> Select[Any]:
    """Return the query for the prices of an accelerator that held at some time between two.

    The times are written so that no index serves them: the card's offers are what narrows, and by an index of
    times a database would read the history of all others.
    """
    began = type_coerce(price.c.valid_from, BIG_INTEGER) + 0
    ended = type_coerce(price.c.valid_to, BIG_INTEGER) + 0
    query = (
        select(
            offer.c.provider,
            price.c.offer_id,
            offer.c.min_gpus,
            price.c.usd_micros_per_gpu_hour,
            price.c.valid_from,
            price.c.valid_to,
            price.c.announced,
            price.c.confirmed_at,
            price.c.observed_at,
        )
        .select_from(offer.join(price, price.c.offer_id == offer.c.id))
        .where(offer.c.accelerator == wanted.accelerator, offer.c.pricing_model == wanted.pricing)
        .where(offer.c.slice_of.is_(None), ~price.c.is_floor)
        .where(
            began < int(end.timestamp()),
            func.coalesce(ended, int(FOR_EVER.timestamp())) > int(start.timestamp()),
        )
        .limit(limit)
    )
    return query.where(offer.c.service_kind.in_(wanted.services)) if wanted.services else query


def spans_of(
    connection: Connection, wanted: Wanted, *, start: datetime, end: datetime, limit: int
) -> Found | None:
    """Return the prices of whole cards, without floors, that held between two times; None beyond `limit`."""
    rows = connection.execute(spans_query(wanted, start=start, end=end, limit=limit + 1)).all()
    if len(rows) > limit:
        return None
    found = Found(
        spans={}, read_at={}, other_currency=tuple(sorted({row[0] for row in rows if row[3] is None}))
    )
    for row in rows:
        if row[3] is not None:
            found.spans.setdefault(row[0], []).extend(_spans(row))
            found.read_at.setdefault(row[0], set()).add(row[8])
    return found


def _spans(row: Row[Any]) -> list[Span]:
    """Return one price, in two parts when it was announced and a later run saw it."""
    offer_id, min_gpus, micros, starts, ends, announced, confirmed_at = tuple[Any, ...](row)[1:8]
    seen = confirmed_at if announced else starts
    until = FOR_EVER if ends is None else ends
    parts = [(starts, min(seen or until, until), True), (max(seen or until, starts), until, False)]
    return [
        Span(
            offer_id=offer_id,
            min_gpus=min_gpus,
            usd_micros=micros,
            starts=first,
            ends=None if last == FOR_EVER else last,
            announced=is_unseen,
        )
        for first, last, is_unseen in parts
        if first < last
    ]


def good_runs(
    connection: Connection, providers: Iterable[str], *, start: datetime, end: datetime
) -> dict[str, list[datetime]]:
    """Return when each of these providers was read well between two times, in order."""
    query = (
        select(scrape_run.c.provider, scrape_run.c.observed_at)
        .where(scrape_run.c.provider.in_(list(providers)), scrape_run.c.outcome.in_(GOOD_OUTCOMES))
        .where(scrape_run.c.observed_at >= start, scrape_run.c.observed_at < end)
        .order_by(scrape_run.c.observed_at)
    )
    found: dict[str, list[datetime]] = {}
    for provider, observed_at in connection.execute(query):
        found.setdefault(provider, []).append(observed_at)
    return found


def past_quarantines(connection: Connection, provider: str, *, limit: int) -> Sequence[PastQuarantine]:
    """Return the latest runs of a provider that were ever held for review, newest first."""
    query = (
        select(
            quarantine.c.id.label("quarantine_id"),
            scrape_run.c.started_at.label("held_at"),
            scrape_run.c.sentence,
            func.coalesce(scrape_run.c.offers_count, 0).label("offers_count"),
            quarantine.c.state,
            quarantine.c.decided_at,
            quarantine.c.because,
        )
        .join_from(quarantine, scrape_run)
        .where(quarantine.c.provider == provider)
        .order_by(quarantine.c.id.desc())
        .limit(limit)
    )
    return [PastQuarantine(**row) for row in connection.execute(query).mappings()]
