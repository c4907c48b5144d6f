"""The duties of an operator in a running server: one scrape at a time, decisions, sentences for the rest."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.domain.duties import DutyError
from app.ingest import duties
from app.ingest.checked import hold
from app.ingest.duties import Operator
from app.ingest.read import Reading
from app.ingest.run import RunOutcome, claim, settle_run
from app.settings import Settings
from app.store import queries
from app.store.migrate import upgrade
from app.store.session import make_engine, reading
from tests.databases import empty_sqlite
from tests.make import CAPTURE_SHA256, make_offer, utc

ON, OFF = "nebius", "vast"


def hold_offers(engine: Engine, price: str = "2.99") -> int:
    """Hold one offer of acme, as a check would, and give the number it is held under."""
    run_id = claim(engine, "acme", slot=f"held {price}", now=utc(2))
    assert run_id is not None
    found = Reading(
        offers=(make_offer(list_price=price),),
        captures=(CAPTURE_SHA256,),
        findings=(hold("offers_gone", "Half of them are gone."),),
    )
    ended = settle_run(engine, run_id, provider="acme", reading=found, observed_at=utc(2), now=utc(2))
    assert ended.quarantine_id is not None
    return ended.quarantine_id


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(DATABASE_URL=empty_sqlite(tmp_path))


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    made = make_engine(settings.database_url)
    upgrade(made)
    yield made
    made.dispose()


def prices(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return [str(each.offer.list_price) for each in queries.offers_as_of(connection, utc(3))]


def test_held_offers_are_published_or_left_out_with_the_reason(engine: Engine, settings: Settings) -> None:
    first, second = hold_offers(engine), hold_offers(engine, "3.99")
    with Operator(settings, lambda: utc(3)) as operator:
        rejected = operator.decide(second, approve=False, because="A typo.")
        assert rejected == "The 1 offers of acme stay unpublished. Rejected: A typo."
        assert prices(engine) == []
        assert operator.decide(first, approve=True, because="It is so.").endswith("Approved: It is so.")
        assert prices(engine) == ["2.99"]
        with pytest.raises(DutyError, match=f"The held offers {first} were approved before: It is so."):
            operator.decide(first, approve=False, because="No.")
        with pytest.raises(DutyError, match=r"There are no held offers with the number 99\."):
            operator.decide(99, approve=True, because="Why not.")


def test_a_source_is_read_in_a_thread_of_its_own_and_one_at_a_time(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prices(engine) == []
    go_on, seen = threading.Event(), []

    def scrape(_engine: Engine, _settings: Settings, **asked: Any) -> tuple[RunOutcome, ...]:
        seen.append((asked["providers"], threading.current_thread() is threading.main_thread()))
        assert go_on.wait(10)
        return (RunOutcome(provider=ON, outcome=None, sentence="Done."),)

    monkeypatch.setattr(duties, "scrape", scrape)
    with Operator(settings, lambda: utc(3)) as operator:
        assert operator.start_scrape(ON) == f"{ON} is being read; how that ends will stand at /status."
        with pytest.raises(DutyError, match="A source is being read already"):
            operator.start_scrape(ON)
        go_on.set()
    assert seen == [([ON], False)]


def test_a_scrape_that_breaks_is_logged_and_the_next_may_begin(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert prices(engine) == []
    broke = threading.Event()

    def scrape(*_: object, **_asked: Any) -> tuple[RunOutcome, ...]:
        try:
            raise RuntimeError("torn")
        finally:
            broke.set()

    monkeypatch.setattr(duties, "scrape", scrape)
    with Operator(settings, lambda: utc(3)) as operator:
        operator.start_scrape(ON)
        assert broke.wait(10)
    with Operator(settings, lambda: utc(3)) as operator:
        operator.start_scrape(ON)
    messages = [each.getMessage() for each in caplog.records if each.name == "app.ingest.duties"]
    assert messages == [f"The scrape of {ON} that was asked for broke."] * 2


@pytest.mark.parametrize(
    ("provider", "sentence"),
    [("acme", "There is no source 'acme'; there are "), (OFF, "is off by default")],
)
def test_a_source_that_is_not_there_or_off_is_not_read(
    engine: Engine, settings: Settings, provider: str, sentence: str
) -> None:
    assert prices(engine) == []
    with Operator(settings, lambda: utc(3)) as operator, pytest.raises(DutyError, match=sentence):
        operator.start_scrape(provider)
