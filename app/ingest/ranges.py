"""Read pieces of a file on a server, within a bound on all that is read, and never the whole by accident."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.llms.checkpoint.header import CheckpointFile
from app.ingest.fetched import FetchError
from scrapers.base import Key, Request

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.ingest.fetch import Fetcher
    from app.ingest.fetched import Fetched

FIRST_BYTES: Final = 16_384
"""What is asked for first: the header of most files, and the length of the file with it."""

MOST_BYTES: Final = 200_000_000
"""What is read at most of one checkpoint; the headers of the largest have some 40 MB."""

_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})")


@dataclass(slots=True)  # it counts what is read
class Budget:
    """How much of one checkpoint may be read, and how much was; `requests` counts those to a server."""

    most_bytes: int = MOST_BYTES
    read_bytes: int = 0
    requests: int = 0

    def take(self, length: int, name: str) -> None:
        """Count bytes before they are read; raises FetchError when they would be too many."""
        if self.read_bytes + length > self.most_bytes:
            raise FetchError(
                "too_much_read",
                f"{name}: its headers take more than {self.most_bytes} bytes, which is the limit.",
            )
        self.read_bytes += length

    def begin(self) -> None:
        """Count anew, for another checkpoint."""
        self.read_bytes = self.requests = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How a server is asked: through which client, on which hosts, with which key, within which budget."""

    fetcher: Fetcher
    hosts: Collection[str]
    budget: Budget
    key: Key | None = None


@dataclass(slots=True, kw_only=True)  # what the first answer says holds for all later ones
class RangeFile:
    """A file on a server, read in pieces; raises FetchError for one that does not give what it is asked."""

    reach: Reach
    url: str
    name: str
    file_bytes: int = 0
    first: bytes = b""
    etag: str = ""

    def open(self) -> CheckpointFile:
        """Read the first piece, which says how long the file is, and return the file."""
        answer = self._ask(0, FIRST_BYTES)
        self.file_bytes = self._span(answer)[2]
        self.etag = answer.headers.get("etag", "")
        self.first = self._checked(answer, 0, length=min(FIRST_BYTES, self.file_bytes))
        return CheckpointFile(name=self.name, file_bytes=self.file_bytes, read=self.read)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes that lie within the file."""
        if offset + length <= len(self.first):
            return self.first[offset : offset + length]
        return self._checked(self._ask(offset, length), offset, length=length)

    def _ask(self, offset: int, length: int) -> Fetched:
        self.reach.budget.take(length, self.name)
        self.reach.budget.requests += 1
        headers = {"range": f"bytes={offset}-{offset + length - 1}", "accept-encoding": "identity"}
        request = Request(url=self.url, headers=headers, key=self.reach.key)
        return self.reach.fetcher.fetch(request, hosts=self.reach.hosts)

    def _checked(self, answer: Fetched, offset: int, *, length: int) -> bytes:
        """Return the body of an answer that is the piece asked for, of the file as it was."""
        if self._span(answer) != (offset, offset + length - 1, self.file_bytes):
            raise self._wrong(
                f"asked for bytes {offset} to {offset + length - 1} of {self.file_bytes}, it answers"
                f" '{answer.headers.get('content-range', '')[:60]}'"
            )
        if len(answer.body) != length:
            raise self._wrong(f"it says {length} bytes and sends {len(answer.body)}")
        if answer.headers.get("etag", "") != self.etag:
            raise self._wrong("it changed while it was read")
        return answer.body

    def _span(self, answer: Fetched) -> tuple[int, int, int]:
        """Return first byte, last byte and length of the file, as the answer says them."""
        said = answer.headers.get("content-range", "")
        found = _CONTENT_RANGE.fullmatch(said)
        if not found:
            raise self._wrong(f"it does not say which part of how many bytes it sends ('{said[:60]}')")
        return int(found[1]), int(found[2]), int(found[3])

    def _wrong(self, what: str) -> FetchError:
        return FetchError("wrong_range", f"{self.name}: {what}.")
