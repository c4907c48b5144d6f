"""What a URL may ask of the board: one frozen query, read from a query string and written back to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import PRECISIONS
from app.domain.columns import COLUMNS, DEFAULT_COLUMNS
from app.domain.offers import PricingModel, ServiceKind
from app.domain.query_error import QueryError as QueryError

if TYPE_CHECKING:
    from app.domain.accelerators import Catalogue

DEFAULT_SORT: Final = "usd_per_tbs_hour"
DEFAULT_PER_PAGE: Final = 100
MAX_PER_PAGE: Final = 1000
MAX_TEXT_LENGTH: Final = 200
MAX_DECIMALS: Final = 9
MAX_NAMES_LISTED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferQuery:
    """One question to the board. Empty tuples and None mean no filter; the rest are the defaults of a link.

    `gpu` holds variant ids and families. `sort` is a column key, with `-` in front for descending.
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
    precision: str = "fp8"
    weights_gb: Decimal = Decimal(70)
    baseline: str | None = None
    as_of: date | None = None
    sort: str = DEFAULT_SORT
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    q: str = ""
    page: int = 1
    per_page: int = DEFAULT_PER_PAGE

    @property
    def sort_key(self) -> str:
        """Return the column sorted by, without its direction."""
        return self.sort.removeprefix("-")

    @property
    def descending(self) -> bool:
        """Tell whether the largest known value comes first; unknown ones come last either way."""
        return self.sort.startswith("-")

    def replace(self, **changes: Any) -> OfferQuery:
        """Return the query with some fields changed."""
        return dataclasses.replace(self, **changes)


Names = Mapping[str, str]
"""Allowed names by themselves and by their folded form."""


def fold(names: Iterable[str]) -> Names:
    """Return names by themselves and folded: a look-up ignores case, except where case tells two apart.

    Of several that fold to one form the first stands under it, unless the form is itself a name.
    """
    exact = {str(name): str(name) for name in names}
    folded = {name.casefold(): name for name in reversed(exact)}
    return MappingProxyType({**folded, **exact})


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names a query may use, as folded look-ups: what the catalogue, the registry and the store know."""

    gpus: Names
    variants: Names
    form_factors: Names
    providers: Names
    regions: Names
    today: date


def make_vocabulary(
    catalogue: Catalogue, *, providers: Iterable[str], regions: Iterable[str], today: date
) -> Vocabulary:
    """Return the vocabulary of a day; `gpu` takes variants and families."""
    variants = [accelerator.id for accelerator in catalogue.accelerators]
    return Vocabulary(
        gpus=fold([*variants, *catalogue.families()]),
        variants=fold(variants),
        form_factors=fold(accelerator.form_factor for accelerator in catalogue.accelerators),
        providers=fold(providers),
        regions=fold(regions),
        today=today,
    )


def _one_of(field_name: str, value: str, names: Names) -> str:
    """Return the allowed name that equals `value` but for case; else say which ones come close."""
    text = value.strip()
    found = names.get(text) or names.get(text.casefold())
    if found is not None:
        return found
    close = [names[name] for name in _close_names(text.casefold(), names)]
    if close:
        raise QueryError(field_name, value, f"did you mean {' or '.join(dict.fromkeys(close))}?")
    known = sorted(set(names.values()))
    rest = len(known) - MAX_NAMES_LISTED
    listed = ", ".join(known[:MAX_NAMES_LISTED]) + (f" and {rest} more" if rest > 0 else "")
    expected = f"use one of {listed}" if known else "there is none to choose from yet"
    raise QueryError(field_name, value, expected)


def _close_names(text: str, names: Names) -> list[str]:
    """Return a few names that begin with the text, the shortest first; else those that look like it."""
    longer = sorted(
        (name for name in names if text and name.startswith(text)), key=lambda name: (len(name), name)
    )
    return longer[:3] or get_close_matches(text, names, n=3, cutoff=0.5)


def _whole(field_name: str, value: str, *, low: int, high: int) -> int:
    text = value.strip()
    if (
        not (text.isascii() and text.isdigit() and len(text) <= len(str(high)))
        or not low <= int(text) <= high
    ):
        raise QueryError(field_name, value, f"give a whole number from {low} to {high}")
    return int(text)


def _decimal(field_name: str, value: str, *, low: Decimal, high: Decimal) -> Decimal:
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
    return Decimal(_plain(number))


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


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


def _sort(field_name: str, value: str) -> str:
    text = value.strip()
    sign = "-" if text.startswith("-") else ""
    return sign + _one_of(field_name, text.removeprefix("-"), _COLUMNS)


def _text(field_name: str, value: str) -> str:
    text = " ".join(value.split())
    if len(text) > MAX_TEXT_LENGTH or not text.isprintable():
        raise QueryError(field_name, value[:40], f"give at most {MAX_TEXT_LENGTH} printable characters")
    return text


Reader = Callable[[str, str, Vocabulary], Any]

REPEATED: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "gpu": lambda name, value, words: _one_of(name, value, words.gpus),
        "provider": lambda name, value, words: _one_of(name, value, words.providers),
        "pricing": lambda name, value, _words: _one_of(name, value, _PRICING),
        "service": lambda name, value, _words: _one_of(name, value, _SERVICES),
        "form_factor": lambda name, value, words: _one_of(name, value, words.form_factors),
        "region": lambda name, value, words: _one_of(name, value, words.regions),
        "columns": lambda name, value, _words: _one_of(name, value, _COLUMNS),
    }
)
"""Fields that may stand several times; all but `region` also take a list with commas."""

SINGLE: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "min_gpus": lambda name, value, _words: _whole(name, value, low=1, high=100_000),
        "max_gpus": lambda name, value, _words: _whole(name, value, low=1, high=100_000),
        "min_memory_gb": lambda name, value, _words: _decimal(
            name, value, low=Decimal(0), high=Decimal(100_000)
        ),
        "precision": lambda name, value, _words: _one_of(name, value, _PRECISIONS),
        "weights_gb": lambda name, value, _words: _decimal(
            name, value, low=Decimal("0.001"), high=Decimal(1_000_000)
        ),
        "baseline": lambda name, value, words: _one_of(name, value, words.variants),
        "as_of": lambda name, value, words: _day(name, value, today=words.today),
        "sort": lambda name, value, _words: _sort(name, value),
        "q": lambda name, value, _words: _text(name, value),
        "page": lambda name, value, _words: _whole(name, value, low=1, high=1_000_000),
        "per_page": lambda name, value, _words: _whole(name, value, low=1, high=MAX_PER_PAGE),
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
    for name, value in pairs:
        if name in REPEATED:
            parts = value.split(",") if name != "region" else [value]
            read = REPEATED[name]
            lists.setdefault(name, []).extend([read(name, part, words) for part in parts if part.strip()])
        elif name not in SINGLE:
            _one_of("parameter", name, _FIELDS)
            raise QueryError("parameter", name, "parameter names are lower case")
        elif value.strip():
            if name in singles:
                raise QueryError(name, value, "give it once")
            singles[name] = SINGLE[name](name, value, words)
    for name, values in lists.items():
        if values:
            singles[name] = tuple(dict.fromkeys(values))
    query = OfferQuery(**singles)
    if query.min_gpus is not None and query.max_gpus is not None and query.min_gpus > query.max_gpus:
        raise QueryError("min_gpus", str(query.min_gpus), f"it is more than max_gpus={query.max_gpus}")
    return query


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
        elif isinstance(value, tuple):
            pairs.extend((name, item) for item in value)
        elif isinstance(value, Decimal):
            pairs.append((name, _plain(value)))
        else:
            pairs.append((name, str(value)))
    return tuple(pairs)
