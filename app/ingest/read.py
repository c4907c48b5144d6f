"""Read the pages of one source as a run would: parse them, check the offers, say what may be done."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.findings import Finding, holds
from app.domain.providers import LIST_PRICE, load_providers
from app.ingest.checked import hold
from app.ingest.checks import check_offers
from app.store.records import Outcome
from scrapers.base import ParseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.offers import Offer
    from scrapers.base import Page, Parsed, Scraper

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read: the offers, the hash of the bytes each is from, and everything noticed on the way.

    `fault` is `REFUSED` when a parser did not understand its page, `FAILED` when one broke, else None.
    """

    offers: tuple[Offer, ...] = ()
    captures: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    fault: Outcome | None = None

    @property
    def refused(self) -> bool:
        """Tell whether there are no offers because a page was not understood."""
        return self.fault is not None

    @property
    def held(self) -> bool:
        """Tell whether the offers need somebody's approval before they are published."""
        return not self.refused and holds(self.findings)


def read_pages(
    scraper: Scraper, pages: Sequence[Page], *, kind: str | None = None, previous: Sequence[Offer] = ()
) -> Reading:
    """Return what a scraper makes of its pages; whatever it does with them, this does not raise.

    `kind` is the provider's in `providers.csv` unless given; `previous` as in `check_offers`.
    """
    try:
        return _read(scraper, pages, kind=kind or kind_of(scraper.provider), previous=previous)
    except ParseError as error:
        finding = hold(error.code, str(error), **error.evidence)
        return Reading(findings=(finding,), fault=Outcome.REFUSED)
    except Exception as error:
        log.exception("The parser of %s broke.", scraper.provider)
        name = type(error).__name__
        finding = hold("parser_failed", f"The parser broke with {name}.", type=name, message=error)
        return Reading(findings=(finding,), fault=Outcome.FAILED)


def kind_of(provider: str) -> str:
    """Return whether a provider lists its own prices (as one we do not know) or is a marketplace."""
    facts = load_providers().get(provider)
    return LIST_PRICE if facts is None else facts.kind


def _read(scraper: Scraper, pages: Sequence[Page], *, kind: str, previous: Sequence[Offer]) -> Reading:
    """Parse and check; raises what the parser raises."""
    parsed: list[tuple[str, Parsed]] = [
        (hashlib.sha256(page.body).hexdigest(), scraper.parse(page)) for page in pages
    ]
    offers = tuple(offer for _, each in parsed for offer in each.offers)
    noticed = tuple(finding for _, each in parsed for finding in each.findings)
    return Reading(
        offers=offers,
        captures=tuple(sha256 for sha256, each in parsed for _ in each.offers),
        findings=(*noticed, *check_offers(offers, scraper.expect, kind=kind, previous=previous)),
    )
