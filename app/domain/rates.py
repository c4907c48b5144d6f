"""Exchange rates: what a unit of a currency was worth in dollars on a day, and for how long that is used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import date
    from decimal import Decimal

LONGEST_USE: Final = timedelta(days=10)
"""A rate is used on days without one of their own, as on weekends and holidays; after this it is too old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Dollars for one unit of a currency, by a reference rate of this day read at `source_url`."""

    day: date
    currency: str
    usd_per_unit: Decimal
    source_url: str
