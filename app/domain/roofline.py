"""The roofline: where work stops waiting on memory, and the rate that a card's peaks allow before and after.

Williams, Waterman, Patterson (2009), "Roofline", doi 10.1145/1498765.1498785: attainable operations a second
are the lesser of the peak rate and of peak memory bandwidth times operations per byte. All of it is a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.accelerators import Accelerator


def ridge_point(card: Accelerator, precision: str) -> Decimal | None:
    """Return the operations per byte at which both peaks meet, None without a dense rate.

    TFLOP/s divided by TB/s are operations per byte: the factors of 10^12 cancel.
    """
    rate = card.dense_tflops.get(precision)
    return None if rate is None else rate / card.bandwidth_tb_s


def attainable_tflops(card: Accelerator, precision: str, *, ops_per_byte: Decimal) -> Decimal | None:
    """Return the bound on dense TFLOP/s (TOP/s for int8) of work that does so many operations a byte."""
    rate = card.dense_tflops.get(precision)
    return None if rate is None else min(rate, card.bandwidth_tb_s * ops_per_byte)
