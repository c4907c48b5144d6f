"""The tools there are, their routes, and the page that lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.routing import Route

from app.web.answers import respond_made
from app.web.kept import base_of, csv_of, json_of, page_of, take_nothing
from app.web.tools import bench, claim, cors, moe_cache, prefix_cache, sampler, timings
from app.web.tools import tool as tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from app.web.tools.tool import Tool

TOOLS: Final[tuple[Tool, ...]] = (
    sampler.TOOL,
    prefix_cache.TOOL,
    claim.TOOL,
    timings.TOOL,
    bench.TOOL,
    moe_cache.TOOL,
    cors.TOOL,
)
"""In the order of the list."""


def page_of_tool(tool: Tool) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a tool's page."""

    async def answer(request: Request) -> Response:
        return await tools.page(request, tool)

    return answer


def twin_of_tool(tool: Tool, kind: str) -> Callable[[Request], Response]:
    """Return what answers a tool's twin, `json` or `csv`."""

    def answer(request: Request) -> Response:
        return tools.twin(request, tool, kind=kind)

    return answer


def figure_of_tool(tool: Tool) -> Callable[[Request], Response]:
    """Return what answers a tool's figure."""

    def answer(request: Request) -> Response:
        return tools.figure(request, tool)

    return answer


def index(request: Request) -> Response:
    """Answer the list of all tools."""
    take_nothing(request)
    return respond_made(request, page_of("tools/index.html", tools=TOOLS, base=base_of(request)))


def index_json(request: Request) -> Response:
    """Answer the same as JSON."""
    take_nothing(request)
    found = [
        {"tool": each.name, "title": each.title, "about": each.about, "path": each.path} for each in TOOLS
    ]
    return respond_made(request, json_of({"tools": found}))


def index_csv(request: Request) -> Response:
    """Answer the same as CSV."""
    take_nothing(request)
    rows = ((each.name, each.title, each.about, each.path) for each in TOOLS)
    return respond_made(request, csv_of("tools", ("tool", "title", "about", "path"), rows=rows))


PAGES: Final = [
    Route("/tools", index, methods=["GET"]),
    *(Route(each.path, page_of_tool(each), methods=["GET", "POST"]) for each in TOOLS),
]
