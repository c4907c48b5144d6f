"""What else programs may ask for: the changes as JSON and as a feed, the status, readiness and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.web import changes_page, feeds, observability, status_page
from app.web.api import JSON, REFUSALS
from app.web.changes_query import DAYS_PER_PAGE
from app.web.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable

router = APIRouter()

_CHOICE: Final = [each for each in PARAMETERS if each["name"] in {"gpu", "provider"}]
_DAY: Final = {
    "name": "day",
    "in": "query",
    "required": False,
    "description": f"The last day in UTC, up to today; with it come up to {DAYS_PER_PAGE - 1} before.",
    "schema": {"type": "string", "format": "date"},
}
_DAYS_SCHEMA: Final = {
    "type": "object",
    "required": ["provider", "gpu", "older", "newer", "days"],
    "properties": {
        "provider": {"type": "array", "items": {"type": "string"}},
        "gpu": {"type": "array", "items": {"type": "string"}},
        "older": {"type": ["string", "null"]},
        "newer": {"type": ["string", "null"]},
        "days": {"type": "array", "items": {"type": "object", "required": ["day", "changes"]}},
    },
}
_STATUS_SCHEMA: Final = {
    "type": "object",
    "required": ["as_of", "held_runs", "sources"],
    "properties": {
        "as_of": {"type": "string", "format": "date-time"},
        "held_runs": {"type": "integer", "minimum": 0},
        "database_away": {"type": "boolean"},
        "sources": {"type": "array", "items": {"type": "object", "required": ["provider", "freshness"]}},
    },
}


_TEXT: Final[dict[str, Any]] = {"text/plain": {"schema": {"type": "string"}}}


def _said(what: str, media_type: str, schema: dict[str, Any] | None = None) -> dict[int | str, Any]:
    return {200: {"description": what, "content": {media_type: {"schema": schema or {"type": "string"}}}}}


@router.get(
    "/changes.json",
    response_class=Response,
    summary="What moved, came, went and was announced, by day, as JSON",
    openapi_extra={"parameters": [*_CHOICE, _DAY]},
    responses={**_said("The days, the latest first.", JSON, _DAYS_SCHEMA), **REFUSALS},
)
def changes_json(request: Request) -> Response:
    """Give the same days as the page, with every change of them."""
    return changes_page.changes_json(request)


@router.get(
    "/changes.atom",
    response_class=Response,
    summary="The latest changes as an Atom feed",
    openapi_extra={"parameters": [*_CHOICE, _DAY]},
    responses={**_said("One entry for each day and provider.", "application/atom+xml"), **REFUSALS},
)
def changes_atom(request: Request) -> Response:
    """Give the latest changes to feed readers, of everybody or of the chosen providers and cards."""
    return feeds.changes_atom(request)


@router.get(
    "/status.json",
    response_class=Response,
    summary="How old each source is and how its runs ended, as JSON",
    responses={**_said("The sources.", JSON, _STATUS_SCHEMA), 304: REFUSALS[304], 503: REFUSALS[503]},
)
def status_json(request: Request) -> Response:
    """Give the same facts as the status page."""
    return status_page.status_json(request)


@router.get(
    "/readyz",
    response_class=Response,
    summary="Whether this process can answer from its database",
    responses={
        **_said("It can.", "text/plain"),
        503: {"description": "It cannot, and why.", "content": _TEXT},
    },
)
def readyz(request: Request) -> Response:
    """Ask the database whether it is there and has this version's tables."""
    return observability.readyz(request)


@router.get(
    "/metrics",
    response_class=Response,
    summary="The figures of this process and its sources as Prometheus text",
    responses=_said("The figures.", "text/plain"),
)
def metrics(request: Request) -> Response:
    """Give the age of each source, its runs, offers and findings, and the times of requests."""
    return observability.metrics(request)


_ENDPOINTS: Final[dict[str, Callable[[Request], Response]]] = {
    "/changes.json": changes_json,
    "/changes.atom": changes_atom,
    "/status.json": status_json,
    "/readyz": readyz,
    "/metrics": metrics,
}

for _path, _endpoint in _ENDPOINTS.items():
    router.add_route(_path, _endpoint, methods=["HEAD"], include_in_schema=False)
