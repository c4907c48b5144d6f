"""Readers of the results of vLLM's serving benchmark and of SGLang's, a descendant of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from app.domain.serving.bench_run import (
    LEAST_RATE,
    MOST_IN_FLIGHT,
    SGLANG,
    TOLERANCE,
    VLLM,
    Run,
    at_most,
    count_of,
    digest,
    mean_of,
    name_of,
    optional,
    picked,
    settings_of,
    stamp_of,
    told,
)
from app.domain.serving.layout import SGLANG_SIZES, VLLM_SIZES, sglang_layout, vllm_layout
from app.domain.serving.reading import figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from decimal import Decimal


def _serving(document: Mapping[str, Any], place: str, *, tool: str, settings: Mapping[str, Any]) -> Run:
    """Return what vLLM's and SGLang's results share; SGLang's is a descendant of vLLM's."""
    rate = figure(document, "output_throughput", place=place, least=LEAST_RATE)
    duration_s = figure(document, "duration", place=place, least=LEAST_RATE)
    tokens = figure(document, "total_output_tokens", place=place)
    remarks = []
    if abs(rate * duration_s - tokens) > TOLERANCE * tokens:
        remarks.append(
            f"output_throughput does not follow: {tokens:,f} tokens in {duration_s:.2f} s are "
            f"{tokens / duration_s:.2f} a second, and it says {rate:.2f}."
        )
    counted = ("num_prompts", "completed", "failed")
    prompts, completed, failed = (count_of(document.get(name), f"{place}: {name}") for name in counted)
    if failed is None and prompts and completed is not None and completed < prompts:
        remarks.append(
            f"{prompts - completed:,} of {prompts:,} prompts did not complete, and it does not say why."
        )
    per_pass = _per_pass(document, place)
    return Run(
        place=place,
        tool=tool,
        model=name_of(document.get("model_id")),
        phase="decode",
        settings=settings_of({**settings, **({_DRAFTS: "yes"} if per_pass is not None else {})}),
        tokens_per_s=(rate,),
        sent=_in_flight(document, place),
        completed=completed,
        failed=failed,
        # A 0 stands for none that was timed: one token a request, or no streaming.
        ttft_ms=optional(document, "median_ttft_ms", place=place) or None,
        itl_ms=optional(document, "median_itl_ms", place=place) or None,
        mean_ttft_ms=optional(document, "mean_ttft_ms", place=place) or None,
        mean_prompt_tokens=mean_of(optional(document, "total_input_tokens", place=place), completed),
        mean_output_tokens=mean_of(tokens, completed),
        per_pass=per_pass,
        stamp=stamp_of(document.get("date")),
        remarks=tuple(remarks),
    )


def _in_flight(document: Mapping[str, Any], place: str) -> int | None:
    """Return the limit on requests in flight, else the most that succeeded and overlapped within a second.

    There are never more than there are prompts.
    """
    prompts = count_of(document.get("num_prompts"), f"{place}: num_prompts")
    return at_most(_stated_in_flight(document, place), prompts)


def _stated_in_flight(document: Mapping[str, Any], place: str) -> int | None:
    counts = (
        count_of(document.get(key), f"{place}: {key}", most=MOST_IN_FLIGHT)
        for key in ("max_concurrency", "max_concurrent_requests")
    )
    return next((count for count in counts if count), None)


def _per_pass(document: Mapping[str, Any], place: str) -> Decimal | None:
    """Return the tokens of a pass where drafts were verified: vLLM's and SGLang's accepted length."""
    lengths = (optional(document, key, place=place) for key in DRAFTED)
    return next((length for length in lengths if length and length > 1), None)


_DRAFTS: Final = "drafts verified"
"""A setting of ours: passes that verify drafts are another condition, though no field of a result says so."""

DRAFTED: Final = ("spec_decode_acceptance_length", "accept_length")
"""Where vLLM's and SGLang's results tell how many tokens a pass gave a stream, the model's own among them."""

_VLLM_SETTINGS: Final = (
    *("label", "backend", "endpoint_type", "tokenizer_id", "num_prompts", "request_rate", "burstiness"),
    *("max_concurrency", *VLLM_SIZES),
)
_VLLM_RESULTS: Final = frozenset(
    (
        *("run_number", "seed", "duration", "completed", "failed", "rtfx"),
        *("max_output_tokens_per_s", "max_concurrent_requests", "rps_change_events"),
        *("input_lens", "output_lens", "ttfts", "tpots", "itls", "e2els", "latencies", "start_times"),
        *("queue_times", "generated_texts", "errors", "lora_metrics"),
    )
)
_VLLM_RESULT: Final = re.compile(
    r"(?:mean|median|std|p[0-9]+(?:\.[0-9]+)?|percentiles)_.*_ms|probe_(?:completed|failed|.*_ms)"
    r"|(?:total|spec_decode|diffusion)_.*|.*_(?:throughput|goodput):?"
)
"""What a run of vLLM's benchmark measured: `result` in `vllm/benchmarks/serve.py` at commit 009e6d4.

The key of goodput had a colon once. `run_number` and `seed` tell one repetition from the next.
"""

_TEXTS_OF_A_RUN: Final = frozenset(("date", "model_id"))
_LONGEST_LIST: Final = 64
"""Most entries of a list that is a setting: one with an entry a request is a result, whatever its name."""

SGLANG_SETTINGS: Final = (
    *("backend", "dataset_name", "request_rate", "max_concurrency", "sharegpt_output_len"),
    *("random_input_len", "random_output_len", "random_range_ratio", "tag"),
)
SGLANG_SERVER: Final = (
    *("version", "dtype", "quantization", "kv_cache_dtype", "ep_size", *SGLANG_SIZES),
    *("attention_backend", "chunked_prefill_size", "max_running_requests", "disable_radix_cache"),
    *("disable_cuda_graph", "speculative_algorithm", "speculative_num_draft_tokens"),
)


def read_vllm(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    """Yield the run of one result; see `read_runs` for the errors."""
    run = _serving(document, place, tool=VLLM, settings=vllm_told(document))
    yield replace(run, layout=vllm_layout(document))


def vllm_told(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tells one condition from another: all that the benchmark did not measure.

    `--metadata KEY=VALUE` adds texts, and `vllm bench sweep serve` its parameters as JSON has them: numbers,
    booleans, and objects, of which a digest stands here. What is measured has names that are known, and a
    number of any other name is a setting: where that is wrong, repetitions stand apart and are told to be too
    few, and no median is told that nobody measured.
    """
    known = picked(document, _VLLM_SETTINGS)
    others = {
        name: f"sha256 {digest(value)}" if isinstance(value, list | dict) else value
        for name, value in sorted(told(_unmeasured(document)).items())
    }
    return {**known, **{name: value for name, value in others.items() if name not in known}}


def _is_measured(name: str, value: Any) -> bool:
    is_long = isinstance(value, list) and len(value) > _LONGEST_LIST
    return is_long or name in _VLLM_RESULTS or _VLLM_RESULT.fullmatch(name) is not None


def _unmeasured(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in document.items()
        if (name not in _TEXTS_OF_A_RUN if isinstance(value, str) else not _is_measured(name, value))
    }


_KV: Final = {
    **dict.fromkeys(("fp8_e4m3", "fp8_e5m2"), "fp8"),
    **dict.fromkeys(("bf16", "bfloat16", "float16"), "bf16"),
}
"""What a server says of its cache by the id of our format; `auto` depends on the model and its checkpoint."""


def read_sglang(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    """Yield the run of one result; see `read_runs` for the errors.

    Where other servers read the prompts, their time is on none of the GPUs that are told: no first token.
    """
    run = _serving(document, place, tool=SGLANG, settings=picked(document, SGLANG_SETTINGS))
    servers = sglang_servers(document)
    server = servers[0] if servers else {}
    kv = server.get("kv_cache_dtype")
    yield replace(
        run,
        model=name_of(server.get("model_path")),
        settings=(*run.settings, *settings_of(picked(server, SGLANG_SERVER))),
        mean_ttft_ms=None if is_split(document) else run.mean_ttft_ms,
        layout=sglang_layout(servers),
        kv=_KV.get(kv, "") if isinstance(kv, str) else "",
    )


def is_split(document: Mapping[str, Any]) -> bool:
    """Tell whether some servers read prompts and others decode."""
    server = document.get("server_info")
    return isinstance(server, dict) and bool(server.get("decode")) and isinstance(server["decode"], list)


def sglang_servers(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return what the servers that decode said of themselves, one where none reads prompts for it."""
    server = document.get("server_info")
    found = document["server_info"]["decode"] if is_split(document) else [server]
    return [one if isinstance(one, dict) else {} for one in found[:MOST_SERVERS]]


MOST_SERVERS: Final = 1000
"""Servers of one benchmark that are looked at."""
