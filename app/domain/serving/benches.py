"""Reads the result files of serving benchmarks: vLLM's, SGLang's, llama-bench and GuideLLM."""

from __future__ import annotations

import re
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
_MOST_IN_FLIGHT: Final = 1_000_000
_MOST_SETTINGS: Final = 100
_LONGEST_SETTING: Final = 63
_WORD: Final = re.compile(r"[a-z0-9]+")
_UNTOLD: Final = frozenset(
    (
        *(
            "prompt",
            "prompts",
            "text",
            "texts",
            "message",
            "messages",
            "completion",
            "completions",
            "question",
        ),
        *("response", "responses", "answer", "answers", "generated", "errors", "system", "user", "header"),
        *("headers", "cookie", "cookies", "key", "apikey", "token", "tokens", "secret", "password", "passwd"),
        *("authorization", "credential", "credentials", "command"),
    )
)
"""Words in the name of a field that may hold what somebody wrote, or a secret: such a text is never shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One configuration as one file has it.

    `tokens_per_s` holds each repetition, of all streams: tokens generated in decode, read in prefill.
    `settings` is what the file says of how it was run; runs that share them repeat one configuration. `sent`
    is how many requests were in flight at most, and `context` how many tokens a stream had before the first
    one that was timed, None where the file does not tell. `prompt_tokens` is how many were read after those,
    0 in decode. `ttft_ms` and `itl_ms` are medians. `mean_ttft_ms` is the mean over requests whose prompts
    had `mean_prompt_tokens` on average, None both where the file does not tell both. `per_pass` is how many
    tokens a pass gave a stream on average where drafts were verified, None where the file tells of none.
    """

    place: str
    tool: str
    model: str | None
    phase: Phase
    settings: tuple[tuple[str, str], ...]
    tokens_per_s: tuple[Decimal, ...]
    sent: int | None = None
    context: int | None = None
    prompt_tokens: int = 0
    completed: int | None = None
    failed: int | None = None
    ttft_ms: Decimal | None = None
    itl_ms: Decimal | None = None
    mean_ttft_ms: Decimal | None = None
    mean_prompt_tokens: Decimal | None = None
    per_pass: Decimal | None = None
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
    counted = ("num_prompts", "completed", "failed")
    prompts, completed, failed = (_count(document.get(name), f"{place}: {name}") for name in counted)
    if failed is None and prompts and completed is not None and completed < prompts:
        remarks.append(
            f"{prompts - completed:,} of {prompts:,} prompts did not complete, and it does not say why."
        )
    mean_ttft_ms, prompt_tokens = _both(
        _optional(document, "mean_ttft_ms", place=place),
        _mean(_optional(document, "total_input_tokens", place=place), completed),
    )
    return Run(
        place=place,
        tool=tool,
        model=_text(document.get("model_id")),
        phase="decode",
        settings=_settings(document, settings),
        tokens_per_s=(rate,),
        sent=_in_flight(document, place),
        completed=completed,
        failed=failed,
        # A 0 stands for none that was timed: one token a request, or no streaming.
        ttft_ms=_optional(document, "median_ttft_ms", place=place) or None,
        itl_ms=_optional(document, "median_itl_ms", place=place) or None,
        mean_ttft_ms=mean_ttft_ms,
        mean_prompt_tokens=prompt_tokens,
        per_pass=_per_pass(document, place),
        remarks=tuple(remarks),
    )


def _both(ms: Decimal | None, prompt_tokens: Decimal | None) -> tuple[Decimal, Decimal] | tuple[None, None]:
    """Return the means of a run where both are known; a 0 stands for none that was timed or counted."""
    return (ms, prompt_tokens) if ms and prompt_tokens else (None, None)


def _mean(total: Decimal | None, count: int | None) -> Decimal | None:
    return None if total is None or not count else total / count


def _in_flight(document: Mapping[str, Any], place: str) -> int | None:
    """Return the limit on requests in flight, else the most that succeeded and overlapped within a second.

    There are never more than there are prompts.
    """
    prompts = _count(document.get("num_prompts"), f"{place}: num_prompts")
    return _at_most(_stated_in_flight(document, place), prompts)


def _at_most(in_flight: int | None, requests: int | None) -> int | None:
    """Return how many were in flight where there were so many requests in all."""
    return min(in_flight, requests) if in_flight and requests else in_flight


def _stated_in_flight(document: Mapping[str, Any], place: str) -> int | None:
    counts = (
        _count(document.get(key), f"{place}: {key}", most=_MOST_IN_FLIGHT)
        for key in ("max_concurrency", "max_concurrent_requests")
    )
    return next((count for count in counts if count), None)


def _per_pass(document: Mapping[str, Any], place: str) -> Decimal | None:
    """Return the tokens of a pass where drafts were verified: vLLM's and SGLang's accepted length."""
    lengths = (_optional(document, key, place=place) for key in DRAFTED)
    return next((length for length in lengths if length and length > 1), None)


DRAFTED: Final = ("spec_decode_acceptance_length", "accept_length")
"""Where vLLM's and SGLang's results tell how many tokens a pass gave a stream, the model's own among them."""

_VLLM_SETTINGS: Final = (
    *("label", "backend", "endpoint_type", "tokenizer_id", "num_prompts", "request_rate", "burstiness"),
    *("max_concurrency", "total_input_tokens"),
)
SGLANG_SETTINGS: Final = (
    *("backend", "dataset_name", "request_rate", "max_concurrency", "sharegpt_output_len"),
    *("random_input_len", "random_output_len", "random_range_ratio", "tag"),
)
SGLANG_SERVER: Final = (
    *("version", "dtype", "quantization", "kv_cache_dtype", "tp_size", "dp_size", "ep_size", "pp_size"),
    *("attention_backend", "chunked_prefill_size", "max_running_requests", "disable_radix_cache"),
    *("disable_cuda_graph", "speculative_algorithm", "speculative_num_draft_tokens"),
)
_LLAMA_SETTINGS: Final = (
    *("n_prompt", "n_gen", "n_depth", "n_batch", "n_ubatch", "n_threads", "type_k", "type_v", "n_gpu_layers"),
    *("n_cpu_moe", "split_mode", "main_gpu", "no_kv_offload", "flash_attn", "tensor_split", "use_mmap"),
    *("tensor_buft_overrides", "backends", "gpu_info", "build_commit"),
)
_LLAMA_RESULTS: Final = frozenset(
    (
        *("model_filename", "model_type", "build_number", "test_time", "avg_ns", "stddev_ns"),
        *("avg_ts", "stddev_ts", "samples_ns", "samples_ts"),
    )
)


def _read_vllm(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    yield _serving(document, place, tool=VLLM, settings=vllm_settings(document))


def vllm_settings(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of what tells one condition from another.

    What `--metadata KEY=VALUE` adds stands among the rest as a text, and often does just that.
    """
    told = [name for name in told_names(document) if isinstance(document[name], str) and name != "date"]
    return tuple(dict.fromkeys((*_VLLM_SETTINGS, *sorted(told))))


def told_names(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of fields that may be shown: no long text, and none that somebody wrote or hides."""
    shown_count = 0
    for name, value in document.items():
        is_short = name.isprintable() and len(name) <= _LONGEST_SETTING
        if not is_short or shown_count == _MOST_SETTINGS:
            continue
        is_text = isinstance(value, str | list | dict)
        if is_text and _UNTOLD.intersection(_WORD.findall(name.casefold())):
            continue
        if not isinstance(value, str) or len(value) <= _LONGEST_SETTING:
            shown_count += 1
            yield name


def _read_sglang(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    run = _serving(document, place, tool=SGLANG, settings=SGLANG_SETTINGS)
    server = sglang_server(document)
    settings = (*run.settings, *_settings(server, SGLANG_SERVER))
    yield replace(run, model=_text(server.get("model_path")), settings=settings)


def sglang_server(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the server said of itself: of the first that decodes, where another reads prompts."""
    server = document.get("server_info")
    decoding = server.get("decode") if isinstance(server, dict) else None
    if isinstance(decoding, list) and decoding:
        server = decoding[0]
    return server if isinstance(server, dict) else {}


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
        settings=_settings(document, llama_settings(document)),
        tokens_per_s=rates,
        sent=1,
        context=_count(document.get("n_depth"), f"{place}: n_depth"),
        prompt_tokens=_count(document["n_prompt"], f"{place}: n_prompt") or 0,
        remarks=tuple(remarks),
    )


def llama_settings(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of what tells one condition from another: all that is no result."""
    plain = (name for name in told_names(document) if not isinstance(document[name], list | dict))
    others = [name for name in plain if name not in _LLAMA_RESULTS]
    return tuple(dict.fromkeys((*_LLAMA_SETTINGS, *others)))


def _read_guidellm(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    benchmarks = document["benchmarks"]
    if not isinstance(benchmarks, list) or not 0 < len(benchmarks) <= _MOST_SAMPLES:
        raise InputError(f"{place}: benchmarks", shown(benchmarks), "give a list of at least one")
    told = guidellm_told(document)
    for number, one in enumerate(benchmarks, start=1):
        yield _guidellm_run(one, f"{place}: benchmark {number}", told=told)


def guidellm_told(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a report says of all its benchmarks: the model, the tokens asked for, and labels.

    The report of 0.5 and 0.6 has its arguments in `args`, later ones have them in `config`, of which `spec`
    holds the backend and the data since 0.8.
    """
    arguments = _mapping(document.get("args")) or _mapping(document.get("config"))
    spec = _mapping(arguments.get("spec")) or arguments
    data = spec.get("data")
    first = _mapping(data[0]) if isinstance(data, list) and data else {}
    return {
        "model": _text(arguments.get("model")) or _text(_mapping(spec.get("backend")).get("model")),
        "data": {name: first[name] for name in ("prompt_tokens", "output_tokens") if name in first},
        "labels": _mapping(_mapping(arguments.get("metadata")).get("labels")),
    }


def _guidellm_run(benchmark: Any, place: str, *, told: Mapping[str, Any]) -> Run:
    metrics = _inner(benchmark, "metrics", place=place)
    totals = _inner(metrics, "request_totals", place=place)
    rate = _successful(metrics, "output_tokens_per_second", place=place)
    strategy = guidellm_strategy(benchmark)
    parts = (strategy, told["data"], told["labels"])
    mean_ttft_ms, prompt_tokens = _both(
        _of(metrics, "time_to_first_token_ms", name="mean", place=place),
        _of(metrics, "prompt_token_count", name="mean", place=place),
    )
    return Run(
        place=place,
        tool=GUIDELLM,
        model=told["model"],
        phase="decode",
        settings=tuple(pair for part in parts for pair in _settings(part, tuple(told_names(part)))),
        tokens_per_s=(figure(rate, "mean", place=place, least=_LEAST_RATE),),
        sent=_at_most(_streams(strategy), _count(totals.get("total"), f"{place}: total")),
        completed=_count(totals.get("successful"), f"{place}: successful"),
        failed=_count(totals.get("errored"), f"{place}: errored"),
        ttft_ms=_of(metrics, "time_to_first_token_ms", name="median", place=place),
        itl_ms=_of(metrics, "inter_token_latency_ms", name="median", place=place),
        mean_ttft_ms=mean_ttft_ms,
        mean_prompt_tokens=prompt_tokens,
    )


GUIDELLM_METRICS: Final = (
    ("output_tokens_per_second", ("mean",)),
    ("time_to_first_token_ms", ("median", "mean")),
    ("inter_token_latency_ms", ("median",)),
    ("prompt_token_count", ("mean",)),
)
"""The metrics of a benchmark that are read, each with the figures that are read of what succeeded."""


def guidellm_strategy(benchmark: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how the requests of a benchmark were scheduled."""
    config = _mapping(benchmark.get("config"))
    return _mapping(config.get("strategy", config.get("profile")))


def _streams(strategy: Mapping[str, Any]) -> int | None:
    """Return how many requests a strategy keeps in flight at most, None where it sets no limit."""
    if strategy.get("type_") == "synchronous":
        return 1
    stated = (strategy.get(key) for key in ("streams", "max_concurrency"))
    whole = (each for each in stated if isinstance(each, int) and not isinstance(each, bool))
    return next((each for each in whole if 0 < each <= _MOST_IN_FLIGHT), None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _inner(document: Any, key: str, *, place: str) -> Mapping[str, Any]:
    found = document.get(key) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise InputError(place, f"nearest to {GUIDELLM}", f"it lacks {key}")
    return found


def _successful(metrics: Mapping[str, Any], key: str, *, place: str) -> Mapping[str, Any]:
    return _inner(_inner(metrics, key, place=place), "successful", place=f"{place}: {key}")


def _of(metrics: Mapping[str, Any], key: str, *, name: str, place: str) -> Decimal | None:
    """Return a figure of what succeeded; a 0 stands for a run that did not stream."""
    if metrics.get(key) is None:
        return None
    return _optional(_successful(metrics, key, place=place), name, place=f"{place}: {key}") or None


def _settings(document: Mapping[str, Any], names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _setting(document[name])) for name in names if name in document)


def _setting(value: Any) -> str:
    return "none" if value is None else shown(value)


def _text(value: Any) -> str | None:
    return shown(value) if isinstance(value, str) and value.strip() else None


def _count(value: Any, field: str, *, most: int | None = None) -> int | None:
    """Return a whole number, None when it is not stated.

    Raises:
        InputError: it is no whole number of 0 or more, or above the most.
    """
    if value is None:
        return None
    number = as_figure(value, field)
    if number != int(number):
        raise InputError(field, shown(value), "give a whole number")
    if most is not None and number > most:
        raise InputError(field, shown(value), f"give at most {most:,}")
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
        understands=(
            "python -m sglang.benchmark.serving (before, sglang.bench_serving) --output-file, lines of JSON "
            "of SGLang 0.5 to 0.5.23"
        ),
        needs=frozenset({*_SERVING, "backend", "total_output_tokens_retokenized", "median_e2e_latency_ms"}),
        read=_read_sglang,
    ),
    Reader(
        tool=VLLM,
        understands=(
            "vllm bench serve --save-result, also with --append-result or --save-detailed, of vLLM in 2025 "
            "and 2026, to commit 009e6d4"
        ),
        needs=frozenset({*_SERVING, "model_id", "num_prompts", "total_token_throughput"}),
        read=_read_vllm,
    ),
    Reader(
        tool=LLAMA_BENCH,
        understands=(
            "llama-bench -o json or jsonl of llama.cpp in 2025 and 2026, to commit 0104b15; csv and md lack "
            "repetitions"
        ),
        needs=frozenset({"build_commit", "model_type", "n_prompt", "n_gen", "avg_ts", "samples_ts"}),
        read=_read_llama,
    ),
    Reader(
        tool=GUIDELLM,
        understands="guidellm benchmark, benchmarks.json of GuideLLM 0.5 to 0.8.1",
        needs=frozenset({"benchmarks"}),
        read=_read_guidellm,
    ),
)
