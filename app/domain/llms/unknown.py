"""A figure that cannot be worked out, with its reason, in the place where the figure would stand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """No figure; `why` says what is missing, in words for a reader."""

    why: str
