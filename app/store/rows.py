"""Offers and prices as rows in the order of the tables' columns, with values as the drivers take them.

Text of JSON and of decimals and Unix seconds are the same for both drivers, so one row serves both databases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from app.domain.offers import usd_micros_per_gpu_hour
from app.store.types import texts_to_json

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.offers import Offer
    from app.store.diff import Added

WORDS: Final = (
    "accelerator_as_written",
    "family",
    "slice_of",
    "variant_assumed",
    "provider_term",
    "memory_gb_as_written",
    "assumptions",
)
"""Columns of an offer that may change while its key stays, in the order of `words_of`."""


def words_of(each: Offer) -> tuple[Any, ...]:
    """Return what a page says about an offer beside its key and its price."""
    return (
        each.accelerator_as_written,
        each.family,
        each.slice_of,
        each.variant_assumed,
        each.provider_term,
        each.memory_gb_as_written,
        each.assumptions,
    )


def words_row(words: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the same as the database drivers take it."""
    *plain, memory_gb, assumptions = words
    return (*plain, _digits(memory_gb), texts_to_json(assumptions))


def _digits(number: Decimal | None) -> str | None:
    """Return a decimal as it was printed, without an exponent."""
    return None if number is None else f"{number:f}"


def offer_row(offer_id: int, key: str, *, each: Offer, seen_at: int) -> tuple[Any, ...]:
    """Return a row of `offer` for an offer that was never seen before."""
    return (
        offer_id,
        key,
        each.provider,
        each.sku,
        each.accelerator,
        each.family,
        each.accelerator_as_written,
        each.slice_of,
        each.variant_assumed,
        each.gpu_count,
        each.min_gpus,
        each.service_kind.value,
        each.pricing_model.value,
        each.provider_term,
        each.tier,
        each.term_days_min,
        each.term_days_max,
        each.region,
        _digits(each.memory_gb_as_written),
        texts_to_json(each.assumptions),
        seen_at,
        seen_at,
        None,
    )


def price_row(price_id: int, offer_id: int, *, added: Added, run_id: int, read_at: int) -> tuple[Any, ...]:
    """Return a row of `price` for a price first seen by this run."""
    each = added.asked.offer
    return (
        price_id,
        offer_id,
        added.valid_from,
        added.valid_to,
        f"{each.list_price:f}",
        each.currency,
        each.price_basis.value,
        usd_micros_per_gpu_hour(each),
        each.is_floor,
        added.announced,
        None,
        each.source_url,
        each.fragment,
        added.asked.capture_sha256,
        run_id,
        read_at,
    )
