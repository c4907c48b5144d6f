"""Price history as lines: what stands for a provider when, what is announced, where nothing is known."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from app.domain.cadence import MISSED_TO_STALE
from app.domain.listing import StoredOffer
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.domain.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from app.domain.accelerators import Accelerator
    from app.domain.metrics import Metric, View

SHOWN_AHEAD: Final = timedelta(days=30)
"""How long an announced price without an end is drawn."""

FOR_EVER: Final = datetime.max.replace(tzinfo=UTC)

Key = tuple[int, int, int]
"""What decides which of the prices that hold at one time stands for all: the smallest of these."""


class Span(NamedTuple):
    """One price of one offer over the half-open time from `starts` to `ends` (None: still open), in UTC.

    `announced` says that until its end no run has seen it as the current price.
    """

    offer_id: int
    min_gpus: int
    usd_micros: int
    starts: datetime
    ends: datetime | None
    announced: bool


class Stretch(NamedTuple):
    """A time over which a line stands at one price; `offer_id` is None where no single offer has it."""

    starts: datetime
    ends: datetime
    usd_micros: int
    offer_id: int | None
    announced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the history: a provider's price, or the lowest, median or highest of a marketplace's."""

    provider: str
    what: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a provider beside its prices: whether many sell there, and when it was read well."""

    provider: str
    is_marketplace: bool
    read_at: Sequence[datetime]
    every: timedelta


def lines_of(spans: Iterable[Span], known: Known, *, now: datetime) -> tuple[Line, ...]:
    """Return a provider's lines up to now, and what it has announced beyond.

    One offer stands for a provider at a time: that of the smallest minimum quantity, then of the lowest
    price. A marketplace has three lines instead. A line ends when as many readings have failed as make a
    price stale, and goes on at the next good one; nothing is drawn between.
    """
    times = covered(known.read_at, every=known.every, now=now)
    if not known.is_marketplace:
        raw = _sweep(spans, pick=lambda held: held[0], key=lambda span: _key(span, by_quantity=True))
        found = {"price": raw}
    else:
        listed = list(spans)
        picks: dict[str, Callable[[list[Key]], Key]] = {
            "min": lambda held: held[0],
            "median": _median,
            "max": lambda held: held[-1],
        }
        found = {
            what: _sweep(listed, pick=pick, key=lambda span: _key(span, by_quantity=False))
            for what, pick in picks.items()
        }
    lines = (
        Line(provider=known.provider, what=what, stretches=_clipped(raw, times, now=now))
        for what, raw in found.items()
    )
    return tuple(line for line in lines if line.stretches)


def covered(
    read_at: Sequence[datetime], *, every: timedelta, now: datetime
) -> tuple[tuple[datetime, datetime], ...]:
    """Return the times over which what a source said is not stale, from the good runs in order.

    What a run read holds until the next one, but no longer than it takes to become stale.
    """
    longest = every * MISSED_TO_STALE
    found: list[tuple[datetime, datetime]] = []
    for this, following in pairwise([*read_at, now]):
        until = min(following, this + longest)
        if found and found[-1][1] == this:
            found[-1] = (found[-1][0], until)
        elif until > this:
            found.append((this, until))
    return tuple(found)


def _key(span: Span, *, by_quantity: bool) -> Key:
    return (span.min_gpus if by_quantity else 0, span.usd_micros, span.offer_id)


def _median(held: list[Key]) -> Key:
    """Return the middle price, or the mean of the two in the middle, which is no offer's (id 0)."""
    middle = len(held) // 2
    if len(held) % 2:
        return held[middle]
    return (0, (held[middle - 1][1] + held[middle][1]) // 2, 0)


def _sweep(
    spans: Iterable[Span], *, pick: Callable[[list[Key]], Key], key: Callable[[Span], Key]
) -> list[Stretch]:
    """Return the picked price at all times, one stretch for as long as it stays the same."""
    events: dict[datetime, tuple[list[Span], list[Span]]] = {}
    for span in spans:
        events.setdefault(span.starts, ([], []))[0].append(span)
        events.setdefault(span.ends or FOR_EVER, ([], []))[1].append(span)
    held: list[Key] = []
    unseen: dict[Key, bool] = {}
    found: list[Stretch] = []
    for this, following in pairwise(sorted(events)):
        begun, ended = events[this]
        for span in ended:
            del held[bisect_left(held, key(span))]
        for span in begun:
            insort(held, key(span))
            unseen[key(span)] = span.announced
        if held:
            chosen = pick(held)
            _add(found, chosen, starts=this, ends=following, announced=unseen.get(chosen, False))
    return found


def _add(found: list[Stretch], chosen: Key, *, starts: datetime, ends: datetime, announced: bool) -> None:
    """Add a price from one time to another; it goes on with the last stretch when nothing changed."""
    _, usd_micros, number = chosen
    offer_id = number or None
    if found:
        last = found[-1]
        goes_on = last.ends == starts and last.usd_micros == usd_micros and last.offer_id == offer_id
        if goes_on and last.announced == announced:
            found[-1] = last._replace(ends=ends)
            return
    found.append(Stretch(starts, ends, usd_micros, offer_id, announced))


def _clipped(
    raw: Iterable[Stretch], times: Sequence[tuple[datetime, datetime]], *, now: datetime
) -> tuple[Stretch, ...]:
    """Return the parts of stretches that somebody read, and those that are announced."""
    found: list[Stretch] = []
    for each in raw:
        if each.starts > now:
            found.append(each._replace(ends=min(each.ends, each.starts + SHOWN_AHEAD), announced=True))
        elif each.announced:
            found.append(each._replace(ends=min(each.ends, now)))
        else:
            found += [
                _within(each, first, end=last)
                for first, last in times
                if first < each.ends and each.starts < last
            ]
    return tuple(each for each in found if each.starts < each.ends)


def _within(each: Stretch, start: datetime, *, end: datetime) -> Stretch:
    """Return the part of a stretch between two times."""
    if start <= each.starts and each.ends <= end:
        return each
    return each._replace(starts=max(each.starts, start), ends=min(each.ends, end))


def window(line: Line, *, start: datetime, end: datetime | None) -> Line:
    """Return the part of a line within a time; `end` None leaves what is announced."""
    last = FOR_EVER if end is None else end
    parts = (_within(each, start, end=last) for each in line.stretches)
    return replace(line, stretches=tuple(each for each in parts if each.starts < each.ends))


def figure_of_price(metric: Metric, card: Accelerator, *, view: View) -> Callable[[int], Decimal | None]:
    """Return the function that gives a metric of this card at a price in micro-dollars per GPU-hour.

    It asks the metric itself, so that history and board cannot disagree; each price is worked out once.
    """
    row = Row(_unpriced(card), card, ())
    known: dict[int, Decimal | None] = {}

    def figure(usd_micros: int) -> Decimal | None:
        if usd_micros not in known:
            stored = replace(row.stored, usd_micros_per_gpu_hour=usd_micros)
            known[usd_micros] = metric.value(replace(row, stored=stored), view)
        return known[usd_micros]

    return figure


def _unpriced(card: Accelerator) -> StoredOffer:
    """Return an offer of one whole card, to be priced: figures of a price need no more of it."""
    offer = Offer(
        provider="",
        sku="",
        accelerator=card.id,
        accelerator_as_written=card.name,
        family=card.family,
        gpu_count=1,
        min_gpus=1,
        list_price=Decimal(1),
        price_basis=PriceBasis.GPU_HOUR,
        pricing_model=PricingModel.ON_DEMAND,
        service_kind=ServiceKind.INSTANCE,
        source_url="",
        fragment="",
    )
    return StoredOffer(
        offer=offer,
        offer_id=0,
        usd_micros_per_gpu_hour=None,
        price_valid_from=FOR_EVER,
        announced_since_page=False,
        first_seen_at=FOR_EVER,
        last_seen_at=FOR_EVER,
        observed_at=FOR_EVER,
        capture_sha256="",
    )
