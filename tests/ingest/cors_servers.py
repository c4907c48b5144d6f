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
    "ui-and-null": (
        {**ALL, "allow_origins": [UI, "null"]},
        ("--origin", UI),
        "null_origin",
        3,
        True,
        True,
    ),
    "ui-and-null-creds": (
        {**ALL, "allow_origins": ["null", UI], "allow_credentials": True},
        ("--origin", UI),
        "null_origin",
        3,
        True,
        True,
    ),
    "ui-and-null-get": ({"allow_origins": [UI, "null"]}, ("--origin", UI), "null_origin", 3, False, True),
    "ui-as-null": ({**ALL, "allow_origins": [UI]}, ("--origin", "null"), "closed", 0, False, False),
    "all-as-null": (BY_DEFAULT_OPEN, ("--origin", "null"), "wildcard", 3, True, True),
}


Raw = Callable[[str], bytes | None]


@contextmanager
def raw(reply: Raw) -> Iterator[str]:
    """Serve what a function gives for each method, nothing at all for None."""
    with spoken(lambda text: reply(text.partition(" ")[0])) as url:
        yield url


@contextmanager
def spoken(reply: Raw) -> Iterator[str]:
    """Serve what a function gives for each request as it came."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                text = reply(connection.recv(65_536).decode("latin-1"))
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


Told = Callable[[str, str], tuple[int, dict[str, str]]]
"""Gives status and headers of the answer to a method as an origin."""

ALLOW = "access-control-allow-origin"


@contextmanager
def telling(told: Told) -> Iterator[str]:
    """Serve what a function gives for each method and origin, and the same every time."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        status, headers = told(request.method, request.headers["origin"])
        await Response(status_code=status, headers=headers)(scope, receive, send)

    with listening(answer) as url:
        yield url


def let_in(origin: str) -> tuple[int, dict[str, str]]:
    """Give the answer of a server that lets an origin in by name."""
    return 200, {ALLOW: origin, "access-control-allow-headers": "content-type,authorization"}


def shut_out(method: str) -> tuple[int, dict[str, str]]:
    """Give that of one that does not, as Starlette's layer answers."""
    return (400 if method == "OPTIONS" else 200), {}


def except_for(unlike: dict[str, tuple[int, dict[str, str]]], listed: tuple[str, ...] | None) -> Told:
    """Give a server with a list, or one that echoes where that is None, which answers some otherwise."""

    def told(method: str, origin: str) -> tuple[int, dict[str, str]]:
        if origin in unlike:
            return unlike[origin]
        return let_in(origin) if listed is None or origin in listed else shut_out(method)

    return told


PAGE, INVALID = "https://some-page.example", "https://no-such-page.invalid"
TO_LOGIN = (302, {"location": "/login"})
BALANCER = (503, {"server": "awselb/2.0"})


def led_on(status: int, leave: str, preflight: tuple[int, dict[str, str]]) -> Told:
    """Give a server whose GET is redirected with leave for an origin, or for whoever asks."""

    def told(method: str, origin: str) -> tuple[int, dict[str, str]]:
        if method == "OPTIONS":
            return preflight
        return status, {"location": "/there", ALLOW: leave.replace("{origin}", origin)}

    return told


# By hand, of what a server says to each origin: what is asked as, the verdict, exit code, whether the page
# that the verdict is about may send a JSON POST and read the GET, and what the first sentence must hold. A
# 429, a gateway's 503 or 504, a redirect says nothing of a list, so who got one was not refused by it.
NOT_ALL_ANSWERED = "The other origin was not answered: as https://no-such-page.invalid, the preflight "
NULL_NOT = "gets nothing, but as null, which any page can take, the preflight "
Row = tuple[Told, str, str, int, bool, bool | None, str]
SECONDS: dict[str, Row] = {
    "null got 429": (
        except_for({"null": (429, {})}, ()),
        *(PAGE, "cannot_tell", 2, False, False, f"{NULL_NOT}got 429"),
    ),
    "null got 504": (
        except_for({"null": (504, {})}, ()),
        *(PAGE, "cannot_tell", 2, False, False, f"{NULL_NOT}got 504"),
    ),
    "null redirected": (
        except_for({"null": TO_LOGIN}, ()),
        *(PAGE, "cannot_tell", 2, False, False, f"{NULL_NOT}is redirected (302) to /login"),
    ),
    "null redirected with leave": (
        lambda method, origin: (
            (307, {"location": "/there", ALLOW: "null"})
            if (method, origin) == ("GET", "null")
            else shut_out(method)
        ),
        *(PAGE, "cannot_tell", 2, False, None, "as null, which any page can take, the GET is redirected"),
    ),
    "null challenged": (
        except_for({"null": (403, {"cf-mitigated": "challenge"})}, ()),
        *(PAGE, "cannot_tell", 2, False, False, f"{NULL_NOT}got 403 from what stands in front"),
    ),
    "null at fault": (
        except_for({"null": (500, {})}, ()),
        *(PAGE, "cannot_tell", 2, False, False, f"{NULL_NOT}got 500"),
    ),
    "echo, the other got 429": (
        except_for({INVALID: (429, {}), "null": (429, {})}, None),
        *(PAGE, "at_least_this_origin", 3, True, True, f"{NOT_ALL_ANSWERED}got 429"),
    ),
    "echo, the other got 503": (
        except_for({INVALID: BALANCER, "null": BALANCER}, None),
        *(PAGE, "at_least_this_origin", 3, True, True, f"{NOT_ALL_ANSWERED}got 503"),
    ),
    # Any page can take null, so that much is known; whether it is an echo is not.
    "echo, the other alone got 504": (
        except_for({INVALID: (504, {})}, None),
        *(PAGE, "null_origin", 3, True, True, f"{NOT_ALL_ANSWERED}got 504"),
    ),
    "list, null got 429": (
        except_for({"null": (429, {})}, (UI,)),
        *(
            UI,
            "at_least_this_origin",
            3,
            True,
            True,
            "which any page can take, was not answered: as null, the",
        ),
    ),
    "list, the other redirected": (
        except_for({PAGE: TO_LOGIN}, (UI,)),
        *(UI, "at_least_this_origin", 3, True, True, "The other origin was not answered: as https://some-"),
    ),
    "list": (except_for({}, (UI,)), UI, "this_origin", 3, True, True, f"{UI}, and not {PAGE}: the page may"),
    "list with null": (
        except_for({}, (UI, "null")),
        *(UI, "null_origin", 3, True, True, "every page can take the origin null, in a sandboxed frame:"),
    ),
    # A GET that fails the same for whoever asks is no sign of a second origin that was not answered.
    "list, no such GET": (
        lambda method, origin: (
            (404 if method == "GET" else 204 if origin == UI else 404),
            let_in(origin)[1] if origin == UI else {},
        ),
        *(UI, "this_origin", 3, True, True, f"{UI}, and not {PAGE}: the page may"),
    ),
    "GET redirected": (
        led_on(302, "*", (405, {})),
        *(PAGE, "cannot_tell", 2, False, None, "the GET is redirected (302) to /there, where a browser"),
    ),
    "GET redirected by name": (
        led_on(308, "{origin}", (405, {})),
        *(PAGE, "cannot_tell", 2, False, None, "the GET is redirected (308) to /there, where a browser"),
    ),
    "GET redirected, POST open": (
        led_on(301, "*", let_in("*")),
        *(PAGE, "wildcard", 3, True, None, "may send a JSON POST; the GET is redirected (301), and the last"),
    ),
    # Without an address a browser goes nowhere, and without leave it does not go.
    "GET redirected to nowhere": (
        lambda method, _: (405, {}) if method == "OPTIONS" else (302, {ALLOW: "*"}),
        *(PAGE, "wildcard", 3, False, True, "the page may read the answer to a GET"),
    ),
    "GET redirected without leave": (
        led_on(303, "https://another.example", (405, {})),
        *(PAGE, "cannot_tell", 2, False, False, "the GET is redirected (303) to /there: check that"),
    ),
}


def http(status: int, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", *headers, "content-length: 0", "connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


def both(reply: bytes | None) -> Raw:
    return lambda _: reply


def hangs_up_on(*origins: str, listed: str) -> Raw:
    """Give a server with a list of one, which says nothing to some others."""

    def reply(text: str) -> bytes:
        origin = next(line[8:] for line in text.split("\r\n") if line.lower().startswith("origin: "))
        if origin in origins:
            return b""
        headers = let_in(origin)[1] if origin == listed else {}
        return http(200, *(f"{name}: {value}" for name, value in headers.items()))

    return reply
