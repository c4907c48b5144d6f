"""Bring a database to the tables this program expects, or say what is missing; no ini file is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.paths import migrations_dir
from app.store.session import reading, writing
from app.store.tables import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_FILE_TEMPLATE: Final = "%%(year)d-%%(month).2d-%%(day).2d_%%(slug)s"


def upgrade(engine: Engine) -> None:
    """Run every migration that the database has not had yet, all in one transaction under one lock."""
    with writing(engine) as connection:
        command.upgrade(_config(connection), "head")


def check(engine: Engine) -> tuple[str, ...]:
    """Return a sentence for each thing in which database and tables differ; empty when all is right."""
    with reading(engine) as connection:
        older = behind(connection)
        if older:
            return (older,)
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return tuple(
            f"The tables differ: {difference}." for difference in compare_metadata(context, metadata)
        )


def behind(connection: Connection) -> str:
    """Return a sentence when the database is not at this program's revision; empty when it is."""
    here = MigrationContext.configure(connection).get_current_revision()
    newest = ScriptDirectory.from_config(_config(connection)).get_current_head()
    if here == newest:
        return ""
    return f"The database is at revision {here or 'none'}, this program needs {newest}."


def draft(engine: Engine, words: str) -> Path:
    """Write a new migration from what differs between the database and the tables; return its file."""
    with writing(engine) as connection:
        script = command.revision(_config(connection), message=words, autogenerate=True)
    if script is None or isinstance(script, list):
        raise RuntimeError(f"Alembic wrote no single migration for {words!r}")
    return Path(script.path)


def _config(connection: Connection) -> Config:
    """Return Alembic's configuration; `migrations/env.py` takes its connection from it."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(migrations_dir()).replace("%", "%%"))
    config.set_main_option("file_template", _FILE_TEMPLATE)
    config.set_main_option("path_separator", "os")
    return config
