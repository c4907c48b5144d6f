"""What a provider's host may do wrong, and what has to come of it: the table of issue 3, point 2."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from tests.ingest.replay import current
from tests.ingest.server import (
    Handler,
    Reply,
    cut_short,
    endless,
    gzip_bomb,
    redirect,
    status,
)

LIMIT_BYTES = 2_000_000
TIMEOUT_S = 0.5
TOO_LARGE = f"has more than {LIMIT_BYTES} bytes"
ELSEWHERE = "https://elsewhere.example"
HTML = "text/html"

CAPTCHA = b"""<!doctype html><html><head><title>Just a moment...</title></head>
<body><h1>Checking your browser</h1><p>Please verify that you are human to go on.</p></body></html>"""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, how the host answers (from its good page), how the run ends, and words of its sentence."""

    name: str
    replies: Callable[[bytes], list[Reply]]
    outcome: str
    said: str
    outcome_for_json: str = ""
    is_of_robots: bool = False

    def outcome_of(self, body: bytes) -> str:
        """Return how the run ends at a host whose good page is this one."""
        return self.outcome_for_json if self.outcome_for_json and is_json(body) else self.outcome


def one(reply: Reply) -> Callable[[bytes], list[Reply]]:
    return lambda _body: [reply]


def always(make: Callable[[bytes], Reply]) -> Callable[[bytes], list[Reply]]:
    return lambda body: [make(body)]


def repriced(body: bytes, factor: str, *, first: int = 0) -> bytes:
    """Return a page with every dollar amount times a factor, or only the first so many."""
    times = Decimal(factor)

    def price(found: re.Match[str]) -> str:
        figure = Decimal(found[2])
        return f"{found[1]}{(figure * times).quantize(figure)}" if figure else found[0]

    pattern = r'(\$ ?|"(?:secure|community)Price": )(\d+\.\d+)'
    return re.sub(pattern, price, body.decode(), count=first).encode()


def is_json(body: bytes) -> bool:
    return body.lstrip().startswith(b"{")


def of_another_kind(body: bytes) -> Reply:
    """Serve HTML where JSON was, and JSON where HTML was."""
    if is_json(body):
        return status(
            200, b"<!doctype html><html><body><h1>Welcome</h1></body></html>", content_type="text/html"
        )
    return status(200, json.dumps({"error": "moved"}).encode(), content_type="application/json")


def in_utf_16(body: bytes) -> Reply:
    return status(200, body.decode().encode("utf-16"), content_type=f"{HTML}; charset=utf-8")


def in_another_charset(body: bytes) -> Reply:
    """Serve the page in EBCDIC, as UTF-8 by its header."""
    return status(200, body.decode().encode("cp500", "replace"), content_type=f"{HTML}; charset=utf-8")


def truncated(body: bytes) -> Reply:
    return cut_short(body[: len(body) // 2])


def half(body: bytes) -> Reply:
    return status(200, body[: len(body) // 2])


def cheaper(body: bytes) -> Reply:
    return current(repriced(body, "0.85"))


def dated(body: bytes) -> Reply:
    """Serve one other price on a page that says it was last changed a year ago."""
    return current(repriced(body, "0.95", first=1), last_modified="Sat, 01 Nov 2025 00:00:00 GMT")


def echo(handler: Handler) -> None:
    """Say back what the request was sent with, as some error pages do."""
    status(200, repr(dict(handler.headers)).encode(), content_type=HTML)(handler)


def echo_in_redirect(handler: Handler) -> None:
    sent = handler.headers.get("authorization", "nothing")
    redirect(f"{ELSEWHERE}/?sent={sent}")(handler)


FAULTS = (
    Fault("403", one(status(403, b"Forbidden")), "failed", "answered 403"),
    Fault("404", one(status(404)), "failed", "answered 404"),
    Fault(
        "429 with Retry-After 1, then the page",
        lambda body: [status(429, retry_after="1"), current(body)],
        "unchanged",
        "0 new, 0 changed, 0 closed",
    ),
    Fault("429 with Retry-After 3600", one(status(429, retry_after="3600")), "failed", "answered 429"),
    Fault(
        "500, then the page",
        lambda body: [status(500), current(body)],
        "unchanged",
        "0 new, 0 changed, 0 closed",
    ),
    Fault("500 for good", one(status(500)), "failed", "answered 500"),
    Fault("a redirect to a foreign host", one(redirect(f"{ELSEWHERE}/prices")), "refused", "redirects"),
    Fault("a body that never ends, fast", one(endless(b"x" * 65_536)), "failed", TOO_LARGE),
    Fault("a body that never ends, slow", one(endless(b"x", every_s=0.05)), "failed", "did not come in time"),
    Fault("a gzip bomb", one(gzip_bomb(50_000_000)), "failed", TOO_LARGE),
    Fault("a truncated body", always(truncated), "failed", "ended in the middle"),
    Fault("half a page with its right length", always(half), "refused", ""),
    Fault("a captcha page with 200", one(status(200, CAPTCHA, content_type=HTML)), "refused", ""),
    Fault("an empty page", one(status(200, b"")), "refused", ""),
    Fault("last year's page, read before", always(current), "quarantined", "is byte for byte the page of"),
    Fault("last year's page, never read", always(cheaper), "quarantined", "prices moved at once"),
    Fault("last year's page, by its date", always(dated), "quarantined", "was last changed before"),
    Fault("HTML where JSON was, or JSON where HTML", always(of_another_kind), "refused", ""),
    # JSON says by its first bytes which Unicode it is in, so it is read as what it is.
    Fault("UTF-16 sent as UTF-8", always(in_utf_16), "refused", "", outcome_for_json="unchanged"),
    Fault("a wrong charset", always(in_another_charset), "refused", ""),
    Fault(
        "robots.txt disallows",
        one(status(200, b"User-agent: *\nDisallow: /")),
        "refused",
        "disallows",
        is_of_robots=True,
    ),
    Fault(
        "robots.txt answers 503",
        one(status(503)),
        "failed",
        "so nothing may be fetched now",
        is_of_robots=True,
    ),
    Fault("robots.txt answers 404", one(status(404)), "unchanged", "0 changed", is_of_robots=True),
    Fault("our key said back in the page", one(echo), "refused", "repeats a key of ours"),
    Fault("our key said back in a redirect", one(echo_in_redirect), "refused", "repeats a key of ours"),
)
"""Each with how the run ends and words of its sentence."""
