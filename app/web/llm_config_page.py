"""What a pasted config.json costs to serve: worked out and answered, and kept nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyio import to_thread
from starlette.concurrency import run_in_threadpool

from app.domain.llms.configs import FAMILIES, read_config
from app.domain.llms.configs.document import parse_document
from app.domain.llms.cost_query import CostQuery
from app.domain.query import QueryError
from app.web.answers import respond_privately
from app.web.kept import base_of, page_of, take_nothing
from app.web.llm_found import find, read_cost
from app.web.llm_page import llm_page
from app.web.llm_subjects import subject_of_config
from app.web.llm_view import form_of
from app.web.pages import find_board
from app.web.posted import form_pairs, read_body, too_large
from app.web.state import joined

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from app.web.boards import Served
    from app.web.llm_page import LlmPage

MOST_BYTES: Final = 1_000_000
"""Longest form that is read, as it is sent."""

_WRONG: Final = 422


async def config(request: Request) -> Response:
    """Answer the form, or what the config that was pasted into it costs; nothing of it is kept."""
    if request.method != "POST":
        return await run_in_threadpool(_form, request)
    body = await read_body(request, MOST_BYTES)
    if body is None:
        return too_large(request, MOST_BYTES)
    limiter = request.app.state.shared.pasted
    return await to_thread.run_sync(_answer, request, body, limiter=limiter)


def _form(request: Request) -> Response:
    take_nothing(request)
    served = request.app.state.shared.keeper.current()
    return _respond(request, served, query=CostQuery())


def _answer(request: Request, body: bytes) -> Response:
    """Answer what was pasted, or the form again with what is wrong."""
    pairs = form_pairs(body)
    text = joined([pair for pair in pairs if pair[0] != "config"])
    served = find_board(request.app.state.shared, text)
    query = read_cost(text, served).replace(page=1)
    pasted = "".join(value for name, value in pairs if name == "config")
    try:
        subject = subject_of_config(read_config(parse_document(pasted, name="the pasted text")))
        page = llm_page(find(served, subject, query=query))
    except QueryError as error:
        return _respond(request, served, query=query, pasted=pasted, error=str(error))
    return _respond(request, served, query=query, pasted=pasted, page=page)


def _respond(
    request: Request,
    served: Served,
    *,
    query: CostQuery,
    pasted: str = "",
    error: str = "",
    page: LlmPage | None = None,
) -> Response:
    families = ", ".join(dict.fromkeys(each.name for each in FAMILIES))
    answer = page_of(
        "llm_config.html",
        page=page,
        form=form_of(served, query),
        query=query,
        pasted=pasted,
        error=error,
        families=families,
        base=base_of(request),
    )
    response = respond_privately(request, answer)
    response.status_code = _WRONG if error else 200
    return response
