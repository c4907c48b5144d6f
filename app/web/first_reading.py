"""What the board says while no source has been read well yet: that they are being read, or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.store.queries import GOOD_OUTCOMES
from app.store.runs import runs_of_sources
from app.web.words import moment
from scrapers import SCRAPERS

if TYPE_CHECKING:
    from sqlalchemy import Connection

BEING_READ: Final = (
    "The sources are being read for the first time. Until they have been, this is the table that comes with "
    "the program."
)


def first_reading(connection: Connection) -> str | None:
    """Return what the page says, nothing while no source was tried; None once one has been read well."""
    runs = runs_of_sources(connection, SCRAPERS, limit=2 * len(SCRAPERS))
    if any(run.outcome in GOOD_OUTCOMES for run in runs):
        return None
    if not runs:
        return ""
    ended = [run for run in runs if run.outcome is not None]
    if not ended:
        return BEING_READ
    last = f"The last try was at {moment(ended[0].started_at)}: {ended[0].sentence}"
    if len(ended) < len(runs):
        return f"{BEING_READ} So far none could be. {last}"
    return (
        f"No source could be read yet. {last} The status page has the others, and the command "
        "inferprice scrape tries again."
    )
