"""Whether a page is an old one: read before, dated before, or announcing what has long begun."""

from __future__ import annotations

from datetime import UTC, datetime, time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from app.domain.offers import offer_key
from app.ingest.checked import hold
from app.store.captures import good_captures, newest_announcement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from app.domain.findings import Finding
    from app.domain.offers import Offer
    from app.ingest.answer import Answer


def check_older(
    connection: Connection,
    provider: str,
    *,
    offers: Sequence[Offer],
    previous: Sequence[Offer],
    answers: Sequence[Answer],
) -> tuple[Finding, ...]:
    """Return why pages that say something else than the last good run look older than it; they hold the run.

    Old pages come out of caches and copies and read well. One that says what is known anyway does no harm.
    """
    if not previous or asked(offers) == asked(previous):
        return ()
    findings = [finding for answer in answers for finding in _went_back(connection, answer)]
    return (*findings, *_dates_went_back(connection, provider, offers))


def asked(offers: Sequence[Offer]) -> frozenset[tuple[str, ...]]:
    """Return what is asked for what from when, wherever it stands on the page."""
    return frozenset(
        (offer_key(each), f"{each.list_price:f}", each.currency, each.price_basis.value, str(each.valid_from))
        for each in offers
    )


def _went_back(connection: Connection, answer: Answer) -> Iterator[Finding]:
    """Yield findings for a page that was read before the last good one, or was changed before it."""
    request = answer.request
    good = good_captures(connection, request.url, method=request.method, request_sha256=answer.request_sha256)
    if not good or good[0].sha256 == answer.sha256:
        return
    again = next((each for each in good[1:] if each.sha256 == answer.sha256), None)
    if again is not None:
        yield hold(
            "page_seen_before",
            f"{answer.request.url} is byte for byte the page of {again.fetched_at:%Y-%m-%d}, and another one "
            "has been read since.",
            sha256=answer.sha256,
        )
    now, before = _changed_at(answer.headers), _changed_at(good[0].headers)
    if now is not None and before is not None and now < before:
        yield hold(
            "page_went_back",
            f"{answer.request.url} was last changed before the page that was read last.",
            last_modified=now.isoformat(),
            before=before.isoformat(),
        )


def _changed_at(headers: Mapping[str, str]) -> datetime | None:
    """Return when a page was last changed, by its own word."""
    try:
        when = parsedate_to_datetime(headers.get("last-modified", ""))
    except (TypeError, ValueError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _dates_went_back(connection: Connection, provider: str, offers: Sequence[Offer]) -> Iterator[Finding]:
    """Yield a finding when a page dates prices, all of them earlier than what was announced before."""
    printed = max((each.valid_from for each in offers if each.valid_from is not None), default=None)
    newest = newest_announcement(connection, provider)
    if printed is None or newest is None or datetime.combine(printed, time(), UTC) >= newest:
        return
    yield hold(
        "dates_went_back",
        f"The newest date of a price is {printed}, and prices from {newest:%Y-%m-%d} on were announced.",
        printed=printed,
        announced=f"{newest:%Y-%m-%d}",
    )
