"""The changes page and its JSON: what moved, came, went and was announced, day by day, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import RedirectResponse, Response

from app.domain.changes import ChangeKind
from app.domain.offers import MICROS_PER_USD
from app.web import changes_words, words
from app.web.answers import Answer, etag, not_modified, respond
from app.web.changes_query import DAYS_PER_PAGE, changes_link, load_days, read_changes_query
from app.web.choices import Choice, choices
from app.web.exports import json_bytes
from app.web.kept import base_of, csv_of_objects, page_of
from app.web.state import query_text, read_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from app.domain.accelerators import Catalogue
    from app.domain.changes import Change, PricePoint
    from app.domain.offers import Offer
    from app.web.boards import Served
    from app.web.changes_query import ChangesQuery, Day, Days
    from app.web.changes_words import Line
    from app.web.shared import Shared

MOST_LINES: Final = 200
"""Changes of one day that the page shows; the JSON document has all."""

CSV_COLUMNS: Final = (
    *("day", "kind", "at", "provider", "offer_id", "sku", "accelerator", "family", "accelerator_as_written"),
    *("gpu_count", "min_gpus", "service_kind", "pricing_model", "tier", "term_days_min", "term_days_max"),
    *("region", "before_list_price", "before_currency", "before_price_basis", "before_usd_per_gpu_hour"),
    *("after_list_price", "after_currency", "after_price_basis", "after_usd_per_gpu_hour"),
    *("change_percent", "note", "starts_on", "announced_at", "evidence", "source_url", "fragment"),
    *("before_is_floor", "after_is_floor"),
)
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DayView:
    """One day as the template shows it."""

    day: str
    counted: str
    first: tuple[str, ...]
    notes: tuple[str, ...]
    lines: tuple[Line, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesPage:
    """What the template of the changes shows. Links hold only what differs from the default."""

    title: str
    canonical: str
    feed_href: str
    json_href: str
    csv_href: str
    older_href: str
    newer_href: str
    latest_href: str
    days: tuple[DayView, ...]
    providers: tuple[Choice, ...]
    gpus: tuple[Choice, ...]
    day: str
    today: str
    first_day: str
    meanings: tuple[tuple[str, str, str], ...]


def changes(request: Request) -> Response:
    """Answer the changes page. A form's empty fields are redirected away, so that addresses stay short."""

    def make(served: Served, days: Days) -> Answer:
        return page_of("changes.html", page=changes_page(served, days), base=base)

    base = base_of(request)
    text = query_text(request)
    if any(not value for _, value in read_pairs(text)):
        served = request.app.state.shared.keeper.current()
        return RedirectResponse(changes_link("/changes", read_changes_query(text, served.words)), 303)
    return answer_changes(request, make, base=base)


def changes_json(request: Request) -> Response:
    """Answer the same days as JSON, with every change of them."""
    return answer_changes(request, lambda _served, days: Answer(json_bytes(changes_document(days)), JSON))


def changes_csv(request: Request) -> Response:
    """Answer the same days as CSV, a line a change."""

    def make(_served: Served, days: Days) -> Answer:
        lines = ({"day": day.day.isoformat(), **_plain(one)} for day in days.days for one in day.changes)
        return csv_of_objects("changes", lines, columns=CSV_COLUMNS)

    return answer_changes(request, make)


def answer_changes(
    request: Request,
    make: Callable[[Served, Days], Answer],
    *,
    limit: int = DAYS_PER_PAGE,
    base: str = "",
    finish: Callable[[Answer], Answer] | None = None,
) -> Response:
    """Answer what the request asks of the changes, from memory when nothing was published since.

    `finish` turns what is kept into what this reader gets, who came by the address `base`; without it each
    such address has an answer of its own.
    """
    shared: Shared = request.app.state.shared
    text = query_text(request)
    served = shared.keeper.current()
    path = f"{request.scope['path']}?{text}"
    tag = etag(served.token, f"{base}{path}")
    key = path if finish else f"{base}{path}"
    known = not_modified(request, tag)
    if known is not None:
        return known
    found = shared.answers.peek(served.token, key)
    if found is None:
        query = read_changes_query(text, served.words)
        answer = make(served, load_days(shared, served, query=query, limit=limit))
        found = shared.answers.keep(served.token, key, answer=answer)
    return respond(request, finish(found) if finish else found, tag=tag)


def title(query: ChangesQuery) -> str:
    """Return what the changes are about in a few words."""
    about = " and ".join([*map(words.provider_name, query.provider), *query.gpu])
    return f"Changes{f', {about}' if about else ''}{f', up to {query.day}' if query.day else ''}"


def changes_page(served: Served, days: Days) -> ChangesPage:
    """Work out what the page shows."""
    query = days.query
    board = served.board
    return ChangesPage(
        title=title(query),
        canonical=changes_link("/changes", query),
        feed_href=changes_link("/changes.atom", query, day=None),
        json_href=changes_link("/changes.json", query),
        csv_href=changes_link("/changes.csv", query),
        older_href=changes_link("/changes", query, day=days.older) if days.older else "",
        newer_href=changes_link("/changes", query, day=days.newer) if days.newer else "",
        latest_href=changes_link("/changes", query, day=None) if query.day else "",
        days=tuple(day_view(day, board.catalogue) for day in days.days),
        providers=tuple(
            Choice(value=each, label=words.provider_name(each), chosen=each in query.provider)
            for each in sorted(set(served.words.providers.values()), key=str.casefold)
        ),
        gpus=_gpus(served, query),
        day=query.day.isoformat() if query.day else "",
        today=served.words.today.isoformat(),
        first_day=served.first_day.isoformat() if served.first_day else "",
        meanings=tuple(
            (kind.value, changes_words.KIND[kind], changes_words.MEANING[kind]) for kind in ChangeKind
        ),
    )


def _gpus(served: Served, query: ChangesQuery) -> tuple[Choice, ...]:
    """Return what there is to choose: the chosen variants, then the families on the board and the chosen."""
    catalogue = served.board.catalogue
    here = {row.family for row in served.board.rows}
    families = {each: each.upper() for each in catalogue.families() if each in here or each in query.gpu}
    variants = {each: catalogue.by_id[each].name for each in query.gpu if each not in families}
    return choices([*variants.items(), *families.items()], query.gpu)


def day_view(day: Day, catalogue: Catalogue) -> DayView:
    """Return one day as the template shows it."""
    cards = (catalogue.get(name) for name in day.first)
    return DayView(
        day=day.day.isoformat(),
        counted=changes_words.counted(day.changes),
        first=tuple(card.name for card in cards if card),
        notes=changes_words.source_notes(day),
        lines=tuple(changes_words.line(change) for change in day.changes[:MOST_LINES]),
        left_out=max(0, len(day.changes) - MOST_LINES),
    )


def changes_document(days: Days) -> dict[str, Any]:
    """Return the days as one document for programs; numbers have their unit in the key."""
    query = days.query
    return {
        "provider": list(query.provider),
        "gpu": list(query.gpu),
        "older": changes_link("/changes.json", query, day=days.older) if days.older else None,
        "newer": changes_link("/changes.json", query, day=days.newer) if days.newer else None,
        "days": [
            {
                "day": day.day.isoformat(),
                "first_offered": list(day.first),
                "notes": list(changes_words.source_notes(day)),
                "changes": [_plain(change) for change in day.changes],
            }
            for day in days.days
        ],
    }


def _plain(change: Change) -> dict[str, Any]:
    each = change.offer
    return {
        "kind": change.kind.value,
        "at": words.utc(change.at),
        "provider": each.provider,
        "offer_id": change.offer_id,
        "sku": each.sku,
        "accelerator": each.accelerator,
        "family": each.family,
        "accelerator_as_written": each.accelerator_as_written,
        "gpu_count": each.gpu_count,
        "min_gpus": each.min_gpus,
        "service_kind": each.service_kind.value,
        "pricing_model": each.pricing_model.value,
        "tier": each.tier or None,
        "term_days_min": each.term_days_min,
        "term_days_max": each.term_days_max,
        "region": each.region or None,
        "before": _plain_price(change.before, each),
        "after": _plain_price(change.after, each),
        "change_percent": None if change.percent is None else round(float(change.percent), 4),
        "note": changes_words.note(change) or None,
        "starts_on": change.starts_at.date().isoformat() if change.starts_at else None,
        "announced_at": words.utc(change.announced_at) if change.announced_at else None,
        "evidence": changes_words.evidence_href(change) or None,
        "source_url": each.source_url,
        "fragment": each.fragment,
    }


def _plain_price(point: PricePoint | None, offer: Offer) -> dict[str, Any] | None:
    """Return a price for programs; a slice of a card has none of one GPU."""
    if point is None:
        return None
    micros = point.usd_micros_per_gpu_hour
    return {
        "list_price": float(point.list_price),
        "currency": point.currency,
        "price_basis": point.price_basis.value,
        "usd_per_gpu_hour": None if micros is None or offer.slice_of else micros / MICROS_PER_USD,
        "is_floor": point.is_floor,
    }
