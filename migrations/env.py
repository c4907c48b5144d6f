"""What Alembic runs: the migrations on the connection it was handed, safely on either database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alembic import context

from app.store.tables import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LOCK: Final = 0x1FE59A1CE
_ON_POSTGRESQL: Final = (
    # A migration that cannot get its lock gives up rather than making every reader queue behind it.
    "SET LOCAL lock_timeout = '5s'",
    "SET LOCAL statement_timeout = '120s'",
    # Two programs that start at once migrate one after the other.
    f"SELECT pg_advisory_xact_lock({_LOCK})",
)


def _run(connection: Connection) -> None:
    """Lock where that is needed and run what is asked for inside the caller's transaction."""
    if connection.dialect.name == "postgresql":
        for statement in _ON_POSTGRESQL:
            connection.exec_driver_sql(statement)
    context.configure(
        connection=connection,
        target_metadata=metadata,
        compare_type=True,
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,
    )
    context.run_migrations()


_run(context.config.attributes["connection"])
