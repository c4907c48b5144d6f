"""What a scraper is: the page it reads, what it returns, how it refuses, and what it promises to find."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from app.domain.findings import Finding
    from app.domain.offers import Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer of a provider as it was received: where it came from, when, and its bytes."""

    url: str
    body: bytes
    fetched_at: datetime
    content_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Which key of the settings a request is sent with and where it goes; the key itself is nowhere here.

    Without the key a request that `is_required` is left out, and any other is sent without it.
    """

    setting: str
    header: str = "authorization"
    prefix: str = "Bearer "
    is_required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request a source makes: a plain GET, or a POST with a JSON body.

    `following` says what to ask for after a page of a list that comes in pages, None at its end, and is as
    pure as a parser. All pages are read in one run, and the first and last again: a list that moved meanwhile
    is read anew.
    """

    url: str
    method: str = "GET"
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    key: Key | None = None
    following: Callable[[Page], Request | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a parser took from one page: the offers and what it noticed on the way."""

    offers: tuple[Offer, ...]
    findings: tuple[Finding, ...] = ()


class ParseError(Exception):
    """The page is not what this parser was written for; nothing of it may be published.

    `code` is stable, the message is a sentence for people, `evidence` holds the words on the page.
    """

    def __init__(self, code: str, sentence: str, **evidence: str) -> None:
        """Keep the code and the evidence beside the sentence."""
        super().__init__(sentence)
        self.code = code
        self.evidence = evidence


class Parser(Protocol):
    """A pure function from a page's bytes to offers: no network, no clock, no database, no environment."""

    def __call__(self, page: Page) -> Parsed:
        """Return the offers of the page; raise ParseError when the page is not understood."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What a complete run of a source holds: a number of offers, and accelerators that must be among them."""

    min_offers: int
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scraper:
    """One provider's source: what to ask for, how to read the answer, and what has to be in it.

    `never_met_live` says that the parser has only met stored pages, never the page as served today.
    """

    provider: str
    requests: tuple[Request, ...]
    parse: Parser
    expect: Expect
    never_met_live: bool = True
