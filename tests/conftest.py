"""Fixtures every test may ask for: an empty database of each kind, and the line that says which were used."""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import NoPostgresError, Server, empty_postgres, empty_sqlite, postgres_server

# What decides a merge draws the same examples each time; a run by hand draws new ones. How long an example
# takes decides nothing anywhere.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("steady")

SERVER = pytest.StashKey[Server]()
USES = pytest.StashKey[Counter[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[USES] = Counter()


@pytest.fixture(scope="session")
def postgres_url(pytestconfig: pytest.Config) -> Iterator[str]:
    """URL of a real PostgreSQL server's own database; tests make theirs with `postgres_database_url`.

    Without one the tests that need it fail: a run that quietly left them out would prove nothing.
    """
    try:
        with postgres_server() as server:
            pytestconfig.stash[SERVER] = server
            yield server.url
    except NoPostgresError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def postgres_database_url(postgres_url: str, pytestconfig: pytest.Config) -> Iterator[str]:
    """URL of a new, empty PostgreSQL database, dropped afterwards."""
    pytestconfig.stash[USES]["postgresql"] += 1
    with empty_postgres(postgres_url) as url:
        yield url


@pytest.fixture
def sqlite_database_url(tmp_path: Path, pytestconfig: pytest.Config) -> str:
    """URL of a SQLite file of this test's own, not there yet."""
    pytestconfig.stash[USES]["sqlite"] += 1
    return empty_sqlite(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """URL of an empty database; a test that asks for it runs once on each kind."""
    kind = "sqlite_database_url" if request.param == "sqlite" else "postgres_database_url"
    return str(request.getfixturevalue(kind))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which databases the run used and how many tests ran on each."""
    uses = config.stash[USES]
    if not uses:
        return
    said = [f"{uses['sqlite']} tests on sqlite {sqlite3.sqlite_version}"]
    server = config.stash.get(SERVER, None)
    if server:
        said.append(f"{uses['postgresql']} tests on postgresql {server.version} ({server.origin})")
    else:
        said.append("none on postgresql")
    terminalreporter.write_line("databases: " + ", ".join(said))
