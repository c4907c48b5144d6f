"""`inferprice check cors` against real servers here: Starlette's own layer, and servers that fail."""

import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.cli import main
from app.domain.serving.cors import MADE_UP, asked_of
from app.ingest.cors import check_cors
from app.ingest.fetched import Limits
from tests.ingest.cors_servers import (
    BY_DEFAULT_CLOSED,
    BY_DEFAULT_OPEN,
    CASES,
    INVALID,
    SECONDS,
    UI,
    Raw,
    Settings,
    app,
    both,
    hangs_up_on,
    http,
    raw,
    served,
    spoken,
    telling,
)
from tests.web.server import listening

Run = Callable[..., Result]
WITH_CREDENTIALS = ("ui-as-ui-creds", "ui-and-null-creds")
CLOSED = f"a page at {MADE_UP[0]} can neither send a JSON POST nor read the answer to a GET."
LIMITS = Limits(user_agent="InferPrice/test", delay_s=0, timeout_s=10, max_body_bytes=1_000)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served({name: case[0] for name, case in CASES.items()}) as address:
        yield address


@pytest.fixture
def run(tmp_path: Any) -> Run:
    """Give a function that runs `inferprice check cors`, every request of which may take two seconds."""
    environment = {"INFERPRICE_HOME": str(tmp_path / "home"), "INFERPRICE_FETCH_TIMEOUT_S": "2"}

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["check", "cors", *words], env=environment, catch_exceptions=False)

    return run


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_on_a_setting(name: str, url: str, run: Run) -> None:
    _, words, verdict, exit_code, may_post, may_read = CASES[name]
    result = run(f"{url}/{name}/v1/models", *words, "--format", "json")
    answer = json.loads(result.stdout)
    assert (answer["verdict"], result.exit_code) == (verdict, exit_code)
    assert (answer["may_send_json_post"], answer["may_read_plain_get"]) == (may_post, may_read)
    assert answer["is_open"] is (exit_code == 3)
    assert answer["with_credentials"] is ((verdict == "echoes_with_credentials") or name in WITH_CREDENTIALS)
    # A route that only takes a POST is the same behind the layer.
    assert run(f"{url}/{name}/v1/chat/completions", *words).exit_code == exit_code


def test_every_combination_of_the_settings() -> None:
    """By the settings alone: who is let in, whether POST and Authorization are allowed, and credentials."""
    origins: tuple[list[str], ...] = ([], ["*"], [UI], ["*", UI])
    patterns = (None, ".*", r"https://.*\.internal\.example")
    methods, headers = (["GET"], ["*"]), ([], ["*"])
    every: dict[str, Settings] = {
        f"{number}": {
            "allow_origins": listed,
            "allow_origin_regex": pattern,
            "allow_credentials": creds,
            "allow_methods": method,
            "allow_headers": header,
        }
        for number, (listed, pattern, creds, method, header) in enumerate(
            itertools.product(origins, patterns, (False, True), methods, headers)
        )
    }
    assert len(every) == 4 * 3 * 2 * 2 * 2
    wrong = []
    with served(dict(every)) as address:
        for name, settings in every.items():
            asked = asked_of(f"{address}/{name}/v1/models", names=["authorization"])
            found = check_cors(asked, LIMITS)
            exchange = found.exchange
            told = (found.kind, exchange.may_post, exchange.may_post_full, exchange.may_read)
            if told != by_settings(settings):
                wrong.append((settings, told))
    assert wrong == []


def by_settings(settings: Settings) -> tuple[str, bool, bool, bool]:
    """Content-Type is always on Starlette's list, so a POST without Authorization needs only its method."""
    is_everyone = "*" in settings["allow_origins"]
    if not is_everyone and settings["allow_origin_regex"] != ".*":
        return "closed", False, False, False
    may_post = settings["allow_methods"] != ["GET"]
    may_post_full = may_post and settings["allow_headers"] != []
    if settings["allow_credentials"]:
        return "echoes_with_credentials", may_post, may_post_full, True
    return ("wildcard" if is_everyone else "echoes"), may_post, may_post_full, True


def test_the_default_open_and_the_default_closed_server_in_words(url: str, run: Run) -> None:
    opened = run(f"{url}/vllm-0.31/v1/chat/completions")
    assert opened.exit_code == 3
    assert opened.stdout.splitlines() == [
        "wildcard: every website is let in: the page may send a JSON POST and read the answer to a GET.",
        "Preflight: OPTIONS as https://some-page.example, answered 200 with * allowed origin.",
        "Plain GET: as https://some-page.example, answered 405 with * allowed origin.",
    ]
    closed = run(f"{url}/vllm-0.32/v1/models")
    assert closed.exit_code == 0
    assert closed.stdout.splitlines() == [
        f"closed: {CLOSED}",
        "Preflight: OPTIONS as https://some-page.example, answered 400 with no allowed origin.",
        "Plain GET: as https://some-page.example, answered 200 with no allowed origin.",
        "A plain GET needs no preflight, nor a POST of plain text: the server gets them from any page.",
    ]


def test_a_key_in_front_of_the_layer_does_not_hide_an_open_preflight(run: Run) -> None:
    """As vLLM wires its key: the check of it stands outside the layer, and lets OPTIONS through."""
    inner = app(BY_DEFAULT_OPEN)

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] != "OPTIONS":
            await JSONResponse({"error": "Unauthorized"}, status_code=401)(scope, receive, send)
        else:
            await inner(scope, receive, send)

    with listening(guarded) as address:
        result = run(f"{address}/v1/models", "--format", "json")
    answer = json.loads(result.stdout)
    assert (answer["verdict"], result.exit_code) == ("wildcard", 3)
    assert (answer["may_send_json_post"], answer["may_read_plain_get"]) == (True, False)


@pytest.mark.parametrize(
    ("reply", "exit_code", "words"),
    [
        (
            both(http(307, "location: https://login.example/")),
            2,
            "cannot tell: the preflight is redirected (307)",
        ),
        (
            lambda method: http(200) if method == "OPTIONS" else http(302, "location: /login"),
            2,
            "cannot tell: the GET is redirected (302) to /login: check that address.",
        ),
        (both(http(301)), 2, "cannot tell: the preflight is redirected (301) to nowhere"),
        (both(http(502)), 2, "answered by something in front: the preflight got 502"),
        (both(http(500)), 2, "cannot tell: the preflight got 500"),
        (both(http(429)), 2, "cannot tell: the preflight got 429"),
        (both(http(404)), 2, "cannot tell: nothing is at this address (404)"),
        (both(http(401, "www-authenticate: Basic")), 0, "closed: "),
        (
            both(http(200, "access-control-allow-origin: *", "access-control-allow-origin: *")),
            2,
            "answered by something in front: the preflight's answer has several allowed origins (*, *)",
        ),
        # A gateway that answers OPTIONS itself, for a server that lets nobody in.
        (
            lambda method: (
                http(204, "access-control-allow-origin: *", "access-control-allow-headers: *")
                if method == "OPTIONS"
                else http(200)
            ),
            3,
            "answered by something in front: the preflight lets https://some-page.example in and the GET's",
        ),
        (
            lambda method: (
                http(403, "server: nginx/1.29")
                if method == "OPTIONS"
                else http(200, "server: uvicorn", "access-control-allow-origin: *")
            ),
            3,
            "answered by something in front: the preflight was answered by nginx, the GET by uvicorn. As",
        ),
        (
            lambda method: (
                http(403, "server: nginx") if method == "OPTIONS" else http(200, "server: uvicorn")
            ),
            0,
            f"closed: {CLOSED} The preflight was answered by nginx, the GET by uvicorn.",
        ),
        # Names of headers, and a wildcard for them, are for the browser to check: the status is 200.
        (
            lambda method: http(200, "access-control-allow-origin: *") if method == "OPTIONS" else http(401),
            0,
            "closed: ",
        ),
        (both(http(200, "access-control-allow-origin: https://chat.internal.example")), 0, "closed: "),
        (both(http(200, "access-control-allow-origin: null")), 3, "lets in the origin null: every page can"),
    ],
)
def test_what_a_server_says_that_is_not_starlette(reply: Raw, exit_code: int, words: str, run: Run) -> None:
    with raw(reply) as address:
        result = run(address)
        found = run(address, "--format", "json")
    assert (result.exit_code, found.exit_code) == (exit_code, exit_code)
    assert result.stdout.startswith(words)
    assert json.loads(found.stdout)["is_open"] is {0: False, 2: None, 3: True}[exit_code]


@pytest.mark.parametrize("name", SECONDS)
def test_a_second_origin_and_a_redirect_count_as_what_they_are(name: str, run: Run) -> None:
    told, origin, verdict, exit_code, may_post, may_read, words = SECONDS[name]
    with telling(told) as address:
        result = run(f"{address}/v1", "--origin", origin)
        answer = json.loads(run(f"{address}/v1", "--origin", origin, "--format", "json").stdout)
    assert (answer["verdict"], result.exit_code) == (verdict, exit_code)
    assert answer["is_open"] is {2: None, 3: True}[exit_code]
    assert (answer["may_send_json_post"], answer["may_read_plain_get"]) == (may_post, may_read)
    assert words in result.stdout.splitlines()[0]
    assert answer["with_credentials"] is False


def test_a_second_origin_that_gets_no_answer_closes_nothing(run: Run) -> None:
    """The first was let in, so the server is open, to it at least; one that lets in none may let in null."""
    for listed, told in (
        (MADE_UP[0], ("at_least_this_origin", True, 3)),
        (UI, ("cannot_tell", None, 2)),
    ):
        with spoken(hangs_up_on(INVALID, "null", listed=listed)) as address:
            result = run(address, "--format", "json")
        answer = json.loads(result.stdout)
        assert (answer["verdict"], answer["is_open"], result.exit_code) == told
        if listed == MADE_UP[0]:
            assert f"The other origin was not answered: {address} ended in" in answer["sentences"][0]


def test_a_wildcard_for_headers_does_not_cover_authorization(run: Run) -> None:
    """Fetch standard, "CORS non-wildcard request-header name"; a page that sends none is let in."""
    allowed = http(200, "access-control-allow-origin: *", "access-control-allow-headers: *")
    asked = (((), None), (("--header", "authorization"), False), (("--header", "x-a"), True))
    for words, may_post_full in asked:
        with raw(both(allowed)) as address:
            answer = json.loads(run(address, *words, "--format", "json").stdout)
        assert answer["may_send_json_post_with_headers"] is may_post_full
        assert (answer["may_send_json_post"], answer["may_read_plain_get"]) == (True, True)
        assert (answer["preflight_with_headers"] is None) is (words == ())


WITHOUT = "the page may send a JSON POST without authorization"


@pytest.mark.parametrize(
    ("listed", "plain", "start"),
    [
        # What a proxy adds to OPTIONS alone, as a common snippet for nginx does.
        (
            "*",
            (),
            f"wildcard: every website is let in: {WITHOUT}, and the answer to this GET is kept from it.",
        ),
        (
            "DNT,Cache-Control,Content-Type,Range",
            ("access-control-allow-origin: *",),
            f"wildcard: every website is let in: {WITHOUT} and read the answer to a GET.",
        ),
    ],
)
def test_a_further_header_that_is_refused_closes_nothing(
    listed: str, plain: tuple[str, ...], start: str, run: Run
) -> None:
    def reply(method: str) -> bytes:
        if method == "OPTIONS":
            return http(204, "access-control-allow-origin: *", f"access-control-allow-headers: {listed}")
        return http(401, *plain)

    with raw(reply) as address:
        bare = run(address)
        named = [run(address, *("--header", each)) for each in ("authorization", "Authorization")]
        several = run(address, "--header", "authorization", "--header", "x-trace")
    assert [bare.exit_code, several.exit_code, *(each.exit_code for each in named)] == [3, 3, 3, 3]
    assert [each.stdout.splitlines()[0] for each in named] == [start, start]
    assert "without authorization, x-trace" in several.stdout


def test_a_server_that_refuses_a_preflight_by_what_it_asks_for_is_asked_both_ways(run: Run) -> None:
    """Starlette answers 400 where a header is not on its list, and 200 without it."""
    with served({"named": {"allow_origins": ["*"], "allow_methods": ["POST"], "allow_headers": []}}) as url:
        result = run(f"{url}/named/v1/models", "--header", "authorization", "--format", "json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["verdict"]) == (3, "wildcard")
    assert (answer["preflight"]["status"], answer["preflight_with_headers"]["status"]) == (200, 400)
    assert (answer["may_send_json_post"], answer["may_send_json_post_with_headers"]) == (True, False)


def test_a_challenge_is_no_closed_server(run: Run) -> None:
    with raw(both(http(403, "cf-mitigated: challenge", "cf-ray: 8abc-FRA"))) as address:
        result = run(address)
        answer = json.loads(run(address, "--format", "json").stdout)
    assert (result.exit_code, answer["verdict"], answer["is_open"]) == (2, "in_front", None)
    assert result.stdout.splitlines()[0] == (
        "answered by something in front: the preflight got 403 from what stands in front (Cloudflare's"
        " challenge, by cf-mitigated), which speaks for itself. What the server behind it would say is not"
        " known."
    )


def test_credentials_beside_a_wildcard_are_none(run: Run) -> None:
    star = ("access-control-allow-origin: *", "access-control-allow-headers: content-type")
    with raw(both(http(200, *star, "access-control-allow-credentials: true"))) as address:
        answer = json.loads(run(address, "--format", "json").stdout)
    assert (answer["verdict"], answer["with_credentials"]) == ("wildcard", False)


def test_nothing_is_sent_but_what_a_page_would_send(run: Run) -> None:
    seen: list[str] = []

    async def remember(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            sent = {name.decode(): value.decode() for name, value in scope["headers"]}
            wanted = ("origin", "access-control-request-method", "access-control-request-headers", "cookie")
            kept = [sent[name] for name in wanted if name in sent]
            seen.append(" ".join([scope["method"], scope["path"], *kept]))
        await app(BY_DEFAULT_CLOSED)(scope, receive, send)

    with listening(remember) as address:
        words = ("--origin", "HTTPS://Evil.test:443", "--header", "X-B", "--header", "Authorization")
        assert run(f"{address}/v1/models", *words).exit_code == 0
    assert seen == [
        "OPTIONS /v1/models https://evil.test POST content-type",
        "OPTIONS /v1/models https://evil.test POST authorization,content-type,x-b",
        "GET /v1/models https://evil.test",
        "OPTIONS /v1/models null POST content-type",
        "OPTIONS /v1/models null POST authorization,content-type,x-b",
        "GET /v1/models null",
    ]


def test_a_redirect_is_not_followed(run: Run) -> None:
    asked: list[str] = []

    async def led(request: Request) -> Response:
        asked.append(request.method)
        return Response()

    async def leads(_: Request) -> Response:
        return Response(status_code=308, headers={"location": "/there"})

    every = ["GET", "OPTIONS"]
    routes = [Route("/here", leads, methods=every), Route("/there", led, methods=every)]
    with listening(Starlette(routes=routes)) as address:
        result = run(f"{address}/here")
    assert (result.exit_code, asked) == (2, [])
    assert result.stdout.startswith(
        "cannot tell: the preflight is redirected (308) to /there: check that address."
    )


def test_a_refused_connection_is_a_sentence(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    result = run(f"{address}/v1/models")
    assert result.exit_code == 2
    assert result.stdout.startswith(f"cannot tell: {address}/v1/models cannot be reached: ")
    answer = json.loads(run(address, "--format", "json").stdout)
    assert (answer["verdict"], answer["is_open"], len(answer["sentences"])) == ("cannot_tell", None, 1)


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (both(None), "did not answer in time."),
        (both(b""), "ended in the middle"),
        (both(b"\0" * 99), "ended in"),
    ],
)
def test_a_server_without_an_answer_is_a_sentence(reply: Raw, sentence: str, run: Run) -> None:
    with raw(reply) as address:
        result = run(address)
    assert result.exit_code == 2
    assert result.stdout.startswith(f"cannot tell: {address} ")
    assert sentence in result.stdout


def test_a_server_that_sends_its_headers_letter_by_letter_is_left(run: Run) -> None:
    """It would take a hundred seconds, and never be silent for the two that a request may take."""
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def dribble() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    for letter in b"HTTP/1.1 200 OK\r\nx-a: " + b"a" * 1_000:
                        connection.sendall(bytes([letter]))
                        time.sleep(0.1)
                except ConnectionError:
                    gone.set()

        thread = threading.Thread(target=dribble, daemon=True)
        thread.start()
        result = run(f"http://127.0.0.1:{listener.getsockname()[1]}")
        assert (result.exit_code, "did not answer in time." in result.stdout) == (2, True)
        assert gone.wait(30)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("ftp://127.0.0.1/",), "url: 'ftp://127.0.0.1/' is not right"),
        (("127.0.0.1:8000",), "url: '127.0.0.1:8000' is not right"),
        (("http://[::1",), "url: 'http://[::1' is not right"),
        (("http://127.0.0.1:99999/",), "url: 'http://127.0.0.1:99999/' is not right"),
        (("http://127.0.0.1/" + "a" * 3_000,), "is not right: give an address like"),
        (("http://127.0.0.1/\r\nx: y",), "is not right: give an address like"),
        (
            ("http://me:secret@127.0.0.1/",),
            "url: 'http://...@127.0.0.1' is not right: leave user and password",
        ),
        (("http://127.0.0.1/", "--origin", "evil.test"), "origin: 'evil.test' is not right"),
        (("http://127.0.0.1/", "--origin", "https://evil.test/page"), "give scheme and host alone"),
        (("http://127.0.0.1/", "--origin", "https://a\r\nb: c"), "give scheme and host alone"),
        (("http://127.0.0.1/", "--origin", "*"), "origin: '*' is not right"),
        (("http://127.0.0.1:80/v1", "--origin", "http://127.0.0.1"), "it is the server's own"),
        (("http://127.0.0.1/", "--header", "x y"), "header: 'x y' is not right"),
        (("http://127.0.0.1/", "--header", ""), "header: '' is not right"),
        (("http://127.0.0.1/", *("--header", "x") * 21), "header: '21 names' is not right: give at most 20"),
        ((), "Missing argument 'URL'"),
    ],
)
def test_wrong_words_are_refused_before_anyone_is_asked(
    words: tuple[str, ...], sentence: str, run: Run
) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert "secret" not in result.stderr
