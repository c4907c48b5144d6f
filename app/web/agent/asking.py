"""Asks this site itself: a tool's arguments become the pairs of an address, whose document is its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson
from mcp.server.mcpserver.exceptions import ToolError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app.domain.names import fold, one_of
from app.domain.query import QueryError, read_whole
from app.web.state import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from fastapi import FastAPI
    from starlette.responses import Response

    from app.domain.duties import Duties
    from app.web.agent.access import Access

MAX_ROWS: Final = 100
DEFAULT_ROWS: Final = 20
MAX_PAGE: Final = 1_000_000
LONGEST_TEXT: Final = 1_000
MOST_VALUES: Final = 100
MAX_RESULT_BYTES: Final = 500_000
"""Bytes of a result as JSON: what a reader can take in at once."""

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool. `base` is the address of this site, with a slash at its end."""

    site: FastAPI
    access: Access
    arguments: Mapping[str, Any]
    base: str
    duties: Duties | None = None

    def address(self, path: str, pairs: Pairs) -> str:
        """Return the address of a page with this query."""
        return self.base + path.removeprefix("/") + (f"?{joined(pairs)}" if pairs else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which rows are wanted: so many at most, on a page counted from 1."""

    page: int
    limit: int

    def cut(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Return the rows of this page."""
        return rows[(self.page - 1) * self.limit : self.page * self.limit]


def pairs_of(arguments: Mapping[str, Any], allowed: Collection[str]) -> Pairs:
    """Return arguments as the pairs of a query; raises QueryError for a name or a value that is none."""
    names = fold(allowed)
    known = [(one_of("argument", name[:40], names=names), value) for name, value in arguments.items()]
    return [(name, text) for name, value in known for text in texts(name, value)]


def texts(name: str, value: Any) -> Iterator[str]:
    """Yield the texts that an argument stands for in a query: one, or one for each of a list.

    Raises QueryError for what is too long to be one: an answer that repeats it would be as long.
    """
    values = value if isinstance(value, list) else [value]
    if len(values) > MOST_VALUES:
        raise QueryError(name, f"{len(values):,} values", f"give at most {MOST_VALUES}")
    for each in values:
        if isinstance(each, float) and each.is_integer():
            yield str(int(each))
        elif isinstance(each, str | int | float) and not isinstance(each, bool):
            text = str(each)
            if len(text) > LONGEST_TEXT:
                raise QueryError(name, text, f"keep it under {LONGEST_TEXT:,} characters")
            yield text
        elif each is not None:
            raise QueryError(name, str(each), "give a text, a number, or a list of them")


def taken(pairs: Pairs, name: str) -> str:
    """Take a name out of pairs and return its value, empty when it is not there; two are a QueryError."""
    values = [value for key, value in pairs if key == name]
    if len(values) > 1:
        raise QueryError(name, values[1], "give it once")
    pairs[:] = [pair for pair in pairs if pair[0] != name]
    return values[0] if values else ""


def listed(pairs: Pairs, name: str) -> None:
    """Make one text with commas of all values of a name, for an address that takes numbers so."""
    values = [value for key, value in pairs if key == name]
    if len(values) > 1:
        pairs[:] = [*(pair for pair in pairs if pair[0] != name), (name, ",".join(values))]


def window(pairs: Pairs) -> Window:
    """Take `page` and `limit` out of pairs."""
    page, limit = taken(pairs, "page"), taken(pairs, "limit")
    return Window(
        page=read_whole("page", page, low=1, high=MAX_PAGE) if page else 1,
        limit=read_whole("limit", limit, low=1, high=MAX_ROWS) if limit else DEFAULT_ROWS,
    )


def ask(
    call: Call,
    endpoint: Callable[[Request], Response],
    *,
    path: str,
    pairs: Pairs,
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the document that an address of this site answers with.

    `names` are the parameters of the path. Raises QueryError and NoBoardError as the address does, and
    ToolError where there is no such thing.
    """
    request = Request(
        {
            "type": "http",
            "method": "GET",
            "path": path,
            "root_path": "",
            "query_string": joined(pairs).encode(),
            "headers": [],
            "path_params": dict(names or {}),
            "app": call.site,
        }
    )
    try:
        response = endpoint(request)
    except HTTPException as error:
        raise ToolError(f"{error.detail}.") from error
    if response.status_code != 200:  # noqa: PLR2004 - what is elsewhere, by its new name
        raise ToolError(f"{path} is at {response.headers.get('location', 'another address')}.")
    document: dict[str, Any] = orjson.loads(response.body)
    return document


def bounded(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result that is small enough to give; raises ToolError for a larger one."""
    size = len(orjson.dumps(result))
    if size > MAX_RESULT_BYTES:
        raise ToolError(
            f"The result would have {size:,} bytes, and at most {MAX_RESULT_BYTES:,} are given: "
            "lower limit, or ask for less."
        )
    return result
