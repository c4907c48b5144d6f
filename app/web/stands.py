"""What the figures of an export stand for, said in each of its rows: files put together stay told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from app.web import words

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from decimal import Decimal


class Asked(Protocol):
    """What figures depend on in the query of a board, of a comparison or of a history."""

    @property
    def precision(self) -> str:
        """The precision whose dense rate counts."""

    @property
    def weights_gb(self) -> Decimal:
        """Gigabytes of weights."""

    @property
    def spec(self) -> str:
        """Which of the published figures of a card."""


def stands(asked: Asked, *, instant: datetime) -> dict[str, Any]:
    """Return what figures stand for, by the keys of `app.domain.fields.STANDS`, for the end of a row.

    `instant` is the board's: for a past day its last second, else the time of the prices (aware, UTC).
    """
    return {
        "precision": asked.precision,
        "weights_gb": asked.weights_gb,
        "spec": asked.spec,
        "as_of": words.utc(instant),
    }


def with_baseline(asked: Asked, *, instant: datetime, baseline: str | None) -> dict[str, Any]:
    """Return what `stands` does behind the baseline that multiples are of, where there may be any."""
    return {"baseline": baseline, **stands(asked, instant=instant)}


def in_json(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same for the head of a document, or for a row where rows have none: gigabytes a number."""
    return {**said, "weights_gb": float(said["weights_gb"])}
