"""The article's table of 2026-10-30 as a board, and the figures of its rows by name."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

from app.domain.accelerators import load_catalogue
from app.domain.board import Board, build_board
from app.domain.metrics import METRICS
from app.domain.offers import Offer
from app.domain.query import OfferQuery
from app.domain.rows import Row
from tests.domain import made
from tests.make import make_offer

# The article of 2026-11-02: dollars per GPU-hour on demand on 2026-10-30, TB/s and dense FP8 TFLOPS.
# The PCIe card's 1,513 TFLOPS are NVIDIA's 3,026 with sparsity, halved; the article leaves them out.
SPECS = {
    "h100-pcie": (Fraction(2), 1513),
    "h100-sxm": (Fraction(335, 100), 1979),
    "h200-sxm": (Fraction(48, 10), 1979),
    "b200-sxm": (Fraction(8), 4500),
}
CARDS = ("h100-sxm", "h200-sxm", "b200-sxm")
PRICES: dict[str, tuple[str, str, str]] = {
    "runpod": ("3.99", "5.29", "7.99"),
    "coreweave": ("6.16", "6.31", "8.60"),
    "nebius": ("4.50", "5.40", "8.50"),
    "modal": ("3.95", "4.54", "6.25"),
    "together": ("3.99", "5.99", "8.19"),
    "deepinfra": ("2.90", "3.49", "4.89"),
    "fireworks": ("8.00", "8.00", "13.00"),
}
TABLE = [("runpod", "h100-pcie", "2.89")] + [
    (provider, card, price)
    for provider, prices in PRICES.items()
    for card, price in zip(CARDS, prices, strict=True)
]


def offer_of(provider: str, card: str, price: str, **fields: Any) -> Offer:
    family = card.partition("-")[0]
    return make_offer(
        provider=provider, sku=card, accelerator=card, family=family, list_price=price, **fields
    )


def board_of(*offers: Offer) -> Board:
    stored = [made.store(offer, number) for number, offer in enumerate(offers, 1)]
    return build_board(stored, load_catalogue(), instant=made.NOW)


ARTICLE = board_of(*(offer_of(*line) for line in TABLE))


def row_of(provider: str, card: str, board: Board = ARTICLE) -> Row:
    [row] = [row for row in board.rows if (row.offer.provider, row.offer.accelerator) == (provider, card)]
    return row


def figure(key: str, row: Row, board: Board = ARTICLE, **query: Any) -> Decimal | None:
    return METRICS[key].value(row, board.view(OfferQuery(**query)))


def known(key: str, row: Row, **query: Any) -> Decimal:
    value = figure(key, row, **query)
    assert value is not None, METRICS[key].why_unknown(row, ARTICLE.view(OfferQuery(**query)))
    return value
