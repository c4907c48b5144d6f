"""What must be true of the offers of one run before they are published; the same in tests and production."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import load_catalogue
from app.domain.offers import PricingModel, offer_key, usd_per_gpu_hour, usd_per_instance_hour
from app.domain.providers import LIST_PRICE
from app.ingest.checked import Checked, about, hold, named
from app.ingest.compare import check_losses, check_moves, check_wholesale
from app.ingest.plausible import check_counts, check_floors, check_leftovers, check_other_family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.findings import Finding
    from app.domain.offers import Offer
    from scrapers.base import Expect

MOST_PER_CHECK: Final = 20
"""Findings kept of one check: what breaks a whole page is as clear from twenty rows as from a thousand."""

ROUNDING_SHARE: Final = 200
"""Two printed figures of one price may differ by rounding: by less than a two hundredth."""

NO_NAMES: Final = frozenset(
    (
        "nvidia",
        "amd",
        "intel",
        "google",
        "aws",
        "amazon",
        "huawei",
        "gpu",
        "gpus",
        "accelerator",
        "tensor core",
    )
)
"""Words that do not say which GPU it is."""


def check_offers(
    offers: Sequence[Offer], expect: Expect, *, kind: str = LIST_PRICE, previous: Sequence[Offer] = ()
) -> tuple[Finding, ...]:
    """Return what is wrong with the offers of one run, check after check; empty when they may be published.

    `kind` is the provider's in `providers.csv`. `previous` are its offers as they stand before this run, when
    they came from the same source, else empty: two sources do not name things alike.
    """
    checked = Checked(offers=offers, expect=expect, kind=kind, previous=previous)
    # Nothing per GPU can be worked out of no GPUs: these findings stand alone.
    uncounted = _first(check_counts(checked))
    if uncounted:
        return tuple(uncounted)
    return tuple(finding for check in CHECKS for finding in _first(check(checked)))


def _first(findings: Iterator[Finding]) -> list[Finding]:
    """Return the first findings of a check, and how many more there were."""
    found = list(findings)
    if len(found) <= MOST_PER_CHECK:
        return found
    more = hold(found[0].code, f"The same holds for {len(found) - MOST_PER_CHECK} more.")
    return [*found[:MOST_PER_CHECK], more]


def check_number(checked: Checked) -> Iterator[Finding]:
    """Hold a run with fewer offers than a complete one has."""
    if len(checked.offers) < checked.expect.min_offers:
        yield hold(
            "too_few_offers",
            f"{len(checked.offers)} offers were read, a full run has at least {checked.expect.min_offers}.",
            read=len(checked.offers),
            expected=checked.expect.min_offers,
        )


def check_anchors(checked: Checked) -> Iterator[Finding]:
    """Hold a run without an accelerator that has to be there."""
    present = {offer.accelerator for offer in checked.offers}
    for anchor in checked.expect.anchors:
        if anchor not in present:
            yield hold(
                "missing_anchor", f"No offer of {anchor} was read, and it has to be there.", anchor=anchor
            )


def check_above_zero(checked: Checked) -> Iterator[Finding]:
    """Hold a price of nothing: zero on a page means not sold, or not read."""
    for offer in checked.offers:
        if offer.list_price <= 0:
            yield about(
                offer, "price_not_above_zero", sentence=f"The price of {named(offer)} is {offer.list_price}."
            )


def check_band(checked: Checked) -> Iterator[Finding]:
    """Hold a price that no such accelerator has: read in another unit, or of another product.

    A slice has no band of its own, and a price in another currency none in dollars.
    """
    for offer in checked.offers:
        price = usd_per_gpu_hour(offer)
        band = _band(offer)
        if price is None or band is None or price <= 0 or band[0] <= price <= band[1]:
            continue
        yield about(
            offer,
            "price_outside_band",
            sentence=f"{named(offer)} comes to {price:f} USD per GPU-hour, outside {band[0]} to {band[1]}.",
            usd_per_gpu_hour=price,
        )


def _band(offer: Offer) -> tuple[Decimal, Decimal] | None:
    """Return the plausible dollars per GPU-hour: of the variant, else of its family, else of all we know."""
    if offer.slice_of is not None:
        return None
    variants = _variants(offer) or load_catalogue().accelerators
    lowest = min(variant.usd_per_gpu_hour_min for variant in variants)
    return lowest, max(variant.usd_per_gpu_hour_max for variant in variants)


def _variants(offer: Offer) -> tuple[Accelerator, ...]:
    """Return what the offer's accelerator may be: its variant, the members of its family, or nothing."""
    catalogue = load_catalogue()
    variant = None if offer.accelerator is None else catalogue.get(offer.accelerator)
    if variant is not None:
        return (variant,)
    return () if offer.family is None else catalogue.family_members(offer.family)


def check_total(checked: Checked) -> Iterator[Finding]:
    """Hold one thing priced both per GPU and per instance where the one is not the other times the count."""
    for group in _groups(checked, lambda offer: (offer.sku, offer.gpu_count, *_terms(offer))).values():
        whole = [offer for offer in group if offer.price_basis.is_per_instance]
        each = [offer for offer in group if not offer.price_basis.is_per_instance]
        for one, other in zip(whole, each, strict=False):
            total, summed = usd_per_instance_hour(one), usd_per_instance_hour(other)
            if total is None or summed is None or abs(total - summed) * ROUNDING_SHARE <= total:
                continue
            yield about(
                one,
                "total_not_count_times_price",
                sentence=f"{named(one)} costs {total:f} USD an hour, and {summed:f} by its price per GPU.",
            )


def check_discounts(checked: Checked) -> Iterator[Finding]:
    """Hold spot and reserved prices above on-demand for the same thing; in a market sellers differ."""
    if checked.is_marketplace:
        return
    groups = _groups(checked, lambda offer: (offer.accelerator, offer.gpu_count, *_place(offer)))
    for (accelerator, *_), group in groups.items():
        on_demand = _dollars(group, PricingModel.ON_DEMAND)
        if accelerator is None or not on_demand:
            continue
        for offer in group:
            price = usd_per_gpu_hour(offer)
            if offer.pricing_model is PricingModel.ON_DEMAND or price is None or price <= max(on_demand):
                continue
            yield about(
                offer,
                f"{offer.pricing_model.value}_above_on_demand",
                sentence=f"{named(offer)} costs {price:f} USD per GPU-hour, on demand {max(on_demand):f}.",
            )


def check_memory(checked: Checked) -> Iterator[Finding]:
    """Hold a memory size that the accelerator does not come with: the name or the size was misread."""
    for offer in checked.offers:
        size, variants = offer.memory_gb_as_written, _variants(offer)
        if size is None or not variants or offer.slice_of is not None:
            continue
        if not any(variant.accepts_memory(size) for variant in variants):
            yield about(
                offer,
                "memory_not_of_accelerator",
                sentence=f"{named(offer)} is said to have {size:f} GB, which {variants[0].name} has not.",
            )


def check_names(checked: Checked) -> Iterator[Finding]:
    """Hold a row whose GPU is named by its maker alone."""
    for offer in checked.offers:
        if offer.accelerator_as_written.strip().lower() in NO_NAMES | {""}:
            yield about(
                offer,
                "no_accelerator_name",
                sentence=f"{named(offer)} names its GPU only '{offer.accelerator_as_written}'.",
            )


def check_duplicates(checked: Checked) -> Iterator[Finding]:
    """Hold one thing that is offered twice from the same date."""
    seen = Counter((offer_key(offer), offer.valid_from) for offer in checked.offers)
    for (key, start), count in seen.items():
        if count > 1:
            yield hold(
                "duplicate_offer",
                f"One thing is offered {count} times from {start or 'now'}.",
                key=key,
            )


def check_growth(checked: Checked) -> Iterator[Finding]:
    """Hold more GPUs of one kind that cost no more in all: a total was taken for a price per GPU."""
    if checked.is_marketplace:
        return
    for (accelerator, *_), group in _groups(
        checked, lambda offer: (offer.accelerator, *_terms(offer))
    ).items():
        totals: defaultdict[int, list[Decimal]] = defaultdict(list)
        for offer in group:
            total = usd_per_instance_hour(offer)
            if total is not None and accelerator is not None:
                totals[offer.gpu_count].append(total)
        for fewer, more in pairwise(sorted(totals)):
            if max(totals[more]) <= min(totals[fewer]):
                yield hold(
                    "total_does_not_grow",
                    f"{more} GPUs of {accelerator} cost no more than {fewer}.",
                    fewer=f"{min(totals[fewer]):f} USD an hour",
                    more=f"{max(totals[more]):f} USD an hour",
                )


def _groups(
    checked: Checked, key: Callable[[Offer], tuple[Any, ...]]
) -> Mapping[tuple[Any, ...], list[Offer]]:
    """Return the whole cards at today's prices in groups; announced prices are for another day."""
    groups: defaultdict[tuple[Any, ...], list[Offer]] = defaultdict(list)
    for offer in checked.offers:
        if offer.valid_from is None and offer.slice_of is None:
            groups[key(offer)].append(offer)
    return groups


def _place(offer: Offer) -> tuple[Any, ...]:
    """Return what sets offers of one accelerator apart beside the pricing model."""
    return (offer.provider, offer.service_kind, offer.tier, offer.region)


def _terms(offer: Offer) -> tuple[Any, ...]:
    """Return the same with the pricing model and the term."""
    return (*_place(offer), offer.pricing_model, offer.term_days_min, offer.term_days_max)


def _dollars(offers: Sequence[Offer], pricing_model: PricingModel) -> list[Decimal]:
    """Return the dollars per GPU-hour of the offers with this pricing model."""
    prices = (usd_per_gpu_hour(offer) for offer in offers if offer.pricing_model is pricing_model)
    return [price for price in prices if price is not None]


CHECKS: Final[tuple[Callable[[Checked], Iterator[Finding]], ...]] = (
    check_counts,
    check_number,
    check_anchors,
    check_above_zero,
    check_band,
    check_total,
    check_discounts,
    check_memory,
    check_names,
    check_other_family,
    check_duplicates,
    check_growth,
    check_leftovers,
    check_floors,
    check_moves,
    check_wholesale,
    check_losses,
)
"""Every check, in the order of its findings; a new one is a function here and a test of both ways."""
