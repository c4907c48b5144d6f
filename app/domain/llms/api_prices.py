"""What APIs charge for a million tokens of our models, as an aggregator says: facts with their day.

The table is `data/api_prices.csv`, 203 of the 652 chat entries that the price map of PyPI litellm 1.110.2
(MIT) holds for six providers. Left out are 415 of other models, 20 that are routed, for one region or spot,
and 14 that repeat an entry under a second name. An aggregator's word is no provider's page: of 85 entries of
another provider in an earlier version of the map 41 disagreed with that provider's own list, by -89 % to
+3,025 % (litellm issue 39501), and 16 stood in another unit, wrong by up to 100,000 times (its pull request
38167). So each price carries `SOURCE` and `CAUTION` wherever it shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from app.domain.cells import packaged_lines, read_lines
from app.domain.providers import load_providers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from decimal import Decimal

    from app.domain.cells import Cells

SOURCE: Final = "PyPI litellm 1.110.2, bundled price map"
LICENCE: Final = "MIT"
CAUTION: Final = (
    "an aggregator's word, not read from the provider's page; entries of this map were found wrong before"
)

MATCHES: Final = ("model", "shape")
"""Whether the entry is for the model itself, in any of its formats, or for another of the same shape."""

_DATA_FILE: Final = "api_prices.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPrice:
    """One entry: dollars for a million tokens of prompt and of output.

    `llm` is our model's id and `name_there` the entry's own; `match` says how near they are. `retires_on` is
    the day on which the provider ends it, None where no day is known. `names_source` is the page that the
    map itself names, empty where it names none. `as_of` is the day on which the map was read.
    """

    llm: str
    match: str
    provider: str
    name_there: str
    usd_per_mtok_input: Decimal
    usd_per_mtok_output: Decimal
    usd_per_mtok_cached_input: Decimal | None
    retires_on: date | None
    names_source: str
    as_of: date

    def is_offered_on(self, day: date) -> bool:
        """Tell whether the provider had not ended it by that day, as far as is known."""
        return self.retires_on is None or day < self.retires_on


@cache
def load_api_prices() -> tuple[ApiPrice, ...]:
    """Read the packaged table, once per process.

    Raises:
        ValueError: a cell is missing or cannot be read; the text names file, line, column and value.
    """
    return parse_api_prices(packaged_lines(_DATA_FILE))


def prices_of(llm: str, *, day: date) -> tuple[ApiPrice, ...]:
    """Return what APIs charge for a model on a day, the cheapest output first."""
    found = [price for price in load_api_prices() if price.llm == llm and price.is_offered_on(day)]
    return tuple(sorted(found, key=lambda price: (price.usd_per_mtok_output, price.usd_per_mtok_input)))


def parse_api_prices(lines: Iterable[str], *, file_name: str = _DATA_FILE) -> tuple[ApiPrice, ...]:
    """Read a table of API prices from CSV lines; see `load_api_prices` for the errors."""
    found: dict[tuple[str, str], ApiPrice] = {}
    for row in read_lines(lines, file_name=file_name):
        price = _price(row)
        key = (price.provider, price.name_there)
        if key in found:
            raise row.error("name_there", "stands twice")
        found[key] = price
    return tuple(found.values())


def _price(row: Cells) -> ApiPrice:
    return ApiPrice(
        llm=row.required("llm"),
        match=row.one_of("match", MATCHES),
        provider=row.one_of("provider", load_providers()),
        name_there=row.required("name_there"),
        usd_per_mtok_input=row.positive("usd_per_mtok_input"),
        usd_per_mtok_output=row.positive("usd_per_mtok_output"),
        usd_per_mtok_cached_input=row.positive_or_none("usd_per_mtok_cached_input"),
        retires_on=row.day("retires_on") if row.text("retires_on") else None,
        names_source=row.text("names_source"),
        as_of=row.day("as_of"),
    )
