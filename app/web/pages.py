"""The pages for people: the board and the evidence behind one row, whole or as the part that htmx swaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from app.domain.query import parse_query
from app.web.answers import Answer, Answers, etag, not_modified, respond, wants_compressed
from app.web.board_page import render_board
from app.web.evidence_page import render_evidence
from app.web.render import environment
from app.web.state import asked_day, link, query_string, query_text, read_pairs, read_query

if TYPE_CHECKING:
    from starlette.requests import Request

    from app.domain.query import QueryError
    from app.web.boards import Served
    from app.web.shared import Shared

HTML: Final = "text/html; charset=utf-8"
MAX_ID_DIGITS: Final = 18


def wants_part(request: Request) -> bool:
    """Tell whether htmx asked for a part to swap; going back in history needs the whole page."""
    headers = request.headers
    return "hx-request" in headers and "hx-history-restore-request" not in headers


async def board(request: Request) -> Response:
    """Answer the board page: at once when all it needs is in memory, else from a thread, which may wait."""
    shared: Shared = request.app.state.shared
    text = query_text(request)
    served = None if "as_of" in text else shared.keeper.fresh()
    answer = None if served is None else _answer(request, served, text=text, at_once=True)
    return await run_in_threadpool(_wait_for_board, request, text) if answer is None else answer


def _wait_for_board(request: Request, text: str) -> Response:
    served = find_board(request.app.state.shared, text)
    answer = _answer(request, served, text=text, at_once=False)
    assert answer is not None  # noqa: S101 - only what has to be at once may be missing
    return answer


def _answer(request: Request, served: Served, *, text: str, at_once: bool) -> Response | None:
    """Return the answer of a board. A form's empty fields are redirected away, so that addresses stay short.

    With `at_once`, None stands for an answer that would take more than a few milliseconds to make.
    """
    answers: Answers = request.app.state.shared.answers
    part = wants_part(request)
    key = f"{'part' if part else 'page'} /?{text}"
    tag = etag(served.token, key)
    known = not_modified(request, tag)
    if known is not None:
        return known
    found = answers.peek(served.token, key)
    if at_once and wants_compressed(request) and (found is None or not found.is_compressed):
        return None
    if found is None:
        pairs = read_pairs(text)
        query = parse_query(pairs, served.words)
        if at_once and not served.is_warm(query, "html"):
            return None
        if not part and any(not value for _, value in pairs):
            return RedirectResponse(link("/", query), status_code=303)
        headers = {"hx-push-url": link("/", query)} if part else {}
        body = render_board(served, query, partial=part)
        found = answers.keep(served.token, key, answer=Answer(body, HTML, headers))
    return respond(request, found, tag=tag, last_modified=served.last_modified)


def evidence(request: Request) -> Response:
    """Answer what stands behind one row: what was printed, where, when, what was assumed, the arithmetic."""
    shared: Shared = request.app.state.shared
    text = query_text(request)
    served = find_board(shared, text)
    query = read_query(text, served.words)
    asked = request.path_params["offer_id"]
    if not (asked.isascii() and asked.isdigit() and len(asked) <= MAX_ID_DIGITS):
        raise HTTPException(404)
    offer_id = int(asked)
    row = served.board.find(offer_id)
    if row is None:
        day = f" on {query.as_of}" if query.as_of else ""
        sentence = f"There is no offer {offer_id}{day}."
        return sorry(request, 404, sentence=sentence, hint="It may have been withdrawn.")
    base = str(request.base_url)
    body = render_evidence(served, row, query=query, partial=wants_part(request), base=base).encode()
    tag = etag(served.token, f"{wants_part(request)} {offer_id} {query_string(query)}")
    return not_modified(request, tag) or respond(request, Answer(body, HTML), tag=tag)


def find_board(shared: Shared, text: str) -> Served:
    """Return the board that a query string asks for: the current one, or that of a past day."""
    if "as_of" not in text:
        return shared.keeper.current()
    day = asked_day(text, shared.clock().date())
    return shared.keeper.current() if day is None else shared.keeper.as_of(day)


def sorry(request: Request, status: int, *, sentence: str, hint: str) -> Response:
    """Return a page, or its part for htmx, that says in a sentence what cannot be answered and what can."""
    part = wants_part(request)
    name = "_error.html" if part else "error.html"
    html = environment().get_template(name).render(status=status, sentence=sentence, hint=hint)
    headers = {"cache-control": "no-store"}
    if part:
        # Whatever asked, a filter or a row, the sentence takes the place of the whole board.
        headers |= {"hx-retarget": "#board", "hx-reswap": "outerHTML"}
    return Response(html, status_code=status, media_type=HTML, headers=headers)


def wrong_query(request: Request, error: QueryError) -> Response:
    """Return the page for a query that cannot be answered."""
    sentence = f"{error.field}: \u201c{error.value}\u201d is not right."
    return sorry(request, 422, sentence=sentence, hint=f"{error.expected}.")
