"""Layout drift: what a changed page may lead to, and who decides whether that was right.

A change takes a page and its truth (dollars per GPU-hour by name, region, kind, start date and count) and
alters both: where the change leaves the page saying the same, the truth stays; where it makes the page say
something no careful reader would believe (two figures for one thing, a price in euros, a struck-through
price), the truth loses the keys concerned, so that publishing them counts as wrong; where the changed page is
as good as the old one and merely says something else (a new price, another date), the truth follows the page.

Out of reach, and therefore in the truth as the page says it, not as the old page said it:

- Nebius prints each on-demand price once. Cells of its two price columns exchanged in every row, their
  titles exchanged, a new digit in a price, or two names exchanged between rows with equal hosts give pages
  that could be real. Only a second source or yesterday's prices tell; the checks hold moves above 40 %.
- RunPod gives each price once. A new price inside the plausible band, two ids exchanged together with memory
  and display name, or a price in cents for a name nobody knows is a possible answer.
- CoreWeave prints everything twice; a change made in both blocks, and for North America in the price per GPU
  too, is a possible page, and so is one whose two regions have exchanged their headings.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from app.domain.findings import holds
from app.ingest.checks import check_offers
from scrapers import SCRAPERS, Expect, ParseError
from tests.scrapers.truth import Key, page, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from decimal import Decimal


class Verdict(StrEnum):
    EXACT = "exact"
    FEWER = "fewer rows"
    REFUSED = "refused"
    HELD = "held"
    WRONG = "wrong"


@dataclass
class Dice:
    """The choices of one example, drawn through hypothesis so that a failing one can be shrunk."""

    draw: Callable[[st.SearchStrategy[Any]], Any]

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[self.number(0, len(choices) - 1)]

    def number(self, lowest: int, highest: int) -> int:
        return int(self.draw(st.integers(lowest, highest)))

    def flip(self) -> bool:
        return bool(self.draw(st.booleans()))


@dataclass
class Subject:
    """A page to change: its bytes, what a careful reader takes from it, and what a full run must hold."""

    provider: str
    body: bytes
    truth: dict[Key, Decimal]
    expect: Expect
    accelerators: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the accelerators from the unchanged page, which the golden tests have compared."""
        for offer in SCRAPERS[self.provider].parse(page(self.provider, self.body)).offers:
            self.accelerators[offer.sku] = offer.accelerator


@dataclass
class Tally:
    """The verdicts on one subject's mutants."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    failed: bool = False

    def is_new(self, body: bytes) -> bool:
        """Say whether a mutant is to be judged: each one once, but all of them while a failure is shrunk."""
        return self.failed or hashlib.sha256(body).hexdigest() not in self.seen

    def count(self, body: bytes, verdict: Verdict, changes: Sequence[str]) -> None:
        """Count a mutant that was judged, and the changes that made it."""
        self.seen.add(hashlib.sha256(body).hexdigest())
        self.verdicts[verdict] += 1
        self.changes.update(changes)

    def line(self, name: str) -> str:
        counts = ", ".join(f"{self.verdicts[verdict]} {verdict.value}" for verdict in Verdict)
        return f"drift {name}: {len(self.seen)} mutants of {len(self.changes)} kinds: {counts}"


def judge(subject: Subject, body: bytes, truth: dict[Key, Decimal]) -> tuple[Verdict, str]:
    """Parse a changed page as a run would, and say what came of it and, where it is wrong, what."""
    try:
        parsed = SCRAPERS[subject.provider].parse(page(subject.provider, body))
    except ParseError:
        return Verdict.REFUSED, ""
    if holds((*parsed.findings, *check_offers(parsed.offers, subject.expect))):
        return Verdict.HELD, ""
    published = taken(parsed.offers)
    for key, price in published.items():
        if truth.get(key) != price:
            return Verdict.WRONG, f"{key}: {price}, right is {truth.get(key)}"
    for offer in parsed.offers:
        if offer.accelerator not in {None, subject.accelerators.get(offer.sku)}:
            return Verdict.WRONG, f"{offer.sku} became {offer.accelerator}"
    return (Verdict.EXACT if len(published) == len(subject.truth) else Verdict.FEWER), ""


def relaxed(expect: Expect, offers: int) -> Expect:
    """Return what a run of a small page must hold: four fifths of its offers, the same anchors."""
    return replace(expect, min_offers=offers * 4 // 5)
