"""Answers that are made while they are sent, so that a long table takes no more memory than a short one."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from starlette.responses import Response, StreamingResponse

from app.web.answers import has_since, headers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import Send

STREAMED_ROWS: Final = 5_000
"""A table of more rows than this is streamed; a shorter one is made whole, kept and compressed."""

BATCH_ROWS: Final = 200
"""Rows that are made at a time: about 100 kB."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """A body in chunks that are not made yet, with its headers; it is sent once and kept by nobody."""

    chunks: Iterable[bytes]
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


class _Stream(StreamingResponse):
    """Closes the generator of its chunks at once when the reader goes away, not when garbage is collected."""

    def __init__(self, chunks: Iterable[bytes], *, headers: Mapping[str, str], media_type: str) -> None:
        super().__init__(chunks, headers=headers, media_type=media_type)
        self._close: Callable[[], object] = getattr(chunks, "close", lambda: None)

    async def stream_response(self, send: Send) -> None:
        """Send all chunks; however that ends, no thread takes one any more when the generator is closed."""
        try:
            await super().stream_response(send)
        finally:
            self._close()


def stream(
    request: Request,
    chunks: Iterable[bytes],
    *,
    media_type: str,
    tag: str,
    last_modified: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response that takes each chunk when the reader has taken the one before.

    Nothing is compressed. The tag and the date are sent as with any answer, and a reader who has had it since
    that date gets a 304; what `If-None-Match` says is for the caller to look at before (`not_modified`).
    Without a tag nobody may keep the answer. A plain iterator is run in a thread, chunk by chunk. When the
    reader goes away no further chunk is taken and a generator is closed. An error half way breaks the
    connection off, so that what was sent cannot be taken for the whole. HEAD takes no chunk.
    """
    if has_since(request, last_modified):
        return Response(status_code=304, headers=headers_of(tag))
    common = headers_of(tag, last_modified) if tag else {"cache-control": "private, no-store"}
    body = () if request.method == "HEAD" else chunks
    return _Stream(body, headers={**common, **(headers or {})}, media_type=media_type)


def stream_made(request: Request, made: Streamed, *, tag: str, last_modified: str = "") -> Response:
    """Return the response of a body in chunks; without a tag nobody may keep it."""
    return stream(
        request,
        made.chunks,
        media_type=made.media_type,
        tag=tag,
        last_modified=last_modified,
        headers=made.headers,
    )


def batches(rows: Iterable[T], *, size: int = BATCH_ROWS) -> Iterator[Sequence[T]]:
    """Yield rows in batches; of no rows one empty batch, so that a table keeps its head."""
    left = iter(rows)
    batch = list(islice(left, size))
    yield batch
    while batch := list(islice(left, size)):
        yield batch


def csv_chunks(rows: Iterable[T], write: Callable[[Iterable[T]], str]) -> Iterator[bytes]:
    """Yield a CSV text in chunks; `write` returns rows as a whole table, whose header is one line."""
    for number, batch in enumerate(batches(rows)):
        text = write(batch)
        yield (text.partition("\n")[2] if number else text).encode()


def line_chunks(rows: Iterable[T], write: Callable[[T], bytes]) -> Iterator[bytes]:
    """Yield a row a line in chunks; `write` returns a row as a line without its end."""
    for batch in batches(rows):
        yield b"".join(write(row) + b"\n" for row in batch)
