"""What a URL may ask of the board: one frozen query, read from a query string and written back to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import PRECISIONS
from app.domain.columns import COLUMNS, DEFAULT_COLUMNS, Fact
from app.domain.conditions import Condition, parse_condition
from app.domain.names import Names, fold, one_of
from app.domain.offers import PricingModel, ServiceKind
from app.domain.query_error import QueryError as QueryError
from app.domain.query_error import cut
from app.domain.quotes import MAX_QUOTES, OwnHardware, Quote, canonical, parse_own, parse_quote
from app.domain.shown import DOLLARS, PER, PERIODS, Units, shown_column
from app.domain.typed import plain_number

if TYPE_CHECKING:
    from app.domain.accelerators import Catalogue

DEFAULT_SORT: Final = "usd_per_tbs_hour"
DEFAULT_PER_PAGE: Final = 100
MAX_PER_PAGE: Final = 1000
MAX_TEXT_LENGTH: Final = 200
MAX_DECIMALS: Final = 9
MAX_SORTS: Final = 4
WHERE: Final = "where."
"""Begins the name of a condition on the column that follows."""

SPECS: Final = ("main", "alt")
"""The figures in use: the catalogue's own, or the alternative ones where a card has any."""

DENSITIES: Final = ("normal", "compact")
"""How close the rows of a table stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferQuery:
    """One question to the board. Empty tuples and None mean no filter; the rest are the defaults of a link.

    `gpu` holds variant ids and families. `sort` is column keys with commas between, the first deciding, each
    with `-` in front for descending. `where` are conditions on columns, on the figures as they are shown: in
    `currency`, for `period` and `per` GPU or instance. `spec` chooses among published figures. `quote` and
    `own` are the reader's own prices and hardware.
    """

    gpu: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    pricing: tuple[str, ...] = ()
    service: tuple[str, ...] = ()
    form_factor: tuple[str, ...] = ()
    region: tuple[str, ...] = ()
    min_gpus: int | None = None
    max_gpus: int | None = None
    min_memory_gb: Decimal | None = None
    where: tuple[Condition, ...] = ()
    precision: str = "fp8"
    weights_gb: Decimal = Decimal(70)
    baseline: str | None = None
    as_of: date | None = None
    spec: str = "main"
    period: str = "hour"
    per: str = "gpu"
    currency: str = DOLLARS
    sort: str = DEFAULT_SORT
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    density: str = "normal"
    quote: tuple[Quote, ...] = ()
    own: tuple[OwnHardware, ...] = ()
    q: str = ""
    page: int = 1
    per_page: int = DEFAULT_PER_PAGE

    @property
    def sort_keys(self) -> tuple[tuple[str, bool], ...]:
        """Return the columns sorted by, each with whether its largest known value comes first.

        Unknown ones come last either way.
        """
        return tuple((part.removeprefix("-"), part.startswith("-")) for part in self.sort.split(","))

    @property
    def sort_key(self) -> str:
        """Return the column sorted by first, without its direction."""
        return self.sort_keys[0][0]

    @property
    def has_own(self) -> bool:
        """Tell whether the reader's own prices or hardware are part of the question."""
        return bool(self.quote or self.own)

    def replace(self, **changes: Any) -> OfferQuery:
        """Return the query with some fields changed."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names a query may use, as folded look-ups: what the catalogue, the registry and the store know."""

    gpus: Names
    variants: Names
    form_factors: Names
    providers: Names
    regions: Names
    currencies: Names
    today: date


def make_vocabulary(
    catalogue: Catalogue,
    *,
    providers: Iterable[str],
    regions: Iterable[str],
    currencies: Iterable[str] = (),
    today: date,
) -> Vocabulary:
    """Return the vocabulary of a day; `gpu` takes variants and families, `currencies` are beside dollars."""
    variants = [accelerator.id for accelerator in catalogue.accelerators]
    return Vocabulary(
        gpus=fold([*variants, *catalogue.families()]),
        variants=fold(variants),
        form_factors=fold(accelerator.form_factor for accelerator in catalogue.accelerators),
        providers=fold(providers),
        regions=fold(regions),
        currencies=fold([DOLLARS, *currencies]),
        today=today,
    )


def read_whole(field_name: str, value: str, *, low: int, high: int) -> int:
    """Return a whole number of a link within these bounds; raises QueryError."""
    text = value.strip()
    if (
        not (text.isascii() and text.isdigit() and len(text) <= len(str(high)))
        or not low <= int(text) <= high
    ):
        raise QueryError(field_name, value, f"give a whole number from {low} to {high}")
    return int(text)


def read_decimal(field_name: str, value: str, *, low: Decimal, high: Decimal) -> Decimal:
    """Return a number of a link within these bounds, of at most nine decimals; raises QueryError."""
    expected = f"give a number from {low} to {high}"
    text = value.strip()
    if not text.isascii() or len(text) > 20:  # noqa: PLR2004 - no such number needs more characters
        raise QueryError(field_name, value, expected)
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise QueryError(field_name, value, expected) from error
    if not number.is_finite() or not low <= number <= high or "_" in text:
        raise QueryError(field_name, value, expected)
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -MAX_DECIMALS:  # 1e-999999999 would be a gigabyte of zeros
        raise QueryError(field_name, value, f"give at most {MAX_DECIMALS} decimals")
    return Decimal(plain_number(number))


def _day(field_name: str, value: str, *, today: date) -> date:
    try:
        day = date.fromisoformat(value.strip())
    except ValueError as error:
        raise QueryError(field_name, value, "give a day as YYYY-MM-DD") from error
    if day > today or day.isoformat() != value.strip():
        raise QueryError(field_name, value, f"give a day as YYYY-MM-DD, up to today, {today.isoformat()}")
    return day


_COLUMNS: Final = fold(COLUMNS)
_PRICING: Final = fold(PricingModel)
_SERVICES: Final = fold(ServiceKind)
_PRECISIONS: Final = fold(PRECISIONS)
_PERIODS: Final = fold(PERIODS)
_PER: Final = fold(PER)
_SPECS: Final = fold(SPECS)
_DENSITIES: Final = fold(DENSITIES)


def _sort(field_name: str, value: str) -> str:
    text = value.strip()
    sign = "-" if text.startswith("-") else ""
    return sign + one_of(field_name, text.removeprefix("-"), names=_COLUMNS)


def _sorts(values: Iterable[str]) -> str:
    """Return the columns sorted by in their order, each once: a second time it says nothing more."""
    kept: dict[str, str] = {}
    for value in values:
        kept.setdefault(value.removeprefix("-"), value)
    if len(kept) > MAX_SORTS:
        raise QueryError("sort", ",".join(kept.values()), f"sort by at most {MAX_SORTS} columns")
    return ",".join(kept.values())


def _text(field_name: str, value: str) -> str:
    text = " ".join(value.split())
    if len(text) > MAX_TEXT_LENGTH or not text.isprintable():
        raise QueryError(field_name, value, f"give at most {MAX_TEXT_LENGTH} printable characters")
    return text


Reader = Callable[[str, str, Vocabulary], Any]

REPEATED: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "gpu": lambda name, value, words: one_of(name, value, names=words.gpus),
        "provider": lambda name, value, words: one_of(name, value, names=words.providers),
        "pricing": lambda name, value, _words: one_of(name, value, names=_PRICING),
        "service": lambda name, value, _words: one_of(name, value, names=_SERVICES),
        "form_factor": lambda name, value, words: one_of(name, value, names=words.form_factors),
        "region": lambda name, value, words: one_of(name, value, names=words.regions),
        "columns": lambda name, value, _words: one_of(name, value, names=_COLUMNS),
        "sort": lambda name, value, _words: _sort(name, value),
        "quote": lambda _name, value, words: parse_quote(value, words.variants),
        "own": lambda _name, value, words: parse_own(value, words.variants),
    }
)
"""Fields that may stand several times."""

_WHOLE: Final = frozenset({"region", "quote", "own"})
"""The repeated fields whose values may have commas of their own; the others also take a list with commas."""

SINGLE: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "min_gpus": lambda name, value, _words: read_whole(name, value, low=1, high=100_000),
        "max_gpus": lambda name, value, _words: read_whole(name, value, low=1, high=100_000),
        "min_memory_gb": lambda name, value, _words: read_decimal(
            name, value, low=Decimal(0), high=Decimal(100_000)
        ),
        "precision": lambda name, value, _words: one_of(name, value, names=_PRECISIONS),
        "weights_gb": lambda name, value, _words: read_decimal(
            name, value, low=Decimal("0.001"), high=Decimal(1_000_000)
        ),
        "baseline": lambda name, value, words: one_of(name, value, names=words.variants),
        "as_of": lambda name, value, words: _day(name, value, today=words.today),
        "spec": lambda name, value, _words: one_of(name, value, names=_SPECS),
        "period": lambda name, value, _words: one_of(name, value, names=_PERIODS),
        "per": lambda name, value, _words: one_of(name, value, names=_PER),
        "currency": lambda name, value, words: one_of(name, value, names=words.currencies),
        "density": lambda name, value, _words: one_of(name, value, names=_DENSITIES),
        "q": lambda name, value, _words: _text(name, value),
        "page": lambda name, value, _words: read_whole(name, value, low=1, high=1_000_000),
        "per_page": lambda name, value, _words: read_whole(name, value, low=1, high=MAX_PER_PAGE),
    }
)
"""Fields that may stand once."""

_FIELDS: Final = fold([*REPEATED, *SINGLE])


def parse_query(pairs: Iterable[tuple[str, str]], words: Vocabulary) -> OfferQuery:
    """Read a query from decoded name and value pairs; empty values mean the default.

    Raises QueryError naming the field, its value and what would be right.
    """
    lists: dict[str, list[Any]] = {}
    singles: dict[str, Any] = {}
    where: dict[str, str] = {}
    for name, value in pairs:
        if name in REPEATED:
            parts = [value] if name in _WHOLE else value.split(",")
            read = REPEATED[name]
            lists.setdefault(name, []).extend([read(name, part, words) for part in parts if part.strip()])
        elif name not in SINGLE and not name.startswith(WHERE):
            one_of("parameter", name, names=_FIELDS)
            raise QueryError("parameter", name, "parameter names are lower case")
        elif value.strip():
            found = singles if name in SINGLE else where
            if name in found:
                raise QueryError(name, value, "give it once")
            found[name] = SINGLE[name](name, value, words) if name in SINGLE else value
    singles |= {name: tuple(dict.fromkeys(values)) for name, values in lists.items() if values}
    if "sort" in singles:
        singles["sort"] = _sorts(singles["sort"])
    query = OfferQuery(**singles)
    _check(query)
    return query.replace(where=_conditions(where, query)) if where else query


BOARD_FIELDS: Final = ("as_of", "spec", "quote", "own")
"""The fields that say which board is asked, before the rest of a query is read."""


def board_query(pairs: Iterable[tuple[str, str]], *, today: date, variants: Names) -> OfferQuery:
    """Return the part of a query that says which board is asked; raises QueryError."""
    nothing = fold(())
    words = Vocabulary(
        gpus=nothing,
        variants=variants,
        form_factors=nothing,
        providers=nothing,
        regions=nothing,
        currencies=nothing,
        today=today,
    )
    return parse_query([pair for pair in pairs if pair[0] in BOARD_FIELDS], words)


def _check(query: OfferQuery) -> None:
    if query.min_gpus is not None and query.max_gpus is not None and query.min_gpus > query.max_gpus:
        raise QueryError("min_gpus", str(query.min_gpus), f"it is more than max_gpus={query.max_gpus}")
    if len(query.quote) + len(query.own) > MAX_QUOTES:
        count = str(len(query.quote) + len(query.own))
        raise QueryError("quote", count, f"give at most {MAX_QUOTES} of quote and own together")


def _conditions(where: Mapping[str, str], query: OfferQuery) -> tuple[Condition, ...]:
    """Read conditions by the decimals and the unit that a column is shown in, in the order of the columns."""
    units = Units(period=query.period, per=query.per)
    read: dict[str, Condition] = {}
    for name, text in where.items():
        key = one_of(cut(name), name.removeprefix(WHERE), names=_COLUMNS)
        column = shown_column(key, units)
        read[key] = parse_condition(
            key,
            text,
            numeric=column.numeric if isinstance(column, Fact) else True,
            decimals=None if isinstance(column, Fact) else column.decimals,
        )
    return tuple(read[key] for key in COLUMNS if key in read)


_DEFAULTS: Final = tuple((part.name, part.default) for part in dataclasses.fields(OfferQuery))


def query_pairs(query: OfferQuery) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a link to this query: only what differs from the default, in a fixed order."""
    pairs: list[tuple[str, str]] = []
    for name, default in _DEFAULTS:
        value = getattr(query, name)
        if value == default:
            continue
        if name == "columns":
            pairs.append((name, ",".join(value)))
        elif name == "where":
            pairs.extend((f"{WHERE}{condition.column}", condition.text) for condition in value)
        elif isinstance(value, tuple):
            pairs.extend((name, item if isinstance(item, str) else canonical(item)) for item in value)
        elif isinstance(value, Decimal):
            pairs.append((name, plain_number(value)))
        else:
            pairs.append((name, str(value)))
    return tuple(pairs)
