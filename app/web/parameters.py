"""The query parameters of the board as the OpenAPI document states them."""

from __future__ import annotations

from typing import Any, Final

from app.domain.accelerators import PRECISIONS
from app.domain.columns import COLUMNS
from app.domain.conditions import NUMERIC_TERMS, TEXT_TERMS
from app.domain.metrics import Metric
from app.domain.offers import PricingModel, ServiceKind
from app.domain.query import (
    DEFAULT_PER_PAGE,
    DENSITIES,
    MAX_PER_PAGE,
    MAX_SORTS,
    MAX_TEXT_LENGTH,
    SPECS,
    WHERE,
)
from app.domain.quotes import OWN_PARTS, QUOTE_PARTS
from app.domain.shown import PER, PERIODS


def _parameter(name: str, schema: dict[str, Any], about: str, *, many: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": about,
        "schema": {"type": "array", "items": schema} if many else schema,
        **({"style": "form", "explode": True} if many else {}),
    }


def _choice(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _hint(key: str) -> str:
    column = COLUMNS[key]
    return NUMERIC_TERMS if isinstance(column, Metric) or column.numeric else TEXT_TERMS


_TEXT: Final[dict[str, Any]] = {"type": "string"}
_GPUS: Final[dict[str, Any]] = {"type": "integer", "minimum": 1, "maximum": 100_000}
_SORTS: Final = (*COLUMNS, *(f"-{key}" for key in COLUMNS))

PARAMETERS: Final[list[dict[str, Any]]] = [
    _parameter("gpu", _TEXT, "A variant (h100-sxm) or a family (h100).", many=True),
    _parameter("provider", _TEXT, "A provider's id.", many=True),
    _parameter("pricing", _choice(*PricingModel), "How the price binds.", many=True),
    _parameter("service", _choice(*ServiceKind), "What is rented.", many=True),
    _parameter("form_factor", _TEXT, "sxm, pcie, nvl, oam and so on.", many=True),
    _parameter("region", _TEXT, "A region as the provider writes it.", many=True),
    _parameter("min_gpus", _GPUS, "GPUs of an instance, at least."),
    _parameter("max_gpus", _GPUS, "GPUs of an instance, at most."),
    _parameter(
        "min_memory_gb",
        {"type": "number", "minimum": 0, "maximum": 100_000},
        "Memory of one GPU in GB, at least.",
    ),
    _parameter("precision", _choice(*PRECISIONS), "Whose dense rate is used; fp8 by default."),
    _parameter(
        "weights_gb",
        {"type": "number", "minimum": 0.001, "maximum": 1_000_000},
        "GB of weights read for each token; 70 by default.",
    ),
    _parameter("baseline", _TEXT, "The variant that multiples compare with."),
    _parameter("as_of", {"type": "string", "format": "date"}, "A day in UTC, up to today."),
    _parameter("spec", _choice(*SPECS), "The published figures in use: the listed or the other ones."),
    _parameter("period", _choice(*PERIODS), "How long a shown price is for; hour by default."),
    _parameter("per", _choice(*PER), "What a shown price is for; gpu by default."),
    _parameter("currency", _TEXT, "A currency with a reference rate on that day; USD by default."),
    _parameter(
        "sort",
        _choice(*_SORTS),
        f"Up to {MAX_SORTS} columns, the first deciding; a minus sign in front means descending.",
        many=True,
    ),
    _parameter(
        "columns", _choice(*COLUMNS), "The columns to show; metrics among them are exported.", many=True
    ),
    _parameter("density", _choice(*DENSITIES), "How close the rows of the page stand."),
    _parameter("quote", _TEXT, f"A price of your own as {QUOTE_PARTS}; it is not kept.", many=True),
    _parameter("own", _TEXT, f"Hardware of your own as {OWN_PARTS}; it is not kept.", many=True),
    *[_parameter(f"{WHERE}{key}", _TEXT, f"What must hold of {key}: {_hint(key)}.") for key in COLUMNS],
    _parameter("q", {"type": "string", "maxLength": MAX_TEXT_LENGTH}, "Words that all must stand in a row."),
    _parameter(
        "page",
        {"type": "integer", "minimum": 1, "maximum": 1_000_000},
        "A page of rows. Without page and per_page an export holds all rows.",
    ),
    _parameter(
        "per_page",
        {"type": "integer", "minimum": 1, "maximum": MAX_PER_PAGE},
        f"Rows of a page; {DEFAULT_PER_PAGE} by default.",
    ),
]
"""The query parameters as the OpenAPI document states them."""
