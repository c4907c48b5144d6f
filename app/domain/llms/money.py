"""Dollars per million tokens from an hourly price and a rate, blended, and against what an API charges.

This is plain arithmetic. What a model costs comes from `serving.cost_of`, which takes only one that fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

_SECONDS_PER_HOUR: Final = 3600
_MILLION: Final = 10**6


def usd_per_mtok(
    usd_per_hour: Decimal, *, tokens_per_s: Decimal, utilisation: Decimal = Decimal(1)
) -> Decimal:
    """Return dollars per million tokens of machines that cost so much an hour and work so much of it."""
    return usd_per_hour * _MILLION / (tokens_per_s * _SECONDS_PER_HOUR) / utilisation


def blended_usd_per_mtok(
    usd_per_mtok_input: Decimal, usd_per_mtok_output: Decimal, *, input_per_output: Decimal
) -> Decimal:
    """Return dollars per million tokens of both kinds, `input_per_output` prompt tokens to one generated."""
    return (input_per_output * usd_per_mtok_input + usd_per_mtok_output) / (input_per_output + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """How busy one's own machines must be to cost no more than an API, if they can be.

    `utilisation` is the share of the ceiling that must be sold all the time; above 1 no use pays.
    """

    usd_per_mtok_at_ceiling: Decimal
    utilisation: Decimal
    tokens_per_s_needed: Decimal

    @property
    def can_pay(self) -> bool:
        """Tell whether any use of these machines costs no more than the API."""
        return self.utilisation <= 1


def break_even(usd_per_hour: Decimal, *, tokens_per_s: Decimal, api_usd_per_mtok: Decimal) -> BreakEven:
    """Return the use at which machines with this ceiling cost what an API charges for the same tokens."""
    own = usd_per_mtok(usd_per_hour, tokens_per_s=tokens_per_s)
    return BreakEven(
        usd_per_mtok_at_ceiling=own,
        utilisation=own / api_usd_per_mtok,
        tokens_per_s_needed=usd_per_hour * _MILLION / (api_usd_per_mtok * _SECONDS_PER_HOUR),
    )


def break_even_price_ratio(resource: Decimal, *, baseline: Decimal) -> Decimal:
    """Return how many times the baseline's price a card may cost: the ratio of the resource that binds."""
    return resource / baseline
