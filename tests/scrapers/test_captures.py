"""Each parser against pages with hand-written answers: our own small ones, and those in ../shared."""

import csv
from collections import Counter
from decimal import Decimal

import pytest

from app.domain.offers import Offer
from scrapers import SCRAPERS, Page, ParseError
from tests.scrapers.truth import (
    NOT_RUN,
    SHARED,
    SHARED_PAGES,
    golden_rows,
    golden_truth,
    our_page,
    our_rows,
    page,
    shared_page,
    taken,
)

PROVIDERS = sorted(SHARED_PAGES)
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=NOT_RUN)


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
    }


@pytest.mark.parametrize("provider", PROVIDERS)
def test_our_page_gives_exactly_the_offers_written_beside_it(provider: str) -> None:
    parsed = SCRAPERS[provider].parse(our_page(provider))
    assert sorted(map(str, map(as_row, parsed.offers))) == sorted(map(str, our_rows(provider)))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_offer_keeps_where_it_was_read(provider: str) -> None:
    source = our_page(provider)
    for offer in SCRAPERS[provider].parse(source).offers:
        assert offer.source_url == source.url
        assert str(offer.list_price) in offer.fragment
        assert " > " in offer.fragment
        assert offer.provider == provider
        assert offer.min_gpus == offer.gpu_count


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_same_bytes_give_the_same_offers(provider: str) -> None:
    parse = SCRAPERS[provider].parse
    assert parse(our_page(provider)) == parse(our_page(provider))


@needs_shared
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stored_page_gives_the_golden_rows_and_no_other(provider: str) -> None:
    assert taken(SCRAPERS[provider].parse(shared_page(provider)).offers) == golden_truth(provider)


@needs_shared
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stored_page_gives_memory_count_and_floors_as_the_golden_says(provider: str) -> None:
    offers = SCRAPERS[provider].parse(shared_page(provider)).offers
    name = "gpu_model_as_written" if provider == "runpod" else "offer_name_as_written"
    golden = Counter(
        (row[name], row["gpu_count"], row["memory_gb_if_stated"], "floor price" in row["notes"])
        for row in golden_rows(provider)
        if row["price_usd_per_gpu_hour"]
    )
    found = Counter(
        (one.accelerator_as_written, str(one.gpu_count), str(one.memory_gb_as_written or ""), one.is_floor)
        for one in offers
    )
    assert found == golden


@needs_shared
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stored_page_gives_the_form_factor_the_golden_states(provider: str) -> None:
    stated = {"SXM": "-sxm", "HGX": "-sxm", "PCIe": "-pcie", "NVL": "-nvl"}
    name = "gpu_model_as_written" if provider == "runpod" else "offer_name_as_written"
    form = {row[name]: stated.get(row["form_factor_if_stated"], "") for row in golden_rows(provider)}
    for offer in SCRAPERS[provider].parse(shared_page(provider)).offers:
        if form[offer.sku]:
            assert form[offer.sku] in f"{offer.accelerator}", offer.sku


@needs_shared
@pytest.mark.parametrize("provider", ["coreweave", "nebius"])
def test_offers_without_a_price_are_findings(provider: str) -> None:
    findings = SCRAPERS[provider].parse(shared_page(provider)).findings
    found = {(one.evidence["name"], one.evidence["region"]) for one in findings if one.code == "contact_only"}
    golden = {
        (row["offer_name_as_written"], row["region"])
        for row in golden_rows(provider)
        if not row["price_usd_per_gpu_hour"]
    }
    assert found == golden


@needs_shared
@pytest.mark.parametrize("provider", ["coreweave", "nebius"])
def test_no_trap_is_an_offer(provider: str) -> None:
    path = (SHARED / "captures" / SHARED_PAGES[provider]).with_suffix(".traps.csv")
    with path.open(encoding="utf-8", newline="") as file:
        traps = {row["item_as_written"] for row in csv.DictReader(file)}
    offers = SCRAPERS[provider].parse(shared_page(provider)).offers
    assert not {offer.sku for offer in offers} & (
        traps - {row["offer_name_as_written"] for row in golden_rows(provider)}
    )
    assert all(offer.gpu_count in {1, 4, 8} for offer in offers)


@needs_shared
def test_runpods_left_over_prices_are_no_offers() -> None:
    path = SHARED / "captures" / "runpod" / "2026-09-graphql-gpuTypes.traps.csv"
    with path.open(encoding="utf-8", newline="") as file:
        traps = list(csv.DictReader(file))
    offers = SCRAPERS["runpod"].parse(shared_page("runpod")).offers
    prices = {(one.sku, f"{one.tier}Price", one.list_price) for one in offers}
    for trap in traps:
        key, _, value = trap["value_as_written"].partition("=")
        assert (trap["item_as_written"], key, Decimal(value)) not in prices


@needs_shared
def test_runpods_answer_without_the_cloud_flags_is_refused() -> None:
    body = (SHARED / "captures" / "runpod" / "2026-09-graphql-gpuTypes.json").read_bytes()
    with pytest.raises(ParseError, match="secureCloud") as refusal:
        SCRAPERS["runpod"].parse(page("runpod", body))
    assert refusal.value.code == "missing_cloud_flags"


@needs_shared
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stored_page_fulfils_what_its_scraper_expects(provider: str) -> None:
    scraper = SCRAPERS[provider]
    offers = scraper.parse(shared_page(provider)).offers
    assert scraper.expect.min_offers <= len(offers)
    assert scraper.expect.min_offers >= 0.75 * len(offers)
    assert set(scraper.expect.anchors) <= {offer.accelerator for offer in offers}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"<html></html>", b"\xff\xfe", b"{}", b"Access denied"]
)
def test_a_page_of_another_kind_is_refused(provider: str, body: bytes) -> None:
    source = our_page(provider)
    with pytest.raises(ParseError):
        SCRAPERS[provider].parse(Page(url=source.url, body=body, fetched_at=source.fetched_at))
