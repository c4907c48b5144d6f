"""What the checks of a run look at, and how they say what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.findings import Finding, Level
from app.domain.providers import MARKETPLACE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.offers import Offer
    from scrapers.base import Expect


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The offers of a run, what a full run must hold, and the same source's offers before it.

    `kind` is `LIST_PRICE` or `MARKETPLACE` of `app.domain.providers`.
    """

    offers: Sequence[Offer]
    expect: Expect
    kind: str
    previous: Sequence[Offer] = ()

    @property
    def is_marketplace(self) -> bool:
        """Tell whether many sellers ask their own prices, so that no single offer proves anything."""
        return self.kind == MARKETPLACE


def hold(code: str, sentence: str, **evidence: object) -> Finding:
    """Return a finding that keeps a run from being published; the evidence is kept as text."""
    return Finding(
        code=code,
        level=Level.HOLD,
        sentence=sentence,
        evidence={name: str(value) for name, value in evidence.items()},
    )


def named(offer: Offer) -> str:
    """Return how findings name an offer: its SKU, GPUs, pricing and, where printed, tier and region."""
    parts = (
        offer.sku,
        f"{offer.gpu_count} GPU" if offer.gpu_count == 1 else f"{offer.gpu_count} GPUs",
        offer.pricing_model.value,
        offer.tier,
        offer.region,
    )
    return ", ".join(part for part in parts if part)


def about(offer: Offer, code: str, *, sentence: str, **evidence: object) -> Finding:
    """Return a finding about one offer, with its price as printed and the text it was read from."""
    printed = f"{offer.list_price:f} {offer.currency} {offer.price_basis.value}"
    return hold(code, sentence, printed=printed, fragment=offer.fragment, **evidence)
