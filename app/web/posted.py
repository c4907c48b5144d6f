"""Forms that are sent in a request's body: read no further than allowed, and as fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes

from app.domain.query import QueryError
from app.web.pages import sorry

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_MOST_FIELDS: Final = 500
_DECODED_AT_ONCE_BYTES: Final = 1 << 16
_TOO_LARGE: Final = 413


async def read_body(request: Request, most_bytes: int) -> bytes | None:
    """Return the body of a request, or None for one of more bytes; no more than that is read."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > len(str(most_bytes)) or int(length) > most_bytes):
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            return None
    return bytes(body)


def too_large(request: Request, most_bytes: int) -> Response:
    """Answer a body that is not read."""
    sentence = f"That is more than {most_bytes:,} bytes."
    return sorry(request, _TOO_LARGE, sentence=sentence, hint="What this page checks is far shorter.")


def form_pairs(body: bytes) -> list[tuple[str, str]]:
    """Return the fields of a form that was sent; raises QueryError for what is none."""
    parts = body.split(b"&", _MOST_FIELDS)
    wrong = QueryError("form", body[:200].decode(errors="replace"), "send it as the page's form does")
    if len(parts) > _MOST_FIELDS:
        raise wrong
    named = (part.partition(b"=") for part in parts if part)
    try:
        return [(_decoded(name), _decoded(value)) for name, _, value in named]
    except ValueError as error:
        raise wrong from error


def _decoded(sent: bytes) -> str:
    """Return a name or a value of a form as text; raises ValueError for what is no UTF-8.

    It is decoded piece by piece, as `unquote_to_bytes` takes some 200 bytes of memory for each escape.
    """
    spaced = sent.replace(b"+", b" ")
    decoded = bytearray()
    at = 0
    while at < len(spaced):
        end = at + _DECODED_AT_ONCE_BYTES
        # An escape is %, then two digits: one that the piece would break off begins the next.
        broken = spaced.rfind(b"%", end - 2, end) if end < len(spaced) else -1
        end = end if broken < 0 else broken
        decoded += unquote_to_bytes(spaced[at:end])
        at = end
    return decoded.decode()
