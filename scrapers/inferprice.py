"""InferPrice's own table of list prices of several providers, bundled with the program as CSV."""

from __future__ import annotations

import csv
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Final, TypeVar

from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind, offer_key
from scrapers.base import Expect, Page, Parsed, ParseError, Scraper
from scrapers.naming import name_accelerator
from scrapers.reading import read_count, read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal

    from app.domain.findings import Finding

PROVIDER: Final = "inferprice"
"""Who made the table; each offer carries the provider whose price it is."""

COLUMNS: Final = (
    "provider", "sku", "accelerator_as_written", "gpu_count", "min_gpus", "list_price_usd", "price_basis",
    "pricing_model", "service_kind", "term_days_min", "term_days_max", "form_factor_assumed", "assumption",
    "fragment", "source_url", "observed_on",
)  # fmt: skip
TRUTHS: Final = {"yes": True, "no": False}


_T = TypeVar("_T")


def parse(page: Page) -> Parsed:
    """Return the offers of every provider in the table.

    Raises ParseError when a column is missing or new, a cell is of another kind, or an offer stands twice.
    """
    try:
        lines = page.body.decode("utf-8").splitlines()
        rows = list(csv.DictReader(lines, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ParseError("not_csv", "The table is not CSV in UTF-8.", error=str(error)) from None
    if not rows or tuple(rows[0]) != COLUMNS:
        found = ", ".join(map(str, rows[0])) if rows else ""
        raise ParseError("unknown_column", "The table has other columns than expected.", columns=found)
    read = [_row(row, number) for number, row in enumerate(rows, start=2)]
    offers = tuple(offer for offer, _ in read)
    repeated = [key for key, count in Counter(map(offer_key, offers)).items() if count > 1]
    if repeated:
        raise ParseError("duplicate_row", "An offer stands twice in the table.", key=repeated[0])
    return Parsed(offers=offers, findings=tuple(finding for _, findings in read for finding in findings))


def _row(row: Mapping[str, str], line: int) -> tuple[Offer, tuple[Finding, ...]]:
    if None in row or None in row.values():
        raise ParseError("wrong_cell_count", "A row has too few or too many cells.", line=str(line))
    gpu_count = _cell(row, "gpu_count", line, _count)
    named = name_accelerator(_required(row, "accelerator_as_written", line), provider=PROVIDER)
    _cell(row, "observed_on", line, date.fromisoformat)
    assumption = row["assumption"].strip()
    offer = Offer(
        provider=_required(row, "provider", line),
        sku=_required(row, "sku", line),
        accelerator_as_written=row["accelerator_as_written"],
        accelerator=named.accelerator,
        family=named.family,
        slice_of=named.slice_of,
        variant_assumed=_cell(row, "form_factor_assumed", line, lambda text: TRUTHS[text]),
        assumptions=(assumption,) if assumption else (),
        gpu_count=gpu_count,
        min_gpus=_cell(row, "min_gpus", line, _count),
        list_price=_cell(row, "list_price_usd", line, _dollars),
        price_basis=_cell(row, "price_basis", line, PriceBasis),
        pricing_model=_cell(row, "pricing_model", line, PricingModel),
        service_kind=_cell(row, "service_kind", line, ServiceKind),
        term_days_min=_cell(row, "term_days_min", line, _days),
        term_days_max=_cell(row, "term_days_max", line, _days),
        source_url=_required(row, "source_url", line),
        fragment=_required(row, "fragment", line),
    )
    return offer, named.findings


def _cell(row: Mapping[str, str], column: str, line: int, read: Callable[[str], _T]) -> _T:
    """Read one cell, or say which cell of which line cannot be read."""
    try:
        return read(row[column].strip())
    except (ValueError, KeyError, ParseError):
        raise ParseError(
            "unreadable_cell", f"Line {line} has a cell that cannot be read.", column=column, text=row[column]
        ) from None


def _required(row: Mapping[str, str], column: str, line: int) -> str:
    return _cell(row, column, line, _text)


def _text(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


def _count(text: str) -> int:
    return read_count(text, "a number of GPUs")[0]


def _days(text: str) -> int | None:
    return read_count(text, "a number of days")[0] if text else None


def _dollars(text: str) -> Decimal:
    return read_number(text, "a price")[0]


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(),
    parse=parse,
    expect=Expect(min_offers=24, anchors=("h100-sxm", "h200-sxm", "b200-sxm")),
    never_met_live=False,
)
