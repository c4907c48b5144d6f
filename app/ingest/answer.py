"""One answer to one request of a source: its page, what is kept of it, and how it goes into the archive."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.ingest.archive import store_body
from app.store import runs, session
from app.store.records import Capture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Engine

    from scrapers.base import Page, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer to one request of a source, with what is kept of it beside its page."""

    request: Request
    page: Page
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Return the hash of the body, under which it is archived."""
        return hashlib.sha256(self.page.body).hexdigest()

    @property
    def request_sha256(self) -> str:
        """Return the hash of what was sent."""
        return request_sha256(self.request)


def keep_answers(engine: Engine, archive: Path, *, answers: Sequence[Answer], run_id: int) -> None:
    """Archive bodies and note each answer, in its own transaction: a failed run is worth reading again."""
    with session.writing(engine) as connection:
        for answer in answers:
            page = answer.page
            capture = Capture(
                sha256=store_body(archive, page.body),
                url=answer.request.url,
                fetched_at=page.fetched_at,
                status=answer.status,
                headers=answer.headers,
                content_type=page.content_type,
                size_bytes=len(page.body),
            )
            runs.record_capture(
                connection,
                run_id,
                answer=capture,
                method=answer.request.method,
                request_sha256=answer.request_sha256,
            )


def request_sha256(request: Request) -> str:
    """Return the hash of a request's body, empty for a request without one."""
    return hashlib.sha256(request.body).hexdigest() if request.body else ""
