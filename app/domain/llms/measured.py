"""A measurement beside its bound: how many times the bound it is, and what it implies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal


def times_ceiling(measured_tokens_per_s: Decimal, *, ceiling_tokens_per_s: Decimal) -> Decimal:
    """Return measured over ceiling: a share below 1, and above 1 where the ceiling is for a smaller batch."""
    return measured_tokens_per_s / ceiling_tokens_per_s


def times_least_pass(measured_pass_s: Decimal, *, least_pass_s: Decimal) -> Decimal:
    """Return how many times the least possible pass the measured one took."""
    return measured_pass_s / least_pass_s


def bytes_in_pass(pass_s: Decimal, *, bytes_per_s: Decimal) -> Decimal:
    """Return the bytes that a pass of so many seconds moves at this bandwidth."""
    return pass_s * bytes_per_s


def longest_pass_s(tokens_per_s: Decimal, *, tokens_per_pass: Decimal) -> Decimal:
    """Return the longest pass that can still give so many tokens a second to one stream."""
    return tokens_per_pass / tokens_per_s
