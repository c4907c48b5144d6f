"""The page about the data: what may be done with it, where to download it, where its facts are from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.providers import load_providers
from app.web import words
from app.web.answers import etag, not_modified, respond
from app.web.kept import page_of, take_nothing

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST_SOURCES: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One thing to download: what it holds, and its addresses by form."""

    name: str
    about: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSource:
    """One source of accelerator facts, and for how many of them it is named."""

    text: str
    href: str
    cards: int


DOWNLOADS: Final = (
    Download(
        name="Offers",
        about="every offer of the board with its figures; takes the board's whole query, a past day too",
        links=(("CSV", "/offers.csv"), ("JSON", "/offers.json")),
    ),
    Download(
        name="Accelerators",
        about="every figure of every card, with its sources",
        links=(("CSV", "/gpus.csv"), ("JSON", "/gpus.json")),
    ),
    Download(
        name="Price history",
        about="a card's prices over time; this is the H100 SXM's",
        links=(("CSV", "/history.csv?gpu=h100-sxm"), ("JSON", "/history.json?gpu=h100-sxm")),
    ),
    Download(
        name="Changes",
        about="what moved, came, went and was announced, day by day",
        links=(("JSON", "/changes.json"), ("Atom feed", "/changes.atom")),
    ),
    Download(
        name="Sources",
        about="how fresh each source is, how its runs went, what each provider lists",
        links=(("Status, JSON", "/status.json"), ("Providers, JSON", "/providers.json")),
    ),
    Download(
        name="Method",
        about="every formula, rule and state",
        links=(("JSON", "/methodology.json"), ("OpenAPI", "/openapi.json")),
    ),
)


def about_data(request: Request) -> Response:
    """Answer the page about the data."""
    take_nothing(request)
    cards = load_catalogue().accelerators
    answer = page_of(
        "about_data.html",
        downloads=DOWNLOADS,
        providers=tuple(load_providers().values()),
        sources=fact_sources(),
        cards=len(cards),
        newest=max(card.as_of for card in cards),
    )
    tag = etag("about-data", answer.body.decode())
    return not_modified(request, tag) or respond(request, answer, tag=tag)


def fact_sources() -> tuple[FactSource, ...]:
    """Return where the figures of accelerators were read, those named most often first."""
    counts = Counter(source for card in load_catalogue().accelerators for source in card.sources)
    return tuple(
        FactSource(text=text, href=words.safe_url(text.split(" ")[0]), cards=number)
        for text, number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_SOURCES]
    )
