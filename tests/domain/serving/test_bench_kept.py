"""Result files cut down for a link: the same runs at the same places, and nothing that somebody wrote."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.serving.bench_kept import kept_results
from app.domain.serving.benches import read_runs
from tests.domain.serving import results

SMALL: dict[str, dict[str, Any]] = {
    "vllm": results.vllm(),
    "vllm in detail": results.vllm_detailed(),
    "vllm with metadata": results.vllm(label="new", engine="0.33.0", max_concurrency=None),
    "sglang": results.sglang(),
    "sglang in detail": results.sglang_detailed(),
    "sglang of a server that told nothing": results.sglang(server_info=None),
    "sglang of several that decode": results.sglang(
        server_info={
            "prefill": [{"model_path": results.SAID}],
            "decode": [{"model_path": "Qwen/Qwen3-8B", "tp_size": 4, "dp_size": 2}, {"tp_size": 2}, None],
        }
    ),
    "sglang of replicas": results.sglang(
        server_info={"tp_size": 4, "dp_size": 2, "enable_dp_attention": True, "kv_cache_dtype": "fp8_e4m3"}
    ),
    "vllm with its sizes": results.vllm(tensor_parallel_size="8", data_parallel_size=2),
    "llama-bench on eight cards": results.llama_bench(
        samples=(43.2,), gpu_info=", ".join(["NVIDIA GeForce RTX 4090"] * 8)
    ),
    "llama-bench": results.llama_bench(samples=(43.2, 43.1, 43.4, 43.3)),
    "llama-bench now": results.llama_bench_now(n_prompt=512),
    "guidellm": results.guidellm(40.0, 76.5),
    "guidellm now": results.guidellm_now(40.0, 76.5),
}
PLACES = st.lists(st.tuples(st.sampled_from(list(SMALL)), st.sampled_from(["", "lines", "pretty", "array"])))


def same(data: bytes) -> str:
    kept = kept_results(data, "results")
    assert read_runs(kept.encode(), "results") == read_runs(data, "results")
    return kept


@pytest.mark.parametrize("document", SMALL.values(), ids=SMALL)
def test_the_same_is_read_of_what_is_kept_and_nothing_that_somebody_wrote(document: dict[str, Any]) -> None:
    data = results.as_bytes(document)
    kept = same(data)
    assert len(kept) < min(1200, len(data))
    for hidden in (results.SAID, results.SECRET, "/srv/", "itls", "samples_ns"):
        assert hidden not in kept
    assert kept_results(kept.encode(), "results") == kept


def written(documents: list[tuple[str, str]]) -> bytes:
    """Write small files one after another, each in its way."""
    parts = []
    for name, way in documents:
        document: Any = [SMALL[name]] * 2 if way == "array" else SMALL[name]
        parts.append(json.dumps(document, indent=1 if way == "pretty" else None) + "\n" * (way != ""))
    return "".join(parts).encode()


@given(PLACES.filter(len))
def test_results_however_they_stand_one_after_another(documents: list[tuple[str, str]]) -> None:
    same(written(documents))


@given(
    st.dictionaries(
        st.text(max_size=70),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-9, 9),
            st.floats(),
            st.text(max_size=70),
            st.lists(st.text()),
        ),
    )
)
def test_whatever_else_a_file_holds(other: dict[str, Any]) -> None:
    for each in (results.vllm(), results.llama_bench(samples=(43.0, 44.0))):
        same(results.as_bytes(other | each))
    document = results.guidellm(40.0)
    document["benchmarks"][0]["config"]["strategy"] = other
    same(results.as_bytes(document))
    same(results.as_bytes(results.sglang(server_info=other)))


def test_no_more_is_cut_down_than_a_link_holds() -> None:
    for data in (results.as_bytes(*[results.vllm()] * 50, lines=lines) for lines in (False, True)):
        whole = kept_results(data, "results")
        assert kept_results(data, "results", most=len(whole)) == whole
        part = kept_results(data, "results", most=3000)
        assert 3000 < len(part) < 3500
        assert whole.startswith(part)
