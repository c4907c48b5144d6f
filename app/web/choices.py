"""The choices of a form or of a row of links, as templates show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One choice: what a link says for it, what it is called, and whether it is made."""

    value: str
    label: str
    chosen: bool


def choices(found: Iterable[tuple[str, str]], chosen: tuple[str, ...]) -> tuple[Choice, ...]:
    """Return choices of values with their labels."""
    return tuple(Choice(value=value, label=label, chosen=value in chosen) for value, label in found)
