"""What each finding of a run means: the codes of checks and parsers, each with a sentence for readers.

The checks themselves are in `app/ingest` and the parsers in `scrapers`. A test holds that every code they can
give stands here, and that thresholds named here are theirs.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

HOLDING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "no_gpus": "An offer names a GPU and has none, or fewer than its minimum.",
        "too_few_offers": "Fewer offers were read than a full run of this source has.",
        "missing_anchor": "An accelerator that this source always lists was not read.",
        "price_not_above_zero": "A price is zero or less.",
        "price_outside_band": (
            "A price per GPU-hour is outside the band that is plausible for the accelerator, "
            "so another unit or "
            "another product was read."
        ),
        "total_not_count_times_price": "The price of an instance is not its GPUs times the price of one.",
        "spot_above_on_demand": "A spot price is above the on-demand price of the same thing.",
        "reserved_above_on_demand": "A reserved price is above the on-demand price of the same thing.",
        "memory_not_of_accelerator": "An offer has a memory size that its accelerator does not come with.",
        "no_accelerator_name": "A GPU is only named by its maker or as GPU.",
        "names_another_gpu": "An offer's own words name another GPU than the one it was taken for.",
        "duplicate_offer": "One thing is offered twice, with nothing to tell both apart.",
        "total_does_not_grow": "More GPUs of one kind cost no more in all.",
        "one_price_for_many": (
            "GPUs of more than 3 families cost exactly one and the same price, a multiple of 0.10 dollars."
        ),
        "price_moved": "A list price moved by more than 40% since the last good run.",
        "most_prices_moved": "More than 50% of a list's prices, and at least 4 of them, moved in one run.",
        "market_moved": "The prices of a marketplace moved as a whole, by more than 40% in the middle.",
        "median_moved": (
            "Of at least 5 offers of an accelerator on a marketplace, the median moved by more than 40%."
        ),
        "offers_gone": (
            "At least 20% of the offers of the last good run are gone; of a marketplace's, at least 50%."
        ),
        "page_seen_before": "The page is byte for byte an older one, and another has been read since.",
        "page_went_back": "The page was last changed before the one that was read last.",
        "dates_went_back": "The newest date of a price is older than dates that were already announced.",
        "older_run": "A later run was already published.",
        "fetch_failed": "The page could not be fetched.",
        "parser_failed": "The parser broke on the page.",
        "not_publishable": "What was read cannot be published.",
        "refused_by_database": "The database refused the offers.",
    }
)
"""What keeps a whole run from being published: the last good offers stay, with their age shown."""

NOTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "announced_date_passed": (
            "A price column's date has come, and the column without a date is out of date."
        ),
        "broke": "The second surface of a provider could not be read.",
        "carried_forward": (
            "An aggregator repeats older rows of a provider it could not read; they are left out."
        ),
        "clouds_swapped": "Most GPUs cost more in the community cloud than in the secure one.",
        "contact_only": "Something is sold on request only, without a price.",
        "dear_term": "A longer term costs more than a shorter one.",
        "floor_prices": "Prices are written as 'from'; they show as floors and enter no ratio.",
        "gpu_count_zero": "An offer names a GPU and has none; it is left out.",
        "hidden_entries": "The page carries entries that it does not show.",
        "left_out": "Rows are no list price of a GPU and are left out.",
        "leftover_price": "A price stands where no GPU is named.",
        "memory_mismatch": "The page gives a GPU a memory size it is not sold with.",
        "names_disagree": "Two names of one thing on the page name different GPUs.",
        "no_capacity": "Something has a price and cannot be had anywhere.",
        "placeholder": "An entry stands for no GPU and is left out.",
        "several_prices": (
            "One name stands at several prices, and nothing says which is which; none is kept."
        ),
        "slice_above_card": "A part of a GPU costs more than the whole plausibly does.",
        "sold_without_price": "Something is sold, and no price stands beside it.",
        "spot_only": "A card is only sold as spot.",
        "surface_failed": "The second surface of a provider could not be compared.",
        "surfaces_disagree": "Two surfaces of one provider give different prices for one thing.",
        "tables_disagree": "Two tables of one page give different prices for one thing.",
        "too_few_asks": "Fewer offers than make a market; they are kept and not published.",
        "unknown_accelerator": "A name is in no list of names; its rows are kept as unknown.",
        "unknown_footnote": "A footnote mark has words that nobody has met.",
        "unknown_region": "A region is written in words that nobody has met.",
        "unknown_variant": "A known name leads to no single accelerator; its rows keep the family only.",
        "unread_field": "The answer has a field that nobody has met.",
        "unread_prices": "Amounts stand outside the tables that are read.",
    }
)
"""What is noted beside a run and keeps it from nothing."""
