"""The page about the data: what may be done with it, where to download it, where its facts are from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import load_catalogue
from app.domain.providers import load_providers
from app.web import words
from app.web.answers import respond_made
from app.web.dumps_page import dumped_days
from app.web.kept import base_of, csv_of_objects, json_of, page_of, take_nothing

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
        links=(("CSV", "/offers.csv"), ("JSON", "/offers.json"), ("JSON lines", "/offers.ndjson")),
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
        links=(("CSV", "/changes.csv"), ("JSON", "/changes.json"), ("Atom feed", "/changes.atom")),
    ),
    Download(
        name="Comparison and claims",
        about="cards side by side at the same provider; whether each claim holds, since when, by how much",
        links=(
            ("Comparison, CSV", "/compare.csv"),
            ("Comparison, JSON", "/compare.json"),
            ("Claims, CSV", "/claims.csv"),
            ("Claims, JSON", "/claims.json"),
        ),
    ),
    Download(
        name="Measured speeds",
        about="what others measured, with source and licence of each, beside the bounds; one case worked out",
        links=(("CSV", "/measured.csv"), ("JSON", "/measured.json")),
    ),
    Download(
        name="Sources",
        about="how fresh each source is, how its runs went, what each provider lists",
        links=(
            ("Status, CSV", "/status.csv"),
            ("Status, JSON", "/status.json"),
            ("Providers, CSV", "/providers.csv"),
            ("Providers, JSON", "/providers.json"),
        ),
    ),
    Download(
        name="Method",
        about="every formula, rule and state",
        links=(
            ("CSV", "/methodology.csv"),
            ("JSON", "/methodology.json"),
            ("OpenAPI", "/openapi.json"),
            ("JSON Schema of every row", "/schemas.json"),
        ),
    ),
)


ATTRIBUTION: Final = (
    (
        "The program is under the Apache-2.0 licence. Prices and specifications are facts that providers and "
        "makers have published; each stands beside the place it was read from and the time. When you pass "
        "figures on, name the provider, the day, and InferPrice as where you found them, and keep the "
        "warnings that stand beside a price."
    ),
    (
        "Rows of a provider \u201cvia gpurentalprices\u201d are from the open history of gpurentalprices.com "
        "(https://gpurentalprices.com), under the CC BY 4.0 licence "
        "(https://creativecommons.org/licenses/by/4.0/), so name it when you pass them on. Exchange rates "
        "are the European Central Bank's reference rates."
    ),
    (
        "Measured speeds are single figures with their source beside each: results of MLPerf Inference v5.1, "
        "cited by entry; InferenceX's experimental sweep (Apache-2.0); llmfit's collections of what people "
        "report (MIT). What APIs charge for models is from the price map of litellm (MIT), an aggregator "
        "whose entries were found wrong before. Name them when you pass such figures on."
    ),
    (
        "Providers have terms of their own. What is known of them stands on /about-data and on each "
        "provider's page; robots.txt is read before each fetch and obeyed, and sources whose terms are said "
        "to forbid it are off until whoever runs a site has read them."
    ),
)
"""What may be done with the data, and whom to name."""

CSV_COLUMNS: Final = ("section", "name", "about", "href", "as_of", "accelerators")


def about_data(request: Request) -> Response:
    """Answer the page about the data."""
    take_nothing(request)
    cards = load_catalogue().accelerators
    return respond_made(
        request,
        page_of(
            "about_data.html",
            dumps=dumped_days(request.app.state.shared.dumps),
            downloads=DOWNLOADS,
            attribution=ATTRIBUTION,
            providers=tuple(load_providers().values()),
            sources=fact_sources(MOST_SOURCES),
            cards=len(cards),
            newest=max(card.as_of for card in cards),
            base=base_of(request),
        ),
    )


def about_data_json(request: Request) -> Response:
    """Answer the same as JSON."""
    take_nothing(request)
    document = {
        "attribution": list(ATTRIBUTION),
        "dumped_days": list(dumped_days(request.app.state.shared.dumps)),
        "downloads": [
            {"name": each.name, "about": each.about, "links": dict(each.links)} for each in DOWNLOADS
        ],
        "providers": [
            {
                "provider": each.id,
                "name": each.name,
                "pricing_url": each.pricing_url,
                "terms_note": each.terms_note,
                "terms_url": each.terms_url or None,
                "as_of": each.as_of.isoformat(),
            }
            for each in load_providers().values()
        ],
        "specification_sources": [
            {"source": each.text, "url": each.href or None, "accelerators": each.cards}
            for each in fact_sources()
        ],
    }
    return respond_made(request, json_of(document))


def about_data_csv(request: Request) -> Response:
    """Answer the same as CSV: a line for each download, provider and source."""
    take_nothing(request)
    lines: list[dict[str, Any]] = [
        *({"section": "attribution", "about": each} for each in ATTRIBUTION),
        *(
            {"section": "download", "name": f"{each.name}, {label}", "about": each.about, "href": href}
            for each in DOWNLOADS
            for label, href in each.links
        ),
        *(
            {
                "section": "provider",
                "name": each.name,
                "about": each.terms_note,
                "href": each.pricing_url,
                "as_of": each.as_of.isoformat(),
            }
            for each in load_providers().values()
        ),
        *(
            {"section": "source", "name": each.text, "href": each.href, "accelerators": each.cards}
            for each in fact_sources()
        ),
    ]
    return respond_made(request, csv_of_objects("about-data", lines, columns=CSV_COLUMNS))


def fact_sources(most: int | None = None) -> tuple[FactSource, ...]:
    """Return where the figures of accelerators were read, those named most often first."""
    counts = Counter(source for card in load_catalogue().accelerators for source in card.sources)
    return tuple(
        FactSource(text=text, href=words.safe_url(text.split(" ")[0]), cards=number)
        for text, number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    )
