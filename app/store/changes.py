"""What happened between two instants, worked out from the price intervals that begin and end there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, desc, func, or_, select, type_coerce

from app.domain.changes import Change, ChangeKind, PricePoint, kind_of_step
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.store.records import Outcome
from app.store.tables import offer, price, scrape_run
from app.store.types import BIG_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

SECONDS_PER_DAY: Final = 86_400

_OFFER_FIELDS: Final = tuple(part.name for part in fields(Offer) if part.name != "valid_from")
_POINT_FIELDS: Final = tuple(part.name for part in fields(PricePoint))

_BASES: Final = {each.value: each for each in PriceBasis}
_MODELS: Final = {each.value: each for each in PricingModel}
_KINDS_OF_SERVICE: Final = {each.value: each for each in ServiceKind}

ROWS_AT_ONCE: Final = 1000
"""Rows that are fetched together: a week of large runs has tens of thousands."""

_before = price.alias("before")
_next = price.alias("following")

_COLUMNS: Final = (
    price.c.offer_id,
    *(offer.c[name] if name in offer.c else price.c[name] for name in _OFFER_FIELDS),
    price.c.usd_micros_per_gpu_hour,
    price.c.valid_from,
    price.c.valid_to,
    price.c.announced,
    price.c.observed_at,
    scrape_run.c.source,
)
_BEFORE_COLUMNS: Final = (
    *(_before.c[name].label(f"before_{name}") for name in _POINT_FIELDS),
    _before.c.valid_from.label("before_from"),
    _before.c.valid_to.label("before_to"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Whose changes to read: empty means everybody's; variants and families are one choice together."""

    providers: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    families: tuple[str, ...] = ()


ALL: Final = Wanted()


def changes_between(
    connection: Connection, *, start: datetime, end: datetime, now: datetime, wanted: Wanted = ALL
) -> list[Change]:
    """Return what happened in the half-open time from start to end and until now, the latest day first.

    Within a day it is in the order of `ChangeKind`, then by provider and accelerator.
    """
    end = min(end, now + timedelta(seconds=1))
    found = [
        *_begun(connection, start, end, wanted=wanted),
        *_ended(connection, start, end, wanted=wanted),
        *_announced(connection, start, end, wanted=wanted),
    ]
    found.sort(key=_order)
    found.sort(key=lambda change: change.at.date(), reverse=True)
    return found


def change_days(
    connection: Connection, *, until: date, limit: int, providers: Sequence[str] = ()
) -> list[date]:
    """Return the latest days up to `until` on which anything changed, the latest first.

    For chosen providers these are the days of their runs that published and of their announced prices, of
    which a few may turn out to have nothing: to find the others no history is read.
    """
    end = midnight(until + timedelta(days=1))
    return (
        _provider_days(connection, providers, limit, before=end)
        if providers
        else _back(connection, end, limit)
    )


def next_change_days(
    connection: Connection, *, after: date, until: date, limit: int, providers: Sequence[str] = ()
) -> list[date]:
    """Return the first days after `after` and up to `until` on which anything changed, the latest first."""
    start, end = (midnight(day + timedelta(days=1)) for day in (after, until))
    if providers:
        return _provider_days(connection, providers, limit, before=end, start=start)
    return _forth(connection, start, limit, end=end)


def first_offered(connection: Connection, accelerators: Iterable[str]) -> Mapping[str, datetime]:
    """Return when each accelerator was first offered by anybody; one that never was is left out."""
    found = {}
    for accelerator in accelerators:
        query = select(func.min(offer.c.first_seen_at)).where(offer.c.accelerator == accelerator)
        first: datetime | None = connection.execute(query).scalar_one()
        if first is not None:
            found[accelerator] = first
    return found


def midnight(day: date) -> datetime:
    """Return the beginning of a day in UTC."""
    return datetime.combine(day, time(), UTC)


def begun_query(start: datetime, end: datetime, *, wanted: Wanted = ALL) -> Select[Any]:
    """Return the query for prices that begin in a time, each with the last price before it."""
    return _with_before(price.c.valid_from, start, end, wanted=wanted)


def announced_query(start: datetime, end: datetime, *, wanted: Wanted = ALL) -> Select[Any]:
    """Return the query for prices that were announced in a time, each with the last price before it."""
    return _with_before(price.c.observed_at, start, end, wanted=wanted).where(price.c.announced)


def ended_query(start: datetime, end: datetime, *, wanted: Wanted = ALL) -> Select[Any]:
    """Return the query for prices that end in a time and that no other follows at once."""
    # By the offer's few prices: a run's thousands of new prices begin at the same second.
    began = type_coerce(_next.c.valid_from, BIG_INTEGER) + 0
    followed = select(_next.c.id).where(_next.c.offer_id == price.c.offer_id, began == price.c.valid_to)
    return (
        select(*_COLUMNS)
        .select_from(_prices())
        .where(price.c.valid_to >= start, price.c.valid_to < end, ~followed.exists())
        .where(*_choice(wanted))
    )


def _with_before(
    moment: ColumnElement[Any], start: datetime, end: datetime, *, wanted: Wanted
) -> Select[Any]:
    earlier = price.alias("earlier")
    last = select(func.max(earlier.c.valid_to)).where(
        earlier.c.offer_id == price.c.offer_id, earlier.c.valid_to <= price.c.valid_from
    )
    same = and_(_before.c.offer_id == price.c.offer_id, _before.c.valid_to == last.scalar_subquery())
    return (
        select(*_COLUMNS, *_BEFORE_COLUMNS)
        .select_from(_prices().outerjoin(_before, same))
        .where(moment >= start, moment < end)
        .where(*_choice(wanted))
    )


def _prices() -> Any:
    return price.join(offer, offer.c.id == price.c.offer_id).join(
        scrape_run, scrape_run.c.id == price.c.run_id
    )


def _choice(wanted: Wanted) -> list[ColumnElement[bool]]:
    """Return the tests of a choice, written so that no index of `offer` serves them.

    By one of those the database would read every price that a provider or a card ever had; the time is what
    narrows.
    """
    found: list[ColumnElement[bool]] = []
    if wanted.providers:
        found.append(offer.c.provider.concat("").in_(wanted.providers))
    if wanted.variants or wanted.families:
        card = offer.c.accelerator.concat("").in_(wanted.variants)
        found.append(or_(card, offer.c.family.in_(wanted.families)))
    return found


def _begun(connection: Connection, start: datetime, end: datetime, *, wanted: Wanted) -> list[Change]:
    """Return moves, new offers and those that are back."""
    found = []
    for row in _read(connection, begun_query(start, end, wanted=wanted)):
        each, after, before = _offer(row), _point(row), _before_point(row)
        is_gap = row["before_to"] != row["valid_from"]
        kind = kind_of_step(before, after, offer=each, is_gap=is_gap)
        announced_at = row["observed_at"] if row["announced"] else None
        at: datetime = row["valid_from"]
        holds = row["valid_to"] is None or row["valid_to"] > _end_of(at.date())
        found.append(
            Change(
                kind=kind,
                at=at,
                offer_id=row["offer_id"],
                offer=each,
                before=before,
                after=after,
                starts_at=None,
                announced_at=announced_at,
                source=row["source"],
                shown_on=at.date() if holds else None,
            )
        )
    return found


def _ended(connection: Connection, start: datetime, end: datetime, *, wanted: Wanted) -> list[Change]:
    """Return the offers that were withdrawn, with the last day whose board holds them."""
    found = []
    for row in _read(connection, ended_query(start, end, wanted=wanted)):
        at: datetime = row["valid_to"]
        day = at.date() - timedelta(days=1)
        found.append(
            Change(
                kind=ChangeKind.WITHDRAWN,
                at=at,
                offer_id=row["offer_id"],
                offer=_offer(row),
                before=_point(row),
                after=None,
                starts_at=None,
                announced_at=None,
                source=row["source"],
                shown_on=day if row["valid_from"] <= _end_of(day) else None,
            )
        )
    return found


def _announced(connection: Connection, start: datetime, end: datetime, *, wanted: Wanted) -> list[Change]:
    """Return the prices that were announced for a later date."""
    found = []
    for row in _read(connection, announced_query(start, end, wanted=wanted)):
        at: datetime = row["observed_at"]
        has_price = row["before_from"] is not None and row["before_from"] <= at
        found.append(
            Change(
                kind=ChangeKind.ANNOUNCED,
                at=at,
                offer_id=row["offer_id"],
                offer=_offer(row),
                before=_before_point(row),
                after=_point(row),
                starts_at=row["valid_from"],
                announced_at=at,
                source=row["source"],
                shown_on=at.date() if has_price else None,
            )
        )
    return found


@lru_cache(maxsize=1024)
def _end_of(day: date) -> datetime:
    """Return the last second of a day, the instant that stands for it."""
    return midnight(day) + timedelta(days=1, seconds=-1)


def _read(connection: Connection, query: Select[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield rows by column, many fetched at a time; words that we know are those of their enumeration."""
    found = connection.execute(query)
    names = tuple(found.keys())
    for rows in found.partitions(ROWS_AT_ONCE):
        for row in rows:
            words = dict(zip(names, row, strict=True))
            words["price_basis"] = _BASES[words["price_basis"]]
            words["pricing_model"] = _MODELS[words["pricing_model"]]
            words["service_kind"] = _KINDS_OF_SERVICE[words["service_kind"]]
            yield words


def _offer(row: Mapping[str, Any]) -> Offer:
    return Offer(**{name: row[name] for name in _OFFER_FIELDS})


def _point(row: Mapping[str, Any]) -> PricePoint:
    return PricePoint(**{name: row[name] for name in _POINT_FIELDS})


def _before_point(row: Mapping[str, Any]) -> PricePoint | None:
    if row["before_to"] is None:
        return None
    return PricePoint(
        list_price=row["before_list_price"],
        currency=row["before_currency"],
        price_basis=_BASES[row["before_price_basis"]],
        usd_micros_per_gpu_hour=row["before_usd_micros_per_gpu_hour"],
        is_floor=row["before_is_floor"],
    )


_KINDS: Final = {kind: number for number, kind in enumerate(ChangeKind)}


def _order(change: Change) -> tuple[Any, ...]:
    each = change.offer
    return (
        _KINDS[change.kind],
        each.provider,
        each.accelerator or "~",
        each.accelerator_as_written,
        each.pricing_model.value,
        each.region,
        each.gpu_count,
        each.sku,
        change.offer_id,
    )


def latest_query(before: datetime) -> Select[Any]:
    """Return the query for the last begin, end and announcement of a price before a time."""
    return select(
        select(func.max(price.c.valid_from)).where(price.c.valid_from < before).scalar_subquery(),
        select(func.max(price.c.valid_to)).where(price.c.valid_to < before).scalar_subquery(),
        select(func.max(price.c.observed_at))
        .where(price.c.announced, price.c.observed_at < before)
        .scalar_subquery(),
    )


def _first_query(start: datetime) -> Select[Any]:
    """Return the query for the first begin, end and announcement of a price from a time on."""
    return select(
        select(func.min(price.c.valid_from)).where(price.c.valid_from >= start).scalar_subquery(),
        select(func.min(price.c.valid_to)).where(price.c.valid_to >= start).scalar_subquery(),
        select(func.min(price.c.observed_at))
        .where(price.c.announced, price.c.observed_at >= start)
        .scalar_subquery(),
    )


def _back(connection: Connection, end: datetime, limit: int) -> list[date]:
    """Return the days before a time on which a price began, ended or was announced: three searches a day."""
    found: list[date] = []
    while len(found) < limit:
        moments = [moment for moment in connection.execute(latest_query(end)).one() if moment is not None]
        if not moments:
            break
        found.append(max(moments).date())
        end = midnight(found[-1])
    return found


def _forth(connection: Connection, start: datetime, limit: int, *, end: datetime) -> list[date]:
    """Return the same days from a time on, the latest first."""
    found: list[date] = []
    while len(found) < limit:
        moments = [moment for moment in connection.execute(_first_query(start)).one() if moment is not None]
        if not moments or min(moments) >= end:
            break
        found.append(min(moments).date())
        start = midnight(found[-1] + timedelta(days=1))
    return found[::-1]


def _provider_days(
    connection: Connection,
    providers: Sequence[str],
    limit: int,
    *,
    before: datetime,
    start: datetime | None = None,
) -> list[date]:
    """Return the last days before a time, or the first ones from a start on, the latest first.

    What somebody decided on later begins on the day of the decision, which is when such a run finished.
    """
    published = (scrape_run.c.outcome == Outcome.PUBLISHED.value) & scrape_run.c.provider.in_(providers)
    read = select(scrape_run.c.observed_at.label("at")).where(published)
    decided = select(scrape_run.c.finished_at.label("at")).where(published)
    began = (
        select(price.c.valid_from.label("at"))
        .join(offer, offer.c.id == price.c.offer_id)
        .where(price.c.announced, offer.c.provider.concat("").in_(providers))
    )
    found: set[date] = set()
    for query in (read, decided, began):
        at = query.subquery().c.at
        day = (type_coerce(at, BIG_INTEGER) // SECONDS_PER_DAY).label("day")
        days = select(day).where(at < before).distinct().limit(limit)
        days = days.order_by(desc("day")) if start is None else days.where(at >= start).order_by("day")
        found.update(date(1970, 1, 1) + timedelta(days=number) for number in connection.scalars(days))
    if start is None:
        return sorted(found, reverse=True)[:limit]
    return sorted(found)[:limit][::-1]
