"""What the archive's bodies are for: which runs read them, which prices cite them, which nobody needs."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select

from app.store.queries import GOOD_OUTCOMES
from app.store.records import Capture, State
from app.store.runs import RUN_COLUMNS, run_of_row
from app.store.tables import capture, price, quarantine, scrape_run

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from app.store.records import Run

_COLUMNS: Final = tuple(capture.c[name] for name in Capture.__dataclass_fields__)
_MOST_LOOKED_AT: Final = 1_000


def good_captures(
    connection: Connection, url: str, *, method: str = "GET", request_sha256: str = ""
) -> list[Capture]:
    """Return the answers to a request that good runs read, newest first, at most a thousand."""
    query = (
        select(*_COLUMNS)
        .join_from(capture, scrape_run)
        .where(capture.c.url == url, capture.c.method == method, capture.c.request_sha256 == request_sha256)
        .where(scrape_run.c.outcome.in_(GOOD_OUTCOMES))
        .order_by(capture.c.fetched_at.desc(), capture.c.id.desc())
        .limit(_MOST_LOOKED_AT)
    )
    return [Capture(**row) for row in connection.execute(query).mappings()]


def newest_announcement(connection: Connection, provider: str) -> datetime | None:
    """Return the latest day from which a provider ever announced a price that stood, or None."""
    of_provider = select(scrape_run.c.id).where(scrape_run.c.provider == provider)
    newest: datetime | None = connection.execute(
        select(func.max(price.c.valid_from)).where(price.c.announced, price.c.run_id.in_(of_provider))
    ).scalar_one()
    return newest


def runs_with_captures(
    connection: Connection, source: str, *, since: datetime
) -> list[tuple[Run, tuple[Capture, ...]]]:
    """Return a source's runs from a time on that archived anything, oldest first, each with its answers."""
    query = (
        select(*RUN_COLUMNS, *(column.label(f"capture_{column.name}") for column in _COLUMNS))
        .join_from(capture, scrape_run)
        .where(scrape_run.c.source == source, capture.c.fetched_at >= since)
        .order_by(scrape_run.c.id, capture.c.id)
    )
    rows = connection.execute(query).mappings().all()
    return [
        (run_of_row(of_run[0]), tuple(_capture(row) for row in of_run))
        for of_run in (list(group) for _, group in groupby(rows, key=lambda row: row["run_id"]))
    ]


def _capture(row: Any) -> Capture:
    """Return a capture from a row of `runs_with_captures`."""
    return Capture(**{name: row[f"capture_{name}"] for name in Capture.__dataclass_fields__})


def needed_bodies(connection: Connection, *, now: datetime, days: int) -> frozenset[str]:
    """Return the hashes of bodies that must stay.

    Those are: cited by a price, waiting for a decision, the last answer to a request, or `days` young.
    """
    cited = connection.execute(select(price.c.capture_sha256).distinct()).scalars().all()
    young = connection.execute(
        select(capture.c.sha256).where(capture.c.fetched_at >= now - timedelta(days=days)).distinct()
    )
    request = (capture.c.url, capture.c.method, capture.c.request_sha256)
    latest = connection.execute(
        select(capture.c.sha256).where(capture.c.id.in_(select(func.max(capture.c.id)).group_by(*request)))
    )
    held = connection.execute(select(quarantine.c.payload).where(quarantine.c.state == State.HELD.value))
    waiting = [sha256 for payload in held.scalars() for sha256 in payload["captures"]]
    return frozenset((*cited, *young.scalars(), *latest.scalars(), *waiting))
