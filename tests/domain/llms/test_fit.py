"""What fits, on how many cards, how many requests then run, and how much lacks where it does not."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.llms.fit import (
    ENGINES,
    Demand,
    Fit,
    Fits,
    Memory,
    TooBig,
    fewest_gpus,
    fit,
    memory_of,
    pool_bytes,
)
from app.domain.llms.kv import KV_FORMATS, kv_cache
from app.domain.llms.parallel import Spread, weights_per_gpu_bytes
from app.domain.llms.profile import LlmProfile
from app.domain.llms.unknown import Unknown
from app.domain.llms.weights import Weights
from tests.domain.llms.shapes import DEEPSEEK_V3, LLAMA_70B, full, load, shape, windowed

VLLM = ENGINES["vllm"]
GIB = 2**30


def memory(gb: int) -> Memory:
    return Memory(usable_bytes=gb * 10**9, basis="made")


def fewest(profile: LlmProfile, *, weights: str, gb: int, batch: int = 1, context: int = 8192) -> Fit:
    found = fewest_gpus(
        load(profile, weights=weights, kv="bf16"),
        memory(gb),
        engine=VLLM,
        demand=Demand(batch=batch, context=context),
    )
    assert not isinstance(found, Unknown)
    return found


@pytest.mark.parametrize(
    ("weights", "gb", "gpus", "requests"),
    [("bf16", 80, 4, 50), ("bf16", 141, 2, 39), ("bf16", 180, 1, 6), ("fp8", 24, 4, 1), ("nvfp4", 80, 1, 10)],
)
def test_the_fewest_cards_and_the_requests_they_hold(weights: str, gb: int, gpus: int, requests: int) -> None:
    """On 4 x 80 GB: 72 - 35.28 - 3 is 33.7 GB a card, and 8,192 tokens keep 0.671 GB on each: 50."""
    found = fewest(LLAMA_70B, weights=weights, gb=gb)
    assert isinstance(found, Fits)
    assert (found.gpus, found.max_concurrency) == (gpus, requests)


def test_a_latent_stands_on_every_card() -> None:
    """8 x 141 GB: 126.9 - 83.88 - 3 is 40.02 GB, and every card keeps all 0.5757 GB of a request: 69."""
    found = fewest(DEEPSEEK_V3, weights="fp8", gb=141)
    assert isinstance(found, Fits)
    assert (found.gpus, found.max_concurrency) == (8, 69)


def test_data_parallel_attention_keeps_a_request_on_one_card_and_attention_on_all() -> None:
    """Each of 8 holds 11.41 GB of attention and an eighth of the rest: 93.87; 30.03 GB hold 52 requests."""
    model = load(DEEPSEEK_V3, kv="bf16", gpus=8, attention="data")
    found = fit(model, memory(141), engine=VLLM, demand=Demand(batch=417, context=8192))
    assert isinstance(found, TooBig)
    assert round(found.budget.weights_bytes / 10**9, 2) == Decimal("93.87")
    assert (found.budget.requests, found.max_concurrency) == (53, 416)
    assert isinstance(fit(model, memory(141), engine=VLLM, demand=Demand(batch=416, context=8192)), Fits)


def test_what_does_not_fit_says_by_how_many_bytes_and_why() -> None:
    """Article's case: 128 x 4,096 tokens in fp8 keep 85.90 GB; one H200 has 126.9 - 70.55 - 3 = 53.35."""
    found = fit(load(LLAMA_70B), memory(141), engine=VLLM, demand=Demand(batch=128, context=4096))
    assert isinstance(found, TooBig)
    assert found.missing_bytes == 128 * 671_088_640 - (126_900_000_000 - 70_553_706_496 - 3_000_000_000)
    assert found.max_concurrency == 79
    assert found.why == (
        "the cache of 128 requests of 4,096 tokens takes 85.90 GB on the GPU, and the weights of 70.55 GB "
        "leave 53.35 GB: 32.55 GB too much"
    )


def test_weights_that_do_not_fit_alone_say_so() -> None:
    found = fewest_gpus(
        load(LLAMA_70B, weights="bf16"),
        memory(24),
        engine=VLLM,
        demand=Demand(batch=1, context=4096),
        counts=(1, 2),
    )
    assert isinstance(found, TooBig)
    assert (found.gpus, found.max_concurrency) == (2, 0)
    assert found.why == (
        "weights of 70.55 GB on each of 2 GPUs are 51.95 GB more than vLLM leaves them, "
        "and the cache of 1 request of 4,096 tokens takes another 0.34 GB"
    )
    assert found.missing_bytes == Decimal(51953706496) + 4096 * 163_840 // 2


def test_up_to_32_cards_are_tried_in_powers_of_two() -> None:
    """671 GB of weights, a whole latent on each and 3 GB beside: 24 GB cards would need 64."""
    found = fewest_gpus(load(DEEPSEEK_V3), memory(24), engine=VLLM, demand=Demand(batch=1, context=8192))
    assert isinstance(found, TooBig)
    assert found.gpus == 32


def test_requests_that_keep_nothing_all_fit_beside_weights_that_just_do() -> None:
    """85 GB at 0.9 are 76.5, which is 73.5 of weights and 3 beside them to the byte."""
    bare = load(shape(None, parts=()))
    whole = replace(bare, weights=replace(bare.weights, always_bytes=Decimal(735 * 10**8)))
    found = fit(whole, memory(85), engine=VLLM, demand=Demand(batch=7, context=4096))
    assert isinstance(found, Fits)
    assert (found.budget.pool_bytes, found.max_concurrency, found.longest_context) == (0, 7, None)


def test_no_count_of_cards_is_no_answer() -> None:
    demand = Demand(batch=1, context=1)
    assert isinstance(
        fewest_gpus(load(LLAMA_70B), memory(80), engine=VLLM, demand=demand, counts=()), Unknown
    )


def test_a_share_of_all_memory_is_not_a_share_of_what_is_free() -> None:
    """80 GB with weights of 60 and 3 beside: 0.9 x 80 - 63 is 9, 0.9 x (80 - 63) is 15.3."""
    pools = [
        pool_bytes(memory(80), ENGINES[name], weights_bytes=Decimal(60 * 10**9))
        for name in ("vllm", "tensorrt-llm")
    ]
    assert pools == [9 * 10**9, Decimal(153 * 10**8)]
    assert pool_bytes(memory(80), ENGINES["tensorrt-llm"], weights_bytes=Decimal(90 * 10**9)) == -13 * 10**9


def test_memory_is_what_a_driver_reported_or_the_label_and_says_which() -> None:
    cards = load_catalogue().by_id
    assert memory_of(cards["h100-sxm"]) == Memory(
        usable_bytes=int(Decimal("79.6") * GIB), basis="79.6 GiB as the driver reports it"
    )
    assert memory_of(cards["h100-pcie"]) == Memory(
        usable_bytes=80 * 10**9, basis="80 GB as the label says, read as decimal gigabytes"
    )


def test_weights_a_card_follow_the_measured_rule() -> None:
    """A checkpoint of 125.87 GiB on two cards was measured at 62.12 GiB each; the whole by two is nearest."""
    whole = Weights(
        always_bytes=Decimal("125.87") * GIB,
        routed_bytes=Decimal(0),
        lookup_bytes=Decimal(0),
        attention_bytes=Decimal(0),
        beside_bytes=Decimal(0),
        is_estimate=False,
        basis="tensor headers",
    )
    each_gib = weights_per_gpu_bytes(whole, Spread(gpus=2)) / GIB
    assert round(each_gib, 3) == Decimal("62.935")
    assert abs(each_gib - Decimal("62.12")) < abs(Decimal("60.51") - Decimal("62.12"))


def test_windows_reserve_a_pass_when_one_is_named() -> None:
    """A window of 1,024 reserves 1,023 + 8,192 tokens of 1 x 2 x 8 x 128 x 2 bytes."""
    profile = replace(LLAMA_70B, attention=(windowed(full(1, 64, 8, 128), 1024),))
    model = replace(load(LLAMA_70B), kv=kv_cache(profile, KV_FORMATS["bf16"]))
    demand = Demand(batch=1, context=100_000, max_num_batched_tokens=8192)
    assert fit(model, memory(141), engine=VLLM, demand=demand).budget.request_bytes == 9215 * 4096


def test_the_longest_context_is_that_of_one_request_alone() -> None:
    """One H200 leaves 53.35 GB, which is 325,600 tokens of 163,840 bytes."""
    found = fit(load(LLAMA_70B), memory(141), engine=VLLM, demand=Demand(batch=1, context=4096))
    assert isinstance(found, Fits)
    assert found.longest_context == 53_346_293_504 // 163_840
