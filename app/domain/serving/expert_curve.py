"""How what an expert cache holds grows with its budget, as points of a chart that agree with `plan_cache`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.serving.expert_cache import (
    MIB,
    MOST_BATCH_TOKENS,
    MOST_MIB,
    budget_bytes_for,
    plan_cache,
)
from app.domain.serving.reading import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.serving.expert_cache import Experts, Group, Plan

MOST_GROUPS: Final = 32
"""More groups of layers are not drawn; a file of one mix has a few."""

_STEPS: Final = 72
"""Budgets at equal distances, beside those at which something changes."""

_BATCHES_TOKENS: Final = (2, 4, 8, 16, MOST_BATCH_TOKENS)
"""Largest cached batches whose budget is a step of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What one group has at a whole budget for the model, as `Group` has it."""

    budget_mib: int
    slots: int
    slots_percent: Decimal
    largest_batch_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCurve:
    """The points of one group in the order of the budget, the first at 0 MiB, and its marked budgets.

    `floor_mib` is the smallest whole budget that caches the group, `whole_token_mib` the one at which what a
    token uses in all of its layers fits, `all_mib` the one at which all of its experts do. A mark beyond
    `MOST_MIB` has no point.
    """

    layers: tuple[int, ...]
    points: tuple[CurvePoint, ...]
    floor_mib: int
    whole_token_mib: int
    all_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCurve:
    """The curves of all groups, in the order of `Plan.groups`, and the marks that hold for every group."""

    n_cpu_moe: int | None
    groups: tuple[GroupCurve, ...]

    @property
    def floor_mib(self) -> int:
        """Smallest whole budget that caches every group."""
        return max(group.floor_mib for group in self.groups)

    @property
    def whole_token_mib(self) -> int:
        """Smallest whole budget at which one token's experts fit in every group."""
        return max(group.whole_token_mib for group in self.groups)

    @property
    def all_mib(self) -> int:
        """Smallest whole budget that holds all experts in host memory."""
        return max(group.all_mib for group in self.groups)


def budget_curve(experts: Experts, n_cpu_moe: int | None = None) -> BudgetCurve:
    """Return at most about 100 points a group, from no budget to that of all experts in host memory.

    Each point but the first, at 0 MiB, is what `plan_cache` gives at its budget. A step has two points, the
    second one MiB after the first: at the floor of the group, at the budget of a whole token, at that of all
    experts and where the largest cached batch comes to 2, 4, 8, 16 and 32 tokens.

    Raises:
        InputError: no layer is in host memory, or there are more than `MOST_GROUPS` groups.
    """
    first = plan_cache(experts, budget_mib=1, n_cpu_moe=n_cpu_moe)
    if len(first.groups) > MOST_GROUPS:
        raise InputError(
            "groups", str(len(first.groups)), f"a curve is drawn for at most {MOST_GROUPS} groups of layers"
        )
    alls = [_mib_for(first, group, slots=group.experts) for group in first.groups]
    last = min(max(alls), MOST_MIB)
    grid = {last * step // _STEPS for step in range(1, _STEPS + 1)} | {last}
    steps = [_steps(first, group) for group in first.groups]
    asked = sorted(mib for mib in grid.union(*steps) if 1 <= mib <= last)
    plans = {mib: plan_cache(experts, budget_mib=mib, n_cpu_moe=n_cpu_moe) for mib in asked}
    return BudgetCurve(
        n_cpu_moe=n_cpu_moe,
        groups=tuple(
            GroupCurve(
                layers=group.layers,
                points=_points(plans, at, budgets=grid | steps[at]),
                floor_mib=group.floor_mib,
                whole_token_mib=group.whole_token_mib,
                all_mib=alls[at],
            )
            for at, group in enumerate(first.groups)
        ),
    )


def _steps(plan: Plan, group: Group) -> set[int]:
    """Return the budgets at which something of a group changes, and the whole MiB before each."""
    used = plan.experts.used
    wanted = {used, len(group.layers) * used, group.experts}
    wanted.update(min(tokens * used, plan.experts.per_layer) for tokens in _BATCHES_TOKENS)
    after = {_mib_for(plan, group, slots=slots) for slots in wanted}
    return after | {mib - 1 for mib in after}


def _mib_for(plan: Plan, group: Group, *, slots: int) -> int:
    """Return the smallest whole budget at which a group has so many slots."""
    needed = budget_bytes_for(plan.experts, group.layers, slots=slots, host_bytes=plan.host_bytes)
    return -(-needed // MIB)


def _points(plans: Mapping[int, Plan], at: int, *, budgets: Iterable[int]) -> tuple[CurvePoint, ...]:
    """Return the points of the group at a place in the plans, the one without a budget before them."""
    none = CurvePoint(budget_mib=0, slots=0, slots_percent=Decimal(0), largest_batch_tokens=0)
    planned = (_point(mib, plans[mib].groups[at]) for mib in sorted(budgets) if mib in plans)
    return (none, *planned)


def _point(budget_mib: int, group: Group) -> CurvePoint:
    return CurvePoint(
        budget_mib=budget_mib,
        slots=group.slots,
        slots_percent=group.slots_percent,
        largest_batch_tokens=group.largest_batch_tokens,
    )
