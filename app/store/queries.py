"""Every question about offers and prices that the program asks its database; history is never scanned."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, func, or_, select

from app.domain.listing import NextPrice, StoredOffer
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.store.records import Outcome, PriceStep
from app.store.tables import data_version as version_table
from app.store.tables import offer, price, scrape_run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row, Select

GOOD_OUTCOMES: Final = (Outcome.PUBLISHED.value, Outcome.UNCHANGED.value)
"""Outcomes of a run after which its provider's offers are known to be right."""

_NEXT_COLUMNS: Final = (
    price.c.offer_id,
    price.c.list_price,
    price.c.currency,
    price.c.price_basis,
    price.c.usd_micros_per_gpu_hour,
    price.c.valid_from,
)


def data_version(connection: Connection) -> int:
    """Return the number that grows with every publish: while it stands, so does every answer about now."""
    return int(connection.execute(select(version_table.c.version)).scalar_one())


def data_changed_at(connection: Connection) -> datetime | None:
    """Return when something was last published, or None when nothing ever was."""
    changed_at: datetime | None = connection.execute(select(version_table.c.changed_at)).scalar_one()
    return changed_at


def offers_as_of(connection: Connection, instant: datetime) -> list[StoredOffer]:
    """Return every offer that had a price at an instant, with that price, ordered by id."""
    good = last_good_runs(connection, instant)
    coming = _next_prices(connection, instant)
    stored = [
        _stored_offer(row, good=good, coming=coming, instant=instant)
        for row in connection.execute(_as_of(instant))
    ]
    stored.sort(key=lambda each: each.offer_id)
    return stored


def offer_by_id(connection: Connection, offer_id: int, instant: datetime) -> StoredOffer | None:
    """Return one offer as it was at an instant, or None when it had no price then."""
    row = connection.execute(_as_of(instant).where(offer.c.id == offer_id)).one_or_none()
    if row is None:
        return None
    good = last_good_runs(connection, instant)
    coming = _next_prices(connection, instant, offer_id=offer_id)
    return _stored_offer(row, good=good, coming=coming, instant=instant)


def offer_history(connection: Connection, offer_id: int) -> list[PriceStep]:
    """Return every price an offer has had or will have, oldest first; empty for an id that is not there."""
    names = PriceStep.__dataclass_fields__
    query = (
        select(*(price.c[name] for name in names))
        .where(price.c.offer_id == offer_id)
        .order_by(price.c.valid_from)
    )
    return [
        PriceStep(**{**row, "price_basis": PriceBasis(row["price_basis"])})
        for row in connection.execute(query).mappings()
    ]


def last_good_runs(connection: Connection, instant: datetime | None = None) -> Mapping[str, datetime]:
    """Return when each provider was last read well, by provider; with an instant, as it was known then."""
    query = (
        select(scrape_run.c.provider, func.max(scrape_run.c.observed_at))
        .where(scrape_run.c.outcome.in_(GOOD_OUTCOMES))
        .group_by(scrape_run.c.provider)
    )
    if instant is not None:
        query = query.where(scrape_run.c.observed_at <= instant)
    return dict(connection.execute(query).all())


def first_day(connection: Connection) -> datetime | None:
    """Return the time of the oldest price, before which no date can be shown, or None without any price."""
    oldest: datetime | None = connection.execute(select(func.min(offer.c.first_seen_at))).scalar_one()
    return oldest


def holds_at(instant: datetime) -> ColumnElement[bool]:
    """Return the test that a price's half-open interval holds the instant.

    It is written as two searches of an index, one for open prices and one for those that ended later, so
    that prices that ended before the instant are never looked at.
    """
    began = price.c.valid_from <= instant
    return or_(and_(price.c.valid_to.is_(None), began), and_(price.c.valid_to > instant, began))


def _as_of(instant: datetime) -> Select[Any]:
    """Return the query for the offers and their prices at an instant."""
    return (
        select(
            offer.c.id,
            offer.c.provider,
            offer.c.sku,
            offer.c.accelerator_as_written,
            offer.c.accelerator,
            offer.c.family,
            offer.c.gpu_count,
            offer.c.min_gpus,
            offer.c.pricing_model,
            offer.c.service_kind,
            offer.c.slice_of,
            offer.c.variant_assumed,
            offer.c.provider_term,
            offer.c.tier,
            offer.c.term_days_min,
            offer.c.term_days_max,
            offer.c.region,
            offer.c.memory_gb_as_written,
            offer.c.assumptions,
            offer.c.first_seen_at,
            offer.c.last_seen_at,
            price.c.list_price,
            price.c.price_basis,
            price.c.currency,
            price.c.is_floor,
            price.c.source_url,
            price.c.fragment,
            price.c.usd_micros_per_gpu_hour,
            price.c.valid_from,
            price.c.announced,
            price.c.confirmed_at,
            price.c.observed_at,
            price.c.capture_sha256,
        )
        .select_from(price.join(offer, offer.c.id == price.c.offer_id))
        .where(holds_at(instant))
    )


def _next_prices(
    connection: Connection, instant: datetime, *, offer_id: int | None = None
) -> Mapping[int, NextPrice]:
    """Return the first price after the instant that was already announced by then, by offer id."""
    later = price.c.valid_from > instant
    query = (
        select(*_NEXT_COLUMNS)
        .where(or_(and_(price.c.valid_to.is_(None), later), and_(price.c.valid_to > instant, later)))
        .where(price.c.announced, price.c.observed_at <= instant)
        .order_by(price.c.valid_from.desc())
    )
    if offer_id is not None:
        query = query.where(price.c.offer_id == offer_id)
    # Latest first, so that the earliest of several is the one that stays.
    return {row[0]: _next_price(row) for row in connection.execute(query)}


def _next_price(row: Row[int, Any, str, str, int | None, datetime]) -> NextPrice:
    """Return the announced price of a row of `_NEXT_COLUMNS`."""
    _, list_price, currency, price_basis, micros, valid_from = row
    return NextPrice(
        list_price=list_price,
        currency=currency,
        price_basis=PriceBasis(price_basis),
        usd_micros_per_gpu_hour=micros,
        valid_from=valid_from,
    )


def _same(text: str | None) -> str | None:
    """Return one object for equal texts: most words of a board repeat on thousands of rows."""
    return None if text is None else intern(text)


def _stored_offer(
    row: Row[Any], *, good: Mapping[str, datetime], coming: Mapping[int, NextPrice], instant: datetime
) -> StoredOffer:
    """Return the offer of a row of `_as_of`; nothing in it was learnt after the instant."""
    last_good = good.get(row.provider, instant)
    return StoredOffer(
        offer=_offer(row),
        offer_id=row.id,
        usd_micros_per_gpu_hour=row.usd_micros_per_gpu_hour,
        price_valid_from=row.valid_from,
        announced_since_page=row.announced and (row.confirmed_at is None or row.confirmed_at > instant),
        first_seen_at=row.first_seen_at,
        last_seen_at=min(row.last_seen_at, last_good, instant),
        observed_at=row.observed_at,
        capture_sha256=intern(row.capture_sha256),
        next_price=coming.get(row.id),
    )


def _offer(row: Row[Any]) -> Offer:
    """Return the offer as its scraper read it, at the price of this row."""
    return Offer(
        provider=intern(row.provider),
        sku=intern(row.sku),
        accelerator_as_written=intern(row.accelerator_as_written),
        accelerator=_same(row.accelerator),
        family=_same(row.family),
        gpu_count=row.gpu_count,
        min_gpus=row.min_gpus,
        list_price=row.list_price,
        price_basis=PriceBasis(row.price_basis),
        pricing_model=PricingModel(row.pricing_model),
        service_kind=ServiceKind(row.service_kind),
        source_url=intern(row.source_url),
        fragment=intern(row.fragment),
        currency=intern(row.currency),
        slice_of=_same(row.slice_of),
        variant_assumed=row.variant_assumed,
        provider_term=intern(row.provider_term),
        tier=intern(row.tier),
        term_days_min=row.term_days_min,
        term_days_max=row.term_days_max,
        region=intern(row.region),
        memory_gb_as_written=row.memory_gb_as_written,
        is_floor=row.is_floor,
        assumptions=tuple(intern(words) for words in row.assumptions),
    )


def known_names(connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the providers and the regions of all offers ever stored, each sorted: the names links use."""
    providers = connection.execute(select(offer.c.provider).distinct().order_by(offer.c.provider))
    regions = connection.execute(select(offer.c.region).distinct().order_by(offer.c.region))
    return tuple(providers.scalars()), tuple(region for region in regions.scalars() if region)
