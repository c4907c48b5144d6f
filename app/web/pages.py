"""The pages for people: the board and the evidence behind one row, whole or as the part that htmx swaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from app.domain.query import parse_query
from app.web.answers import Answer, Answers, etag, not_modified, respond, respond_privately, wants_compressed
from app.web.board_page import render_board
from app.web.boards import board_for
from app.web.evidence_page import render_evidence
from app.web.render import environment
from app.web.state import is_apart, link, query_string, query_text, read_pairs, read_query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from app.domain.query import OfferQuery, QueryError
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
    served = None if is_apart(text) else shared.keeper.fresh()
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
    if served.is_private:
        return _private_board(request, served, text=text, part=part)
    key = f"{'part' if part else 'page'} /?{text}"
    tag = etag(served.token, key)
    known = not_modified(request, tag)
    if known is not None:
        return known
    base = _base(request, part=part)
    found = answers.peek(served.token, base + key)
    if at_once and wants_compressed(request) and (found is None or not found.is_compressed):
        return None
    if found is None:
        pairs = read_pairs(text)
        query = parse_query(pairs, served.words)
        if at_once and not served.is_warm(query, "html"):
            return None
        if _untidy(pairs, part=part):
            return RedirectResponse(link("/", query), status_code=303)
        made = _board_answer(served, query, part=part, base=base)
        found = answers.keep(served.token, base + key, answer=made)
    return respond(request, found, tag=tag, last_modified=served.last_modified)


def _untidy(pairs: Sequence[tuple[str, str]], *, part: bool) -> bool:
    """Tell whether a form's empty fields have to leave the address first."""
    return not part and any(not value for _, value in pairs)


def _base(request: Request, *, part: bool) -> str:
    """Return the address of this site as the request came by it, which a part does not name."""
    return "" if part else str(request.base_url)


def _board_answer(served: Served, query: OfferQuery, *, part: bool, base: str) -> Answer:
    headers = {"hx-push-url": link("/", query)} if part else {}
    return Answer(render_board(served, query, partial=part, base=base), HTML, headers)


def _private_board(request: Request, served: Served, *, text: str, part: bool) -> Response:
    """Answer the board with the reader's own offers, of which nothing is kept here or on the way."""
    pairs = read_pairs(text)
    query = parse_query(pairs, served.words)
    if _untidy(pairs, part=part):
        return RedirectResponse(link("/", query), status_code=303)
    made = _board_answer(served, query, part=part, base=_base(request, part=part))
    return respond_privately(request, made)


def evidence(request: Request) -> Response:
    """Answer what stands behind one row: what was printed, where, when, what was assumed, the arithmetic."""
    shared: Shared = request.app.state.shared
    text = query_text(request)
    served = find_board(shared, text)
    query = read_query(text, served.words)
    asked = request.path_params["offer_id"]
    digits = asked.removeprefix("-")  # the reader's own offers count from -1 down
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_ID_DIGITS):
        raise HTTPException(404)
    offer_id = int(asked)
    row = served.board.find(offer_id)
    if row is None:
        day = f" on {query.as_of}" if query.as_of else ""
        sentence = f"There is no offer {offer_id}{day}."
        return sorry(request, 404, sentence=sentence, hint="It may have been withdrawn.")
    base = str(request.base_url)
    body = render_evidence(served, row, query=query, partial=wants_part(request), base=base).encode()
    if served.is_private:
        return respond_privately(request, Answer(body, HTML))
    tag = etag(served.token, f"{wants_part(request)} {offer_id} {query_string(query)}")
    return not_modified(request, tag) or respond(request, Answer(body, HTML), tag=tag)


def find_board(shared: Shared, text: str) -> Served:
    """Return the board that a query string asks for: of now or of a past day, with the figures it names.

    The reader's own offers of the query string are on it.
    """
    if not is_apart(text):
        return shared.keeper.current()
    return board_for(shared.keeper, read_pairs(text), today=shared.clock().date())


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
