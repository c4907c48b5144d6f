"""Whether weights fit the memory of one card: where they do not, its ceiling is no speed that it can have."""

from __future__ import annotations

from decimal import ROUND_CEILING
from typing import TYPE_CHECKING

from app.domain.rows import Flag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.domain.metrics import Metric, View
    from app.domain.rows import Row


def gpus_for_weights(row: Row, view: View) -> int | None:
    """Return how many GPUs hold the view's weights at the least, or None where the memory is not known.

    weights / memory of one card, rounded up, both in decimal GB as the label says: before any KV cache and
    whatever else a server needs room for, so that more may be needed.
    """
    if row.accelerator is None:
        return None
    return int((view.weights_gb / row.accelerator.memory_gb).to_integral_value(ROUND_CEILING))


def flags_in(row: Row, view: View) -> tuple[Flag, ...]:
    """Return what to warn of beside a row in a view: its flags, and that the weights do not fit its card."""
    if (gpus_for_weights(row, view) or 1) == 1:
        return row.flags
    return tuple(flag for flag in Flag if flag is Flag.OVER_MEMORY or flag in row.flags)


def shown_flags(row: Row, view: View, *, columns: Iterable[object]) -> tuple[Flag, ...]:
    """Return the flags beside the shown columns: weights are spoken of where one of them depends on them."""
    is_about = any("weights_gb" in getattr(column, "depends", ()) for column in columns)
    return flags_in(row, view) if is_about else row.flags


def does_not_fit(row: Row, view: View) -> str:
    """Return by how much the weights are too large, in words; empty where they fit or nobody knows."""
    gpus = gpus_for_weights(row, view)
    if gpus is None or gpus == 1 or row.accelerator is None:
        return ""
    return f"does not fit in {row.accelerator.memory_gb.normalize():f} GB: {gpus:,} GPUs at least"


def is_about_weights(metric: Metric) -> bool:
    """Tell whether a figure depends on the weights, so that it means little where they do not fit."""
    return "weights_gb" in metric.depends
