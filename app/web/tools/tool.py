"""One tool: its form, the check behind it, and how its page and its twins are asked and answered.

A form that pastes is sent with POST, as a pasted text may be long, and leads to a link that holds what the
check reads of it. What is too long for a link is answered at once. Nothing that was typed is kept here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from anyio import to_thread
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from app.domain.query import QueryError
from app.domain.serving.reading import InputError, most_values_in
from app.web.answers import respond_made, respond_privately
from app.web.kept import base_of, csv_of, json_of, page_of
from app.web.posted import form_pairs, read_body, too_large
from app.web.state import MAX_QUERY_STRING, query_text, read_pairs
from app.web.tools.fields import pairs_of, read_typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.llms.facts import Llm
    from app.web.answers import Answer
    from app.web.charts import Figure
    from app.web.tools.fields import Field, Typed

    Llms = Mapping[str, Llm]

MOST_BYTES: Final = 4_000_000
"""Longest form that is read, as it is sent."""

MOST_VALUES: Final = 300_000
"""Most values, or lines of a log, in what is pasted into one field; the command reads more.

Read, a value takes some 100 to 300 bytes and a microsecond or more for each time that a check goes over it. A
benchmark writes a time with 17 digits, so that a form of `MOST_BYTES` holds half as many of them.
"""

_WRONG: Final = 422


def _as_typed(typed: Typed) -> Mapping[str, str]:
    return typed.texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A link that shows what a tool does: what it is called, and what it types."""

    label: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool.

    `find` returns what the check finds, None where nothing was typed that it could check, and raises
    QueryError with the name of a field. Its template is `tools/<name>.html`. `kept` returns the texts that a
    link holds, of which the check finds the same. `command` is the line that does the same in a terminal.
    `document`, `columns` and `rows` make the twins, and `figure` draws what is found, where there is a chart.
    """

    name: str
    title: str
    about: str
    fields: tuple[Field, ...]
    find: Callable[[Typed, Llms], Any]
    document: Callable[[Any], dict[str, Any]]
    columns: tuple[str, ...]
    rows: Callable[[Any], Iterable[Sequence[object]]]
    command: Callable[[Typed], str]
    examples: tuple[Example, ...] = ()
    kept: Callable[[Typed], Mapping[str, str]] = _as_typed
    is_pasted: bool = False
    figure: Callable[[Any], Figure] | None = None

    @property
    def path(self) -> str:
        """The address of its page."""
        return f"/tools/{self.name}"

    @property
    def template(self) -> str:
        """The template of its page."""
        return f"tools/{self.name.replace('-', '_')}.html"

    @property
    def by_name(self) -> Mapping[str, Field]:
        """The fields by their names."""
        return {field.name: field for field in self.fields}

    def link(self, pairs: Sequence[tuple[str, str]], *, ending: str = "") -> str:
        """Return the address of what pairs type, or of its twin with an ending."""
        return f"{self.path}{ending}?{urlencode(pairs)}" if pairs else f"{self.path}{ending}"

    def example_link(self, example: Example) -> str:
        """Return the address of an example."""
        return self.link(list(example.texts.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPage:
    """What a tool's template shows.

    `found` is None where nothing was checked; `error` says what is wrong with the field `wrong`; without a
    `link` what was pasted is too long for one. `figure_href` is empty where there is no chart of it.
    """

    tool: Tool
    typed: Typed
    link: str
    csv_href: str
    json_href: str
    figure_href: str = ""
    found: Any = None
    error: QueryError | None = None

    @property
    def wrong(self) -> str:
        """The field that is wrong: the one whose name the error begins with, else empty."""
        said = self.error.field if self.error else ""
        names = [each.name for each in self.tool.fields if said.partition(" ")[0].rstrip(":") == each.name]
        return names[0] if names else ""


async def page(request: Request, tool: Tool) -> Response:
    """Answer a tool's page: its form, and what the check finds of what was typed."""
    if request.method != "POST":
        return await run_in_threadpool(_asked, request, tool)
    body = await read_body(request, MOST_BYTES)
    if body is None:
        return too_large(request, MOST_BYTES)
    limiter = request.app.state.shared.pasted
    return await to_thread.run_sync(_posted, request, tool, body, limiter=limiter)


def twin(request: Request, tool: Tool, *, kind: str) -> Response:
    """Answer what the check finds as JSON or CSV; a wrong field is a QueryError."""
    pairs = read_pairs(query_text(request))
    typed = read_typed(tool.fields, pairs)
    found = tool.find(typed, request.app.state.shared.llms)
    if kind == "csv":
        rows = () if found is None else tool.rows(found)
        return _respond(request, csv_of(tool.name, tool.columns, rows=rows), is_typed=bool(pairs))
    given = dict(pairs_of(tool.fields, typed.texts))
    document = None if found is None else tool.document(found)
    described = {each.name: each.about for each in tool.fields}
    answer = json_of({"tool": tool.name, "takes": described, "given": given, "found": document})
    return _respond(request, answer, is_typed=bool(pairs))


def figure(request: Request, tool: Tool) -> Response:
    """Answer what the check finds as a figure for plotly, an empty one where it finds nothing."""
    pairs = read_pairs(query_text(request))
    found = tool.find(read_typed(tool.fields, pairs), request.app.state.shared.llms)
    drawn = {"data": [], "layout": {}} if found is None or tool.figure is None else tool.figure(found)
    return _respond(request, json_of(drawn), is_typed=bool(pairs))


def _asked(request: Request, tool: Tool) -> Response:
    pairs = read_pairs(query_text(request))
    typed = read_typed(tool.fields, pairs)
    if not all(value for _, value in pairs):
        return RedirectResponse(tool.link(pairs_of(tool.fields, typed.texts)), status_code=303)
    page = _page_of(tool, checked=_checked(request, tool, typed=typed), is_link=True)
    return _respond_page(request, page, is_typed=bool(pairs))


def _posted(request: Request, tool: Tool, body: bytes) -> Response:
    """Lead to the link that holds what was pasted; answer at once what is wrong or too long for one."""
    typed = read_typed(tool.fields, form_pairs(body))
    checked = _checked(request, tool, typed=typed)
    target = tool.link(pairs_of(tool.fields, tool.kept(typed))) if checked.error is None else ""
    if not target or len(target) > MAX_QUERY_STRING:
        page = _page_of(tool, checked=checked, is_link=False)
        return _respond_page(request, page, is_typed=True)
    return RedirectResponse(target, status_code=303)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    typed: Typed
    found: Any = None
    error: QueryError | None = None


def _checked(request: Request, tool: Tool, *, typed: Typed) -> _Checked:
    try:
        _check_values(tool, typed)
        return _Checked(typed=typed, found=tool.find(typed, request.app.state.shared.llms))
    except QueryError as error:
        # Its parts alone: its traceback leads to what was pasted, and to the page that would hold the error.
        return _Checked(typed=typed, error=QueryError(error.field, error.value, error.expected))


def _check_values(tool: Tool, typed: Typed) -> None:
    """Refuse what would take much time and memory to read, before any of it is read."""
    for field in tool.fields:
        values = most_values_in(typed.text(field.name).encode(errors="replace"))
        if values > MOST_VALUES:
            expected = f"a page reads at most {MOST_VALUES:,}; the command below takes more"
            raise InputError(field.name, f"up to {values:,} values or lines", expected)


def _page_of(tool: Tool, *, checked: _Checked, is_link: bool) -> ToolPage:
    pairs = pairs_of(tool.fields, checked.typed.texts) if is_link else []
    return ToolPage(
        tool=tool,
        typed=checked.typed,
        link=tool.link(pairs) if is_link else "",
        csv_href=tool.link(pairs, ending=".csv"),
        json_href=tool.link(pairs, ending=".json"),
        figure_href=_figure_href(tool, pairs) if is_link and checked.found is not None else "",
        found=checked.found,
        error=checked.error,
    )


def _respond_page(request: Request, page: ToolPage, *, is_typed: bool) -> Response:
    answer = page_of(page.tool.template, page=page, base=base_of(request))
    response = _respond(request, answer, is_typed=is_typed)
    if page.error:
        response.status_code = _WRONG
    return response


def _figure_href(tool: Tool, pairs: Sequence[tuple[str, str]]) -> str:
    return f"/figures{tool.link(pairs, ending='.json')}" if tool.figure else ""


def _respond(request: Request, answer: Answer, *, is_typed: bool) -> Response:
    """Answer what depends on what was typed to nobody else; the bare form has a tag."""
    return respond_privately(request, answer) if is_typed else respond_made(request, answer)
