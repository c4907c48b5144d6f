"""The comparison of cards at the same provider, as a page, as JSON and as CSV, from the same pairing."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from starlette.responses import RedirectResponse, Response

from app.domain.compare_query import parse_compare, question_of
from app.domain.pairing import pair_cards
from app.web.answers import Answer
from app.web.compare_exports import csv_lines, document
from app.web.compare_view import compare_link, compare_page
from app.web.exports import json_bytes
from app.web.kept import answer_kept, base_of, page_of
from app.web.pages import find_board
from app.web.state import joined, query_text, read_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from app.domain.compare_query import CompareQuery
    from app.domain.pairing import Pairing
    from app.web.boards import Served

JSON: Final = "application/json"
CSV: Final = "text/csv; charset=utf-8"


def compare(request: Request) -> Response:
    """Answer the page. A form's empty fields are redirected away, so that addresses stay short."""

    def make(served: Served, query: CompareQuery) -> Answer:
        page = compare_page(served, query, pairing=_pairing(served, query))
        return page_of("compare.html", page=page, base=base)

    base = base_of(request)
    text = query_text(request)
    if any(not value for _, value in read_pairs(text)):
        served = find_board(request.app.state.shared, text)
        return RedirectResponse(compare_link("/compare", _read(_sent(text), served)), 303)
    return _answer(request, make, base=base)


def compare_json(request: Request) -> Response:
    """Answer the same pairing as one document."""
    return _answer(
        request,
        lambda served, query: Answer(
            json_bytes(document(served, query, pairing=_pairing(served, query))), JSON
        ),
    )


def compare_csv(request: Request) -> Response:
    """Answer the same pairing as CSV: a line for each provider, set of terms and card."""

    def make(served: Served, query: CompareQuery) -> Answer:
        out = io.StringIO()
        lines = csv_lines(served, query, pairing=_pairing(served, query))
        csv.writer(out, lineterminator="\r\n").writerows(lines)
        day = query.as_of or served.words.today
        name = f'attachment; filename="inferprice-compare-{day}.csv"'
        return Answer(out.getvalue().encode(), CSV, {"content-disposition": name})

    return _answer(request, make)


def _sent(text: str) -> str:
    """Return what the page's form asks, which sends an empty baseline beside the chosen one.

    A baseline whose card is ticked no longer gives way to the first card that is.
    """
    pairs = read_pairs(text)
    if ("baseline", "") not in pairs:
        return text
    ticked = [value for name, value in pairs if name == "gpu"]
    return joined([pair for pair in pairs if pair[0] != "baseline" or pair[1] in ticked])


def _read(text: str, served: Served) -> CompareQuery:
    return parse_compare(read_pairs(text), served.words, catalogue=served.board.catalogue)


def _pairing(served: Served, query: CompareQuery) -> Pairing:
    return pair_cards(served.board.rows, question_of(query, served.board.catalogue))


def _answer(request: Request, make: Callable[[Served, CompareQuery], Answer], *, base: str = "") -> Response:
    return answer_kept(request, lambda served, text: make(served, _read(text, served)), base=base)
