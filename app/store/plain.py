"""Offers as plain values that JSON can hold, and back again without losing a digit."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NAMES: Final = tuple(field.name for field in fields(Offer))
_BACK: Final[Mapping[str, Callable[[Any], Any]]] = {
    "list_price": Decimal,
    "memory_gb_as_written": Decimal,
    "price_basis": PriceBasis,
    "pricing_model": PricingModel,
    "service_kind": ServiceKind,
    "valid_from": date.fromisoformat,
    "assumptions": tuple,
}


def offer_to_plain(offer: Offer) -> dict[str, Any]:
    """Return an offer's fields by name: decimals as their digits, dates in ISO form, words as text."""
    return {name: _plain(getattr(offer, name)) for name in _NAMES}


def offer_from_plain(plain: Mapping[str, Any]) -> Offer:
    """Return the offer that `offer_to_plain` was given; fields it does not know raise TypeError."""
    return Offer(
        **{
            name: _BACK[name](value) if name in _BACK and value is not None else value
            for name, value in plain.items()
        }
    )


def _plain(value: Any) -> Any:
    """Return one value as JSON knows it."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value
