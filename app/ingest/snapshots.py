"""Seal each day once it is past, and hold every sealed day against its hash again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from app.domain.metrics import METHODOLOGY_VERSION
from app.store import session
from app.store import snapshots as store
from app.store.queries import first_day

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Connection, Engine

    from app.store.snapshots import Digest, Snapshot

GRACE: Final = timedelta(minutes=10)
"""Time that runs begun before midnight have to end before their day is sealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A sealed day and what its board hashes to now."""

    snapshot: Snapshot
    now: Digest

    @property
    def is_same(self) -> bool:
        """Tell whether the day is as it was sealed."""
        return (self.now.sha256, self.now.offers_count) == (
            self.snapshot.sha256,
            self.snapshot.offers_count,
        )


def seal_past_days(engine: Engine, *, now: datetime) -> tuple[Snapshot, ...]:
    """Seal every past day from the first with a price on that is not sealed yet; return the new snapshots.

    Any number of processes may do so at once: each day is sealed by one of them.
    """
    with session.reading(engine) as connection:
        if not any(_unsealed(connection, now)):
            return ()
    with session.writing(engine) as connection:
        store.lock_prices(connection)
        return tuple(
            store.seal(connection, day, methodology_version=METHODOLOGY_VERSION, now=now)
            for day in list(_unsealed(connection, now))
        )


def _unsealed(connection: Connection, now: datetime) -> Iterator[date]:
    """Yield the past days without a snapshot, oldest first."""
    first = first_day(connection)
    if first is None:
        return
    day, today = first.date(), (now - GRACE).date()
    sealed = {each.day for each in store.snapshots(connection)}
    while day < today:
        if day not in sealed:
            yield day
        day += timedelta(days=1)


def verify(engine: Engine) -> tuple[Verified, ...]:
    """Hash every sealed day again, by the version it was sealed by; oldest first."""
    with session.reading(engine) as connection:
        return tuple(
            Verified(
                snapshot=each,
                now=store.digest(
                    connection,
                    each.day,
                    methodology_version=each.methodology_version,
                    last_offer_id=each.last_offer_id,
                ),
            )
            for each in store.snapshots(connection)
        )
