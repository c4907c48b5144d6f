"""Ask a source for all it has: each request, lists to their end, and nothing that we have already."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from app.ingest.answer import Answer, request_sha256
from app.ingest.archive import ArchiveError, read_body
from app.ingest.fetched import FetchError
from app.store import runs, session
from scrapers import Page, ParseError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Engine

    from app.ingest.fetch import Fetcher
    from app.store.records import Capture
    from scrapers import Request, Scraper

log = logging.getLogger(__name__)

MOST_PAGES: Final = 200
"""A list with more pages than this goes in circles, or is none of ours."""

MOST_READINGS: Final = 3
"""How often a list that moves while it is read is begun anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Where a source is asked: the memory of earlier answers, the hosts, the fetcher, and what came so far.

    `got` fills with every answer, also of a run that breaks later: a body that came is worth keeping.
    """

    engine: Engine
    archive: Path
    hosts: Sequence[str]
    fetcher: Fetcher
    got: list[Answer] = field(default_factory=list)


def ask_source(asking: Asking, scraper: Scraper) -> list[Answer]:
    """Return the answers to all requests of a source, but for those whose key is not set.

    Raises FetchError as `Fetcher.fetch` does, and for a list that does not end or does not keep still.
    """
    answers: list[Answer] = []
    for request in scraper.requests:
        if request.key is not None and request.key.is_required and not has_key(asking.fetcher, request):
            log.info("%s is not asked: INFERPRICE_%s is not set.", request.url, request.key.setting.upper())
            continue
        answers += _ask_list(asking, request, scraper=scraper)
    return answers


def has_key(fetcher: Fetcher, request: Request) -> bool:
    """Tell whether the key that a request names is set."""
    return request.key is not None and bool(fetcher.keys.get(request.key.setting))


def _ask_list(asking: Asking, request: Request, *, scraper: Scraper) -> list[Answer]:
    """Return one answer, or all pages of a list that stood still while it was read.

    What moves on one page moves the last, so the first and the last are asked for once more.
    """
    if request.following is None:
        return [_ask(asking, request)]
    for _ in range(MOST_READINGS):
        answers = _pages(asking, request)
        ends = answers[:1] if len(answers) == 1 else [answers[0], answers[-1]]
        if len(answers) == 1 or all(
            _is_same(_ask(asking, end.request).page, end.page, scraper=scraper) for end in ends
        ):
            return answers
    raise FetchError("list_moves", f"{request.url} lists something else each time it is read to the end.")


def _pages(asking: Asking, request: Request) -> list[Answer]:
    """Return the answers from the first page to the last."""
    answers: list[Answer] = []
    following: Request | None = request
    seen: set[tuple[str, bytes]] = set()
    while following is not None:
        if (following.url, following.body) in seen or len(answers) == MOST_PAGES:
            raise FetchError("list_does_not_end", f"{request.url} leads on from page to page without an end.")
        seen.add((following.url, following.body))
        answers.append(_ask(asking, following))
        following = following.following(answers[-1].page) if following.following else None
    return answers


def _is_same(one: Page, other: Page, *, scraper: Scraper) -> bool:
    """Tell whether two answers offer the same; a page may carry the time of day beside its offers."""
    if one.body == other.body:
        return True
    try:
        return scraper.parse(one).offers == scraper.parse(other).offers
    except ParseError:
        # The reading of the run will refuse it and say why.
        return True


def _ask(asking: Asking, request: Request) -> Answer:
    """Return the answer to one request; a page that is as it was is taken from the archive."""
    known, kept = _last_answer(asking, request)
    fetched = asking.fetcher.fetch(request, hosts=asking.hosts, known=known)
    is_kept = fetched.is_unchanged and known is not None
    page = Page(
        url=fetched.url,
        body=kept if is_kept else fetched.body,
        fetched_at=fetched.fetched_at,
        content_type=known.content_type if is_kept and known is not None else fetched.content_type,
    )
    # A 304 need not repeat the headers by which the page is asked for again.
    headers = {**known.headers, **fetched.headers} if is_kept and known is not None else fetched.headers
    answer = Answer(request=request, page=page, status=fetched.status, headers=headers)
    asking.got.append(answer)
    return answer


def _last_answer(asking: Asking, request: Request) -> tuple[Capture | None, bytes]:
    """Return the last answer to a request and its body, or none when the archive has it no longer."""
    with session.reading(asking.engine) as connection:
        known = runs.last_capture(
            connection, request.url, method=request.method, request_sha256=request_sha256(request)
        )
    if known is None:
        return None, b""
    try:
        return known, read_body(asking.archive, known.sha256)
    except ArchiveError as error:
        log.warning("%s The page is fetched whole.", error)
        return None, b""
