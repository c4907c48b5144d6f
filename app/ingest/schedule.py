"""The scheduler process: every source that is on, once a day, at a time of its own."""

from __future__ import annotations

import logging
import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger

from app.domain.cadence import minute_of_day
from app.ingest.sources import scrape, sources
from app.store.session import make_engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

    from app.settings import Settings

log = logging.getLogger(__name__)

JITTER_S: Final = 900
"""Seconds by which a day's run may be earlier or later, so that it is no strike of the clock."""


def run_scheduler(settings: Settings) -> None:
    """Run until told to stop by SIGTERM or Ctrl-C; a run that is under way is finished first.

    Any number of these may run on one database: a source's slot, its day, is claimed by one of them.
    """
    # Blocked here and in every thread made from here on, a signal waits until this thread asks for it: it
    # cannot come at a wrong moment and cannot be lost.
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    engine = make_engine(settings.database_url)
    scheduler = make_scheduler(engine, settings, clock=_now)
    scheduler.start()
    log.info("The scheduler was told to end by %s.", signal.Signals(signal.sigwait(ends)).name)
    scheduler.shutdown()
    engine.dispose()


def make_scheduler(engine: Engine, settings: Settings, *, clock: Callable[[], datetime]) -> Any:
    """Return a scheduler with a daily job for every source that is on, not started yet.

    A source whose time today has passed already also runs at once; when it has run today, its slot says so.
    """
    scheduler = BackgroundScheduler(
        timezone=UTC,
        # One thread: sources take their turn, which is as polite as it gets.
        executors={"default": ThreadPoolExecutor(1)},
        job_defaults={"coalesce": True, "misfire_grace_time": 12 * 3600, "max_instances": 1},
    )
    now = clock()
    for each in sources(settings):
        if not each.is_on:
            log.info("%s", each.why)
            continue
        provider = each.scraper.provider
        hour, minute = divmod(minute_of_day(provider), 60)
        call: dict[str, Any] = {
            "func": run_today,
            "args": (engine, settings),
            "kwargs": {"provider": provider, "clock": clock},
        }
        daily = CronTrigger(hour=hour, minute=minute, jitter=JITTER_S, timezone=UTC)
        scheduler.add_job(id=provider, trigger=daily, **call)
        if (now.hour, now.minute) >= (hour, minute):
            scheduler.add_job(id=f"{provider} today", trigger=DateTrigger(now), **call)
        log.info("%s is read daily at about %02d:%02d UTC.", provider, hour, minute)
    return scheduler


def run_today(engine: Engine, settings: Settings, *, provider: str, clock: Callable[[], datetime]) -> None:
    """Run one source for today, unless it has run for today already."""
    for outcome in scrape(engine, settings, providers=[provider], clock=clock, slot=f"{clock():%Y-%m-%d}"):
        log.info("%s", outcome.sentence)


def _now() -> datetime:
    """Return the time now, aware and UTC."""
    return datetime.now(UTC)
