"""Reader of the tests of llama-bench."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.serving.bench_run import (
    LEAST_RATE,
    LLAMA_BENCH,
    MOST_SAMPLES,
    TOLERANCE,
    Run,
    count_of,
    name_of,
    picked,
    settings_of,
    stamp_of,
    told,
)
from app.domain.serving.layout import llama_layout
from app.domain.serving.reading import MOST_FIGURE, InputError, as_figure, figure, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LLAMA_SETTINGS: Final = (
    *("n_prompt", "n_gen", "n_depth", "n_batch", "n_ubatch", "n_threads", "type_k", "type_v", "n_gpu_layers"),
    *("n_cpu_moe", "split_mode", "main_gpu", "no_kv_offload", "flash_attn", "tensor_split", "use_mmap"),
    *("tensor_buft_overrides", "backends", "gpu_info", "devices", "build_commit"),
    *("model_size", "model_n_params"),
)
_LLAMA_RESULTS: Final = frozenset(
    (
        *("model_filename", "model_type", "build_number", "test_time", "avg_ns", "stddev_ns"),
        *("avg_ts", "stddev_ts", "samples_ns", "samples_ts"),
    )
)
_KV: Final = {"f16": "bf16", "bf16": "bf16", "q8_0": "q8-0", "q4_0": "q4-0"}
"""Types of llama.cpp's cache by the id of our format of that size."""


def read_llama(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    """Yield the run of one test, with each of its repetitions.

    Raises:
        InputError: a figure lacks or is not right.
    """
    samples = document["samples_ts"]
    if not isinstance(samples, list) or not 0 < len(samples) <= MOST_SAMPLES:
        raise InputError(f"{place}: samples_ts", shown(samples), f"give 1 to {MOST_SAMPLES:,} rates")
    rates = tuple(as_figure(one, f"{place}: samples_ts", least=LEAST_RATE) for one in samples)
    stated, mean = figure(document, "avg_ts", place=place), sum(rates, Decimal(0)) / len(rates)
    remarks = []
    if abs(stated - mean) > TOLERANCE * mean:
        remarks.append(f"avg_ts does not follow: its samples average {mean:.2f}, and it says {stated:.2f}.")
    prompt, generated = (figure(document, name, place=place) for name in ("n_prompt", "n_gen"))
    if not prompt + generated:
        raise InputError(f"{place}: n_prompt and n_gen", "0", "a test has tokens to read or to generate")
    yield Run(
        place=place,
        tool=LLAMA_BENCH,
        model=name_of(document.get("model_type")),
        phase="prefill and decode" if prompt and generated else "prefill" if prompt else "decode",
        settings=settings_of(llama_told(document)),
        tokens_per_s=rates,
        sent=1,
        context=count_of(document.get("n_depth"), f"{place}: n_depth"),
        prompt_tokens=count_of(document["n_prompt"], f"{place}: n_prompt") or 0,
        stamp=stamp_of(document.get("test_time")),
        layout=llama_layout(document),
        kv=_kv(document),
        weights_bytes=_size(document, "model_size"),
        params=_size(document, "model_n_params"),
        remarks=tuple(remarks),
    )


def _kv(document: Mapping[str, Any]) -> str:
    """Return the format of keys and values, empty where they differ or are in none of ours."""
    keys, values = (document.get(name) for name in ("type_k", "type_v"))
    return _KV.get(keys, "") if isinstance(keys, str) and keys == values else ""


def _size(document: Mapping[str, Any], name: str) -> int | None:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value <= MOST_FIGURE else None


def llama_told(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tells one condition from another: all that is no result."""
    known = picked(document, _LLAMA_SETTINGS)
    plain = {name: value for name, value in document.items() if not isinstance(value, list | dict)}
    others = {name: value for name, value in told(plain).items() if name not in _LLAMA_RESULTS}
    return {**known, **{name: value for name, value in others.items() if name not in known}}
