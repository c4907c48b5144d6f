"""Every question about offers and prices that the program asks its database; history is never scanned."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, func, literal, or_, select, type_coerce

from app.domain.listing import NextPrice, StoredOffer
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind, usd_micros_per_gpu_hour
from app.store.rates import rates_at
from app.store.records import Outcome, PriceStep
from app.store.tables import data_version as version_table
from app.store.tables import offer, price, scrape_run
from app.store.types import BIG_INTEGER, UtcSeconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from sqlalchemy import Column, ColumnElement, Connection, Row, Select

    from app.domain.rates import Rate

GOOD_OUTCOMES: Final = (Outcome.PUBLISHED.value, Outcome.UNCHANGED.value)
"""Outcomes of a run after which its provider's offers are known to be right."""

_TEXT_FIELDS: Final = (
    "provider",
    "sku",
    "accelerator_as_written",
    "accelerator",
    "family",
    "slice_of",
    "service_kind",
    "pricing_model",
    "provider_term",
    "tier",
    "region",
    "price_basis",
    "currency",
    "source_url",
    "fragment",
)
_PLAIN_FIELDS: Final = (
    "gpu_count",
    "min_gpus",
    "variant_assumed",
    "term_days_min",
    "term_days_max",
    "memory_gb_as_written",
    "assumptions",
    "list_price",
    "is_floor",
)
_PLAIN_FROM: Final = len(_TEXT_FIELDS)
_STORED_FROM: Final = _PLAIN_FROM + len(_PLAIN_FIELDS)


def _column(name: str) -> Column[Any]:
    """Return the column that holds a field of an offer, whichever table that is in."""
    return offer.c[name] if name in offer.c else price.c[name]


_TEXT_COLUMNS: Final = tuple(_column(name) for name in _TEXT_FIELDS)
_PLAIN_COLUMNS: Final = tuple(_column(name) for name in _PLAIN_FIELDS)
_STORED_COLUMNS: Final = (
    offer.c.id,
    offer.c.first_seen_at,
    offer.c.last_seen_at,
    price.c.valid_from,
    price.c.usd_micros_per_gpu_hour,
    price.c.announced,
    price.c.confirmed_at,
    price.c.observed_at,
    price.c.capture_sha256,
)
_BASES: Final = {each.value: each for each in PriceBasis}
_PRICING: Final = {each.value: each for each in PricingModel}
_KINDS: Final = {each.value: each for each in ServiceKind}

_NEXT_COLUMNS: Final = (
    price.c.offer_id,
    price.c.list_price,
    price.c.currency,
    price.c.price_basis,
    price.c.usd_micros_per_gpu_hour,
    price.c.valid_from,
)


class _Context(NamedTuple):
    """What reading one board shares between its rows."""

    instant: datetime
    good: Mapping[str, datetime]
    coming: Mapping[int, NextPrice]
    rates: Mapping[str, Rate]
    texts: dict[str, str]


def data_version(connection: Connection) -> int:
    """Return the number that grows with every publish: while it stands, so does every answer about now."""
    return int(connection.execute(select(version_table.c.version)).scalar_one())


def offers_as_of(
    connection: Connection,
    instant: datetime,
    *,
    provider: str | None = None,
    accelerators: Collection[str] | None = None,
) -> list[StoredOffer]:
    """Return every offer that had a price at an instant, with it, ordered by id.

    `provider` and `accelerators` narrow it to one provider's and to those of some variants.
    """
    query = _as_of(instant)
    if accelerators is not None:
        query = query.where(offer.c.accelerator.in_(accelerators))
    if provider is not None:
        query = query.where(offer.c.provider == provider)
    context = _context(connection, instant)
    stored = [_stored_offer(row, context=context) for row in connection.execute(query).all()]
    stored.sort(key=attrgetter("offer_id"))
    return stored


def offer_history(connection: Connection, offer_id: int) -> list[PriceStep]:
    """Return every price an offer has had or will have, oldest first; empty for an id that is not there."""
    names = PriceStep.__dataclass_fields__
    query = (
        select(*(price.c[name] for name in names))
        .where(price.c.offer_id == offer_id)
        .order_by(price.c.valid_from)
    )
    return [
        PriceStep(**{**row, "price_basis": _BASES[row["price_basis"]]})
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


def known_names(connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the providers and the regions of all offers ever stored, each sorted: the names links use."""
    providers = connection.execute(select(offer.c.provider).distinct().order_by(offer.c.provider))
    regions = connection.execute(select(offer.c.region).distinct().order_by(offer.c.region))
    return tuple(providers.scalars()), tuple(region for region in regions.scalars() if region)


def count_prices(connection: Connection, ending: str) -> int:
    """Return how many prices are stored of the providers whose id ends like this."""
    query = select(func.count()).select_from(price.join(offer, offer.c.id == price.c.offer_id))
    found = connection.execute(query.where(offer.c.provider.endswith(ending, autoescape=True)))
    return int(found.scalar_one())


def holds_at(instant: datetime) -> ColumnElement[bool]:
    """Return the test that a price's half-open interval holds the instant.

    It is written as two searches of an index, one for open prices and one for those that ended later, so
    that prices that ended before the instant are never looked at. The second has the start in a form that no
    index serves: by an index of starts a database would read all that began before, which is all history.
    """
    began = price.c.valid_from <= instant
    started = type_coerce(price.c.valid_from, BIG_INTEGER) + 0 <= literal(instant, UtcSeconds())
    return or_(and_(price.c.valid_to.is_(None), began), and_(price.c.valid_to > instant, started))


def _as_of(instant: datetime) -> Select[Any]:
    """Return the query for the offers and their prices at an instant."""
    return (
        select(*_TEXT_COLUMNS, *_PLAIN_COLUMNS, *_STORED_COLUMNS)
        .select_from(price.join(offer, offer.c.id == price.c.offer_id))
        .where(holds_at(instant))
    )


def _context(connection: Connection, instant: datetime) -> _Context:
    """Return what the rows of one board share."""
    coming = _next_prices(connection, instant)
    rates = rates_at(connection, instant.date())
    return _Context(instant, last_good_runs(connection, instant), coming, rates, {})


def _next_prices(connection: Connection, instant: datetime) -> Mapping[int, NextPrice]:
    """Return the first price after the instant that was already announced by then, by offer id."""
    later = price.c.valid_from > instant
    query = (
        select(*_NEXT_COLUMNS)
        .where(or_(and_(price.c.valid_to.is_(None), later), and_(price.c.valid_to > instant, later)))
        .where(price.c.announced, price.c.observed_at <= instant)
        .order_by(price.c.valid_from.desc())
    )
    # Latest first, so that the earliest of several is the one that stays.
    return {row[0]: _next_price(row) for row in connection.execute(query)}


def _next_price(row: Row[int, Any, str, str, int | None, datetime]) -> NextPrice:
    """Return the announced price of a row of `_NEXT_COLUMNS`."""
    _, list_price, currency, price_basis, micros, valid_from = row
    return NextPrice(
        list_price=list_price,
        currency=currency,
        price_basis=_BASES[price_basis],
        usd_micros_per_gpu_hour=micros,
        valid_from=valid_from,
    )


def _stored_offer(row: Row[Any], *, context: _Context) -> StoredOffer:
    """Return the offer of a row of `_as_of`; nothing in it was learnt after the instant."""
    (
        offer_id,
        first_seen_at,
        last_seen_at,
        valid_from,
        micros,
        announced,
        confirmed_at,
        observed_at,
        capture_sha256,
    ) = row[_STORED_FROM:]
    instant, offer, rate = context.instant, _offer(row, texts=context.texts), None
    if micros is None and (rate := context.rates.get(offer.currency)) is not None:
        micros = usd_micros_per_gpu_hour(offer, usd_per_unit=rate.usd_per_unit)
    return StoredOffer(
        offer=offer,
        offer_id=offer_id,
        usd_micros_per_gpu_hour=micros,
        price_valid_from=valid_from,
        announced_since_page=announced and (confirmed_at is None or confirmed_at > instant),
        first_seen_at=first_seen_at,
        last_seen_at=min(last_seen_at, context.good.get(row[0], instant), instant),
        observed_at=observed_at,
        capture_sha256=context.texts.setdefault(capture_sha256, capture_sha256),
        next_price=context.coming.get(offer_id),
        rate=rate,
    )


def _offer(row: Row[Any], *, texts: dict[str, str]) -> Offer:
    """Return the offer as its scraper read it, at the price of this row.

    Most words of a board repeat on thousands of rows; `texts` keeps one object for each.
    """
    words = row[:_PLAIN_FROM]
    fields: dict[str, Any] = dict(zip(_TEXT_FIELDS, map(texts.setdefault, words, words), strict=True))
    fields.update(zip(_PLAIN_FIELDS, row[_PLAIN_FROM:_STORED_FROM], strict=True))
    fields["price_basis"] = _BASES[fields["price_basis"]]
    fields["pricing_model"] = _PRICING[fields["pricing_model"]]
    fields["service_kind"] = _KINDS[fields["service_kind"]]
    return Offer(**fields)
