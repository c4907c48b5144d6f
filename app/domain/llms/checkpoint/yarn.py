"""How long a context a config promises, where positions are stretched by YaRN.

The stretched context is the original one times the factor. `max_position_embeddings` may hold the original or
already the product (Devstral 2: 4,096 x 64 = 262,144), so it is never multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_TOKENS: Final = 10**9
_MOST_FACTOR: Final = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The longest context in tokens, None with the reason where it is not known."""

    tokens: int | None
    why: str
    is_stretched: bool = False


def yarn_context(original_tokens: int, factor: Decimal) -> int:
    """Return the context of YaRN in tokens: original_max_position_embeddings x factor."""
    return int(original_tokens * factor)


def context_of(config: Mapping[str, Any]) -> Context:
    """Return the context that a config.json promises, of its text part where it has several."""
    text = config.get("text_config")
    inner = text if isinstance(text, dict) else config
    stated = _natural(inner.get("max_position_embeddings"))
    rope = _rope(inner)
    if rope is None:
        why = "max_position_embeddings" if stated else "the config states no max_position_embeddings"
        return Context(tokens=stated, why=why)
    original = _natural(rope.get("original_max_position_embeddings"))
    factor = _factor(rope.get("factor"))
    if original is None or factor is None:
        missing = "factor" if original else "original_max_position_embeddings"
        return Context(tokens=None, why=f"its YaRN states no {missing}", is_stretched=True)
    tokens = yarn_context(original, factor)
    why = f"YaRN: {original} x {factor.normalize():f}"
    if stated not in {None, original, tokens}:
        why += f"; max_position_embeddings says {stated}"
    return Context(tokens=tokens, why=why, is_stretched=True)


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the settings of YaRN, None without it; newer configs call them parameters."""
    for name in ("rope_scaling", "rope_parameters"):
        rope = config.get(name)
        if isinstance(rope, dict) and "yarn" in {rope.get("rope_type"), rope.get("type")}:
            return rope
    return None


def _natural(value: object) -> int | None:
    return value if type(value) is int and 0 < value <= _MOST_TOKENS else None


def _factor(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        factor = Decimal(str(value))
    except InvalidOperation:
        return None
    return factor if factor.is_finite() and 0 < factor <= _MOST_FACTOR else None


def context_of_gguf(metadata: Mapping[str, str | int | float | bool]) -> Context:
    """Return the context that the metadata of a GGUF file promise."""
    architecture = metadata.get("general.architecture")
    named = {
        "max_position_embeddings": metadata.get(f"{architecture}.context_length"),
        "rope_scaling": {
            "type": metadata.get(f"{architecture}.rope.scaling.type"),
            "factor": metadata.get(f"{architecture}.rope.scaling.factor"),
            "original_max_position_embeddings": metadata.get(
                f"{architecture}.rope.scaling.original_context_length"
            ),
        },
    }
    return context_of(named)
