"""Puts the web application together: routes, error pages, security headers; nothing happens at import."""

from __future__ import annotations

import gc
import logging
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.routing import Route

from app import __version__
from app.domain.accelerators import load_catalogue
from app.domain.llms.facts import LLMS_FILE, load_llms
from app.domain.query import QueryError
from app.paths import static_dir
from app.store.session import make_engine
from app.web import (
    api,
    changes_page,
    claims_page,
    compare_page,
    dumps_page,
    more_api,
    more_pages,
    pages,
    pairing_api,
    quote_page,
    schemas,
    status_page,
)
from app.web.agent.endpoint import Endpoint
from app.web.boards import BoardKeeper, NoBoardError
from app.web.observability import RequestTimes, SourceFigures
from app.web.old_links import moved
from app.web.shared import Shared
from app.web.state import holds_own
from app.web.statics import BrowserFiles

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from app.domain.duties import Duties
    from app.settings import Settings

log = logging.getLogger(__name__)

# The hash is that of the empty text: plotly adds one empty <style> and fills it through the CSS object model.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; "
    "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

SECURITY_HEADERS: Final = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"strict-origin-when-cross-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


FOR_PROGRAMS: Final = (".json", ".ndjson", ".csv", ".tsv", ".md", ".xlsx", ".parquet", ".atom")
"""Ends an address whose refusals are read by programs."""


GARBAGE_AFTER: Final = 100_000
"""New objects in a server before cycles are looked for among the youngest of them."""


def collect_seldom() -> None:
    """Look for unreachable cycles less often than Python does by itself: for a process that serves.

    What lives in one is boards and histories of many small objects without cycles. Each collection walks
    through them and finds nothing; it made a long history a third slower.
    """
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER, 20, 100)


def utc_now() -> datetime:
    """Return the time now, aware and UTC."""
    return datetime.now(UTC)


def create_app(
    settings: Settings, *, clock: Callable[[], datetime] = utc_now, duties: Duties | None = None
) -> FastAPI:
    """Return the web application for these settings. `clock` returns now, aware and UTC.

    `duties` are what an operator with a token may ask for at /mcp.
    """
    engine = make_engine(settings.database_url)
    catalogue = load_catalogue()

    @asynccontextmanager
    async def lifespan(_application: FastAPI) -> AsyncIterator[None]:
        async with protocol.running():
            yield
        engine.dispose()

    application = FastAPI(
        title="InferPrice",
        version=__version__,
        summary="GPU prices per TB/s-hour and per dense PFLOP-hour, each with its source.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        routes=[
            Route("/", pages.board, methods=["GET"]),
            Route("/compare", compare_page.compare, methods=["GET"]),
            Route("/quote", quote_page.quote, methods=["GET"]),
            Route("/claims", claims_page.claims, methods=["GET"]),
            Route("/changes", changes_page.changes, methods=["GET"]),
            Route("/status", status_page.status, methods=["GET"]),
            *more_pages.PAGES,
        ],
    )
    shared = application.state.shared = Shared(
        engine=engine,
        keeper=BoardKeeper(engine, catalogue, clock),
        clock=clock,
        dumps=settings.dumps_folder,
        llms=load_llms(settings.home / LLMS_FILE),
        enabled_sources=settings.enabled_sources,
    )
    times = RequestTimes()
    shared.registry.register(times)
    shared.registry.register(SourceFigures(shared))
    application.include_router(api.router)
    application.include_router(more_api.router)
    application.include_router(pairing_api.router)
    application.include_router(more_pages.router)
    application.include_router(dumps_page.router)
    application.include_router(schemas.router)
    application.routes.extend(more_pages.LAST_PAGES)
    protocol = Endpoint(application, settings, duties=duties)
    application.routes.extend(protocol.routes())
    application.mount("/static", BrowserFiles(static_dir()), name="static")
    application.add_exception_handler(QueryError, _on_query_error)
    application.add_exception_handler(NoBoardError, _on_no_board)
    application.add_exception_handler(HTTPException, _on_http_error)
    application.add_exception_handler(Exception, _on_fault)
    application.add_middleware(SecurityHeaders, times=times)
    return application


class WithheldError(Exception):
    """A fault over what is the reader's own, whose words may repeat it and go to the log."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}, whose words are withheld: they may hold what is the reader's own")


class SecurityHeaders:
    """Adds the same security headers to every answer and times it, without buffering any."""

    def __init__(self, app: ASGIApp, *, times: RequestTimes) -> None:
        self._app = app
        self._times = times

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to the start of its answer; a fault is timed as a 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, code = perf_counter(), 500

        async def with_headers(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
                message["headers"] = [*message["headers"], *SECURITY_HEADERS, *_kept_by_nobody(scope, code)]
            await send(message)

        try:
            await self._app(scope, receive, with_headers)
        except Exception as error:
            if not _may_hold_own(scope):
                raise
            raise WithheldError(type(error).__name__).with_traceback(error.__traceback__) from None
        finally:
            self._times.note(scope, code=code, seconds=perf_counter() - began)


def _may_hold_own(scope: Scope) -> bool:
    """Tell whether a request may hold what is the reader's own: figures in its link, or what was pasted."""
    text = scope["query_string"].decode(errors="replace")
    is_tool = bool(text) and scope["path"].startswith("/tools")
    return is_tool or scope["method"] == "POST" or holds_own(text)


REDIRECTS: Final = frozenset(
    {HTTPStatus.SEE_OTHER, HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT}
)


def _kept_by_nobody(scope: Scope, code: int) -> tuple[tuple[bytes, bytes], ...]:
    """Return what a redirect to the reader's own figures adds; pages and refusals say it themselves."""
    if code not in REDIRECTS or not _may_hold_own(scope):
        return ()
    return ((b"cache-control", b"private, no-store"),)


def _for_programs(request: Request) -> bool:
    return str(request.scope["path"]).endswith(FOR_PROGRAMS)


def _on_query_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, QueryError)  # noqa: S101 - registered for this class alone
    return api.query_problem(error) if _for_programs(request) else pages.wrong_query(request, error)


def _on_no_board(request: Request, error: Exception) -> Response:
    if _for_programs(request):
        return api.problem(503, "The prices cannot be read", detail=str(error))
    return pages.sorry(
        request, 503, sentence="The prices cannot be read right now.", hint=f"The reason: {error}."
    )


def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class alone
    status, detail, path = error.status_code, str(error.detail), request.scope["path"]
    place = moved(request) if status == HTTPStatus.NOT_FOUND else ""
    if place:
        return RedirectResponse(place, HTTPStatus.PERMANENT_REDIRECT)
    if _for_programs(request):
        answer = api.problem(status, detail, detail=f"{request.method} {path}: {detail}")
    else:
        nothing = f"There is nothing at {path}." if status == HTTPStatus.NOT_FOUND else "It can only be read."
        answer = pages.sorry(request, status, sentence=f"{detail}.", hint=nothing)
    answer.headers.update(error.headers or {})
    return answer


def _on_fault(request: Request, error: Exception) -> Response:
    log.error("A request failed: %s %s", request.method, request.scope["path"], exc_info=error)
    if _for_programs(request):
        answer = api.problem(500, "Something broke here", detail="The fault has been logged.")
    else:
        answer = pages.sorry(
            request, 500, sentence="Something broke here.", hint="The fault has been logged."
        )
    # Starlette answers faults outside all other layers, so this one answer carries its headers itself.
    answer.headers.update({name.decode(): value.decode() for name, value in SECURITY_HEADERS})
    return answer
