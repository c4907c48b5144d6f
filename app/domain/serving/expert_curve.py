"""How what an expert cache holds grows with its budget, as points of a chart that agree with `plan_cache`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.serving.expert_cache import (
    MIB,
    MOST_BATCH_TOKENS,
    MOST_MIB,
    pools,
    told_percent,
)
from app.domain.serving.reading import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.domain.serving.expert_cache import Experts, Pool

MOST_GROUPS: Final = 32
"""More groups of layers are not drawn; a file of one mix has a few."""

_STEPS: Final = 72
"""Budgets at equal distances, beside those at which something changes."""

_BATCHES_TOKENS: Final = (2, 4, 8, 16, MOST_BATCH_TOKENS)
"""Largest cached batches whose budget is a step of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What one group, of so many experts, has at a whole budget for the model, as `Group` has it."""

    budget_mib: int
    slots: int
    experts: int
    largest_batch_tokens: int

    @property
    def slots_percent(self) -> Decimal:
        """Share of the group's experts that the cache holds."""
        return Decimal(100) * self.slots / self.experts

    @property
    def slots_told(self) -> str:
        """The same share to a tenth of a percent; see `told_percent`."""
        return told_percent(self.slots, self.experts)


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
    host = pools(experts, n_cpu_moe)
    if len(host) > MOST_GROUPS:
        raise InputError(
            "groups", str(len(host)), f"a curve is drawn for at most {MOST_GROUPS} groups of layers"
        )
    alls = [pool.mib_for(pool.experts) for pool in host]
    last = min(max(alls), MOST_MIB)
    grid = {last * step // _STEPS for step in range(1, _STEPS + 1)} | {last}
    return BudgetCurve(
        n_cpu_moe=n_cpu_moe,
        groups=tuple(
            GroupCurve(
                layers=pool.layers,
                points=_points(pool, (mib for mib in grid | _steps(pool) if 1 <= mib <= last)),
                floor_mib=pool.mib_for(pool.used),
                whole_token_mib=pool.mib_for(len(pool.layers) * pool.used),
                all_mib=all_mib,
            )
            for pool, all_mib in zip(host, alls, strict=True)
        ),
    )


def _steps(pool: Pool) -> set[int]:
    """Return the budgets at which something of a group changes, and the whole MiB before each."""
    wanted = {pool.used, len(pool.layers) * pool.used, pool.experts}
    wanted.update(min(tokens * pool.used, pool.per_layer) for tokens in _BATCHES_TOKENS)
    after = {pool.mib_for(slots) for slots in wanted}
    return after | {mib - 1 for mib in after}


def _points(pool: Pool, budgets: Iterable[int]) -> tuple[CurvePoint, ...]:
    """Return the points of a group at these budgets in MiB, the one without a budget before them."""
    return tuple(_point(pool, mib) for mib in (0, *sorted(budgets)))


def _point(pool: Pool, budget_mib: int) -> CurvePoint:
    slots = pool.slots_at(budget_mib * MIB)
    return CurvePoint(
        budget_mib=budget_mib,
        slots=slots,
        experts=pool.experts,
        largest_batch_tokens=pool.largest_batch_tokens(slots),
    )
