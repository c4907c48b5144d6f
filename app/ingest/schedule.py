"""The scheduler: every source that is on, slot by slot, each past day sealed and dumped; by many processes.

Every minute each process looks which slot of each source has come last, and claims it when nobody has. So a
slot that was missed is caught up once, the ones before it are not, and the slot of a killed run is tried once
more when its claim has lapsed (`INFERPRICE_RUN_LIMIT_S`; the rule stands at `app.store.runs.claim_slot`).
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.exc import OperationalError

from app.domain.cadence import latest_slot, slots_of
from app.ingest.dumps import is_behind, write_missing
from app.ingest.rates import refresh
from app.ingest.retention import let_go
from app.ingest.snapshots import seal_past_days
from app.ingest.sources import scrape, sources_now
from app.store import runs
from app.store.session import make_engine, reading
from scrapers import ecb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy import Engine

    from app.domain.cadence import Jitter, Slot
    from app.settings import Settings

log = logging.getLogger(__name__)

JITTER_S: Final = 900
"""Seconds by which a slot is taken up later at most, so that not everybody asks at the same moment."""

TIDY_AFTER: Final = timedelta(hours=1)
"""When a process first lets go of old pages; daily from then on."""

DUMP_S: Final = 600
"""Seconds from one look for days without a file to the next."""

DUMP_AFTER: Final = timedelta(minutes=1)
"""When a process first looks for them: its first readings come before."""

ROUND_S: Final = 60
"""Seconds from one look at the slots to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A source and how often a day it is read; `run` reads it for a slot, once it has claimed that."""

    source: str
    times_a_day: int
    run: Callable[[str], object]


def run_scheduler(settings: Settings) -> None:
    """Run until told to stop by SIGTERM or Ctrl-C; a run that is under way is finished first."""
    # Blocked here and in every thread made from here on, a signal waits until this thread asks for it: it
    # cannot come at a wrong moment and cannot be lost.
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with scheduling(settings):
        log.info("The scheduler was told to end by %s.", signal.Signals(signal.sigwait(ends)).name)


@contextmanager
def scheduling(settings: Settings) -> Iterator[None]:
    """Keep the sources read in the background while the block lasts; its end waits for the run under way."""
    engine, ended = make_engine(settings.database_url), threading.Event()
    jitter = jitter_of(secrets.token_hex(8))

    def look() -> None:
        _try(
            "look which sources are due",
            lambda: run_due(
                engine,
                plan(engine, settings),
                run_limit_s=settings.run_limit_s,
                clock=_now,
                jitter=jitter,
                ended=ended,
            ),
        )

    def dump() -> None:
        if not ended.is_set():
            _try("write the files of past days", lambda: _dump(engine, settings))

    def tidy() -> None:
        days = settings.archive_retention_days
        _try("let go of old pages", lambda: let_go(engine, settings.archive, days=days, now=_now()))

    scheduler = make_scheduler(look)
    scheduler.add_job(dump, IntervalTrigger(seconds=DUMP_S), next_run_time=_now() + DUMP_AFTER)
    scheduler.add_job(tidy, IntervalTrigger(days=1), next_run_time=_now() + TIDY_AFTER)
    _try("say when sources are read", lambda: announce(engine, settings))
    scheduler.start()
    try:
        yield
    finally:
        ended.set()
        log.info("The scheduler ends when the source that is being read has been read.")
        scheduler.shutdown()
        engine.dispose()


@contextmanager
def beside_server(settings: Settings) -> Iterator[None]:
    """Do the same beside a server, which ends on a signal and hands it on: a run has time to finish."""

    def end(_number: int, _frame: object) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        with scheduling(settings):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def make_scheduler(look: Callable[[], None], *, every_s: float = ROUND_S) -> Any:
    """Return a scheduler that looks at the slots at once and then every so many seconds, not started yet."""
    scheduler = BackgroundScheduler(
        timezone=UTC,
        # One thread: sources take their turn, which is as polite as it gets.
        executors={"default": ThreadPoolExecutor(1)},
        job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
    )
    # While a round takes longer than the pause to the next, APScheduler warns of each it leaves out.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    scheduler.add_job(look, IntervalTrigger(seconds=every_s), next_run_time=_now())
    return scheduler


def _dump(engine: Engine, settings: Settings) -> None:
    """Write the files of past days that have none, in a process that takes the memory away again."""
    folder, now = settings.dumps_folder, _now()
    if is_behind(engine, folder, now=now):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
            apart.submit(write_missing, settings.database_url, folder, now=now).result()


def announce(engine: Engine, settings: Settings) -> None:
    """Say in the log when each source is read, or why it is not."""
    for each in sources_now(engine, settings):
        if not each.is_on:
            log.info("%s", each.why)
            continue
        name, times = each.scraper.provider, each.facts.times_a_day
        slots = slots_of(name, _now().date(), times=times)
        log.info("%s is read daily at about %s UTC.", name, ", ".join(f"{slot.at:%H:%M}" for slot in slots))


def plan(engine: Engine, settings: Settings) -> tuple[Planned, ...]:
    """Return what is to be read now: it is asked for every round, since sources are turned on and off."""

    def run_of(provider: str) -> Callable[[str], object]:
        return lambda slot: scrape(engine, settings, providers=[provider], clock=_now, slot=slot)

    rates = Planned(
        source=ecb.PROVIDER,
        times_a_day=1,
        run=lambda slot: refresh(engine, settings, slot=slot, clock=_now),
    )
    read = tuple(
        Planned(source=name, times_a_day=each.facts.times_a_day, run=run_of(name))
        for each in sources_now(engine, settings)
        if each.is_on and (name := each.scraper.provider)
    )
    return (*read, rates)


def run_due(
    engine: Engine,
    planned: Iterable[Planned],
    *,
    run_limit_s: float,
    clock: Callable[[], datetime],
    jitter: Jitter,
    ended: threading.Event,
) -> None:
    """Seal the days that are past, and run each source whose latest slot nobody has run, one after the other.

    What fails is logged and tried again in the next round, and does not keep the rest. Between two sources it
    ends early when `ended` is set.
    """
    _try("seal the days that are past", lambda: seal_past_days(engine, now=clock()))
    for each in planned:
        if ended.is_set():
            return
        slot = latest_slot(each.source, clock(), times=each.times_a_day, jitter=jitter)
        due = partial(_run_unless_run, engine, each, slot=slot, run_limit_s=run_limit_s, clock=clock)
        _try(f"read {each.source}", due)


def _run_unless_run(
    engine: Engine, each: Planned, *, slot: Slot, run_limit_s: float, clock: Callable[[], datetime]
) -> None:
    """Run a source for a slot, unless that has been run or is under way."""
    with reading(engine) as connection:
        run = runs.run_of_slot(connection, source=each.source, slot=slot.name)
    lapsed = run is not None and run.started_at + timedelta(seconds=run_limit_s) <= clock()
    if run is None or (run.outcome is None and lapsed):
        each.run(slot.name)


def _try(what: str, do: Callable[[], object]) -> None:
    """Do one thing; an error is logged, and does not keep the next."""
    try:
        do()
    except OperationalError as error:
        log.error("The scheduler could not %s: the database cannot be used (%s).", what, error.orig)  # noqa: TRY400 - an outage needs no traceback
    except Exception:
        log.exception("The scheduler could not %s.", what)


def jitter_of(salt: str) -> Jitter:
    """Return a jitter that differs between processes with other salts, and is the same for one slot."""

    def jitter(slot: Slot) -> timedelta:
        digest = hashlib.sha256(f"{salt} {slot.name} {slot.at}".encode()).digest()
        return timedelta(seconds=int.from_bytes(digest[:4]) % JITTER_S)

    return jitter


def _now() -> datetime:
    """Return the time now, aware and UTC."""
    return datetime.now(UTC)
