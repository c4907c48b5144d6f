"""Reads the result files of serving benchmarks: vLLM's, SGLang's, llama-bench and GuideLLM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from app.domain.serving.bench_guidellm import read_guidellm
from app.domain.serving.bench_llama import read_llama
from app.domain.serving.bench_run import GUIDELLM, LLAMA_BENCH, SGLANG, VLLM, Reader
from app.domain.serving.bench_run import Run as Run
from app.domain.serving.bench_serving import read_sglang, read_vllm
from app.domain.serving.reading import InputError, read_documents, shown

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_runs(data: bytes, name: str) -> list[Run]:
    """Return every run of a result file, which may hold several.

    Raises:
        InputError: it cannot be read, is no result of a tool known here, or lacks a figure.
    """
    found = [
        run
        for place, document in read_documents(data, name)
        for run in reader_of(document, place).read(document, place)
    ]
    if not found:
        raise InputError(name, "[]", "it holds no result")
    return found


def reader_of(document: Mapping[str, Any], place: str) -> Reader:
    """Return the reader whose keys are all there.

    Raises:
        InputError: none has; the error names the nearest tool and what of it is missing.
    """
    for reader in READERS:
        if reader.needs <= document.keys():
            return reader
    nearest = max(READERS, key=lambda reader: len(reader.needs & document.keys()) / len(reader.needs))
    if not nearest.needs & document.keys():
        tools = ", ".join(reader.tool for reader in READERS)
        raise InputError(place, shown(", ".join(map(str, document))), f"give a result of one of {tools}")
    missing = ", ".join(sorted(nearest.needs - document.keys()))
    raise InputError(place, f"nearest to {nearest.tool}", f"it lacks {missing}")


_SERVING: Final = {"duration", "completed", "total_output_tokens", "output_throughput"}

READERS: Final = (
    Reader(
        tool=SGLANG,
        understands=(
            "python -m sglang.benchmark.serving (before, sglang.bench_serving) --output-file, lines of JSON "
            "of SGLang 0.5 to 0.5.23"
        ),
        needs=frozenset({*_SERVING, "backend", "total_output_tokens_retokenized", "median_e2e_latency_ms"}),
        read=read_sglang,
    ),
    Reader(
        tool=VLLM,
        understands=(
            "vllm bench serve --save-result, also with --append-result or --save-detailed, of vLLM in 2025 "
            "and 2026, to commit 009e6d4"
        ),
        needs=frozenset({*_SERVING, "model_id", "num_prompts", "total_token_throughput"}),
        read=read_vllm,
    ),
    Reader(
        tool=LLAMA_BENCH,
        understands=(
            "llama-bench -o json or jsonl of llama.cpp in 2025 and 2026, to commit 0104b15; csv and md lack "
            "repetitions"
        ),
        needs=frozenset({"build_commit", "model_type", "n_prompt", "n_gen", "avg_ts", "samples_ts"}),
        read=read_llama,
    ),
    Reader(
        tool=GUIDELLM,
        understands="guidellm benchmark, benchmarks.json of GuideLLM 0.5 to 0.8.1",
        needs=frozenset({"benchmarks"}),
        read=read_guidellm,
    ),
)
