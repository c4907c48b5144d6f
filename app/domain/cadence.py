"""How often a source is read and at which minute of the day, and how old that lets its prices become."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from app.domain.providers import load_providers

DAILY: Final = timedelta(days=1)

MISSED_TO_STALE: Final = 2
"""Readings that may fail before a price is stale: a daily source after 48 hours."""

MISSED_TO_VERY_STALE: Final = 7
"""Readings that may fail before a price is very stale: a daily source after 7 days."""

MINUTES_PER_DAY: Final = 24 * 60


class Freshness(StrEnum):
    """How old what we know of a source is, by the source's own schedule."""

    FRESH = "fresh"
    STALE = "stale"
    VERY_STALE = "very_stale"
    NEVER_READ = "never_read"


class Slot(NamedTuple):
    """One time at which a source is to be read: the name it is claimed under, and when (aware, UTC)."""

    name: str
    at: datetime


Jitter = Callable[[Slot], timedelta]
"""How much later than its time a slot is taken up, from nothing to less than a day."""


def no_jitter(_slot: Slot) -> timedelta:
    """Return no delay at all."""
    return timedelta(0)


def times_a_day(provider: str) -> int:
    """Return how often a day a provider is read: as `providers.csv` says, once for one that is not in it."""
    facts = load_providers().get(provider)
    return 1 if facts is None else facts.times_a_day


def read_every(provider: str) -> timedelta:
    """Return the time between two readings of a provider."""
    return DAILY / times_a_day(provider)


def freshness(age: timedelta | None, *, every: timedelta = DAILY) -> Freshness:
    """Say how fresh something is that was last seen `age` ago, None when never, and is read so often."""
    if age is None:
        return Freshness.NEVER_READ
    if age > every * MISSED_TO_VERY_STALE:
        return Freshness.VERY_STALE
    return Freshness.STALE if age > every * MISSED_TO_STALE else Freshness.FRESH


def minute_of_day(provider: str) -> int:
    """Return the minute at which a provider is read: always the same one, and spread over the day."""
    return int.from_bytes(hashlib.sha256(provider.encode()).digest()[:4]) % MINUTES_PER_DAY


def slots_of(source: str, day: date, *, times: int = 1) -> tuple[Slot, ...]:
    """Return when a source is read on a day, at equal distances, but for a scheduler's jitter."""
    gap = DAILY / times
    first = datetime.combine(day, time(), UTC) + timedelta(minutes=minute_of_day(source)) % gap
    names = [day.isoformat()] if times == 1 else [f"{day} {number}/{times}" for number in range(1, times + 1)]
    return tuple(Slot(name, first + gap * number) for number, name in enumerate(names))


def latest_slot(source: str, now: datetime, *, times: int = 1, jitter: Jitter = no_jitter) -> Slot:
    """Return the last slot of a source whose time, with its jitter, has come by `now` (aware, UTC).

    A jitter is less than a day, so the slot is one of today, of yesterday, or of the day before.
    """
    today = now.astimezone(UTC).date()
    slots = [
        slot for back in (2, 1, 0) for slot in slots_of(source, today - timedelta(days=back), times=times)
    ]
    return [slot for slot in slots if slot.at + jitter(slot) <= now][-1]


def next_run(provider: str, now: datetime) -> datetime:
    """Return when a source is due next after `now` (aware, UTC), but for the jitter of a scheduler."""
    today, times = now.date(), times_a_day(provider)
    slots = [slot for day in (today, today + DAILY) for slot in slots_of(provider, day, times=times)]
    return next(slot.at for slot in slots if slot.at > now)
