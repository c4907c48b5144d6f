"""Faults that really happened to collectors of GPU prices: each is held, the nearest right thing is not."""

import csv
import json
from dataclasses import replace
from decimal import Decimal

import pytest

from app.domain.findings import Level
from app.domain.offers import Offer, PriceBasis, PricingModel
from app.domain.providers import LIST_PRICE
from app.ingest.checks import check_offers
from scrapers.base import Expect
from tests.ingest.replay import SHARED
from tests.make import make_offer

ANY = Expect(min_offers=0)
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="not run: ../shared is not here")


def held(*offers: Offer, previous: tuple[Offer, ...] = ()) -> list[str]:
    """Return the codes of what holds these offers."""
    findings = check_offers(offers, ANY, kind=LIST_PRICE, previous=previous)
    return [finding.code for finding in findings if finding.level is Level.HOLD]


def gpu(family: str, variant: str, list_price: str) -> Offer:
    name = variant.upper()
    return make_offer(
        sku=name, accelerator=variant, family=family, accelerator_as_written=name, list_price=list_price
    )


def test_one_round_figure_left_behind_for_many_gpus() -> None:
    """RunPod keeps 0.50 where a cloud does not sell the GPU; a collector recorded H200 so 2,017 times."""
    real = gpu("rtx-3090", "rtx-3090", "0.50")
    left = [gpu("h200", "h200-sxm", "0.50"), gpu("mi300x", "mi300x", "0.50"), gpu("l40", "l40", "0.50")]
    assert held(real) == []
    assert "one_price_for_many" in held(real, *left)
    assert "one_price_for_many" not in held(*left)
    assert "one_price_for_many" not in held(real, *left[:2], gpu("l40", "l40", "0.51"))
    # In another cloud the same figure is another list.
    assert "one_price_for_many" not in held(real, *(replace(each, tier="community") for each in left))


@needs_shared
def test_the_left_over_prices_of_a_stored_answer_taken_as_offers() -> None:
    """Eleven of RunPod's prices are leftovers of exactly 0.50; taken as offers they hold the run."""
    stored = SHARED / "runpod" / "2026-09-graphql-gpuTypes"
    with stored.with_suffix(".traps.csv").open(encoding="utf-8", newline="") as file:
        traps = [row for row in csv.DictReader(file) if row["value_as_written"].endswith("=0.5")]
    assert len(traps) == 11
    answer = json.loads(stored.with_suffix(".json").read_text(encoding="utf-8"))
    assert {row["item_as_written"] for row in traps} <= {each["id"] for each in answer["data"]["gpuTypes"]}
    taken = [
        make_offer(
            sku=row["item_as_written"],
            accelerator=None,
            family=f"family-{number}",
            list_price="0.50",
            tier=row["value_as_written"].partition("=")[0],
        )
        for number, row in enumerate(traps)
    ]
    assert "one_price_for_many" in held(*taken)


def test_the_total_of_a_term_labelled_one_hour() -> None:
    """Azure's retail list gives 551,221 with the unit "1 Hour" for a reservation of years."""
    total = make_offer(list_price="551221", gpu_count=8, price_basis=PriceBasis.INSTANCE_HOUR)
    assert held(total) == ["price_outside_band"]
    # Read as the total of three years for 8 GPUs it is 551,221 / (3 x 365 x 24 x 8) = 2.62 dollars.
    term = replace(
        total,
        price_basis=PriceBasis.INSTANCE_TERM,
        pricing_model=PricingModel.RESERVED,
        term_days_min=1095,
        term_days_max=1095,
    )
    assert held(term) == []


def h200(list_price: str, written: str, *, sku: str = "H200", memory_gb: int | None = None) -> Offer:
    return make_offer(
        sku=sku,
        accelerator="h200-sxm",
        family="h200",
        accelerator_as_written=written,
        list_price=list_price,
        memory_gb_as_written=None if memory_gb is None else Decimal(memory_gb),
    )


def test_a_gh200_offered_under_the_name_h200() -> None:
    """A collector filed Lambda's GH200 at 2.29 under H200, since "H200" is inside "GH200"."""
    assert held(h200("2.29", "1x GH200 (96 GB)", sku="gpu_1x_gh200")) == ["names_another_gpu"]
    assert held(h200("2.29", "H200", memory_gb=96)) == ["memory_not_of_accelerator"]
    assert held(h200("3.99", "H200, faster than H100", memory_gb=141)) == []


@pytest.mark.parametrize(
    ("name", "family", "variant"),
    [("L40S", "l4", "l4"), ("A100 80GB", "a10", "a10"), ("GB200 NVL72", "b200", "b200-sxm")],
)
def test_a_name_inside_another_name(name: str, family: str, variant: str) -> None:
    taken = make_offer(
        sku=name, accelerator=variant, family=family, accelerator_as_written=name, list_price="1.99"
    )
    assert "names_another_gpu" in held(taken)


@pytest.mark.parametrize(
    ("what", "list_price", "basis"),
    [
        ("a second's price read as an hour's", "0.001097", PriceBasis.GPU_HOUR),
        ("cents read as dollars", "299", PriceBasis.GPU_HOUR),
        ("an hour's price read as a second's", "3.95", PriceBasis.GPU_SECOND),
        ("an hour's price read as a minute's", "3.95", PriceBasis.GPU_MINUTE),
    ],
)
def test_a_figure_read_in_another_unit(what: str, list_price: str, basis: PriceBasis) -> None:
    assert held(make_offer(list_price=list_price, price_basis=basis)) == ["price_outside_band"], what


def test_a_cheap_card_in_cents_is_as_far_out() -> None:
    """A T4 at 0.35 is 35 in cents."""
    assert held(gpu("t4", "t4", "35")) == ["price_outside_band"]


def test_a_price_fallen_to_nothing() -> None:
    assert held(make_offer(list_price="0"), previous=(make_offer(),)) == [
        "price_not_above_zero",
        "price_moved",
    ]


def test_forty_of_forty_eight_offers_gone() -> None:
    before = tuple(make_offer(sku=f"SKU {number}") for number in range(48))
    assert held(*before[:8], previous=before) == ["offers_gone"]
    assert held(*before[:39], previous=before) == []


@pytest.mark.parametrize("count", [0, -1])
def test_a_gpu_in_a_number_of_none(count: int) -> None:
    """Marketplaces name a GPU and give 0 of it; everything per GPU would divide by it."""
    nothing = make_offer(gpu_count=count, price_basis=PriceBasis.INSTANCE_HOUR)
    assert held(nothing, make_offer(list_price="0")) == ["no_gpus"]


def test_spot_above_on_demand() -> None:
    """RunPod billed 0.49 for spot where on-demand was 0.44 (skypilot-org/skypilot#4914)."""
    on_demand, spot = make_offer(list_price="0.44"), make_offer(list_price="0.49")
    assert held(on_demand, replace(spot, pricing_model=PricingModel.SPOT)) == ["spot_above_on_demand"]


def test_floors_are_told_and_hold_nothing() -> None:
    findings = check_offers([make_offer(is_floor=True), make_offer(sku="other")], ANY)
    assert [(each.code, each.level) for each in findings] == [("floor_prices", Level.INFO)]
    assert findings[0].sentence == '1 of 2 prices are floors ("from") and shown as such.'


def test_most_prices_at_once_by_however_little() -> None:
    """Seven of ten providers moved no price in 34 to 49 days: all at once is an old page or another table."""
    before = tuple(make_offer(sku=f"SKU {number}", list_price="2.00") for number in range(8))
    later = tuple(make_offer(sku=f"SKU {number}", list_price="2.10") for number in range(8))
    assert held(*later, previous=before) == ["most_prices_moved"]
    assert held(*later[:5], *before[5:], previous=before) == ["most_prices_moved"]
    assert held(*later[:4], *before[4:], previous=before) == []
    # Three prices are too few to say "most", and a price written another way has not moved.
    assert held(*later[:3], previous=before[:3]) == []
    same = tuple(make_offer(sku=each.sku, list_price="2.000") for each in before)
    assert held(*same, previous=before) == []
