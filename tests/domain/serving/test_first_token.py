"""The mean time to a first token beside the least that reading the prompts takes, worked out by hand.

Qwen3-8B: 6,753,129,102 parameters count for each token of a prompt, two operations each, and attention's
589,824 operations for each of half the prompt's tokens; see `test_prefilled`.
"""

from decimal import Decimal
from typing import Any

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.llms.facts import load_llms
from app.domain.llms.formats import FORMATS
from app.domain.llms.unknown import Unknown
from app.domain.serving.bench_kept import kept_results
from app.domain.serving.benches import read_runs
from app.domain.serving.benchmarked import configurations
from app.domain.serving.beside import On, Placed, placed
from app.domain.serving.first_token import BesideFirstToken
from app.domain.serving.prefilled import rate_in_any_engine
from tests.domain.serving import results

QWEN = "Qwen/Qwen3-8B"
ON_H100 = On(card="h100-sxm", weights="bf16")
OPS_OF_512 = 512 * (2 * 6_753_129_102 + 256 * 589_824)


def put(*documents: dict[str, Any], on: On = ON_H100) -> Placed:
    (one,) = configurations(read_runs(results.as_bytes(*documents, lines=True), "r"))
    return placed(one, on, profile=load_llms()[QWEN].profile, llm=QWEN)


def first(*documents: dict[str, Any], on: On = ON_H100) -> BesideFirstToken:
    found = put(*documents, on=on).first_token
    assert found is not None
    return found


def test_a_mean_time_beside_the_least() -> None:
    """128 prompts of 65,536 tokens are 512 each: 6.99 x 10^12 operations at 989.4 TFLOPS take 7.067 ms."""
    found = first(results.vllm())
    assert (found.measured_ms, found.prompt_tokens) == (Decimal("9.9"), 512)
    assert float(found.least_ms) == pytest.approx(1000 * OPS_OF_512 / 989.4e12)
    assert float(found.times_least) == pytest.approx(9.9e-3 * 989.4e12 / OPS_OF_512)
    place = put(results.vllm())
    assert place.said.endswith(
        "The mean time to a first token, 9.900 ms, is 1.40 times the least that reading 512 tokens takes at "
        "the dense bf16 rate, 7.067 ms."
    )
    assert place.sums[-1] == (
        "Least time to a first token",
        (
            "512 tokens x (2 x 6,753,129,102 parameters + 150,994,944 of attention to half of them) "
            "operations a token / (989.4 dense bf16 TFLOPS) = 7.067 ms; 9.900 / 7.067 = 1.40 times"
        ),
    )


def test_two_cards_take_half_the_time() -> None:
    two = On(card="h100-sxm", weights="bf16", gpus=2)
    assert float(first(results.vllm(), on=two).least_ms) == pytest.approx(500 * OPS_OF_512 / 989.4e12)
    assert "TFLOPS x 2 GPUs) = 3.534 ms" in put(results.vllm(), on=two).sums[-1][1]


def test_a_time_below_the_least_was_no_reading_of_the_prompts() -> None:
    below = results.vllm(mean_ttft_ms=7.06)
    assert first(below).is_below_the_least
    assert not first(results.vllm(mean_ttft_ms=7.07)).is_below_the_least
    assert put(below).said.endswith(
        "The mean time to a first token, 7.060 ms, lies below the least that reading 512 tokens takes at the "
        "dense bf16 rate, 7.067 ms: prompts were in a cache in part, the first chunk held no token, or "
        "something it says of itself cannot be so."
    )


def test_runs_count_alike_and_a_part_of_a_token_is_dropped() -> None:
    """512 and 513.5 tokens are 512.75 on average, and 9.9 and 10.1 ms are 10 ms."""
    runs = [
        results.sglang(mean_ttft_ms=ms, completed=2, total_input_tokens=tokens)
        for ms, tokens in ((9.9, 1024), (10.1, 1027))
    ]
    found = first(*runs)
    assert (found.measured_ms, found.prompt_tokens) == (10, 512)


def test_guidellm_tells_both_means() -> None:
    report = results.guidellm(40.0)
    assert put(report).first_token is None
    report["benchmarks"][0]["metrics"]["prompt_token_count"] = results.distribution(512.0, 500.0)
    found = first(report)
    assert (found.measured_ms, found.prompt_tokens) == (Decimal("90.5"), 512)
    data = results.as_bytes(report)
    kept = kept_results(data, "r")
    assert read_runs(kept.encode(), "r") == read_runs(data, "r")
    assert '"prompt_token_count":{"successful":{"mean":512.0}}' in kept
    assert '"time_to_first_token_ms":{"successful":{"median":88.0,"mean":90.5}}' in kept


@pytest.mark.parametrize(
    "lacking",
    [
        {"mean_ttft_ms": None},
        {"mean_ttft_ms": 0},
        {"total_input_tokens": None},
        {"total_input_tokens": 0},
        {"completed": 0},
        {"total_input_tokens": 100},
    ],
)
def test_a_file_that_lacks_one_of_them_has_no_least(lacking: dict[str, Any]) -> None:
    place = put(results.vllm(**lacking))
    assert place.first_token is None
    assert "first token" not in place.said
    assert [what for what, _ in place.sums][-1] == "Ceiling of one stream, not of many"


def test_neither_a_card_without_a_rate_nor_a_prompt_alone_has_one() -> None:
    assert put(results.vllm(), on=On(card="gb10", weights="bf16")).first_token is None
    prompt = results.llama_bench(n_prompt=512, n_gen=0, samples=(900.0,))
    assert put(prompt, on=On(card="rtx-4090", weights="gguf-q4-k")).first_token is None


@pytest.mark.parametrize(
    ("weights", "card", "rate"),
    [
        ("fp8", "h100-sxm", ("fp8", "1979")),
        ("fp8", "b300-sxm", ("fp8", "4500")),
        ("int4-g128", "a100-sxm-80", ("int8", "624")),
        ("nvfp4", "b200-sxm", ("fp4", "9000")),
        ("bf16", "mi300x", ("bf16", "1307.4")),
    ],
)
def test_the_highest_rate_of_any_engine_counts(weights: str, card: str, rate: tuple[str, str]) -> None:
    found = rate_in_any_engine(FORMATS[weights], load_catalogue().by_id[card])
    assert not isinstance(found, Unknown)
    assert (found.precision, found.dense_tflops) == (rate[0], Decimal(rate[1]))
