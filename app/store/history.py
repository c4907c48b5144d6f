"""Reads the prices an accelerator has had, and when its providers were read well; always by an index."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, type_coerce

from app.domain.history import FOR_EVER, Listed, Stretch
from app.store.queries import GOOD_OUTCOMES
from app.store.tables import offer, price, quarantine, scrape_run
from app.store.types import BIG_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Whose prices to read: one accelerator, one pricing model, these services and providers (empty: all)."""

    accelerator: str
    pricing: str
    services: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()


ROWS_AT_ONCE: Final = 1000
"""Rows that are turned together: all at once would keep the collector of garbage busy."""


class Moments(dict[int | None, datetime]):
    """Aware UTC times by their Unix seconds, each made once: of a long history most stand several times."""

    def __missing__(self, seconds: int | None) -> datetime:
        """Make a time; no time is one that never comes."""
        self[seconds] = FOR_EVER if seconds is None else datetime.fromtimestamp(seconds, UTC)
        return self[seconds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Offers with their prices by provider, when the runs that brought them were, who is not in dollars.

    `read_at_s` are Unix seconds.
    """

    listed: Mapping[str, list[Listed]]
    read_at_s: Mapping[str, set[int]]
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


def prices_query(wanted: Wanted, *, start: datetime, end: datetime, limit: int) -> Select[Any]:
    """Return the query for the prices of an accelerator that held at some time between two, in Unix seconds.

    The times are written so that no index serves them: the card's offers are what narrows, and by an index of
    times a database would read the history of all others.
    """
    began, ended = _whole(price.c.valid_from), _whole(price.c.valid_to)
    query = (
        select(
            offer.c.provider,
            price.c.offer_id,
            offer.c.min_gpus,
            price.c.usd_micros_per_gpu_hour,
            began,
            ended,
            _whole(price.c.announced),
            _whole(price.c.confirmed_at),
            _whole(price.c.observed_at),
        )
        .select_from(offer.join(price, price.c.offer_id == offer.c.id))
        .where(offer.c.accelerator == wanted.accelerator, offer.c.pricing_model == wanted.pricing)
        .where(offer.c.slice_of.is_(None), ~price.c.is_floor)
        .where(
            began + 0 < int(end.timestamp()),
            func.coalesce(ended + 0, int(FOR_EVER.timestamp())) > int(start.timestamp()),
        )
        .limit(limit)
    )
    if wanted.providers:
        query = query.where(offer.c.provider.in_(wanted.providers))
    return query.where(offer.c.service_kind.in_(wanted.services)) if wanted.services else query


def prices_of(
    connection: Connection, wanted: Wanted, *, start: datetime, end: datetime, limit: int
) -> Found | None:
    """Return the prices of whole cards, without floors, that held between two times; None beyond `limit`."""
    query = prices_query(wanted, start=start, end=end, limit=limit + 1)
    moments, count = Moments(), 0
    listed: dict[str, list[Listed]] = defaultdict(list)
    read_at_s: dict[str, set[int]] = defaultdict(set)
    by_offer: dict[int, tuple[list[Stretch], set[int]]] = {}
    others: set[str] = set()
    for rows in connection.execute(query).partitions(ROWS_AT_ONCE):
        count += len(rows)
        for provider, offer_id, min_gpus, micros, began, ended, announced, confirmed, observed in rows:
            if micros is None:
                others.add(provider)
                continue
            if offer_id not in by_offer:
                by_offer[offer_id] = ([], read_at_s[provider])
                listed[provider].append(Listed(offer_id, min_gpus, by_offer[offer_id][0]))
            stretches, times = by_offer[offer_id]
            times.add(observed)
            each = Stretch(moments[began], moments[ended], micros, offer_id, False)
            if announced:
                stretches += _seen_from(each, moments[confirmed])
            else:
                stretches.append(each)
    if count > limit:
        return None
    return Found(listed=listed, read_at_s=read_at_s, other_currency=tuple(sorted(others)))


def _seen_from(each: Stretch, confirmed_at: datetime) -> list[Stretch]:
    """Return an announced price in two parts when a later run saw it while it held."""
    if confirmed_at >= each.ends:
        return [each._replace(announced=True)]
    if confirmed_at <= each.starts:
        return [each]
    return [each._replace(ends=confirmed_at, announced=True), each._replace(starts=confirmed_at)]


def _whole(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a time as the Unix seconds, a flag as the 0 or 1, that the database holds."""
    return type_coerce(column, BIG_INTEGER)


def runs_query(providers: Iterable[str], *, start: datetime, end: datetime) -> Select[Any]:
    """Return the query for when each of these providers was read well between two times, in Unix seconds."""
    return (
        select(scrape_run.c.provider, _whole(scrape_run.c.observed_at))
        .where(scrape_run.c.provider.in_(list(providers)), scrape_run.c.outcome.in_(GOOD_OUTCOMES))
        .where(scrape_run.c.observed_at >= start, scrape_run.c.observed_at < end)
    )


def good_runs(
    connection: Connection, providers: Iterable[str], *, start: datetime, end: datetime
) -> dict[str, list[int]]:
    """Return when each of these providers was read well between two times, in Unix seconds."""
    runs: dict[str, list[int]] = defaultdict(list)
    query = runs_query(providers, start=start, end=end)
    for rows in connection.execute(query).partitions(ROWS_AT_ONCE):
        for provider, seconds in rows:
            runs[provider].append(seconds)
    return runs


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
