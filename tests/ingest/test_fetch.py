"""Fetching from a real server that behaves, misbehaves and breaks: what comes back, what is never done."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.ingest.fetch import Fetcher, fetching, seconds_to_wait
from app.ingest.fetched import Fetched, FetchError, Limits, PassingError
from app.store.records import Capture
from scrapers.base import Request
from tests.ingest import server
from tests.ingest.server import Host, page, redirect, serving, status
from tests.make import utc

LIMITS = Limits(
    user_agent="InferPrice/0 (+https://inferprice.example)",
    delay_s=0,
    timeout_s=5,
    max_body_bytes=100_000,
    first_wait_s=0.01,
    schemes=("http",),
)
HERE = ("127.0.0.1",)


@pytest.fixture
def host() -> Iterator[Host]:
    with serving() as running:
        yield running


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with fetching(LIMITS, lambda: utc(1)) as made:
        yield made


def get(fetcher: Fetcher, url: str, **options: Any) -> Fetched:
    return fetcher.fetch(Request(url=url), hosts=HERE, **options)


def refused(fetcher: Fetcher, url: str) -> FetchError:
    with pytest.raises(FetchError) as caught:
        get(fetcher, url)
    return caught.value


def limited(fetcher: Fetcher, **limits: Any) -> Fetcher:
    return replace(fetcher, limits=replace(fetcher.limits, **limits))


def test_a_page_comes_with_its_headers_and_we_say_who_we_are(fetcher: Fetcher, host: Host) -> None:
    url = host.answer("/pricing", page(b"prices", etag='"1"', content_type="text/html"))
    fetched = get(fetcher, url)
    assert (fetched.status, fetched.body, fetched.content_type) == (200, b"prices", "text/html")
    assert (fetched.url, fetched.fetched_at, fetched.headers["etag"]) == (url, utc(1), '"1"')
    assert not fetched.is_unchanged
    assert host.seen == [("GET", "/robots.txt"), ("GET", "/pricing")]
    assert {headers["user-agent"] for headers in host.headers} == {
        "InferPrice/0 (+https://inferprice.example)"
    }


def test_what_a_source_sends_arrives(fetcher: Fetcher, host: Host) -> None:
    url = host.answer("/graphql", page(b"{}"))
    request = Request(
        url=url, method="POST", body=b'{"query":"x"}', headers={"content-type": "application/json"}
    )
    assert fetcher.fetch(request, hosts=HERE).body == b"{}"
    assert (host.seen[-1], host.bodies[-1]) == (("POST", "/graphql"), b'{"query":"x"}')
    assert host.headers[-1]["content-type"] == "application/json"


def test_a_page_is_asked_for_only_if_it_changed(fetcher: Fetcher, host: Host) -> None:
    url = host.answer("/pricing", status(304))
    known = Capture(
        sha256="aa",
        url=url,
        fetched_at=utc(1),
        status=200,
        headers={"etag": '"1"', "last-modified": "Sun, 01 Nov 2026 12:00:00 GMT"},
        content_type="text/html",
        size_bytes=6,
    )
    fetched = get(fetcher, url, known=known)
    assert fetched.is_unchanged
    assert host.headers[-1]["if-none-match"] == '"1"'
    assert host.headers[-1]["if-modified-since"] == "Sun, 01 Nov 2026 12:00:00 GMT"


def test_a_304_that_nobody_asked_for_is_no_page(fetcher: Fetcher, host: Host) -> None:
    assert refused(fetcher, host.answer("/pricing", status(304))).code == "refused_by_host"


@pytest.mark.parametrize("code", [403, 404, 410, 204])
def test_a_refusal_is_final(fetcher: Fetcher, host: Host, code: int) -> None:
    error = refused(fetcher, host.answer("/pricing", status(code)))
    assert (error.code, str(error)) == ("refused_by_host", f"{host.url}/pricing answered {code}.")
    assert host.asked("/pricing") == 1


def test_a_fault_that_passes_is_tried_again(fetcher: Fetcher, host: Host) -> None:
    assert get(fetcher, host.answer("/pricing", status(500), status(502), page(b"prices"))).body == b"prices"
    assert host.asked("/pricing") == 3


def test_a_fault_that_stays_is_reported_after_three_tries(fetcher: Fetcher, host: Host) -> None:
    error = refused(fetcher, host.answer("/pricing", status(503)))
    assert (error.code, error.evidence) == ("host_busy", {"status": "503"})
    assert host.asked("/pricing") == 3


def test_a_busy_host_gets_the_time_it_asks_for(fetcher: Fetcher, host: Host) -> None:
    url = host.answer("/pricing", status(429, retry_after="1"), page(b"prices"))
    assert get(fetcher, url).body == b"prices"
    assert host.seen_at_s[-1] - host.seen_at_s[-2] >= 1.0


def test_a_host_that_asks_for_too_long_is_left_alone(fetcher: Fetcher, host: Host) -> None:
    error = refused(fetcher, host.answer("/pricing", status(429, retry_after="3600")))
    assert isinstance(error, PassingError)
    assert (error.after_s, host.asked("/pricing")) == (3600.0, 1)


@pytest.mark.parametrize(
    ("retry_after", "expected_s"),
    [
        ("120", 120.0),
        ("Sun, 01 Nov 2026 12:01:00 GMT", 60.0),
        ("Sun, 01 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(retry_after: str, expected_s: float | None) -> None:
    """RFC 9110, section 10.2.3."""
    assert seconds_to_wait(retry_after, datetime(2026, 11, 1, 12, tzinfo=UTC)) == expected_s


# Redirects.


def test_a_redirect_within_the_hosts_is_followed(fetcher: Fetcher, host: Host) -> None:
    host.answer("/new", page(b"prices"))
    fetched = get(fetcher, host.answer("/old", redirect("/new", 301)))
    assert (fetched.url, fetched.body) == (f"{host.url}/new", b"prices")


def test_a_redirect_to_another_host_is_not_followed(fetcher: Fetcher, host: Host) -> None:
    with serving() as other:
        foreign = other.answer("/pricing", page(b"prices")).replace("127.0.0.1", "localhost")
        error = refused(fetcher, host.answer("/pricing", redirect(foreign)))
        assert (error.code, error.evidence) == ("foreign_host", {"url": foreign})
        assert other.seen == []


@pytest.mark.parametrize(
    "target",
    ["file:///etc/passwd", "https://127.0.0.1/", "//evil.example/", "http://127.0.0.1@evil.example/"],
)
def test_a_redirect_to_somewhere_else_entirely_is_not_followed(
    fetcher: Fetcher, host: Host, target: str
) -> None:
    assert refused(fetcher, host.answer("/pricing", redirect(target))).code == "foreign_host"


def test_redirects_in_a_circle_end(fetcher: Fetcher, host: Host) -> None:
    assert refused(fetcher, host.answer("/pricing", redirect("/pricing"))).code == "too_many_redirects"
    assert host.asked("/pricing") == 6


def test_what_is_sent_is_not_sent_on(fetcher: Fetcher, host: Host) -> None:
    url = host.answer("/graphql", redirect("/other", 307))
    with pytest.raises(FetchError, match="redirects what is sent to it"):
        fetcher.fetch(Request(url=url, method="POST", body=b"{}"), hosts=HERE)


# Bodies that are too much, too slow or broken.


def test_a_body_of_the_largest_size_is_taken(fetcher: Fetcher, host: Host) -> None:
    assert len(get(fetcher, host.answer("/pricing", page(b"x" * 100_000))).body) == 100_000
    assert refused(fetcher, host.answer("/pricing", page(b"x" * 100_001))).code == "too_large"


def test_an_endless_body_is_cut_off(fetcher: Fetcher, host: Host) -> None:
    error = refused(fetcher, host.answer("/pricing", server.endless(b"x" * 10_000)))
    assert (error.code, host.asked("/pricing")) == ("too_large", 1)


def test_a_packed_body_is_unpacked(fetcher: Fetcher, host: Host) -> None:
    assert get(fetcher, host.answer("/pricing", server.gzipped(b"prices" * 1_000))).body == b"prices" * 1_000
    assert host.headers[-1]["accept-encoding"] == "gzip"


def test_a_bomb_is_not_unpacked(fetcher: Fetcher, host: Host) -> None:
    """50 MB of zeros come in 50 kB."""
    assert refused(fetcher, host.answer("/pricing", server.gzip_bomb(50_000_000))).code == "too_large"


@pytest.mark.parametrize(
    ("reply", "code", "tries"),
    [
        pytest.param(server.cut_short(b"pri"), "cut_short", 3, id="less than promised"),
        pytest.param(
            status(200, b"not gzip", content_encoding="gzip"), "cannot_be_unpacked", 1, id="not gzip"
        ),
        pytest.param(
            status(200, b"\x1f\x8b\x08\0\0\0\0\0\0\0", content_encoding="gzip"),
            "cut_short",
            3,
            id="half gzip",
        ),
        pytest.param(status(200, b"x", content_encoding="br"), "unknown_encoding", 1, id="packed otherwise"),
    ],
)
def test_a_broken_body_is_no_page(
    fetcher: Fetcher, host: Host, reply: server.Reply, code: str, tries: int
) -> None:
    assert refused(fetcher, host.answer("/pricing", reply)).code == code
    assert host.asked("/pricing") == tries


def test_a_slow_body_has_its_time(fetcher: Fetcher, host: Host) -> None:
    slow = limited(fetcher, timeout_s=0.3, attempts=1)
    started_s = time.monotonic()
    assert refused(slow, host.answer("/pricing", server.endless(b"x", every_s=0.05))).code == "too_slow"
    assert time.monotonic() - started_s < 2


def test_a_silent_host_has_its_time(host: Host) -> None:
    with fetching(replace(LIMITS, timeout_s=0.2, attempts=1)) as impatient:
        assert refused(impatient, host.answer("/pricing", server.silent(1))).code == "too_slow"


def test_a_host_that_is_not_there(fetcher: Fetcher) -> None:
    assert refused(fetcher, "http://127.0.0.1:9/pricing").code == "no_connection"


# robots.txt.


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        pytest.param(status(404), True, id="none"),
        pytest.param(status(403), True, id="refused, RFC 9309 2.3.1.3"),
        pytest.param(page(b""), True, id="empty"),
        pytest.param(page(b"User-agent: *\nDisallow: /\n"), False, id="all shut out"),
        pytest.param(page(b"User-agent: *\nDisallow: /pri*ng$\n"), False, id="pattern"),
        pytest.param(page(b"User-agent: *\nDisallow: /\nAllow: /pricing\n"), True, id="the longer rule wins"),
        pytest.param(
            page(b"User-agent: InferPrice\nDisallow: /\n\nUser-agent: *\nDisallow:\n"), False, id="we are"
        ),
        pytest.param(page(b"User-agent: Other\nDisallow: /\n"), True, id="others are"),
    ],
)
def test_robots_txt_is_obeyed(fetcher: Fetcher, host: Host, robots: server.Reply, *, allowed: bool) -> None:
    host.answer("/robots.txt", robots)
    url = host.answer("/pricing", page(b"prices"))
    if allowed:
        assert get(fetcher, url).body == b"prices"
        return
    error = refused(fetcher, url)
    assert error.code == "disallowed_by_robots"
    assert str(error) == f"The robots.txt of {host.url} disallows {url}."
    assert host.asked("/pricing") == 0


def test_a_redirect_into_a_disallowed_place_is_not_followed(fetcher: Fetcher, host: Host) -> None:
    host.answer("/robots.txt", page(b"User-agent: *\nDisallow: /private/\n"))
    host.answer("/private/pricing", page(b"prices"))
    error = refused(fetcher, host.answer("/pricing", redirect("/private/pricing")))
    assert (error.code, host.asked("/private/pricing")) == ("disallowed_by_robots", 0)


@pytest.mark.parametrize("code", [500, 503, 429, 302])
def test_a_host_that_cannot_say_is_left_for_now(fetcher: Fetcher, host: Host, code: int) -> None:
    host.answer("/robots.txt", status(code))
    error = refused(fetcher, host.answer("/pricing", page(b"prices")))
    assert isinstance(error, PassingError)
    assert (error.code, host.asked("/robots.txt"), host.asked("/pricing")) == ("robots_unavailable", 3, 0)


def test_robots_txt_is_read_once_a_run(fetcher: Fetcher, host: Host) -> None:
    for path in ("/one", "/two"):
        get(fetcher, host.answer(path, page(b"prices")))
    assert host.asked("/robots.txt") == 1


# Patience.


def test_a_host_is_asked_once_in_a_while(fetcher: Fetcher, host: Host) -> None:
    patient = limited(fetcher, delay_s=0.2)
    get(patient, host.answer("/pricing", page(b"prices")))
    assert host.seen_at_s[1] - host.seen_at_s[0] >= 0.2


def test_a_host_may_ask_for_more_patience(fetcher: Fetcher, host: Host) -> None:
    host.answer("/robots.txt", page(b"User-agent: *\nCrawl-delay: 0.3\n"))
    for path in ("/one", "/two"):
        get(fetcher, host.answer(path, page(b"prices")))
    assert host.seen_at_s[2] - host.seen_at_s[1] >= 0.3
