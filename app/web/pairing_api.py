"""The comparison and the claims for programs, with their parameters in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.domain.compare_query import COMPARED, FEWEST_CARDS, MOST_CARDS, NAMES
from app.web import claims_page, compare_page
from app.web.api import JSON, REFUSALS
from app.web.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable

router = APIRouter()


def _parameter(name: str, values: tuple[str, ...], about: str) -> dict[str, Any]:
    schema = {"type": "string", "enum": list(values)}
    return {"name": name, "in": "query", "required": False, "description": about, "schema": schema}


_GPU: Final = (
    f"A variant, such as h100-sxm, and no family of several; {FEWEST_CARDS} to {MOST_CARDS} of them."
)
COMPARE_PARAMETERS: Final = [
    *(
        {**each, "description": _GPU} if each["name"] == "gpu" else each
        for each in PARAMETERS
        if each["name"] in NAMES
    ),
    _parameter("metric", tuple(COMPARED), "What the cards are compared by; usd_per_tbs_hour by default."),
]
_COMPARE_SCHEMA: Final = {
    "type": "object",
    "required": ["as_of", "metric", "baseline", "cards", "counts", "doubts", "tallies", "lines", "left_out"],
    "properties": {
        "as_of": {"type": "string", "format": "date-time"},
        "metric": {"type": "object"},
        "baseline": {"type": "string"},
        "cards": {"type": "array", "items": {"type": "object"}},
        "counts": {"type": "array", "items": {"type": "string"}},
        "doubts": {"type": "array", "items": {"type": "string"}},
        "tallies": {"type": "array", "items": {"type": "object"}},
        "lines": {"type": "array", "items": {"type": "object", "required": ["provider", "cells", "winners"]}},
        "left_out": {"type": "array", "items": {"type": "object", "required": ["provider", "why"]}},
    },
}


@router.get(
    "/compare.json",
    response_class=Response,
    summary="Cards side by side at the same provider, as JSON",
    openapi_extra={"parameters": COMPARE_PARAMETERS},
    responses={
        200: {"description": "The pairing.", "content": {JSON: {"schema": _COMPARE_SCHEMA}}},
        **REFUSALS,
    },
)
def compare_json(request: Request) -> Response:
    """Give the pairing of the page: lines, winners, multiples, doubts, and who is left out."""
    return compare_page.compare_json(request)


@router.get(
    "/compare.csv",
    response_class=Response,
    summary="Cards side by side at the same provider, as CSV",
    openapi_extra={"parameters": COMPARE_PARAMETERS},
    responses={
        200: {"description": "The cells.", "content": {"text/csv": {"schema": {"type": "string"}}}},
        **REFUSALS,
    },
)
def compare_csv(request: Request) -> Response:
    """Give a line for each provider, set of terms and card."""
    return compare_page.compare_csv(request)


_CLAIMS_SCHEMA: Final = {
    "type": "object",
    "required": ["as_of", "first_day_judged", "days_judged", "claims"],
    "properties": {
        "as_of": {"type": "string", "format": "date-time"},
        "first_day_judged": {"type": ["string", "null"]},
        "days_judged": {"type": "integer", "minimum": 0},
        "claims": {
            "type": "array",
            "items": {"type": "object", "required": ["id", "sentence", "holds", "parts", "steps"]},
        },
    },
}


@router.get(
    "/claims.json",
    response_class=Response,
    summary="Whether each claim holds, since when and by how much, as JSON",
    openapi_extra={"parameters": [each for each in PARAMETERS if each["name"] == "as_of"]},
    responses={
        200: {"description": "The claims.", "content": {JSON: {"schema": _CLAIMS_SCHEMA}}},
        **REFUSALS,
    },
)
def claims_json(request: Request) -> Response:
    """Give the claims of the page, with every day on which one's standing changed."""
    return claims_page.claims_json(request)


_ENDPOINTS: Final[dict[str, Callable[[Request], Response]]] = {
    "/compare.json": compare_json,
    "/compare.csv": compare_csv,
    "/claims.json": claims_json,
}

for _path, _endpoint in _ENDPOINTS.items():
    router.add_route(_path, _endpoint, methods=["HEAD"], include_in_schema=False)
