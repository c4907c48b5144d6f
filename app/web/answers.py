"""Finished answers: cached by board and query string, compressed once, answered with an ETag or a 304.

A reader who has an answer already is told so by its tag, or, where no tag is sent, by its date. The date of
an answer (`Last-Modified`) is when this process began to answer from its board (`Served.last_modified`). A
tag tells more: it is looked at first, and a date is not looked at beside it (RFC 9110, 13.2.2).
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final

import brotli
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_ANSWERS: Final = 256
"""Finished answers kept; the one made first goes first."""

MAX_BYTES: Final = 32_000_000
"""Bytes of finished answers kept: an export of a large board is as large as some hundred pages."""

BROTLI_QUALITY: Final = 3
SMALLEST_COMPRESSED_BYTES: Final = 1024


@dataclass(slots=True)  # the compressed body is made when first asked for
class Answer:
    """A finished body with its headers; the compressed form is made when somebody first asks for it."""

    body: bytes
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)
    _compressed: bytes | None = None

    @property
    def is_compressed(self) -> bool:
        """Tell whether the compressed body is at hand."""
        return self._compressed is not None

    def compressed(self) -> bytes:
        """Return the body compressed with brotli, made once."""
        if self._compressed is None:
            self._compressed = brotli.compress(self.body, quality=BROTLI_QUALITY)
        return self._compressed


class Answers:
    """The finished answers of one process, dropped when the board they came from is no longer current."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Answer] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def peek(self, token: str, key: str) -> Answer | None:
        """Return the answer for a key on a board, or None when it is not at hand."""
        return self._kept.get((token, key))

    def keep(self, token: str, key: str, *, answer: Answer) -> Answer:
        """Keep an answer for its key on a board and return it; the one kept first makes room."""
        with self._lock:
            before = self._kept.pop((token, key), None)
            self._kept[token, key] = answer
            self._bytes += len(answer.body) - (len(before.body) if before else 0)
            while len(self._kept) > MAX_ANSWERS or (self._bytes > MAX_BYTES and len(self._kept) > 1):
                self._bytes -= len(self._kept.popitem(last=False)[1].body)
        return answer


def etag(token: str, key: str) -> str:
    """Return the tag of an answer: the board's token and the query; weak, as compression varies the bytes."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    return f'W/"{token}.{digest}"'


def not_modified(request: Request, tag: str) -> Response | None:
    """Return a 304 when the reader already has this very answer."""
    known = request.headers.get("if-none-match", "")
    if tag.removeprefix("W/") not in {each.strip().removeprefix("W/") for each in known.split(",")}:
        return None
    return Response(status_code=304, headers=headers_of(tag))


VARY: Final = "Accept-Encoding, HX-Request, HX-History-Restore-Request"

_DATES: Final = ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y")
"""The three ways in which an HTTP date is written (RFC 9110, 5.6.7); ours is the first."""


def http_date(instant: datetime) -> str:
    """Return a UTC time as an HTTP header writes it."""
    return format_datetime(instant, usegmt=True)


def headers_of(tag: str, last_modified: str = "") -> dict[str, str]:
    """Return the headers that every answer of a board has."""
    headers = {"etag": tag, "cache-control": "no-cache", "vary": VARY}
    if last_modified:
        headers["last-modified"] = last_modified
    return headers


def has_since(request: Request, last_modified: str) -> bool:
    """Tell whether the reader, who sends no tag, has had what was last modified at an HTTP date.

    What is asked with a date that cannot be read is answered in full.
    """
    since = request.headers.get("if-modified-since") if last_modified else None
    if since is None or "if-none-match" in request.headers:
        return False
    if since == last_modified:
        return True
    asked, modified = _read_date(since), _read_date(last_modified)
    return asked is not None and modified is not None and asked >= modified


def _read_date(text: str) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def respond(request: Request, answer: Answer, *, tag: str, last_modified: str = "") -> Response:
    """Return the answer as a response, compressed where the reader accepts it.

    It is a 304 when the reader sends no tag and has had the answer since `last_modified`, an HTTP date.
    """
    if has_since(request, last_modified):
        return Response(status_code=304, headers=headers_of(tag))
    headers = headers_of(tag, last_modified)
    headers.update(answer.headers)
    body = answer.body
    if len(body) >= SMALLEST_COMPRESSED_BYTES and wants_compressed(request):
        body = answer.compressed()
        headers["content-encoding"] = "br"
    return Response(body, headers=headers, media_type=answer.media_type)


def respond_made(request: Request, answer: Answer) -> Response:
    """Return an answer that was just made and is kept nowhere here; its tag is that of its body."""
    tag = etag("made", answer.body.decode())
    return not_modified(request, tag) or respond(request, answer, tag=tag)


def respond_privately(request: Request, answer: Answer) -> Response:
    """Return an answer that nobody may keep: neither this process nor a cache on the way."""
    response = respond(request, answer, tag="")
    del response.headers["etag"]
    response.headers["cache-control"] = "private, no-store"
    return response


def wants_compressed(request: Request) -> bool:
    """Tell whether the reader accepts a compressed answer."""
    return accepts_brotli(request.headers.get("accept-encoding", ""))


def accepts_brotli(accept_encoding: str) -> bool:
    """Tell whether an Accept-Encoding header takes brotli (a weight of zero refuses it)."""
    for part in accept_encoding.split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() == "br":
            return weight.replace(" ", "").lower() not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
