"""From records to offers: which entries count, what their names stand for, and each thing once."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.findings import Finding, Level
from app.domain.offers import offer_key
from app.domain.providers import load_providers
from scrapers.base import ParseError
from scrapers.naming import Named, name_accelerator
from scrapers.reading import title_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from app.domain.offers import Offer
    from scrapers.records import Record

_OTHER_TERMS: Final = re.compile(
    r"\b(?:spot|(?:non-)?preemptible|interruptible|reserved?|committed|commitments?|promotion(?:al)?|discounts?"
    r"|annual|yearly|monthly|per (?:month|year))\b",
    re.IGNORECASE,
)
_MEMORY: Final = re.compile(r"\b([1-9][0-9]{0,4}) ?(?:GB|GiB)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a name stands for; `because` says why a variant that is not on the page is assumed, else empty."""

    named: Named
    because: str = ""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the reason for the variant as an offer's assumptions."""
        return (self.because,) if self.because else ()


def know(
    name: str, *, provider: str, memory_gb: Decimal | None = None, gpu_count: int | None = None
) -> Known:
    """Return what a provider's name stands for.

    Where the name leaves the variant of a whole card open, the provider's row in `providers.csv` may say
    which one to take; it is taken only when it comes with the memory that the page prints.
    """
    named = name_accelerator(name, provider=provider, memory_gb=memory_gb, gpu_count=gpu_count)
    facts = load_providers()[provider]
    if named.accelerator is not None or named.slice_of is not None or named.family is None:
        return Known(named=named)
    variant = load_catalogue().get(facts.assumed_variants.get(named.family, ""))
    if variant is None or (memory_gb is not None and not variant.accepts_memory(memory_gb)):
        return Known(named=named)
    return Known(named=replace(named, accelerator=variant.id, findings=()), because=facts.assumed_because)


def contact_only(name: str, text: str, *, place: str) -> Finding:
    """Return the finding for a GPU that is offered without a price."""
    return Finding(
        code="contact_only",
        level=Level.INFO,
        sentence="A GPU is offered without a price.",
        evidence={"name": name, "region": "", "text": text, "place": place},
    )


def left_out(name: str, reason: str, *, place: str) -> Finding:
    """Return the finding for something that stands among the prices and is not published, with the reason."""
    return Finding(
        code="left_out", level=Level.INFO, sentence=reason, evidence={"name": name, "place": place}
    )


def once(offers: Iterable[Offer]) -> Iterator[Offer]:
    """Yield each offer once; a page may print one in several places.

    Raises ParseError when two places give different prices for one thing.
    """
    seen: dict[tuple[str, object], Offer] = {}
    for offer in offers:
        key = (offer_key(offer), offer.valid_from)
        other = seen.setdefault(key, offer)
        if (other.list_price, other.price_basis) != (offer.list_price, offer.price_basis):
            raise ParseError(
                "says_two_things", f"The page gives two prices for {offer.sku}.",
                here=other.fragment, there=offer.fragment,
            )  # fmt: skip
        if other is offer:
            yield offer


def shown(records: Sequence[Record]) -> tuple[tuple[Record, ...], tuple[Finding, ...]]:
    """Return the entries that a reader of the page sees, and a finding when others are hidden.

    Raises ParseError when all are hidden.
    """
    seen = tuple(
        replace(record, cells=tuple(cell for cell in record.cells if not cell.is_hidden))
        for record in records
        if not record.is_hidden
    )
    refuse_other_terms(seen)
    hidden = [record.place for record in records if record.is_hidden]
    if not any(record.cells for record in seen):
        raise ParseError("all_hidden", "The prices of the page are hidden from its readers.")
    if not hidden:
        return seen, ()
    evidence = {"count": str(len(hidden)), "first": hidden[0]}
    sentence = "Entries that the page hides are left out."
    return seen, (Finding(code="hidden_entries", level=Level.INFO, sentence=sentence, evidence=evidence),)


def refuse_other_terms(records: Iterable[Record]) -> None:
    """Raise ParseError when a heading right above an entry sells it under other terms than on demand."""
    for record in records:
        below = list(record.path)
        known = [place for place, text in enumerate(below) if title_key(text) == record.section]
        for text in below[known[-1] if known else -1 :]:
            if _OTHER_TERMS.search(text):
                raise ParseError(
                    "other_terms", f"{record.place} stands under a heading with terms nobody has met.",
                    heading=text,
                )  # fmt: skip


def memory_in(text: str) -> Decimal | None:
    """Return the one memory size in a text such as "A100, 80 GB" or "141GB", None when there is none."""
    found = _MEMORY.findall(text)
    return Decimal(found[0]) if len(found) == 1 else None


def name_findings(known: Mapping[str, Known]) -> tuple[Finding, ...]:
    """Return what was noticed about names, each name once."""
    return tuple(finding for one in known.values() for finding in one.named.findings)
