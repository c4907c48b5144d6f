"""How speeds and shares of a bound are written in sentences and sums of benchmark results."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from app.domain.serving.speedup import short

_PERCENT: Final = 100
_LEAST_SHARE: Final = Decimal("0.001")
_MANY: Final = 100


def percent(share: Decimal) -> str:
    """Return a share in percent, with more digits where it is next to nothing."""
    return f"{share * _PERCENT:,.1f} %" if share >= _LEAST_SHARE else f"{short(share * _PERCENT)} %"


def share_sum(measured: Decimal, bound: Decimal) -> str:
    """Return how the share of a bound is worked out."""
    return f"{quotient(measured, bound)} = {percent(measured / bound)}"


def quotient(measured: Decimal, bound: Decimal) -> str:
    """Return one speed over another."""
    return f"{speed(measured)} / {speed(bound)}"


def speed(value: Decimal) -> str:
    """Return a speed in tokens/s, without the unit."""
    return f"{value:,.1f}" if value >= _MANY else f"{value:,.3f}"


def counted_as(count: int, what: str) -> str:
    """Return so many of a thing, whose plural ends in an s."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
