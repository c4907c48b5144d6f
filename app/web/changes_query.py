"""What an address may ask of the changes, and the days that answer it: page, JSON and feed use the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus

from sqlalchemy.exc import SQLAlchemyError

from app.domain.changes import ChangeKind
from app.domain.query import QueryError, parse_query
from app.store import changes as store
from app.store.session import reading
from app.web.boards import NoBoardError
from app.web.state import read_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from sqlalchemy import Connection

    from app.domain.accelerators import Catalogue
    from app.domain.changes import Change
    from app.domain.query import Vocabulary
    from app.web.boards import Served
    from app.web.shared import Shared

DAYS_PER_PAGE: Final = 7
"""Days with changes on one page; days without any take no room."""

NAMES: Final = ("day", "provider", "gpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesQuery:
    """One question to the changes: the days up to one (None is today), of whom, of which cards."""

    day: date | None = None
    provider: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()

    def replace(self, **fields: Any) -> ChangesQuery:
        """Return the query with some fields changed."""
        return replace(self, **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What changed on one day; `first` are the accelerators that nobody had offered before it."""

    day: date
    changes: tuple[Change, ...]
    first: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """The days of one page, the latest first, and the days at which the pages beside it begin."""

    query: ChangesQuery
    days: tuple[Day, ...]
    older: date | None
    newer: date | None


def read_changes_query(text: str, words: Vocabulary) -> ChangesQuery:
    """Return what a query string asks of the changes; raises QueryError as the board's does."""
    pairs = read_pairs(text)
    for name, value in pairs:
        if name not in NAMES:
            raise QueryError("parameter", name or value, f"use one of {', '.join(NAMES)}")
    try:
        query = parse_query([("as_of" if name == "day" else name, value) for name, value in pairs], words)
    except QueryError as error:
        if error.field == "as_of":
            raise QueryError("day", error.value, error.expected) from error
        raise
    return ChangesQuery(day=query.as_of, provider=query.provider, gpu=query.gpu)


def changes_link(path: str, query: ChangesQuery, **fields: Any) -> str:
    """Return the address of a query with some fields changed; the bare path when all is default."""
    asked = query.replace(**fields)
    pairs = [("day", asked.day.isoformat())] if asked.day else []
    pairs += [("provider", each) for each in asked.provider] + [("gpu", each) for each in asked.gpu]
    text = "&".join(f"{name}={quote_plus(value)}" for name, value in pairs)
    return f"{path}?{text}" if text else path


def load_days(shared: Shared, served: Served, *, query: ChangesQuery, limit: int = DAYS_PER_PAGE) -> Days:
    """Read the days of a page; raises NoBoardError when the database is away."""
    try:
        with reading(shared.engine) as connection:
            return _load(connection, served, query, limit=limit, now=shared.clock())
    except SQLAlchemyError as error:
        raise NoBoardError("the database cannot be read") from error


def _load(connection: Connection, served: Served, query: ChangesQuery, *, limit: int, now: datetime) -> Days:
    today = served.words.today
    until, who = query.day or today, query.provider
    found = store.change_days(connection, until=until, limit=limit + 1, providers=who)
    shown, rest = found[:limit], found[limit:]
    later = (
        store.next_change_days(connection, after=until, until=today, limit=limit, providers=who)
        if query.day is not None
        else []
    )
    changes = _changes(connection, served, query, days=shown, now=now) if shown else []
    first = _first_offered(connection, changes)
    return Days(
        query=query,
        days=tuple(
            _day(day, tuple(group), first)
            for day, group in groupby(changes, key=lambda change: change.at.date())
        ),
        older=rest[0] if rest else None,
        newer=later[0] if later else None,
    )


def _changes(
    connection: Connection, served: Served, query: ChangesQuery, *, days: Sequence[date], now: datetime
) -> list[Change]:
    """Return what happened on these days, the latest first; the days between them have no changes."""
    variants, families = _cards(query.gpu, served.board.catalogue)
    return store.changes_between(
        connection,
        start=store.midnight(days[-1]),
        end=store.midnight(days[0]) + timedelta(days=1),
        now=now,
        wanted=store.Wanted(providers=query.provider, variants=variants, families=families),
    )


def _cards(gpu: Sequence[str], catalogue: Catalogue) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the variants and the families that `gpu` names; a family is also all of its variants."""
    families = tuple(name for name in gpu if catalogue.family_members(name))
    members = [each.id for family in families for each in catalogue.family_members(family)]
    return tuple(dict.fromkeys([*(name for name in gpu if catalogue.get(name)), *members])), families


def _first_offered(connection: Connection, changes: Sequence[Change]) -> dict[str, date]:
    came = (ChangeKind.NEW, ChangeKind.ANNOUNCED)
    names = {change.offer.accelerator for change in changes if change.kind in came}
    found = store.first_offered(connection, sorted(name for name in names if name))
    return {name: first.date() for name, first in found.items()}


def _day(day: date, changes: tuple[Change, ...], first: dict[str, date]) -> Day:
    names = {change.offer.accelerator for change in changes}
    new = tuple(sorted(name for name in names if name and first.get(name) == day))
    return Day(day=day, changes=changes, first=new)
