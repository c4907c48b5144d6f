"""What an address may ask of the history, and the lines that answer it, for page, JSON, CSV and chart."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy.exc import SQLAlchemyError

from app.domain.accelerators import other_figures
from app.domain.cadence import DAILY, MISSED_TO_STALE, read_every
from app.domain.history import FOR_EVER, Known, Line, Stretch, figure_of_price, lines_of, window
from app.domain.metrics import METRICS, Metric, View
from app.domain.offers import MICROS_PER_USD, PricingModel
from app.domain.providers import MARKETPLACE, load_providers
from app.domain.query import OfferQuery, QueryError, parse_query, query_pairs
from app.store import history as store
from app.store.changes import midnight
from app.store.session import reading
from app.web.boards import NoBoardError
from app.web.state import joined, read_pairs
from app.web.words import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from app.domain.accelerators import Accelerator
    from app.domain.query import Vocabulary
    from app.domain.quotes import OwnHardware, Quote
    from app.domain.rows import Row
    from app.web.boards import Served
    from app.web.shared import Shared

DAYS: Final = 400
"""Days shown unless an address says otherwise."""

MOST_PRICES: Final = 60_000
"""Prices that one answer is worked out from; beyond it a shorter time has to be asked for."""

OLDEST: Final = date(2000, 1, 1)
"""A day before any price; what an address asks of earlier ones is read from here on."""

DEFAULT_GPU: Final = "h100-sxm"
NAMES: Final = (
    *("gpu", "metric", "precision", "weights_gb", "provider", "pricing", "service", "from", "to", "spec"),
    *("quote", "own"),
)
REPEATED: Final = frozenset({"provider", "service", "quote", "own"})
"""Parameters that may stand several times."""

BOARD_NAMES: Final = {"gpu": "baseline", "from": "as_of", "to": "as_of"}
"""Parameters that are read as one of the board's: a variant, a day."""

PRICED: Final[Mapping[str, Metric]] = {
    key: metric
    for key, metric in METRICS.items()
    if metric.unit.startswith("$") and key != "usd_per_instance_hour"
}
"""The metrics that a price of one card gives, and so have a history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """One question to the history; `start` None is `DAYS` before the end, `end` None is today and beyond."""

    gpu: str = DEFAULT_GPU
    metric: str = "usd_per_gpu_hour"
    precision: str = "fp8"
    weights_gb: Decimal = Decimal(70)
    provider: tuple[str, ...] = ()
    pricing: str = PricingModel.ON_DEMAND.value
    service: tuple[str, ...] = ()
    start: date | None = None
    end: date | None = None
    spec: str = "main"
    quote: tuple[Quote, ...] = ()
    own: tuple[OwnHardware, ...] = ()

    def replace(self, **fields: Any) -> HistoryQuery:
        """Return the query with some fields changed."""
        return replace(self, **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The lines that answer a question, and what was left out because it is not in dollars.

    `card` has the figures in use; `other_card` those that are published too, where they change the metric.
    `figures` gives the metric for each price in micro-dollars per GPU-hour that stands in a line. `own` are
    the reader's own figures for the card, level over the whole time that is shown, and `own_elsewhere` those
    for other cards, which are not; both in the board's order.
    """

    query: HistoryQuery
    card: Accelerator
    other_card: Accelerator | None
    metric: Metric
    lines: tuple[Line, ...]
    figures: Mapping[int, Decimal | None]
    other_currency: tuple[str, ...]
    first: date
    now: datetime
    own: tuple[Own, ...] = ()
    own_elsewhere: tuple[Row, ...] = ()

    @property
    def shown(self) -> tuple[Line, ...]:
        """Return all lines: the reader's own, then those of providers."""
        return (*(each.line for each in self.own), *self.lines)


class Own(NamedTuple):
    """One of the reader's own figures: its row of the board, and its line."""

    row: Row
    line: Line


def read_history_query(text: str, words: Vocabulary) -> HistoryQuery:
    """Return what a query string asks of the history; raises QueryError as the board's does."""
    asked: dict[str, list[str]] = {}
    for name, value in read_pairs(text):
        if name not in NAMES:
            raise QueryError("parameter", name or value, f"use one of {', '.join(NAMES)}")
        if value.strip():
            asked.setdefault(name, []).append(value)
    found: dict[str, Any] = {}
    for name, values in asked.items():
        if name not in REPEATED and len(values) > 1:
            raise QueryError(name, values[1], "give it once")
        found[name] = _metric(values[0]) if name == "metric" else _as_on_board(name, values, words)
    query = HistoryQuery(
        **{{"from": "start", "to": "end"}.get(name, name): value for name, value in found.items()}
    )
    if query.start and query.end and query.start > query.end:
        raise QueryError("from", query.start.isoformat(), f"it is after to={query.end}")
    return query


def _as_on_board(name: str, values: list[str], words: Vocabulary) -> Any:
    """Return a value as the board reads it; its refusal names the parameter of this page."""
    board_name = BOARD_NAMES.get(name, name)
    try:
        query = parse_query([(board_name, value) for value in values], words)
    except QueryError as error:
        raise QueryError(name, error.value, error.expected) from error
    value = getattr(query, board_name)
    if name == "pricing":
        if len(value) > 1:
            raise QueryError(name, values[0], "give one")
        return value[0]
    return value


def _metric(value: str) -> str:
    key = value.strip().casefold()
    if key in PRICED:
        return key
    close = get_close_matches(key, PRICED, n=2, cutoff=0.5)
    expected = f"did you mean {' or '.join(close)}?" if close else f"use one of {', '.join(PRICED)}"
    raise QueryError("metric", value, expected)


def history_pairs(query: HistoryQuery) -> list[tuple[str, str]]:
    """Return the pairs of a link to this query: the card, and of the rest what differs from the default."""
    default = HistoryQuery(gpu=query.gpu)
    names = ("metric", "precision", "pricing")
    pairs = [("gpu", query.gpu)]
    pairs += [
        (name, getattr(query, name)) for name in names if getattr(query, name) != getattr(default, name)
    ]
    if query.weights_gb != default.weights_gb:
        pairs.append(("weights_gb", exact(query.weights_gb)))
    pairs += [("provider", each) for each in query.provider]
    pairs += [("service", each) for each in query.service]
    days = (("from", query.start), ("to", query.end))
    pairs += [(name, day.isoformat()) for name, day in days if day]
    return [*pairs, *query_pairs(OfferQuery(spec=query.spec, quote=query.quote, own=query.own))]


def history_link(path: str, query: HistoryQuery, **fields: Any) -> str:
    """Return the address of a query with some fields changed."""
    return f"{path}?{joined(history_pairs(query.replace(**fields)))}"


def load_history(shared: Shared, served: Served, *, query: HistoryQuery) -> History:
    """Read and work out the lines of a query.

    Raises NoBoardError when the database is away, QueryError when there are too many prices in that time.
    """

    def make() -> _Lines:
        with reading(shared.engine) as connection:
            return _read_lines(connection, served, query, now=shared.clock())

    rows = (query.gpu, query.provider, query.pricing, query.service, query.start, query.end)
    try:
        # A page and its chart ask for the same lines one after the other, as does another figure of them.
        return _history(query, served, served.kept("histories", _Recent).lines(rows, make))
    except SQLAlchemyError as error:
        raise NoBoardError("the database cannot be read") from error


class _Lines(NamedTuple):
    """The lines of a card from a day on as they were at a time, and whose prices are not in dollars."""

    lines: tuple[Line, ...]
    other_currency: tuple[str, ...]
    first: date
    now: datetime


class _Recent:
    """The lines that were asked for last on one board: as many as one large history has."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Lines] = OrderedDict()
        self._lock = threading.Lock()

    def lines(self, key: Hashable, make: Callable[[], _Lines]) -> _Lines:
        """Return the lines of a key, made unless they are at hand."""
        found = self._kept.get(key)
        if found is None:
            found = make()
            with self._lock:
                self._kept[key] = found
                while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > MOST_PRICES:
                    self._kept.popitem(last=False)
        return found


def _size(read: _Lines) -> int:
    return sum(len(line.stretches) for line in read.lines)


def _read_lines(connection: Connection, served: Served, query: HistoryQuery, *, now: datetime) -> _Lines:
    last = query.end or served.words.today
    first = query.start or last - timedelta(days=min(DAYS, last.toordinal() - 1))
    start, end = midnight(max(first, OLDEST)), None if query.end is None else midnight(query.end) + DAILY
    wanted = store.Wanted(
        accelerator=query.gpu, pricing=query.pricing, services=query.service, providers=query.provider
    )
    found = store.prices_of(connection, wanted, start=start, end=end or FOR_EVER, limit=MOST_PRICES)
    if found is None:
        expected = f"ask for a shorter time: there are more than {MOST_PRICES:,} prices in this one"
        raise QueryError("from", first.isoformat(), expected)
    runs = store.good_runs(
        connection, found.listed, start=start - DAILY * MISSED_TO_STALE, end=min(end or now, now) + DAILY
    )
    until = now if end is None else min(now, end)
    lines = tuple(
        shown
        for provider in sorted(found.listed)
        for line in lines_of(
            found.listed[provider],
            _known(provider, {*runs.get(provider, ()), *found.read_at_s[provider]}, until=until),
            now=until,
        )
        if (shown := window(line, start=start, end=end)).stretches
    )
    return _Lines(lines, found.other_currency, first, now)


def _known(provider: str, read_at_s: set[int], *, until: datetime) -> Known:
    facts = load_providers().get(provider)
    times_s = sorted(read_at_s)
    return Known(
        provider=provider,
        is_marketplace=facts is not None and facts.kind == MARKETPLACE,
        read_at_s=times_s[: bisect_right(times_s, until.timestamp())],
        every=read_every(provider),
    )


def _history(query: HistoryQuery, served: Served, read: _Lines) -> History:
    metric = METRICS[query.metric]
    asked = OfferQuery(precision=query.precision, weights_gb=query.weights_gb)
    view: View = served.board.view(asked)
    card = served.board.catalogue.by_id[query.gpu]
    other = other_figures(card)
    figure = figure_of_price(metric, card, view=view)
    if other and figure_of_price(metric, other, view=view)(MICROS_PER_USD) == figure(MICROS_PER_USD):
        other = None
    own, elsewhere = _own(query, served, read)
    lines = (*(each.line for each in own), *read.lines)
    prices = {each.usd_micros for line in lines for each in line.stretches}
    return History(
        query=query,
        card=card,
        other_card=other,
        metric=metric,
        lines=read.lines,
        figures={each: figure(each) for each in prices},
        other_currency=read.other_currency,
        first=read.first,
        now=read.now,
        own=own,
        own_elsewhere=elsewhere,
    )


def _own(query: HistoryQuery, served: Served, read: _Lines) -> tuple[tuple[Own, ...], tuple[Row, ...]]:
    """Return the reader's own figures for the card with their lines, and those for other cards.

    As on the board no choice of providers says anything of them. Their terms hide them nowhere here: the
    page says which differ from those that are drawn.
    """
    if not served.is_private:
        return (), ()
    rows = [row for row in served.board.rows if row.offer.is_own]
    rows.sort(key=lambda row: -row.stored.offer_id)
    starts, ends = _shown_time(query, read)
    here = [row for row in rows if row.offer.accelerator == query.gpu]
    lines = tuple(Own(row, _level(row, starts, ends=ends)) for row in here)
    return lines, tuple(row for row in rows if row not in here)


def _level(row: Row, starts: datetime, *, ends: datetime) -> Line:
    micros = row.stored.usd_micros_per_gpu_hour or 0
    level = Stretch(starts, ends, micros, row.stored.offer_id, announced=False)
    return Line(provider=row.offer.provider, what="price", stretches=(level,))


def _shown_time(query: HistoryQuery, read: _Lines) -> tuple[datetime, datetime]:
    """Return from when something is drawn until the end of what was asked for, which is today at the latest.

    What a reader has typed in does not end where a provider was last read.
    """
    stretches = [each for line in read.lines for each in line.stretches]
    asked_to = read.now if query.end is None else midnight(query.end) + DAILY
    starts = min((each.starts for each in stretches), default=midnight(read.first))
    return starts, max([min(read.now, asked_to), *(each.ends for each in stretches)])
