"""The way to /mcp: bodies are looked at first, and what speaks the protocol is made when first asked for."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio
import orjson
from anyio import to_thread
from starlette.responses import JSONResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.abc import TaskGroup, TaskStatus
    from fastapi import FastAPI
    from starlette.applications import Starlette
    from starlette.types import Message, Receive, Scope, Send

    from app.domain.duties import Duties
    from app.settings import Settings

PATH: Final = "/mcp"
LARGEST_BODY_BYTES: Final = 65_536
"""Bytes of a question: far more than all arguments of a tool."""

PARSE_ERROR: Final = -32_700
INVALID_REQUEST: Final = -32_600
INVALID_PARAMS: Final = -32_602


class Endpoint:
    """What answers at /mcp, and names the issuer of its tokens where it has one."""

    def __init__(self, site: FastAPI, settings: Settings, *, duties: Duties | None) -> None:
        self._site = site
        self._settings = settings
        self._duties = duties
        self._lock = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._application: Starlette | None = None

    def routes(self) -> list[Route]:
        """Return the routes that lead here."""
        paths = [PATH]
        if self._settings.oauth_issuer:
            path = urlsplit(self._settings.oauth_resource).path
            paths.append(f"/.well-known/oauth-protected-resource{path}")
        return [Route(path, self, include_in_schema=False) for path in paths]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep what answers running while the block lasts, once it was asked for."""
        async with anyio.create_task_group() as tasks:
            self._lock, self._tasks = anyio.Lock(), tasks
            try:
                yield
            finally:
                self._tasks = self._application = None
                tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what is no question of the protocol, and pass on what is."""
        if scope["path"].endswith(PATH) and not scope["path"].startswith("/.well-known/"):
            if scope["method"] != "POST":
                return await _refusal(405, "Ask with POST.", INVALID_REQUEST)(scope, receive, send)
            body = await _body(scope, receive)
            refusal = _fault(body)
            if refusal is not None:
                return await refusal(scope, receive, send)
            receive = _again(body, receive)
        application = await self._ready()
        return await application(scope, receive, send)

    async def _ready(self) -> Starlette:
        """Return what speaks the protocol, made by whoever comes first: its libraries are slow to import."""
        async with self._lock:
            if self._application is None:
                application, running = await to_thread.run_sync(self._make)
                assert self._tasks is not None, "the application's lifespan is not running"  # noqa: S101
                await self._tasks.start(_keep, running)
                self._application = application
        return self._application

    def _make(self) -> tuple[Starlette, Any]:
        from app.web.agent.server import make_protocol_app  # noqa: PLC0415 - keeps the start quick

        return make_protocol_app(
            self._site,
            self._settings,
            duties=self._duties,
            path=PATH,
            largest_body_bytes=LARGEST_BODY_BYTES,
        )


async def _keep(running: Any, *, task_status: TaskStatus[None]) -> None:
    async with running():
        task_status.started()
        await anyio.sleep_forever()


async def _body(scope: Scope, receive: Receive) -> bytes | None:
    """Return the body of a request, or None when it is too large; no more of it is read than is allowed."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    if length.isdigit() and (len(length) > 18 or int(length) > LARGEST_BODY_BYTES):  # noqa: PLR2004
        return None
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _fault(body: bytes | None) -> JSONResponse | None:
    """Return why a body is no question: too large, no JSON by the letter of RFC 8259, a call of no tool."""
    if body is None:
        return _refusal(413, f"The body has more than {LARGEST_BODY_BYTES} bytes.", INVALID_REQUEST)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return _refusal(400, f"The body is no JSON: {error.msg}.", PARSE_ERROR)
    sentence = _no_call(document) if isinstance(document, dict) else ""
    return _refusal(400, sentence, INVALID_PARAMS) if sentence else None


def _no_call(document: dict[str, Any]) -> str:
    """Return what is wrong with the shape of a call of a tool, which the library says without a name."""
    params = document.get("params")
    if document.get("method") != "tools/call":
        return ""
    if not isinstance(params, dict):
        return "params: give an object with the name and the arguments of a tool."
    if not isinstance(params.get("name"), str):
        return "params.name: give the name of a tool."
    if not isinstance(params.get("arguments"), dict | None):
        return "params.arguments: give an object of arguments by their names."
    return ""


def _refusal(status: int, sentence: str, code: int) -> JSONResponse:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": sentence}}
    headers = {"cache-control": "no-store", **({"allow": "POST"} if status == 405 else {})}  # noqa: PLR2004
    return JSONResponse(error, status_code=status, headers=headers)


def _again(body: bytes | None, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then whatever comes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
