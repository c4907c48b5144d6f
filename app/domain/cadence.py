"""How often a source is read and at which minute of the day, and how old that lets its prices become."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

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


def read_every(provider: str) -> timedelta:
    """Return the time between two readings of a provider: so far all are read daily."""
    del provider
    return DAILY


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


def next_run(provider: str, now: datetime) -> datetime:
    """Return when a daily source is due next after `now` (aware, UTC), but for the jitter of a scheduler."""
    hour, minute = divmod(minute_of_day(provider), 60)
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today > now else today + DAILY
