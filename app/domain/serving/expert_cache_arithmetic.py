"""How the figures of a plan for llama.cpp's cache of experts are worked out, with their numbers put in."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.serving.expert_cache import (
    ALIGNMENT_BYTES,
    DEFAULT_DIVISOR,
    MIB,
    MOST_BATCH_TOKENS,
    SPARE_SLOTS,
)
from app.domain.serving.figures import counted_as

if TYPE_CHECKING:
    from app.domain.serving.expert_cache import Group, Plan

_MOST_SUMMED: Final = 6
_ROUNDED: Final = f"each kind of tensor rounded up to {ALIGNMENT_BYTES} bytes"


def plan_arithmetic(plan: Plan) -> tuple[str, ...]:
    """Return a line each for the experts in host memory, the budget without one given, and what is left."""
    summed = " + ".join(_experts(plan, group) for group in plan.groups[:_MOST_SUMMED])
    more = len(plan.groups) - _MOST_SUMMED
    summed += f" + {counted_as(more, 'more group')}" if more > 0 else ""
    lines = [f"experts in host memory = {summed} = {plan.host_bytes:,} bytes, {gib(plan.host_bytes)} GiB"]
    if plan.is_default:
        lines.append(
            f"budget = floor({plan.experts.total_bytes:,} bytes of experts / {DEFAULT_DIVISOR} / {MIB:,})"
            f" = {plan.budget_mib:,} MiB"
        )
    slots, left = mib(plan.cache_bytes), mib(plan.leftover_bytes)
    return (*lines, f"left over = {plan.budget_mib:,} - {slots} MiB of slots = {left} MiB")


def _experts(plan: Plan, group: Group) -> str:
    return f"{counted_as(len(group.layers), 'layer')} x {plan.experts.per_layer} x {group.expert_bytes:,}"


def group_arithmetic(plan: Plan, group: Group) -> tuple[str, ...]:
    """Return a line for each figure of one group, in the order in which they follow."""
    banks = " + ".join(
        f"{bank.kind} {bank.rows:,} rows x {bank.expert_bytes // bank.rows:,} bytes as {bank.dtype}"
        for bank in group.banks
    )
    group_bytes = group.experts * group.expert_bytes
    put_in = f"{plan.budget_mib:,} x {MIB:,} x {group_bytes:,} / {plan.host_bytes:,}"
    held_of = f"({len(group.layers)} x {plan.experts.per_layer})"
    return (
        f"an expert = {banks} = {group.expert_bytes:,} bytes",
        f"share = {put_in} = {_share_bytes(plan, group):,} bytes",
        _slots(plan, group),
        f"held = {group.slots:,} / {held_of} experts = {group.slots_told} %",
        _batch(plan, group),
        _budget(plan, group, is_floor=True),
        _budget(plan, group, is_floor=False),
    )


def _share_bytes(plan: Plan, group: Group) -> int:
    return plan.budget_mib * MIB * group.experts * group.expert_bytes // plan.host_bytes


def _slots(plan: Plan, group: Group) -> str:
    """Return the slots of a share, and what they are held to where that is not all it comes to."""
    share_bytes = _share_bytes(plan, group)
    bought = max(0, share_bytes // group.expert_bytes - SPARE_SLOTS)
    are = "is" if group.experts == 1 else "are"
    line = f"slots = floor({share_bytes:,} / {group.expert_bytes:,}) - {SPARE_SLOTS} spare = {bought:,}"
    if bought > group.experts:
        line += f", at most the {counted_as(group.experts, 'expert')} there {are}"
    elif group.slots and group.slots < bought:
        line += f", and {group.slots:,} with {_ROUNDED}"
    elif not group.slots:
        line += f", fewer than the {plan.experts.used} that a token uses of a layer: not cached"
    return line


def _batch(plan: Plan, group: Group) -> str:
    used, per_layer, slots = plan.experts.used, plan.experts.per_layer, group.slots
    held = counted_as(slots, "slot")
    if slots >= per_layer:
        return (
            f"largest batch = {MOST_BATCH_TOKENS} tokens, the most that is served: {held}"
            f" {'holds' if slots == 1 else 'hold'} all {counted_as(per_layer, 'expert')} of a layer"
        )
    most = f", at most {MOST_BATCH_TOKENS}" if slots // used > MOST_BATCH_TOKENS else ""
    return f"largest batch = floor({held} / {used}) = {counted_as(slots // used, 'token')}{most}"


def _budget(plan: Plan, group: Group, *, is_floor: bool) -> str:
    """Return how the smallest budget for one token's experts of one layer, or of all layers, comes about."""
    used, group_bytes = plan.experts.used, group.experts * group.expert_bytes
    count = f"{used}" if is_floor else f"{len(group.layers)} x {used}"
    name = "cached from" if is_floor else "one token's experts fit from"
    needed, needed_mib = (
        (group.floor_bytes, group.floor_mib) if is_floor else (group.whole_token_bytes, group.whole_token_mib)
    )
    rounds = any(bank.expert_bytes % ALIGNMENT_BYTES for bank in group.banks)
    return (
        f"{name} = ({count} + {SPARE_SLOTS} spare) x {group.expert_bytes:,} x {plan.host_bytes:,}"
        f" / {group_bytes:,} = {needed:,} bytes{f' with {_ROUNDED}' if rounds else ''}, {needed_mib:,} MiB"
    )


def mib(size_bytes: int) -> str:
    """Return bytes as MiB with two decimals."""
    return f"{Decimal(size_bytes) / MIB:,.2f}"


def gib(size_bytes: int) -> str:
    """Return bytes as GiB with two decimals."""
    return f"{Decimal(size_bytes) / 2**30:,.2f}"
