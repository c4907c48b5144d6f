"""Reads the result files of serving benchmarks: vLLM's, SGLang's, llama-bench and GuideLLM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

from app.domain.serving.reading import InputError, as_figure, figure, read_documents, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Phase = Literal["decode", "prefill", "prefill and decode"]

_TOLERANCE: Final = Decimal("0.01")
_MOST_SAMPLES: Final = 10_000
_LEAST_RATE: Final = Decimal("1e-9")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One configuration as one file has it.

    `tokens_per_s` holds each repetition, of all streams: tokens generated in decode, read in prefill.
    `settings` is what the file says of how it was run; runs that share them repeat one configuration. `sent`
    is how many requests were kept in flight at most. `ttft_ms` and `itl_ms` are medians.
    """

    place: str
    tool: str
    model: str | None
    phase: Phase
    settings: tuple[tuple[str, str], ...]
    tokens_per_s: tuple[Decimal, ...]
    sent: int | None = None
    completed: int | None = None
    failed: int | None = None
    ttft_ms: Decimal | None = None
    itl_ms: Decimal | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How one tool's result is told and read: it has all of `needs`, and `understands` says whose it is."""

    tool: str
    understands: str
    needs: frozenset[str]
    read: Callable[[Mapping[str, Any], str], Iterator[Run]]


def read_runs(data: bytes, name: str) -> list[Run]:
    """Return every run of a result file, which may hold several.

    Raises:
        InputError: it cannot be read, is no result of a tool known here, or lacks a figure.
    """
    return [
        run
        for place, document in read_documents(data, name)
        for run in reader_of(document, place).read(document, place)
    ]


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


def _serving(document: Mapping[str, Any], place: str, *, tool: str, settings: tuple[str, ...]) -> Run:
    """Return what vLLM's and SGLang's results share; SGLang's is a descendant of vLLM's."""
    rate = figure(document, "output_throughput", place=place, least=_LEAST_RATE)
    duration_s = figure(document, "duration", place=place, least=_LEAST_RATE)
    tokens = figure(document, "total_output_tokens", place=place)
    remarks = []
    if abs(rate * duration_s - tokens) > _TOLERANCE * tokens:
        remarks.append(
            f"output_throughput does not follow: {tokens:,f} tokens in {duration_s:.2f} s are "
            f"{tokens / duration_s:.2f} a second, and it says {rate:.2f}."
        )
    return Run(
        place=place,
        tool=tool,
        model=_text(document.get("model_id")),
        phase="decode",
        settings=_settings(document, settings),
        tokens_per_s=(rate,),
        sent=_count(document.get("max_concurrency"), f"{place}: max_concurrency"),
        completed=_count(document["completed"], f"{place}: completed"),
        failed=_count(document.get("failed"), f"{place}: failed"),
        ttft_ms=_optional(document, "median_ttft_ms", place=place),
        itl_ms=_optional(document, "median_itl_ms", place=place),
        remarks=tuple(remarks),
    )


_VLLM_SETTINGS: Final = (
    *("label", "backend", "endpoint_type", "tokenizer_id", "num_prompts", "request_rate", "burstiness"),
    *("max_concurrency", "total_input_tokens"),
)
_SGLANG_SETTINGS: Final = (
    *("backend", "dataset_name", "request_rate", "max_concurrency", "sharegpt_output_len"),
    *("random_input_len", "random_output_len", "random_range_ratio", "tag"),
)
_LLAMA_SETTINGS: Final = (
    *("n_prompt", "n_gen", "n_depth", "n_batch", "n_ubatch", "n_threads", "type_k", "type_v", "n_gpu_layers"),
    *("n_cpu_moe", "split_mode", "main_gpu", "no_kv_offload", "flash_attn", "tensor_split", "use_mmap"),
    *("tensor_buft_overrides", "backends", "gpu_info", "build_commit"),
)


def _read_vllm(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    # What --metadata KEY=VALUE adds stands among the rest as a text, and often tells two conditions apart.
    told = sorted(name for name, value in document.items() if isinstance(value, str) and name != "date")
    settings = tuple(dict.fromkeys((*_VLLM_SETTINGS, *told)))
    yield _serving(document, place, tool=VLLM, settings=settings)


def _read_sglang(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    run = _serving(document, place, tool=SGLANG, settings=_SGLANG_SETTINGS)
    server = document.get("server_info")
    model = _text(server.get("model_path")) if isinstance(server, dict) else None
    yield replace(run, model=model)


def _read_llama(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    samples = document["samples_ts"]
    if not isinstance(samples, list) or not 0 < len(samples) <= _MOST_SAMPLES:
        raise InputError(f"{place}: samples_ts", shown(samples), f"give 1 to {_MOST_SAMPLES:,} rates")
    rates = tuple(as_figure(one, f"{place}: samples_ts", least=_LEAST_RATE) for one in samples)
    stated, mean = figure(document, "avg_ts", place=place), sum(rates, Decimal(0)) / len(rates)
    remarks = []
    if abs(stated - mean) > _TOLERANCE * mean:
        remarks.append(f"avg_ts does not follow: its samples average {mean:.2f}, and it says {stated:.2f}.")
    prompt, generated = (figure(document, name, place=place) for name in ("n_prompt", "n_gen"))
    if not prompt + generated:
        raise InputError(f"{place}: n_prompt and n_gen", "0", "a test has tokens to read or to generate")
    yield Run(
        place=place,
        tool=LLAMA_BENCH,
        model=_text(document.get("model_type")),
        phase="prefill and decode" if prompt and generated else "prefill" if prompt else "decode",
        settings=_settings(document, _LLAMA_SETTINGS),
        tokens_per_s=rates,
        sent=1,
        remarks=tuple(remarks),
    )


def _read_guidellm(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    benchmarks = document["benchmarks"]
    if not isinstance(benchmarks, list) or not 0 < len(benchmarks) <= _MOST_SAMPLES:
        raise InputError(f"{place}: benchmarks", shown(benchmarks), "give a list of at least one")
    arguments = document.get("args") if isinstance(document.get("args"), dict) else document.get("config")
    model = _text(arguments.get("model")) if isinstance(arguments, dict) else None
    for number, one in enumerate(benchmarks, start=1):
        yield _guidellm_run(one, f"{place}: benchmark {number}", model=model)


def _guidellm_run(benchmark: Any, place: str, *, model: str | None) -> Run:
    metrics = _inner(benchmark, "metrics", place=place)
    totals = _inner(metrics, "request_totals", place=place)
    rate = _successful(metrics, "output_tokens_per_second", place=place)
    config = benchmark.get("config")
    strategy = config.get("strategy", config.get("profile")) if isinstance(config, dict) else None
    return Run(
        place=place,
        tool=GUIDELLM,
        model=model,
        phase="decode",
        settings=_settings(strategy, tuple(map(str, strategy))) if isinstance(strategy, dict) else (),
        tokens_per_s=(figure(rate, "mean", place=place, least=_LEAST_RATE),),
        completed=_count(totals.get("successful"), f"{place}: successful"),
        failed=_count(totals.get("errored"), f"{place}: errored"),
        ttft_ms=_median(metrics, "time_to_first_token_ms", place=place),
        itl_ms=_median(metrics, "inter_token_latency_ms", place=place),
    )


def _inner(document: Any, key: str, *, place: str) -> Mapping[str, Any]:
    found = document.get(key) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise InputError(place, f"nearest to {GUIDELLM}", f"it lacks {key}")
    return found


def _successful(metrics: Mapping[str, Any], key: str, *, place: str) -> Mapping[str, Any]:
    return _inner(_inner(metrics, key, place=place), "successful", place=f"{place}: {key}")


def _median(metrics: Mapping[str, Any], key: str, *, place: str) -> Decimal | None:
    """Return the median of what succeeded; a 0 stands for a run that did not stream."""
    if metrics.get(key) is None:
        return None
    return _optional(_successful(metrics, key, place=place), "median", place=f"{place}: {key}") or None


def _settings(document: Mapping[str, Any], names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _setting(document[name])) for name in names if name in document)


def _setting(value: Any) -> str:
    return "none" if value is None else shown(value)


def _text(value: Any) -> str | None:
    return shown(value) if isinstance(value, str) and value.strip() else None


def _count(value: Any, field: str) -> int | None:
    """Return a whole number, None when it is not stated.

    Raises:
        InputError: it is no whole number of 0 or more.
    """
    if value is None:
        return None
    number = as_figure(value, field)
    if number != int(number):
        raise InputError(field, shown(value), "give a whole number")
    return int(number)


def _optional(document: Mapping[str, Any], key: str, *, place: str) -> Decimal | None:
    return None if document.get(key) is None else figure(document, key, place=place)


VLLM: Final = "vLLM"
SGLANG: Final = "SGLang"
LLAMA_BENCH: Final = "llama-bench"
GUIDELLM: Final = "GuideLLM"

_SERVING: Final = {"duration", "completed", "total_output_tokens", "output_throughput"}

READERS: Final = (
    Reader(
        tool=SGLANG,
        understands="python -m sglang.bench_serving --output-file, lines of JSON as SGLang 0.5 writes them",
        needs=frozenset({*_SERVING, "backend", "total_output_tokens_retokenized", "median_e2e_latency_ms"}),
        read=_read_sglang,
    ),
    Reader(
        tool=VLLM,
        understands="vllm bench serve --save-result, also with --append-result, of vLLM in 2025 and 2026",
        needs=frozenset({*_SERVING, "model_id", "num_prompts", "total_token_throughput"}),
        read=_read_vllm,
    ),
    Reader(
        tool=LLAMA_BENCH,
        understands="llama-bench -o json or jsonl of llama.cpp in 2025 and 2026; csv and md lack repetitions",
        needs=frozenset({"build_commit", "model_type", "n_prompt", "n_gen", "avg_ts", "samples_ts"}),
        read=_read_llama,
    ),
    Reader(
        tool=GUIDELLM,
        understands="guidellm benchmark, benchmarks.json of GuideLLM 0.5 to 0.8",
        needs=frozenset({"benchmarks"}),
        read=_read_guidellm,
    ),
)
