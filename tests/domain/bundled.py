"""The table of 2026-10-30 that the program carries, as a board."""

from datetime import UTC, datetime

from app.domain.accelerators import load_catalogue
from app.domain.board import Board, build_board
from app.domain.cells import packaged_lines
from scrapers import inferprice
from scrapers.base import Page
from tests.domain import made

READ_AT = datetime(2026, 10, 30, 12, tzinfo=UTC)


def bundled_board() -> Board:
    body = "\n".join(packaged_lines("price_table_2026-10-30.csv")).encode()
    parsed = inferprice.parse(Page(url="table", body=body, fetched_at=READ_AT))
    stored = [
        made.store(offer, number, last_seen_at=READ_AT) for number, offer in enumerate(parsed.offers, 1)
    ]
    return build_board(stored, load_catalogue(), instant=READ_AT)


BUNDLED = bundled_board()
