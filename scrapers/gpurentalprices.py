"""The aggregator gpurentalprices.com: one day of its open data (CC BY 4.0), prices of some 30 providers.

Every row is taken over as the aggregator's word: under a provider of its own (`runpod-via-gpurentalprices`),
so that it neither mixes with what was read on the provider's own page nor closes it, and with the attribution
that the licence asks for.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.findings import Finding, Level
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind, offer_key
from app.domain.providers import via
from scrapers.base import Expect, Page, Parsed, ParseError, Scraper
from scrapers.naming import name_accelerator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROVIDER: Final = "gpurentalprices"
SOURCE_URL: Final = "https://gpurentalprices.com"
ATTRIBUTION: Final = "GPU rental price data by gpurentalprices.com, CC BY 4.0"
"""The line that the licence asks for, with a link to `SOURCE_URL`."""

KINDS: Final[Mapping[str, tuple[PricingModel, ServiceKind, str]]] = {
    "on-demand": (PricingModel.ON_DEMAND, ServiceKind.INSTANCE, ""),
    "spot": (PricingModel.SPOT, ServiceKind.INSTANCE, ""),
    "secure": (PricingModel.ON_DEMAND, ServiceKind.POD, "secure"),
    "community": (PricingModel.ON_DEMAND, ServiceKind.POD, "community"),
    "serverless": (PricingModel.ON_DEMAND, ServiceKind.SERVERLESS, ""),
    "marketplace": (PricingModel.ON_DEMAND, ServiceKind.MARKETPLACE, ""),
}
"""The aggregator's words for how something is rented; it does not tell tiers and kinds of service apart."""

OWN_CURRENCY: Final[Mapping[str, str]] = {"scaleway": "EUR"}
"""Providers whose own list is in another currency: the dollars move with a rate that is not stated.

Source: its data of 2026-07 and 2026-08, where all Scaleway rows move by one factor on most days.
"""

_FIELDS: Final = frozenset(("provider", "gpu", "vram_gb", "usd_hr", "kind", "source_url", "fetched_at"))
_OPTIONAL: Final = frozenset(("min_gpus", "region"))
_IGNORED: Final = frozenset(("availability", "instance", "source_quote"))


def parse(page: Page) -> Parsed:
    """Return the offers of every provider that the aggregator read on this day.

    What it only carried forward for a provider it could not read is left out. Raises ParseError for a file
    that is not one of its days, a row without a field or with an unknown one, and a kind without a word here.
    """
    day = read_day(page)
    carried = {name for name, state in day["providers"].items() if state.get("stale") or not state.get("ok")}
    rows = [row for row in day["offers"] if _text(row, "provider") not in carried]
    findings = [_carried_forward(name, day["providers"][name]) for name in sorted(carried)]
    read = [_offer(row) for row in rows]
    offers, doubled = _each_once(offer for offer, _ in read)
    noticed = (finding for _, of_row in read for finding in of_row)
    return Parsed(offers=offers, findings=(*findings, *noticed, *doubled))


def read_day(page: Page) -> Mapping[str, Any]:
    """Return the file as it is written, its numbers as decimals; raises ParseError for any other file."""
    try:
        day: Any = json.loads(page.body, parse_float=Decimal, parse_int=Decimal)
    except (ValueError, RecursionError) as error:
        raise ParseError("not_json", "The file is not JSON.", error=str(error)) from None
    shapes = {"date": str, "generated_at": str, "offers": list, "providers": dict}
    for name, shape in shapes.items():
        if not isinstance(day, dict) or not isinstance(day.get(name), shape):
            raise ParseError(
                "not_a_day", f"The file has no {name} as a day of the aggregator has.", field=name
            )
    if not all(isinstance(each, dict) for each in [*day["offers"], *day["providers"].values()]):
        raise ParseError("not_a_day", "The file has rows of another shape than a day of the aggregator has.")
    days: Mapping[str, Any] = day
    return days


def _offer(row: Mapping[str, Any]) -> tuple[Offer, tuple[Finding, ...]]:
    unknown = row.keys() - _FIELDS - _OPTIONAL - _IGNORED
    missing = _FIELDS - row.keys()
    if unknown or missing:
        names = ", ".join(sorted(unknown or missing))
        raise ParseError("unknown_field", "A row has other fields than expected.", fields=names)
    provider, gpu, kind = (_text(row, name) for name in ("provider", "gpu", "kind"))
    if kind not in KINDS:
        raise ParseError("unknown_kind", "A row is of a kind that is not known.", kind=kind)
    pricing_model, service_kind, tier = KINDS[kind]
    memory_gb = _number(row, "vram_gb")
    named = name_accelerator(gpu, provider=PROVIDER, memory_gb=memory_gb)
    mismatch = any(finding.level is Level.HOLD for finding in named.findings)
    offer = Offer(
        provider=via(PROVIDER, provider),
        sku=f"{gpu} {memory_gb} GB",
        accelerator_as_written=gpu,
        accelerator=named.accelerator,
        family=None if mismatch else named.family,
        slice_of=named.slice_of,
        gpu_count=1,
        min_gpus=int(_number(row, "min_gpus")) if "min_gpus" in row else 1,
        list_price=_number(row, "usd_hr"),
        price_basis=PriceBasis.GPU_HOUR,
        pricing_model=pricing_model,
        service_kind=service_kind,
        provider_term=kind,
        tier=tier,
        region=_text(row, "region") if row.get("region") else "",
        memory_gb_as_written=None if mismatch else memory_gb,
        source_url=SOURCE_URL,
        fragment=_fragment(row),
        assumptions=_assumptions(provider, _text(row, "source_url")),
    )
    # Somebody else's mistake about one card: the row is kept as unknown, and does not hold the day.
    return offer, tuple(replace(finding, level=Level.WARNING) for finding in named.findings)


def _assumptions(provider: str, page_url: str) -> tuple[str, ...]:
    """Return whose word the row is, and what is known to blur it."""
    whose = f"{ATTRIBUTION} ({SOURCE_URL}): read by that aggregator at {page_url}, not by us."
    currency = OWN_CURRENCY.get(provider)
    if currency is None:
        return (whose,)
    return (
        whose,
        f"The provider prices in {currency}; the aggregator turned it into dollars at a rate not stated.",
    )


def _fragment(row: Mapping[str, Any]) -> str:
    """Return the row as the aggregator has it, on one line."""
    return json.dumps({name: row[name] for name in sorted(row)}, default=str, ensure_ascii=False)


def _each_once(offers: Iterable[Offer]) -> tuple[tuple[Offer, ...], tuple[Finding, ...]]:
    """Return the offers without those that stand twice at two prices: which is which is not said."""
    by_key: defaultdict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        by_key[offer_key(offer)].append(offer)
    kept = [same[0] for same in by_key.values() if len({offer.list_price for offer in same}) == 1]
    findings = [_doubled(same) for same in by_key.values() if len({offer.list_price for offer in same}) > 1]
    return tuple(kept), tuple(findings)


def _doubled(same: list[Offer]) -> Finding:
    prices = ", ".join(str(offer.list_price) for offer in same)
    return Finding(
        code="several_prices",
        level=Level.WARNING,
        sentence="One name stands at several prices, and nothing says which is which; none is kept.",
        evidence={
            "provider": same[0].provider,
            "sku": same[0].sku,
            "kind": same[0].provider_term,
            "prices": prices,
        },
    )


def _carried_forward(provider: str, state: Mapping[str, Any]) -> Finding:
    return Finding(
        code="carried_forward",
        level=Level.INFO,
        sentence="The aggregator could not read a provider on this day; its older rows are left out.",
        evidence={
            "provider": provider,
            "error": str(state.get("error", "")),
            "read": str(state.get("last_verified")),
        },
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ParseError(
            "unreadable_cell", "A row has a field that is no text.", field=name, text=repr(value)
        )
    return value.strip()


def _number(row: Mapping[str, Any], name: str) -> Decimal:
    value = row.get(name)
    if not isinstance(value, Decimal) or not value.is_finite() or value <= 0:
        raise ParseError(
            "unreadable_cell", "A row has a field that is no number above 0.", field=name, text=repr(value)
        )
    return value


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(),
    parse=parse,
    expect=Expect(min_offers=1),
    never_met_live=False,
)
