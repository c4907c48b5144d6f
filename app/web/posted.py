"""Forms that are sent in a request's body: read no further than allowed, and as fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from app.domain.query import QueryError
from app.web.pages import sorry

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_MOST_FIELDS: Final = 500
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
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise QueryError(
            "form", body[:40].decode(errors="replace"), "send it as the page's form does"
        ) from error
