"""Price cells with their unit: dollars for a second, a minute or an hour, or the reason there are none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from scrapers.base import ParseError
from scrapers.grid import OTHER_CURRENCY
from scrapers.reading import NOT_SOLD_WORDS, NoPrice, one_line, split_marks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.offers import PriceBasis
    from scrapers.records import Cell

CONTACT_WORDS: Final = ("contact us", "contact sales", "talk to sales", "request a quote", "custom")
NO_PRICE: Final[Mapping[str, NoPrice]] = dict.fromkeys(CONTACT_WORDS, NoPrice.CONTACT) | dict.fromkeys(
    NOT_SOLD_WORDS, NoPrice.NOT_SOLD
)
"""What stands in a price cell, in lower case, where there is no price, and why there is none."""

FLOORS: Final = frozenset({"from", "starting at", "starts at", "starting from"})

_WHOLE: Final = r"(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)"
_AMOUNT: Final = re.compile(rf"(?:([a-z][a-z ]*?) ?)?\$ ?({_WHOLE}(?:\.([0-9]+))?)(?:\s*(\D.*))?")
_DECIMALS: Final = {"second": range(5, 9), "minute": range(3, 7), "hour": range(2, 3)}
"""How many decimals a figure has by what it pays for; another number means it is for another time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A price cell as read: dollars for a basis, or the reason there are none; a floor says "from"."""

    text: str
    usd: Decimal | None
    basis: PriceBasis | None
    no_price: NoPrice | None = None
    is_floor: bool = False
    marks: tuple[str, ...] = ()


def unit_key(text: str) -> str:
    """Return a unit for look-up: lower case, no space around a slash."""
    return re.sub(r"\s*/\s*", "/", one_line(text).casefold())


def read_amount(
    cell: Cell, place: str, *, units: Mapping[str, PriceBasis], titled: PriceBasis | None = None
) -> Amount:
    """Read a price cell.

    `units` are the words for a unit that may stand behind the figure; `titled` is the basis its title states,
    None when the title states none: then the figure must have a unit. Both must agree when both are there.

    Raises ParseError for an unknown unit, currency or word, a figure struck through, a price of zero, and a
    figure with a number of decimals that prices of its basis do not have.
    """
    line = one_line(cell.text)
    reason = NO_PRICE.get(line.casefold())
    if reason is not None:
        return Amount(text=line, usd=None, basis=None, no_price=reason)
    if cell.is_struck:
        raise ParseError("struck_or_hidden", f"The price of {place} is struck through.", text=line)
    if OTHER_CURRENCY.search(line):
        raise ParseError("other_currency", f"The price of {place} is in another currency.", text=line)
    bare, marks = split_marks(line)
    found = _AMOUNT.fullmatch(bare.casefold())
    if found is None or (found[1] and found[1] not in FLOORS):
        raise ParseError("unreadable_price", f"The price of {place} cannot be read.", text=line, place=place)
    basis = _basis(found[4], line, place, units=units, titled=titled)
    usd = Decimal(found[2].replace(",", ""))
    if usd == 0:
        raise ParseError("zero_price", f"The price of {place} is zero.", text=line, place=place)
    if len(found[3] or "") not in _DECIMALS[basis.value.rpartition("_")[2]]:
        raise ParseError(
            "odd_decimals",
            f"{place} has a figure that does not look like one for a {basis.value}.",
            text=line,
        )
    return Amount(text=line, usd=usd, basis=basis, is_floor=bool(found[1]), marks=marks)


def _basis(
    unit: str | None, line: str, place: str, *, units: Mapping[str, PriceBasis], titled: PriceBasis | None
) -> PriceBasis:
    """Return what the figure is for, from the words behind it and from its title."""
    stated = units.get(unit_key(unit)) if unit else titled
    if stated is None:
        raise ParseError(
            "unknown_unit", f"The price of {place} has no unit we know.", text=line, unit=unit or ""
        )
    if titled is not None and stated is not titled:
        raise ParseError("units_disagree", f"{place} says two things about what its price is for.", text=line)
    return stated
