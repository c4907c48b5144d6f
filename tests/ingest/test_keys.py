"""A key goes to the host it is for and to no other, and never comes back out of a fetch."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.ingest.fetch import Fetcher, fetching, keys_of
from app.ingest.fetched import FetchError, Limits
from app.settings import Settings
from scrapers.base import Key, Request
from tests.ingest.server import Handler, Host, page, redirect, serving, status
from tests.make import utc

SECRET = "s3cr3t-of-acme"  # noqa: S105 - a made-up key
KEYS = {"acme_api_key": SECRET}
KEY = Key(setting="acme_api_key")
LIMITS = Limits(
    user_agent="InferPrice/0 (+https://inferprice.example)",
    delay_s=0,
    timeout_s=5,
    max_body_bytes=100_000,
    first_wait_s=0.01,
    schemes=("http",),
)


@pytest.fixture
def host() -> Iterator[Host]:
    with serving() as running:
        yield running


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with fetching(LIMITS, lambda: utc(1), keys=KEYS) as made:
        yield made


def ask(fetcher: Fetcher, url: str, *, key: Key | None = KEY) -> bytes:
    return fetcher.fetch(Request(url=url, key=key), hosts=("127.0.0.1", "localhost")).body


def sent(host: Host, path: str) -> list[str | None]:
    """Return what each request for a path was authorized with."""
    return [
        headers.get("authorization")
        for (_, seen), headers in zip(host.seen, host.headers, strict=True)
        if seen == path
    ]


def test_a_key_goes_with_the_request_that_names_it(fetcher: Fetcher, host: Host) -> None:
    ask(fetcher, host.answer("/api", page(b"{}")))
    ask(fetcher, host.answer("/page", page(b"prices")), key=None)
    assert sent(host, "/api") == [f"Bearer {SECRET}"]
    assert sent(host, "/page") == sent(host, "/robots.txt") == [None]


def test_a_key_that_is_not_set_is_not_sent(fetcher: Fetcher, host: Host) -> None:
    ask(replace(fetcher, keys={}), host.answer("/api", page(b"{}")))
    assert sent(host, "/api") == [None]


def test_a_key_says_in_which_header_it_goes(fetcher: Fetcher, host: Host) -> None:
    ask(fetcher, host.answer("/api", page(b"{}")), key=replace(KEY, header="x-api-key", prefix=""))
    assert host.headers[-1]["x-api-key"] == SECRET


def test_a_key_does_not_follow_a_redirect_to_another_host(fetcher: Fetcher, host: Host) -> None:
    elsewhere = host.answer("/moved", page(b"prices")).replace("127.0.0.1", "localhost")
    assert ask(fetcher, host.answer("/api", redirect(elsewhere))) == b"prices"
    assert sent(host, "/api") == [f"Bearer {SECRET}"]
    assert sent(host, "/moved") == [None]


def test_a_key_follows_a_redirect_on_its_host(fetcher: Fetcher, host: Host) -> None:
    host.answer("/v2", page(b"prices"))
    assert ask(fetcher, host.answer("/v1", redirect("/v2"))) == b"prices"
    assert sent(host, "/v2") == [f"Bearer {SECRET}"]


def echo(handler: Handler) -> None:
    status(200, str(handler.headers).encode())(handler)


def echo_header(handler: Handler) -> None:
    status(200, b"prices", etag=str(handler.headers["authorization"]))(handler)


def echo_location(handler: Handler) -> None:
    redirect(f"/next?{handler.headers['authorization']}")(handler)


@pytest.mark.parametrize("reply", [echo, echo_header, echo_location])
def test_an_answer_that_says_our_key_is_no_answer(fetcher: Fetcher, host: Host, reply: object) -> None:
    with pytest.raises(FetchError) as caught:
        ask(fetcher, host.answer("/api", reply))
    assert caught.value.code == "key_in_answer"
    assert SECRET not in f"{caught.value} {caught.value.evidence}"


def test_an_error_that_quotes_an_answer_does_not_quote_a_key() -> None:
    error = FetchError("x", f"The host said {SECRET}.", said=f"Bearer {SECRET}")
    assert str(error.without(KEYS.values())) == "The host said (key)."
    assert error.evidence == {"said": "Bearer (key)"}


def test_keys_come_from_settings_and_show_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAMBDA", "RUNPOD"):
        monkeypatch.setenv(f"INFERPRICE_{name}_API_KEY", f"{SECRET}-{name}")
    settings = Settings()
    assert keys_of(settings) == {
        "lambda_api_key": f"{SECRET}-LAMBDA",
        "runpod_api_key": f"{SECRET}-RUNPOD",
    }
    assert SECRET not in f"{settings!r} {settings} {settings.model_dump_json()}"
