"""Result files cut down to what their readers read, of which they find the same: no prompts, no answers.

Per-request arrays, generated texts, what a server says of itself beyond its settings, and paths are left out.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.serving.bench_guidellm import (
    GUIDELLM_METRICS,
    guidellm_model,
    guidellm_strategy,
    guidellm_told,
)
from app.domain.serving.bench_llama import llama_told
from app.domain.serving.bench_run import GUIDELLM, LLAMA_BENCH, SGLANG, VLLM, name_of, told, whole
from app.domain.serving.bench_serving import (
    DRAFTED,
    SGLANG_SERVER,
    SGLANG_SETTINGS,
    is_split,
    sglang_servers,
    vllm_told,
)
from app.domain.serving.benches import reader_of
from app.domain.serving.layout import LONGEST_CARDS, SGLANG_SIZES
from app.domain.serving.reading import read_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from app.domain.serving.reading import Value

_SERVING: Final = (
    *("max_concurrency", "max_concurrent_requests", "num_prompts", "failed"),
    *("median_ttft_ms", "median_itl_ms", "mean_ttft_ms", "total_input_tokens"),
)
_CARDS: Final = ("gpu_info", "devices")


def kept_results(data: bytes, name: str, *, most: int | None = None) -> str:
    """Return the results of a file with what is read of each alone, every one at its place.

    It takes results that `read_runs` reads. Where it comes to more than `most` characters, which no link
    holds, it ends somewhere beyond them.
    """
    parts: list[str] = []
    length = 0
    for part in _placed(read_values(data, name)):
        parts.append(part)
        length += len(part)
        if most is not None and length > most:
            break
    return "".join(parts)


def _placed(values: Sequence[Value]) -> Iterator[str]:
    line = 1
    for at, value in enumerate(values):
        if value.line > line:
            yield "\n" * (value.line - line)
            line = value.line
        elif at:
            yield " "
        yield from _kept_value(value.found, value.place)


def _kept_value(found: Any, place: str) -> Iterator[str]:
    if not isinstance(found, list):
        yield _json(_kept(found, place))
        return
    yield "["
    for at, one in enumerate(found):
        yield ("," if at else "") + _json(_kept(one, place))
    yield "]"


def _kept(document: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a document with what its reader reads, and its other marks where they are numbers."""
    reader = reader_of(document, place)
    marks = {name: _plain(document[name]) for name in document if name in reader.needs}
    return {**marks, **_KEEPS[reader.tool](document)}


def _vllm(document: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: _plain(value) for name, value in vllm_told(document).items()}
    return {**settings, **_only(document, (*_SERVING, *DRAFTED, "date")), **_model(document, "model_id")}


def _sglang(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = _only(document, (*SGLANG_SETTINGS, *_SERVING, *DRAFTED, "date"))
    first, *others = sglang_servers(document)
    server = {**_only(first, SGLANG_SERVER), **_model(first, "model_path")}
    if is_split(document):
        return kept | {"server_info": {"decode": [server, *(_only(one, SGLANG_SIZES) for one in others)]}}
    return kept | {"server_info": server} if server else kept


def _llama(document: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: _plain(value) for name, value in llama_told(document).items()}
    kept = {
        **settings,
        **_only(document, ("test_time",)),
        **_model(document, "model_type"),
        "samples_ts": document["samples_ts"],
    }
    cards = {name: document[name] for name in _CARDS if _is_list_of_cards(document.get(name))}
    return kept | cards


def _is_list_of_cards(value: Any) -> bool:
    """Tell whether a text may be a card's name as often as there are such cards, all of which are counted."""
    return isinstance(value, str) and len(value) <= LONGEST_CARDS


def _guidellm(document: Mapping[str, Any]) -> dict[str, Any]:
    of_all = guidellm_told(document)
    arguments = {
        "model": of_all["model"],
        "data": [_told(of_all["data"])],
        "metadata": {"labels": _told(of_all["labels"])},
    }
    return {
        "args": arguments,
        "benchmarks": [_benchmark(one, of_all=of_all) for one in document["benchmarks"]],
    }


def _benchmark(one: Mapping[str, Any], *, of_all: Mapping[str, Any]) -> dict[str, Any]:
    model = None if of_all["model"] else guidellm_model(one)
    metrics = one["metrics"]
    kept = {name: {"successful": _only(metrics[name]["successful"], of)} for name, of in _read(metrics)}
    totals = _only(metrics["request_totals"], ("successful", "errored", "total"))
    return {
        **_only(one, ("start_time",)),
        "config": {
            "strategy": _told(guidellm_strategy(one)),
            **({"backend": {"model": model}} if model else {}),
        },
        "metrics": {"request_totals": totals, **kept},
    }


def _read(metrics: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the metrics of a benchmark that are read, each with the figures that are read of it."""
    return ((name, of) for name, of in GUIDELLM_METRICS if metrics.get(name) is not None)


def _told(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in told(part).items()}


def _model(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the name of the model as its reader has it, where there is such a field."""
    return {name: name_of(document[name])} if name in document else {}


def _only(document: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: _plain(document[name]) for name in names if name in document}


def _plain(value: Any) -> Any:
    """Return numbers as they are, anything else as a text that no other value has."""
    return value if value is None or isinstance(value, bool | int | float | Decimal) else whole(value)


_KEEPS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    VLLM: _vllm,
    SGLANG: _sglang,
    LLAMA_BENCH: _llama,
    GUIDELLM: _guidellm,
}


def _json(value: Any) -> str:
    """Write JSON as short as it is, each figure with the digits that it was read with."""
    match value:
        case dict():
            return "{" + ",".join(f"{json.dumps(name)}:{_json(one)}" for name, one in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_json, value)) + "]"
        case Decimal():
            return str(value)
        case _:
            return json.dumps(value)
