"""Fixtures every test may ask for: an empty database of each kind, and lines said at the end of the run."""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
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
Tell = Callable[[str], None]
RecordProperty = Callable[[str, object], None]


class Told:
    """What tests said of themselves, gathered from all processes that ran some, for the end of the run."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.databases: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == "line":
                self.lines.append((report.nodeid, str(value)))
            elif name == "database":
                self.databases[str(value)] += 1
            elif name == "requests" and isinstance(value, dict):
                self.requests.update(value)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write what was counted, which databases were used, and how generated requests were answered."""
        if self.lines:
            terminalreporter.section("what was counted")
        for _test, line in sorted(self.lines):
            terminalreporter.write_line(line)
        if self.requests:
            parts = ", ".join(f"{number:,} {kind}" for kind, number in sorted(self.requests.items()))
            terminalreporter.write_line(
                f"schemathesis: {self.requests.total():,} generated requests: {parts}"
            )
        if self.databases:
            said = [
                f"{number} tests on {name}" for name, number in sorted(self.databases.items(), reverse=True)
            ]
            if not any(name.startswith("postgresql") for name in self.databases):
                said.append("none on postgresql")
            terminalreporter.write_line("databases: " + ", ".join(said))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Told())


@pytest.fixture
def tell(record_property: RecordProperty) -> Tell:
    """Says a line at the end of the run: what a test counted, for people to read."""
    return lambda line: record_property("line", line)


@pytest.fixture
def count_on(record_property: RecordProperty, pytestconfig: pytest.Config) -> Tell:
    """Counts the test as one on a kind of database, `sqlite` or `postgresql`."""

    def count(kind: str) -> None:
        if kind == "sqlite":
            record_property("database", f"sqlite {sqlite3.sqlite_version}")
        else:
            server = pytestconfig.stash[SERVER]
            record_property("database", f"postgresql {server.version} ({server.origin})")

    return count


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
def postgres_database_url(postgres_url: str, count_on: Tell) -> Iterator[str]:
    """URL of a new, empty PostgreSQL database, dropped afterwards."""
    count_on("postgresql")
    with empty_postgres(postgres_url) as url:
        yield url


@pytest.fixture
def sqlite_database_url(tmp_path: Path, count_on: Tell) -> str:
    """URL of a SQLite file of this test's own, not there yet."""
    count_on("sqlite")
    return empty_sqlite(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """URL of an empty database; a test that asks for it runs once on each kind."""
    kind = "sqlite_database_url" if request.param == "sqlite" else "postgres_database_url"
    return str(request.getfixturevalue(kind))
