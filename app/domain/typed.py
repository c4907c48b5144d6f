"""Numbers as people type them into a link, and as a link writes them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_NUMBER: Final = re.compile(r"-?\$?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.([0-9]+))?")
MAX_TYPED_LENGTH: Final = 40
MAX_FIGURE_DECIMALS: Final = 12


def read_number(text: str, *, decimals: int) -> Decimal:
    """Read a number such as `1200`, `$1,200.50` or `-0.5`; raises ValueError with what would be right."""
    found = _NUMBER.fullmatch(text) if len(text) <= MAX_TYPED_LENGTH else None
    if found is None:
        raise ValueError(f"'{text[:MAX_TYPED_LENGTH]}' is no number as 1,200 or 0.5")
    if len(found[1] or "") > decimals:
        raise ValueError(f"give at most {decimals} decimals")
    return Decimal(text.replace("$", "").replace(",", ""))


def read_figure(text: str) -> Decimal:
    """Read a figure of a check, 0.109, 1,200 or +75, its digits as typed; raises ValueError as above."""
    return read_number(text.strip().removeprefix("+"), decimals=MAX_FIGURE_DECIMALS)


def plain_number(number: Decimal) -> str:
    """Return a number without exponent, commas or zeros that say nothing."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
