"""Ceilings on decode and prefill, worked out by hand: what binds, where it changes, when it never does."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.domain.llms.bounds import (
    DecodeBound,
    Never,
    Peaks,
    PrefillBound,
    attention_ops,
    compute_bound_from_batch,
    crossover_batch_dense,
    decode_bound,
    prefill_bound,
    ridge_ops_per_byte,
)
from app.domain.llms.kv import KV_FORMATS, kv_cache
from app.domain.llms.parallel import Link, Spread, all_reduce_bytes
from app.domain.llms.profile import Part
from app.domain.llms.touched import expected_distinct_experts, touched_share
from app.domain.llms.unknown import Unknown
from tests.domain.llms.shapes import (
    B200,
    DEEPSEEK_V3,
    H100,
    H200,
    LLAMA_70B,
    QWEN3_30B_A3B,
    full,
    load,
    peaks,
    shape,
    windowed,
)

MICROSECOND = Decimal("0.000001")


def decode(bound: DecodeBound | Unknown) -> DecodeBound:
    assert isinstance(bound, DecodeBound)
    return bound


def near(value: Decimal, wanted: str) -> bool:
    return abs(value - Decimal(wanted)) <= Decimal(wanted) * Decimal("0.000001")


def test_70_gb_read_once_a_token() -> None:
    """3,350 / 70 = 47.857, 4,800 / 70 = 68.571, 8,000 / 70 = 114.286 and 2,000 / 70 = 28.571."""
    seventy = load(shape(None, parts=LLAMA_70B.parts))
    whole = replace(seventy, weights=replace(seventy.weights, always_bytes=Decimal(70 * 10**9)))
    rates = [
        round(decode(decode_bound(whole, card, batch=1, context=0)).tokens_per_s, 3)
        for card in (H100, H200, B200, peaks("2", "1513"))
    ]
    assert rates == [Decimal(rate) for rate in ("47.857", "68.571", "114.286", "28.571")]


def test_a_batch_shares_the_weights_and_brings_its_own_cache() -> None:
    """(69.503 + 128 x 0.671) GB over 4.8 TB/s is 32.375 ms for 128 tokens."""
    bound = decode(decode_bound(load(LLAMA_70B), H200, batch=128, context=4096))
    assert bound.step.weight_bytes == 69_503_033_344
    assert bound.step.cache_bytes == 128 * 671_088_640
    assert bound.step.ops == 19_167_166_070_784
    assert near(bound.tokens_per_s, "3953.6074")
    assert near(bound.tokens_per_s_per_stream, "30.887558")
    assert near(bound.ops_per_byte, "123.3389")
    assert (bound.bound_by, bound.communication_s) == ("memory", None)


def test_a_large_batch_without_cache_is_bound_by_compute() -> None:
    """512 x 139.006 GFLOP over 1,979 TFLOP/s is 35.963 ms."""
    bound = decode(decode_bound(load(LLAMA_70B), H200, batch=512, context=0))
    assert bound.bound_by == "compute"
    assert near(bound.compute_s, "0.035963166")
    assert near(bound.tokens_per_s, "14236.7887")


def test_experts_are_read_as_they_are_touched() -> None:
    """One token of Qwen3-30B-A3B reads 3.04 GB; eight go to 51.6 of 128 experts."""
    assert expected_distinct_experts(128, experts_per_token=8, tokens=1) == 8
    assert round(expected_distinct_experts(128, experts_per_token=8, tokens=8), 1) == Decimal("51.6")
    assert round(expected_distinct_experts(8, experts_per_token=8, tokens=3)) == 8
    assert touched_share(LLAMA_70B, tokens=5) == 1
    one = decode(decode_bound(load(QWEN3_30B_A3B), H100, batch=1, context=0))
    assert one.step.weight_bytes == 3_041_867_776
    assert near(one.tokens_per_s, "1101.297")


def test_data_parallel_attention_spreads_latents_that_tensor_parallel_repeats() -> None:
    """8 H200: 128 sequences of 4,096 keep 36.8 GB of latents, an eighth on each GPU or all on each."""
    spread = decode(
        decode_bound(load(DEEPSEEK_V3, kv="bf16", gpus=8, attention="data"), H200, batch=128, context=4096)
    )
    repeated = decode(decode_bound(load(DEEPSEEK_V3, kv="bf16", gpus=8), H200, batch=128, context=4096))
    assert near(spread.tokens_per_s, "7065.0495")
    assert spread.step.cache_bytes * 8 == repeated.step.cache_bytes == 128 * 287_834_112


def test_messages_between_gpus_add_to_the_step() -> None:
    """160 all-reduces of 16,384 bytes: 5 us each, and 2,621,440 bytes over 450 GB/s."""
    link = Link(latency_s=5 * MICROSECOND, bytes_per_s=Decimal(450 * 10**9))
    two = load(LLAMA_70B, gpus=2)
    bound = decode(decode_bound(two, H100, batch=1, context=0, link=link))
    assert all_reduce_bytes(LLAMA_70B, Spread(gpus=2), tokens=1) == 2_621_440
    assert bound.communication_s is not None
    assert near(bound.communication_s, "0.000805825")
    assert bound.step_s == bound.memory_s + bound.communication_s
    alone = decode(decode_bound(load(LLAMA_70B), H100, batch=1, context=0, link=link))
    assert alone.communication_s == 0
    slow = replace(link, latency_s=Decimal("0.001"))
    assert decode(decode_bound(two, H100, batch=1, context=0, link=slow)).bound_by == "communication"


def test_a_share_of_the_bandwidth_is_the_reader_s_choice() -> None:
    ceiling = decode(decode_bound(load(LLAMA_70B), H100, batch=1, context=0))
    planned = decode(
        decode_bound(load(LLAMA_70B), replace(H100, bandwidth_share=Decimal("0.8")), batch=1, context=0)
    )
    assert near(ceiling.tokens_per_s, "48.199335")
    assert near(planned.tokens_per_s, "38.559468")


@pytest.mark.parametrize(
    ("card", "ridge", "batch"),
    [(H100, "590.746", "295.4"), (H200, "412.292", "206.1"), (B200, "562.5", "281.2")],
)
def test_the_ridge_and_the_batch_that_crosses_it(card: Peaks, ridge: str, batch: str) -> None:
    """Dense fp8 over bandwidth; half of it is the batch, a parameter of one byte taking two operations."""
    point, crossing = ridge_ops_per_byte(card), crossover_batch_dense(card, bytes_per_param=Decimal(1))
    assert isinstance(point, Decimal)
    assert isinstance(crossing, Decimal)
    assert round(point, 3) == Decimal(ridge)
    assert round(crossing, 1) == Decimal(batch)


def test_weights_of_four_bits_and_math_of_sixteen_cross_early() -> None:
    crossing = crossover_batch_dense(peaks("3.35", "989.5"), bytes_per_param=Decimal("0.5"))
    assert isinstance(crossing, Decimal)
    assert round(crossing, 1) == Decimal("73.8")


def test_the_first_compute_bound_batch_is_the_crossing_rounded_up() -> None:
    assert compute_bound_from_batch(load(LLAMA_70B), H100, context=0) == 296


@pytest.mark.parametrize(("tflops", "batch"), [("2", 2), ("6", 4), ("5", 3)])
def test_a_batch_that_takes_both_as_long_waits_on_memory(tflops: str, batch: int) -> None:
    """A byte at 1 TB/s takes 1 ps and two operations: as long at half the TFLOP/s, so at 1, 3 or 2.5."""
    byte = load(shape(None, parts=(Part(name="attention", params=3, read="always"),)))
    assert compute_bound_from_batch(byte, peaks("1", tflops), context=0) == batch
    tie = decode(decode_bound(byte, peaks("1", "2"), batch=1, context=0))
    assert (tie.memory_s, tie.bound_by) == (tie.compute_s, "memory")


def test_with_a_long_context_no_batch_is_compute_bound() -> None:
    """671 MB over 3.35 TB/s is 0.200 ms a stream; its operations take 0.076 ms."""
    never = compute_bound_from_batch(load(LLAMA_70B), H100, context=4096)
    assert isinstance(never, Never)
    assert round(never.read_s_per_stream * 1000, 3) == Decimal("0.200")
    assert round(never.compute_s_per_stream * 1000, 3) == Decimal("0.076")


def test_the_crossing_with_experts_is_where_the_bound_changes() -> None:
    model = load(QWEN3_30B_A3B)
    batch = compute_bound_from_batch(model, H100, context=0)
    assert isinstance(batch, int)
    assert decode(decode_bound(model, H100, batch=batch - 1, context=0)).bound_by == "memory"
    assert decode(decode_bound(model, H100, batch=batch, context=0)).bound_by == "compute"


def test_prefill_is_the_dense_rate_over_two_operations_a_parameter() -> None:
    """1,979 TFLOP/s over 139.006 GFLOP is 14,237 tokens a second."""
    bound = prefill_bound(load(LLAMA_70B), H100, prompt_tokens=0)
    assert isinstance(bound, PrefillBound)
    assert near(bound.tokens_per_s, "14236.789")
    # Half of 4 x 64 x 128 x 8,192 in each of 80 layers.
    longer = prefill_bound(load(LLAMA_70B), H100, prompt_tokens=8192)
    assert isinstance(longer, PrefillBound)
    assert longer.attention_ops_per_token == 80 * 2 * 64 * 128 * 8192


@pytest.mark.parametrize(("prompt", "keys"), [(100, "50"), (1000, "95"), (0, "0")])
def test_a_window_caps_what_a_prompt_token_meets(prompt: int, keys: str) -> None:
    """Of 1,000 tokens the first 100 meet 50 on average and all others 100: 95 on average."""
    model = load(replace(LLAMA_70B, attention=(windowed(full(1, 1, 1, 1), 100),)))
    bound = prefill_bound(model, H100, prompt_tokens=prompt)
    assert isinstance(bound, PrefillBound)
    assert bound.attention_ops_per_token == 4 * Decimal(keys)


def test_chunks_and_compressed_entries_take_their_share_of_a_prompt() -> None:
    """Chunks of 100 keep 50 keys on average. One entry for 4 of 400 tokens: 50, and a window of 100: 87.5."""
    one = full(1, 1, 1, 1)
    chunked = replace(windowed(one, 100), kind="chunked")
    compressed = replace(windowed(one, 100), kind="compressed", compress_ratio=4)
    for attention, prompt, keys in ((chunked, 400, "50"), (chunked, 60, "30"), (compressed, 400, "137.5")):
        bound = prefill_bound(load(replace(LLAMA_70B, attention=(attention,))), H100, prompt_tokens=prompt)
        assert isinstance(bound, PrefillBound)
        assert bound.attention_ops_per_token == 4 * Decimal(keys)


def test_operations_of_attention_by_kind() -> None:
    """61 x 2 x 128 x (2 x 512 + 64) x 32,768 on latents; windows, chosen keys and entries cut the tokens."""
    assert attention_ops(DEEPSEEK_V3, 32_768) == 556_735_135_744
    assert attention_ops(LLAMA_70B, 4096) == 80 * 4 * 64 * 128 * 4096
    one = full(1, 1, 1, 1)
    kinds = {
        "window": windowed(one, 100),
        "chosen": replace(one, indexer_layers=1, read_tokens=50),
        "unsaid": replace(one, indexer_layers=1),
        "compressed": replace(windowed(one, 100), kind="compressed", compress_ratio=4),
        "keys are values": replace(one, head_dim_v=0),
    }
    met = {
        name: attention_ops(replace(LLAMA_70B, attention=(attention,)), 400) / 4
        for name, attention in kinds.items()
    }
    assert met == {
        "window": 100,
        "chosen": 50,
        "unsaid": 0,
        "compressed": 100 + 100,
        "keys are values": 400,
    }


def test_what_is_unknown_of_a_card_stays_unknown() -> None:
    no_bandwidth = replace(H100, bandwidth_tb_s=Unknown(why="no bandwidth"))
    no_rate = replace(H100, rate=Unknown(why="no rate"))
    model = load(LLAMA_70B)
    for card, why in ((no_bandwidth, "no bandwidth"), (no_rate, "no rate")):
        wanted = Unknown(why=why)
        assert decode_bound(model, card, batch=1, context=0) == wanted
        assert ridge_ops_per_byte(card) == wanted
        assert crossover_batch_dense(card, bytes_per_param=Decimal(1)) == wanted
        assert compute_bound_from_batch(model, card, context=0) == wanted
    assert prefill_bound(model, no_rate, prompt_tokens=0) == Unknown(why="no rate")


def test_a_cache_in_fp8_leaves_operations_as_they_are() -> None:
    wide = replace(load(LLAMA_70B), kv=kv_cache(LLAMA_70B, KV_FORMATS["bf16"]))
    narrow = load(LLAMA_70B)
    steps = [decode(decode_bound(one, H100, batch=1, context=4096)).step for one in (wide, narrow)]
    assert steps[0].ops == steps[1].ops
    assert steps[0].cache_bytes == 2 * steps[1].cache_bytes
