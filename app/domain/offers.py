"""What a provider asks for what: the offer, its price as printed, and the price of one GPU for one hour."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import date


class PricingModel(StrEnum):
    """How the price binds both sides (FOCUS pricing category: Standard, Dynamic, Committed)."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"


class ServiceKind(StrEnum):
    """What is rented; prices compare within one kind."""

    INSTANCE = "instance"
    POD = "pod"
    SERVERLESS = "serverless"
    DEDICATED_DEPLOYMENT = "dedicated_deployment"
    MARKETPLACE = "marketplace"


class PriceBasis(StrEnum):
    """What the printed figure is for: one GPU or the whole instance, and for how long."""

    GPU_SECOND = "gpu_second"
    GPU_MINUTE = "gpu_minute"
    GPU_HOUR = "gpu_hour"
    GPU_MONTH = "gpu_month"
    GPU_TERM = "gpu_term"
    INSTANCE_SECOND = "instance_second"
    INSTANCE_MINUTE = "instance_minute"
    INSTANCE_HOUR = "instance_hour"
    INSTANCE_MONTH = "instance_month"
    INSTANCE_TERM = "instance_term"

    @property
    def is_per_instance(self) -> bool:
        """Tell whether the figure covers all GPUs of the instance."""
        return self.value.startswith("instance_")


HOURS_PER_MONTH: Final = Decimal(730)
"""Hours of a billing month: 8,760 hours of a year over 12 (the rule most price tables print)."""

_HOURS_PER_UNIT: Final = {
    "second": Decimal(1) / 3600,
    "minute": Decimal(1) / 60,
    "hour": Decimal(1),
    "month": HOURS_PER_MONTH,
}

MICROS_PER_USD: Final = 1_000_000

OWN_PREFIX: Final = "own:"
"""Begins the provider of an offer that the reader has put into the link; no provider of ours has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One thing a provider says it will rent, at one price, under one set of terms, read from one place.

    `accelerator` is an id of `accelerators.csv` or None when the variant is unknown; `family` may be known
    without it. `slice_of` names the card a slice is cut from: such an offer has no accelerator of its own.
    `variant_assumed` says that the page does not name the variant and `assumptions` says why we think so.
    `gpu_count` is GPUs per instance, `min_gpus` the smallest number that can be rented. `list_price` is the
    figure as printed, in `currency`, for `price_basis`. `valid_from` is a start date printed on the page
    (an announced price), None for a price that holds when the page was read. `fragment` is the text the
    price was read from.
    """

    provider: str
    sku: str
    accelerator_as_written: str
    accelerator: str | None
    family: str | None
    gpu_count: int
    min_gpus: int
    list_price: Decimal
    price_basis: PriceBasis
    pricing_model: PricingModel
    service_kind: ServiceKind
    source_url: str
    fragment: str
    currency: str = "USD"
    slice_of: str | None = None
    variant_assumed: bool = False
    provider_term: str = ""
    tier: str = ""
    term_days_min: int | None = None
    term_days_max: int | None = None
    region: str = ""
    memory_gb_as_written: Decimal | None = None
    is_floor: bool = False
    valid_from: date | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Tell whether this is the reader's own price, which stands in the link alone."""
        return self.provider.startswith(OWN_PREFIX)


def offer_key(offer: Offer) -> str:
    """Return the identity of an offer: two offers with one key are the same thing at two prices.

    The parts are those of the architecture: provider, sku, accelerator, GPUs per instance, minimum GPUs,
    service kind, pricing model, tier, term range and region.
    """
    parts = (
        offer.provider,
        offer.sku,
        offer.accelerator or "",
        str(offer.gpu_count),
        str(offer.min_gpus),
        offer.service_kind.value,
        offer.pricing_model.value,
        offer.tier,
        "" if offer.term_days_min is None else str(offer.term_days_min),
        "" if offer.term_days_max is None else str(offer.term_days_max),
        offer.region,
    )
    return "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)


def hours_per_basis(basis: PriceBasis, *, term_days: int | None = None) -> Decimal:
    """Return for how many hours a figure of this basis pays.

    Raises ValueError for a whole-term price without the term's length in days.
    """
    unit = basis.value.partition("_")[2]
    if unit == "term":
        if term_days is None:
            msg = f"a price for the {basis.value} needs the length of the term in days"
            raise ValueError(msg)
        return Decimal(term_days) * 24
    return _HOURS_PER_UNIT[unit]


def usd_per_hour_as_listed(offer: Offer, *, usd_per_unit: Decimal | None = None) -> Decimal | None:
    """Return dollars per hour for what the printed figure covers.

    `usd_per_unit` is the exchange rate of a price in another currency; without it such a price gives None,
    here and below.
    """
    return _usd_per_hour(offer, times=1, usd_per_unit=usd_per_unit)


def usd_per_instance_hour(offer: Offer, *, usd_per_unit: Decimal | None = None) -> Decimal | None:
    """Return dollars for the whole instance for one hour, or None when the price is not in dollars."""
    times = 1 if offer.price_basis.is_per_instance else offer.gpu_count
    return _usd_per_hour(offer, times=times, usd_per_unit=usd_per_unit)


def _usd_per_hour(offer: Offer, *, times: int, usd_per_unit: Decimal | None) -> Decimal | None:
    """Multiply before the one division, so that a price written per GPU equals the same per instance."""
    amount = offer.list_price * times
    if offer.currency != "USD":
        if usd_per_unit is None:
            return None
        amount *= usd_per_unit
    unit = offer.price_basis.value.partition("_")[2]
    if unit == "second":
        return amount * 3600
    if unit == "minute":
        return amount * 60
    return amount / hours_per_basis(offer.price_basis, term_days=offer.term_days_max)


def usd_micros_per_gpu_hour(offer: Offer, *, usd_per_unit: Decimal | None = None) -> int | None:
    """Return micro-dollars for one GPU for one hour, rounded half to even, or None when not in dollars.

    Source of the formula: the article's table divides an instance's price by its GPUs.
    """
    listed = usd_per_hour_as_listed(offer, usd_per_unit=usd_per_unit)
    if listed is None:
        return None
    per_gpu = listed / offer.gpu_count if offer.price_basis.is_per_instance else listed
    return int((per_gpu * MICROS_PER_USD).to_integral_value(ROUND_HALF_EVEN))


def usd_per_gpu_hour(offer: Offer) -> Decimal | None:
    """Return dollars for one GPU for one hour at micro-dollar resolution, or None when not in dollars."""
    micros = usd_micros_per_gpu_hour(offer)
    return None if micros is None else Decimal(micros) / MICROS_PER_USD


PairKey = tuple[str, str, str, str, int | None, int | None]
"""What has to be equal for two offers of one provider to be compared (see `pair_key`)."""


def pair_key(offer: Offer) -> PairKey:
    """Return what two offers must share to be compared: provider, service, pricing model, tier and term."""
    return (
        offer.provider,
        offer.service_kind.value,
        offer.pricing_model.value,
        offer.tier,
        offer.term_days_min,
        offer.term_days_max,
    )
