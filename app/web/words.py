"""How things are said to people: numbers with their rounding, pricing and service kinds, flags, times."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from app.domain.listing import utc as utc
from app.domain.offers import PriceBasis, PricingModel, ServiceKind
from app.domain.providers import name_of
from app.domain.rows import Flag

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.offers import Offer
    from app.domain.rates import Rate

DASH: Final = "\N{EN DASH}"

PRICING: Final = {
    PricingModel.ON_DEMAND: "on demand",
    PricingModel.SPOT: "spot",
    PricingModel.RESERVED: "reserved",
}

SERVICE: Final = {
    ServiceKind.INSTANCE: "instance",
    ServiceKind.POD: "pod",
    ServiceKind.SERVERLESS: "serverless",
    ServiceKind.DEDICATED_DEPLOYMENT: "dedicated",
    ServiceKind.MARKETPLACE: "marketplace",
}

BASIS: Final = {
    basis: f"per {'instance' if basis.is_per_instance else 'GPU'} and {basis.value.partition('_')[2]}"
    for basis in PriceBasis
}

FLAG: Final = {
    Flag.OWN: "yours",
    Flag.OVER_MEMORY: "does not fit",
    Flag.DEARER_PER_TBS: "dear per TB/s",
    Flag.DISPUTED_ORDER: "disputed",
    Flag.STALE: "stale",
    Flag.VERY_STALE: "very stale",
    Flag.ASSUMED: "assumed",
    Flag.ANNOUNCED: "announced",
    Flag.CHANGE_ANNOUNCED: "change announced",
    Flag.FLOOR: "from",
    Flag.MIN_QUANTITY: "minimum",
    Flag.MANAGED: "managed",
    Flag.SLICE: "slice",
    Flag.UNKNOWN_ACCELERATOR: "unknown variant",
    Flag.CONVERTED: "converted",
    Flag.AGGREGATOR: "aggregator",
}

_OTHER_SOURCES: Final = {"ecb": "European Central Bank"}
"""Names of sources that are no providers."""

FORM_FACTOR: Final = {"sxm": "SXM", "pcie": "PCIe", "nvl": "NVL", "oam": "OAM"}


@lru_cache(maxsize=4096)
def number(value: Decimal, decimals: int) -> str:
    """Return a number with thousands commas, rounded half up to `decimals` places."""
    return f"{value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):,}"


def exact(value: Decimal) -> str:
    """Return a number as a program reads it: no commas, no exponent, as many digits as a double holds."""
    text = f"{value:f}"
    if "." not in text:
        return text
    short = text.rstrip("0").rstrip(".")
    return short if len(short) <= 17 else repr(float(value))  # noqa: PLR2004 - the digits of a double


def money(value: Decimal) -> str:
    """Return an amount with at least the two decimals that money is written with, and no more than it has."""
    text = exact(value)
    return f"{value:.2f}" if len(text.partition(".")[2]) < 2 else text  # noqa: PLR2004 - cents


def provider_name(provider: str) -> str:
    """Return the provider's name as it writes it, or its id when the registry does not know it."""
    return _OTHER_SOURCES.get(provider) or name_of(provider)


def pricing(offer: Offer) -> str:
    """Return the pricing model in words, with the tier and the term where there are any."""
    parts = [PRICING[offer.pricing_model]]
    low, high = offer.term_days_min, offer.term_days_max
    if low is not None or high is not None:
        days = [str(day) for day in dict.fromkeys((low, high)) if day is not None]
        parts.append(f"{DASH.join(days)} days")
    if offer.tier:
        parts.append(offer.tier)
    return ", ".join(parts)


def rate(value: Rate) -> str:
    """Return by which rate of which day another currency is dollars."""
    worth = exact(value.usd_per_unit)
    return f"1 {value.currency} = {worth} USD, the European Central Bank's reference rate of {value.day}"


def moment(value: datetime) -> str:
    """Return a UTC time to the minute."""
    return f"{value:%Y-%m-%d %H:%M} UTC"


def safe_url(url: str) -> str:
    """Return an address that a link may carry: http or https only, else an empty text."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in {"http", "https"} and parts.netloc else ""
