"""The reader's own figures as a link carries them: a text of parts between bars, as `name|h100-sxm|3.50`.

Each reader raises ValueError with what is wrong; whoever reads a whole text names its field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.names import one_of
from app.domain.query_error import QueryError

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.names import Names

MAX_LENGTH: Final = 300
MAX_NAME_LENGTH: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The numbers that a part may be, both ends with it."""

    low: Decimal
    high: Decimal


def bounds(allowed: Range) -> str:
    """Return a range in words."""
    return f"from {allowed.low:f} to {allowed.high:,f}"


def parts_of(text: str, names: str, *, fewest: int) -> dict[str, str]:
    """Return the parts between the bars by name, stripped; too few or too many are refused."""
    parts, wanted = [" ".join(part.split()) for part in text.split("|")], names.split("|")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"give at most {MAX_LENGTH} characters")
    if not fewest <= len(parts) <= len(wanted):
        optional = _optional(wanted[fewest:])
        raise ValueError(f"it has {len(parts)} of the parts {names}{optional}")
    return dict(zip(wanted, parts, strict=False))


def _optional(names: list[str]) -> str:
    return f"; {' and '.join(names)} may be left out" if names else ""


def name_part(text: str) -> str:
    """Return a name."""
    if not 1 <= len(text) <= MAX_NAME_LENGTH or not text.isprintable():
        raise ValueError(f"name: give 1 to {MAX_NAME_LENGTH} printable characters")
    return text


def variant_part(text: str, variants: Names) -> str:
    """Return the id of a variant."""
    return named_part("accelerator", text, names=variants)


def named_part(part: str, text: str, *, names: Names) -> str:
    """Return one of the allowed names, or say which come close."""
    try:
        return one_of(part, text, names=names)
    except QueryError as error:
        raise ValueError(f"{part}: '{text[:MAX_NAME_LENGTH]}' is none; {error.expected}") from None
