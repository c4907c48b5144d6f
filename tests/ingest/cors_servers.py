"""Servers for the check of who may call one: Starlette's own layer with many settings, and raw answers."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from tests.web.server import listening

Settings = dict[str, Any]

UI = "https://chat.internal.example"
ALL: Settings = {"allow_methods": ["*"], "allow_headers": ["*"]}
BY_DEFAULT_OPEN: Settings = {"allow_origins": ["*"], "allow_credentials": False, **ALL}
"""What vLLM 0.31 hands to the layer without flags, by the article of 2026-10-14 (vLLM 0.32 stops ...)."""
BY_DEFAULT_CLOSED: Settings = {"allow_origins": [], "allow_credentials": False, **ALL}
"""What vLLM 0.32 does."""


def app(settings: Settings | None) -> ASGIApp:
    """Give a server of one GET and one POST route behind the layer with these settings, or without it."""

    async def models(_: Request) -> Response:
        return JSONResponse({"data": []})

    async def chat(_: Request) -> Response:
        return JSONResponse({"choices": []})

    routes = [Route("/v1/models", models), Route("/v1/chat/completions", chat, methods=["POST"])]
    plain = Starlette(routes=routes)
    return plain if settings is None else CORSMiddleware(plain, **settings)


@contextmanager
def served(every: dict[str, Settings | None]) -> Iterator[str]:
    """Serve each of several settings below its name."""
    outer = Starlette(routes=[Mount(f"/{name}", app=app(settings)) for name, settings in every.items()])
    with listening(outer) as url:
        yield url


# What a browser does with each, read off Starlette 1.10's documented settings by hand: settings, the options
# of the check, the verdict, exit code, whether the page may send a JSON POST, and read the answer to a GET.
CASES: dict[str, tuple[Settings | None, tuple[str, ...], str, int, bool, bool]] = {
    "vllm-0.31": (BY_DEFAULT_OPEN, (), "wildcard", 3, True, True),
    "vllm-0.32": (BY_DEFAULT_CLOSED, (), "closed", 0, False, False),
    "no-layer": (None, (), "closed", 0, False, False),
    "layer-alone": ({}, (), "closed", 0, False, False),
    "none-creds": ({**BY_DEFAULT_CLOSED, "allow_credentials": True}, (), "closed", 0, False, False),
    "all-creds": (
        {**BY_DEFAULT_OPEN, "allow_credentials": True},
        (),
        "echoes_with_credentials",
        3,
        True,
        True,
    ),
    # The layer's own defaults allow no POST, so its preflight is refused; the GET can be read all the same.
    "all-get": ({"allow_origins": ["*"]}, (), "wildcard", 3, False, True),
    "all-get-creds": (
        {"allow_origins": ["*"], "allow_credentials": True},
        (),
        "echoes_with_credentials",
        3,
        False,
        True,
    ),
    "all-post": ({"allow_origins": ["*"], "allow_methods": ["POST"]}, (), "wildcard", 3, True, True),
    "all-no-methods": ({"allow_origins": ["*"], "allow_methods": []}, (), "wildcard", 3, False, True),
    # Content-Type is on the layer's own list; Authorization is not, but a page may send its POST without it.
    "all-x-key": ({**BY_DEFAULT_OPEN, "allow_headers": ["X-Key"]}, (), "wildcard", 3, True, True),
    "all-no-headers": (
        {**BY_DEFAULT_OPEN, "allow_headers": []},
        ("--header", "Authorization"),
        "wildcard",
        3,
        True,
        True,
    ),
    "all-named": (
        {**BY_DEFAULT_OPEN, "allow_headers": ["Authorization"]},
        ("--header", "authorization"),
        "wildcard",
        3,
        True,
        True,
    ),
    "all-mirrored": (BY_DEFAULT_OPEN, ("--header", "authorization"), "wildcard", 3, True, True),
    "all-x-trace": (
        {**BY_DEFAULT_OPEN, "allow_headers": ["authorization"]},
        ("--header", "authorization", "--header", "x-trace"),
        "wildcard",
        3,
        True,
        True,
    ),
    "all-and-ui": ({**ALL, "allow_origins": [UI, "*"]}, (), "wildcard", 3, True, True),
    "ui": ({**ALL, "allow_origins": [UI]}, (), "closed", 0, False, False),
    "ui-creds": ({**ALL, "allow_origins": [UI], "allow_credentials": True}, (), "closed", 0, False, False),
    "ui-as-ui": ({**ALL, "allow_origins": [UI]}, ("--origin", UI), "this_origin", 3, True, True),
    "ui-as-ui-creds": (
        {**ALL, "allow_origins": [UI], "allow_credentials": True},
        ("--origin", UI),
        "this_origin",
        3,
        True,
        True,
    ),
    "ui-as-ui-get": ({"allow_origins": [UI]}, ("--origin", UI), "this_origin", 3, False, True),
    "other-port": (
        {**ALL, "allow_origins": ["http://localhost:3000"]},
        ("--origin", "http://localhost:3001"),
        "closed",
        0,
        False,
        False,
    ),
    "other-name": (
        {**ALL, "allow_origins": ["http://localhost:3000"]},
        ("--origin", "http://127.0.0.1:3000"),
        "closed",
        0,
        False,
        False,
    ),
    "other-scheme": (
        {**ALL, "allow_origins": [UI]},
        ("--origin", "http" + UI[5:]),
        "closed",
        0,
        False,
        False,
    ),
    "any-pattern": ({**ALL, "allow_origin_regex": ".*"}, (), "echoes", 3, True, True),
    "any-pattern-creds": (
        {**ALL, "allow_origin_regex": ".*", "allow_credentials": True},
        (),
        "echoes_with_credentials",
        3,
        True,
        True,
    ),
    "any-pattern-get": ({"allow_origin_regex": "https?://.*"}, (), "echoes", 3, False, True),
    "any-pattern-key": (
        {**ALL, "allow_headers": [], "allow_origin_regex": ".*"},
        ("--header", "authorization"),
        "echoes",
        3,
        True,
        True,
    ),
    "any-pattern-as-null": (
        {**ALL, "allow_origin_regex": ".*"},
        ("--origin", "null"),
        "echoes",
        3,
        True,
        True,
    ),
    "own-pattern": (
        {**ALL, "allow_origin_regex": r"https://.*\.internal\.example"},
        (),
        "closed",
        0,
        False,
        False,
    ),
    "own-pattern-within": (
        {**ALL, "allow_origin_regex": r"https://.*\.internal\.example"},
        ("--origin", "https://evil.internal.example"),
        "this_origin",
        3,
        True,
        True,
    ),
    "open-ended-pattern": (
        {**ALL, "allow_origin_regex": r"https://.*internal\.example.*"},
        ("--origin", "https://internal.example.evil.test"),
        "this_origin",
        3,
        True,
        True,
    ),
    # Any page can take the origin null, so a list that holds it is open whatever is asked as.
    "null": ({**ALL, "allow_origins": ["null"]}, (), "null_origin", 3, True, True),
    "null-as-null": ({**ALL, "allow_origins": ["null"]}, ("--origin", "null"), "null_origin", 3, True, True),
    "ui-as-null": ({**ALL, "allow_origins": [UI]}, ("--origin", "null"), "closed", 0, False, False),
    "all-as-null": (BY_DEFAULT_OPEN, ("--origin", "null"), "wildcard", 3, True, True),
}


Raw = Callable[[str], bytes | None]


@contextmanager
def raw(reply: Raw) -> Iterator[str]:
    """Serve what a function gives for each method, nothing at all for None."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                text = reply(connection.recv(65_536).decode("latin-1").partition(" ")[0])
                if text is None:
                    held.append(connection)
                    continue
                with connection:
                    connection.sendall(text)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            for connection in held:
                connection.close()


def http(status: int, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", *headers, "content-length: 0", "connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


def both(reply: bytes | None) -> Raw:
    return lambda _: reply
