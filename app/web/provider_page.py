"""The list of providers and the page of one: what it lists, how it is read, how that went, what was held."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from sqlalchemy.exc import SQLAlchemyError

from app.domain.cadence import minute_of_day, times_a_day
from app.domain.columns import COLUMNS, DEFAULT_COLUMNS, export_columns
from app.domain.metrics import Metric
from app.domain.providers import LIST_PRICE, MARKETPLACE
from app.domain.query import OfferQuery
from app.store import history as store
from app.store import runs
from app.store.session import reading
from app.web import words
from app.web.answers import respond_made
from app.web.boards import NoBoardError
from app.web.exports import json_row, plain_values
from app.web.kept import base_of, csv_of, csv_of_objects, json_of, nothing_near, page_of, take_nothing
from app.web.render import row_html, unit
from app.web.source_status import FRESHNESS, OUTCOME, sources_status
from app.web.stands import with_baseline
from app.web.status_page import ago
from scrapers import SCRAPERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.accelerators import Accelerator
    from app.store.history import PastQuarantine
    from app.store.records import Run
    from app.web.answers import Answer
    from app.web.boards import Served
    from app.web.shared import Shared
    from app.web.source_status import SourceStatus

MOST_ROWS: Final = 60
MOST_RUNS: Final = 40
MOST_QUARANTINES: Final = 20

KIND_MEANINGS: Final = {LIST_PRICE: "its own list prices", MARKETPLACE: "a marketplace of many sellers"}

STATE: Final = {
    "held": "waits for a decision",
    "approved": "approved",
    "rejected": "rejected",
    "superseded": "overtaken by a later good run",
}


class Listed(NamedTuple):
    """One card that a provider lists, and in how many offers."""

    card: Accelerator
    offers: int


class Heading(NamedTuple):
    """One heading of the table of offers."""

    label: str
    unit: str
    numeric: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPage:
    """What the template of one provider shows."""

    source: SourceStatus
    json_href: str
    csv_href: str
    kind: str
    read_at: str
    addresses: tuple[str, ...]
    min_offers: int | None
    anchors: tuple[str, ...]
    assumed: tuple[tuple[str, str], ...]
    cards: tuple[Listed, ...]
    headings: tuple[Heading, ...]
    rows: tuple[str, ...]
    total: int
    runs: tuple[Run, ...]
    past: tuple[PastQuarantine, ...]


def providers(request: Request) -> Response:
    """Answer the list of providers."""
    take_nothing(request)
    found, served = _load_all(request.app.state.shared)
    cards = _cards_by_provider(served)
    answer = page_of(
        "providers.html", sources=found, cards=cards, freshness=FRESHNESS, ago=ago, base=base_of(request)
    )
    return respond_made(request, answer)


def providers_json(request: Request) -> Response:
    """Answer the list of providers as JSON."""
    return respond_made(request, json_of({"providers": _plain_all(request)}))


def providers_csv(request: Request) -> Response:
    """Answer the list of providers as CSV."""
    return respond_made(request, csv_of_objects("providers", _plain_all(request)))


def _plain_all(request: Request) -> list[dict[str, Any]]:
    take_nothing(request)
    found, served = _load_all(request.app.state.shared)
    cards = _cards_by_provider(served)
    return [_plain(each, cards.get(each.provider, ())) for each in found]


def provider(request: Request) -> Response:
    """Answer the page of one provider; an unknown one is answered with names like it."""

    def make(page: ProviderPage, _served: Served) -> Answer:
        return page_of(
            "provider.html",
            page=page,
            freshness=FRESHNESS,
            ago=ago,
            outcome_words=OUTCOME,
            state_words=STATE,
            base=base_of(request),
        )

    return _answer_one(request, make)


def provider_json(request: Request) -> Response:
    """Answer what is known of one provider as JSON, with its offers in the order of the page."""
    return _answer_one(request, lambda page, served: json_of(_document(page, served)))


def provider_csv(request: Request) -> Response:
    """Answer the offers of one provider as CSV, in the order of the page."""

    def make(page: ProviderPage, served: Served) -> Answer:
        columns, selection = (
            export_columns(DEFAULT_COLUMNS),
            served.board.select(_asked(page), everything=True),
        )
        rows = (served.board.rows[number] for number in selection.rows)
        name = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in page.source.provider)
        said = with_baseline(selection.query, instant=served.board.instant, baseline=None)
        values = ([*plain_values(row, selection.view, columns=columns), *said.values()] for row in rows)
        return csv_of(f"provider-{name}", [*columns, *said], rows=values)

    return _answer_one(request, make)


def _answer_one(request: Request, make: Callable[[ProviderPage, Served], Answer]) -> Response:
    """Answer what is made of the provider that the address names."""
    take_nothing(request)
    shared: Shared = request.app.state.shared
    found, served = _load_all(shared)
    asked = request.path_params["provider"]
    source = next((each for each in found if each.provider == asked), None)
    if source is None:
        return nothing_near(request, "provider", asked=asked[:80], names=[each.provider for each in found])
    return respond_made(request, make(_provider_page(shared, served, source), served))


def _load_all(shared: Shared) -> tuple[tuple[SourceStatus, ...], Served]:
    served = shared.keeper.current()
    try:
        with reading(shared.engine) as connection:
            found = sources_status(connection, served, now=shared.clock(), enabled=shared.enabled_sources)
    except SQLAlchemyError as error:
        raise NoBoardError("the database cannot be read") from error
    return found, served


def _cards_by_provider(served: Served) -> dict[str, tuple[Listed, ...]]:
    """Return the cards that each provider lists, those of most offers first."""
    counts: dict[str, Counter[str]] = {}
    for row in served.board.rows:
        if row.accelerator is not None:
            counts.setdefault(row.offer.provider, Counter())[row.accelerator.id] += 1
    by_id = served.board.catalogue.by_id
    return {
        name: tuple(Listed(by_id[card], number) for card, number in sorted(of.items(), key=_most_first))
        for name, of in counts.items()
    }


def _most_first(pair: tuple[str, int]) -> tuple[int, str]:
    return (-pair[1], pair[0])


def _provider_page(shared: Shared, served: Served, source: SourceStatus) -> ProviderPage:
    """Work out what the page of one provider shows; raises NoBoardError when the database is away."""
    try:
        with reading(shared.engine) as connection:
            past_runs = runs.runs(connection, provider=source.provider, limit=MOST_RUNS)
            past = store.past_quarantines(connection, source.provider, limit=MOST_QUARANTINES)
    except SQLAlchemyError as error:
        raise NoBoardError("the database cannot be read") from error
    facts, scraper = source.facts, SCRAPERS.get(source.provider)
    query = OfferQuery(provider=(source.provider,), per_page=MOST_ROWS)
    selection = served.board.select(query)
    return ProviderPage(
        source=source,
        json_href=f"/providers/{quote(source.provider, safe='')}.json",
        csv_href=f"/providers/{quote(source.provider, safe='')}.csv",
        kind=KIND_MEANINGS[facts.kind if facts else LIST_PRICE],
        read_at=_read_at(source.provider),
        addresses=tuple(dict.fromkeys(each.url for each in scraper.requests)) if scraper else (),
        min_offers=scraper.expect.min_offers if scraper else None,
        anchors=scraper.expect.anchors if scraper else (),
        assumed=tuple(facts.assumed_variants.items()) if facts else (),
        cards=_cards_by_provider(served).get(source.provider, ()),
        headings=tuple(_heading(key, query) for key in DEFAULT_COLUMNS),
        rows=tuple(
            row_html(served.board.rows[number], selection.view, columns=selection.columns, evidence_query="")
            for number in selection.rows
        ),
        total=selection.total,
        runs=tuple(past_runs),
        past=tuple(past),
    )


def _read_at(name: str) -> str:
    """Return when a source is read, in words."""
    times, minute = times_a_day(name), minute_of_day(name)
    if times == 1:
        return f"once a day, at about {minute // 60:02d}:{minute % 60:02d} UTC"
    return f"{times} times a day, every {24 // times} h"


def _heading(key: str, query: OfferQuery) -> Heading:
    column = COLUMNS[key]
    numeric = isinstance(column, Metric) or column.numeric
    return Heading(column.label, unit(column, query), numeric)


def _plain(source: SourceStatus, cards: tuple[Listed, ...]) -> dict[str, Any]:
    facts = source.facts
    return {
        "provider": source.provider,
        "name": source.name,
        "home_url": facts.home_url if facts else None,
        "pricing_url": facts.pricing_url if facts else None,
        "kind": facts.kind if facts else None,
        "is_on": source.is_on,
        "freshness": source.freshness.value,
        "last_good_run_at": words.utc(source.good.observed_at)
        if source.good and source.good.observed_at
        else None,
        "offers": source.offers,
        "gpus": [each.card.id for each in cards],
    }


def _asked(page: ProviderPage) -> OfferQuery:
    return OfferQuery(provider=(page.source.provider,))


def _document(page: ProviderPage, served: Served) -> dict[str, Any]:
    """Return one provider as one document for programs."""
    source, facts = page.source, page.source.facts
    columns, selection = export_columns(DEFAULT_COLUMNS), served.board.select(_asked(page), everything=True)
    rows = (served.board.rows[number] for number in selection.rows)
    return {
        "as_of": words.utc(served.board.instant),
        **_plain(source, page.cards),
        "terms_note": facts.terms_note if facts else None,
        "terms_url": (facts.terms_url or None) if facts else None,
        "terms_as_of": facts.as_of.isoformat() if facts else None,
        "times_a_day": times_a_day(source.provider),
        "asks_for": list(page.addresses),
        "a_full_run_has_offers": page.min_offers,
        "a_full_run_has_accelerators": list(page.anchors),
        "assumed_variants": dict(page.assumed),
        "rows": [json_row(row, selection.view, columns=columns) for row in rows],
        "runs": [_plain_run(run) for run in page.runs],
        "held": [_plain_held(one) for one in page.past],
    }


def _plain_run(run: Run) -> dict[str, Any]:
    return {
        "source": run.source,
        "started_at": words.utc(run.started_at),
        "outcome": run.outcome.value if run.outcome else None,
        "offers": run.offers_count,
        "sentence": run.sentence,
    }


def _plain_held(one: PastQuarantine) -> dict[str, Any]:
    return {
        "held_at": words.utc(one.held_at),
        "offers": one.offers_count,
        "why": one.sentence,
        "state": one.state,
        "decided_at": words.utc(one.decided_at) if one.decided_at else None,
        "because": one.because or None,
    }
