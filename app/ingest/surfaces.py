"""What a second surface of a provider says to the offers that were read from the first."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from app.domain.findings import Finding, Level
from app.ingest.answer import keep_answers
from app.ingest.ask import ask_source
from app.ingest.fetched import FetchError
from scrapers import ParseError
from scrapers.surfaces import disagreements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.offers import Offer
    from app.ingest.ask import Asking
    from scrapers import Scraper

log = logging.getLogger(__name__)


def compare_surface(
    asking: Asking, other: Scraper | None, *, offers: Sequence[Offer], run_id: int
) -> tuple[Finding, ...]:
    """Ask the other surface and return where it disagrees; nothing when there is none, or its key is not set.

    The offers of the first surface are what is published. The second is archived with the run, and one that
    cannot be had or understood is a finding of its own: it keeps nothing from being published.
    """
    if other is None:
        return ()
    first = len(asking.got)
    try:
        return tuple(_compared(asking, other, offers))
    except (FetchError, ParseError) as error:
        return (_failed(other, str(error), code=error.code),)
    except Exception as error:
        log.exception("The second surface of %s broke.", other.provider)
        return (_failed(other, f"It broke with {type(error).__name__}.", code="broke"),)
    finally:
        keep_answers(asking.engine, asking.archive, answers=asking.got[first:], run_id=run_id)


def _compared(asking: Asking, other: Scraper, offers: Sequence[Offer]) -> tuple[Finding, ...]:
    """Return the disagreements with all pages of the other surface."""
    pages = [answer.page for answer in ask_source(asking, other)]
    there = [offer for page in pages for offer in other.parse(page).offers]
    return tuple(disagreements(offers, there))


def _failed(other: Scraper, sentence: str, *, code: str) -> Finding:
    """Return the finding for a second surface that says nothing."""
    return Finding(
        code="surface_failed",
        level=Level.WARNING,
        sentence=f"The second surface of {other.provider} was not compared: {sentence}",
        evidence={"url": other.requests[0].url, "code": code},
    )
