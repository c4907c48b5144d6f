"""The named facts of a checkpoint: what a filter may ask for, and what a table of many shows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.llms.checkpoint.parts import LABELS, PARTS
from app.domain.llms.checkpoint.sharding import weights_per_gpu_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.domain.llms.checkpoint.facts import CheckpointFacts
    from app.domain.llms.checkpoint.parts import Part
    from app.domain.llms.checkpoint.quantisation import Quantisation
    from app.domain.llms.checkpoint.where import Kind, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFact:
    """One fact: its name, which ends in its unit, its kind, what it means, and how it is had."""

    name: str
    kind: Kind
    meaning: str
    value: Callable[[CheckpointFacts], Value]


def _bits_per_parameter(facts: CheckpointFacts) -> Decimal | None:
    if not facts.parameters:
        return None
    return Decimal(facts.tensor_bytes * 8) / facts.parameters


def _is_packed(facts: CheckpointFacts) -> bool | None:
    """Tell whether something is packed, None when nothing is for certain and something may be."""
    if any(each.values_per_element for each in facts.packed):
        return True
    return None if facts.packed else False


def _said(facts: CheckpointFacts, read: Callable[[Quantisation], str]) -> str | None:
    """Return what a config says of quantisation: empty when it says nothing, None without a config."""
    if facts.quantisation is not None:
        return read(facts.quantisation)
    return None if facts.context is None else ""


def _bytes(part: Part) -> NamedFact:
    return NamedFact(
        name=f"{part}_bytes",
        kind="bytes",
        meaning=f"Bytes of {LABELS[part]}.",
        value=lambda facts: facts.bytes_by_part.get(part, 0),
    )


def _dtype(part: Part) -> NamedFact:
    return NamedFact(
        name=f"{part}_dtype",
        kind="text",
        meaning=f"Stored type of most values of {LABELS[part]}.",
        value=lambda facts: facts.dtype_by_part.get(part, ""),
    )


def _has(part: Part) -> NamedFact:
    return NamedFact(
        name=part,
        kind="yes_no",
        meaning=f"Whether it holds {LABELS[part]}.",
        value=lambda facts: part in facts.bytes_by_part,
    )


def _plain(name: str, kind: Kind, *, meaning: str, value: Callable[[CheckpointFacts], Value]) -> NamedFact:
    return NamedFact(name=name, kind=kind, meaning=meaning, value=value)


FACTS: Final[Mapping[str, NamedFact]] = {
    fact.name: fact
    for fact in (
        _plain("format", "text", meaning="safetensors or gguf.", value=lambda facts: facts.format),
        _plain("files", "number", meaning="Files with tensors.", value=lambda facts: facts.files),
        _plain("tensors", "number", meaning="Tensors of all files.", value=lambda facts: facts.tensors),
        _plain("file_bytes", "bytes", meaning="Bytes of these files.", value=lambda facts: facts.file_bytes),
        _plain(
            "header_bytes", "bytes", meaning="Bytes of their headers.", value=lambda facts: facts.header_bytes
        ),
        _plain(
            "tensor_bytes", "bytes", meaning="Bytes of all tensors.", value=lambda facts: facts.tensor_bytes
        ),
        _plain(
            "parameters",
            "number",
            meaning="Values, unpacked, without scales and tables of indices.",
            value=lambda facts: facts.parameters,
        ),
        _plain(
            "bits_per_parameter",
            "number",
            meaning="Bits of all tensors over the parameters.",
            value=_bits_per_parameter,
        ),
        _plain(
            "dtypes",
            "texts",
            meaning="Stored types of all tensors.",
            value=lambda facts: frozenset(facts.bytes_by_dtype),
        ),
        *(_bytes(part) for part in PARTS),
        *(_dtype(part) for part in PARTS),
        *(_has(part) for part in ("mtp", "ple", "vision")),
        _plain(
            "moe",
            "yes_no",
            meaning="Whether it has routed experts.",
            value=lambda facts: facts.moe_layers > 0,
        ),
        _plain(
            "moe_layers",
            "number",
            meaning="Layers with routed experts.",
            value=lambda facts: facts.moe_layers,
        ),
        _plain(
            "experts_per_layer",
            "number",
            meaning="Routed experts of a layer, the most of any.",
            value=lambda facts: max(facts.experts_per_layer, default=0),
        ),
        _plain("packed", "yes_no", meaning="Whether elements hold several values.", value=_is_packed),
        _plain(
            "packed_bytes",
            "bytes",
            meaning="Bytes of elements that hold several values.",
            value=lambda facts: sum(each.size_bytes for each in facts.packed if each.values_per_element),
        ),
        _plain(
            "quant_method",
            "text",
            meaning="How the config says it was quantised.",
            value=lambda facts: _said(facts, lambda said: said.method),
        ),
        _plain(
            "quant_scheme",
            "text",
            meaning="The scheme that the config says of most modules.",
            value=lambda facts: _said(facts, lambda said: said.scheme or "by module"),
        ),
        _plain(
            "kv_cache_scheme",
            "text",
            meaning="The scheme of the KV cache that the config says.",
            value=lambda facts: _said(facts, lambda said: said.kv_cache),
        ),
        _plain(
            "context_tokens",
            "number",
            meaning="The longest context that the config promises, stretched by YaRN where it says so.",
            value=lambda facts: facts.context.tokens if facts.context else None,
        ),
        _plain(
            "yarn",
            "yes_no",
            meaning="Whether YaRN stretches the context.",
            value=lambda facts: facts.context.is_stretched if facts.context else None,
        ),
    )
}
"""All facts by the name that a filter and an export use."""

PER_GPU: Final = "weights_per_gpu_bytes"


def kinds(*, gpus: int | None) -> dict[str, Kind]:
    """Return what a filter may name, and of which kind each is; `gpus` adds the weights on each."""
    named: dict[str, Kind] = {name: fact.kind for name, fact in FACTS.items()}
    return named if gpus is None else {**named, PER_GPU: "bytes"}


def values(facts: CheckpointFacts, *, gpus: int | None) -> dict[str, Value]:
    """Return all facts by name, None where one is not known."""
    named = {name: fact.value(facts) for name, fact in FACTS.items()}
    return named if gpus is None else {**named, PER_GPU: weights_per_gpu_bytes(facts.tensor_bytes, gpus)}
