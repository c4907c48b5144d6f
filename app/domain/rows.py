"""One row of the board: a stored offer, the accelerator's facts, and what a reader must be warned of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from app.domain.cadence import Freshness, freshness, read_every
from app.domain.offers import ServiceKind, pair_key
from app.domain.providers import aggregator_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from app.domain.accelerators import Accelerator, Catalogue
    from app.domain.listing import StoredOffer
    from app.domain.offers import Offer, PairKey


class Flag(StrEnum):
    """A warning that stands beside a price wherever it shows."""

    OWN = "own"
    OVER_MEMORY = "over_memory"
    DEARER_PER_TBS = "dearer_per_tbs"
    DISPUTED_ORDER = "disputed_order"
    STALE = "stale"
    VERY_STALE = "very_stale"
    ASSUMED = "assumed"
    ANNOUNCED = "announced"
    CHANGE_ANNOUNCED = "change_announced"
    FLOOR = "floor"
    MIN_QUANTITY = "min_quantity"
    MANAGED = "managed"
    SLICE = "slice"
    UNKNOWN_ACCELERATOR = "unknown_accelerator"
    CONVERTED = "converted"
    AGGREGATOR = "aggregator"


FLAG_MEANINGS: Final = {
    Flag.OWN: "your own figure, as the link gives it: it is nowhere stored and nobody has checked it",
    Flag.OVER_MEMORY: (
        "the weights do not fit the memory of one GPU, so that its ceiling is no speed it can have; "
        "gpus_for_weights says how many hold them at the least, before any KV cache"
    ),
    Flag.DEARER_PER_TBS: (
        "cheaper per hour than another variant of the same family at this provider, but dearer per TB/s"
    ),
    Flag.DISPUTED_ORDER: (
        "changes places per TB/s with another card at this provider if the other published bandwidth is right"
    ),
    Flag.STALE: "no good run has listed this offer for as long as two readings take: 48 hours if daily",
    Flag.VERY_STALE: "no good run has listed this offer for as long as seven readings take: 7 days if daily",
    Flag.ASSUMED: "the page does not name the variant; the row says why this one is assumed",
    Flag.ANNOUNCED: "announced for this date; no run has seen it as the current price yet",
    Flag.CHANGE_ANNOUNCED: "the provider has announced another price for a later date",
    Flag.FLOOR: "written as 'from': the price is at least this",
    Flag.MIN_QUANTITY: "only rented in this many GPUs or more",
    Flag.MANAGED: "a managed service, not a bare machine; compare within the kind",
    Flag.SLICE: "a slice of a card, not a whole one; kept out of per-card figures",
    Flag.UNKNOWN_ACCELERATOR: "the provider's words do not name a variant we know",
    Flag.CONVERTED: "priced in another currency; dollars by the European Central Bank's reference rate",
    Flag.AGGREGATOR: "the word of an aggregator, not read on the provider's own page; the row names it",
}

MANAGED_KINDS: Final = frozenset({ServiceKind.DEDICATED_DEPLOYMENT, ServiceKind.SERVERLESS})


@dataclass(frozen=True, slots=True)
class Row:
    """A stored offer with its accelerator (None when unknown) and its flags, in the order of `Flag`.

    `dearer_than` is the sibling card that the flag `DEARER_PER_TBS` speaks of, `disputed_with` the card that
    `DISPUTED_ORDER` does.
    """

    stored: StoredOffer
    accelerator: Accelerator | None
    flags: tuple[Flag, ...]
    dearer_than: Accelerator | None = None
    disputed_with: Accelerator | None = None

    @property
    def offer(self) -> Offer:
        """Return the offer with the price that holds at the board's instant."""
        return self.stored.offer

    @property
    def family(self) -> str | None:
        """Return the accelerator's family; it may be known where the variant is not."""
        return self.accelerator.family if self.accelerator else self.offer.family

    @property
    def is_stale(self) -> bool:
        """Tell whether no good run has listed the offer for too long, however long."""
        return Flag.STALE in self.flags or Flag.VERY_STALE in self.flags


def make_row(stored: StoredOffer, catalogue: Catalogue, *, instant: datetime) -> Row:
    """Join a stored offer with the catalogue and say what to warn of at `instant` (aware, UTC)."""
    offer = stored.offer
    accelerator = catalogue.get(offer.accelerator) if offer.accelerator else None
    age = freshness(instant - stored.last_seen_at, every=read_every(offer.provider))
    holds = {
        Flag.OWN: offer.is_own,
        Flag.STALE: age is Freshness.STALE,
        Flag.VERY_STALE: age is Freshness.VERY_STALE,
        Flag.ASSUMED: offer.variant_assumed,
        Flag.ANNOUNCED: stored.announced_since_page,
        Flag.CHANGE_ANNOUNCED: stored.next_price is not None,
        Flag.FLOOR: offer.is_floor,
        Flag.MIN_QUANTITY: offer.min_gpus > 1,
        Flag.MANAGED: offer.service_kind in MANAGED_KINDS,
        Flag.SLICE: offer.slice_of is not None,
        Flag.UNKNOWN_ACCELERATOR: accelerator is None and offer.slice_of is None,
        Flag.CONVERTED: stored.rate is not None,
        Flag.AGGREGATOR: not offer.is_own and bool(aggregator_of(offer.provider)),
    }
    return Row(stored, accelerator, tuple(flag for flag in Flag if holds.get(flag, False)))


def comparable(rows: Sequence[Row]) -> Mapping[PairKey, Sequence[int]]:
    """Return the numbers of the rows with a card and a price, floors apart, by what makes them comparable."""
    groups: dict[PairKey, list[int]] = {}
    for number, row in enumerate(rows):
        if row.accelerator and row.stored.usd_micros_per_gpu_hour and not row.offer.is_floor:
            groups.setdefault(pair_key(row.offer), []).append(number)
    return groups


def mark_dearer_siblings(
    rows: Sequence[Row], groups: Mapping[PairKey, Sequence[int]] | None = None
) -> tuple[Row, ...]:
    """Flag rows that look cheap by the hour and are dear per TB/s beside a sibling card.

    Siblings are variants of one family at one provider under the same service, pricing, tier and term
    (the article's case: RunPod's PCIe H100 at $2.89 against its SXM H100 at $3.99). `groups` are those of
    `comparable`, where they are at hand.
    """
    marked = list(rows)
    for group in (comparable(rows) if groups is None else groups).values():
        families: dict[str | None, list[Row]] = {}
        for number in group:
            families.setdefault(rows[number].family, []).append(rows[number])
        for number in group:
            row = rows[number]
            sibling = _better_sibling(row, families[row.family])
            if sibling is not None:
                flags = tuple(flag for flag in Flag if flag is Flag.DEARER_PER_TBS or flag in row.flags)
                marked[number] = replace(row, flags=flags, dearer_than=sibling)
    return tuple(marked)


def _better_sibling(row: Row, group: Sequence[Row]) -> Accelerator | None:
    """Return another variant in the group that costs more per GPU-hour and less per TB/s, if there is one."""
    price, card = row.stored.usd_micros_per_gpu_hour, row.accelerator
    for other in group:
        other_price, other_card = other.stored.usd_micros_per_gpu_hour, other.accelerator
        if not (price and other_price and card and other_card) or card is other_card:
            continue
        dearer = price * other_card.bandwidth_tb_s > other_price * card.bandwidth_tb_s
        if other_price > price and dearer:
            return other_card
    return None
