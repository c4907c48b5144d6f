"""The evidence of one offer for programs: every column of its row, what was printed, figures worked out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException

from app.domain.columns import COLUMNS
from app.web import words
from app.web.evidence_page import evidence_page
from app.web.exports import json_row
from app.web.kept import answer_kept, csv_of_objects, json_of
from app.web.pages import MAX_ID_DIGITS
from app.web.state import read_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.query import OfferQuery
    from app.domain.rows import Row
    from app.web.answers import Answer
    from app.web.boards import Served


def evidence_json(request: Request) -> Response:
    """Answer what stands behind one row as one document."""

    def make(served: Served, row: Row, *, query: OfferQuery) -> Answer:
        return json_of({**_plain(served, row, query), "worked": _worked(served, row, query)})

    return _answer(request, make)


def evidence_csv(request: Request) -> Response:
    """Answer one row with all its columns as a line of CSV."""

    def make(served: Served, row: Row, *, query: OfferQuery) -> Answer:
        plain = _plain(served, row, query)
        del plain["unknown"]
        return csv_of_objects(f"offer-{row.stored.offer_id}", [plain])

    return _answer(request, make)


def _answer(request: Request, make: Callable[..., Answer]) -> Response:
    asked = request.path_params["offer_id"]
    digits = asked.removeprefix("-")  # the reader's own offers count from -1 down
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_ID_DIGITS):
        raise HTTPException(404, "An offer is a number")

    def answer(served: Served, text: str) -> Answer:
        query = read_query(text, served.words)
        row = served.board.find(int(asked))
        if row is None:
            day = f" on {query.as_of}" if query.as_of else ""
            raise HTTPException(404, f"There is no offer {int(asked)}{day}; it may have been withdrawn")
        return make(served, row, query=query)

    return answer_kept(request, answer)


def _plain(served: Served, row: Row, query: OfferQuery) -> dict[str, Any]:
    """Return one row with all columns, and what its evidence adds to them."""
    stored, page = row.stored, evidence_page(served, row, query=query)
    coming, rate = stored.next_price, stored.rate
    return {
        "as_of": words.utc(served.board.instant),
        **json_row(row, served.board.view(query), columns=tuple(COLUMNS)),
        "printed": page.printed,
        "price_valid_from": words.utc(stored.price_valid_from),
        "first_seen_at": words.utc(stored.first_seen_at),
        "capture_sha256": stored.capture_sha256,
        "next_list_price": float(coming.list_price) if coming else None,
        "next_currency": coming.currency if coming else None,
        "next_price_basis": coming.price_basis.value if coming else None,
        "next_price_from": coming.valid_from.date().isoformat() if coming else None,
        "usd_per_unit_of_currency": float(rate.usd_per_unit) if rate else None,
        "exchange_rate_day": rate.day.isoformat() if rate else None,
        "exchange_rate_source": rate.source_url if rate else None,
        "specification_sources": list(page.card.sources) if page.card else [],
        "specification_as_of": page.card.as_of.isoformat() if page.card else None,
        **(_NEVER_READ if row.offer.is_own else {}),
    }


_NEVER_READ: Final = dict.fromkeys(
    ("price_valid_from", "observed_at", "first_seen_at", "last_seen_at", "capture_sha256")
)
"""What the reader's own figures do not have."""


def _worked(served: Served, row: Row, query: OfferQuery) -> list[dict[str, Any]]:
    """Return each figure with its formula and the numbers in it, as the page shows them."""
    return [
        {
            "key": each.key,
            "label": each.label,
            "unit": each.unit,
            "shown": each.value,
            "formula": each.formula,
            "working": each.working or None,
            "kind": each.nature,
            "assumes": each.assumes,
            "why_unknown": each.why or None,
            "does_not_fit": each.does_not_fit or None,
        }
        for each in evidence_page(served, row, query=query).worked
    ]
