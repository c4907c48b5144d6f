"""What an offer comes to: the fewest GPUs that hold a batch, whole instances, no cost without a fit."""

from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.listing import StoredOffer
from app.domain.llms.cost_query import CostQuery, in_order, serving_of
from app.domain.llms.costs import (
    DoesNotFit,
    Money,
    OfferCost,
    Priced,
    card_bounds,
    offer_costs,
    rental_of,
)
from app.domain.llms.facts import load_llms
from app.domain.llms.unknown import Unknown
from app.domain.offers import usd_micros_per_gpu_hour
from app.domain.rows import Row, make_row
from tests.make import make_offer

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LLAMA = load_llms()["meta-llama/Meta-Llama-3.1-70B"].profile
DEEPSEEK = load_llms()["deepseek-ai/DeepSeek-V3"].profile


def row(card: str | None, price: str, *, number: int = 1, **more: Any) -> Row:
    """Make a row of the board: one offer of a card at a price for one GPU for one hour."""
    offer = make_offer(accelerator=card, list_price=Decimal(price), **more)
    stored = StoredOffer(
        offer=offer,
        offer_id=number,
        usd_micros_per_gpu_hour=usd_micros_per_gpu_hour(offer),
        price_valid_from=NOW,
        announced_since_page=False,
        first_seen_at=NOW,
        last_seen_at=NOW,
        observed_at=NOW,
        capture_sha256="0" * 64,
        next_price=None,
    )
    return make_row(stored, load_catalogue(), instant=NOW)


def costs(query: CostQuery, *rows: Row, profile: Any = LLAMA) -> list[OfferCost]:
    return offer_costs(serving_of(query, profile), rows)


def money(cost: OfferCost, batch: int = 0) -> Money:
    assert not isinstance(cost.batches, Unknown)
    found = cost.batches[batch]
    assert isinstance(found, Priced)
    assert isinstance(found.money, Money)
    return found.money


def test_seventy_gb_are_the_articles_ceilings_and_costs() -> None:
    query = CostQuery(
        weights_gb=Decimal(70), context=0, batch=(1,), memory_share=Decimal(1), overhead_gb=Decimal(0)
    )
    rows = [
        row("h100-sxm", "3.99"),
        row("h200-sxm", "5.29"),
        row("h100-pcie", "2.89"),
        row("b200-sxm", "7.99"),
    ]
    found = costs(query, *rows)
    # 3,350, 4,800, 2,000 and 8,000 over 70; a million dollars an hour over those times 3,600.
    assert [round(each.tokens_per_s or 0, 3) for each in found] == [
        Decimal("47.857"),
        Decimal("68.571"),
        Decimal("28.571"),
        Decimal("114.286"),
    ]
    assert [round(money(each).usd_per_mtok_output, 3) for each in found] == [
        Decimal("23.159"),
        Decimal("21.429"),
        Decimal("28.097"),
        Decimal("19.420"),
    ]


def test_a_pcie_card_of_80_gb_does_not_hold_70_gb_at_the_engines_share() -> None:
    query = CostQuery(weights_gb=Decimal(70), context=0, batch=(1,), cards=(1,))
    [cost] = costs(query, row("h100-pcie", "2.89"))
    assert isinstance(cost.first, DoesNotFit)
    # 70 + 3 GB against 0.9 x 80 GB of the label.
    assert cost.first.nearest.missing_bytes == Decimal(10**9)
    assert (cost.usd_per_mtok, cost.tokens_per_s, cost.gpus) == (None, None, None)


def test_a_batch_too_large_for_one_card_says_by_how_much_and_has_no_money() -> None:
    query = CostQuery(kv="fp8", context=4096, batch=(1, 128), cards=(1,))
    [cost] = costs(query, row("h200-sxm", "5.29"))
    assert not isinstance(cost.batches, Unknown)
    small, large = cost.batches
    assert isinstance(small, Priced)
    assert isinstance(large, DoesNotFit)
    # 128 x 671,088,640 B of cache beside 70,553,706,496 B of weights and 3 GB, in 0.9 of 140.4 GiB.
    usable = load_catalogue().by_id["h200-sxm"].memory_bytes
    room = Decimal(usable) * Decimal("0.9") - 70_553_706_496 - 3 * 10**9
    assert large.nearest.missing_bytes == 128 * 671_088_640 - room
    named = {part.name for part in fields(DoesNotFit)}
    assert named == {"batch", "failed"}


def test_the_fewest_gpus_are_found_for_each_batch_and_fewer_are_said_to_fail() -> None:
    query = CostQuery(kv="fp8", context=4096, batch=(1, 128))
    small, large = card_bounds(serving_of(query, LLAMA), load_catalogue().by_id["h200-sxm"])
    assert not isinstance(small, DoesNotFit)
    assert not isinstance(large, DoesNotFit)
    assert (small.gpus, small.failed) == (1, ())
    assert (large.gpus, [each.gpus for each in large.failed]) == (2, [1])


@pytest.mark.parametrize(
    ("gpu_count", "min_gpus", "used", "rented", "instances"),
    [
        (1, 1, 2, 2, 2),
        (8, 8, 1, 8, 1),
        (8, 8, 8, 8, 1),
        (8, 8, 16, 16, 2),
        (8, 64, 2, 64, 8),
        (3, 1, 4, 6, 2),
    ],
)
def test_whole_instances_are_rented(
    gpu_count: int, min_gpus: int, used: int, rented: int, instances: int
) -> None:
    offered = row("h100-sxm", "2", gpu_count=gpu_count, min_gpus=min_gpus)
    rental = rental_of(offered, used_gpus=used, usd_per_gpu_hour=Decimal(2))
    assert (rental.rented_gpus, rental.instances) == (rented, instances)
    assert (rental.usd_per_hour, rental.used_usd_per_hour) == (2 * rented, 2 * used)


def test_an_instance_of_eight_costs_eight_and_says_what_one_alone_comes_to() -> None:
    query = CostQuery(context=4096, batch=(1,))
    one, eight = costs(query, row("h200-sxm", "5"), row("h200-sxm", "5", gpu_count=8, min_gpus=8))
    assert money(eight).usd_per_mtok_output == 8 * money(one).usd_per_mtok_output
    assert money(eight).used_usd_per_mtok_output == money(one).usd_per_mtok_output


def test_half_the_use_costs_twice_and_an_api_is_held_against_full_use() -> None:
    full = CostQuery(context=4096, batch=(1,), api=Decimal("0.32"))
    half = full.replace(utilisation=Decimal("0.5"))
    offered = row("h200-sxm", "5.29")
    [a], [b] = costs(full, offered), costs(half, offered)
    assert money(b).usd_per_mtok_output == 2 * money(a).usd_per_mtok_output
    assert money(a).against_api == money(b).against_api
    api = money(a).against_api
    assert api is not None
    # One H200 at $5.29 against $0.32 a million needs 5.29 / 3,600 / 0.32 x 10^6 tokens/s.
    assert round(api.tokens_per_s_needed, 0) == 4592
    assert not api.can_pay


def test_input_and_output_are_blended_by_their_ratio() -> None:
    query = CostQuery(context=4096, batch=(8,), ratio=Decimal(10))
    [cost] = costs(query, row("h200-sxm", "5.29"))
    found = money(cost)
    expected = (10 * found.usd_per_mtok_input + found.usd_per_mtok_output) / 11
    assert found.usd_per_mtok_blended == pytest.approx(expected)
    # What a million of both costs is what the seconds of both cost: the hour is paid for once.
    batch = cost.first
    assert isinstance(batch, Priced)
    served = batch.ceiling.served
    assert not isinstance(served.prefill, Unknown)
    assert not isinstance(served.decode, Unknown)
    seconds = 10**6 * (
        Decimal(10) / 11 / served.prefill.tokens_per_s + Decimal(1) / 11 / served.decode.tokens_per_s
    )
    assert found.usd_per_mtok_blended == pytest.approx(seconds * Decimal("5.29") / 3600)


def test_what_is_not_known_has_its_reason_and_comes_last() -> None:
    query = CostQuery(context=4096, batch=(1,), cards=(1,))
    rows = [
        row(None, "0.1", number=1, accelerator_as_written="Voodoo 2", family=None),
        row("h100-pcie", "1", number=2),
        row("h200-sxm", "9", number=3),
        row("b200-sxm", "9", number=4, is_floor=True),
        row("h200-sxm", "4", number=5),
    ]
    found = costs(query, *rows)
    ordered = in_order(found, query)
    assert [each.row.stored.offer_id for each in ordered] == [5, 3, 2, 1, 4]
    unknown, floor = ordered[3], ordered[4]
    assert isinstance(unknown.batches, Unknown)
    assert unknown.batches.why == "the variant behind 'Voodoo 2' is not known"
    assert isinstance(floor.usd_per_gpu_hour, Unknown)
    assert "floor" in floor.usd_per_gpu_hour.why
    assert floor.tokens_per_s is not None
    downwards = in_order(found, replace(query, sort="-usd_per_mtok"))
    assert [each.row.stored.offer_id for each in downwards] == [3, 5, 2, 1, 4]


def test_deepseek_v3_in_fp8_takes_eight_h200() -> None:
    [cost] = costs(CostQuery(batch=(1,)), row("h200-sxm", "5.29"), profile=DEEPSEEK)
    assert cost.gpus == 8
    [on_four] = costs(CostQuery(batch=(1,), cards=(4,)), row("h200-sxm", "5.29"), profile=DEEPSEEK)
    assert isinstance(on_four.first, DoesNotFit)
