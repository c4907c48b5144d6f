"""Speeds of reading prompts beside the bound of prefill: worked out by hand, and below it what was measured.

The bound is what the card computes at most over two operations for each parameter that every token of a
prompt goes through, and attention's own.
"""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.llms.facts import load_llms
from app.domain.llms.formats import FORMATS
from app.domain.llms.unknown import Unknown
from app.domain.serving.benches import read_runs
from app.domain.serving.benchmarked import Configuration, configurations
from app.domain.serving.beside import On, Placed, beside, placed, sentence
from app.domain.serving.prefilled import TOGETHER, BesidePrefill, rate_in_llama_cpp, worked_of
from app.domain.serving.reading import InputError
from tests.domain.llms.shapes import full, shape
from tests.domain.llms.vectors import EXPECTED, NOT_RUN, lines
from tests.domain.serving import results

QWEN = "Qwen/Qwen3-8B"
ON_4090 = On(card="rtx-4090", weights="gguf-q4-k")


def read(rate: float = 5000.0, **said: Any) -> Configuration:
    """One configuration of llama-bench that reads 512 tokens at this rate."""
    test = results.llama_bench(**{"n_prompt": 512, "n_gen": 0, "samples": (rate,) * 4} | said)
    (one,) = configurations(read_runs(results.as_bytes(test), "bench.json"))
    return one


def put(one: Configuration, on: On = ON_4090, *, llm: str = QWEN) -> Placed:
    return placed(one, on, profile=load_llms()[llm].profile, llm=llm)


def bounded(one: Configuration, on: On = ON_4090, *, llm: str = QWEN) -> BesidePrefill:
    found = put(one, on, llm=llm).found
    assert isinstance(found, BesidePrefill), found
    return found


def near(value: Decimal, wanted: float) -> bool:
    return float(value) == pytest.approx(wanted, rel=1e-9)


def test_a_prompt_of_512_beside_the_bound() -> None:
    """Qwen3-8B: 7,568,405,504 active, 622,329,856 of them in the head, 36 layers of 32 heads of 128.

    6,946,075,648 x 35 / 36 = 6,753,129,102 parameters. Attention: 4 operations x 36 x 32 x 128 a key, and the
    average token of 512 meets 256 keys: 150,994,944. A 4090 does 660.6 x 10^12 int8 operations a second.
    """
    found = bounded(read(5000))
    ops = 2 * 6_753_129_102 + 150_994_944
    assert found.worked.params == 6_753_129_102
    assert (found.bound.ops_per_token, found.bound.attention_ops_per_token) == (13_506_258_204, 150_994_944)
    assert near(found.bound.tokens_per_s, 660.6e12 / ops)
    assert near(found.share_of_bound, 5000 * ops / 660.6e12)
    assert sentence(found) == (
        "Beside RTX 4090 24 GB: 10.3 % of the bound of prefill, at the dense int8 rate; llama.cpp multiplies "
        "such weights no faster."
    )


def test_the_sums_behind_it() -> None:
    """5,000 / 48,369.9 is 10.34 %; after 4,096 tokens a token meets 4,352 keys of 589,824 operations."""
    assert put(read(5000)).sums == (
        (
            "Parameters for each token of a prompt",
            "(7,568,405,504 a token - 622,329,856 of the output head) x 35 / 36 layers = 6,753,129,102",
        ),
        (
            "Bound of prefill",
            (
                "660.6 dense int8 TFLOPS / (2 x 6,753,129,102 parameters + 150,994,944 of attention to half "
                "of 512) operations a token = 48,369.9 tokens/s; 5,000.0 / 48,369.9 = 10.3 %"
            ),
        ),
    )
    deep = put(read(5000, n_depth=4096), replace(ON_4090, gpus=2))
    assert deep.sums[1][1] == (
        "660.6 dense int8 TFLOPS / (2 x 6,753,129,102 parameters + 2,566,914,048 of attention to 4,096 "
        "tokens before and half of 512) operations a token x 2 GPUs = 82,199.1 tokens/s; "
        "5,000.0 / 82,199.1 = 6.1 %"
    )
    assert deep.measured == ""


def test_tokens_before_the_prompt_are_attended_to() -> None:
    """2 x 660.6e12 / (13,506,258,204 + 4,352 x 589,824) for two cards."""
    found = bounded(read(n_depth=4096), replace(ON_4090, gpus=2))
    assert near(found.bound.attention_ops_per_token, 4352 * 589_824)
    assert near(found.bound.tokens_per_s, 2 * 660.6e12 / (13_506_258_204 + 4352 * 589_824))
    untold = bounded(read(n_depth=None), replace(ON_4090, context=4096))
    assert untold.bound.attention_ops_per_token == 150_994_944


def test_chunks_whose_operations_the_formula_may_overstate_count_for_nothing() -> None:
    """Llama 4 Scout: 12 of 48 layers attend to all; 4 x 12 x 40 x 128 operations for each of 256 keys."""
    found = bounded(
        read(), On(card="h100-sxm", weights="bf16"), llm="meta-llama/Llama-4-Scout-17B-16E-Instruct"
    )
    assert found.bound.attention_ops_per_token == 4 * 12 * 40 * 128 * 256


def test_a_rate_above_the_bound_is_said_to_be_impossible() -> None:
    """The bound is 48,369.9 tokens/s."""
    assert not bounded(read(48_369)).is_above_a_bound
    above = bounded(read(48_371))
    assert above.is_above_a_bound
    assert sentence(above).endswith(
        "no faster. It lies above that bound, so something it says of itself cannot be so, or tokens count "
        "as read that were never worked out, as those of a prefix in a cache."
    )


def test_what_llama_cpp_leaves_out_makes_no_rate_impossible() -> None:
    """Llama 3.2 3B: 3,212,749,824 active, of them 394,002,432 in the head, 28 layers.

    With the head 660.6e12 / 6,425,499,648 is 102,809 tokens/s. Without it and a layer there are 2,818,747,392
    x 27 / 28 = 2,718,077,842 parameters, and 4 x 28 x 24 x 128 x 256 operations of attention: 119,569.
    """
    one = bounded(read(110_000), llm="meta-llama/Llama-3.2-3B-Instruct")
    assert not one.is_above_a_bound
    assert near(one.bound.tokens_per_s, 660.6e12 / (2 * 2_718_077_842 + 4 * 28 * 24 * 128 * 256))


@pytest.mark.parametrize(
    ("rate", "prompt", "llm", "on"),
    [
        # ggml-org/llama.cpp, pull request 17906: gpt-oss 20B with fp4 kernels, before and after.
        (13_304.80, 512, "openai/gpt-oss-20b", On(card="rtx-pro-6000-ws", weights="gguf-mxfp4")),
        (10_854.04, 4096, "openai/gpt-oss-20b", On(card="rtx-pro-6000-ws", weights="gguf-mxfp4")),
        # Pull request 7860: Llama 3 8B, whose shape 3.1 shares, unpacked to 16 bits.
        (8_790.74, 4096, "meta-llama/Meta-Llama-3.1-8B", On(card="rtx-4090", weights="gguf-q4-0")),
    ],
)
def test_what_llama_cpp_s_own_measured_lies_below(rate: float, prompt: int, llm: str, on: On) -> None:
    found = bounded(read(rate, n_prompt=prompt), on, llm=llm)
    assert Decimal("0.03") < found.share_of_bound < Decimal("0.2")


@pytest.mark.parametrize(
    ("weights", "card", "rate"),
    [
        ("gguf-q4-k", "rtx-5090", ("int8", "838.0")),
        ("gguf-q8-0", "h100-sxm", ("int8", "1979")),
        ("gguf-q4-k", "b300-sxm", ("bf16", "2250")),  # int8 is cut on this chip
        ("gguf-q4-k", "v100-sxm-32", ("fp16", "125.3")),  # no matrix units for int8
        ("gguf-mxfp4", "rtx-5090", ("fp4", "1676.0")),
        ("nvfp4", "rtx-pro-6000-ws", ("fp4", "2015")),
        ("gguf-mxfp4", "rtx-4090", ("int8", "660.6")),
        ("int4-g128", "rtx-4090", ("int8", "660.6")),
        ("bf16", "h100-sxm", ("bf16", "989.4")),
        ("gguf-f32", "a100-sxm-80", ("bf16", "312")),
        ("gguf-f16", "rtx-4090", ("int8", "660.6")),  # 330.3 with sums in 16 bits; 165.2 is published
        ("gguf-f16", "rtx-6000-ada", ("bf16", "364.2")),
    ],
)
def test_the_highest_rate_that_can_apply_counts(weights: str, card: str, rate: tuple[str, str]) -> None:
    found = rate_in_llama_cpp(FORMATS[weights], load_catalogue().by_id[card])
    assert not isinstance(found, Unknown)
    assert (found.precision, found.dense_tflops) == (rate[0], Decimal(rate[1]))


@pytest.mark.parametrize(
    ("weights", "card", "lacking"),
    [
        ("gguf-q4-k", "p100-sxm-16", "int8"),
        ("gguf-mxfp4", "gb10", "int8"),
        ("bf16", "m60", "bf16 or fp16"),
        ("gguf-f16", "rx-7900-xtx", "int8"),
    ],
)
def test_a_card_without_a_published_rate_has_no_bound(weights: str, card: str, lacking: str) -> None:
    said = sentence(put(read(), On(card=card, weights=weights)).found)
    name = load_catalogue().by_id[card].name
    assert said == f"No bound: no dense {lacking} rate is published for the {name}."


def test_a_test_that_reads_and_generates_has_no_bound() -> None:
    both = read(900, n_gen=128)
    profile = load_llms()[QWEN].profile
    assert beside(both, ON_4090, profile=profile, llm=QWEN) is TOGETHER
    assert (put(both).found, put(both).sums, put(both).said) == (TOGETHER, (), sentence(TOGETHER))
    assert sentence(TOGETHER) == (
        "No bound: prompt and generated tokens were timed together, and reading and generating each have a "
        "bound of their own."
    )


def test_layers_with_experts_are_those_that_count() -> None:
    """DeepSeek V3: 58 of 61 layers have experts; what is left out is no smaller than one of those."""
    assert worked_of(load_llms()["deepseek-ai/DeepSeek-V3"].profile).layers == 58
    alone = shape(full(1, 8, 8, 128), parts=(), layers=1)
    found = placed(read(), ON_4090, profile=alone, llm="")
    assert isinstance(found.found, Unknown)
    assert found.sums == ()


def test_a_prompt_of_half_a_token_is_refused() -> None:
    with pytest.raises(InputError, match="n_prompt"):
        read(n_prompt=512.5)


# Of each model's config.json: vocabulary times hidden size in the head, and its layers, those with experts.
HEADS = {
    "meta-llama/Meta-Llama-3.1-8B": (128_256 * 4096, 32),
    "meta-llama/Meta-Llama-3.1-70B": (128_256 * 8192, 80),
    "Qwen/Qwen3-30B-A3B": (151_936 * 2048, 48),
    "deepseek-ai/DeepSeek-V3": (129_280 * 7168, 58),
}
CARDS = {"H100 SXM": "h100-sxm", "H200": "h200-sxm", "B200": "b200-sxm", "H100 PCIe": "h100-pcie"}


@pytest.mark.skipif(not EXPECTED.is_dir(), reason=NOT_RUN)
def test_the_ceilings_of_another_program_without_the_head_and_a_layer() -> None:
    """Each row has the operations a token with the head; these cards multiply int8 as fast as its fp8.

    One token has half a key to attend to, which is next to nothing.
    """
    rows = lines("prefill_ceiling.csv")
    assert len(rows) == 16
    for row in rows:
        head, layers = HEADS[row["model"]]
        on = On(card=CARDS[row["card"]], weights="gguf-q8-0")
        found = bounded(read(1.0, n_prompt=1), on, llm=row["model"])
        left = (float(row["ops_per_token"]) - 2 * head) * (layers - 1) / layers
        assert float(found.bound.ops_per_token) == pytest.approx(left, rel=1e-9)
        wanted = float(row["tokens_per_s_per_gpu"]) * float(row["ops_per_token"]) / left
        assert float(found.bound.tokens_per_s) == pytest.approx(wanted, rel=1e-4)
