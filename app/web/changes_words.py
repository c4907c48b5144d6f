"""How changes are said: one line for each, with its prices, its percent, and where it can be checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.changes import ChangeKind, per_gpu_hour
from app.domain.offers import MICROS_PER_USD
from app.web import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.domain.changes import Change, PricePoint
    from app.domain.offers import Offer
    from app.web.changes_query import Day

KIND: Final = {
    ChangeKind.MOVE: "moved",
    ChangeKind.ANNOUNCED: "announced",
    ChangeKind.NEW: "new",
    ChangeKind.BACK: "back",
    ChangeKind.WITHDRAWN: "withdrawn",
    ChangeKind.RESTATED: "restated",
}

_COUNTED: Final = {
    ChangeKind.MOVE: ("price moved", "prices moved"),
    ChangeKind.ANNOUNCED: ("price announced", "prices announced"),
    ChangeKind.NEW: ("new offer", "new offers"),
    ChangeKind.BACK: ("offer back", "offers back"),
    ChangeKind.WITHDRAWN: ("offer withdrawn", "offers withdrawn"),
    ChangeKind.RESTATED: ("price only written otherwise", "prices only written otherwise"),
}

MEANING: Final = {
    ChangeKind.MOVE: "the provider asks another price for the same thing",
    ChangeKind.ANNOUNCED: "the page prints a price with a later date; it moves on that date",
    ChangeKind.NEW: "first listed on this day",
    ChangeKind.BACK: "listed again after it had been withdrawn",
    ChangeKind.WITHDRAWN: "a good run no longer lists it",
    ChangeKind.RESTATED: (
        "in another unit, currency or wording, with less than 1 % of difference or none that can be told; "
        "this is no move"
    ),
}

SMALLEST_PERCENT: Final = Decimal("0.05")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One change as its line shows it; empty texts are dashes. `trend` is `up`, `down` or empty."""

    kind: str
    label: str
    provider: str
    provider_name: str
    card: str
    about: str
    before: str
    before_printed: str
    after: str
    after_printed: str
    percent: str
    trend: str
    note: str
    evidence_href: str
    source_href: str


def line(change: Change) -> Line:
    """Return what the line of a change shows."""
    each, percent = change.offer, change.percent
    return Line(
        kind=change.kind.value,
        label=KIND[change.kind],
        provider=each.provider,
        provider_name=words.provider_name(each.provider),
        card=card(each),
        about=about(each),
        before=_price(change.before, each),
        before_printed=printed(change.before),
        after=_price(change.after, each),
        after_printed=printed(change.after),
        percent="" if percent is None or change.kind is ChangeKind.RESTATED else signed(percent),
        trend="" if not percent or change.kind is ChangeKind.RESTATED else "up" if percent > 0 else "down",
        note=note(change),
        evidence_href=evidence_href(change),
        source_href=words.safe_url(each.source_url),
    )


def card(offer: Offer) -> str:
    """Return the name of an offer's card: ours when the variant is known, else the provider's own words."""
    found = load_catalogue().get(offer.accelerator) if offer.accelerator else None
    return found.name if found else offer.accelerator_as_written


def about(offer: Offer) -> str:
    """Return what sets an offer apart beside its card: GPUs or what it is a slice of, pricing, region."""
    gpus = f"{offer.gpu_count} GPU" if offer.gpu_count == 1 else f"{offer.gpu_count} GPUs"
    more = f"rented {offer.min_gpus} or more at a time" if offer.min_gpus > 1 else ""
    if offer.slice_of:
        gpus = f"a slice of {offer.slice_of}, not a whole GPU"
    parts = (gpus, more, words.pricing(offer), words.SERVICE[offer.service_kind], offer.region)
    return ", ".join(part for part in parts if part)


def _price(point: PricePoint | None, offer: Offer) -> str:
    """Return the price of one GPU for one hour, in dollars where it is, with a sign for a floor."""
    if point is None:
        return ""
    floor = "\N{GREATER-THAN OR EQUAL TO} " if point.is_floor else ""
    micros = point.usd_micros_per_gpu_hour
    if micros is not None:
        return f"{floor}{_short(Decimal(micros) / MICROS_PER_USD)}"
    return f"{floor}{_short(per_gpu_hour(point, offer=offer))} {point.currency}"


def _short(value: Decimal) -> str:
    """Return a price with two decimals, or with four where two would hide something."""
    two = words.number(value, 2)
    four = words.number(value, 4)
    return two if four == f"{two}00" else four


def printed(point: PricePoint | None) -> str:
    """Return a price as the page prints it."""
    return "" if point is None else f"{point.list_price:f} {point.currency} {words.BASIS[point.price_basis]}"


def signed(percent: Decimal) -> str:
    """Return a change in percent with its sign and one decimal; empty when there is none."""
    if not percent:
        return ""
    if abs(percent) < SMALLEST_PERCENT:
        return "under 0.1 %"
    sign = "+" if percent > 0 else "\N{MINUS SIGN}"
    return f"{sign}{words.number(abs(percent), 1)} %"


def note(change: Change) -> str:
    """Return what has to be known beside the two prices."""
    before, after = change.before, change.after
    if change.kind is ChangeKind.ANNOUNCED and change.starts_at is not None:
        return f"from {change.starts_at.date()}"
    if change.announced_at is not None:
        return f"announced {change.announced_at.date()}"
    if before is None or after is None or change.kind is ChangeKind.BACK:
        return ""
    return _difference(before, after, restated=change.kind is ChangeKind.RESTATED)


def _difference(before: PricePoint, after: PricePoint, *, restated: bool) -> str:
    """Return in what two printed prices differ beside their amount."""
    if before.currency != after.currency:
        return f"in {after.currency} now: whether it moved cannot be told"
    if before.price_basis is not after.price_basis:
        same = "the same price but for rounding, " if restated else ""
        return f"{same}printed {words.BASIS[after.price_basis]} now, as {after.list_price:f}"
    if before.is_floor is not after.is_floor:
        return f"{'now' if after.is_floor else 'no longer'} written as 'from'"
    return ""


def evidence_href(change: Change) -> str:
    """Return the address of the offer on a day that shows it; empty when it came and went in one day."""
    return "" if change.shown_on is None else f"/offers/{change.offer_id}?as_of={change.shown_on}"


def counted(changes: Iterable[Change]) -> str:
    """Return how many changes there are of each kind, in words."""
    counts = Counter(change.kind for change in changes)
    return ", ".join(
        f"{counts[kind]:,} {one if counts[kind] == 1 else more}"
        for kind, (one, more) in _COUNTED.items()
        if counts[kind]
    )


def source_notes(day: Day) -> tuple[str, ...]:
    """Return a sentence for each provider whose offers came from another source than those withdrawn."""
    return tuple(
        f"{words.provider_name(provider)} was read from another source on this day, which does not name "
        "things alike: what is withdrawn and what is new may be the same offers."
        for provider in sorted({change.offer.provider for change in day.changes})
        if _changed_source([change for change in day.changes if change.offer.provider == provider])
    )


def _changed_source(changes: Sequence[Change]) -> bool:
    new = {change.source for change in changes if change.kind in {ChangeKind.NEW, ChangeKind.BACK}}
    gone = {change.source for change in changes if change.kind is ChangeKind.WITHDRAWN}
    return bool(new and gone) and not new & gone
