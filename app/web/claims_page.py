"""The claims, as a page and as JSON: whether each holds, since when, by how much, and on what it depends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.responses import RedirectResponse, Response

from app.domain.query import QueryError
from app.web import words
from app.web.answers import Answer
from app.web.claims_view import claims_page, judge_all, part_sentence
from app.web.compare_view import compare_link
from app.web.exports import json_bytes
from app.web.kept import answer_kept, base_of, csv_of_objects, page_of
from app.web.state import query_text, read_pairs

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from starlette.requests import Request

    from app.domain.claims import Decider, PartVerdict
    from app.web.boards import Served
    from app.web.claims_days import Looked
    from app.web.claims_view import Judged
    from app.web.shared import Shared

JSON: Final = "application/json"

CSV_COLUMNS: Final = (
    *("claim", "sentence", "source", "holds", "since", "condition", "card", "relation", "only_provider"),
    *("term_days_min", "term_days_max", "condition_holds", "providers", "hits", "needed", "metric"),
    *("decided_by_provider", "decided_by_rival", "decided_by_value", "decided_by_rival_value"),
    *("decided_by_slack_percent", "depends_on", "compare"),
)
"""Values are in the unit that the metric's key ends in."""


def claims(request: Request) -> Response:
    """Answer the page. A form's empty field is redirected away."""

    def make(served: Served, judged: tuple[Judged, ...], *, looked: Looked, day: date | None) -> Answer:
        page = claims_page(served, judged, looked=looked, day=day)
        return page_of("claims.html", page=page, base=base)

    base = base_of(request)
    pairs = _pairs(query_text(request))
    if any(not value for _, value in pairs):
        return RedirectResponse("/claims", 303)
    return _answer(request, make, base=base)


def claims_json(request: Request) -> Response:
    """Answer the same as one document."""

    def make(served: Served, judged: tuple[Judged, ...], *, looked: Looked, day: date | None) -> Answer:
        del day
        return Answer(json_bytes(claims_document(served, judged, looked=looked)), JSON)

    return _answer(request, make)


def claims_csv(request: Request) -> Response:
    """Answer the same as CSV, a line for each condition of a claim."""

    def make(served: Served, judged: tuple[Judged, ...], *, looked: Looked, day: date | None) -> Answer:
        del looked
        lines = [_csv_line(each, part) for each in judged for part in each.verdict.parts]
        return csv_of_objects(f"claims-{day or served.words.today}", lines, columns=CSV_COLUMNS)

    return _answer(request, make)


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = read_pairs(text)
    for name, value in pairs:
        if name != "as_of":
            raise QueryError("parameter", name or value, "use as_of")
    return pairs


def _answer(request: Request, make: Callable[..., Answer], *, base: str = "") -> Response:
    shared: Shared = request.app.state.shared
    pairs = _pairs(query_text(request))

    def answer(served: Served, _text: str) -> Answer:
        day = served.board.instant.date() if pairs and pairs[0][1] else None
        looked = shared.claim_days.look_back(
            shared.engine, served.board.catalogue, until=day or served.words.today
        )
        return make(served, judge_all(served, looked), looked=looked, day=day)

    return answer_kept(request, answer, base=base)


def claims_document(served: Served, judged: tuple[Judged, ...], *, looked: Looked) -> dict[str, Any]:
    """Return the claims as one document for programs."""
    return {
        "as_of": words.utc(served.board.instant),
        "first_day_judged": looked.first.isoformat() if looked.first else None,
        "reaches_first_day": looked.is_whole,
        "days_judged": looked.days,
        "claims": [_plain(each) for each in judged],
    }


def _plain(each: Judged) -> dict[str, Any]:
    claim, verdict = each.claim, each.verdict
    return {
        "id": claim.id,
        "sentence": claim.sentence,
        "source": claim.source,
        "holds": verdict.holds,
        "since": each.steps[-1].day.isoformat() if each.steps else None,
        "decided_by": _plain_decider(verdict.decider),
        "depends_on": [
            {
                "accelerator": card.id,
                "bandwidth_tb_s": float(card.bandwidth_tb_s),
                "other_bandwidth_tb_s": float(card.bandwidth_alt_tb_s or card.bandwidth_tb_s),
            }
            for card in each.depends
        ],
        "parts": [_plain_part(part) for part in verdict.parts],
        "steps": [{"day": step.day.isoformat(), "holds": step.holds} for step in each.steps],
    }


def _plain_decider(decider: Decider | None) -> dict[str, Any] | None:
    if decider is None:
        return None
    return {
        "provider": decider.provider,
        "rival": decider.rival,
        "value": float(decider.value),
        "rival_value": float(decider.rival_value),
        "slack_percent": round(float(decider.slack * 100), 6),
    }


def _plain_part(each: PartVerdict) -> dict[str, Any]:
    part = each.part
    return {
        "sentence": part_sentence(each),
        "compare": compare_link("/compare.json", part.query),
        "card": part.card,
        "relation": part.relation,
        "provider": part.provider,
        "term_days": list(part.term_days) if part.term_days else None,
        "holds": each.holds,
        "providers": each.of,
        "hits": each.hits,
        "needed": each.needed,
        "decided_by": _plain_decider(each.decider),
    }


def _csv_line(each: Judged, verdict: PartVerdict) -> dict[str, Any]:
    """Return one condition of a claim with what the claim comes to."""
    part = _plain_part(verdict)
    days = verdict.part.term_days or (None, None)
    return {
        "claim": each.claim.id,
        "sentence": each.claim.sentence,
        "source": each.claim.source,
        "holds": each.verdict.holds,
        "since": each.steps[-1].day.isoformat() if each.steps else None,
        "condition": part["sentence"],
        "card": part["card"],
        "relation": part["relation"],
        "only_provider": part["provider"],
        "term_days_min": days[0],
        "term_days_max": days[1],
        "condition_holds": part["holds"],
        "providers": part["providers"],
        "hits": part["hits"],
        "needed": part["needed"],
        "metric": verdict.part.query.metric,
        "decided_by": part["decided_by"],
        "depends_on": [card.id for card in each.depends],
        "compare": part["compare"],
    }
