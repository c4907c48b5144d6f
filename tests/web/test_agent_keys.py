"""Where an issuer's keys are read from, and that nobody is let in while they cannot be read."""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from anyio import to_thread
from mcp.server.auth.provider import AccessToken

from app.web.agent import keys, tokens
from app.web.agent.keys import UnreadKeysError, discover
from app.web.agent.tokens import IssuedTokens
from tests.web.asking import RESOURCE
from tests.web.issuer import OAUTH, Issuer, issuing

OPENID = "/.well-known/openid-configuration"
DEFAULT = "/.well-known/jwks.json"


@pytest.fixture(scope="module")
def published() -> Iterator[Issuer]:
    with issuing() as made:
        yield made


@pytest.fixture
def issuer(published: Issuer) -> Iterator[Issuer]:
    """An issuer that answers with its keys alone."""
    before = published.answers.copy()
    yield published
    published.answers.clear()
    published.answers.update(before)
    published.asked.clear()


def verifier(issuer: Issuer, path: str = "", *, jwks_url: str = "") -> IssuedTokens:
    return IssuedTokens(issuer=issuer.address + path, jwks_url=jwks_url, resource=RESOURCE)


def verified(checks: IssuedTokens, token: str) -> AccessToken | None:
    return asyncio.run(checks.verify_token(token))


def token(issuer: Issuer, path: str = "") -> str:
    return issuer.token(aud=RESOURCE, iss=issuer.address + path)


# The paths are those of the examples in RFC 8414, section 3.1 and 5, and OpenID Connect Discovery, section 4.
@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("", OAUTH),
        ("", OPENID),
        ("/", OPENID),
        ("/tenant", f"{OAUTH}/tenant"),
        ("/tenant", f"{OPENID}/tenant"),
        ("/tenant", f"/tenant{OPENID}"),
        ("/tenant/", f"/tenant{OPENID}"),
    ],
)
def test_keys_are_where_the_issuers_metadata_say(issuer: Issuer, path: str, place: str) -> None:
    issuer.answers[place] = (200, issuer.metadata(path))
    found = verified(verifier(issuer, path), token(issuer, path))
    assert found is not None
    assert found.token == ""
    assert issuer.asked[-2:] == [place, "/keys"]


def test_where_the_keys_are_can_be_told_and_then_no_metadata_are_asked(issuer: Issuer) -> None:
    assert verified(verifier(issuer, jwks_url=issuer.jwks_url), token(issuer)) is not None
    assert issuer.asked == ["/keys"]


@pytest.mark.parametrize("path", ["", "/tenant"])
def test_without_any_metadata_keys_are_at_the_usual_address_behind_the_issuer(
    issuer: Issuer, path: str
) -> None:
    issuer.answers[path + DEFAULT] = issuer.answers["/keys"]
    assert verified(verifier(issuer, path), token(issuer, path)) is not None


CHANGED: dict[str, dict[str, Any]] = {
    "another issuer": {"issuer": "https://other.example"},
    "a slash more": {"issuer": "http://HOST/"},
    "capitals": {"issuer": "HTTP://HOST"},
    "no issuer": {"issuer": None},
    "no keys": {"jwks_uri": None},
    "plain http elsewhere": {"jwks_uri": "http://id.example/keys"},
    "a file": {"jwks_uri": "file:///etc/passwd"},
    "a name in it": {"jwks_uri": "http://a:b@HOST/keys"},
    "a line in it": {"jwks_uri": "http://HOST/keys\r\nx: y"},
    "a bad port": {"jwks_uri": "https://127.0.0.1:x/keys"},
    "a bad host": {"jwks_uri": "https://[::1/keys"},
    "a number": {"jwks_uri": 5},
}
"""Metadata that must not be used, by what is changed in them."""

LARGE = 2 * keys.LARGEST_DOCUMENT_BYTES
INSTEAD: dict[str, tuple[int, Any]] = {
    "a list": (200, []),
    "no JSON": (200, b"<html>"),
    "deep": (200, b"[" * 100_000),
    "large": (200, b'{"issuer": "http://HOST", "jwks_uri": "http://HOST/keys"}'.ljust(LARGE)),
    "moved": (302, {}),
    "broken": (500, {}),
    "forbidden": (403, {}),
}
"""Answers in place of metadata."""


def hostile(issuer: Issuer, why: str) -> tuple[int, Any]:
    """Return an answer that must not be used as metadata."""
    host = issuer.address.removeprefix("http://")
    if why in INSTEAD:
        status, document = INSTEAD[why]
        named = document.replace(b"HOST", host.encode()) if isinstance(document, bytes) else document
        return status, named
    changes = {
        key: text.replace("HOST", host) if isinstance(text, str) else text
        for key, text in CHANGED[why].items()
    }
    return 200, issuer.metadata(**changes)


@pytest.mark.parametrize("why", [*CHANGED, *INSTEAD])
def test_metadata_that_prove_nothing_let_nobody_in(
    issuer: Issuer, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = hostile(issuer, why)
    issuer.answers.update({OAUTH: answer, OPENID: answer, DEFAULT: issuer.answers["/keys"]})
    checks, good = verifier(issuer), token(issuer)
    assert [verified(checks, good) for _ in range(3)] == [None] * 3
    assert DEFAULT not in issuer.asked
    assert "/keys" not in issuer.asked
    (record,) = [each for each in caplog.records if each.name == keys.__name__]
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("Nobody is let in without the keys of the tokens' issuer")
    assert issuer.address in record.getMessage()
    assert len(record.getMessage()) < 1_000
    assert not [part for part in good.split(".") if part in caplog.text]


@pytest.mark.parametrize("why", ["another issuer", "moved", "broken", "no JSON"])
def test_one_place_that_proves_nothing_does_not_hide_the_other(issuer: Issuer, why: str) -> None:
    issuer.answers.update({OAUTH: hostile(issuer, why), OPENID: (200, issuer.metadata())})
    assert verified(verifier(issuer), token(issuer)) is not None


@pytest.mark.parametrize(
    "document", [{}, {"keys": []}, {"keys": 5}, {"keys": [5]}, {"keys": [{"kty": ["RSA"]}]}, [], b"x"]
)
def test_a_set_without_a_key_lets_nobody_in(
    issuer: Issuer, document: Any, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.answers.update({OAUTH: (200, issuer.metadata()), "/keys": (200, document)})
    checks = verifier(issuer)
    assert [verified(checks, token(issuer)) for _ in range(3)] == [None] * 3
    assert issuer.asked == [OAUTH, "/keys"]
    assert len([each for each in caplog.records if each.name == keys.__name__]) == 1


def test_an_issuer_elsewhere_cannot_point_at_this_machine() -> None:
    found = {"issuer": "https://id.example", "jwks_uri": "http://127.0.0.1:9000/keys"}
    with pytest.raises(UnreadKeysError, match="no jwks_uri that begins with https://"):
        keys.keys_address(found, issuer="https://id.example", address="x")
    found["jwks_uri"] = "https://keys.example/set"  # another host is common, and named by the issuer itself
    assert keys.keys_address(found, issuer="https://id.example", address="x") == "https://keys.example/set"


def test_what_was_read_is_kept_and_read_again_when_it_is_old(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.answers[OAUTH] = (200, issuer.metadata())
    checks = verifier(issuer)
    began_s, passed_s = time.monotonic(), [0.0]
    monkeypatch.setattr("time.monotonic", lambda: began_s + passed_s[0])
    seen = []
    for passed_s[0] in (0, 1, keys.KEYS_KEPT_S + 1, keys.ADDRESS_KEPT_S + 2):
        assert checks._verified(token(issuer)) is not None
        seen.append(issuer.asked.copy())
        issuer.asked.clear()
    assert seen == [[OAUTH, "/keys"], [], ["/keys"], [OAUTH, "/keys"]]


def test_keys_that_come_back_let_in_again_after_a_while_and_not_sooner(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.answers[OAUTH] = (200, issuer.metadata())
    good, moved = issuer.answers["/keys"], f"{issuer.address}/moved"
    issuer.answers["/keys"] = (503, {})
    checks = verifier(issuer)
    began_s, passed_s = time.monotonic(), [0.0]
    monkeypatch.setattr("time.monotonic", lambda: began_s + passed_s[0])
    assert checks._verified(token(issuer)) is None
    issuer.answers.update({OAUTH: (200, issuer.metadata(jwks_uri=moved)), "/moved": good})
    passed_s[0] = keys.RETRY_AFTER_S - 1
    assert checks._verified(token(issuer)) is None
    passed_s[0] = keys.RETRY_AFTER_S + 1
    assert checks._verified(token(issuer)) is not None
    assert issuer.asked == [OAUTH, "/keys", OAUTH, "/moved"]


def test_tokens_of_unknown_keys_do_not_make_it_ask_each_time(issuer: Issuer) -> None:
    checks = verifier(issuer, jwks_url=issuer.jwks_url)
    with issuing() as stranger:
        other = stranger.token(aud=RESOURCE, iss=issuer.address)
    for _ in range(5):
        assert verified(checks, other.replace(other.split(".")[0], unknown_head())) is None
    assert issuer.asked == ["/keys"]


def unknown_head() -> str:
    """Return the first part of a token whose key nobody has."""
    return jwt.encode({}, "x" * 64, algorithm="HS256", headers={"kid": "key-9"}).split(".")[0]


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_an_issuer_that_keeps_silent_is_given_up(
    silent: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(keys, "ANSWER_TIMEOUT_S", 0.05)
    checks = IssuedTokens(issuer=issuer.address, jwks_url=f"{silent}/keys", resource=RESOURCE)
    assert verified(checks, token(issuer)) is None
    assert f"{silent}/keys did not answer: TimeoutError" in caplog.text


@pytest.fixture
def endless() -> Iterator[str]:
    """The address of a server whose answer has no end, a set of keys with ever more spaces behind it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n{}")
                    while True:
                        connection.sendall(b" " * 65_536)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    thread.join(30)


def test_an_answer_without_an_end_is_read_up_to_the_bound(endless: str) -> None:
    with pytest.raises(UnreadKeysError, match=f"/keys has more than {keys.LARGEST_DOCUMENT_BYTES} bytes"):
        keys.read_document(f"{endless}/keys")


def test_an_answer_that_never_ends_is_given_up_and_read_by_one_thread(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go_on, reads = threading.Event(), []

    def dripping(address: str) -> dict[str, Any]:
        reads.append(address)
        assert go_on.wait(30)
        return {}

    monkeypatch.setattr(keys, "read_document", dripping)
    monkeypatch.setattr(keys, "READ_TIMEOUT_S", 0.05)
    monkeypatch.setattr(keys, "RETRY_AFTER_S", 0)
    checks = verifier(issuer, jwks_url=issuer.jwks_url)
    assert [verified(checks, token(issuer)) for _ in range(3)] == [None] * 3
    assert len(reads) == 1
    assert caplog.text.count("an earlier answer is not complete yet") == 2
    go_on.set()


def test_a_slow_issuer_holds_neither_the_loop_nor_the_threads_of_the_pages(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow(_address: str) -> dict[str, Any]:
        assert go_on.wait(30)
        return issuer.answers["/keys"][1]

    monkeypatch.setattr(keys, "read_document", slow)
    checks, good = verifier(issuer, jwks_url=issuer.jwks_url), token(issuer)

    async def run() -> list[AccessToken | None]:
        waiting = [asyncio.create_task(checks.verify_token(good)) for _ in range(60)]
        # Sixty tokens are waited for, more than the forty threads that answer pages; one of those answers.
        for _ in range(3):
            await to_thread.run_sync(time.monotonic)
        assert not any(each.done() for each in waiting)
        assert checks._limiter.borrowed_tokens <= tokens.CHECKS_AT_ONCE
        go_on.set()
        return await asyncio.gather(*waiting)

    assert all(each is not None for each in asyncio.run(run()))


def test_nothing_at_all_there_is_the_usual_address_without_asking_it(issuer: Issuer) -> None:
    assert discover(f"{issuer.address}/tenant/") == f"{issuer.address}/tenant{DEFAULT}"
    assert issuer.asked == [f"{OAUTH}/tenant", f"{OPENID}/tenant", f"/tenant{OPENID}"]
