"""The two tools that change something, for an operator: start a scrape, decide on held offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from app.domain.query import QueryError, read_whole
from app.web.agent.asking import Call, pairs_of, taken
from app.web.agent.tool import Tool, argument

if TYPE_CHECKING:
    from app.domain.duties import Duties

LARGEST_NUMBER: Final = 2_147_483_647
LONGEST_REASON: Final = 500
_DECISIONS: Final = ("approve", "reject")
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_SENTENCE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["sentence", "address"],
    "properties": {
        "sentence": {**_TEXT, "description": "What came of it."},
        "address": {**_TEXT, "description": "The page that shows how sources stand."},
    },
}


def start_scrape(call: Call) -> dict[str, Any]:
    """Begin to read a source in the background."""
    call.access.require("start_scrape")
    pairs = pairs_of(call.arguments, [each["name"] for each in START_SCRAPE.parameters])
    provider = taken(pairs, "provider")
    if not provider:
        raise QueryError("provider", "", "give the id of a provider that has a source")
    return _said(call, _duties(call).start_scrape(provider))


START_SCRAPE: Final = Tool(
    name="start_scrape",
    title="Start a scrape",
    about="Begins to read one source in the background; what passes the checks is published. One at a time.",
    parameters=[argument("provider", _TEXT, about="The id of a provider that has a source.", required=True)],
    result=_SENTENCE,
    run=start_scrape,
    is_read_only=False,
    is_open_world=True,
)


def decide_quarantine(call: Call) -> dict[str, Any]:
    """Publish offers that a check held, or leave them out, with a reason that is kept."""
    call.access.require("decide_quarantine")
    pairs = pairs_of(call.arguments, [each["name"] for each in DECIDE_QUARANTINE.parameters])
    number = read_whole("number", taken(pairs, "number"), low=1, high=LARGEST_NUMBER)
    decision, because = taken(pairs, "decision"), taken(pairs, "because").strip()
    if decision not in _DECISIONS:
        raise QueryError("decision", decision, f"use one of {', '.join(_DECISIONS)}")
    if not 0 < len(because) <= LONGEST_REASON:
        raise QueryError("because", because, f"say why in 1 to {LONGEST_REASON} characters")
    sentence = _duties(call).decide(number, approve=decision == "approve", because=because)
    return _said(call, sentence)


DECIDE_QUARANTINE: Final = Tool(
    name="decide_quarantine",
    title="Decide on held offers",
    about="Publishes offers that a check held, or leaves them out for good, and keeps the reason.",
    parameters=[
        argument(
            "number", {"type": "integer", "minimum": 1}, about="The number of the held offers.", required=True
        ),
        argument(
            "decision", {"type": "string", "enum": list(_DECISIONS)}, about="What to do.", required=True
        ),
        argument("because", {"type": "string", "maxLength": LONGEST_REASON}, about="Why.", required=True),
    ],
    result=_SENTENCE,
    run=decide_quarantine,
    is_read_only=False,
)

WRITING: Final = (START_SCRAPE, DECIDE_QUARANTINE)
"""The tools that write; they are listed only where tokens are asked for."""


def _duties(call: Call) -> Duties:
    assert call.duties is not None  # noqa: S101 - without them these tools are not there
    return call.duties


def _said(call: Call, sentence: str) -> dict[str, Any]:
    return {"sentence": sentence, "address": call.address("/status", [])}
