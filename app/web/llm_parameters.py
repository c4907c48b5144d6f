"""The query parameters of a language model's page as the OpenAPI document states them."""

from __future__ import annotations

from typing import Any, Final

from app.domain.llms.cost_query import (
    COUNTINGS,
    DEEPEST_DRAFT,
    LARGEST_BATCH,
    LONGEST_CONTEXT,
    MOST_BATCHES,
    SORTS,
)
from app.domain.llms.fit import ENGINES, POWERS_OF_TWO
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS
from app.web.parameters import PARAMETERS


def _single(name: str, schema: dict[str, Any], about: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": about, "schema": schema}


def _choice(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _number(low: float, high: float) -> dict[str, Any]:
    return {"type": "number", "minimum": low, "maximum": high}


_NUMBERS: Final[dict[str, Any]] = {"type": "string", "pattern": r"^\d+(,\d+)*$"}
_SHARED: Final = frozenset(
    {
        *("gpu", "provider", "pricing", "service"),
        *("as_of", "spec", "quote", "own", "page", "per_page"),
    }
)

LLM_PARAMETERS: Final[list[dict[str, Any]]] = [
    _single("format", _choice(*FORMATS), "The format of the weights; fp8 by default."),
    _single("kv", _choice(*KV_FORMATS), "The format of the cache; bf16 by default."),
    _single(
        "context",
        {"type": "integer", "minimum": 0, "maximum": LONGEST_CONTEXT},
        "Tokens of each request; 8192 by default.",
    ),
    _single(
        "batch",
        _NUMBERS,
        f"Requests at once, one to {MOST_BATCHES} numbers up to {LARGEST_BATCH}; 1,8,32 by default.",
    ),
    _single(
        "cards",
        _NUMBERS,
        f"GPUs that may hold one copy, of {', '.join(map(str, POWERS_OF_TWO))}; 1,2,4,8 by default.",
    ),
    _single("utilisation", _number(0.0001, 1), "Share of the paid time in use; 1 by default."),
    _single("engine", _choice(*ENGINES), "Whose rule divides the memory; vllm by default."),
    _single("memory_share", _number(0.05, 1), "Share of memory the engine takes; 0.9 by default."),
    _single("overhead_gb", _number(0, 1000), "GB set aside on each GPU; 3 by default."),
    _single("attention", _choice("tensor", "data"), "How GPUs share attention; tensor by default."),
    _single(
        "weights_gb", _number(0.001, 1_000_000), "GB of weights that steps read, in place of the estimate."
    ),
    _single("api", _number(0.0001, 100_000), "What an API asks for a million output tokens, in dollars."),
    _single(
        "ratio", _number(0, 1_000_000), "Prompt tokens to each generated one, where both are blended; 3."
    ),
    _single(
        "draft_depth",
        {"type": "integer", "minimum": 1, "maximum": DEEPEST_DRAFT},
        "Tokens drafted a pass; with draft_tokens and draft_counts, the ceiling of speculative decoding.",
    ),
    _single("draft_tokens", _number(0, DEEPEST_DRAFT + 1), "Acceptance length, a mean of tokens a pass."),
    _single(
        "draft_counts",
        _choice(*COUNTINGS),
        "Whether draft_tokens counts the bonus token, the model's own that each pass gives.",
    ),
    _single(
        "draft_share",
        _number(0, 1),
        "Time of drafting one token as a share of a step without a draft; 0 by default.",
    ),
    _single(
        "host_experts_share",
        _number(0.0001, 1),
        "Share of the routed experts in host memory; with host_gb_s, a ceiling in each offer's arithmetic.",
    ),
    _single(
        "host_gb_s", _number(0.0001, 1_000_000), "GB/s at which those experts come to the GPUs, all together."
    ),
    _single(
        "sort",
        _choice(*SORTS, *(f"-{key}" for key in SORTS)),
        "A figure of the first batch or a fact; a minus sign in front means descending.",
    ),
    *[each for each in PARAMETERS if each["name"] in _SHARED],
]
