"""What a read returns besides offers: a run, a step of a price history, offers held for review."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from decimal import Decimal

    from app.domain.offers import Offer, PriceBasis


class Outcome(StrEnum):
    """How a run ended; the offers of a provider change only with `PUBLISHED`."""

    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    QUARANTINED = "quarantined"
    REFUSED = "refused"
    FAILED = "failed"


class State(StrEnum):
    """What became of offers that were held for review; a later good run leaves nothing to decide on."""

    HELD = "held"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt at one provider; `outcome` is None while it is under way, or when it was killed."""

    run_id: int
    source: str
    slot: str
    provider: str
    started_at: datetime
    finished_at: datetime | None
    outcome: Outcome | None
    sentence: str
    offers_count: int | None
    observed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceStep:
    """One price of an offer over the half-open time from `valid_from` to `valid_to` (None: still open)."""

    valid_from: datetime
    valid_to: datetime | None
    list_price: Decimal
    currency: str
    price_basis: PriceBasis
    usd_micros_per_gpu_hour: int | None
    is_floor: bool
    announced: bool
    source_url: str
    fragment: str
    capture_sha256: str
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One answer of a provider as it was archived; `headers` are those that a later request needs."""

    sha256: str
    url: str
    fetched_at: datetime
    status: int
    headers: Mapping[str, str]
    content_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOffers:
    """The offers of a quarantined run, each with the hash of the bytes it is from, and the decision.

    `agreeing_runs` later runs read the same offers and were held as well, the last one at `agreed_at`.
    """

    quarantine_id: int
    run: Run
    provider: str
    offers: tuple[Offer, ...]
    captures: tuple[str, ...]
    state: State
    decided_at: datetime | None
    because: str
    agreeing_runs: int = 0
    agreed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """What the operator said about a source: on or off, why, and when."""

    provider: str
    is_on: bool
    because: str
    changed_at: datetime
