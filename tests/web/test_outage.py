"""A database that goes away takes no page with it: the last board keeps serving, and says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool
from starlette.testclient import TestClient

from app.store.session import make_engine
from app.web import boards
from tests.make import publish_offers
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import get, read_table

BANNER = "The database is away. This is the board of 2026-11-20 12:30 UTC."


@pytest.fixture
def client(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """An application that asks its database at every request, on a market of its own."""
    monkeypatch.setattr(boards, "CHECK_EVERY_S", -1.0)
    market.fill(database_url)
    with serve(database_url) as served:
        yield served


@contextmanager
def away(client: TestClient, database_url: str) -> Iterator[None]:
    """Take the database away for the block: rename the file, or the database on its server."""
    client.app.state.shared.engine.dispose()  # type: ignore[attr-defined]  # a FastAPI application
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        path = Path(str(url.database))
        moved = path.with_suffix(".away")
        path.rename(moved)
        path.mkdir()  # else SQLite would make a new, empty file
        yield
        path.rmdir()
        moved.rename(path)
        return
    with on_server(database_url) as connection:
        connection.execute(text(f"ALTER DATABASE {url.database} RENAME TO {url.database}_away"))
        yield
        connection.execute(text(f"ALTER DATABASE {url.database}_away RENAME TO {url.database}"))


@contextmanager
def on_server(database_url: str) -> Iterator[Any]:
    engine = create_engine(
        make_url(database_url).set(database="postgres"), poolclass=NullPool, isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def test_the_last_board_keeps_serving_with_a_banner(client: TestClient, database_url: str) -> None:
    before = client.get("/")
    past = client.get("/?as_of=2026-11-14")
    with away(client, database_url):
        during = client.get("/")
        assert BANNER in during.text
        assert read_table(during.text).ids == read_table(before.text).ids
        assert during.headers["etag"] != before.headers["etag"]
        assert client.get("/", headers={"if-none-match": before.headers["etag"]}).status_code == 200
        assert BANNER in get(client, "/?gpu=h200&sort=-tdp_w")
        assert get(client, "/offers.csv?gpu=h100").count("\r\n") > 10
        assert get(client, "/offers/1")
        old = get(client, "/?as_of=2026-11-14")
        assert "The database is away." in old
        assert read_table(old).ids == read_table(past.text).ids
    after = client.get("/")
    assert "The database is away" not in after.text
    assert read_table(after.text).ids == read_table(before.text).ids
    assert "The database is away" not in get(client, "/?as_of=2026-11-14")


def test_a_day_that_is_not_in_memory_is_a_503_in_a_sentence(client: TestClient, database_url: str) -> None:
    get(client, "/")
    with away(client, database_url):
        page, document = client.get("/?as_of=2026-11-13"), client.get("/offers.json?as_of=2026-11-13")
        assert (page.status_code, document.status_code) == (503, 503)
        assert "the board of 2026-11-13 is not available" in page.text
        assert document.headers["content-type"] == "application/problem+json"
    assert client.get("/?as_of=2026-11-13").status_code == 200


def test_without_any_board_in_memory_there_is_a_503_and_then_recovery(
    client: TestClient, database_url: str
) -> None:
    with away(client, database_url):
        page, table = client.get("/"), client.get("/offers.csv")
        assert (page.status_code, table.status_code) == (503, 503)
        assert "The prices cannot be read right now." in page.text
        assert "Traceback" not in page.text
        assert "sqlite" not in page.text.lower()
        assert table.json()["title"] == "The prices cannot be read"
        assert client.get("/healthz").text == "ok\n"
        assert client.get("/docs").status_code == 200
    assert client.get("/").status_code == 200


def test_what_is_published_shows_at_the_next_look(client: TestClient, database_url: str) -> None:
    before = client.get("/?provider=runpod")
    engine = make_engine(database_url)
    publish_offers(engine, market.runpod()[:1], observed_at=market.at(20, 12), provider="runpod")
    engine.dispose()
    after = client.get("/?provider=runpod", headers={"if-none-match": before.headers["etag"]})
    assert after.status_code == 200
    assert len(read_table(before.text).ids) == 6
    assert len(read_table(after.text).ids) == 1


def test_a_slow_database_slows_one_reader_only(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one request waits for the store, another is answered from the board at hand."""
    get(client, "/")
    keeper = client.app.state.shared.keeper  # type: ignore[attr-defined]  # a FastAPI application
    answered = []

    def slow(*_: object) -> boards.Served:
        answered.append(get(client, "/?gpu=h100"))
        return keeper._current  # type: ignore[no-any-return]  # a FastAPI application

    monkeypatch.setattr(keeper, "_refresh", slow)
    assert keeper.current() is keeper._current
    assert len(answered) == 1


def test_an_empty_database_is_an_empty_board_not_an_error(database_url: str) -> None:
    market.fill(database_url, market=[("acme", market.at(2), [])])
    with serve(database_url) as client:
        page = get(client, "/")
        assert "No prices yet." in page
        assert read_table(page).ids == ()
        assert get(client, "/offers.csv").count("\r\n") == 1
        assert client.get("/offers.json").json()["total"] == 0


def test_a_board_with_nothing_but_old_prices_says_how_old(database_url: str) -> None:
    market.fill(database_url, market=[("acme", market.at(10), list(market.acme()))])
    with serve(database_url) as client:
        page = get(client, "/")
    assert "Every price here is 10 days old or older: no provider has been read since." in page
    assert len(read_table(page).tree.css("tbody .flag.very_stale")) == len(read_table(page).ids)


def test_comparisons_and_claims_keep_answering(client: TestClient, database_url: str) -> None:
    pages = {path: get(client, path) for path in ("/compare", "/claims")}
    with away(client, database_url):
        for path, before in pages.items():
            page = get(client, path)
            assert "The database is away. These are the prices of 2026-11-20 12:30 UTC." in page
            assert page.count("<li>") == before.count("<li>")
            assert page.count("since 2026-11-02") == before.count("since 2026-11-02")
    assert "The database is away" not in get(client, "/claims")
