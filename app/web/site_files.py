"""What machines read about the whole site: a summary for language models, the site map, and robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from starlette.routing import Route

from app.domain.metrics import METHODOLOGY_VERSION, METRICS
from app.web import words
from app.web.about_page import ATTRIBUTION, DOWNLOADS
from app.web.answers import Answer, respond_made
from app.web.docs_page import addresses, plain_parameter
from app.web.kept import answer_kept, base_of, take_nothing
from app.web.methodology_page import RULES
from app.web.parameters import PARAMETERS
from app.web.render import NATURE
from scrapers import SCRAPERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Any

    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

    from app.web.boards import Served

PLAIN: Final = "text/plain; charset=utf-8"
MARKDOWN: Final = "text/markdown; charset=utf-8"
XML: Final = "application/xml"
SITEMAP_NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"

NO_PAGES: Final = frozenset({"/healthz", "/readyz", "/metrics", "/quote", "/llms/config"})
"""Addresses without a dot that give no page, or one of forms alone."""


def page_paths(application: FastAPI) -> tuple[str, ...]:
    """Return the path of every page, with the names of what varies in braces."""
    found = (route for route in application.routes if isinstance(route, Route))
    paths = dict.fromkeys(route.path for route in found if "GET" in (route.methods or ()))
    return tuple(path for path in paths if "." not in path and path not in NO_PAGES)


# ---------------------------------------------------------------- robots.txt and the site map


def robots_txt(request: Request) -> Response:
    """Answer that everything may be read, and where the site map is."""
    take_nothing(request)
    text = f"User-agent: *\nAllow: /\nSitemap: {base_of(request)}sitemap.xml\n"
    return respond_made(request, Answer(text.encode(), PLAIN))


def sitemap_xml(request: Request) -> Response:
    """Answer the address of every page, accelerator and provider, and when its prices were read."""
    take_nothing(request)
    base, application = base_of(request), request.app
    return answer_kept(
        request, lambda served, _text: Answer(_sitemap(served, application, base), XML), base=base
    )


def _sitemap(served: Served, application: FastAPI, base: str) -> bytes:
    site = Element("urlset", {"xmlns": SITEMAP_NAMESPACE})
    for path, changed in _places(served, application):
        place = SubElement(site, "url")
        SubElement(place, "loc").text = base + quote(path.removeprefix("/"))
        if changed:
            SubElement(place, "lastmod").text = changed
    return bytes(tostring(site, encoding="utf-8", xml_declaration=True))


OF_PRICES: Final = frozenset(
    {"/", "/compare", "/claims", "/gpus", "/history", "/charts/scatter", "/charts/bars"}
)
"""Pages that change when prices are read."""


def _places(served: Served, application: FastAPI) -> Iterator[tuple[str, str]]:
    """Yield each path with the time, or the day, of its last change as far as it is known."""
    newest = words.utc(served.newest) if served.newest else ""
    for path in page_paths(application):
        if "{" not in path:
            yield path, newest if path in OF_PRICES else ""
    of_cards: dict[str, datetime] = {}
    of_providers: dict[str, datetime] = {}
    for row in served.board.rows:
        seen = row.stored.last_seen_at
        if row.accelerator is not None:
            card = row.accelerator.id
            of_cards[card] = max(of_cards.get(card, seen), seen)
        provider = row.offer.provider
        of_providers[provider] = max(of_providers.get(provider, seen), seen)
    for each in served.board.catalogue.accelerators:
        at = of_cards.get(each.id)
        yield f"/gpus/{each.id}", words.utc(at) if at else each.as_of.isoformat()
    for llm in application.state.shared.llms:
        yield f"/llms/{llm}", newest
    for name in dict.fromkeys([*SCRAPERS, *sorted(of_providers)]):
        at = of_providers.get(name)
        yield f"/providers/{name}", words.utc(at) if at else ""


# ---------------------------------------------------------------- llms.txt


def llms_txt(request: Request) -> Response:
    """Answer what the site is and how it is asked, as Markdown in the form of llmstxt.org."""
    take_nothing(request)
    return respond_made(request, Answer("\n".join(_llms(request.app, base_of(request))).encode(), MARKDOWN))


def _llms(application: FastAPI, base: str) -> Iterator[str]:
    yield f"# {application.title}\n"
    yield f"> {application.summary}\n"
    yield (
        "List prices of rented GPUs, read from providers' own pages, as dollars for one GPU for one hour "
        "and as ratios to what a card can do. No key is needed, and every address can be asked with GET. "
        "A page's address with `.json` or `.csv` behind it gives the page's figures by the same query; "
        "the board's is `/offers`. Ask again with `If-None-Match`. A wrong parameter is answered with "
        "status 422 and `application/problem+json` that names the field and what would be right.\n"
    )
    yield "Numbers have their unit in the key or in the header of a column. Unknown is null or empty, never"
    yield "zero. Ceilings are bounds from peak figures, not speeds or forecasts. Rates are dense.\n"
    yield f"The Model Context Protocol is spoken at [/mcp]({base}mcp): the same queries as tools.\n"
    yield f"Figures (methodology version {METHODOLOGY_VERSION}):\n"
    for metric in METRICS.values():
        said = f"{_sentence(metric.formula)} It is {_sentence(NATURE[metric.nature])}"
        yield f"- `{metric.key}` in {metric.unit}: {said}"
    yield "\nRules:\n"
    yield from (f"- {rule.name}: {_sentence(rule.text)}" for rule in RULES)
    yield "\nParameters of the board and of all that take its query:\n"
    yield from (f"- {_parameter(each)}" for each in PARAMETERS)
    yield "\nAttribution:\n"
    yield from (f"- {text}" for text in ATTRIBUTION)
    yield "\n## Downloads\n"
    for each in DOWNLOADS:
        for label, href in each.links:
            yield f"- [{each.name}, {label}]({base}{href.removeprefix('/')}): {_sentence(each.about)}"
    yield "\n## Addresses for programs\n"
    for address in addresses(application):
        own = [f"`{name}`" for name in address.own_names]
        names = ", ".join([*own, *(["those of the board"] if address.takes_board_query else [])]) or "none"
        place = base + address.path.removeprefix("/")
        yield f"- [{address.path}]({place}): {_sentence(address.summary)} Parameters: {names}."
    yield "\n## Optional\n"
    for path in page_paths(application):
        if "{" not in path:
            yield f"- [{path}]({base}{path.removeprefix('/')}): the page for people."
    yield ""


def _parameter(parameter: dict[str, Any]) -> str:
    plain = plain_parameter(parameter)
    many = " (repeatable)" if plain["is_repeatable"] else ""
    values = [value for value in plain["values"] if not str(value).startswith("-")]
    choice = f" One of {', '.join(values)}." if values else ""
    return f"`{plain['parameter']}`{many}: {_sentence(plain['description'])}{choice}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
