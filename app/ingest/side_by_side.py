"""Offers that differ, side by side: what was good last, what was read, the difference, and the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.offers import usd_per_gpu_hour
from app.ingest.checked import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.offers import Offer
    from app.ingest.reparse import Change

NONE = "-"
MOST_LETTERS = 120


def rows_of(changes: Sequence[Change]) -> list[list[str]]:
    """Return a row for each change: the kind, the offer, both prices as printed, the move, and the place."""
    return [_row(change) for change in changes]


def _row(change: Change) -> list[str]:
    offer = change.now or change.was
    if offer is None:
        raise ValueError("a change has an offer on one side at least")
    return [
        "added" if change.was is None else "gone" if change.now is None else "changed",
        _one_line(named(offer)),
        _printed(change.was),
        _printed(change.now),
        _difference(change),
        _one_line(offer.fragment),
    ]


def _one_line(text: str) -> str:
    """Return a text of a page as a terminal may show it: one line, nothing that steers, not too long."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(shown.split())
    return line if len(line) <= MOST_LETTERS else f"{line[:MOST_LETTERS]}..."


def _printed(offer: Offer | None) -> str:
    """Return a price as printed, with its unit; a dash without an offer."""
    if offer is None:
        return NONE
    floor = "from " if offer.is_floor else ""
    start = f" from {offer.valid_from}" if offer.valid_from else ""
    unit = offer.price_basis.value.replace("_", "-")
    return f"{floor}{offer.list_price:f} {offer.currency}/{unit}{start}"


def _difference(change: Change) -> str:
    """Return by how much the price of a GPU for an hour moved, a dash where that cannot be said."""
    if change.was is None or change.now is None:
        return NONE
    was, now = usd_per_gpu_hour(change.was), usd_per_gpu_hour(change.now)
    return f"{now / was - 1:+.1%}" if was and now is not None else NONE
