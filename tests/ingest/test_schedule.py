"""The scheduler reads each source that is on once a day, whichever of several schedulers does it."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.domain.cadence import minute_of_day
from app.ingest import schedule
from app.ingest.schedule import make_scheduler
from app.settings import Settings
from app.store.migrate import upgrade
from app.store.session import make_engine
from scrapers import SCRAPERS

# The sources that are on by default, from providers.csv: RunPod's terms keep it off.
ON = {"coreweave", "nebius"}


def jobs(engine: Engine, settings: Settings, now: datetime) -> dict[str, str]:
    scheduler = make_scheduler(engine, settings, clock=lambda: now)
    return {job.id: str(job.trigger) for job in scheduler.get_jobs()}


def test_each_source_that_is_on_has_its_minute(engine: Engine, tmp_path: Path) -> None:
    planned = jobs(engine, Settings(home=tmp_path), datetime(2026, 11, 1, tzinfo=UTC))
    assert set(planned) & set(SCRAPERS) == ON
    assert planned["nebius"] == "cron[hour='1', minute='41']"


def test_a_source_turned_on_is_planned(engine: Engine, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, enabled_sources=("runpod",))
    assert "runpod" in jobs(engine, settings, datetime(2026, 11, 1, tzinfo=UTC))


def test_a_scheduler_that_starts_late_catches_up(engine: Engine, tmp_path: Path) -> None:
    late = jobs(engine, Settings(home=tmp_path), datetime(2026, 11, 1, 23, 59, 59, tzinfo=UTC))
    assert set(late) >= {f"{provider} today" for provider in ON}


def test_a_provider_s_minute_stays_and_is_not_everybody_s() -> None:
    """`printf nebius | sha256sum` begins 59719e65, 1500618341, which leaves 101 over whole days."""
    assert minute_of_day("nebius") == 101
    assert len({minute_of_day(provider) for provider in SCRAPERS}) == len(SCRAPERS)


def test_the_day_is_the_slot(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(schedule, "scrape", lambda *_, **options: asked.append(options) or ())
    schedule.run_today(
        engine, Settings(home=tmp_path), provider="nebius", clock=lambda: datetime(2026, 11, 1, 5, tzinfo=UTC)
    )
    assert (asked[0]["providers"], asked[0]["slot"]) == (["nebius"], "2026-11-01")


def test_a_scheduler_process_ends_when_told(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'inferprice.db'}")
    upgrade(engine)
    engine.dispose()
    # No source is on in this process: nothing is fetched.
    program = (
        "import logging; logging.basicConfig(level='INFO')\n"
        "from app.ingest import schedule\n"
        "from app.settings import load_settings\n"
        "schedule.sources = lambda settings: ()\n"
        "schedule.run_scheduler(load_settings())\n"
    )
    environment = {**os.environ, "INFERPRICE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert any("Scheduler started" in line for line in lines)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
        assert "Traceback" not in process.stderr.read()
