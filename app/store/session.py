"""How the program reaches its database: the engine, a consistent read, and a write that locks first."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine, event
from sqlalchemy.engine import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

_BUSY_TIMEOUT_MS: Final = 30_000
_CONNECT_TIMEOUT_S: Final = 10
_WRITES: Final = "inferprice_writes"

_SQLITE_PRAGMAS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = NORMAL",
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}",
)


def make_engine(database_url: str) -> Engine:
    """Return an engine for a SQLite or PostgreSQL URL; a SQLite file's folder is made when it is not there.

    Nothing connects yet: a database that is down shows at the first read, as SQLAlchemy's OperationalError.
    """
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite":
        # Parameters by position on both databases, so that one tuple serves both.
        return create_engine(
            url,
            pool_pre_ping=True,
            paramstyle="format",
            connect_args={"connect_timeout": _CONNECT_TIMEOUT_S},
        )
    if url.database not in {None, "", ":memory:"}:
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(dbapi_connection: Any, record: object) -> None:
    """Take the transaction out of the driver's hands (it would commit before DDL) and set the pragmas."""
    del record
    dbapi_connection.isolation_level = None
    cursor = dbapi_connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Begin; one that will write takes the write lock now, since a reader cannot always become a writer."""
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Give a connection in which every query sees the database at one and the same moment."""
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        with connection.begin():
            yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Give a connection in one transaction: the end of the block stores all of it, an error none of it."""
    with engine.connect() as connection:
        connection.execution_options(**{_WRITES: True})
        with connection.begin():
            yield connection
