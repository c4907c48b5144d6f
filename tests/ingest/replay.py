"""A server on this machine in place of every provider: their hosts, robots.txt and pages, and faults as told.

The product's own fetcher asks it over HTTP: the only thing exchanged is the transport below it, which sends
what is for `https://host/path` to `http://127.0.0.1:port/host/path`.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

import httpx2 as httpx

from scrapers import ALTERNATIVES, SCRAPERS, Page, Scraper
from scrapers.base import Expect, Request
from tests.ingest.server import Handler, Host, Reply, serving, status
from tests.make import utc

CAPTURES = Path(__file__).parents[1] / "scrapers" / "captures"
SHARED = Path(__file__).parents[3] / "shared" / "captures"

FILES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "runpod": ("runpod.json", "runpod-serverless.mdx"),
        "coreweave": ("coreweave.html",),
        "nebius": ("nebius.html",),
        "modal": ("modal.html",),
        "together": ("together.html",),
        "deepinfra": ("deepinfra.html",),
        "fireworks": ("fireworks.html",),
        "vast": ("vast.json",),
        "lambda": ("lambda.html",),
        "baseten": ("baseten.md",),
    }
)
"""Our own small pages, one for each request of a source."""

OTHER_FILES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"lambda": ("lambda-api.json",), "baseten": ("baseten-page.html",)}
)
"""The same for a provider's second surface."""

SHARED_FILES: Mapping[str, tuple[Path, ...]] = MappingProxyType(
    {
        "runpod": (
            SHARED / "runpod" / "2026-09-graphql-gpuTypes-with-cloud-flags.json",
            SHARED / "runpod" / "2026-08-docs-serverless-pricing-table.mdx",
        ),
        "coreweave": (SHARED / "coreweave" / "2026-10-pricing-page.html",),
        "nebius": (SHARED / "nebius" / "2026-09-prices-page.html",),
    }
)
"""Whole stored pages, which a source's real expectations hold for."""

TYPES = {".json": "application/json", ".html": "text/html; charset=utf-8", ".md": "text/markdown"}


class ToLoopback(httpx.BaseTransport):
    """Carries a request for any host to the one server that stands for all of them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        target = f"{self.url}/{request.url.host}{request.url.raw_path.decode()}"
        return self.inner.handle_request(
            httpx.Request(
                request.method,
                target,
                headers=request.headers.raw,
                stream=request.stream,
                extensions=request.extensions,
            )
        )

    def close(self) -> None:
        self.inner.close()


@dataclass
class Replay:
    """The running server: what each address answers, and what it was asked."""

    host: Host
    pages: dict[str, bytes] = field(default_factory=dict)

    def answer(self, url: str, *replies: Reply) -> None:
        """Answer an address of a provider with these replies in turn, the last one from then on."""
        self.host.answer(path_of(url), *replies)

    def serve(self, url: str, body: bytes, *, content_type: str = "", **headers: str) -> None:
        """Answer an address with a page, or with a 304 to who has it."""
        self.pages[url] = body
        self.answer(url, current(body, content_type=content_type, **headers))

    def restore(self, url: str) -> None:
        """Answer with the page again that was served before a fault."""
        self.answer(url, current(self.pages[url], content_type=content_type_of(url)))

    def asked(self, url: str) -> int:
        return self.host.asked(path_of(url))


def path_of(url: str) -> str:
    """Give the path under which the server has an address."""
    parts = urlsplit(url)
    return f"/{parts.hostname}{parts.path}" + (f"?{parts.query}" if parts.query else "")


CHANGED = "Tue, 01 Sep 2026 00:00:00 GMT"


def current(
    body: bytes, *, content_type: str = "text/html", last_modified: str = CHANGED, **headers: str
) -> Reply:
    """Serve a page with its ETag, and 304 without a body to who names it; a POST always gets the page."""
    etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'

    def reply(handler: Handler) -> None:
        same = handler.command == "GET" and handler.headers.get("if-none-match") == etag
        whole = status(
            200, body, etag=etag, content_type=content_type, last_modified=last_modified, **headers
        )
        (status(304, etag=etag) if same else whole)(handler)

    return reply


def content_type_of(url: str) -> str:
    return TYPES.get(Path(urlsplit(url).path).suffix, "text/html; charset=utf-8")


@contextmanager
def replaying(*, whole: bool = False, kind: type[Handler] = Handler) -> Iterator[Replay]:
    """Run the server with every source's pages, ours or (`whole`) those of ../shared where there are any."""
    with serving(kind) as host:
        replay = Replay(host=host)
        for provider, scraper in SCRAPERS.items():
            files = [CAPTURES / name for name in FILES[provider]]
            _serve(replay, scraper, list(SHARED_FILES.get(provider, files)) if whole else files)
        for provider, scraper in ALTERNATIVES.items():
            _serve(replay, scraper, [CAPTURES / name for name in OTHER_FILES[provider]])
        yield replay


def _serve(replay: Replay, scraper: Scraper, files: list[Path]) -> None:
    for request, file in zip(scraper.requests, files, strict=True):
        robots = f"https://{urlsplit(request.url).hostname}/robots.txt"
        replay.answer(robots, status(200, b"User-agent: *\nAllow: /\n", content_type="text/plain"))
        replay.serve(request.url, file.read_bytes(), content_type=TYPES.get(file.suffix, "text/plain"))


def small_scrapers() -> Mapping[str, Scraper]:
    """Return the sources, but expecting no more than our own small pages hold."""
    return MappingProxyType({provider: _small(scraper) for provider, scraper in SCRAPERS.items()})


def _small(scraper: Scraper) -> Scraper:
    offers = [
        offer
        for request, name in zip(scraper.requests, FILES[scraper.provider], strict=True)
        for offer in scraper.parse(page_of(request, name)).offers
    ]
    present = {offer.accelerator for offer in offers}
    anchors = tuple(anchor for anchor in scraper.expect.anchors if anchor in present)
    return replace(scraper, expect=Expect(min_offers=len(offers), anchors=anchors))


def page_of(request: Request, name: str) -> Page:
    """Return one of our own pages as the answer to a request."""
    return Page(url=request.url, body=(CAPTURES / name).read_bytes(), fetched_at=utc(29, month=9))
