"""Every column a listing can show: the facts of an offer, then the metrics, each by its key."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from app.domain.fit import flags_in, gpus_for_weights
from app.domain.listing import utc
from app.domain.metrics import METRICS, Metric
from app.domain.providers import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.domain.listing import StoredOffer
    from app.domain.metrics import View
    from app.domain.rows import Row

FactValue = str | int | Decimal | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A column that is read, not computed. `numeric` cells align right and sort as numbers.

    `words` adds to what a condition on the column looks at, where people say it in other words. `in_view` is
    what the column holds in a view, where that depends on what `depends` names; `get` then holds for any.
    """

    key: str
    label: str
    get: Callable[[Row], FactValue]
    numeric: bool = False
    unit: str = ""
    words: Callable[[Row], str] | None = None
    in_view: Callable[[Row, View], FactValue] | None = None
    depends: tuple[Literal["weights_gb"], ...] = ()

    def value(self, row: Row, view: View) -> FactValue:
        """Return what the column holds for a row in a view."""
        return self.get(row) if self.in_view is None else self.in_view(row, view)

    def said(self, row: Row, view: View) -> FactValue:
        """Return what a condition on the column looks at: the value, with the words it is said in."""
        value = self.value(row, view)
        return value if self.words is None or value is None else f"{value} {self.words(row)}"


def _read_of(get: Callable[[StoredOffer], str]) -> Callable[[Row], str | None]:
    """Return what reads a time of an offer: the reader's own has none, as nobody has read it anywhere."""
    return lambda row: None if row.offer.is_own else get(row.stored)


_FACTS: Final = (
    Fact(
        key="provider",
        label="Provider",
        get=lambda row: row.offer.provider,
        words=lambda row: name_of(row.offer.provider),
    ),
    Fact(key="sku", label="SKU", get=lambda row: row.offer.sku),
    Fact(
        key="accelerator",
        label="GPU",
        get=lambda row: row.offer.accelerator,
        words=lambda row: row.accelerator.name if row.accelerator else "",
    ),
    Fact(key="accelerator_as_written", label="As written", get=lambda row: row.offer.accelerator_as_written),
    Fact(key="gpu_count", label="GPUs", get=lambda row: row.offer.gpu_count, numeric=True),
    Fact(key="min_gpus", label="Min GPUs", get=lambda row: row.offer.min_gpus, numeric=True),
    Fact(key="list_price", label="As printed", get=lambda row: row.offer.list_price, numeric=True),
    Fact(key="currency", label="Currency", get=lambda row: row.offer.currency),
    Fact(key="price_basis", label="Price basis", get=lambda row: row.offer.price_basis.value),
    Fact(key="is_floor", label="Floor price", get=lambda row: row.offer.is_floor),
    Fact(
        key="pricing_model",
        label="Pricing",
        get=lambda row: row.offer.pricing_model.value,
        words=lambda row: f"{row.offer.pricing_model.value.replace('_', ' ')} {row.offer.tier}",
    ),
    Fact(key="service_kind", label="Service", get=lambda row: row.offer.service_kind.value),
    Fact(key="tier", label="Tier", get=lambda row: row.offer.tier),
    Fact(
        key="term_days_min",
        label="Term from",
        unit="days",
        get=lambda row: row.offer.term_days_min,
        numeric=True,
    ),
    Fact(
        key="term_days_max",
        label="Term to",
        unit="days",
        get=lambda row: row.offer.term_days_max,
        numeric=True,
    ),
    Fact(key="region", label="Region", get=lambda row: row.offer.region),
    Fact(
        key="form_factor",
        label="Form factor",
        get=lambda row: row.accelerator.form_factor if row.accelerator else None,
    ),
    Fact(key="form_factor_assumed", label="Form assumed", get=lambda row: row.offer.variant_assumed),
    Fact(
        key="memory_gb_as_written",
        label="Memory as written",
        unit="GB",
        get=lambda row: row.offer.memory_gb_as_written,
        numeric=True,
    ),
    Fact(
        key="valid_from",
        label="Price since",
        get=_read_of(lambda stored: stored.price_valid_from.date().isoformat()),
    ),
    Fact(
        key="flags",
        label="Notes",
        get=lambda row: " ".join(row.flags),
        in_view=lambda row, view: " ".join(flags_in(row, view)),
        depends=("weights_gb",),
    ),
    Fact(key="source_url", label="Source", get=lambda row: row.offer.source_url),
    Fact(key="fragment", label="Read from", get=lambda row: row.offer.fragment),
    Fact(key="offer_id", label="Offer", get=lambda row: row.stored.offer_id, numeric=True),
    Fact(key="family", label="Family", get=lambda row: row.family),
    Fact(key="observed_at", label="Read at", get=_read_of(lambda stored: utc(stored.observed_at))),
    Fact(key="last_seen_at", label="Last seen", get=_read_of(lambda stored: utc(stored.last_seen_at))),
    Fact(
        key="gpus_for_weights",
        label="GPUs for weights",
        get=lambda _row: None,
        in_view=gpus_for_weights,
        depends=("weights_gb",),
        numeric=True,
    ),
    Fact(key="assumptions", label="Assumed", get=lambda row: "; ".join(row.offer.assumptions)),
)

FACTS: Final[Mapping[str, Fact]] = MappingProxyType({fact.key: fact for fact in _FACTS})

COLUMNS: Final[Mapping[str, Fact | Metric]] = MappingProxyType({**FACTS, **METRICS})
"""All columns by key: each can be shown, sorted by and exported."""

DEFAULT_COLUMNS: Final = (
    "provider",
    "accelerator",
    "usd_per_gpu_hour",
    "usd_per_tbs_hour",
    "usd_per_pflop_hour",
    "decode_ceiling_tokens_per_s",
    "usd_per_mtok_at_ceiling",
    "gpu_count",
    "pricing_model",
    "service_kind",
    "region",
)

EXPORT_FACTS: Final = (
    "provider",
    "sku",
    "accelerator",
    "accelerator_as_written",
    "gpu_count",
    "min_gpus",
    "list_price",
    "currency",
    "price_basis",
    "usd_per_gpu_hour",
    "usd_per_instance_hour",
    "pricing_model",
    "service_kind",
    "tier",
    "term_days_min",
    "term_days_max",
    "region",
    "form_factor",
    "form_factor_assumed",
    "memory_gb_as_written",
    "valid_from",
    "flags",
    "source_url",
    "fragment",
    "is_floor",
)
"""The columns every export begins with, in this order; the chosen metrics follow."""

EXPORT_ENDS: Final = ("offer_id", "family", "observed_at", "last_seen_at", "assumptions", "gpus_for_weights")
"""The columns every export ends with: how its evidence is found, and how old the price is."""


def export_columns(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of an export: the facts, the metrics among the chosen columns, what ends it."""
    metrics = tuple(key for key in columns if key in METRICS and key not in EXPORT_FACTS)
    return EXPORT_FACTS + metrics + EXPORT_ENDS
