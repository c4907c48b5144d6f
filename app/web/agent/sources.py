"""What a program needs to cite a price: the page it was read on and when, and what its warnings mean."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from app.domain.rows import FLAG_MEANINGS, Flag
from app.store.queries import offer_history
from app.store.session import reading
from app.web import words
from app.web.boards import board_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.store.records import PriceStep
    from app.web.agent.asking import Call, Pairs

Document = dict[str, Any]

SOURCE: Final[Document] = {
    "source_url": {"type": ["string", "null"], "description": "The page that the price was read on."},
    "observed_at": {
        "type": ["string", "null"],
        "format": "date-time",
        "description": "When the page was read that the price is from.",
    },
}
"""The properties that say where a price is from; null where there is no price."""

_NONE: Final[Document] = dict.fromkeys(SOURCE)


def schema_with_source(schema: Document) -> Document:
    """Return the schema of an object that has an `offer_id`, and where its price is from."""
    return {
        **schema,
        "required": [*schema["required"], *SOURCE],
        "properties": {**schema["properties"], **SOURCE},
    }


def with_sources(call: Call, pairs: Pairs, *, rows: Iterable[Document]) -> list[Document]:
    """Return rows that have an `offer_id` with where the price of each is from, and its flags.

    Both are those of the board that the query is about.
    """
    shared = call.site.state.shared
    asked = [pair for pair in pairs if pair[0] == "as_of"]
    board = board_for(shared.keeper, asked, today=shared.clock().date()).board
    found = []
    for row in rows:
        number = row.get("offer_id")
        listed = board.find(number) if number is not None else None
        if listed is None:
            found.append({"flags": [], **row, **_NONE})
        else:
            flags = [flag.value for flag in listed.flags]
            source = _source(listed.offer.source_url, listed.stored.observed_at)
            found.append({"flags": flags, **row, **source})
    return found


def with_sources_then(call: Call, rows: Sequence[Document]) -> list[Document]:
    """Return stretches of a history with where each price was read then, also of offers that are gone."""
    with reading(call.site.state.shared.engine) as connection:
        steps = {
            number: offer_history(connection, number)
            for number in {row["offer_id"] for row in rows}
            if number is not None
        }
    return [{**row, **_source_of(steps.get(row["offer_id"], []), row)} for row in rows]


def _source_of(steps: Sequence[PriceStep], row: Document) -> Document:
    begins, ends = (datetime.fromisoformat(row[key]) for key in ("from", "to"))
    for step in steps:
        if step.valid_from < ends and (step.valid_to is None or step.valid_to > begins):
            return _source(step.source_url, step.observed_at)
    return _NONE


def _source(url: str, observed_at: datetime) -> Document:
    return {"source_url": url, "observed_at": words.utc(observed_at)}


def meanings(flags: Iterable[str]) -> dict[str, str]:
    """Return what each of these warnings means."""
    return {flag: FLAG_MEANINGS[Flag(flag)] for flag in sorted(set(flags))}
