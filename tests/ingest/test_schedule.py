"""The scheduler reads each source that is on once a slot, whichever of several schedulers does it."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.domain.cadence import Slot, latest_slot, minute_of_day, no_jitter, slots_of
from app.ingest import schedule
from app.ingest.schedule import JITTER_S, Planned, jitter_of, plan, run_due
from app.settings import Settings
from app.store import runs, snapshots
from app.store.migrate import upgrade
from app.store.queries import offer_history, offers_as_of
from app.store.records import Outcome, Run
from app.store.session import make_engine, reading, writing
from scrapers import SCRAPERS
from tests.ingest.schedulers import SOURCES, TIMES_A_DAY, Processes, wait_until
from tests.make import make_offer, publish_offers

# Off by default in providers.csv, for their terms: RunPod and Vast.
OFF = {"runpod", "vast"}
MIDNIGHT = datetime(2026, 11, 2, tzinfo=UTC)
MORNING = datetime(2026, 11, 2, 6, tzinfo=UTC)


def due(engine: Engine, at: datetime, *, times: int = 1, run_limit_s: float = 3600) -> list[str]:
    """Run one round for the source `acme` and return the slots it ran; each run claims and ends well."""
    ran: list[str] = []

    def one(slot: str) -> None:
        ran.append(slot)
        with writing(engine) as connection:
            run_id = runs.claim_slot(connection, source="acme", slot=slot, provider="acme", now=at)
            assert run_id is not None
            runs.finish_run(connection, run_id, outcome=Outcome.UNCHANGED, sentence="Read.", now=at)

    run_due(
        engine,
        [Planned(source="acme", times_a_day=times, run=one)],
        run_limit_s=run_limit_s,
        clock=lambda: at,
        jitter=no_jitter,
        ended=threading.Event(),
    )
    return ran


def test_each_source_that_is_on_is_planned(engine: Engine, tmp_path: Path) -> None:
    planned = {each.source: each.times_a_day for each in plan(engine, Settings(home=tmp_path))}
    assert planned == dict.fromkeys([*(set(SCRAPERS) - OFF), "ecb"], 1)
    more = plan(engine, Settings(home=tmp_path, enabled_sources=("vast",)))
    assert {each.source: each.times_a_day for each in more}["vast"] == 4


def test_a_planned_source_is_scraped_for_its_slot(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(schedule, "scrape", lambda *_, **options: asked.append(options) or ())
    nebius = next(each for each in plan(engine, Settings(home=tmp_path)) if each.source == "nebius")
    nebius.run("2026-11-01")
    assert (asked[0]["providers"], asked[0]["slot"]) == (["nebius"], "2026-11-01")


def test_a_first_round_runs_the_latest_slot_at_once_and_a_missed_one_is_caught_up_once(
    engine: Engine,
) -> None:
    """The minute of acme is 22:37: `printf acme | sha256sum` begins 822b33ad, modulo 1440 that is 1357."""
    at = datetime(2026, 11, 2, 22, 37, tzinfo=UTC)
    assert due(engine, at - timedelta(seconds=1)) == ["2026-11-01"]
    assert due(engine, at - timedelta(seconds=1)) == []
    assert due(engine, at) == ["2026-11-02"]
    # Off for five days: the last of the missed slots is run, the four before it are gone.
    assert due(engine, at + timedelta(days=5, hours=1)) == ["2026-11-07"]
    assert due(engine, at + timedelta(days=5, hours=2)) == []


def test_a_run_under_way_is_left_alone_until_its_claim_lapses(engine: Engine) -> None:
    slot = latest_slot("acme", MORNING)
    with writing(engine) as connection:
        runs.claim_slot(connection, source="acme", slot=slot.name, provider="acme", now=MORNING)
    assert due(engine, MORNING + timedelta(seconds=1199), run_limit_s=1200) == []
    asked: list[str] = []
    run_due(
        engine,
        [Planned(source="acme", times_a_day=1, run=asked.append)],
        run_limit_s=1200,
        clock=lambda: MORNING + timedelta(seconds=1200),
        jitter=no_jitter,
        ended=threading.Event(),
    )
    assert asked == [slot.name]


def test_a_round_seals_the_days_that_are_past(engine: Engine) -> None:
    publish_offers(engine, [make_offer()], observed_at=MORNING - timedelta(days=2))
    due(engine, MORNING)
    with reading(engine) as connection:
        assert [f"{each.day}" for each in snapshots.snapshots(connection)] == ["2026-10-31", "2026-11-01"]


def test_one_source_that_breaks_does_not_keep_the_next(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []

    def breaks(_slot: str) -> None:
        raise RuntimeError("made to break")

    planned = [
        Planned(source="breaks", times_a_day=1, run=breaks),
        Planned(source="works", times_a_day=1, run=ran.append),
    ]
    run_due(
        engine,
        planned,
        run_limit_s=3600,
        clock=lambda: MORNING,
        jitter=no_jitter,
        ended=threading.Event(),
    )
    assert len(ran) == 1
    assert "The scheduler could not read breaks." in caplog.text


def test_a_round_that_is_told_to_end_begins_no_other_source(engine: Engine) -> None:
    ran: list[str] = []
    ended = threading.Event()

    def last(slot: str) -> None:
        ran.append(slot)
        ended.set()

    planned = [Planned(source=name, times_a_day=1, run=last) for name in ("one", "two")]
    run_due(engine, planned, run_limit_s=3600, clock=lambda: MORNING, jitter=no_jitter, ended=ended)
    assert len(ran) == 1


def test_an_outage_of_the_database_is_one_line_and_the_next_round_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = make_engine("postgresql+psycopg://nobody@127.0.0.1:1/none")
    assert due(engine, MORNING) == []
    assert "The scheduler could not read acme: the database cannot be used" in caplog.text
    assert "Traceback" not in caplog.text
    engine.dispose()


def test_jitter_is_within_a_quarter_of_an_hour_and_differs_between_installations() -> None:
    slot = Slot("2026-11-01", MORNING)
    delays = {jitter_of(str(salt))(slot) for salt in range(50)}
    assert len(delays) > 40
    assert max(delays) < timedelta(seconds=JITTER_S)
    assert min(delays) >= timedelta(0)
    assert jitter_of("a")(slot) == jitter_of("a")(slot)


def test_a_provider_s_minute_stays_and_is_not_everybody_s() -> None:
    """`printf nebius | sha256sum` begins 59719e65, 1500618341, which leaves 101 over whole days."""
    assert minute_of_day("nebius") == 101
    assert len({minute_of_day(provider) for provider in SCRAPERS}) == len(SCRAPERS)


def journal(engine: Engine) -> list[Run]:
    with reading(engine) as connection:
        return runs.runs(connection, limit=1000)


@pytest.fixture
def processes(engine: Engine, database_url: str, tmp_path: Path) -> Iterator[Processes]:
    """Scheduler processes to come, with the slots before midnight run already."""
    for name in SOURCES:
        before = latest_slot(name, MIDNIGHT, times=TIMES_A_DAY)
        with writing(engine) as connection:
            run_id = runs.claim_slot(connection, source=name, slot=before.name, provider=name, now=before.at)
            assert run_id is not None
            runs.finish_run(connection, run_id, outcome=Outcome.FAILED, sentence="Away.", now=before.at)
    made = Processes(database_url, tmp_path, at=MIDNIGHT)
    yield made
    made.end()


def test_four_schedulers_make_twenty_runs_of_twenty_slots(engine: Engine, processes: Processes) -> None:
    """Five sources are read four times a day; the day passes in steps of an hour."""
    for _ in range(4):
        processes.start()
    for step in range(24):
        processes.set(MIDNIGHT + timedelta(hours=step))
    processes.set(MIDNIGHT + timedelta(days=1, seconds=-1))
    made = journal(engine)[: -len(SOURCES)]
    assert len(made) == 20
    assert Counter(run.source for run in made) == dict.fromkeys(SOURCES, 4)
    assert Counter(run.outcome for run in made) == {Outcome.PUBLISHED: 5, Outcome.UNCHANGED: 15}
    assert len({(run.source, run.slot) for run in made}) == 20
    with reading(engine) as connection:
        assert len(offers_as_of(connection, MIDNIGHT + timedelta(days=1))) == 5
        assert {len(runs.captures_of(connection, run.run_id)) for run in made} == {1}


def test_a_slot_whose_scheduler_was_killed_is_tried_once_more_and_nothing_is_doubled(
    engine: Engine, processes: Processes, tmp_path: Path
) -> None:
    source = SOURCES[0]
    begins = slots_of(source, MIDNIGHT.date(), times=TIMES_A_DAY)[0].at
    victim = processes.start(hangs=source)
    processes.set_without_waiting(begins)
    wait_until((tmp_path / "hangs").exists, "the run to be killed")
    processes.kill(victim)
    killed = journal(engine)[0]
    assert (killed.source, killed.outcome) == (source, None)
    for _ in range(4):
        processes.start()
    processes.set(begins + timedelta(minutes=59, seconds=59))
    assert [run.outcome for run in journal(engine) if run.source == source] == [None, Outcome.FAILED]
    processes.set(begins + timedelta(minutes=60))
    processes.set(begins + timedelta(minutes=125))
    second, first, _ = [run for run in journal(engine) if run.source == source]
    assert (second.slot, second.outcome) == (killed.slot, Outcome.PUBLISHED)
    assert (first.run_id, first.outcome) == (killed.run_id, Outcome.FAILED)
    assert first.slot == f"{killed.slot} (first try)"
    with reading(engine) as connection:
        assert len(offers_as_of(connection, begins + timedelta(hours=6), provider=source)) == 1
        assert [len(runs.captures_of(connection, run.run_id)) for run in (second, first)] == [1, 1]
        history = offer_history(connection, 1)
    assert len(history) == 1


def test_a_scheduler_process_ends_when_told(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'inferprice.db'}")
    upgrade(engine)
    engine.dispose()
    # No source is on in this process: nothing is fetched.
    program = (
        "import logging; logging.basicConfig(level='INFO')\n"
        "from app.ingest import schedule\n"
        "from app.settings import load_settings\n"
        "schedule.sources_now = lambda *_: ()\n"
        "started = schedule.seal_past_days\n"
        "schedule.seal_past_days = lambda *a, **k: (logging.info('one round'), started(*a, **k))\n"
        "schedule.run_scheduler(load_settings())\n"
    )
    environment = {**os.environ, "INFERPRICE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert any("one round" in line for line in lines)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
        assert "Traceback" not in process.stderr.read()
