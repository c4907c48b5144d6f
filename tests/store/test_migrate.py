"""The migrations make exactly the tables the program expects, on both databases, any number of times."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from app.store import migrate
from app.store.session import make_engine, reading, writing
from app.store.tables import metadata


@pytest.fixture
def empty(database_url: str) -> Iterator[Engine]:
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


def test_an_empty_database_is_said_to_need_migrating(empty: Engine) -> None:
    (sentence,) = migrate.check(empty)
    assert sentence.startswith("The database is at revision none, this program needs ")


def test_migrating_twice_leaves_tables_without_a_difference(empty: Engine) -> None:
    migrate.upgrade(empty)
    migrate.upgrade(empty)
    assert migrate.check(empty) == ()


def test_a_table_that_was_tampered_with_is_named(empty: Engine) -> None:
    migrate.upgrade(empty)
    with writing(empty) as connection:
        connection.execute(text("ALTER TABLE offer ADD COLUMN mood text"))
    (sentence,) = migrate.check(empty)
    assert "mood" in sentence


def test_migrations_make_the_very_tables_of_the_metadata(tmp_path: Path) -> None:
    """Alembic's own comparison leaves out CHECK, STRICT and partial indexes; SQLite keeps their text."""
    migrated = make_engine(f"sqlite:///{tmp_path / 'migrated.db'}")
    migrate.upgrade(migrated)
    created = make_engine(f"sqlite:///{tmp_path / 'created.db'}")
    with writing(created) as connection:
        metadata.create_all(connection)
    assert _schema(migrated) == _schema(created)
    migrated.dispose()
    created.dispose()


def _schema(engine: Engine) -> dict[str, list[str]]:
    """Return what SQLite was told to create: the parts of each table and index, in one order."""
    query = text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name != 'alembic_version'")
    with reading(engine) as connection:
        return {
            name: sorted(part.strip(" ,\t") for part in sql.split("\n"))
            for name, sql in connection.execute(query)
        }


def test_sqlite_refuses_a_word_where_a_number_belongs(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'strict.db'}")
    migrate.upgrade(engine)
    with (
        pytest.raises(IntegrityError, match="cannot store TEXT value in INTEGER column"),
        writing(engine) as connection,
    ):
        connection.execute(text("UPDATE data_version SET version = 'abc'"))
    engine.dispose()


def test_sqlite_keeps_a_write_ahead_log_and_foreign_keys(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'made' / 'on' / 'demand.db'}")
    with reading(engine) as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar_one() == 1
    engine.dispose()


def test_a_new_migration_is_drafted_from_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(migrate.migrations_dir(), tmp_path / "migrations")
    monkeypatch.setattr(migrate, "migrations_dir", lambda: folder)
    engine = make_engine(f"sqlite:///{tmp_path / 'draft.db'}")
    migrate.upgrade(engine)
    with writing(engine) as connection:
        connection.execute(text("DROP TABLE finding"))
    file = migrate.draft(engine, "Bring back findings")
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}_bring_back_findings\.py", file.name)
    assert "op.create_table('finding'" in file.read_text()
    engine.dispose()


def test_held_runs_outlive_the_change_of_their_table(empty: Engine) -> None:
    """The table is made again on both databases; a row stays, and the next one gets the next number."""
    with writing(empty) as connection:
        command.upgrade(migrate._config(connection), "2026_11_29_index_changes")
        connection.execute(
            text(
                "INSERT INTO scrape_run (id, source, slot, provider, started_at, sentence)"
                " VALUES (7, 'acme', '2026-11-01', 'acme', 1, '')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO quarantine (id, run_id, provider, payload, state, because)"
                " VALUES (3, 7, 'acme', '{}', 'rejected', 'No.')"
            )
        )
    migrate.upgrade(empty)
    with writing(empty) as connection:
        (row,) = connection.execute(text("SELECT id, run_id, state, because, agreeing_runs FROM quarantine"))
        assert tuple(row) == (3, 7, "rejected", "No.", 0)
        command.downgrade(migrate._config(connection), "2026_11_29_index_changes")
        assert connection.execute(text("SELECT because FROM quarantine")).scalar_one() == "No."
