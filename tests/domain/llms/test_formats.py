"""Bits per weight, the bytes that follow, and the rate at which each card multiplies each format."""

from decimal import Decimal

import pytest

from app.domain.accelerators import Accelerator, load_catalogue
from app.domain.llms.formats import FORMATS, Rate, rate_of
from app.domain.llms.unknown import Unknown
from app.domain.llms.weights import estimated_weights
from tests.domain.llms.shapes import DEEPSEEK_V3, LLAMA_70B


def card(card_id: str) -> Accelerator:
    return load_catalogue().by_id[card_id]


@pytest.mark.parametrize(
    ("fmt", "bits"),
    [
        ("fp32", "32"),
        ("bf16", "16"),
        ("fp8", "8"),
        ("mxfp8", "8.25"),
        ("int8", "8"),
        ("int4-g128", "4.15625"),
        ("int4-g64", "4.3125"),
        ("int4-g32", "4.5"),
        ("mxfp4", "4.25"),
        ("nvfp4", "4.5"),
        ("gguf-q4-k", "4.5"),
        ("gguf-q6-k", "6.5625"),
        ("gguf-iq4-xs", "4.25"),
        ("gguf-iq1-m", "1.75"),
    ],
)
def test_bits_per_weight_count_the_scales(fmt: str, bits: str) -> None:
    assert FORMATS[fmt].bits_per_weight == Decimal(bits)


def test_a_block_of_fp8_counts_its_one_scale() -> None:
    assert FORMATS["fp8-block"].bits_per_weight == Decimal(16_388 * 8) / 16_384


def test_weights_are_parameters_times_bits_and_say_that_they_are_an_estimate() -> None:
    """70,553,706,496 parameters: 141.107 GB in bf16, 70.554 in fp8, 39.686 in nvfp4, 36.655 in int4."""
    totals = {
        fmt: estimated_weights(LLAMA_70B, FORMATS[fmt]).total_bytes
        for fmt in ("bf16", "fp8", "nvfp4", "int4-g128")
    }
    assert totals == {
        "bf16": 141_107_412_992,
        "fp8": 70_553_706_496,
        "nvfp4": 39_686_459_904,
        "int4-g128": 36_654_855_328,
    }
    weights = estimated_weights(LLAMA_70B, FORMATS["nvfp4"])
    assert weights.is_estimate
    assert weights.basis == "estimate: parameters x 4.5 bits (nvfp4, all tensors)"


def test_weights_of_experts_stand_apart_from_those_that_every_token_reads() -> None:
    weights = estimated_weights(DEEPSEEK_V3, FORMATS["fp8"])
    assert weights.routed_bytes == 653_908_770_816
    assert weights.lookup_bytes == 926_679_040
    assert weights.attention_bytes == 61 * 187_107_328
    assert weights.total_bytes == 671_026_419_200


@pytest.mark.parametrize(
    ("fmt", "on", "precision"),
    [
        ("bf16", "h100-sxm", "bf16"),
        ("bf16", "v100-sxm-32", "fp16"),
        ("fp8", "h100-sxm", "fp8"),
        ("fp8", "a100-sxm-80", "bf16"),
        ("fp8", "mi300x", "fp8"),
        ("int8", "a100-sxm-80", "int8"),
        ("int4-g128", "b200-sxm", "bf16"),
        ("mxfp4", "h100-sxm", "bf16"),
        ("mxfp4", "b200-sxm", "fp4"),
        ("nvfp4", "t4", "fp16"),
        ("gguf-q4-k", "h100-sxm", "int8"),
        # Blackwell Ultra multiplies int8 at 153.5 TOPS and bf16 at 2,250 TFLOPS: the faster is the bound.
        ("gguf-q4-k", "b300-sxm", "bf16"),
    ],
)
def test_the_precision_is_the_first_that_the_card_has(fmt: str, on: str, precision: str) -> None:
    rate = rate_of(FORMATS[fmt], card(on))
    assert isinstance(rate, Rate)
    assert rate.precision == precision
    assert rate.dense_tflops == card(on).dense_tflops[precision]


@pytest.mark.parametrize(
    ("fmt", "on", "why"),
    [
        # Hopper has fp8; nobody printed the rate of this part, and its bf16 rate would be no bound.
        ("fp8", "h20-141", "no dense fp8 rate is published for the H20 141 GB"),
        ("bf16", "gb10", "no dense bf16 or fp16 rate is published"),
        ("gguf-q4-k", "mi100", "no dense int8 rate is published"),
    ],
)
def test_a_rate_that_nobody_published_is_unknown(fmt: str, on: str, why: str) -> None:
    rate = rate_of(FORMATS[fmt], card(on))
    assert isinstance(rate, Unknown)
    assert why in rate.why


def test_every_format_says_how_it_is_multiplied_on_every_card() -> None:
    for fmt in FORMATS.values():
        for one in load_catalogue().accelerators:
            rate = rate_of(fmt, one)
            assert isinstance(rate, Unknown) or one.dense_tflops[rate.precision] == rate.dense_tflops
