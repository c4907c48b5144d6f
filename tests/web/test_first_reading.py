"""Until a source has been read well the board says that they are being read, or why none could be."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from app.settings import Settings
from app.store import runs
from app.store.migrate import upgrade
from app.store.records import Outcome
from app.store.session import make_engine, writing
from app.web import boards
from app.web.main import create_app
from tests.make import make_offer, publish_offers, utc


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = make_engine(database_url)
    upgrade(made)
    publish_offers(made, [make_offer()], observed_at=utc(1), source="inferprice")
    yield made
    made.dispose()


@pytest.fixture
def client(engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(boards, "CHECK_EVERY_S", 0.0)
    del engine
    with TestClient(create_app(Settings(DATABASE_URL=database_url), clock=lambda: utc(2))) as made:
        yield made


def begin(engine: Engine, source: str) -> int:
    with writing(engine) as connection:
        run_id = runs.claim_slot(connection, source=source, slot="2026-11-02", provider=source, now=utc(2))
    assert run_id is not None
    return run_id


def end(engine: Engine, run_id: int, outcome: Outcome, sentence: str) -> None:
    with writing(engine) as connection:
        runs.finish_run(
            connection, run_id, outcome=outcome, sentence=sentence, now=utc(2), observed_at=utc(2)
        )


def said(client: TestClient) -> tuple[str, str]:
    """Return the page in one line and its tag."""
    answer = client.get("/")
    return " ".join(answer.text.split()), answer.headers["etag"]


def test_the_page_tells_how_the_first_reading_goes_and_then_falls_silent(
    engine: Engine, client: TestClient
) -> None:
    silent, first_tag = said(client)
    assert "read for the first time" not in silent
    nebius = begin(engine, "nebius")
    reading_now, second_tag = said(client)
    assert "The sources are being read for the first time." in reading_now
    assert second_tag != first_tag
    assert client.get("/", headers={"if-none-match": second_tag}).status_code == 304
    end(engine, nebius, Outcome.FAILED, "https://nebius.com cannot be reached.")
    modal = begin(engine, "modal")
    so_far, _ = said(client)
    assert (
        "So far none could be. The last try was at 2026-11-02 12:00 UTC: https://nebius.com cannot" in so_far
    )
    end(engine, modal, Outcome.REFUSED, "The page is another one.")
    none, _ = said(client)
    assert (
        "No source could be read yet. The last try was at 2026-11-02 12:00 UTC: The page is another" in none
    )
    assert "No source could be read yet" not in client.get("/?as_of=2026-11-01").text
    end(engine, begin(engine, "lambda"), Outcome.PUBLISHED, "Published.")
    good, _ = said(client)
    assert "could be" not in good
    assert "read for the first time" not in good
