"""What counts for the bounds of a benchmarked speed, worked out by hand from what the files tell.

Llama 3.1 70B reads 69,503,033,344 parameters a token of 70,553,706,496, and keeps 163,840 values a token in
80 layers of 8 heads, 128 for a key and as many for a value. The 8B model reads 7,504,924,672 of 8,030,261,248
and keeps 65,536. A value of a cache in no known format counts 4.5 bits, 0.5625 B.
"""

from decimal import Decimal
from typing import Any

import pytest

from app.domain.llms.beside_bounds import Beside
from app.domain.llms.bounds import DecodeBound
from app.domain.llms.facts import load_llms
from app.domain.llms.unknown import Unknown
from app.domain.serving.benches import read_runs
from app.domain.serving.benchmarked import configurations
from app.domain.serving.beside import On, Placed, placed
from tests.domain.serving import results

BIG, SMALL, QWEN = "meta-llama/Meta-Llama-3.1-70B", "meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen3-8B"
FP8 = On(card="h100-sxm", weights="fp8")
BF16 = On(card="h100-sxm", weights="bf16")
Q4 = On(card="rtx-4090", weights="gguf-q4-k")
H100_B_S = 3.35e12


def put(document: dict[str, Any], on: On, *, llm: str) -> Placed:
    (one,) = configurations(read_runs(results.as_bytes(document), "r"))
    return placed(one, on, profile=load_llms()[llm].profile, llm=llm)


def decoded(place: Placed) -> Beside:
    assert isinstance(place.found, Beside)
    return place.found


def bound(place: Placed) -> float:
    found = decoded(place).batch_bound
    assert isinstance(found, DecodeBound)
    return float(str(found.tokens_per_s))


def sixty_four(**server: Any) -> dict[str, Any]:
    """Return 2,000 tokens/s of SGLang with 64 requests in flight and prompts of 1,024 tokens."""
    told = {"model_path": "x/y", "version": "0.5.20", "kv_cache_dtype": "auto", **server}
    return results.sglang(
        2000.0, max_concurrency=64, completed=200, total_input_tokens=204_800, server_info=told
    )


def test_the_gpus_that_a_server_of_sglang_tells_count_where_none_are_typed() -> None:
    """Each of 8 reads 8,687,879,168 B and 64 x 1,024 x 92,160 / 8 = 754,974,720 B of cache."""
    place = put(sixty_four(tp_size=8, dp_size=1), FP8, llm=BIG)
    assert decoded(place).measurement.gpus == 8
    assert bound(place) == pytest.approx(64 * H100_B_S / (8_687_879_168 + 754_974_720))
    assert "8.8 % of the bound of its batch" in place.said
    assert "The file says tp_size 8, so 8 GPUs count." in place.said


def test_another_number_of_gpus_that_is_typed_counts_and_the_two_are_told_to_differ() -> None:
    told = sixty_four(tp_size=8)
    one = put(told, On(card="h100-sxm", weights="fp8", gpus=1), llm=BIG)
    assert decoded(one).measurement.gpus == 1
    assert "The file says tp_size 8, which is 8 GPUs, and 1 GPU was given: the bounds are of 1." in one.said
    same = put(told, On(card="h100-sxm", weights="fp8", gpus=8), llm=BIG)
    assert "The file says tp_size" not in same.said
    silent = put(sixty_four(), FP8, llm=SMALL)
    assert decoded(silent).measurement.gpus == 1
    assert "GPU" not in silent.said


def test_replicas_each_read_all_weights_for_their_share_of_the_batch() -> None:
    """Two of 4 GPUs: 32 streams each, 69,503,033,344 / 4 B of weights, 32 x 1,024 x 92,160 / 4 B of cache."""
    place = put(sixty_four(tp_size=4, dp_size=2), FP8, llm=BIG)
    assert decoded(place).measurement.gpus == 8
    assert bound(place) == pytest.approx(64 * H100_B_S / (17_375_758_336 + 754_974_720))
    sums = dict(place.sums)
    assert sums["How GPUs share a batch"] == (
        "tp_size 4 and dp_size 2: 2 replicas of 4 GPUs, 32 streams on each, for which 4 GPUs work at once"
    )
    assert "754,974,720 B of cache on each GPU" in sums["Bound of a batch of 64"]


def test_data_parallel_attention_is_within_the_gpus_of_tp_size() -> None:
    place = put(sixty_four(tp_size=8, dp_size=8, enable_dp_attention=True), FP8, llm=BIG)
    assert decoded(place).measurement.gpus == 8
    assert bound(place) == pytest.approx(64 * H100_B_S / (8_687_879_168 + 754_974_720))
    # DeepSeek V3 keeps 61 x 576 values a token: with tensor parallel attention whole on each of 8 GPUs.
    of_mla = [
        put(sixty_four(tp_size=8, dp_size=dp, enable_dp_attention=dp > 1), FP8, llm="deepseek-ai/DeepSeek-V3")
        for dp in (1, 8)
    ]
    cache = [f"{64 * 1024 * 61 * 576 * 9 // 16 // share:,} B of cache" for share in (1, 8)]
    assert all(
        each in dict(place.sums)["Bound of a batch of 64"] for place, each in zip(of_mla, cache, strict=True)
    )


def test_no_more_stages_work_at_once_than_there_are_streams() -> None:
    """Two stages: one stream has one GPU at a time, so no more than 3.35 TB/s; 64 streams have both."""
    document = sixty_four(tp_size=1, pp_size=2)
    one = put({**document, "max_concurrency": 1}, FP8, llm=SMALL)
    assert decoded(one).measurement.gpus == 2
    assert bound(one) == pytest.approx(H100_B_S / (7_504_924_672 + 1024 * 36_864))
    assert bound(put(document, FP8, llm=SMALL)) == pytest.approx(
        64 * 2 * H100_B_S / (7_504_924_672 + 64 * 1024 * 36_864)
    )


def test_servers_that_decode_count_and_those_that_read_prompts_do_not() -> None:
    def split(*sizes: int) -> dict[str, Any]:
        servers = [{"model_path": "x/y", "tp_size": size} for size in sizes]
        info = {"prefill": [{"tp_size": 1}], "decode": servers}
        return sixty_four() | {"server_info": info, "mean_ttft_ms": 0.001}

    two = put(split(4, 4), FP8, llm=BIG)
    assert "The file says 2 servers decode, the first with tp_size 4, so 8 GPUs count." in two.said
    assert bound(two) == pytest.approx(64 * H100_B_S / (17_375_758_336 + 754_974_720))
    assert two.first_token is None
    unlike = put(split(4, 2), FP8, llm=BIG)
    assert decoded(unlike).measurement.gpus == 6
    assert put(sixty_four() | {"mean_ttft_ms": 90.0}, FP8, llm=SMALL).first_token is not None


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "four", None, 10**9, [8]])
def test_a_size_that_is_none_is_not_told(size: Any) -> None:
    assert decoded(put(sixty_four(tp_size=size), FP8, llm=SMALL)).measurement.gpus == 1


def test_sizes_that_metadata_of_vllm_tells() -> None:
    place = put(results.vllm(tensor_parallel_size="2", pipeline_parallel_size="2"), BF16, llm=QWEN)
    assert decoded(place).measurement.gpus == 4
    data = put(results.vllm(tensor_parallel_size="2", data_parallel_size="4"), BF16, llm=QWEN)
    assert decoded(data).measurement.gpus == 8


def of_v3(**other: Any) -> dict[str, Any]:
    """Return 22,000 tokens/s of vLLM with 512 in flight and prompts of 2,048 tokens, of no layout."""
    of = {"max_concurrency": 512, "num_prompts": 2048, "completed": 2048, "total_input_tokens": 2048 * 2048}
    return results.vllm(22000.0, **(of | other))


def test_gpus_that_are_typed_share_all_where_no_file_tells_how() -> None:
    """61 x 576 B a token of 512 x 2,048 are 36,842,766,336 B: at least an eighth on each of 8.

    Tensor parallel attention would keep all of it on each, and the bound would be beaten.
    """
    on, v3 = On(card="h200-sxm", weights="fp8", gpus=8, kv="fp8"), "deepseek-ai/DeepSeek-V3"
    place = put(of_v3(), on, llm=v3)
    assert "+ 4,605,345,792 B of cache on each GPU" in dict(place.sums)["Bound of a batch of 512"]
    assert "The file does not tell how 8 GPUs shared the model: each counts for its share" in place.said
    assert not decoded(place).is_above_a_bound
    assert bound(put(of_v3(data_parallel_size="8"), on, llm=v3)) == bound(place)
    # 1,024 requests keep 73.7 GB, which do not fit beside 83.9 GB of weights if they stand on each GPU.
    assert bound(put(of_v3(max_concurrency=1024), on, llm=v3)) > bound(place)
    other = put(of_v3(tensor_parallel_size="4"), on, llm=v3)
    assert bound(other) == bound(place)
    assert "The file says tensor_parallel_size 4, which is 4 GPUs, and 8 GPUs were given" in other.said


def llama(**other: Any) -> dict[str, Any]:
    """Return 150 tokens/s of a Q4_K_M file of Qwen3-8B."""
    of_8b: dict[str, Any] = {
        "gpu_info": "RTX 4090",
        "model_size": 5_022_072_832,
        "model_n_params": 8_190_735_360,
    }
    return results.llama_bench(samples=(150.0, 150.1, 149.9, 150.0), **(of_8b | other))


def test_the_size_of_llama_benchs_file_less_its_table_counts() -> None:
    """5,022,072,832 B less 622,329,856 x 4.5 / 8 are 4,672,012,288, which 1,008 GB/s read 215.8 times."""
    place = put(llama(), Q4, llm=QWEN)
    assert bound(place) == pytest.approx(1.008e12 / 4_672_012_288)
    assert "69.5 % of the bound of its batch" in place.said
    assert dict(place.sums)["Weights"] == (
        "estimate: the file's model_size of 5,022,072,832 B, less a table of embeddings of 350,060,544 B at "
        "4.5 bits"
    )
    assert "1 token / 4.6349 ms" in dict(place.sums)["Bound of a batch of 1"]


def test_a_file_of_another_model_has_no_size_that_counts() -> None:
    place = put(llama(model_n_params=30_532_122_624), Q4, llm=QWEN)
    assert bound(place) == pytest.approx(1.008e12 / 4_257_228_096)
    assert "30,532,122,624 parameters, and the one that counts 8,190,735,360" in place.said
    assert dict(place.sums)["Weights"].startswith(
        "estimate: parameters x 4.5 bits (GGUF Q4_K, all tensors); files"
    )
    prompt = put(llama(model_n_params=30_532_122_624, n_prompt=512, n_gen=0), Q4, llm=QWEN)
    assert "of the bound of prefill" in prompt.said
    assert "30,532,122,624 parameters, and the one that counts 8,190,735,360" in prompt.said
    assert bound(put(llama(model_size=None), Q4, llm=QWEN)) == pytest.approx(1.008e12 / 4_257_228_096)
    assert bound(put(llama(model_size=1000), Q4, llm=QWEN)) == pytest.approx(1.008e12 / 4_257_228_096)


def test_layers_dealt_out_over_two_cards_work_one_after_the_other() -> None:
    both = put(llama(gpu_info="RTX 4090, RTX 4090", split_mode="layer"), Q4, llm=QWEN)
    assert decoded(both).measurement.gpus == 2
    assert bound(both) == pytest.approx(1.008e12 / 4_672_012_288)
    rows = put(llama(gpu_info="RTX 4090, RTX 4090", split_mode="row"), Q4, llm=QWEN)
    assert bound(rows) == pytest.approx(2 * 1.008e12 / 4_672_012_288)
    for alone in (
        {"split_mode": "none"},
        {"devices": "CUDA1"},
        {"gpu_info": "RTX 4090, Radeon"},
    ):
        one = put(llama(**{"gpu_info": "RTX 4090, RTX 4090", **alone}), Q4, llm=QWEN)
        assert decoded(one).measurement.gpus == 1


def test_the_formats_of_the_cache_that_files_tell() -> None:
    def kv(document: dict[str, Any], on: On) -> str:
        return decoded(put(document, on, llm=QWEN)).measurement.kv

    deep = {"n_depth": 4096}
    assert kv(llama(type_k="q8_0", type_v="q8_0", **deep), Q4) == "q8-0"
    assert kv(llama(type_k="q8_0", type_v="f16", **deep), Q4) == ""
    assert kv(sixty_four(kv_cache_dtype="fp8_e5m2"), BF16) == "fp8"
    assert kv(sixty_four(kv_cache_dtype="auto"), BF16) == ""
    typed = put(
        sixty_four(kv_cache_dtype="fp8_e4m3"), On(card="h100-sxm", weights="bf16", kv="bf16"), llm=QWEN
    )
    assert "The file says a cache in fp8, and 16-bit was given, which counts." in typed.said


def prompts_of_1022(**other: Any) -> dict[str, Any]:
    return results.vllm(
        5203.5, max_concurrency=64, completed=200, num_prompts=200, total_input_tokens=204_512, **other
    )


def test_the_mean_prompt_of_a_file_is_the_context_of_its_bound() -> None:
    """64 x 1,022 x 131,072 B are 8,573,157,376, and 15,009,849,344 of weights: 7.0397 ms, 57.2 %."""
    place = put(prompts_of_1022(), On(card="h100-sxm", weights="bf16", kv="bf16"), llm=SMALL)
    assert bound(place) == pytest.approx(64 * H100_B_S / 23_583_006_720)
    assert "57.2 % of the bound of its batch" in place.said
    assert "The cache of a stream counts 1,022 tokens, the mean prompt of the file." in place.said


def test_a_cache_of_a_format_that_nobody_tells_counts_the_least() -> None:
    """64 x 1,022 x 36,864 B are 2,411,200,512."""
    place = put(prompts_of_1022(), BF16, llm=SMALL)
    assert bound(place) == pytest.approx(64 * H100_B_S / (15_009_849_344 + 2_411_200_512))
    assert "each of its values counts 4.5 bits, the fewest known here" in place.said
    assert decoded(place).measurement.kv == ""


def test_a_context_that_is_typed_goes_before_the_mean_prompt() -> None:
    place = put(prompts_of_1022(), On(card="h100-sxm", weights="bf16", context=2048, kv="bf16"), llm=SMALL)
    assert decoded(place).measurement.context_in == 2048
    assert (
        "Prompts have 1,022 tokens on average by the file, and 2,048 were given, which count." in place.said
    )
    without = put(prompts_of_1022() | {"total_input_tokens": None}, BF16, llm=SMALL)
    assert bound(without) == pytest.approx(64 * H100_B_S / 15_009_849_344)
    assert "cache" not in without.said


def test_weights_that_no_memory_holds_have_no_bound() -> None:
    """70,553,706,496 x 2 B on a card of 79.6 GiB, 85.47 GB."""
    on = On(card="h100-sxm", weights="bf16", context=4096, kv="bf16")
    place = put(sixty_four(tp_size=1), on, llm=BIG)
    assert isinstance(place.found, Unknown)
    assert (place.sums, place.measured) == ((), "")
    assert place.said == (
        "No bound: weights of 141.11 GB do not fit in the 85.47 GB of memory on one GPU (H100 SXM 80 GB), "
        "and the cache of 64 requests of 4,096 tokens takes 85.90 GB more; part of it lay elsewhere, or "
        "something it says of itself cannot be so."
    )
    two = put(sixty_four(tp_size=1, pp_size=2), BF16, llm=BIG)
    assert isinstance(two.found, Beside)


def test_a_cache_that_does_not_fit_beside_its_weights_has_no_bound_of_its_batch() -> None:
    """64 x 16,384 x 131,072 B are 137.44 GB beside 16.06 GB."""
    place = put(sixty_four(), On(card="h100-sxm", weights="bf16", context=16_384, kv="bf16"), llm=SMALL)
    found = decoded(place)
    assert isinstance(found.batch_bound, Unknown)
    assert found.batch_bound.why == (
        "64 requests of 16,384 tokens at once, 137.44 GB of cache, do not fit beside weights of 16.06 GB in "
        "the 85.47 GB of memory on one GPU (H100 SXM 80 GB), so fewer ran at once, or they had the start of "
        "a prompt in common"
    )
    assert isinstance(found.share_of_any_batch, Decimal)
    assert "of the bound of its batch: 64 requests" in place.said
