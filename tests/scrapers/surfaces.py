"""The surfaces of the seven providers read by words: their parsers, addresses and our pages of them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scrapers import Page, baseten, deepinfra, fireworks, lambda_, modal, runpod_serverless, together, vast

if TYPE_CHECKING:
    from app.domain.offers import Offer
    from scrapers import Parsed
    from scrapers.base import Parser

HERE = Path(__file__).parent / "captures"
READ_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Surface:
    """One surface: its parser, its address, and the name of our page."""

    parse: Parser
    url: str
    file: str


SURFACES = {
    "modal": Surface(modal.parse, "https://modal.com/pricing", "modal.html"),
    "together": Surface(together.parse, "https://www.together.ai/pricing", "together.html"),
    "deepinfra": Surface(deepinfra.parse, "https://deepinfra.com/pricing", "deepinfra.html"),
    "deepinfra-instances": Surface(
        deepinfra.parse, "https://deepinfra.com/gpu-instances", "deepinfra-instances.html"
    ),
    "fireworks": Surface(fireworks.parse, "https://fireworks.ai/pricing", "fireworks.html"),
    "baseten": Surface(baseten.parse, "https://docs.baseten.co/deployment/resources.md", "baseten.md"),
    "baseten-page": Surface(baseten.parse_page, "https://www.baseten.co/pricing/", "baseten-page.html"),
    "lambda": Surface(lambda_.parse, "https://lambda.ai/pricing", "lambda.html"),
    "lambda-api": Surface(
        lambda_.parse_api, "https://cloud.lambda.ai/api/v1/instance-types", "lambda-api.json"
    ),
    "vast": Surface(vast.parse, "https://console.vast.ai/api/v0/bundles/", "vast.json"),
    "runpod-serverless": Surface(
        runpod_serverless.parse,
        "https://raw.githubusercontent.com/runpod/docs/main/snippets/table.mdx",
        "runpod-serverless.mdx",
    ),
}


def read(name: str, body: bytes | str, *, at: datetime = READ_AT) -> Parsed:
    """Parse a body as one surface's page."""
    surface = SURFACES[name]
    data = body.encode() if isinstance(body, str) else body
    return surface.parse(Page(url=surface.url, body=data, fetched_at=at))


def our_text(name: str) -> str:
    return (HERE / SURFACES[name].file).read_text(encoding="utf-8")


def changed(name: str, *changes: tuple[str, str], times: int = -1) -> Parsed:
    """Parse our page of a surface after replacing texts in it, each of which has to be there."""
    text = our_text(name)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, times)
    return read(name, text)


def expected(name: str) -> list[dict[str, str]]:
    with (HERE / f"{name}.offers.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_row(offer: Offer) -> dict[str, str]:
    """Write an offer the way the expected offers are written."""
    return {
        "sku": offer.sku,
        "accelerator": offer.accelerator or "",
        "slice_of": offer.slice_of or "",
        "region": offer.region,
        "gpu_count": str(offer.gpu_count),
        "list_price": str(offer.list_price),
        "price_basis": offer.price_basis.value,
        "pricing_model": offer.pricing_model.value,
        "tier": offer.tier,
        "valid_from": "" if offer.valid_from is None else offer.valid_from.isoformat(),
        "is_floor": "yes" if offer.is_floor else "no",
        "memory_gb": "" if offer.memory_gb_as_written is None else str(offer.memory_gb_as_written),
        "service_kind": offer.service_kind.value,
        "term_days_min": "" if offer.term_days_min is None else str(offer.term_days_min),
        "term_days_max": "" if offer.term_days_max is None else str(offer.term_days_max),
        "assumed": "yes" if offer.variant_assumed else "no",
    }


def in_order(rows: list[dict[str, str]]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)
