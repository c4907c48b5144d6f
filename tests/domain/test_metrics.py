"""Every figure against the numbers the article prints and fractions worked out by hand; unknowns say why."""

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest

from app.domain.board import Board
from app.domain.columns import COLUMNS, Fact
from app.domain.metrics import METRICS
from app.domain.offers import (
    Offer,
    PriceBasis,
    PricingModel,
    ServiceKind,
    usd_micros_per_gpu_hour,
    usd_per_gpu_hour,
    usd_per_instance_hour,
)
from app.domain.query import OfferQuery
from tests.domain.article import (
    ARTICLE,
    CARDS,
    PRICES,
    SPECS,
    TABLE,
    board_of,
    figure,
    known,
    offer_of,
    row_of,
)
from tests.make import make_offer


def why(key: str, board: Board, **query: Any) -> str:
    [row] = board.rows
    view = board.view(OfferQuery(**query))
    assert METRICS[key].value(row, view) is None
    return METRICS[key].why_unknown(row, view)


def agrees(value: Decimal, fraction: Fraction) -> bool:
    """Tell whether a decimal is the fraction, rounded no earlier than its 28th digit."""
    return abs(Fraction(value) - fraction) <= abs(fraction) / 10**27


@pytest.mark.parametrize(("provider", "card", "price"), TABLE)
def test_the_22_rows_of_the_published_table(provider: str, card: str, price: str) -> None:
    row, usd = row_of(provider, card), Fraction(price)
    bandwidth, tflops = SPECS[card]
    ceiling = bandwidth * 1000 / 70
    expected = {
        "usd_per_gpu_hour": usd,
        "usd_per_instance_hour": usd,
        "usd_per_tbs_hour": usd / bandwidth,
        "usd_per_pflop_hour": usd / Fraction(tflops, 1000),
        "ops_per_byte": tflops / bandwidth,
        "decode_ceiling_tokens_per_s": ceiling,
        "usd_per_mtok_at_ceiling": usd / (ceiling * 3600) * 1_000_000,
        "memory_bandwidth_tb_s": bandwidth,
        "dense_pflops": Fraction(tflops, 1000),
    }
    for key, fraction in expected.items():
        assert agrees(known(key, row), fraction), key


# Printed by the article: "about 591 ..., 412 for an H200, 562 for a B200"; 562.5 before rounding.
@pytest.mark.parametrize(
    ("card", "exact", "digits"),
    [
        ("h100-sxm", Fraction(1979) / Fraction(335, 100), "590.746"),
        ("h200-sxm", Fraction(1979) / Fraction(48, 10), "412.292"),
        ("b200-sxm", Fraction(4500) / 8, "562.500"),
    ],
)
def test_the_ridge_points(card: str, exact: Fraction, digits: str) -> None:
    value = known("ops_per_byte", row_of("runpod", card))
    assert agrees(value, exact)
    assert f"{value:.3f}" == digits


# From the article: "The break-even is 4.8 / 3.35 ... under 1.43"; "caps an H100 at 47.9 tokens/s and an
# H200 at 68.6"; "$23.16 per million tokens on the H100 and $21.43 on the H200"; "you pay $1.45 per
# TB/s-hour".
@pytest.mark.parametrize(
    ("key", "card", "digits", "printed"),
    [
        ("breakeven_multiple", "h200-sxm", "1.4328", "1.43"),
        ("decode_ceiling_tokens_per_s", "h100-sxm", "47.857", "47.9"),
        ("decode_ceiling_tokens_per_s", "h200-sxm", "68.571", "68.6"),
        ("usd_per_mtok_at_ceiling", "h100-sxm", "23.159", "23.16"),
        ("usd_per_mtok_at_ceiling", "h200-sxm", "21.429", "21.43"),
        ("usd_per_tbs_hour", "h100-pcie", "1.445", "1.45"),
    ],
)
def test_the_figures_the_article_prints(key: str, card: str, digits: str, printed: str) -> None:
    value = known(key, row_of("runpod", card), baseline="h100-sxm")
    places = len(digits.partition(".")[2])
    assert f"{value:.{places}f}" == digits
    shown = value.quantize(Decimal(1).scaleb(-len(printed.partition(".")[2])), ROUND_HALF_UP)
    assert str(shown) == printed


# The article's table of seven providers, dollars per TB/s-hour: H100 SXM, H200, B200.
@pytest.mark.parametrize(
    ("provider", "printed"),
    [
        ("fireworks", ("2.39", "1.67", "1.62")),
        ("coreweave", ("1.84", "1.31", "1.07")),
        ("nebius", ("1.34", "1.13", "1.06")),
        ("modal", ("1.18", "0.95", "0.78")),
        ("deepinfra", ("0.87", "0.73", "0.61")),
        ("runpod", ("1.19", "1.10", "1.00")),
        ("together", ("1.19", "1.25", "1.02")),
    ],
)
def test_the_21_cells_of_the_seven_providers(provider: str, printed: tuple[str, ...]) -> None:
    values = [known("usd_per_tbs_hour", row_of(provider, card)) for card in CARDS]
    # The article's program formats a double, which rounds a half either way: two digits, half a cent.
    assert all(
        abs(value - Decimal(text)) <= Decimal("0.005") for value, text in zip(values, printed, strict=True)
    )
    assert min(values) == values[2], "the B200 is the cheapest row at each of the seven"


def test_the_h200_wins_at_six_of_seven_while_its_price_multiple_is_below_the_break_even() -> None:
    won = {}
    for provider in PRICES:
        h100, h200 = row_of(provider, "h100-sxm"), row_of(provider, "h200-sxm")
        wins = known("usd_per_tbs_hour", h200) < known("usd_per_tbs_hour", h100)
        multiple = known("price_multiple", h200, baseline="h100-sxm")
        assert wins == (multiple < known("breakeven_multiple", h200, baseline="h100-sxm"))
        won[provider] = wins
    assert [provider for provider, wins in won.items() if not wins] == ["together"]
    assert f"{known('price_multiple', row_of('together', 'h200-sxm'), baseline='h100-sxm'):.2f}" == "1.50"


def test_together_s_reserved_rates_reverse_the_order() -> None:
    """Its 91 to 180 day rates, 3.19 and 3.99: "the H200 costs 1.25 times the H100 and wins"."""
    terms = {"pricing_model": PricingModel.RESERVED, "term_days_min": 91, "term_days_max": 180}
    board = board_of(
        offer_of("together", "h100-sxm", "3.19", **terms),
        offer_of("together", "h200-sxm", "3.99", **terms),
        offer_of("together", "h100-sxm", "3.99"),  # on demand: another term never serves as the baseline
    )
    row = row_of("together", "h200-sxm", board)
    value = figure("price_multiple", row, board, baseline="h100-sxm")
    assert value is not None
    assert agrees(value, Fraction(399, 319))


def test_the_pcie_card_is_the_trap() -> None:
    at_runpod = [row for row in ARTICLE.rows if row.offer.provider == "runpod"]
    by_hour = min(at_runpod, key=lambda row: known("usd_per_gpu_hour", row))
    by_bandwidth = max(at_runpod, key=lambda row: known("usd_per_tbs_hour", row))
    assert by_hour is by_bandwidth
    assert by_hour.offer.accelerator == "h100-pcie"
    assert "dearer_per_tbs" in by_hour.flags
    assert [row.offer.accelerator for row in ARTICLE.rows if "dearer_per_tbs" in row.flags] == ["h100-pcie"]


# ---------------------------------------------------------------- unknown is unknown, and says why


def test_the_a100_has_no_fp8_and_borrows_no_other_rate() -> None:
    board = board_of(offer_of("acme", "a100-sxm-80", "1.50"))
    for key in ("usd_per_pflop_hour", "ops_per_byte", "dense_pflops"):
        assert why(key, board, precision="fp8") == "no dense fp8 rate is published for the A100 SXM 80 GB"
    # NVIDIA A100 data sheet: BF16 312 TFLOPS dense (624 with sparsity), INT8 624 TOPS, 2,039 GB/s.
    [row] = board.rows
    assert figure("dense_pflops", row, board, precision="bf16") == Decimal("0.312")
    assert figure("dense_pflops", row, board, precision="int8") == Decimal("0.624")
    assert figure("usd_per_tbs_hour", row, board, precision="fp8") is not None


DERIVED = ("usd_per_tbs_hour", "usd_per_pflop_hour", "usd_per_gb_hour", "usd_per_mtok_at_ceiling")


@pytest.mark.parametrize("key", DERIVED)
def test_a_floor_is_shown_but_nothing_is_derived_from_it(key: str) -> None:
    board = board_of(make_offer(is_floor=True, list_price="2.00"))
    assert figure("usd_per_gpu_hour", board.rows[0], board) == 2
    assert why(key, board).startswith("the price is a floor")


@pytest.mark.parametrize("key", [*DERIVED, "decode_ceiling_tokens_per_s", "memory_gb", "ops_per_byte"])
def test_a_slice_is_no_card(key: str) -> None:
    board = board_of(make_offer(accelerator=None, slice_of="h100-sxm", list_price="0.50"))
    assert why(key, board).startswith("this is a slice of h100-sxm")


def test_a_slice_has_a_price_by_the_instance_and_none_by_the_gpu_so_that_it_ranks_among_no_cards() -> None:
    """Half a dollar for part of a card stands after two dollars for a whole one, whichever way one sorts."""
    part = make_offer(provider="part", accelerator=None, slice_of="h100-sxm", list_price="0.50")
    board = board_of(part, make_offer(provider="whole", list_price="2.00"))
    assert figure("usd_per_gpu_hour", board.rows[0], board) is None
    assert why("usd_per_gpu_hour", board_of(part)) == (
        "this is a slice of h100-sxm, not a whole card: no price per whole GPU"
    )
    assert figure("usd_per_instance_hour", board.rows[0], board) == Decimal("0.5")
    for sort in ("usd_per_gpu_hour", "-usd_per_gpu_hour"):
        rows = board.select(OfferQuery(sort=sort)).rows
        assert [board.rows[number].offer.provider for number in rows] == ["whole", "part"]
    by_instance = board.select(OfferQuery(sort="usd_per_gpu_hour", per="instance")).rows
    assert [board.rows[number].offer.provider for number in by_instance] == ["part", "whole"]


@pytest.mark.parametrize("key", [*DERIVED, "ops_per_byte", "memory_gb", "tdp_w", "breakeven_multiple"])
def test_an_unknown_variant_has_no_figure_even_when_its_family_is_known(key: str) -> None:
    board = board_of(make_offer(accelerator=None, family="h100", accelerator_as_written="H100"))
    assert why(key, board, baseline="h100-sxm") == "the variant behind 'H100' is not known"


@pytest.mark.parametrize("key", ["usd_per_gpu_hour", "usd_per_instance_hour", *DERIVED, "price_multiple"])
def test_another_currency_is_not_converted(key: str) -> None:
    board = board_of(make_offer(currency="EUR"))
    assert "EUR" in why(key, board, baseline="h100-sxm")


def test_multiples_need_a_baseline_and_the_baseline_an_offer_there() -> None:
    board = board_of(make_offer(accelerator="h200-sxm"))
    assert why("price_multiple", board) == "choose a baseline accelerator to compare with"
    assert why("breakeven_multiple", board) == "choose a baseline accelerator to compare with"
    sentence = "acme lists no comparable H100 SXM 80 GB to compare with"
    assert why("price_multiple", board, baseline="h100-sxm") == sentence
    assert figure("breakeven_multiple", board.rows[0], board, baseline="h100-sxm") is not None


def test_unknown_is_never_zero() -> None:
    board = board_of(make_offer(accelerator=None, currency="EUR"))
    values = [metric.value(board.rows[0], board.view(OfferQuery())) for metric in METRICS.values()]
    assert set(values) == {None}


# ---------------------------------------------------------------- the price that stands for the baseline


def multiple(*baselines: Offer, **fields: Any) -> Decimal | None:
    """Give the multiple of an H200 at $6 against these offers of an H100 SXM."""
    board = board_of(offer_of("acme", "h200-sxm", "6", **fields), *baselines)
    return figure("price_multiple", row_of("acme", "h200-sxm", board), board, baseline="h100-sxm")


def h100(price: str, **fields: Any) -> Offer:
    return make_offer(list_price=price, **fields)


def test_the_smallest_minimum_stands_for_the_baseline_then_the_lowest_price() -> None:
    assert multiple(h100("3"), h100("2", min_gpus=8)) == 2
    assert multiple(h100("3"), h100("4", region="eu")) == 2
    assert multiple(h100("2", min_gpus=8), h100("1.5", min_gpus=8, region="eu")) == 4


def test_what_cannot_stand_for_the_baseline() -> None:
    assert multiple(h100("3", is_floor=True)) is None
    assert multiple(h100("3", currency="EUR")) is None
    assert multiple(h100("3", provider="other")) is None
    assert multiple(h100("3", pricing_model=PricingModel.SPOT)) is None
    assert multiple(h100("3", service_kind=ServiceKind.SERVERLESS)) is None
    assert multiple(h100("3", tier="secure")) is None
    assert multiple(h100("3", term_days_min=30)) is None
    assert multiple(h100("3", accelerator=None, slice_of="h100-sxm")) is None
    assert multiple(h100("3", accelerator="h100-pcie")) is None


# ---------------------------------------------------------------- money


@pytest.mark.parametrize(
    ("basis", "price", "count", "per_gpu", "per_instance"),
    [
        # By hand; a billing month is 8,760 / 12 = 730 hours, the term below 30 x 24 = 720.
        (PriceBasis.GPU_SECOND, "0.001097", 1, "3.9492", "3.9492"),
        (PriceBasis.GPU_MINUTE, "0.05", 2, "3", "6"),
        (PriceBasis.GPU_HOUR, "2.99", 8, "2.99", "23.92"),
        (PriceBasis.GPU_MONTH, "1460", 4, "2", "8"),
        (PriceBasis.GPU_TERM, "1440", 1, "2", "2"),
        (PriceBasis.INSTANCE_SECOND, "0.01", 8, "4.5", "36"),
        (PriceBasis.INSTANCE_MINUTE, "0.4", 8, "3", "24"),
        (PriceBasis.INSTANCE_HOUR, "49.24", 8, "6.155", "49.24"),
        (PriceBasis.INSTANCE_MONTH, "14600", 8, "2.5", "20"),
        (PriceBasis.INSTANCE_TERM, "14400", 8, "2.5", "20"),
    ],
)
def test_a_price_of_each_basis(
    basis: PriceBasis, price: str, count: int, per_gpu: str, per_instance: str
) -> None:
    offer = make_offer(price_basis=basis, list_price=price, gpu_count=count, term_days_max=30)
    assert usd_per_gpu_hour(offer) == Decimal(per_gpu)
    assert usd_per_instance_hour(offer) == Decimal(per_instance)


def test_a_month_written_per_gpu_or_per_instance_is_one_price() -> None:
    """4 dollars a month for each of 8 GPUs, 32 for all: figures that are equal must rank as equal."""
    for dollars in range(1, 200):
        per_gpu = make_offer(price_basis=PriceBasis.GPU_MONTH, list_price=dollars, gpu_count=8)
        whole = make_offer(price_basis=PriceBasis.INSTANCE_MONTH, list_price=8 * dollars, gpu_count=8)
        assert usd_per_instance_hour(per_gpu) == usd_per_instance_hour(whole)


def test_micro_dollars_round_half_to_even() -> None:
    assert usd_micros_per_gpu_hour(make_offer(list_price="0.0000005")) == 0
    assert usd_micros_per_gpu_hour(make_offer(list_price="0.0000015")) == 2
    third = make_offer(price_basis=PriceBasis.INSTANCE_HOUR, list_price="1", gpu_count=3)
    assert usd_micros_per_gpu_hour(third) == 333_333


# ---------------------------------------------------------------- what a column says of itself


def test_each_figure_says_what_it_is_and_a_bound_says_bound() -> None:
    for key, metric in METRICS.items():
        assert key == metric.key
        assert all((metric.label, metric.unit, metric.formula, metric.meaning, metric.source, metric.assumes))
    assert {key for key, metric in METRICS.items() if metric.nature == "bound"} == {
        "decode_ceiling_tokens_per_s",
        "usd_per_mtok_at_ceiling",
    }


def test_a_figure_depends_on_no_more_and_no_less_than_it_says() -> None:
    board = board_of(offer_of("acme", "h200-sxm", "6"), h100("3"), offer_of("acme", "b200-sxm", "9"))
    row = row_of("acme", "h200-sxm", board)
    usual = {"precision": "fp8", "weights_gb": Decimal(70), "baseline": "h100-sxm"}
    other = {"precision": "bf16", "weights_gb": Decimal(140), "baseline": "b200-sxm"}
    for key, metric in METRICS.items():
        moved = {
            part
            for part in usual
            if figure(key, row, board, **usual) != figure(key, row, board, **(usual | {part: other[part]}))
        }
        assert moved == set(metric.depends), key


def test_a_number_s_key_ends_in_its_unit() -> None:
    endings = ("_hour", "_gb", "_tb_s", "_per_s", "_pflops", "_w", "_multiple", "_ceiling", "_per_byte")
    assert [key for key in METRICS if not key.endswith(endings)] == []
    facts = [column.key for column in COLUMNS.values() if isinstance(column, Fact) and column.unit]
    assert facts == ["term_days_min", "term_days_max", "memory_gb_as_written"]
