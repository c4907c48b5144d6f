"""The units figures are shown in: which currency, by the hour or longer, per GPU or per instance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.columns import COLUMNS, Fact
from app.domain.metrics import METRICS
from app.domain.offers import HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.metrics import Metric
    from app.domain.rates import Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A length of time that a price is shown for. Longer ones show `fewer_decimals`."""

    hours: Decimal
    unit: str
    fewer_decimals: int


PERIODS: Final[Mapping[str, Period]] = MappingProxyType(
    {
        "hour": Period(hours=Decimal(1), unit="h", fewer_decimals=0),
        "day": Period(hours=Decimal(24), unit="day", fewer_decimals=0),
        "month": Period(hours=HOURS_PER_MONTH, unit="month", fewer_decimals=2),
        "year": Period(hours=HOURS_PER_MONTH * 12, unit="year", fewer_decimals=3),
    }
)
"""What a price can be shown for: a month is 730 hours, a year 8,760."""

PER: Final = ("gpu", "instance")
"""What a price can be shown for: one GPU, or the whole instance."""

DOLLARS: Final = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """The units a reader has chosen. `rate` is that of another currency than dollars, else None."""

    period: str = "hour"
    per: str = "gpu"
    rate: Rate | None = None


BASE_UNITS: Final = Units()


@lru_cache(maxsize=1024)
def shown_column(key: str, units: Units) -> Fact | Metric:
    """Return a column as it is shown in these units: its key and its unit name them, its figures are in them.

    What is not a price is the same in all units. Other currencies' figures are the dollars divided by the
    dollars of one unit.
    """
    column = COLUMNS[key]
    if isinstance(column, Fact) or units == BASE_UNITS or not column.unit.startswith("$"):
        return column
    metric = METRICS["usd_per_instance_hour"] if (key, units.per) == _PER_INSTANCE else column
    return _in_currency(_over(metric, units.period), units.rate)


_PER_INSTANCE: Final = ("usd_per_gpu_hour", "instance")


def _over(metric: Metric, name: str) -> Metric:
    period = PERIODS[name]
    if name == "hour" or not metric.key.endswith("_hour"):
        return metric
    return replace(
        metric,
        key=f"{metric.key.removesuffix('hour')}{name}",
        unit=f"{metric.unit.removesuffix('-h')}-{period.unit}",
        formula=f"{metric.formula} x {period.hours:,} hours",
        scale=metric.scale * period.hours,
        decimals=max(0, metric.decimals - period.fewer_decimals),
    )


def _in_currency(metric: Metric, rate: Rate | None) -> Metric:
    if rate is None:
        return metric
    return replace(
        metric,
        key=f"{rate.currency.lower()}{metric.key.removeprefix('usd')}",
        unit=f"{rate.currency}{metric.unit.removeprefix('$')}",
        formula=f"{metric.formula} / {rate.usd_per_unit} dollars",
        divisor=metric.divisor * rate.usd_per_unit,
    )
