"""Answers from memory while a board stands: one key for an address, one tag, a 304 where it may be."""

from __future__ import annotations

import csv
import io
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import RedirectResponse

from app.domain.query import OfferQuery, QueryError
from app.web.answers import Answer, etag, not_modified, respond
from app.web.exports import harmless, json_bytes
from app.web.pages import find_board, sorry
from app.web.render import environment
from app.web.state import link, query_text, read_pairs, read_query
from app.web.streams import Streamed, stream_made

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from app.web.boards import Served
    from app.web.shared import Shared

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"
CSV: Final = "text/csv; charset=utf-8"
NEAR_NAMES: Final = 6


def answer_kept(request: Request, make: Callable[[Served, str], Answer | Streamed]) -> Response:
    """Answer what `make` makes of the board and the query string; it is made once for each board.

    What is streamed is not kept but made for each reader.
    """
    shared: Shared = request.app.state.shared
    text = query_text(request)
    served = find_board(shared, text)
    key = f"{request.scope['path']}?{text}"
    tag = etag(served.token, key)
    known = not_modified(request, tag)
    if known is not None:
        return known
    found = shared.answers.peek(served.token, key)
    if found is None:
        made = make(served, text)
        if isinstance(made, Streamed):
            return stream_made(request, made, tag=tag, last_modified=served.last_modified)
        found = shared.answers.keep(served.token, key, answer=made)
    return respond(request, found, tag=tag, last_modified=served.last_modified)


def tidied(request: Request, *, names: Collection[str]) -> Response | None:
    """Return a redirect that leaves out a form's empty fields, so that addresses stay short; else None."""
    text = query_text(request)
    if all(value for _, value in read_pairs(text)):
        return None
    served = request.app.state.shared.keeper.current()
    query = read_some(text, served, names=names)
    return RedirectResponse(link(str(request.scope["path"]), query), status_code=303)


def page_of(template: str, **context: object) -> Answer:
    """Return a template filled in, as an answer."""
    return Answer(environment().get_template(template).render(**context).encode(), HTML)


def json_of(document: object) -> Answer:
    """Return a document as an answer."""
    return Answer(json_bytes(document), JSON)


def csv_of(name: str, columns: Sequence[str], *, rows: Iterable[Sequence[object]]) -> Answer:
    """Return rows as CSV to be saved under a name: the header, plain numbers, nothing where unknown."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    disposition = f'attachment; filename="inferprice-{name}.csv"'
    return Answer(out.getvalue().encode(), CSV, {"content-disposition": disposition})


def _cell(value: object) -> object:
    return "" if value is None else harmless(value) if isinstance(value, str) else value


def read_some(text: str, served: Served, *, names: Collection[str]) -> OfferQuery:
    """Return the board's query of which only these parameters are taken; another one is a QueryError."""
    for name, value in read_pairs(text):
        if name not in names:
            expected = f"use one of {', '.join(names)}" if names else "this page takes no parameters"
            raise QueryError("parameter", name or value, expected)
    return read_query(text, served.words)


def take_nothing(request: Request) -> None:
    """Refuse any parameter, with a QueryError."""
    for name, value in read_pairs(query_text(request)):
        raise QueryError("parameter", name or value, "this page takes no parameters")


def nothing_near(request: Request, what: str, *, asked: str, names: Collection[str]) -> Response:
    """Answer that there is no such thing, with links to those that are named like it."""
    path = str(request.scope["path"]).rpartition("/")[0]
    longer = sorted((name for name in names if asked and name.startswith(asked)), key=len)
    near = list(dict.fromkeys([*longer, *get_close_matches(asked, names, n=NEAR_NAMES, cutoff=0.4)]))
    links = [Markup('<a href="{}/{}">{}</a>').format(path, quote(name), name) for name in near[:NEAR_NAMES]]
    all_of = Markup('<a href="{}">All of them</a>.').format(path)
    did_you = Markup("Did you mean {}? ").format(Markup(", ").join(links)) if links else Markup()
    return sorry(request, 404, sentence=f"There is no {what} \u201c{asked}\u201d.", hint=did_you + all_of)
