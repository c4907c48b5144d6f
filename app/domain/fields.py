"""What each value of a row is for a program that wants types: its kind, unit and meaning, never a guess."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from app.domain.columns import COLUMNS, FACTS
from app.domain.fit import flags_in
from app.domain.metrics import METRICS, Metric
from app.domain.offers import PriceBasis, PricingModel, ServiceKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from enum import StrEnum

    from app.domain.columns import Fact
    from app.domain.metrics import View
    from app.domain.rows import Row


Kind = Literal["text", "whole", "number", "exact", "flag", "day", "time", "texts", "reasons", "range"]
"""What a value is: `exact` is a decimal as printed, `reasons` texts by key, `range` two whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value of a row. `is_known` says that it is never missing; `words` are all that a text may be.

    `unless_own` says that it is missing where the row is the reader's own, which no dump holds.
    """

    key: str
    kind: Kind
    meaning: str
    unit: str = ""
    is_known: bool = False
    unless_own: bool = False
    words: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """Return the meaning with the unit, as a sentence or two."""
        return f"{self.meaning} In {self.unit}." if self.unit else self.meaning


def text(key: str, meaning: str, *, is_known: bool = False, words: type[StrEnum] | None = None) -> Field:
    """Return a field that is a text, one of an enumeration's where there is one."""
    values = tuple(each.value for each in words or ())
    return Field(key=key, kind="text", meaning=meaning, is_known=is_known or bool(values), words=values)


def whole(key: str, meaning: str, *, unit: str, is_known: bool = False) -> Field:
    """Return a field that is a whole number."""
    return Field(key=key, kind="whole", meaning=meaning, unit=unit, is_known=is_known)


def time(key: str, meaning: str, *, is_known: bool = True, unless_own: bool = False) -> Field:
    """Return a field that is a time in UTC."""
    return Field(key=key, kind="time", meaning=meaning, is_known=is_known, unless_own=unless_own)


def flag(key: str, meaning: str) -> Field:
    """Return a field that is yes or no."""
    return Field(key=key, kind="flag", meaning=meaning, is_known=True)


PARTS_OF_KEY: Final = (
    text("provider", "The provider's id.", is_known=True),
    text("sku", "What the provider calls what it rents."),
    text("accelerator", "The variant's id; missing when the provider's words do not name one."),
    text("accelerator_as_written", "The card as the provider writes it.", is_known=True),
    whole("gpu_count", "GPUs of an instance.", unit="GPUs", is_known=True),
    whole("min_gpus", "The smallest number that can be rented.", unit="GPUs", is_known=True),
)
TERMS: Final = (
    text("pricing_model", "How the price binds.", words=PricingModel),
    text("service_kind", "What is rented.", words=ServiceKind),
    text("tier", "The provider's name for a class of service."),
    whole("term_days_min", "The shortest term that the price asks for.", unit="days"),
    whole("term_days_max", "The longest term that the price is for.", unit="days"),
    text("region", "The region as the provider writes it."),
)
PRINTED: Final = (
    Field(key="list_price", kind="exact", meaning="The price as printed.", is_known=True),
    text("currency", "The currency of the price as printed.", is_known=True),
    text("price_basis", "What the price as printed pays for.", words=PriceBasis),
)
IS_FLOOR: Final = flag("is_floor", "Whether the price is written as 'from': it is at least this.")

_FACTS: Final[Mapping[str, Field]] = MappingProxyType(
    {
        field.key: field
        for field in (
            *PARTS_OF_KEY,
            *PRINTED,
            *TERMS,
            IS_FLOOR,
            text("form_factor", "How the card is built in, as its maker says: sxm, pcie and so on."),
            flag("form_factor_assumed", "Whether the variant is assumed; `assumptions` says why."),
            Field(
                key="memory_gb_as_written",
                kind="number",
                meaning="The memory as the provider writes it.",
                unit="GB",
            ),
            Field(
                key="valid_from",
                kind="day",
                meaning="The day since which the price stands; the reader's own has none.",
                is_known=True,
                unless_own=True,
            ),
            Field(
                key="flags",
                kind="texts",
                meaning="The warnings that stand beside the price.",
                is_known=True,
            ),
            text("source_url", "The page that the price was read on."),
            text("fragment", "The words that the price was read from."),
            whole(
                "offer_id",
                "The number of the offer, which its evidence is found by.",
                unit="",
                is_known=True,
            ),
            text("family", "The card's family; it may be known where the variant is not."),
            time("observed_at", "When the page was read that the price is from.", unless_own=True),
            time("last_seen_at", "When a good run last listed the offer.", unless_own=True),
            Field(
                key="assumptions",
                kind="texts",
                meaning="What was assumed about the offer, in sentences.",
                is_known=True,
            ),
            whole(
                "gpus_for_weights",
                "GPUs that hold the weights at the least, before any KV cache; over 1 they do not fit one.",
                unit="GPUs",
            ),
        )
    }
)

STANDS: Final = (
    text("baseline", "The card that multiples are of, where one is named."),
    text("precision", "The precision whose dense rate counts.", is_known=True),
    Field(key="weights_gb", kind="number", meaning="The weights of the ceiling.", unit="GB", is_known=True),
    text("spec", "Which published figures of a card count: main or alt.", is_known=True),
    time("as_of", "When the prices held: of a past day its last second."),
)
"""What the figures of a row stand for: in a document it stands once in the head, else in each row."""

_ONLY_FOR_PROGRAMS: Final = (
    Field(
        key="unknown",
        kind="reasons",
        meaning="Why a figure of the row is not known, by its column.",
        is_known=True,
    ),
)


def field_of(key: str) -> Field:
    """Return what the values of a column are."""
    metric = METRICS.get(key)
    if metric is not None:
        return Field(key=key, kind="number", meaning=metric.meaning, unit=metric.unit)
    found = _FACTS.get(key)
    if found is not None:
        return found
    fact = FACTS[key]
    kind: Kind = "number" if fact.numeric else "text"
    return Field(key=key, kind=kind, meaning=f"{fact.label}.", unit=fact.unit)


def row_fields(columns: Iterable[str]) -> tuple[Field, ...]:
    """Return the fields of an exported row: its columns, then what only programs need."""
    return (*map(field_of, columns), *_ONLY_FOR_PROGRAMS)


def typed_row(row: Row, view: View, *, columns: tuple[str, ...]) -> dict[str, object]:
    """Return an exported row by `row_fields`: times aware, days as dates, what is not known as None."""
    values = {key: _typed(COLUMNS[key], row, view) for key in columns}
    values["flags"] = [each.value for each in flags_in(row, view)]
    if not row.offer.is_own:
        values |= {"observed_at": row.stored.observed_at, "last_seen_at": row.stored.last_seen_at}
    values["assumptions"] = list(row.offer.assumptions)
    shown = [METRICS[key] for key in columns if key in METRICS]
    values["unknown"] = {each.key: why for each in shown if (why := each.why_unknown(row, view))}
    return values


def _typed(column: Fact | Metric, row: Row, view: View) -> object:
    if isinstance(column, Metric):
        number = column.value(row, view)
        return None if number is None else float(number)
    value = column.value(row, view)
    kind = field_of(column.key).kind
    if kind == "day" and isinstance(value, str):
        return date.fromisoformat(value)
    if isinstance(value, Decimal) and kind != "exact":
        return float(value)
    return None if value == "" else value
