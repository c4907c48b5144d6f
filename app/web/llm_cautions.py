"""What to warn of beside a price that a model's cost rests on, in the board's words, and when it was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from app.domain.rows import FLAG_MEANINGS, Flag
from app.web import words

if TYPE_CHECKING:
    from app.domain.rows import Row

READ: Final = ("flags", "observed_at", "last_seen_at")
"""What ends an offer for programs. The board's `over_memory` is not among them: a model has its own fit."""

_SAID: Final = {
    Flag.STALE: "stale, last seen on {day}",
    Flag.VERY_STALE: "very stale, last seen on {day}",
    Flag.ASSUMED: "for a variant that is assumed",
    Flag.ANNOUNCED: "announced, and not yet seen as the current one",
}
"""The warnings that put a verdict in doubt, as a sentence says them; a cost never rests on a `floor`."""


class Mark(NamedTuple):
    """One warning: its name, its word and what it means."""

    flag: Flag
    word: str
    meaning: str


def marks_of(row: Row) -> tuple[Mark, ...]:
    """Return the warnings that stand beside a price, in the board's words and order."""
    return tuple(_mark(flag, row) for flag in row.flags)


def _mark(flag: Flag, row: Row) -> Mark:
    if flag is Flag.MIN_QUANTITY:
        gpus = row.offer.min_gpus
        return Mark(flag, f"{words.FLAG[flag]} {gpus}", f"rented {gpus} GPUs or more at a time")
    return Mark(flag, words.FLAG[flag], FLAG_MEANINGS[flag])


def last_seen_day(row: Row) -> str:
    """Return the day on which a good run last listed an offer; a reader's own has none."""
    return "" if row.offer.is_own else row.stored.last_seen_at.date().isoformat()


def when_read(row: Row) -> str:
    """Return when the price was read and last seen, to the minute; empty for a reader's own."""
    if row.offer.is_own:
        return ""
    stored = row.stored
    return f"read {words.moment(stored.observed_at)}, last seen {words.moment(stored.last_seen_at)}"


def price_is(row: Row) -> str:
    """Return in brief what puts the price in doubt that a verdict rests on; empty for most."""
    doubted = [words.FLAG[flag] for flag in row.flags if flag in _SAID]
    return f"price {', '.join(doubted)}" if doubted else ""


def doubts_of(row: Row) -> str:
    """Return the same as a sentence with the day; empty for most."""
    said = [_SAID[flag].format(day=last_seen_day(row)) for flag in row.flags if flag in _SAID]
    return f"This price is {'; '.join(said)}." if said else ""


def plain_read(row: Row) -> dict[str, Any]:
    """Return the warnings and times for programs, by `READ`; a reader's own offer has no times."""
    stored, is_own = row.stored, row.offer.is_own
    return {
        "flags": [flag.value for flag in row.flags],
        "observed_at": None if is_own else words.utc(stored.observed_at),
        "last_seen_at": None if is_own else words.utc(stored.last_seen_at),
    }
