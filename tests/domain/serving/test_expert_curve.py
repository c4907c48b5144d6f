"""The curve of a cache's budget: every point is a plan, and every step shows."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from app.domain.query_error import QueryError
from app.domain.serving.expert_cache import Bank, Experts, plan_cache
from app.domain.serving.expert_curve import MOST_GROUPS, budget_curve
from app.domain.serving.expert_mix import experts_of_mix, read_mix
from tests.domain.serving.test_expert_mix import QWEN


def bank(kind: str, expert_bytes: int) -> Bank:
    return Bank(kind=kind, dtype="?", columns=1, rows=1, expert_bytes=expert_bytes)


def experts(*sizes: int, per_layer: int = 4, used: int = 2) -> Experts:
    """Give layers of so many bytes an expert."""
    layers = {at: (bank("up", size),) for at, size in enumerate(sizes)}
    return Experts(architecture="made", per_layer=per_layer, used=used, layers=layers)


MADE = {
    "qwen": experts_of_mix(QWEN, read_mix("q4_k_m")).experts,
    "two kinds": experts(2**20, 2**20, 3 * 2**20),
    "tiny": experts(1, 2),
    "large": experts(2**40, 2**41, per_layer=64, used=8),
    "beyond": experts(2**60, per_layer=128, used=8),
    "one": experts(10 * 2**20, per_layer=1, used=1),
}


@pytest.mark.parametrize("n_cpu_moe", [None, 1, 99])
@pytest.mark.parametrize("name", MADE)
def test_every_point_is_what_the_plan_says_at_its_budget(name: str, n_cpu_moe: int | None) -> None:
    curve = budget_curve(MADE[name], n_cpu_moe)
    for at, group in enumerate(curve.groups):
        assert len(group.points) <= 100
        budgets = [point.budget_mib for point in group.points]
        assert budgets == sorted(set(budgets))
        first = group.points[0]
        assert (first.budget_mib, first.slots, first.slots_percent, first.largest_batch_tokens) == (
            0,
            0,
            0,
            0,
        )
        for point in group.points[1:]:
            planned = plan_cache(MADE[name], budget_mib=point.budget_mib, n_cpu_moe=n_cpu_moe).groups[at]
            assert planned.layers == group.layers
            assert (point.slots, point.slots_percent, point.largest_batch_tokens) == (
                planned.slots,
                planned.slots_percent,
                planned.largest_batch_tokens,
            )


def test_the_marks_of_qwen3_30b() -> None:
    """Floor and share are those a server logged; the whole set is 16,745.45 MiB in another program's plan."""
    curve = budget_curve(MADE["qwen"])
    assert (curve.floor_mib, curve.all_mib, curve.n_cpu_moe) == (50, 16_746, None)
    # Eight experts in each of 24 layers and the spare slot: 193 x (3,059,712 + 2,654,208) bytes, 1,051.7 MiB.
    assert curve.whole_token_mib == 1_052
    for group in curve.groups:
        at = {point.budget_mib: point for point in group.points}
        assert (at[49].slots, at[50].slots, at[50].largest_batch_tokens) == (0, 8, 1)
        assert (at[1_051].slots < 192, at[1_052].slots) == (True, 192)
        assert (at[16_745].slots, at[16_746].slots_percent) == (3_071, 100)
        assert group.points[-1].budget_mib == 16_746


def test_each_batch_that_is_a_step_has_a_point_before_and_one_at_it() -> None:
    """32 tokens of 8 experts may use all 128 of a layer: 128 slots and the spare one, 702.96 MiB."""
    (group, _) = budget_curve(MADE["qwen"]).groups
    at = {point.budget_mib: point.largest_batch_tokens for point in group.points}
    assert (at[702], at[703]) == (15, 32)
    steps = {tokens: budget for budget, tokens in reversed(at.items())}
    for tokens in (2, 4, 8):
        assert at[steps[tokens] - 1] == tokens - 1


def test_the_batch_for_which_a_layer_has_all_of_its_experts_is_a_step() -> None:
    """32 tokens may use all 100 experts of a layer, in 100 slots of 1 MiB and the spare one."""
    (group,) = budget_curve(experts(2**20, 2**20, per_layer=100, used=8)).groups
    at = {point.budget_mib: point.largest_batch_tokens for point in group.points}
    assert (at[100], at[101]) == (12, 32)


def test_groups_have_floors_of_their_own_where_few_layers_are_in_host_memory() -> None:
    """Four experts of 1 MiB in two layers are 8 MiB, of 3 MiB in one layer 12: shares of 8/20 and 12/20."""
    curve = budget_curve(MADE["two kinds"])
    # With the spare slot two are 3 MiB x 20 / 8 and 9 MiB x 20 / 12, all are 9 MiB x 20 / 8 and 15 x 20 / 12.
    assert [group.floor_mib for group in curve.groups] == [8, 15]
    assert [group.whole_token_mib for group in curve.groups] == [13, 15]
    assert [group.all_mib for group in curve.groups] == [23, 25]
    assert (curve.floor_mib, curve.whole_token_mib, curve.all_mib) == (15, 15, 25)
    assert [group.points[-1].slots_percent for group in curve.groups] == [100, 100]


def test_a_mark_beyond_any_budget_has_no_point() -> None:
    curve = budget_curve(MADE["beyond"])
    assert curve.floor_mib > curve.groups[0].points[-1].budget_mib == 2**31 - 1
    assert {point.slots for point in curve.groups[0].points} == {0}


def test_each_layer_is_summed_once_however_many_points_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    summed: list[int] = []
    whole = Experts.bytes_of

    def counted(self: Experts, layers: Iterable[int]) -> int:
        found = tuple(layers)
        summed.append(len(found))
        return whole(self, found)

    monkeypatch.setattr(Experts, "bytes_of", counted)
    curve = budget_curve(experts(*([2**20, 3 * 2**20] * 2_048)))
    assert [len(group.layers) for group in curve.groups] == [2_048, 2_048]
    assert sorted(summed) == [2_048, 2_048, 4_096]


def test_no_layer_in_host_memory_and_too_many_groups_are_refused() -> None:
    with pytest.raises(QueryError, match=r"^n_cpu_moe: '0' is not right"):
        budget_curve(MADE["qwen"], 0)
    many = experts(*range(1, 4_097))
    with pytest.raises(
        QueryError, match=r"^groups: '4096' is not right: a curve is drawn for at most 32 groups"
    ):
        budget_curve(many)
    few = replace(many, layers={layer: many.layers[layer] for layer in range(MOST_GROUPS)})
    assert len(budget_curve(few).groups) == MOST_GROUPS
