"""What a careful reader takes from a page: read from hand-written files, compared with what a parser took."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from app.domain.offers import PriceBasis, usd_per_gpu_hour
from scrapers import SCRAPERS, Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.offers import Offer

HERE = Path(__file__).parent / "captures"
SHARED = Path(__file__).parents[3] / "shared"
NOT_RUN = "not run: ../shared is not here"
READ_AT = datetime(2026, 9, 29, 12, tzinfo=UTC)
SHARED_PAGES = {
    "runpod": "runpod/2026-09-graphql-gpuTypes-with-cloud-flags.json",
    "coreweave": "coreweave/2026-10-pricing-page.html",
    "nebius": "nebius/2026-09-prices-page.html",
}
OUR_PAGES = {"runpod": "runpod.json", "coreweave": "coreweave.html", "nebius": "nebius.html"}


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What tells two offers of one provider apart on its page."""

    name: str
    region: str
    kind: str
    valid_from: str
    gpu_count: int


def kind_of(pricing_model: str, tier: str) -> str:
    """Return the golden files' kind: RunPod's community cloud is one of its own."""
    return "community" if tier == "community" else pricing_model


def key_of(offer: Offer) -> Key:
    start = "" if offer.valid_from is None else offer.valid_from.isoformat()
    kind = kind_of(offer.pricing_model.value, offer.tier)
    return Key(offer.sku, offer.region.casefold(), kind, start, offer.gpu_count)


def taken(offers: Iterable[Offer]) -> dict[Key, Decimal]:
    """Return dollars per GPU-hour by key; a key that comes twice is a failure of the parser."""
    prices: dict[Key, Decimal] = {}
    for offer in offers:
        price = usd_per_gpu_hour(offer)
        assert price is not None
        assert key_of(offer) not in prices, key_of(offer)
        prices[key_of(offer)] = price.quantize(Decimal("0.0001"))
    return prices


def our_rows(provider: str) -> list[dict[str, str]]:
    with (HERE / f"{provider}.offers.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def our_truth(provider: str) -> dict[Key, Decimal]:
    """Return dollars per GPU-hour by key from the file beside our own page."""
    truth = {}
    for row in our_rows(provider):
        count = int(row["gpu_count"])
        per_instance = PriceBasis(row["price_basis"]).is_per_instance
        price = Decimal(row["list_price"]) / (count if per_instance else 1)
        kind = kind_of(row["pricing_model"], row["tier"])
        key = Key(row["sku"], row["region"].casefold(), kind, row["valid_from"], count)
        truth[key] = price.quantize(Decimal("0.0001"))
    return truth


def golden_rows(provider: str) -> list[dict[str, str]]:
    """Return the rows of the golden file beside a page in ../shared."""
    path = SHARED / "captures" / SHARED_PAGES[provider]
    with path.with_suffix(".golden.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def golden_truth(provider: str) -> dict[Key, Decimal]:
    """Return dollars per GPU-hour by key from a golden file; rows without a price are left out."""
    name = "gpu_model_as_written" if provider == "runpod" else "offer_name_as_written"
    truth = {}
    for row in golden_rows(provider):
        if row["price_usd_per_gpu_hour"]:
            price = Decimal(row["price_usd_per_gpu_hour"]).quantize(Decimal("0.0001"))
            start = golden_start(row)
            key = Key(row[name], row["region"].casefold(), row["price_kind"], start, int(row["gpu_count"]))
            truth[key] = price
    return truth


def golden_start(row: Mapping[str, str]) -> str:
    """Return the start date in a golden row's notes ("valid from 2026-10-01"), empty without one."""
    _, found, rest = row["notes"].partition("valid from ")
    return date.fromisoformat(rest[:10]).isoformat() if found else ""


def page(provider: str, body: bytes) -> Page:
    return Page(url=SCRAPERS[provider].requests[0].url, body=body, fetched_at=READ_AT)


def our_page(provider: str) -> Page:
    return page(provider, (HERE / OUR_PAGES[provider]).read_bytes())


def shared_page(provider: str) -> Page:
    return page(provider, (SHARED / "captures" / SHARED_PAGES[provider]).read_bytes())
