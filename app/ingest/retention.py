"""Let go of archived pages that are old and that nobody needs any more."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from app.ingest.archive import Pruned, prune
from app.store import session
from app.store.captures import needed_bodies

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Engine


def let_go(engine: Engine, archive: Path, *, days: int, now: datetime) -> Pruned:
    """Remove the bodies older than so many days that no price cites and nobody has to decide on.

    What the last answer to a request was stays as well: the next one may be that nothing has changed. The
    rows that say what was fetched stay with their hashes.
    """
    with session.reading(engine) as connection:
        needed = needed_bodies(connection, now=now, days=days)
    return prune(archive, needed, before=now - timedelta(days=days))
