"""The same query for programs: /offers.csv, .json and .ndjson, each parameter in the OpenAPI document."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.domain.columns import export_columns
from app.web.answers import Answer
from app.web.exports import csv_text, json_bytes, json_document, json_row, json_rows
from app.web.kept import answer_kept
from app.web.parameters import PARAMETERS
from app.web.stands import in_json, with_baseline
from app.web.state import link, read_pairs, read_query
from app.web.streams import STREAMED_ROWS, Streamed, csv_chunks, line_chunks

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.domain.query import OfferQuery, QueryError
    from app.web.boards import Served

router = APIRouter()

PROBLEM: Final = "application/problem+json"
CSV: Final = "text/csv; charset=utf-8"
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"


_PROBLEM_SCHEMA: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "field": {"type": "string"},
        "value": {"type": "string"},
        "expected": {"type": "string"},
    },
}

REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    304: {"description": "It is as the reader has it: by If-None-Match, or without that If-Modified-Since."},
    422: {
        "description": "A parameter is not right: which, and what would be.",
        "content": {PROBLEM: {"schema": _PROBLEM_SCHEMA}},
    },
    503: {
        "description": "The database is away and no board is in memory.",
        "content": {PROBLEM: {"schema": _PROBLEM_SCHEMA}},
    },
}

_ROWS_SCHEMA: Final = {
    "type": "object",
    "required": ["as_of", "total", "page", "per_page", "columns", "rows"],
    "properties": {
        "as_of": {"type": "string", "format": "date-time"},
        "total": {"type": "integer", "minimum": 0},
        "page": {"type": "integer", "minimum": 1},
        "per_page": {"type": "integer", "minimum": 1},
        "columns": {"type": "array", "items": {"type": "object"}},
        "rows": {"type": "array", "items": {"type": "object"}},
    },
}


@router.get(
    "/offers.csv",
    response_class=Response,
    summary="The rows of the board as CSV",
    openapi_extra={"parameters": PARAMETERS},
    responses={
        200: {"description": "The rows.", "content": {"text/csv": {"schema": {"type": "string"}}}},
        **REFUSALS,
    },
)
def offers_csv(request: Request) -> Response:
    """Give the rows of the same query as the page, in the same order; all of them unless a page is named.

    Each ends in what its figures stand for: baseline, precision, weights, published figures and time.
    """

    def make(served: Served, query: OfferQuery, *, everything: bool) -> Answer | Streamed:
        selection = served.board.select(query, everything=everything, counted=False)
        rows = (served.board.rows[number] for number in selection.rows)
        said = with_baseline(query, instant=served.board.instant, baseline=query.baseline)
        write = partial(csv_text, view=selection.view, columns=export_columns(query.columns), stands=said)
        day = query.as_of or served.words.today
        headers = {"content-disposition": f'attachment; filename="inferprice-{day}.csv"'}
        if len(selection.rows) > STREAMED_ROWS:
            return Streamed(chunks=csv_chunks(rows, write), media_type=CSV, headers=headers)
        return Answer(write(rows).encode(), CSV, headers)

    return export_kept(request, make)


@router.get(
    "/offers.json",
    response_class=Response,
    summary="The rows of the board as JSON",
    openapi_extra={"parameters": PARAMETERS},
    responses={200: {"description": "The rows.", "content": {JSON: {"schema": _ROWS_SCHEMA}}}, **REFUSALS},
)
def offers_json(request: Request) -> Response:
    """Give the rows of the same query as the page, in the same order; all of them unless a page is named."""

    def make(served: Served, query: OfferQuery, *, everything: bool) -> Answer:
        selection = served.board.select(query, everything=everything, counted=False)
        more = not everything and query.page < selection.pages
        following = link("/offers.json", query, page=query.page + 1) if more else ""
        columns = export_columns(query.columns)
        rows = (
            (
                json_row(served.board.rows[number], selection.view, columns=columns)
                for number in selection.rows
            )
            if everything  # such a document is asked for once and may hold every row there is
            else json_rows(served, selection)
        )
        document = json_document(selection, rows, instant=served.board.instant, next_href=following)
        return Answer(json_bytes(document), JSON)

    return export_kept(request, make)


@router.get(
    "/offers.ndjson",
    response_class=Response,
    summary="The rows of the board as JSON, an object a line",
    openapi_extra={"parameters": PARAMETERS},
    responses={
        200: {"description": "The rows.", "content": {NDJSON: {"schema": {"type": "string"}}}},
        **REFUSALS,
    },
)
def offers_ndjson(request: Request) -> Response:
    """Give the rows of /offers.json, each on a line of its own and sent as soon as it is made.

    Each also says what its figures stand for, which stands in the head of that document.
    """

    def make(served: Served, query: OfferQuery, *, everything: bool) -> Streamed:
        selection = served.board.select(query, everything=everything, counted=False)
        columns, view = export_columns(query.columns), selection.view
        rows = (served.board.rows[number] for number in selection.rows)
        said = in_json(with_baseline(query, instant=served.board.instant, baseline=query.baseline))
        chunks = line_chunks(rows, lambda row: json_bytes(json_row(row, view, columns=columns, stands=said)))
        return Streamed(chunks=chunks, media_type=NDJSON)

    return export_kept(request, make)


def export_kept(request: Request, make: Callable[..., Answer | Streamed], *, base: str = "") -> Response:
    """Answer what `make` makes of board and query: of all rows unless the address names a page."""

    def answer(served: Served, text: str) -> Answer | Streamed:
        query = read_query(text, served.words)
        paged = any(name in {"page", "per_page"} and value for name, value in read_pairs(text))
        return make(served, query, everything=not paged)

    return answer_kept(request, answer, base=base)


@router.get(
    "/healthz",
    response_class=Response,
    summary="Whether this process answers",
    responses={200: {"description": "It does.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def healthz() -> Response:
    """Answer without asking the database."""
    return Response("ok\n", media_type="text/plain; charset=utf-8")


for _path, _endpoint in (
    ("/offers.csv", offers_csv),
    ("/offers.json", offers_json),
    ("/offers.ndjson", offers_ndjson),
):
    router.add_route(_path, _endpoint, methods=["HEAD"], include_in_schema=False)
router.add_route("/healthz", lambda _request: healthz(), methods=["HEAD"], include_in_schema=False)


def problem(status: int, title: str, *, detail: str, **more: str) -> Response:
    """Return a problem document (RFC 9457)."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Response(
        json_bytes(body), status_code=status, media_type=PROBLEM, headers={"cache-control": "no-store"}
    )


def query_problem(error: QueryError) -> Response:
    """Return the problem document of a query that cannot be answered."""
    return problem(
        422,
        "A parameter is not right",
        detail=str(error),
        field=error.field,
        value=error.value,
        expected=error.expected,
    )
