"""Who is let in at /mcp: tokens of a real issuer for this resource, now, with the right scope."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from mcp import Client
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth, extract_scope_from_www_auth
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp_types import CallToolResult
from sqlalchemy import Engine

from app.ingest import duties
from app.ingest.duties import Operator
from app.settings import Settings, SettingsError, load_settings
from app.store.session import make_engine
from app.web.agent.access import ADMIN, READ
from app.web.main import create_app
from tests.databases import empty_sqlite
from tests.ingest.test_duties import hold_offers
from tests.web import market
from tests.web.asking import ARGUMENTS, PUBLIC, RESOURCE, contents, text_of
from tests.web.issuer import KID, OAUTH, Issuer, issuing
from tests.web.server import listening

METADATA = "/.well-known/oauth-protected-resource/mcp"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as made:
        made.answers[OAUTH] = (200, made.metadata())
        yield made


@dataclass(frozen=True, slots=True)
class Guarded:
    """A served market whose /mcp asks for tokens, and its database."""

    address: str
    engine: Engine


def guarded_settings(url: str, issuer: Issuer) -> Settings:
    return Settings(DATABASE_URL=url, public_url=PUBLIC, oauth_issuer=issuer.address)


@contextmanager
def serving(folder: Path, issuer: Issuer) -> Iterator[Guarded]:
    url = empty_sqlite(folder)
    market.fill(url, market=market.runs()[:3])
    engine = make_engine(url)
    hold_offers(engine)
    settings = guarded_settings(url, issuer)
    with Operator(settings, lambda: market.NOW) as operator:
        application = create_app(settings, clock=lambda: market.NOW, duties=operator)
        with listening(application) as address:
            yield Guarded(address, engine)
    engine.dispose()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer) -> Iterator[Guarded]:
    with serving(tmp_path_factory.mktemp("guarded"), issuer) as made:
        yield made


def asked(guarded: Guarded, token: str | None) -> httpx2.Response:
    """Ask for the list of tools."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    return httpx2.post(f"{guarded.address}/mcp", json=body, headers=headers)


def called(
    guarded: Guarded, token: str, *, name: str, arguments: dict[str, Any] | None = None
) -> CallToolResult:
    """Call a tool with the SDK's client."""

    async def run() -> CallToolResult:
        headers = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{guarded.address}/mcp", http_client=http)) as client,
        ):
            await client.list_tools()
            return await client.call_tool(name, ARGUMENTS[name] if arguments is None else arguments)

    return asyncio.run(run())


def test_the_metadata_names_resource_issuer_and_scopes(guarded: Guarded, issuer: Issuer) -> None:
    found = httpx2.get(guarded.address + METADATA).json()
    assert found["resource"] == RESOURCE
    assert found["authorization_servers"] == [issuer.address]
    assert found["scopes_supported"] == ["prices:read", "prices:admin"]


def test_without_a_token_the_answer_says_where_the_metadata_is(guarded: Guarded) -> None:
    answer = asked(guarded, None)
    assert answer.status_code == 401
    assert f'resource_metadata="{PUBLIC}{METADATA}"' in answer.headers["www-authenticate"]


def test_the_challenge_asks_for_no_more_than_reading_needs(guarded: Guarded, issuer: Issuer) -> None:
    """A client that is told no scope asks for every one that the metadata name, an operator's too."""
    for token in (None, issuer.token(aud="https://other.example", scope=READ)):
        answer = asked(guarded, token)
        assert extract_scope_from_www_auth(answer) == "prices:read"
        assert extract_resource_metadata_from_www_auth(answer) == PUBLIC + METADATA
    assert "www-authenticate" not in asked(guarded, issuer.token(aud=RESOURCE, scope=READ)).headers


def test_the_right_token_is_let_in(guarded: Guarded, issuer: Issuer) -> None:
    answer = asked(guarded, issuer.token(aud=RESOURCE, scope=READ))
    assert answer.status_code == 200
    assert [tool["name"] for tool in answer.json()["result"]["tools"]] == list(ARGUMENTS)
    assert (
        asked(guarded, issuer.token(aud=["https://other.example", RESOURCE], scope=READ)).status_code == 200
    )


REFUSED: dict[str, dict[str, Any]] = {
    "another resource": {"aud": "https://other.example/mcp"},
    "the site, not its endpoint": {"aud": PUBLIC},
    "a longer name": {"aud": f"{RESOURCE}x"},
    "no audience": {},
    "expired": {"aud": RESOURCE, "exp": int(time.time()) - 60},
    "no end": {"aud": RESOURCE, "exp": None},
    "not yet": {"aud": RESOURCE, "nbf": int(time.time()) + 86_400},
    "another issuer": {"aud": RESOURCE, "iss": "https://other.example"},
    "no issuer": {"aud": RESOURCE, "iss": None},
    "nobody's": {"aud": RESOURCE, "sub": None, "client_id": None},
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_token_that_is_not_for_here_and_now_is_refused(
    guarded: Guarded, issuer: Issuer, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    token = issuer.token(scope=f"{READ} {ADMIN}", **REFUSED[why])
    before = contents(guarded.engine)
    answer = asked(guarded, token)
    assert answer.status_code == 401
    assert METADATA in answer.headers["www-authenticate"]
    assert contents(guarded.engine) == before
    assert not [part for part in token.split(".") if part in caplog.text + answer.text]


def forged(issuer: Issuer) -> dict[str, str]:
    """Give tokens with good claims that the issuer did not sign."""
    claims, headers = issuer.claims(aud=RESOURCE, scope=READ), {"kid": KID}
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    good = issuer.token(aud=RESOURCE, scope=READ)
    head, body, signature = good.split(".")
    other = issuer.token(aud=RESOURCE, scope=ADMIN).split(".")[1]
    deep = jwt.utils.base64url_encode(b"[" * 5_000).decode()
    return {
        "unsigned": jwt.encode(claims, None, algorithm="none", headers=headers),
        "a shared secret": jwt.encode(claims, "x" * 64, algorithm="HS256", headers=headers),
        "another key": jwt.encode(claims, stranger, algorithm="RS256", headers=headers),
        "an unknown key": jwt.encode(claims, stranger, algorithm="RS256", headers={"kid": "key-2"}),
        "no key named": jwt.encode(claims, stranger, algorithm="RS256"),
        "another body": f"{head}.{other}.{signature}",
        "no signature": f"{head}.{body}.",
        "no token": "x",
        "nested": f"{deep}.{body}.{signature}",
        "long": good + "A" * 10_000,
    }


def test_a_token_that_the_issuer_did_not_sign_is_refused(guarded: Guarded, issuer: Issuer) -> None:
    codes = {why: asked(guarded, token).status_code for why, token in forged(issuer).items()}
    assert codes == dict.fromkeys(codes, 401)
    assert len(codes) == 10


def test_a_wrong_scope_is_an_error_that_names_the_right_one(guarded: Guarded, issuer: Issuer) -> None:
    reader, operator = (issuer.token(aud=RESOURCE, scope=scope) for scope in (READ, ADMIN))
    before = contents(guarded.engine)
    for token, name, scope in (
        (reader, "decide_quarantine", "prices:admin"),
        (reader, "start_scrape", "prices:admin"),
        (operator, "search_offers", "prices:read"),
    ):
        result = called(guarded, token, name=name)
        assert result.is_error
        assert text_of(result) == f"{name} needs a token with the scope {scope}."
    assert contents(guarded.engine) == before


@pytest.mark.parametrize("scopes", [{"scope": READ}, {"scp": [READ]}, {"scp": f"openid {READ}"}])
def test_scopes_are_read_from_where_issuers_write_them(
    guarded: Guarded, issuer: Issuer, scopes: dict[str, Any]
) -> None:
    result = called(guarded, issuer.token(aud=RESOURCE, **scopes), name="claims")
    assert not result.is_error
    assert result.structured_content["address"] == f"{PUBLIC}/claims"


def test_reading_a_resource_needs_the_scope_too(guarded: Guarded, issuer: Issuer) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "resources/read",
        "params": {"uri": "inferprice://methodology"},
    }
    answers = [
        httpx2.post(
            f"{guarded.address}/mcp",
            json=body,
            headers={
                "accept": "application/json",
                "authorization": f"Bearer {issuer.token(aud=RESOURCE, scope=scope)}",
            },
        ).json()
        for scope in (ADMIN, READ)
    ]
    assert answers[0]["error"]["message"] == "read_resource needs a token with the scope prices:read."
    assert "contents" in answers[1]["result"]


def test_an_operator_decides_and_the_tools_that_write_say_that_they_do(
    tmp_path: Path, issuer: Issuer
) -> None:
    token = issuer.token(aud=RESOURCE, scope=ADMIN)
    with serving(tmp_path, issuer) as guarded:
        tools = {
            tool["name"]: tool["annotations"] for tool in asked(guarded, token).json()["result"]["tools"]
        }
        for name in ("start_scrape", "decide_quarantine"):
            assert (tools[name]["readOnlyHint"], tools[name]["destructiveHint"]) == (False, True)
        result = called(guarded, token, name="decide_quarantine")
        assert not result.is_error
        assert "stay unpublished. Rejected: It is a typo." in result.structured_content["sentence"]
        again = called(guarded, token, name="decide_quarantine")
        assert again.is_error
        assert text_of(again) == "The held offers 1 were rejected before: It is a typo."


def test_an_operator_starts_a_scrape_that_knows_no_token(
    tmp_path: Path, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    def scrape(_engine: Engine, _settings: Settings, **asked: Any) -> tuple[()]:
        seen.append((asked["providers"], get_access_token()))
        return ()

    monkeypatch.setattr(duties, "scrape", scrape)
    with serving(tmp_path, issuer) as guarded:
        token = issuer.token(aud=RESOURCE, scope=ADMIN)
        result = called(guarded, token, name="start_scrape")
        assert not result.is_error
        assert result.structured_content["sentence"].startswith("nebius is being read")
        assert token not in json.dumps(result.structured_content)
    assert seen == [(["nebius"], None)]


NOT_RIGHT: list[tuple[str, dict[str, Any], str]] = [
    ("start_scrape", {}, "provider"),
    ("start_scrape", {"provider": "x" * 50_000}, "provider"),
    ("start_scrape", {"provider": ["nebius", "vast"]}, "provider"),
    ("start_scrape", {"provider": 5}, "5"),
    ("start_scrape", {"provider": "nebius", "force": True}, "argument"),
    ("decide_quarantine", {}, "number"),
    ("decide_quarantine", {"number": 2**63}, "number"),
    ("decide_quarantine", {"number": -1}, "number"),
    ("decide_quarantine", {"number": 1.5}, "number"),
    ("decide_quarantine", {"number": True}, "number"),
    ("decide_quarantine", {"number": [1] * 10_000}, "number"),
    ("decide_quarantine", {"decision": "publish"}, "decision"),
    ("decide_quarantine", {"decision": None}, "decision"),
    ("decide_quarantine", {"because": ""}, "because"),
    ("decide_quarantine", {"because": "x" * 501}, "because"),
    ("decide_quarantine", {"because": "x" * 50_000}, "because"),
    ("decide_quarantine", {"because": {"a": 1}}, "because"),
]


@pytest.mark.parametrize(("name", "changed", "word"), NOT_RIGHT)
def test_a_tool_that_writes_refuses_what_is_out_of_range_and_writes_nothing(
    guarded: Guarded, issuer: Issuer, name: str, changed: dict[str, Any], word: str
) -> None:
    before = contents(guarded.engine)
    arguments = ARGUMENTS[name] | changed if changed else {}
    result = called(guarded, issuer.token(aud=RESOURCE, scope=ADMIN), name=name, arguments=arguments)
    assert result.is_error
    assert word in text_of(result).partition(" is not right")[0]
    assert len(text_of(result)) < 1_500
    assert contents(guarded.engine) == before


def test_when_the_issuers_keys_are_away_nobody_is_let_in(tmp_path: Path, issuer: Issuer) -> None:
    url = empty_sqlite(tmp_path)
    market.fill(url, market=market.runs()[:1])
    settings = guarded_settings(url, issuer).model_copy(update={"oauth_jwks_url": f"{issuer.address}/none"})
    with listening(create_app(settings, clock=lambda: market.NOW)) as address:
        answer = httpx2.post(
            f"{address}/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            headers={"authorization": f"Bearer {issuer.token(aud=RESOURCE, scope=READ)}"},
        )
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"OAUTH_ISSUER": "https://id.example"}, "INFERPRICE_OAUTH_ISSUER: .* set INFERPRICE_PUBLIC_URL"),
        ({"PUBLIC_URL": "http://prices.example"}, "INFERPRICE_PUBLIC_URL: .* begin it with https://"),
        ({"PUBLIC_URL": "prices.example"}, "INFERPRICE_PUBLIC_URL: .* begin it with https://"),
        ({"PUBLIC_URL": "https://a.example/?x"}, "INFERPRICE_PUBLIC_URL: .* leave out"),
        ({"OAUTH_JWKS_URL": "file:///etc/passwd"}, "INFERPRICE_OAUTH_JWKS_URL: .* begin it with https://"),
    ],
)
def test_a_setting_that_would_not_guard_anything_is_refused(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], sentence: str
) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"INFERPRICE_{name}", value)
    with pytest.raises(SettingsError, match=sentence):
        load_settings()


def test_the_issuer_stays_as_it_is_written_and_the_resource_does_not() -> None:
    made = Settings(public_url="https://prices.example/", oauth_issuer="https://id.example/")
    assert made.oauth_issuer == "https://id.example/"  # it is compared with what tokens say, letter by letter
    assert made.oauth_resource == "https://prices.example/mcp"
