"""The filled market as the web application serves it, once on each kind of database."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.store.session import make_engine
from app.web.main import create_app
from tests.conftest import Tell
from tests.databases import empty_postgres, empty_sqlite
from tests.web import market


@dataclass(frozen=True, slots=True)
class Market:
    """A served market: a client of the application, and the number of each offer by provider and SKU."""

    kind: str
    client: TestClient
    ids: Mapping[tuple[str, str], int]


def settings_for(database_url: str) -> Settings:
    return Settings(DATABASE_URL=database_url)


def serve(database_url: str) -> TestClient:
    """Return a client of an application on this database, whose clock stands still."""
    application = create_app(settings_for(database_url), clock=lambda: market.NOW)
    return TestClient(application, follow_redirects=False)


@contextmanager
def filled_with(runs: Sequence[market.Run], request: pytest.FixtureRequest) -> Iterator[Market]:
    """Give a served market on a database of the kind that the fixture's parameter names."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            folder: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
            url = empty_sqlite(folder.mktemp("market"))
        else:
            url = stack.enter_context(empty_postgres(request.getfixturevalue("postgres_url")))
        market.fill(url, market=runs)
        engine = make_engine(url)
        client = stack.enter_context(serve(url))
        yield Market(request.param, client, market.offer_ids(engine))
        engine.dispose()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest) -> Iterator[Market]:
    """A market filled once for the whole run, to be read only."""
    with filled_with(market.runs(), request) as made:
        yield made


@pytest.fixture
def served(filled: Market, count_on: Tell) -> Market:
    """The filled market, counted for the summary line; a test that asks for it runs once on each kind."""
    count_on(filled.kind)
    return filled


@pytest.fixture
def client(served: Market) -> TestClient:
    return served.client
