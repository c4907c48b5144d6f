"""The provider facts and the published price table of 2026-10-30 say what their sources say."""

from __future__ import annotations

import csv
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.aliases import resolve
from app.domain.cells import packaged_lines
from app.domain.offers import PriceBasis, PricingModel, ServiceKind
from app.domain.providers import is_on, load_providers, parse_providers

SHARED = Path(__file__).resolve().parents[3] / "shared"
NEEDS_SHARED = pytest.mark.skipif(not SHARED.is_dir(), reason="not run: ../shared is not here")
PROVIDERS = load_providers()


def price_table() -> list[dict[str, str]]:
    return list(csv.DictReader(packaged_lines("price_table_2026-10-30.csv")))


def test_the_ten_providers_of_the_articles() -> None:
    assert list(PROVIDERS) == [
        "runpod", "coreweave", "nebius", "modal", "together", "deepinfra", "fireworks", "vast", "lambda",
        "baseten",
    ]  # fmt: skip
    assert PROVIDERS["together"].name == "Together AI"


def test_sources_whose_terms_are_said_to_forbid_collection_are_off() -> None:
    off = [provider.id for provider in PROVIDERS.values() if not provider.enabled_by_default]
    assert off == ["runpod", "vast"]
    assert "2026-03-24" in PROVIDERS["runpod"].terms_note
    assert "2026-09-01" in PROVIDERS["vast"].terms_note
    assert all(provider.source and provider.terms_note for provider in PROVIDERS.values())
    # Whoever is to read them must be told where they stand.
    assert all(provider.terms_url for provider in PROVIDERS.values() if not provider.enabled_by_default)


@pytest.mark.parametrize(
    ("provider", "switched", "enabled", "on"),
    [
        ("nebius", None, (), True),
        ("nebius", False, (), False),
        ("nebius", False, ("nebius",), True),
        ("runpod", None, (), False),
        ("runpod", True, (), True),
        ("runpod", None, ("runpod",), True),
    ],
)
def test_a_source_is_on_by_the_settings_else_the_switch_else_its_default(
    provider: str, *, switched: bool | None, enabled: tuple[str, ...], on: bool
) -> None:
    assert is_on(PROVIDERS[provider], switched=switched, enabled=enabled) is on


def test_only_vast_is_a_marketplace() -> None:
    assert [p.id for p in PROVIDERS.values() if p.kind == "marketplace"] == ["vast"]


def test_list_prices_are_read_daily_and_the_marketplace_more_often() -> None:
    assert {p.id: p.times_a_day for p in PROVIDERS.values() if p.times_a_day != 1} == {"vast": 4}


@pytest.mark.parametrize(
    ("provider", "kind"),
    [
        ("runpod", ServiceKind.POD),
        ("coreweave", ServiceKind.INSTANCE),
        ("modal", ServiceKind.SERVERLESS),
        ("deepinfra", ServiceKind.DEDICATED_DEPLOYMENT),
        ("fireworks", ServiceKind.DEDICATED_DEPLOYMENT),
        ("vast", ServiceKind.MARKETPLACE),
    ],
)
def test_what_each_rents(provider: str, kind: ServiceKind) -> None:
    assert PROVIDERS[provider].default_service_kind is kind


def test_variants_are_assumed_where_the_article_assumed_them() -> None:
    # "DeepInfra and Fireworks list their H100 only as 80 GB, so we assumed SXM."
    assert PROVIDERS["deepinfra"].assumed_variants["h100"] == "h100-sxm"
    assert PROVIDERS["fireworks"].assumed_variants["h100"] == "h100-sxm"
    assert "SXM" in PROVIDERS["deepinfra"].assumed_because
    assert not PROVIDERS["baseten"].assumed_variants
    assert not PROVIDERS["coreweave"].assumed_variants


def lines_with(column: str, value: str) -> list[str]:
    lines = packaged_lines("providers.csv")
    row = next(csv.DictReader(lines))
    row[column] = value
    return [lines[0], ",".join(f'"{row[title]}"' for title in lines[0].split(","))]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("pricing_url", "https://elsewhere.example/pricing"),
        ("home_url", "http://www.runpod.io/"),
        ("kind", "shop"),
        ("default_service_kind", "vm"),
        ("enabled_by_default", "maybe"),
        ("times_a_day", "5"),
        ("assumed_variants", "h100=b200-sxm"),
        ("assumed_because", "for no variant at all"),
        ("terms_note", ""),
        ("as_of", "soon"),
    ],
)
def test_a_bad_cell_is_named(column: str, value: str) -> None:
    with pytest.raises(ValueError, match=rf"providers\.csv, line 2, column {column}: "):
        parse_providers(lines_with(column, value))


def test_a_provider_stands_once() -> None:
    lines = packaged_lines("providers.csv")
    with pytest.raises(ValueError, match="line 3, column id: 'runpod' stands twice"):
        parse_providers([*lines[:2], lines[1]])


# The published table of 2026-10-30, as the article of 2026-11-02 prints it per provider:
# SXM H100, H200, B200 in US dollars per GPU and hour.
PRINTED = {
    "fireworks": ("8.00", "8.00", "13.00"),
    "coreweave": ("6.16", "6.31", "8.60"),
    "nebius": ("4.50", "5.40", "8.50"),
    "modal": ("3.95", "4.54", "6.25"),
    "deepinfra": ("2.90", "3.49", "4.89"),
    "runpod": ("3.99", "5.29", "7.99"),
    "together": ("3.99", "5.99", "8.19"),
}


def test_the_published_prices() -> None:
    on_demand = {
        (row["provider"], row["accelerator_as_written"]): row["list_price_usd"]
        for row in price_table()
        if row["pricing_model"] == "on_demand"
    }
    expected = {
        (provider, gpu): price
        for provider, prices in PRINTED.items()
        for gpu, price in zip(("H100 SXM", "H200", "B200"), prices, strict=True)
    }
    assert on_demand == {**expected, ("runpod", "H100 PCIe"): "2.89"}


def test_the_published_reserved_rates() -> None:
    reserved = [row for row in price_table() if row["pricing_model"] == "reserved"]
    assert [(r["provider"], r["accelerator_as_written"], r["list_price_usd"]) for r in reserved] == [
        ("together", "H100 SXM", "3.19"),
        ("together", "H200", "3.99"),
    ]
    assert all((row["term_days_min"], row["term_days_max"]) == ("91", "180") for row in reserved)


def test_the_table_speaks_our_vocabulary() -> None:
    assert len(price_table()) == 24
    for row in price_table():
        provider = PROVIDERS[row["provider"]]
        assert ServiceKind(row["service_kind"]) is provider.default_service_kind
        assert PriceBasis(row["price_basis"]) is PriceBasis.GPU_HOUR
        assert PricingModel(row["pricing_model"])
        assert row["observed_on"] == "2026-10-30"
        assert row["source_url"] == "https://inferprice.pages.dev/"
        assert row["list_price_usd"].rstrip("0").rstrip(".") in row["fragment"]
        assert row["gpu_count"] == row["min_gpus"] == ("8" if row["provider"] == "coreweave" else "1")


def test_every_published_row_names_an_accelerator_and_a_plausible_price() -> None:
    counts = Counter[str]()
    for row in price_table():
        accelerator_id = resolve(row["accelerator_as_written"], context="inferprice").accelerator
        accelerator = load_catalogue().get(accelerator_id or "")
        assert accelerator is not None
        price = Decimal(row["list_price_usd"])
        assert accelerator.usd_per_gpu_hour_min <= price <= accelerator.usd_per_gpu_hour_max
        counts[accelerator.id] += 1
    assert counts == {"h100-sxm": 8, "h200-sxm": 8, "b200-sxm": 7, "h100-pcie": 1}


def test_form_factors_assumed_in_the_published_table() -> None:
    assumed = [(r["provider"], r["sku"]) for r in price_table() if r["form_factor_assumed"] == "yes"]
    assert assumed == [("deepinfra", "H100 SXM"), ("fireworks", "H100 SXM")]
    for row in price_table():
        assert bool(row["assumption"]) == (row["form_factor_assumed"] == "yes")


@NEEDS_SHARED
def test_the_published_rows_equal_the_expected_table() -> None:
    with (SHARED / "expected" / "price_table_22.csv").open(encoding="utf-8", newline="") as file:
        expected = {
            (row["provider"], row["gpu"], Decimal(row["usd_per_gpu_hour"])) for row in csv.DictReader(file)
        }
    ours = {
        (PROVIDERS[row["provider"]].name, row["accelerator_as_written"], Decimal(row["list_price_usd"]))
        for row in price_table()
        if row["pricing_model"] == "on_demand"
    }
    assert ours == expected
