"""Price history as lines: what stands for a provider when, what is announced, where nothing is known."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from app.domain.cadence import MISSED_TO_STALE
from app.domain.listing import StoredOffer
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.domain.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from app.domain.accelerators import Accelerator
    from app.domain.metrics import Metric, View

SHOWN_AHEAD: Final = timedelta(days=30)
"""How long an announced price without an end is drawn."""

FOR_EVER: Final = datetime.max.replace(tzinfo=UTC)

Key = tuple[int, int, int]
"""What decides which of the prices that hold at one time stands for all: the smallest of these."""


class Stretch(NamedTuple):
    """One price over the half-open time from `starts` to `ends` (`FOR_EVER`: still open), in UTC.

    `offer_id` is None where no single offer has it. `announced` says that until its end no run has seen it as
    the current price.
    """

    starts: datetime
    ends: datetime
    usd_micros: int
    offer_id: int | None
    announced: bool


Pick = Callable[[list[Key]], Key]
"""Takes the prices that hold at one time, in order, and gives the one that stands for them."""


class Listed(NamedTuple):
    """One offer of a provider with its prices over time; no two of them hold at once."""

    offer_id: int
    min_gpus: int
    stretches: Sequence[Stretch]


_starts = attrgetter("starts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the history: a provider's price, or the lowest, median or highest of a marketplace's."""

    provider: str
    what: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a provider beside its prices: whether many sell there, and when it was read well.

    `read_at_s` are Unix seconds in order.
    """

    provider: str
    is_marketplace: bool
    read_at_s: Sequence[int]
    every: timedelta


def lines_of(listed: Sequence[Listed], known: Known, *, now: datetime) -> tuple[Line, ...]:
    """Return a provider's lines up to now, and what it has announced beyond.

    One offer stands for a provider at a time: that of the smallest minimum quantity, then of the lowest
    price. A marketplace has three lines instead. A line ends when as many readings have failed as make a
    price stale, and goes on at the next good one; nothing is drawn between.
    """
    times = covered(known.read_at_s, every=known.every, now=now)
    picks = _OF_MARKETPLACE if known.is_marketplace else _OF_PROVIDER
    if len(listed) == 1:
        found = dict.fromkeys(picks, _joined(sorted(listed[0].stretches, key=_starts)))
    else:
        found = _sweep(listed, picks=picks, by_quantity=not known.is_marketplace)
    lines = (
        Line(provider=known.provider, what=what, stretches=_clipped(raw, times, now=now))
        for what, raw in found.items()
    )
    return tuple(line for line in lines if line.stretches)


def covered(
    read_at_s: Sequence[int], *, every: timedelta, now: datetime
) -> tuple[tuple[datetime, datetime], ...]:
    """Return the times over which what a source said is not stale, from when it was read well, in order.

    What a run read holds until the next one, but no longer than it takes to become stale.
    """
    longest_s = int((every * MISSED_TO_STALE).total_seconds())
    utc = partial(datetime.fromtimestamp, tz=UTC)
    found: list[tuple[datetime, datetime]] = []
    starts = read_at_s[0] if read_at_s else None
    for this, following in pairwise(read_at_s):
        if starts is not None and following - this > longest_s:
            found.append((utc(starts), utc(this + longest_s)))
            starts = following
    if starts is not None:
        found.append((utc(starts), min(now, utc(read_at_s[-1] + longest_s))))
    return tuple(each for each in found if each[0] < each[1])


def _lowest(held: list[Key]) -> Key:
    return held[0]


def _median(held: list[Key]) -> Key:
    """Return the middle price, or the mean of the two in the middle, which is no offer's (id 0)."""
    middle = len(held) // 2
    if len(held) % 2:
        return held[middle]
    return (0, (held[middle - 1][1] + held[middle][1]) // 2, 0)


def _highest(held: list[Key]) -> Key:
    return held[-1]


_OF_PROVIDER: Final[Mapping[str, Pick]] = MappingProxyType({"price": _lowest})
_OF_MARKETPLACE: Final[Mapping[str, Pick]] = MappingProxyType(
    {"min": _lowest, "median": _median, "max": _highest}
)


def _sweep(
    listed: Iterable[Listed], *, picks: Mapping[str, Pick], by_quantity: bool
) -> dict[str, list[Stretch]]:
    """Return the picked prices at all times, one stretch for as long as one stays the same."""
    events: dict[datetime, tuple[list[tuple[Key, bool]], list[Key]]] = defaultdict(lambda: ([], []))
    for offer_id, min_gpus, stretches in listed:
        for each in stretches:
            key = (min_gpus if by_quantity else 0, each.usd_micros, offer_id)
            events[each.starts][0].append((key, each.announced))
            events[each.ends][1].append(key)
    held: list[Key] = []
    unseen: dict[Key, bool] = {}
    chosen: dict[str, list[Stretch]] = {what: [] for what in picks}
    for this_time, following in pairwise(sorted(events)):
        begun, ended = events[this_time]
        for key in ended:
            del held[bisect_left(held, key)]
        for key, announced in begun:
            insort(held, key)
            unseen[key] = announced
        if held:
            for what, pick in picks.items():
                picked = pick(held)
                _, usd_micros, number = picked
                is_unseen = unseen.get(picked, False)
                chosen[what].append(Stretch(this_time, following, usd_micros, number or None, is_unseen))
    return {what: _joined(stretches) for what, stretches in chosen.items()}


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return stretches in order, those as one between which nothing changed."""
    found: list[Stretch] = []
    for each in stretches:
        last = found[-1] if found else None
        if (
            last is not None
            and last.usd_micros == each.usd_micros
            and last.ends == each.starts
            and last.offer_id == each.offer_id
            and last.announced == each.announced
        ):
            found[-1] = last._replace(ends=each.ends)
        else:
            found.append(each)
    return found


def _clipped(
    raw: Iterable[Stretch], times: Sequence[tuple[datetime, datetime]], *, now: datetime
) -> tuple[Stretch, ...]:
    """Return the parts of stretches that somebody read, and those that are announced."""
    found: list[Stretch] = []
    at = 0
    for each in raw:
        if each.starts > now:
            found.append(each._replace(ends=min(each.ends, each.starts + SHOWN_AHEAD), announced=True))
        elif each.announced:
            found.append(each._replace(ends=min(each.ends, now)))
        else:
            while at < len(times) and times[at][1] <= each.starts:
                at += 1
            if at < len(times) and times[at][0] <= each.starts and each.ends <= times[at][1]:
                found.append(each)
            else:
                found += _parts(each, times, at=at)
    return tuple(each for each in found if each.starts < each.ends)


def _parts(each: Stretch, times: Sequence[tuple[datetime, datetime]], *, at: int) -> Iterator[Stretch]:
    """Yield the parts of a stretch within the times from number `at` on."""
    while at < len(times) and times[at][0] < each.ends:
        yield _within(each, times[at][0], end=times[at][1])
        at += 1


def _within(each: Stretch, start: datetime, *, end: datetime) -> Stretch:
    """Return the part of a stretch between two times."""
    if start <= each.starts and each.ends <= end:
        return each
    return each._replace(starts=max(each.starts, start), ends=min(each.ends, end))


def window(line: Line, *, start: datetime, end: datetime | None) -> Line:
    """Return the part of a line within a time; `end` None leaves what is announced."""
    last = FOR_EVER if end is None else end
    stretches = line.stretches
    if not stretches or (start <= stretches[0].starts and stretches[-1].ends <= last):
        return line
    parts = (_within(each, start, end=last) for each in stretches)
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
