"""The two test databases are what they say: real, empty, one per test, and never left out in silence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from tests.databases import NoPostgresError, empty_postgres, find_binaries, postgres_server, version_in_path

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("turn", ["first", "second"])
def test_each_test_gets_an_empty_database(database_url: str, turn: str) -> None:
    engine = create_engine(database_url, poolclass=NullPool)
    assert inspect(engine).get_table_names() == [], turn
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE left_behind (id INTEGER)"))
    engine.dispose()


def test_a_database_is_dropped_even_when_a_connection_is_still_open(postgres_url: str) -> None:
    with empty_postgres(postgres_url) as url:
        engine = create_engine(url)
        connection = engine.connect()
        assert connection.scalar(text("SELECT 1")) == 1
    with pytest.raises(OperationalError, match="does not exist"):
        create_engine(url, poolclass=NullPool).connect()
    # The server has ended it; without this its remains would be found in whichever test comes later.
    connection.invalidate()
    connection.close()
    engine.dispose()


def test_text_sorts_the_same_on_both(database_url: str) -> None:
    engine = create_engine(database_url, poolclass=NullPool)
    words = text(
        "SELECT word FROM (SELECT 'b' AS word UNION SELECT 'B' UNION SELECT 'a') AS words ORDER BY word"
    )
    with engine.connect() as connection:
        assert connection.scalars(words).all() == ["B", "a", "b"]
    engine.dispose()


def test_without_any_postgresql_there_is_a_sentence_and_no_silence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tests.databases.USUAL_FOLDERS", ())
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(NoPostgresError, match=r"found none\. Install it"):
        find_binaries(tmp_path)


def test_a_named_server_that_does_not_answer_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("INFERPRICE_TEST_POSTGRES", f"postgresql://somebody@/postgres?host={tmp_path}")
    with pytest.raises(NoPostgresError, match="does not answer"), postgres_server():
        pass


def test_the_newest_installed_server_is_the_larger_number() -> None:
    assert version_in_path(Path("/usr/lib/postgresql/17/bin")) > version_in_path(
        Path("/usr/lib/postgresql/9/bin")
    )


def test_the_command_runs_once_on_each_database(postgres_url: str) -> None:
    environment = {**os.environ, "INFERPRICE_TEST_POSTGRES": postgres_url}
    show = [sys.executable, "-c", "import os; print(os.environ['DATABASE_URL'].partition(':')[0])"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.databases", *show],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    printed = [line for line in done.stdout.splitlines() if not line.startswith("--")]
    assert printed == ["sqlite", "postgresql+psycopg"]
