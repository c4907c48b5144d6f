"""Scheduler processes on made-up sources and one clock that the test sets; for test_schedule.py."""

import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from app.domain.cadence import no_jitter
from app.ingest import run
from app.ingest.schedule import Planned, make_scheduler, run_due
from app.store.session import make_engine
from scrapers.base import Expect, Page, Parsed, Request, Scraper
from tests.make import make_offer

SOURCES = tuple(f"made-up-{number}" for number in range(1, 6))
TIMES_A_DAY = 4
RUN_LIMIT_S = 3600.0
PATIENCE_S = 60


def source(name: str, *, read: Callable[[], object]) -> Scraper:
    """Return a source with one offer; `read` is called while its page is being read."""

    def parse(page: Page) -> Parsed:
        read()
        return Parsed(offers=(make_offer(provider=name, source_url=page.url),))

    request = Request(url=f"https://{name}.example/prices")
    return Scraper(provider=name, requests=(request,), parse=parse, expect=Expect(min_offers=1))


def read_slot(engine: Engine, archive: Path, *, scraper: Scraper, slot: str, now: datetime) -> None:
    """Do what `scrape` does, on a page that is at hand: claim, archive, parse, check, publish."""
    lapses_after = timedelta(seconds=RUN_LIMIT_S)
    run_id = run.claim(engine, scraper.provider, slot=slot, now=now, lapses_after=lapses_after)
    if run_id is None:
        return
    page = Page(url=scraper.requests[0].url, body=b"as ever", fetched_at=now)
    answers = [run.Answer(request=scraper.requests[0], page=page)]
    run.run_answers(engine, archive, scraper=scraper, answers=answers, run_id=run_id, now=now)


class Processes:
    """Scheduler processes on one database; each reads the clock that the test sets, and counts its rounds."""

    def __init__(self, database_url: str, folder: Path, *, at: datetime) -> None:
        self._context = get_context("spawn")
        self._place = (database_url, folder)
        # Plain shared numbers without a lock: a process that is killed may be holding one.
        self._now_s = self._context.RawValue("d", at.timestamp())
        self._ends = self._context.RawValue("i", 0)
        self._running: list[tuple[SpawnProcess, Any]] = []

    def start(self, *, hangs: str = "") -> SpawnProcess:
        """Start one more; reading the source named by `hangs` says so in a file, and never ends."""
        rounds = self._context.RawValue("i", 0)
        process = self._context.Process(
            target=schedule, args=(*self._place, self._now_s, rounds, self._ends, hangs)
        )
        process.start()
        self._running.append((process, rounds))
        return process

    def set(self, at: datetime) -> None:
        """Set the clock, and wait until each has begun and ended a round since."""
        self.set_without_waiting(at)
        before = [rounds.value for _, rounds in self._running]
        for (_, rounds), count in zip(self._running, before, strict=True):
            wait_until(lambda rounds=rounds, count=count: rounds.value >= count + 2, "another round")

    def set_without_waiting(self, at: datetime) -> None:
        """Set the clock."""
        self._now_s.value = at.timestamp()

    def kill(self, process: SpawnProcess) -> None:
        """Kill one in the middle of whatever it does."""
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(timeout=PATIENCE_S)
        self._running = [each for each in self._running if each[0] is not process]

    def end(self) -> None:
        """Let all end, and see that they end well."""
        self._ends.value = 1
        for process, _ in self._running:
            process.join(timeout=PATIENCE_S)
            assert process.exitcode == 0


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds, at most for `PATIENCE_S`."""
    ends_at_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends_at_s, f"{what} never came"
        time.sleep(0.02)


def schedule(database_url: str, folder: Path, now_s: Any, rounds: Any, ends: Any, hangs: str) -> None:
    """Run one scheduler until told to end."""
    engine, ended = make_engine(database_url), threading.Event()

    def clock() -> datetime:
        return datetime.fromtimestamp(now_s.value, UTC)

    def read(name: str) -> None:
        if name == hangs:
            (folder / "hangs").touch()
            time.sleep(600)

    def planned(name: str) -> Planned:
        scraper = source(name, read=lambda: read(name))

        def one(slot: str) -> None:
            read_slot(engine, folder / "archive", scraper=scraper, slot=slot, now=clock())

        return Planned(source=name, times_a_day=TIMES_A_DAY, run=one)

    everything = [planned(name) for name in SOURCES]

    def look() -> None:
        run_due(engine, everything, run_limit_s=RUN_LIMIT_S, clock=clock, jitter=no_jitter, ended=ended)
        rounds.value += 1

    scheduler = make_scheduler(look, every_s=0.05)
    scheduler.start()
    while not ends.value:
        time.sleep(0.02)
    ended.set()
    scheduler.shutdown()
    engine.dispose()
