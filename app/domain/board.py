"""The board: the offers of one instant with their metrics, to be filtered, sorted, paged and counted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache, reduce
from operator import and_, or_
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from app.domain.bitsets import Codes, Order, encode, sort_rows
from app.domain.columns import COLUMNS, Fact
from app.domain.disputed import mark_disputed_orders
from app.domain.metrics import Metric, View
from app.domain.offers import PairKey, pair_key
from app.domain.rows import Row, comparable, make_row, mark_dearer_siblings
from app.domain.searching import shared_names
from app.domain.shown import DOLLARS, Units, shown_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from app.domain.accelerators import Catalogue
    from app.domain.listing import StoredOffer
    from app.domain.query import OfferQuery
    from app.domain.rates import Rate

MAX_ORDERS: Final = 24
"""Sort orders kept for one board; the one made first goes first."""

MAX_COUNTS: Final = 256
"""Facet counts kept for one board, by facets and the filters they stand under."""

Filters = dict[str, tuple[tuple[Hashable, ...], int]]
"""The filters in use by name: what was asked for, and the rows it leaves."""

_FILTER_COLUMNS: Final[Mapping[str, Callable[[Row], Hashable]]] = MappingProxyType(
    {
        "variant": lambda row: row.offer.accelerator,
        "family": lambda row: row.family,
        "provider": lambda row: row.offer.provider,
        "pricing": lambda row: row.offer.pricing_model.value,
        "service": lambda row: row.offer.service_kind.value,
        "form_factor": lambda row: row.accelerator.form_factor if row.accelerator else None,
        "region": lambda row: row.offer.region or None,
        "gpu_count": lambda row: row.offer.gpu_count,
        "memory_gb": lambda row: row.accelerator.memory_gb if row.accelerator else None,
        "is_own": lambda row: row.offer.is_own,
        "announced": lambda row: bool(row.accelerator and row.accelerator.is_announced),
    }
)
"""The columns that filters and facets look at."""

_CHOICES: Final = ("provider", "pricing", "service", "form_factor", "region")
"""The filters that are a choice among the values of one column."""

_NOT_FOR_OWN: Final = frozenset({"provider", "region", "announced"})
"""The filters that let a reader's own offers pass, which come from no provider."""

FACETS: Final = ("family", "variant", "provider", "pricing", "service", "form_factor", "region", "gpu_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The answer to a query: how many rows match, those of the asked page in order, the view for figures.

    `units` are those that the figures are shown in.
    `facets` counts, for each facet and value, the rows that match all other filters. `announced` are the
    numbers of the rows that would match too, but for the rule that hides announced cards nobody asked for.
    """

    query: OfferQuery
    view: View
    units: Units
    total: int
    rows: tuple[int, ...]
    facets: Mapping[str, Mapping[Hashable, int]]
    announced: tuple[int, ...] = ()

    @property
    def columns(self) -> tuple[Fact | Metric, ...]:
        """Return the chosen columns as they are shown."""
        return tuple(shown_column(key, self.units) for key in self.query.columns)

    @property
    def pages(self) -> int:
        """Return how many pages the matching rows fill, at least 1."""
        return max(1, -(-self.total // self.query.per_page))


@dataclass(slots=True, kw_only=True)  # it keeps the orders and counts asked of it
class Board:
    """The offers of one instant. Its content never changes; what it has worked out once it keeps."""

    rows: tuple[Row, ...]
    catalogue: Catalogue
    instant: datetime
    rates: Mapping[str, Rate]
    _codes: Mapping[str, Codes]
    _texts: tuple[str, ...]
    _names: tuple[str, ...]
    _by_id: Mapping[int, int]
    _orders: OrderedDict[tuple[object, ...], Order] = field(default_factory=OrderedDict)
    _sorting: Lock = field(default_factory=Lock)
    _baselines: dict[str, Mapping[PairKey, Decimal]] = field(default_factory=dict)
    _counts: OrderedDict[tuple[object, ...], dict[str, Mapping[Hashable, int]]] = field(
        default_factory=OrderedDict
    )

    def select(self, query: OfferQuery, *, everything: bool = False, counted: bool = True) -> Selection:
        """Return the rows a query asks for: those of its page, or all of them in order.

        Facets are counted for a page only, and not when `counted` is False.
        """
        if self.has_order(query):
            return self._select(query, everything=everything, counted=counted)
        # Many may ask for a new order at once: one of them sorts, the others find it done.
        with self._sorting:
            return self._select(query, everything=everything, counted=counted)

    def _select(self, query: OfferQuery, *, everything: bool, counted: bool) -> Selection:
        view, units = self.view(query), self.units(query)
        order = self._order(query, view)
        filters = self._filters(query, order) | self._conditions(query, order, view=view)
        mask = reduce(and_, (rows for _, rows in filters.values()), order.everything)
        start = 0 if everything else (query.page - 1) * query.per_page
        count = len(self.rows) if everything else query.per_page
        return Selection(
            query=query,
            view=view,
            units=units,
            total=mask.bit_count(),
            rows=tuple(order.rows(mask, start=start, count=count)),
            facets=self._facets(order, filters, mask) if counted and not everything else {},
            announced=self._announced(order, filters, mask) if counted and not everything else (),
        )

    def _announced(self, order: Order, filters: Filters, mask: int) -> tuple[int, ...]:
        """Return the rows that only the rule hides which keeps announced cards out."""
        others = (rows for name, (_, rows) in filters.items() if name != "announced")
        hidden = reduce(and_, others, order.everything) & ~mask if "announced" in filters else 0
        return tuple(order.rows(hidden, start=0, count=hidden.bit_count())) if hidden else ()

    def view(self, query: OfferQuery) -> View:
        """Return what figures depend on: the query's precision, weights and baseline with its prices here."""
        baseline = self.catalogue.get(query.baseline) if query.baseline else None
        return View(
            precision=query.precision,
            weights_gb=query.weights_gb,
            baseline=baseline,
            baseline_usd_per_gpu_hour=self._baseline_prices(query.baseline) if query.baseline else {},
        )

    def units(self, query: OfferQuery) -> Units:
        """Return the units that a query's figures are shown in, with its currency's rate of this instant."""
        rate = None if query.currency == DOLLARS else self.rates[query.currency]
        return Units(period=query.period, per=query.per, rate=rate)

    def find(self, offer_id: int) -> Row | None:
        """Return the row of a stored offer, or None when this board does not hold it."""
        number = self._by_id.get(offer_id)
        return None if number is None else self.rows[number]

    def has_order(self, query: OfferQuery) -> bool:
        """Tell whether the order of a query is at hand, so that its rows need not be sorted."""
        return _order_key(query) in self._orders

    def _order(self, query: OfferQuery, view: View) -> Order:
        """Return the rows in the order of a column, those equal in it in the order of the next."""
        key = _order_key(query)
        found = self._orders.get(key)
        if found is None:
            rows: Sequence[int] | None = None
            for name, descending in reversed(query.sort_keys):
                column = shown_column(name, Units(per=query.per))
                values = [sort_value(column, row, view=view) for row in self.rows]
                rows = sort_rows(values, descending=descending, rows=rows)
            assert rows is not None  # noqa: S101 - a query is sorted by at least one column
            found = Order(rows)
            _make_room(self._orders, MAX_ORDERS)
            self._orders[key] = found
        return found

    def _filters(self, query: OfferQuery, order: Order) -> Filters:
        """Return what each filter in use asks for and which rows it leaves."""
        filters: Filters = {}
        if query.gpu:
            rows = self._any(order, "variant", query.gpu) | self._any(order, "family", query.gpu)
            filters["gpu"] = (query.gpu, rows)
        wanted: list[tuple[str, Sequence[Hashable]]] = [] if query.gpu else [("announced", (False,))]
        wanted += [(name, getattr(query, name)) for name in _CHOICES if getattr(query, name)]
        if query.min_gpus is not None or query.max_gpus is not None:
            low, high = query.min_gpus or 1, query.max_gpus
            known = [value for value in self._codes["gpu_count"].values if isinstance(value, int)]
            wanted.append(("gpu_count", [n for n in known if low <= n and (high is None or n <= high)]))
        if query.min_memory_gb is not None:
            sizes = [value for value in self._codes["memory_gb"].values if isinstance(value, Decimal)]
            wanted.append(("memory_gb", [size for size in sizes if size >= query.min_memory_gb]))
        for name, values in wanted:
            rows = self._any(order, name, values)
            if name in _NOT_FOR_OWN:
                rows |= self._any(order, "is_own", (True,))
            filters[name] = (tuple(values), rows)
        if query.q:
            words = query.q.casefold().split()
            # Rows share the names of their provider and card, so that these are looked at once for all.
            open_in = {names: [word for word in words if word not in names] for names in set(self._names)}
            pairs = zip(self._texts, self._names, strict=True)
            holds = bytes(all(word in text for word in open_in[names]) for text, names in pairs)
            filters["q"] = (tuple(words), order.mask_where(holds))
        return filters

    def _conditions(self, query: OfferQuery, order: Order, *, view: View) -> Filters:
        """Return what each condition on a column leaves, by the figures as they are shown."""
        filters: Filters = {}
        for condition in query.where:
            column = shown_column(condition.column, self.units(query))
            holds = bytes(condition.holds(filter_value(column, row, view=view)) for row in self.rows)
            filters[f"where.{condition.column}"] = ((condition.text,), order.mask_where(holds))
        return filters

    def _any(self, order: Order, name: str, values: Sequence[Hashable]) -> int:
        masks = order.masks(name, self._codes[name])
        return reduce(or_, (masks[value] for value in values if value in masks), 0)

    def _facets(self, order: Order, filters: Filters, mask: int) -> Mapping[str, Mapping[Hashable, int]]:
        """Count each facet's values under all filters but its own; a count does not depend on the order."""
        facets: dict[str, Mapping[Hashable, int]] = {}
        for own, names in _facets_by_filter(tuple(filters)):
            others = [(part, *wanted) for part, wanted in filters.items() if part not in own]
            key = (names, *[(part, values) for part, values, _ in others])
            found = self._counts.get(key)
            if found is None:
                rest = reduce(and_, [rows for _, _, rows in others], order.everything) if own else mask
                found = {name: self._count(order, name, rest) for name in names}
                _make_room(self._counts, MAX_COUNTS)
                self._counts[key] = found
            facets |= found
        return facets

    def _count(self, order: Order, name: str, rest: int) -> Mapping[Hashable, int]:
        masks = order.masks(name, self._codes[name])
        return {value: (rest & rows).bit_count() for value, rows in masks.items() if value is not None}

    def _baseline_prices(self, baseline: str) -> Mapping[PairKey, Decimal]:
        """Return the one price that stands for the baseline: smallest minimum quantity, then lowest price."""
        found = self._baselines.get(baseline)
        if found is None:
            best: dict[PairKey, tuple[int, int]] = {}
            for row in self.rows:
                micros = row.stored.usd_micros_per_gpu_hour
                if row.offer.accelerator != baseline or row.offer.is_floor or not micros:
                    continue
                key, candidate = pair_key(row.offer), (row.offer.min_gpus, micros)
                best[key] = min(best.get(key, candidate), candidate)
            found = {key: Decimal(micros) / 1_000_000 for key, (_, micros) in best.items()}
            self._baselines[baseline] = found
        return found


def _order_key(query: OfferQuery) -> tuple[object, ...]:
    """Return what an order depends on; scaling by the weights, by a period or by a rate changes none."""
    return (query.sort, query.per, *[getattr(query, name) for name in _ordering(query.sort)])


@lru_cache(maxsize=1024)
def _ordering(sort: str) -> tuple[str, ...]:
    """Return the parts of a view that an order depends on."""
    columns = [COLUMNS[part.removeprefix("-")] for part in sort.split(",")]
    depends = {name for column in columns if isinstance(column, Metric) for name in column.depends}
    facts = {name for column in columns if isinstance(column, Fact) for name in column.depends}
    return tuple(name for name in ("precision", "baseline") if name in depends) + tuple(sorted(facts))


@lru_cache(maxsize=256)
def _facets_by_filter(used: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Return facets by those of the used filters that do not count against them: most stand together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in FACETS:
        # Choosing a GPU also lifts the rule that hides announced ones, so neither counts against it.
        own = {"gpu", "announced"} if name in {"variant", "family"} else {name}
        groups.setdefault(tuple(part for part in used if part in own), []).append(name)
    return tuple((own, tuple(names)) for own, names in groups.items())


def _make_room(kept: OrderedDict[tuple[object, ...], Any], most: int) -> None:
    """Drop what was kept first until one more fits; no other thread can come in between one step."""
    while len(kept) >= most:
        kept.popitem(last=False)


def sort_value(column: Fact | Metric, row: Row, *, view: View) -> object | None:
    """Return what a row sorts by in a column: a number, a folded text, or None when unknown."""
    if isinstance(column, Metric):
        return column.value(row, view)
    value = column.value(row, view)
    if isinstance(value, str):
        return value.casefold() or None
    return value


def filter_value(column: Fact | Metric, row: Row, *, view: View) -> object | None:
    """Return what a condition on a column looks at: the figure, or the words that are shown for a fact."""
    return column.value(row, view) if isinstance(column, Metric) else column.said(row, view)


def _base_order(stored: StoredOffer) -> tuple[object, ...]:
    offer = stored.offer
    return (
        offer.provider,
        offer.accelerator or "~",
        offer.accelerator_as_written,
        offer.pricing_model.value,
        offer.tier,
        offer.region,
        offer.gpu_count,
        offer.term_days_min or 0,
        offer.sku,
        stored.offer_id,
    )


def build_board(
    stored: Sequence[StoredOffer],
    catalogue: Catalogue,
    *,
    instant: datetime,
    rates: Mapping[str, Rate] = MappingProxyType({}),
) -> Board:
    """Build the board of an instant (aware, UTC). Equal figures keep the order provider, GPU, terms, SKU.

    `rates` are the reference rates of that instant, by currency.
    """
    rows = _made_rows(sorted(stored, key=_base_order), catalogue, instant=instant)
    return _assembled(rows, catalogue, instant=instant, rates=rates)


def with_offers(board: Board, stored: Sequence[StoredOffer]) -> Board:
    """Return a board with more offers on it; they stand after equal ones of the others."""
    more = _made_rows(stored, board.catalogue, instant=board.instant)
    rows = (*board.rows, *more)
    return _assembled(rows, board.catalogue, instant=board.instant, rates=board.rates)


def with_catalogue(board: Board, catalogue: Catalogue) -> Board:
    """Return a board of the same offers with other facts about the accelerators."""
    stored = [row.stored for row in board.rows]
    return build_board(stored, catalogue, instant=board.instant, rates=board.rates)


def _made_rows(stored: Sequence[StoredOffer], catalogue: Catalogue, *, instant: datetime) -> tuple[Row, ...]:
    made = [make_row(each, catalogue, instant=instant) for each in stored]
    groups = comparable(made)
    return mark_disputed_orders(mark_dearer_siblings(made, groups), groups)


def _assembled(
    rows: tuple[Row, ...], catalogue: Catalogue, *, instant: datetime, rates: Mapping[str, Rate]
) -> Board:
    return Board(
        rows=rows,
        catalogue=catalogue,
        instant=instant,
        rates=rates,
        _codes={name: encode([get(row) for row in rows]) for name, get in _FILTER_COLUMNS.items()},
        _texts=tuple(_search_text(row) for row in rows),
        _names=tuple(shared_names(row) for row in rows),
        _by_id={row.stored.offer_id: number for number, row in enumerate(rows)},
    )


def _search_text(row: Row) -> str:
    offer = row.offer
    name = row.accelerator.name if row.accelerator else ""
    words = (
        offer.provider,
        offer.sku,
        offer.accelerator or "",
        name,
        offer.accelerator_as_written,
        offer.region,
        offer.tier,
        offer.pricing_model.value,
        offer.service_kind.value,
        offer.provider_term,
    )
    return " ".join(words).casefold()
