"""The only network: one polite, bounded request at a time, within a provider's hosts and its robots.txt."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

import httpx2 as httpx
import stamina
from protego import Protego

from app.ingest.fetched import NOT_MODIFIED, Fetched, FetchError, Limits, PassingError, gather
from scrapers.base import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from app.settings import Settings
    from app.store.records import Capture

log = logging.getLogger(__name__)

MOST_REDIRECTS: Final = 5
MOST_ROBOTS_BYTES: Final = 512_000
"""A longer robots.txt is refused; RFC 9309 asks to read 500 KiB at least."""

LONGEST_CRAWL_DELAY_S: Final = 60.0
_KEPT_HEADERS: Final = ("etag", "last-modified", "date")
_OK: Final = 200
_PARTIAL: Final = 206
_TOO_MANY_REQUESTS: Final = 429
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_MAY_PASS: Final = frozenset((408, 425, _TOO_MANY_REQUESTS, 500, 502, 503, 504))


@dataclass(slots=True)  # it remembers when each host may be asked again
class Fetcher:
    """A client with the memory that politeness takes: each host's rules, and when it may be asked again.

    `keys` holds the keys that are set, by the name of their setting; none of them comes out of here again.
    """

    client: httpx.Client
    limits: Limits
    clock: Callable[[], datetime]
    keys: Mapping[str, str] = field(default_factory=dict)
    rules: dict[str, Protego | None] = field(default_factory=dict)
    free_at_s: dict[str, float] = field(default_factory=dict)

    def fetch(self, request: Request, *, hosts: Collection[str], known: Capture | None = None) -> Fetched:
        """Return the answer to a request; with the last answer as `known` it may be a 304 without a body.

        Raises FetchError: an address outside `hosts`, disallowed by robots.txt, refused, too large, or still
        failing after `Limits.attempts` tries.
        """
        try:
            return retried(lambda: self._follow(request, hosts=hosts, known=known), self.limits)
        except FetchError as error:
            raise error.without(self.keys.values()) from None

    def _follow(self, request: Request, *, hosts: Collection[str], known: Capture | None = None) -> Fetched:
        """Ask, and follow redirects that stay within the hosts and their rules."""
        url = request.url
        for _ in range(MOST_REDIRECTS + 1):
            self._check(url, hosts, asked=request.url)
            answer = self._ask(
                request, url, headers=conditions(request, known), max_bytes=self.limits.max_body_bytes
            )
            if answer.status not in _REDIRECTS:
                return accepted(answer, may_be_unchanged=known is not None, good=good_status(request))
            if request.method != "GET":
                raise FetchError("post_redirected", f"{url} redirects what is sent to it.")
            url = urljoin(url, answer.headers.get("location", ""))
        raise FetchError("too_many_redirects", f"{request.url} redirects more than {MOST_REDIRECTS} times.")

    def _check(self, url: str, hosts: Collection[str], *, asked: str) -> None:
        """Raise for an address outside the provider's hosts, or one that robots.txt disallows."""
        parts = urlsplit(url)
        if parts.scheme not in self.limits.schemes or parts.hostname not in hosts:
            led = url if url == asked else f"{asked} redirects to {url}, which"
            raise FetchError("foreign_host", f"{led} is not on {', '.join(sorted(hosts))}.", url=url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self.rules:
            self.rules[origin] = self._read_rules(f"{origin}/robots.txt")
        rules = self.rules[origin]
        allowed = rules is None or rules.can_fetch(url, product(self.limits))
        # A store signs the addresses that it redirects to: what follows the path is as good as a key.
        plain = url.partition("?")[0]
        log.info("robots.txt of %s: %s is %s", origin, plain, "allowed" if allowed else "disallowed")
        if not allowed:
            raise FetchError("disallowed_by_robots", f"The robots.txt of {origin} disallows {url}.")

    def _read_rules(self, url: str) -> Protego | None:
        """Return a host's robots.txt, or None when it has none, which allows everything (RFC 9309, 2.3.1.3).

        A host that cannot say is taken to disallow for now (2.3.1.4); a rule elsewhere is not looked up.
        """
        answer = self._ask(Request(url=url), url, headers={}, max_bytes=MOST_ROBOTS_BYTES)
        if answer.status == _OK:
            return Protego.parse(answer.body.decode("utf-8", "replace"))
        if 400 <= answer.status < 500 and answer.status != _TOO_MANY_REQUESTS:  # noqa: PLR2004 - client faults
            return None
        raise _passing(
            answer, "robots_unavailable", f"{url} answered {answer.status}, so nothing may be fetched now."
        )

    def _ask(self, request: Request, url: str, *, headers: Mapping[str, str], max_bytes: int) -> Fetched:
        """Send one request when its host is free again, and return whatever it answers; redirects too."""
        self._wait_for(url)
        sent = {**request.headers, **self._key_header(request, url), **headers}
        deadline_s = time.monotonic() + self.limits.timeout_s
        try:
            with (
                _named(url),
                self.client.stream(
                    request.method, url, content=request.body or None, headers=sent
                ) as response,
            ):
                body = b""
                if response.status_code == good_status(request):
                    body = gather(
                        response.iter_raw(),
                        encoding=response.headers.get("content-encoding", ""),
                        max_bytes=max_bytes,
                        deadline_s=deadline_s,
                        url=url,
                    )
                fetched = self._fetched(response, url, body)
                self._refuse_echo(fetched)
                return fetched
        finally:
            self.free_at_s[urlsplit(url).netloc] = time.monotonic() + self._delay_s(url)

    def _key_header(self, request: Request, url: str) -> Mapping[str, str]:
        """Return the header with the request's key; it goes to the host it is meant for, and to no other."""
        key = self.keys.get(request.key.setting, "") if request.key is not None else ""
        if request.key is None or not key or urlsplit(url).netloc != urlsplit(request.url).netloc:
            return {}
        return {request.key.header: f"{request.key.prefix}{key}"}

    def _refuse_echo(self, fetched: Fetched) -> None:
        """Raise when an answer repeats a key: it would end up in the archive, or in the next request."""
        said = [fetched.content_type, *fetched.headers.values()]
        for key in filter(None, self.keys.values()):
            if key.encode() in fetched.body or any(key in text for text in said):
                raise FetchError(
                    "key_in_answer", f"{fetched.url} repeats a key of ours, so its answer is not kept."
                )

    def _fetched(self, response: httpx.Response, url: str, body: bytes) -> Fetched:
        """Return an answer with the headers that are kept, or needed to go on."""
        wanted = (*_KEPT_HEADERS, "location", "retry-after", "content-range")
        return Fetched(
            url=url,
            status=response.status_code,
            body=body,
            fetched_at=self.clock(),
            content_type=response.headers.get("content-type", ""),
            headers={name: response.headers[name] for name in wanted if name in response.headers},
        )

    def _wait_for(self, url: str) -> None:
        """Sleep until the host may be asked again."""
        wait_s = self.free_at_s.get(urlsplit(url).netloc, 0.0) - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)

    def _delay_s(self, url: str) -> float:
        """Return how long to leave a host alone: our delay, or its own where it asks for more."""
        parts = urlsplit(url)
        rules = self.rules.get(f"{parts.scheme}://{parts.netloc}")
        asked_s = rules.crawl_delay(product(self.limits)) if rules is not None else None
        return max(self.limits.delay_s, min(asked_s or 0.0, LONGEST_CRAWL_DELAY_S))


def ask_for_headers(
    url: str, asks: Sequence[tuple[str, Mapping[str, str]]], *, limits: Limits
) -> list[tuple[int, Mapping[str, str]]]:
    """Send requests, each a method and its headers, and return the status and headers of each answer.

    For a server of the asker's own: no robots.txt is asked, no redirect followed, no body read, nothing tried
    again. Each takes `Limits.timeout_s` at most as a whole. Raises FetchError for one that gets no answer.
    """
    with _named(url):
        return asyncio.run(_headers_of(url, asks, limits=limits))


async def _headers_of(
    url: str, asks: Sequence[tuple[str, Mapping[str, str]]], *, limits: Limits
) -> list[tuple[int, Mapping[str, str]]]:
    answers: list[tuple[int, Mapping[str, str]]] = []
    async with httpx.AsyncClient(
        headers={"user-agent": limits.user_agent}, timeout=limits.timeout_s, follow_redirects=False
    ) as client:
        for method, headers in asks:
            # A server that sends its headers letter by letter never lets a single read time out.
            async with (
                asyncio.timeout(limits.timeout_s),
                client.stream(method, url, headers=headers) as response,
            ):
                answers.append((response.status_code, dict(response.headers)))
    return answers


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Raise what goes wrong on the way to an address as a FetchError."""
    try:
        yield
    except httpx.RemoteProtocolError as error:
        raise PassingError("cut_short", f"{url} ended in the middle: {error}.") from None
    except (httpx.TimeoutException, TimeoutError):
        raise PassingError("too_slow", f"{url} did not answer in time.") from None
    except (httpx.RequestError, httpx.InvalidURL) as error:
        if _is_untrusted(error):
            raise FetchError("untrusted", f"{url} cannot prove who it is: {error}.") from None
        raise PassingError("no_connection", f"{url} cannot be reached: {error}.") from None


@contextmanager
def fetching(
    limits: Limits,
    clock: Callable[[], datetime] | None = None,
    *,
    keys: Mapping[str, str] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Iterator[Fetcher]:
    """Give a fetcher for as long as the block lasts; its memory of hosts ends with it.

    `transport` is what carries the requests, for a test with a host of its own; by default the network, by
    way of a proxy where `HTTPS_PROXY` names one, with the certificates of the machine or of `SSL_CERT_FILE`.
    """
    headers = {"user-agent": limits.user_agent, "accept-encoding": "gzip"}
    with httpx.Client(
        headers=headers, timeout=limits.timeout_s, follow_redirects=False, transport=transport
    ) as client:
        yield Fetcher(client, limits, clock or (lambda: datetime.now(UTC)), keys=keys or {})


def limits_of(settings: Settings) -> Limits:
    """Return the limits that the settings ask for."""
    return Limits(
        user_agent=settings.user_agent,
        delay_s=settings.fetch_delay_s,
        timeout_s=settings.fetch_timeout_s,
        max_body_bytes=settings.max_body_bytes,
    )


def keys_of(settings: Settings) -> Mapping[str, str]:
    """Return the keys that are set, by the name of their setting."""
    return {name: key.get_secret_value() for name, key in settings.provider_keys().items()}


def product(limits: Limits) -> str:
    """Return the name by which a robots.txt would call us: the user agent up to its version."""
    return limits.user_agent.partition("/")[0]


def conditions(request: Request, known: Capture | None) -> Mapping[str, str]:
    """Return the headers that ask for a page only if it is another one than we have."""
    if known is None or request.method != "GET":
        return {}
    pairs = (("etag", "if-none-match"), ("last-modified", "if-modified-since"))
    return {asking: known.headers[kept] for kept, asking in pairs if kept in known.headers}


def good_status(request: Request) -> int:
    """Return the status of an answer whose body is read: of a part, where a part of a file is asked for."""
    return _PARTIAL if "range" in request.headers else _OK


def accepted(answer: Fetched, *, may_be_unchanged: bool, good: int = _OK) -> Fetched:
    """Return an answer that is the page or says that it is as it was; raise what any other one means."""
    if answer.status == good or (answer.status == NOT_MODIFIED and may_be_unchanged):
        return answer
    if answer.status == _OK:
        raise FetchError("range_ignored", f"{answer.url} would send the whole file, not the part asked for.")
    sentence = f"{answer.url} answered {answer.status}."
    if answer.status in _MAY_PASS:
        raise _passing(answer, "host_busy", sentence)
    raise FetchError("refused_by_host", sentence, status=answer.status)


def _passing(answer: Fetched, code: str, sentence: str) -> PassingError:
    """Return the error of an answer that may be another one soon, with the wait its host asks for."""
    error = PassingError(code, sentence, status=answer.status)
    error.after_s = seconds_to_wait(answer.headers.get("retry-after", ""), answer.fetched_at)
    return error


def _is_untrusted(error: BaseException | None) -> bool:
    """Tell whether a certificate is behind an error: asking again does not make it a better one."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def seconds_to_wait(retry_after: str, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or a date; None when it does not."""
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        until = parsedate_to_datetime(retry_after)
    except (TypeError, ValueError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())


def retried(ask: Callable[[], Fetched], limits: Limits) -> Fetched:
    """Return what `ask` returns, tried again after a fault that may pass; its last error when it does not."""

    def wait(error: Exception) -> bool | float:
        if not isinstance(error, PassingError):
            return False
        if error.after_s is None:
            return True
        return error.after_s if error.after_s <= limits.longest_wait_s else False

    retrying = stamina.retry_context(
        on=wait,
        attempts=limits.attempts,
        timeout=None,
        wait_initial=limits.first_wait_s,
        wait_jitter=limits.first_wait_s,
        wait_max=limits.longest_wait_s,
    )
    for attempt in retrying:
        with attempt:
            return ask()
    raise AssertionError("a retry either returns or raises")
