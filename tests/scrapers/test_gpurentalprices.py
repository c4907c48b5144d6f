"""A day of the aggregator is taken over as its word: what it says, what it blurs, what it carries on."""

import json
from decimal import Decimal
from typing import Any

import pytest

from app.domain.offers import PricingModel, ServiceKind
from scrapers.base import Page, ParseError
from scrapers.gpurentalprices import ATTRIBUTION, SCRAPER, SOURCE_URL, parse
from tests.make import utc


def row(provider: str, gpu: str, usd: float | str, **fields: Any) -> dict[str, Any]:
    """Return a row as the aggregator writes it; the price is written as given."""
    return {
        "provider": provider,
        "gpu": gpu,
        "vram_gb": 80,
        "usd_hr": usd,
        "kind": "on-demand",
        "source_url": f"https://{provider}.example/pricing",
        "fetched_at": "2026-07-05T05:00:00.802Z",
        **fields,
    }


def day(*rows: dict[str, Any], date: str = "2026-07-05", **states: dict[str, Any]) -> bytes:
    """Return a file of one day; a provider is read well unless `states` says otherwise."""
    names = {each["provider"] for each in rows} | set(states)
    good = {"ok": True, "last_verified": f"{date}T05:00:00.802Z", "stale": False}
    return json.dumps(
        {
            "date": date,
            "generated_at": f"{date}T05:00:01.000Z",
            "offers": list(rows),
            "providers": {name: states.get(name, good) for name in sorted(names)},
        }
    ).encode()


def page(body: bytes) -> Page:
    return Page(url="gpurentalprices:2026-07-05.json", body=body, fetched_at=utc(5, month=7))


def test_a_row_says_whose_word_it_is_and_stands_under_a_provider_of_its_own() -> None:
    (offer,) = parse(page(day(row("coreweave", "h100-sxm", 6.155, min_gpus=8)))).offers
    assert (offer.provider, offer.sku, offer.accelerator) == (
        "coreweave-via-gpurentalprices",
        "h100-sxm 80 GB",
        "h100-sxm",
    )
    assert (offer.list_price, offer.currency, offer.min_gpus, offer.gpu_count) == (
        Decimal("6.155"),
        "USD",
        8,
        1,
    )
    assert offer.source_url == SOURCE_URL == "https://gpurentalprices.com"
    assert ATTRIBUTION == "GPU rental price data by gpurentalprices.com, CC BY 4.0"
    (whose,) = offer.assumptions
    assert whose.startswith(f"{ATTRIBUTION} (https://gpurentalprices.com)")
    assert "https://coreweave.example/pricing, not by us" in whose
    assert '"usd_hr": "6.155"' in offer.fragment


@pytest.mark.parametrize(
    ("kind", "model", "service", "tier"),
    [
        ("on-demand", PricingModel.ON_DEMAND, ServiceKind.INSTANCE, ""),
        ("spot", PricingModel.SPOT, ServiceKind.INSTANCE, ""),
        ("secure", PricingModel.ON_DEMAND, ServiceKind.POD, "secure"),
        ("community", PricingModel.ON_DEMAND, ServiceKind.POD, "community"),
        ("serverless", PricingModel.ON_DEMAND, ServiceKind.SERVERLESS, ""),
        ("marketplace", PricingModel.ON_DEMAND, ServiceKind.MARKETPLACE, ""),
    ],
)
def test_kinds(kind: str, model: PricingModel, service: ServiceKind, tier: str) -> None:
    (offer,) = parse(page(day(row("x", "h100-sxm", 2, kind=kind)))).offers
    assert (offer.pricing_model, offer.service_kind, offer.tier, offer.provider_term) == (
        model,
        service,
        tier,
        kind,
    )


@pytest.mark.parametrize(
    ("gpu", "memory_gb", "accelerator", "family"),
    [
        ("h100", 80, None, "h100"),
        ("h100", 94, "h100-nvl", "h100"),
        ("b300", 262, "b300-sxm", "b300"),
        ("gh200", 96, "gh200-96", "gh200"),
        # Memory that the card is not sold with: somebody's mistake, so the row names no card at all.
        ("a40", 16, None, None),
        ("h100-nvl", 80, None, None),
        ("h900", 80, None, None),
    ],
)
def test_names_lead_to_a_card_or_to_none(
    gpu: str, memory_gb: int, accelerator: str | None, family: str | None
) -> None:
    read = parse(page(day(row("x", gpu, 2, vram_gb=memory_gb))))
    (offer,) = read.offers
    assert (offer.accelerator, offer.family) == (accelerator, family)
    assert {finding.level for finding in read.findings} <= {"warning"}
    assert bool(read.findings) == (accelerator is None)


def test_rows_that_were_carried_forward_are_left_out() -> None:
    stale = {"ok": False, "last_verified": "2026-07-01T05:00:00Z", "stale": True, "error": "HTTP 403"}
    read = parse(page(day(row("vultr", "l40s", 1.67, vram_gb=48), row("x", "h100-sxm", 2), vultr=stale)))
    assert [offer.provider for offer in read.offers] == ["x-via-gpurentalprices"]
    (finding,) = read.findings
    assert (finding.code, finding.evidence["provider"], finding.evidence["error"]) == (
        "carried_forward",
        "vultr",
        "HTTP 403",
    )


def test_one_name_at_two_prices_is_left_out_and_at_one_price_it_stands_once() -> None:
    rows = [row("runpod", "v100", usd, vram_gb=16, kind="community") for usd in (0.19, 0.23)]
    rows += [row("runpod", "rtx-3090", 0.46, vram_gb=24, kind="secure")] * 2
    read = parse(page(day(*rows)))
    assert [offer.sku for offer in read.offers] == ["rtx-3090 24 GB"]
    assert [f.evidence["prices"] for f in read.findings if f.code == "several_prices"] == ["0.19, 0.23"]


def test_dollars_that_were_euros_say_so() -> None:
    (offer,) = parse(page(day(row("scaleway", "l4", 0.9129, vram_gb=24)))).offers
    assert "prices in EUR" in offer.assumptions[1]
    assert (offer.currency, offer.list_price) == ("USD", Decimal("0.9129"))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<html>", "not_json"),
        (b"[]", "not_a_day"),
        (b'{"date": "2026-07-05", "offers": [], "providers": {}}', "not_a_day"),
        (b'{"date": "d", "generated_at": "g", "offers": [1], "providers": {}}', "not_a_day"),
        (day(row("x", "h100-sxm", 2, colour="red")), "unknown_field"),
        (day({"provider": "x", "gpu": "h100-sxm"}), "unknown_field"),
        (day(row("x", "h100-sxm", 2, kind="reserved")), "unknown_kind"),
        (day(row("x", "h100-sxm", 0)), "unreadable_cell"),
        (day(row("x", "h100-sxm", "2.00")), "unreadable_cell"),
        (day(row("x", "", 2)), "unreadable_cell"),
        (day(row("x", "h100-sxm", float("nan"))), "unreadable_cell"),
        (day(row("x", "h100-sxm", 2, min_gpus=0)), "unreadable_cell"),
    ],
)
def test_what_is_no_day_of_the_aggregator_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(ParseError) as refused:
        parse(page(body))
    assert refused.value.code == code


def test_later_files_have_more_fields() -> None:
    more = {"availability": "high", "instance": "1x", "source_quote": "$2", "region": "eu-1"}
    (offer,) = parse(page(day(row("x", "h100-sxm", 2, **more)))).offers
    assert offer.region == "eu-1"
    assert SCRAPER.requests == ()
