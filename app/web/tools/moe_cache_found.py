"""What the page of the tool on expert caches shows of a plan: groups, marks, arithmetic, warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.findings import Level
from app.domain.serving.expert_cache import MOST_MIB, plan_cache, pools, told_percent
from app.domain.serving.expert_cache_arithmetic import gib, group_arithmetic, mib, plan_arithmetic
from app.domain.serving.expert_cache_cautions import cautions
from app.domain.serving.expert_cache_measured import CONDITIONS, MEASURED
from app.domain.serving.expert_curve import MOST_GROUPS
from app.web.tools.moe_cache_shape import spelled_layers

if TYPE_CHECKING:
    from app.domain.findings import Finding
    from app.domain.serving.expert_cache import Group, Plan
    from app.domain.serving.expert_cache_measured import Measured
    from app.domain.serving.expert_mix import MixedExperts

MOST_SHOWN: Final = 50
"""Groups and warnings that the page shows; the twins have all."""

MOST_WORKED: Final = 8
"""Groups whose arithmetic it shows."""

MOST_RUNS: Final = 16
"""Runs of layers that it names of a group."""

_MOST_NAMED: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A budget at which something changes, and what it buys; `plan` is None for one beyond any budget."""

    words: str
    budget_mib: int
    plan: Plan | None

    @property
    def held_percent(self) -> str:
        """Share of the experts in host memory that have a slot, by number."""
        if self.plan is None:
            return ""
        held = sum(group.slots for group in self.plan.groups)
        return told_percent(held, sum(group.experts for group in self.plan.groups))

    @property
    def batch_tokens(self) -> int | None:
        """Largest step that is served in every group."""
        return min(group.largest_batch_tokens for group in self.plan.groups) if self.plan else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a budget buys of the experts of a mix."""

    plan: Plan
    mixed: MixedExperts

    @property
    def heading(self) -> str:
        """What the budget comes to."""
        if not self.plan.starts:
            return f"{self.plan.budget_mib:,} MiB do not start the server"
        held, named = self._planned.held_percent, ""
        if self.plan.n_cpu_moe is not None:
            named = " in host memory"
        return f"{self.plan.budget_mib:,} MiB hold {held} % of the experts{named}"

    @property
    def verdict(self) -> str:
        """What each group gets, what is left over, and from when every group is cached."""
        plan = self.plan
        if not plan.starts:
            return (
                f"No group holds the {plan.experts.used:,} experts that one token uses of a layer. It starts"
                f" from {plan.starts_from_mib:,} MiB; every group is cached from {plan.floor_mib:,} MiB."
            )
        bought = ", ".join(
            f"group {number} has {group.slots:,} slots for {group.experts:,} experts ({group.slots_told} %)"
            for number, group in enumerate(plan.groups[:_MOST_NAMED], start=1)
        )
        more = len(plan.groups) - _MOST_NAMED
        bought += f" and {more:,} more groups" if more > 0 else ""
        return (
            f"{bought.capitalize()}. {mib(plan.cache_bytes)} MiB of slots, {mib(plan.leftover_bytes)} MiB"
            f" left over; every group is cached from {plan.floor_mib:,} MiB."
        )

    @property
    def about(self) -> str:
        """What the model has."""
        experts = self.plan.experts
        said = (
            f"{experts.architecture}: {len(experts.layers):,} layers of {experts.per_layer:,} experts,"
            f" {experts.used:,} for a token; {gib(experts.total_bytes)} GiB of experts as {self.mixed.mix}"
        )
        if self.plan.n_cpu_moe is None:
            return f"{said}, all of them in host memory (--cpu-moe)."
        held = f"{gib(self.plan.host_bytes)} GiB of them in host memory"
        return f"{said}, {held} (--n-cpu-moe {self.plan.n_cpu_moe:,})."

    @property
    def conditions(self) -> str:
        """What `measured` was measured on."""
        return CONDITIONS

    @property
    def measured(self) -> tuple[Measured, ...]:
        """What was measured of the cache, to be set beside a plan."""
        return MEASURED

    @property
    def groups(self) -> list[tuple[int, Group, str]]:
        """The first groups by number, with their layers in words."""
        return [
            (number, group, _layers(group.layers))
            for number, group in enumerate(self.plan.groups[:MOST_SHOWN], start=1)
        ]

    @property
    def groups_left(self) -> int:
        """Groups that are not shown."""
        return max(0, len(self.plan.groups) - MOST_SHOWN)

    @property
    def worked(self) -> list[tuple[str, tuple[str, ...]]]:
        """The arithmetic of the plan and of its first groups, each with its heading."""
        parts = [("The model", plan_arithmetic(self.plan))]
        return parts + [
            (f"Group {number}", group_arithmetic(self.plan, group))
            for number, group in enumerate(self.plan.groups[:MOST_WORKED], start=1)
        ]

    @property
    def worked_left(self) -> int:
        """Groups whose arithmetic is not shown."""
        return max(0, len(self.plan.groups) - MOST_WORKED)

    @property
    def said(self) -> tuple[Finding, ...]:
        """The first warnings, and every note."""
        found = cautions(self.plan)
        warnings = [each for each in found if each.level is Level.WARNING]
        notes = [each for each in found if each.level is not Level.WARNING]
        return (*warnings[:MOST_SHOWN], *notes)

    @property
    def warnings_left(self) -> int:
        """Warnings that are not shown."""
        return len(cautions(self.plan)) - len(self.said)

    @property
    def is_drawn(self) -> bool:
        """Whether there are no more groups than a chart draws."""
        return len(self.plan.groups) <= MOST_GROUPS

    @property
    def marks(self) -> list[Mark]:
        """The budgets at which something changes for the model, and the planned one, in their order."""
        alls = [pool.mib_for(pool.experts) for pool in pools(self.plan.experts, self.plan.n_cpu_moe)]
        whole = max(group.whole_token_mib for group in self.plan.groups)
        marks = [
            self._mark("the server starts", self.plan.starts_from_mib),
            self._mark("every group is cached", self.plan.floor_mib),
            self._mark("what one token uses fits in every group", whole),
            self._mark("all experts are held", max(alls)),
            self._planned,
        ]
        return sorted(marks, key=lambda mark: mark.budget_mib)

    @property
    def _planned(self) -> Mark:
        return Mark(words="the planned budget", budget_mib=self.plan.budget_mib, plan=self.plan)

    def _mark(self, words: str, budget_mib: int) -> Mark:
        plan = None
        if budget_mib <= MOST_MIB:
            plan = plan_cache(self.plan.experts, budget_mib=budget_mib, n_cpu_moe=self.plan.n_cpu_moe)
        return Mark(words=words, budget_mib=budget_mib, plan=plan)


def _layers(layers: tuple[int, ...]) -> str:
    """Return the numbers of layers in words, of many runs the first."""
    runs = spelled_layers(layers)
    more = len(runs) - MOST_RUNS
    return ", ".join(runs[:MOST_RUNS]) + (f" and {more:,} more runs" if more > 0 else "")
