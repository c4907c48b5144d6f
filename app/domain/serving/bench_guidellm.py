"""Reader of the reports of GuideLLM."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from app.domain.serving.bench_run import (
    GUIDELLM,
    LEAST_RATE,
    MOST_IN_FLIGHT,
    MOST_SAMPLES,
    Run,
    at_most,
    canonical,
    count_of,
    mapping_of,
    name_of,
    optional,
    settings_of,
    stamp_of,
    told,
)
from app.domain.serving.reading import InputError, figure, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from decimal import Decimal

_COUNTS: Final = (
    *(f"{what}_tokens{of}" for what in ("prompt", "output") for of in ("", "_stdev", "_min", "_max")),
    *("prefix_tokens", "prefix_count", "turns"),
)
"""Figures of a synthetic data set that are told apart by name."""

_DIGEST: Final = "data_sha256"
_DIGITS: Final = 12
_KINDS: Final = frozenset(("kind", "type_"))
_PAIR: Final = re.compile(rf"(?<!\w)[\"']?({'|'.join(_COUNTS)})[\"']?\s*[=:]\s*([0-9]{{1,9}})(?![\w.])")
_LEFT_OUT: Final = re.compile(r"(?<!\w)[\"']?\w+[\"']?\s*[=:]\s*(?:None|null)(?!\w)")
_WRITTEN: Final = re.compile(r"\w")


def read_guidellm(document: Mapping[str, Any], place: str) -> Iterator[Run]:
    """Yield a run for each benchmark of a report.

    Raises:
        InputError: a figure lacks or is not right.
    """
    benchmarks = document["benchmarks"]
    if not isinstance(benchmarks, list) or not 0 < len(benchmarks) <= MOST_SAMPLES:
        raise InputError(f"{place}: benchmarks", shown(benchmarks), "give a list of at least one")
    of_all = guidellm_told(document)
    for number, one in enumerate(benchmarks, start=1):
        yield _guidellm_run(one, f"{place}: benchmark {number}", of_all=of_all)


def guidellm_told(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a report says of all its benchmarks: the model, the tokens asked for, and labels.

    The report of 0.5 and 0.6 has its arguments in `args`, later ones have them in `config`, of which `spec`
    holds the backend and the data since 0.8.
    """
    arguments = mapping_of(document.get("args")) or mapping_of(document.get("config"))
    spec = mapping_of(arguments.get("spec")) or arguments
    return {
        "model": name_of(arguments.get("model")) or name_of(mapping_of(spec.get("backend")).get("model")),
        "data": _data_told(spec.get("data")),
        "labels": mapping_of(mapping_of(arguments.get("metadata")).get("labels")),
    }


def _data_told(data: Any) -> dict[str, Any]:
    """Return the figures of the data, and a digest of what else it names: a path or a text is never shown.

    The report of 0.6 writes each data set as a text: figures by name, the same as JSON or as Python shows it,
    a path, or a name on the Hub (`serialize_data` of its entrypoints).
    """
    items = data if isinstance(data, list) else [] if data is None else [data]
    found: dict[str, Any] = {}
    others = [str(len(items))]
    for at, item in enumerate(items):
        counts, other = _figures_of(item) if isinstance(item, str) else _entries_of(item)
        if at == 0:
            found = counts
            others += other
        else:
            others += [canonical(item)]
    digest = sha256("\n".join(others).encode(errors="replace")).hexdigest()[:_DIGITS]
    if _DIGEST in found or others == ["1"] or not items:
        return found
    return {**found, _DIGEST: digest}


def _figures_of(text: str) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the figures that a text names, and the text where it says more."""
    found = {name: int(count) for name, count in _PAIR.findall(text)}
    rest = _LEFT_OUT.sub("", _PAIR.sub("", text))
    return found, [text] if _WRITTEN.search(rest) else []


def _entries_of(item: Any) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the figures of an object, and the rest of it where it says more; a digest of ours as it is."""
    entries = mapping_of(item)
    found = {name: entries[name] for name in _COUNTS if _is_whole(entries.get(name))}
    kept = entries.get(_DIGEST)
    if isinstance(kept, str) and re.fullmatch(rf"[0-9a-f]{{{_DIGITS}}}", kept):
        return {**found, _DIGEST: kept}, []
    rest = {
        name: value
        for name, value in entries.items()
        if name not in found and name not in _KINDS and value is not None
    }
    return found, [canonical(rest)] if rest else []


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _guidellm_run(benchmark: Any, place: str, *, of_all: Mapping[str, Any]) -> Run:
    metrics = _inner(benchmark, "metrics", place=place)
    totals = _inner(metrics, "request_totals", place=place)
    rate = _successful(metrics, "output_tokens_per_second", place=place)
    strategy = guidellm_strategy(benchmark)
    parts = (strategy, of_all["data"], of_all["labels"])
    return Run(
        place=place,
        tool=GUIDELLM,
        model=of_all["model"] or guidellm_model(benchmark),
        phase="decode",
        settings=tuple(pair for part in parts for pair in settings_of(told(part))),
        tokens_per_s=(figure(rate, "mean", place=place, least=LEAST_RATE),),
        sent=at_most(_streams(strategy), count_of(totals.get("total"), f"{place}: total")),
        completed=count_of(totals.get("successful"), f"{place}: successful"),
        failed=count_of(totals.get("errored"), f"{place}: errored"),
        ttft_ms=_of(metrics, "time_to_first_token_ms", name="median", place=place),
        itl_ms=_of(metrics, "inter_token_latency_ms", name="median", place=place),
        mean_ttft_ms=_of(metrics, "time_to_first_token_ms", name="mean", place=place),
        mean_prompt_tokens=_of(metrics, "prompt_token_count", name="mean", place=place),
        stamp=stamp_of(benchmark.get("start_time")),
        mean_output_tokens=_of(metrics, "output_token_count", name="mean", place=place),
    )


GUIDELLM_METRICS: Final = (
    ("output_tokens_per_second", ("mean",)),
    ("time_to_first_token_ms", ("median", "mean")),
    ("inter_token_latency_ms", ("median",)),
    ("prompt_token_count", ("mean",)),
    ("output_token_count", ("mean",)),
)
"""The metrics of a benchmark that are read, each with the figures that are read of what succeeded."""


def guidellm_strategy(benchmark: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how the requests of a benchmark were scheduled."""
    config = mapping_of(benchmark.get("config"))
    return mapping_of(config.get("strategy", config.get("profile")))


def guidellm_model(benchmark: Mapping[str, Any]) -> str | None:
    """Return the model that the backend of a benchmark answered with, where its arguments named none."""
    return name_of(mapping_of(mapping_of(benchmark.get("config")).get("backend")).get("model"))


def _streams(strategy: Mapping[str, Any]) -> int | None:
    """Return how many requests a strategy keeps in flight at most, None where it sets no limit."""
    if strategy.get("type_") == "synchronous":
        return 1
    stated = (strategy.get(key) for key in ("streams", "max_concurrency"))
    whole = (each for each in stated if isinstance(each, int) and not isinstance(each, bool))
    return next((each for each in whole if 0 < each <= MOST_IN_FLIGHT), None)


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
    return optional(_successful(metrics, key, place=place), name, place=f"{place}: {key}") or None
