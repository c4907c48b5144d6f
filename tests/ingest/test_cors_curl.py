"""The curl line of the CORS check, run against real servers here, against what the command finds by itself.

Where curl is missing the same requests are sent by Python's own client, and their answers written as curl
writes them; what needs curl itself is skipped and says so.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.responses import PlainTextResponse

from app.domain.serving.cors import Asked, Verdict, asked_of
from app.domain.serving.cors_curl import curl_line, label, mark_of, origins
from app.domain.serving.cors_found import find_pasted
from app.domain.serving.cors_pasted import kept_answers, read_pasted
from app.domain.serving.documents import cors_document, pasted_document
from app.ingest.cors import check_cors
from app.ingest.fetched import Limits
from tests.ingest.cors_servers import (
    BY_DEFAULT_OPEN,
    CASES,
    INVALID,
    PAGE,
    SECONDS,
    UI,
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

Write = Callable[[Asked], str]

LIMITS = Limits(user_agent="InferPrice/test", delay_s=0, timeout_s=10, max_body_bytes=1_000)
CURL = shutil.which("curl")
BY_CURL = pytest.mark.skipif(CURL is None, reason="curl is not on this machine")


def by_curl(asked: Asked) -> str:
    """Give what the line writes in a shell, as a terminal shows it: its errors too."""
    ran = subprocess.run(
        ["sh", "-c", f"{curl_line(asked)} 2>&1"], capture_output=True, check=False, timeout=60
    )
    return ran.stdout.decode("latin-1")


def by_python(asked: Asked) -> str:
    """Give the answers to the same requests, written as curl writes them."""
    parts = urlsplit(asked.url)
    text = ""
    for origin in origins(asked):
        for what, (method, sent) in asked.by(origin).requests.items():
            connection = HTTPConnection(parts.hostname or "", parts.port, timeout=10)
            connection.request(method, parts.path, headers=dict(sent))
            answer = connection.getresponse()
            headers = "".join(f"{name}: {value}\r\n" for name, value in answer.getheaders())
            text += f"HTTP/1.1 {answer.status} {answer.reason}\r\n{headers}\r\n"
            text += f"{label(what, origin, mark=mark_of(asked))}\n"
            connection.close()
    return text


WRITES = [pytest.param(by_curl, id="curl", marks=BY_CURL), pytest.param(by_python, id="python")]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served({name: case[0] for name, case in CASES.items()}) as address:
        yield address


@cache
def by_command(asked: Asked) -> Verdict:
    """Give what the command finds, once for both ways of pasting."""
    return check_cors(asked, LIMITS)


def asked_with(address: str, words: tuple[str, ...]) -> Asked:
    """Read the options of the command."""
    pairs = list(zip(words[::2], words[1::2], strict=True))
    names = [value for option, value in pairs if option == "--header"]
    return asked_of(address, origin=dict(pairs).get("--origin"), names=names)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", CASES)
def test_what_is_pasted_gets_the_verdict_of_the_command(name: str, write: Write, url: str) -> None:
    _, words, verdict, _, may_post, may_read = CASES[name]
    for path in ("models", "chat/completions") if write is by_curl else ("models",):
        asked = asked_with(f"{url}/{name}/v1/{path}", words)
        pasted = read_pasted(asked, answers=write(asked))
        finding, by_asking = find_pasted(asked, pasted), by_command(asked)
        assert finding.sentences == by_asking.sentences
        assert (finding.kind, finding.is_open) == (by_asking.kind, by_asking.is_open)
        assert finding.with_credentials == by_asking.exchange.with_credentials
        assert finding.own.may_post_full == by_asking.exchange.may_post_full
        assert (finding.kind, finding.own.may_post, finding.own.may_read) == (verdict, may_post, may_read)
        assert (finding.missing, len(finding.got)) == ((), len(origins(asked)))
        kept = kept_answers(asked, pasted)
        assert find_pasted(asked, read_pasted(asked, answers=kept)) == finding


REFUSED = ("cf-mitigated: challenge", "cf-ray: 8abc-FRA")
HTML = "content-type: text/html; charset=utf-8"
ODD: dict[str, tuple[Any, str, bool | None]] = {
    "challenge": (both(http(403, *REFUSED)), "in_front", None),
    "edge": (both(http(403, "server: cloudflare", "cf-ray: 8abc-FRA")), "in_front", None),
    "behind an edge": (
        lambda method: http(400 if method == "OPTIONS" else 200, "server: cloudflare", "cf-ray: 8abc-FRA"),
        "closed",
        False,
    ),
    "pages": (both(http(200, HTML)), "in_front", None),
    "framework": (both(http(200, HTML, "allow: GET, OPTIONS")), "closed", False),
    "gateway": (
        lambda method: http_of(method, "server: nginx", "access-control-allow-origin: *"),
        "in_front",
        True,
    ),
    "twice": (both(http(200, *["access-control-allow-origin: *"] * 2)), "in_front", None),
    "interim": (
        both(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + http(200, "access-control-allow-origin: *")),
        "wildcard",
        True,
    ),
    "folded": (both(http(200, "access-control-allow-origin:\r\n  *")), "wildcard", True),
    "redirect": (both(http(308, "location: http://127.0.0.1:9/there")), "cannot_tell", None),
    "fault": (both(http(500)), "cannot_tell", None),
    "bad gateway": (both(http(502)), "in_front", None),
}


def http_of(method: str, *headers: str) -> bytes:
    """Answer a preflight alone, as a gateway may."""
    return http(204, *headers, "access-control-allow-headers: *") if method == "OPTIONS" else http(200)


@BY_CURL
@pytest.mark.parametrize("names", [(), ("authorization",), ("authorization", "x-trace")])
@pytest.mark.parametrize("name", ODD)
def test_answers_that_no_layer_gives_get_the_same_verdict(name: str, names: tuple[str, ...]) -> None:
    reply, kind, is_open = ODD[name]
    with raw(reply) as address:
        asked = asked_of(f"{address}/v1", names=names)
        pasted = read_pasted(asked, answers=by_curl(asked))
        finding, by_asking = find_pasted(asked, pasted), check_cors(asked, LIMITS)
    assert (finding.kind, finding.is_open) == (by_asking.kind, by_asking.is_open) == (kind, is_open)
    assert finding.sentences == by_asking.sentences
    assert pasted_document(finding).items() >= cors_document(by_asking).items()
    assert find_pasted(asked, read_pasted(asked, answers=kept_answers(asked, pasted))) == finding


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", SECONDS)
def test_what_is_pasted_of_a_second_origin_or_a_redirect_gets_the_verdict_of_the_command(
    name: str, write: Write
) -> None:
    told, origin, verdict, exit_code, may_post, may_read, words = SECONDS[name]
    with telling(told) as address:
        asked = asked_of(f"{address}/v1", origin=origin)
        pasted = read_pasted(asked, answers=write(asked))
        by_asking = check_cors(asked, LIMITS)
    finding = find_pasted(asked, pasted)
    is_open = {2: None, 3: True}[exit_code]
    assert (finding.kind, finding.is_open) == (by_asking.kind, by_asking.is_open) == (verdict, is_open)
    assert (finding.own.may_post, finding.own.may_read) == (may_post, may_read)
    assert finding.sentences == by_asking.sentences
    assert words in finding.sentences[0]
    assert pasted_document(finding).items() >= cors_document(by_asking).items()
    assert find_pasted(asked, read_pasted(asked, answers=kept_answers(asked, pasted))) == finding


@BY_CURL
@pytest.mark.parametrize(
    ("listed", "kind", "is_open"), [(PAGE, "at_least_this_origin", True), (UI, "cannot_tell", None)]
)
def test_a_second_origin_without_an_answer_is_open_where_the_first_was_let_in(
    listed: str, kind: str, *, is_open: bool | None
) -> None:
    with spoken(hangs_up_on(INVALID, "null", listed=listed)) as address:
        asked = asked_of(f"{address}/v1")
        finding = find_pasted(asked, read_pasted(asked, answers=by_curl(asked)))
    assert (finding.kind, finding.is_open, finding.missing) == (kind, is_open, ())
    assert "got no whole answer: curl got none" in finding.sentences[0]


@BY_CURL
@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"", "curl got none"),
        # curl says nothing of this, and leaves with 0.
        (b"HTTP/1.1 200 OK\r\naccess-control-allow-origin: *\r\nx-a", "its headers break off"),
    ],
)
def test_a_server_that_breaks_off_gives_no_verdict(sent: bytes, why: str) -> None:
    with raw(both(sent)) as address:
        asked = asked_of(f"{address}/v1")
        finding = find_pasted(asked, read_pasted(asked, answers=by_curl(asked)))
    assert (finding.kind, finding.is_open, finding.missing) == ("cannot_tell", None, ())
    assert [why in each for each in finding.sentences] == [True, True]


@BY_CURL
def test_a_server_that_is_not_there_gives_no_verdict() -> None:
    with raw(both(b"")) as address:
        pass
    asked = asked_of(f"{address}/v1")
    text = by_curl(asked)
    assert text.count("curl: (7)") == 6
    finding = find_pasted(asked, read_pasted(asked, answers=text))
    assert (finding.kind, len(finding.sentences)) == ("cannot_tell", 2)


@BY_CURL
@pytest.mark.parametrize("flags", [["-sSi"], ["-sS", "-v", "-o", "/dev/null"], ["-sS", "-v", "-i"]])
def test_one_answer_is_read_as_other_flags_write_it(flags: list[str]) -> None:
    with listening(app(BY_DEFAULT_OPEN)) as address:
        asked = asked_of(f"{address}/v1/models")
        texts = []
        for method, headers in asked.requests.values():
            sent = [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
            ran = subprocess.run(
                ["curl", "-q", *flags, "-X", method, *sent, asked.url],
                capture_output=True,
                check=True,
                timeout=60,
            )
            texts.append((ran.stderr + ran.stdout).decode())
        by_asking = check_cors(asked, LIMITS)
    pasted = read_pasted(asked, answers="", preflight=texts[0], plain=texts[1])
    assert find_pasted(asked, pasted).sentences == by_asking.sentences


HOSTILE = "/v1/{a,b}[1-3]?x=$(touch%20gone)`id`'\"\\;|&&<>()*!~#%{http_code}\\n"


@pytest.mark.parametrize("names", [[], ["x-'a'", "x`id`", "x!$*"]])
def test_a_hostile_address_is_one_word_to_the_shell(names: list[str], tmp_path: Path) -> None:
    """A function takes the place of curl and writes down the words that it gets."""
    asked = asked_of(f"http://127.0.0.1:9{HOSTILE} $HOME", names=names)
    script = 'curl() { for word in "$@"; do printf \'%s\\0\' "$word"; done; }\n' + curl_line(asked)
    ran = subprocess.run(
        ["sh", "-c", script], capture_output=True, check=True, timeout=60, cwd=tmp_path, env={"HOME": "/x"}
    )
    words = ran.stdout.decode().split("\0")[:-1]
    assert words.count(asked.url) == words.count("--next") + 1 == (9 if names else 6)
    assert words[0] == "-q"
    headers = [word for at, word in enumerate(words) if words[at - 1] == "-H"]
    assert headers == [
        f"{name}: {value}"
        for origin in origins(asked)
        for _, sent in asked.by(origin).requests.values()
        for name, value in sent.items()
    ]
    assert list(tmp_path.iterdir()) == []


@BY_CURL
def test_curl_takes_an_address_as_it_is() -> None:
    """No brackets are counted through, and nothing of it is written out by -w."""
    seen: list[str] = []

    async def remember(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(None)(scope, receive, send)
            return
        seen.append(f"{scope['method']} {scope['raw_path'].decode()}?{scope['query_string'].decode()}")
        await PlainTextResponse("x" * 100_000)(scope, receive, send)

    with listening(remember) as address:
        asked = asked_of(f"{address}/v1/{{a,b}}[1-3]?x=$(id)';|&*!%%{{http_code}}")
        text = by_curl(asked)
    target = "/v1/{a,b}[1-3]?x=$(id)';|&*!%%{http_code}"
    assert seen == [f"OPTIONS {target}", f"GET {target}"] * 3
    assert find_pasted(asked, read_pasted(asked, answers=text)).kind == "closed"
    assert "xxx" not in text
