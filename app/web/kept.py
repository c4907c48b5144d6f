"""Answers from memory while a board stands: one key for an address, one tag, a 304 where it may be."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from app.domain.query import OfferQuery, QueryError
from app.web import words
from app.web.answers import Answer, etag, not_modified, respond, respond_privately
from app.web.exports import harmless, json_bytes
from app.web.old_links import moved
from app.web.pages import find_board, sorry
from app.web.render import environment
from app.web.state import link, query_text, read_pairs, read_query
from app.web.streams import Streamed, stream_made

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from app.web.boards import Served
    from app.web.shared import Shared

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"
CSV: Final = "text/csv; charset=utf-8"
NEAR_NAMES: Final = 6


def base_of(request: Request) -> str:
    """Return the address of this site as the request came by it, with a slash at its end."""
    return str(request.base_url)


def answer_kept(
    request: Request, make: Callable[[Served, str], Answer | Streamed], *, base: str = ""
) -> Response:
    """Answer what `make` makes of the board and the query string; it is made once for each board.

    What is streamed is not kept but made for each reader.
    `base` is the address of this site where the answer names it: each has an answer of its own.
    """
    shared: Shared = request.app.state.shared
    text = query_text(request)
    served = find_board(shared, text)
    if served.is_private:
        mine = make(served, text)
        if isinstance(mine, Streamed):
            return stream_made(request, mine, tag="")
        return respond_privately(request, mine)
    key = f"{request.scope['path']}?{text}"
    tag = etag(served.token, key)
    known = not_modified(request, tag)
    if known is not None:
        return known
    found = shared.answers.peek(served.token, base + key)
    if found is None:
        made = make(served, text)
        if isinstance(made, Streamed):
            return stream_made(request, made, tag=tag, last_modified=served.last_modified)
        found = shared.answers.keep(served.token, base + key, answer=made)
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
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    disposition = f'attachment; filename="inferprice-{name}.csv"'
    return Answer(out.getvalue().encode(), CSV, {"content-disposition": disposition})


def csv_of_objects(name: str, objects: Iterable[Mapping[str, Any]], *, columns: Sequence[str] = ()) -> Answer:
    """Return objects of a document as CSV: what is nested stands under joined keys, lists are joined by bars.

    Flags are joined by spaces, as they are in every other export.

    Without `columns` those of the first object are taken, and there has to be one.
    """
    lines = [dict(flat(each)) for each in objects]
    header = columns or tuple(lines[0])
    return csv_of(name, header, rows=([line.get(key) for key in header] for line in lines))


def flat(plain: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the keys and values of an object without nesting."""
    for key, value in plain.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}_")
        else:
            between = " " if key.endswith("flags") else " | "
            yield (
                f"{prefix}{key}",
                between.join(map(str, value)) if isinstance(value, list | tuple) else value,
            )


def csv_cell(value: object) -> object:
    """Return a value as a cell of a CSV: nothing where unknown, a plain number, a text that runs nowhere."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return words.exact(value)
    return harmless(value) if isinstance(value, str) else value


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


def nothing_near(
    request: Request, what: str, *, asked: str, names: Collection[str], under: str = ""
) -> Response:
    """Answer that there is no such thing, with links to those that are named like it.

    One that differs by capitals or a slash at the end is led to; a program gets its answer as a problem.
    `under` is the path of the list, needed where a name may hold slashes.
    """
    place = moved(request) or _same(request, asked, names)
    if place:
        return RedirectResponse(place, 308)
    near = _near(asked, names)
    above, _, last = str(request.scope["path"]).rpartition("/")
    path = under or above
    if last.endswith((".json", ".csv")):
        did_you = f"; did you mean {' or '.join(near)}?" if near else ""
        raise HTTPException(404, f"There is no {what} '{asked}'{did_you}")
    links = [Markup('<a href="{}/{}">{}</a>').format(path, quote(name), name) for name in near]
    all_of = Markup('<a href="{}">All of them</a>.').format(path)
    hint = Markup("Did you mean {}? ").format(Markup(", ").join(links)) if links else Markup()
    return sorry(request, 404, sentence=f"There is no {what} \u201c{asked}\u201d.", hint=hint + all_of)


def _near(asked: str, names: Collection[str]) -> list[str]:
    longer = sorted((name for name in names if asked and name.startswith(asked)), key=len)
    return list(dict.fromkeys([*longer, *get_close_matches(asked, names, n=NEAR_NAMES, cutoff=0.4)]))[
        :NEAR_NAMES
    ]


def _same(request: Request, asked: str, names: Collection[str]) -> str:
    """Return the address of what was asked for in other letters, else nothing."""
    folded = asked.strip(" /").casefold()
    name = next((each for each in names if each.casefold() == folded), None)
    if name is None or name == asked:
        return ""
    path, text = str(request.scope["path"]), query_text(request)
    before, _, after = path.rpartition(asked)
    place = quote(f"{before}{name}{after.rstrip('/')}")
    return f"{place}?{text}" if text else place
