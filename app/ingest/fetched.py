"""What a fetch takes and gives: its limits, an answer, and the ways in which a page cannot be had."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

_GZIP: Final = zlib.MAX_WBITS | 16
NOT_MODIFIED: Final = 304


class FetchError(Exception):
    """A page that could not be had; the message is a sentence, `code` is stable, `evidence` short texts."""

    def __init__(self, code: str, sentence: str, **evidence: object) -> None:
        """Keep the code and the evidence beside the sentence."""
        super().__init__(sentence)
        self.code = code
        self.evidence = {name: str(value) for name, value in evidence.items()}

    def without(self, secrets: Iterable[str]) -> FetchError:
        """Return this error with each secret in it blotted out: a host may say back what it was sent."""
        for secret in filter(None, secrets):
            self.args = tuple(str(each).replace(secret, "(key)") for each in self.args)
            self.evidence = {name: text.replace(secret, "(key)") for name, text in self.evidence.items()}
        return self


class PassingError(FetchError):
    """A fault that may be gone in a moment; `after_s` is how long the host asks to wait, if it does."""

    after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How a fetch introduces itself and what it takes at most.

    `max_body_bytes` holds before and after unpacking, `timeout_s` is for one request with its body, and
    `longest_wait_s` the longest that a host may ask us to wait.
    """

    user_agent: str
    delay_s: float
    timeout_s: float
    max_body_bytes: int
    attempts: int = 3
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    schemes: tuple[str, ...] = ("https",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """One answer: its body, empty for a page that is as it was, and the headers worth keeping, lower case."""

    url: str
    status: int
    body: bytes
    fetched_at: datetime
    content_type: str
    headers: Mapping[str, str]

    @property
    def is_unchanged(self) -> bool:
        """Tell whether the host says that the page is as we have it."""
        return self.status == NOT_MODIFIED


def gather(chunks: Iterable[bytes], *, encoding: str, max_bytes: int, deadline_s: float, url: str) -> bytes:
    """Return the unpacked body of chunks as they come over the wire, never holding more than `max_bytes`.

    `deadline_s` is of `time.monotonic`. Raises FetchError for a body too large or packed in a way we did not
    ask for, PassingError for one that is too slow or cut short.
    """
    if encoding.strip().lower() not in {"", "identity", "gzip", "x-gzip"}:
        raise FetchError("unknown_encoding", f"{url} came packed as '{encoding}', which was not asked for.")
    unpacker = zlib.decompressobj(_GZIP) if "gzip" in encoding.lower() else None
    body = bytearray()
    received_bytes = 0
    for chunk in chunks:
        received_bytes += len(chunk)
        try:
            body += chunk if unpacker is None else unpacker.decompress(chunk, max_bytes - len(body) + 1)
        except zlib.error as error:
            raise FetchError("cannot_be_unpacked", f"{url} is not the gzip it says: {error}.") from None
        if max(len(body), received_bytes) > max_bytes:
            raise FetchError("too_large", f"{url} has more than {max_bytes} bytes.", max_bytes=max_bytes)
        if time.monotonic() > deadline_s:
            raise PassingError("too_slow", f"{url} did not come in time.", received_bytes=received_bytes)
    if unpacker is not None and not (unpacker.eof and not unpacker.unused_data):
        raise PassingError("cut_short", f"{url} ended in the middle.", received_bytes=received_bytes)
    return bytes(body)
