"""Which sources the operator turned on or off; every process that reads this database sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from app.store.records import Switch
from app.store.tables import source_switch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection


def switches(connection: Connection) -> Mapping[str, Switch]:
    """Return what the operator said about sources, by provider; nothing about most."""
    rows = connection.execute(select(source_switch)).mappings()
    return {row["provider"]: Switch(**row) for row in rows}


def switch(connection: Connection, provider: str, *, is_on: bool, because: str, now: datetime) -> None:
    """Note that a source is on or off from now on, and why."""
    connection.execute(delete(source_switch).where(source_switch.c.provider == provider))
    connection.execute(
        insert(source_switch).values(provider=provider, is_on=is_on, because=because, changed_at=now)
    )
