"""Each check both ways: what it holds, and the nearest thing it lets pass."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from app.domain.findings import Level
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.domain.providers import LIST_PRICE, MARKETPLACE
from app.ingest.checks import CHECKS, check_offers
from scrapers.base import Expect
from tests.make import make_offer

ANY = Expect(min_offers=0)
SPOT = PricingModel.SPOT
RESERVED = PricingModel.RESERVED


def codes(
    *offers: Offer, expect: Expect = ANY, kind: str = LIST_PRICE, previous: tuple[Offer, ...] = ()
) -> list[str]:
    return [finding.code for finding in check_offers(offers, expect, kind=kind, previous=previous)]


def h100(list_price: str = "2.99", **fields: object) -> Offer:
    return make_offer(list_price=list_price, **fields)


def a_hundred(*, list_price: str = "2.99", first: int = 0) -> tuple[Offer, ...]:
    return tuple(h100(list_price, sku=f"SKU {number}") for number in range(first, first + 100))


def test_nothing_is_wrong_with_an_ordinary_offer() -> None:
    assert codes(h100()) == []


def test_a_finding_says_what_and_shows_it() -> None:
    (finding,) = check_offers([h100("0")], ANY)
    assert (finding.code, finding.level) == ("price_not_above_zero", Level.HOLD)
    assert finding.sentence == "The price of H100 SXM, 1 GPU, on_demand is 0."
    assert finding.evidence == {"printed": "0 USD gpu_hour", "fragment": "NVIDIA H100 SXM $2.99"}


# One run by itself. The H100 SXM is plausible from 0.20 to 30 USD, its family from 0.12 (accelerators.csv).

ONE_RUN = [
    ("enough offers", [h100()], Expect(min_offers=1), []),
    ("too few offers", [h100()], Expect(min_offers=2), ["too_few_offers"]),
    ("no offers", [], Expect(min_offers=1), ["too_few_offers"]),
    ("anchor there", [h100()], Expect(min_offers=1, anchors=("h100-sxm",)), []),
    ("anchor missing", [h100()], Expect(min_offers=1, anchors=("h200-sxm",)), ["missing_anchor"]),
    ("free", [h100("0")], ANY, ["price_not_above_zero"]),
    ("negative", [h100("-1")], ANY, ["price_not_above_zero"]),
    ("lowest plausible", [h100("0.20")], ANY, []),
    ("cents read as dollars", [h100("0.19")], ANY, ["price_outside_band"]),
    ("highest plausible", [h100("30")], ANY, []),
    ("an 8-GPU total read as one GPU", [h100("49.24")], ANY, ["price_outside_band"]),
    (
        "the same total as a total",
        [h100("49.24", gpu_count=8, price_basis=PriceBasis.INSTANCE_HOUR)],
        ANY,
        [],
    ),
    ("a second read as an hour", [h100("0.001097")], ANY, ["price_outside_band"]),
    ("the same second as a second", [h100("0.001097", price_basis=PriceBasis.GPU_SECOND)], ANY, []),
    (
        "a spot floor too low",
        [h100("0.01", pricing_model=SPOT, is_floor=True)],
        ANY,
        ["price_outside_band", "floor_prices"],
    ),
    ("variant unknown, in the family's band", [h100("0.13", accelerator=None)], ANY, []),
    (
        "variant unknown, below the family's band",
        [h100("0.05", accelerator=None)],
        ANY,
        ["price_outside_band"],
    ),
    ("all unknown, plausible for something", [h100("0.05", accelerator=None, family=None)], ANY, []),
    (
        "all unknown, a month's price",
        [h100("2190", accelerator=None, family=None)],
        ANY,
        ["price_outside_band"],
    ),
    ("a slice has no band", [h100("0.05", accelerator=None, slice_of="h100-sxm")], ANY, []),
    ("rupees have no band", [h100("250", currency="INR")], ANY, []),
    ("memory of the card", [h100(memory_gb_as_written=Decimal(80))], ANY, []),
    (
        "memory of the whole machine",
        [h100(memory_gb_as_written=Decimal(640))],
        ANY,
        ["memory_not_of_accelerator"],
    ),
    ("memory of the host", [h100(memory_gb_as_written=Decimal(200))], ANY, ["memory_not_of_accelerator"]),
    ("memory of a sister card", [h100(accelerator=None, memory_gb_as_written=Decimal(94))], ANY, []),
    (
        "memory of a slice",
        [h100(accelerator=None, slice_of="h100-sxm", memory_gb_as_written=Decimal(40))],
        ANY,
        [],
    ),
    ("no name", [h100(accelerator_as_written="NVIDIA ")], ANY, ["no_accelerator_name"]),
    ("a name", [h100(accelerator_as_written="NVIDIA H100")], ANY, []),
    ("twice", [h100(), h100("3.10")], ANY, ["duplicate_offer"]),
    ("now and later", [h100(), h100("3.10", valid_from=date(2026, 11, 16))], ANY, []),
    (
        "twice later",
        [h100("3", valid_from=date(2026, 11, 16)), h100(valid_from=date(2026, 11, 16))],
        ANY,
        ["duplicate_offer"],
    ),
]


@pytest.mark.parametrize(
    ("offers", "expect", "expected"), [pytest.param(*case[1:], id=case[0]) for case in ONE_RUN]
)
def test_one_run(offers: list[Offer], expect: Expect, expected: list[str]) -> None:
    assert codes(*offers, expect=expect) == expected


# Offers of one run against each other. CoreWeave's HGX H100 was 49.24 USD for 8, which is 6.155 each.


def eight(list_price: str, basis: PriceBasis, **fields: object) -> Offer:
    return h100(list_price, gpu_count=8, price_basis=basis, **fields)


TOGETHER = [
    (
        "a total and its share",
        [eight("49.24", PriceBasis.INSTANCE_HOUR), eight("6.16", PriceBasis.GPU_HOUR, min_gpus=8)],
        [],
    ),
    (
        "a total and another share",
        [eight("49.24", PriceBasis.INSTANCE_HOUR), eight("6.31", PriceBasis.GPU_HOUR, min_gpus=8)],
        ["total_not_count_times_price"],
    ),
    ("spot below", [h100("2.99"), h100("1.99", pricing_model=SPOT)], []),
    ("spot equal", [h100("2.99"), h100("2.99", pricing_model=SPOT)], []),
    ("spot above", [h100("0.44"), h100("0.49", pricing_model=SPOT)], ["spot_above_on_demand"]),
    ("reserved above", [h100("2.99"), h100("3.19", pricing_model=RESERVED)], ["reserved_above_on_demand"]),
    ("spot above in another region", [h100("2.99"), h100("3.19", pricing_model=SPOT, region="eu")], []),
    ("spot above of another class", [h100("2.99"), h100("3.19", pricing_model=SPOT, tier="secure")], []),
    (
        "spot above of another service",
        [h100("2.99"), h100("3.19", pricing_model=SPOT, service_kind=ServiceKind.SERVERLESS)],
        [],
    ),
    (
        "spot above today's, below the announced",
        [h100("2.99"), h100("3.29", valid_from=date(2026, 11, 16)), h100("3.19", pricing_model=SPOT)],
        ["spot_above_on_demand"],
    ),
    (
        "a total that grows",
        [h100("2.99"), eight("23.92", PriceBasis.INSTANCE_HOUR)],
        [],
    ),
    (
        "a discount for eight",
        [h100("2.99"), eight("2.49", PriceBasis.GPU_HOUR)],
        [],
    ),
    (
        "eight for the price of one",
        [h100("2.99"), eight("2.99", PriceBasis.INSTANCE_HOUR)],
        ["total_does_not_grow"],
    ),
    (
        "eight for the price of one in another region",
        [h100("2.99"), eight("2.99", PriceBasis.INSTANCE_HOUR, region="eu")],
        [],
    ),
]


@pytest.mark.parametrize(("offers", "expected"), [pytest.param(*case[1:], id=case[0]) for case in TOGETHER])
def test_offers_against_each_other(offers: list[Offer], expected: list[str]) -> None:
    assert codes(*offers) == expected


# Against the run before.

BEFORE = [
    ("rose by 40 %", [h100("1.40")], [h100("1.00")], []),
    ("rose by more", [h100("1.41")], [h100("1.00")], ["price_moved"]),
    ("fell by 40 %", [h100("0.60")], [h100("1.00")], []),
    ("fell by more", [h100("0.59")], [h100("1.00")], ["price_moved"]),
    ("same price, other basis", [h100("0.0166667", price_basis=PriceBasis.GPU_MINUTE)], [h100("1.00")], []),
    ("rupees rose", [h100("141", currency="INR")], [h100("100", currency="INR")], ["price_moved"]),
    ("other currency", [h100("250", currency="INR")], [h100("2.99")], []),
    ("a new offer", [h100(), h100("9", sku="new")], [h100()], []),
    (
        "the old column still there after the announced price began",
        [h100("3.00"), h100("9.50", valid_from=date(2026, 11, 16))],
        [h100("9.50")],
        [],
    ),
]


@pytest.mark.parametrize(
    ("offers", "previous", "expected"), [pytest.param(*case[1:], id=case[0]) for case in BEFORE]
)
def test_against_the_run_before(offers: list[Offer], previous: list[Offer], expected: list[str]) -> None:
    assert codes(*offers, previous=tuple(previous)) == expected


def test_the_move_is_said_in_words() -> None:
    (finding,) = check_offers([h100("2.00")], ANY, previous=[h100("1.00")])
    assert (
        finding.sentence == "The price of H100 SXM, 1 GPU, on_demand moved by +100% since the last good run."
    )
    assert finding.evidence == {"was": "1.00 USD gpu_hour", "now": "2.00 USD gpu_hour"}


def test_a_fifth_of_the_offers_gone_holds_the_run() -> None:
    assert codes(*a_hundred()[:81], previous=a_hundred()) == []
    assert codes(*a_hundred()[:80], previous=a_hundred()) == ["offers_gone"]
    assert codes(*a_hundred(first=20), previous=a_hundred()) == ["offers_gone"]


# A marketplace: no seller proves anything, median and count do.


def test_a_seller_may_ask_what_he_likes_but_the_median_may_not_jump() -> None:
    before = a_hundred(list_price="1.00")
    one_asks_more = (h100("5.00", sku="SKU 0"), *before[1:])
    assert codes(*one_asks_more, kind=MARKETPLACE, previous=before) == []
    assert codes(*a_hundred(list_price="1.40"), kind=MARKETPLACE, previous=before) == []
    assert codes(*a_hundred(list_price="1.41"), kind=MARKETPLACE, previous=before) == ["median_moved"]


def test_four_sellers_make_no_median() -> None:
    before, now = a_hundred(list_price="1.00"), a_hundred(list_price="2.00")
    assert codes(*now[:4], kind=MARKETPLACE, previous=before[:4]) == []
    assert codes(*now[:5], kind=MARKETPLACE, previous=before[:5]) == ["median_moved"]


def test_statistics_of_a_market_may_not_all_jump_at_once() -> None:
    """A marketplace is published as lowest and median ask per card: one row each, too few for a median."""
    cards = [("h100", "h100-sxm"), ("h200", "h200-sxm"), ("b200", "b200-sxm"), ("l4", "l4"), ("t4", "t4")]
    before = tuple(
        h100("1.00", sku=variant, family=family, accelerator=variant, accelerator_as_written=variant)
        for family, variant in cards
    )
    now = tuple(replace(each, list_price=Decimal("1.41")) for each in before)
    assert codes(*now, kind=MARKETPLACE, previous=before) == ["market_moved"]
    # One card's median rose by 58 % in a day of October 2026, and was real.
    assert codes(now[0], now[1], *before[2:], kind=MARKETPLACE, previous=before) == []
    assert codes(*now[:4], kind=MARKETPLACE, previous=before[:4]) == []


def test_sellers_come_and_go_but_not_half_of_them() -> None:
    before = a_hundred()
    assert codes(*a_hundred(first=500)[:51], kind=MARKETPLACE, previous=before) == []
    assert codes(*a_hundred(first=500)[:50], kind=MARKETPLACE, previous=before) == ["offers_gone"]


def test_in_a_market_spot_may_be_above_another_sellers_on_demand_price_and_eight_cheaper_than_one() -> None:
    one, spot = h100("2.99"), h100("3.19", pricing_model=SPOT)
    cheap_eight = eight("2.99", PriceBasis.INSTANCE_HOUR)
    assert codes(one, spot, kind=MARKETPLACE) == []
    assert codes(h100("2.99"), cheap_eight, kind=MARKETPLACE) == []


def test_a_broken_page_is_told_in_twenty_findings_and_a_count() -> None:
    findings = check_offers(a_hundred(list_price="0"), ANY)
    assert len(findings) == 21
    assert findings[-1].sentence == "The same holds for 80 more."


def test_every_check_is_in_the_list_once() -> None:
    assert len(set(CHECKS)) == len(CHECKS) == 17
