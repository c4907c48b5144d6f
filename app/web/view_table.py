"""What is on the screen as a table with types: the chosen columns as shown, the query's rows in order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from app.domain.columns import FACTS
from app.domain.fit import shown_flags
from app.domain.metrics import Metric
from app.web import words
from app.web.kept import base_of
from app.web.render import cell, counted_flag, unit
from app.web.stands import with_baseline
from app.web.state import query_string

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from starlette.requests import Request

    from app.domain.board import Selection
    from app.domain.columns import Fact
    from app.domain.metrics import View
    from app.domain.query import OfferQuery
    from app.domain.rows import Row
    from app.domain.shown import Units
    from app.web.boards import Served

Kind = Literal["text", "count", "figure", "truth", "day"]
Value = str | int | Decimal | bool | date | None

_KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "gpu_count": "count",
        "min_gpus": "count",
        "term_days_min": "count",
        "term_days_max": "count",
        "list_price": "figure",
        "memory_gb_as_written": "figure",
        "offer_id": "count",
        "gpus_for_weights": "count",
        "form_factor_assumed": "truth",
        "is_floor": "truth",
        "valid_from": "day",
    }
)
"""The facts that are no texts. Every metric is a figure."""

NOTHING_SHOWN: Final = "nothing that can be shown stands on the page"

_NOT_SEEN: Final = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
"""Control characters and line ends, which a page shows as a space or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """A column as it is shown. `name` is its key, which ends in its unit; `unit` is as its heading has it.

    No two columns of a table have one name.
    """

    name: str
    label: str
    unit: str
    kind: Kind
    shown: Fact | Metric

    @property
    def heading(self) -> str:
        """Return the label with the unit, where there is one."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def is_numeric(self) -> bool:
        """Tell whether the column stands to the right on the screen."""
        return self.kind in {"count", "figure"}

    @property
    def decimals(self) -> int | None:
        """Return how many decimals the screen shows, None where it shows a number as it was printed."""
        return self.shown.decimals if isinstance(self.shown, Metric) else None

    def is_least(self, row: Row) -> bool:
        """Tell whether the screen shows a row's price as the least it can be."""
        return row.offer.is_floor and self.is_price

    @property
    def is_price(self) -> bool:
        """Tell whether the column holds what a provider asks, which may be the least it can be."""
        shown = self.shown
        return shown.nature == "price" if isinstance(shown, Metric) else shown.key == "list_price"

    def value(self, row: Row, view: View) -> Value:
        """Return what a row holds here: a figure unrounded, a text as the screen says it, None if unknown."""
        if isinstance(self.shown, Metric):
            return self.shown.value(row, view)
        if self.kind == "text":
            return self._said(row, view)
        value = self.shown.value(row, view)
        return date.fromisoformat(value) if self.kind == "day" and isinstance(value, str) else value

    def _said(self, row: Row, view: View) -> str | None:
        shown = cell(self.shown, row, view=view)
        if shown.why:
            return None
        return one_line(shown.href if shown.kind == "link" else shown.text) or None

    def why_unknown(self, row: Row, view: View) -> str:
        """Return why a value is None, in the words of the screen where it has any."""
        return cell(self.shown, row, view=view).why or NOTHING_SHOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTable:
    """A view to be written down. `query_string` and `address` lead to the same rows on the screen.

    `rows` are all that match, or those of a page; `total` is how many match. `columns` are those on the
    screen; `typed` are those of a file, in which no sign says that a price is a floor: where they hold a
    price, whether it is one stands in the last of them.
    """

    columns: tuple[ViewColumn, ...]
    typed: tuple[ViewColumn, ...]
    rows: tuple[Row, ...]
    total: int
    view: View
    query: OfferQuery
    units: Units
    as_of: datetime
    query_string: str
    address: str

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of a file's columns, each once."""
        return tuple(column.name for column in self.typed)

    def values(self, row: Row) -> list[Value]:
        """Return what a row holds in the order of a file's columns."""
        return [column.value(row, self.view) for column in self.typed]

    @property
    def stands(self) -> dict[str, Any]:
        """Return what the figures stand for, by key."""
        return with_baseline(self.query, instant=self.as_of, baseline=self.query.baseline)

    @property
    def rate(self) -> str:
        """Return by which rate of which day dollars are shown in another currency, else nothing."""
        return words.rate(self.units.rate) if self.units.rate else ""


def view_table(request: Request, served: Served, *, query: OfferQuery, everything: bool) -> ViewTable:
    """Return what a query shows of a board: all of its rows or those of its page."""
    selection = served.board.select(query, everything=everything, counted=False)
    text, columns = query_string(query), _columns(selection)
    return ViewTable(
        columns=columns,
        typed=_typed(columns, query),
        rows=tuple(served.board.rows[number] for number in selection.rows),
        total=selection.total,
        view=selection.view,
        query=query,
        units=selection.units,
        as_of=served.board.instant,
        query_string=text,
        address=f"{base_of(request)}?{text}" if text else base_of(request),
    )


def _columns(selection: Selection) -> tuple[ViewColumn, ...]:
    """Return the shown columns. The price of an instance may have been chosen twice: see `Units.per`."""
    made: dict[str, ViewColumn] = {}
    for shown in selection.columns:
        name = f"also_{shown.key}" if shown.key in made else shown.key
        made[name] = _column(name, shown, query=selection.query)
    return tuple(made.values())


def _typed(columns: tuple[ViewColumn, ...], query: OfferQuery) -> tuple[ViewColumn, ...]:
    """Return the columns with `is_floor` behind them, where a price is among them and it is not."""
    floor = _column("is_floor", FACTS["is_floor"], query=query)
    is_told = any(column.name == floor.name for column in columns)
    return columns if is_told or not any(column.is_price for column in columns) else (*columns, floor)


def _column(name: str, shown: Fact | Metric, *, query: OfferQuery) -> ViewColumn:
    return ViewColumn(
        name=name,
        label=shown.label,
        unit=unit(shown, query),
        kind="figure" if isinstance(shown, Metric) else _KINDS.get(shown.key, "text"),
        shown=shown,
    )


def one_line(text: str) -> str:
    """Return a text as a page shows it: on one line, without control characters."""
    return _NOT_SEEN.sub(" ", text).strip(" ")


def plain(value: Value) -> str | int | float | bool | date | None:
    """Return a value as programs hold it: a figure as the nearest double."""
    return float(value) if isinstance(value, Decimal) else value


def warnings(row: Row, table: ViewTable) -> list[str]:
    """Return the warnings beside a row's accelerator in the words of the screen."""
    shown = shown_flags(row, table.view, columns=[column.shown for column in table.columns])
    return [f"{words.FLAG[flag]}{counted_flag(row, table.view, flag=flag)}" for flag in shown]
