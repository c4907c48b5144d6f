"""What a budget for the expert cache buys, worked out by hand for a small model of our own making."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from app.domain.llms.checkpoint.gguf import read_gguf
from app.domain.llms.checkpoint.header import Header, HeaderError, Tensor
from app.domain.query_error import QueryError
from app.domain.serving.expert_cache import Bank, Experts, experts_of, plan_cache, told_percent
from app.domain.serving.expert_cache_cautions import cautions
from tests.domain.llms.headers import Spec, gguf, hollow
from tests.domain.serving.experts import SAID, TINY, expert_layer

# By the layouts of ggml: a row of 256 values takes 144 bytes as Q4_K, one of 1,024 takes 840 as Q6_K.
#   gate and up: 1,024 rows x 144 = 147,456 bytes an expert; down: 256 rows x 840 = 215,040 as Q6_K,
#   256 rows x 576 = 147,456 as Q4_K. So 509,952 bytes an expert in layers 0 and 2, 442,368 in 1 and 3.
LARGE, SMALL = 509_952, 442_368
TOTAL = 2 * 4 * (LARGE + SMALL)


def header(tensors: Sequence[Spec] = TINY, said: dict[str, tuple[str, object]] | None = None) -> Header:
    return read_gguf(hollow(*gguf(tensors, SAID if said is None else said), name="tiny.gguf"))


@pytest.fixture
def tiny() -> Experts:
    return experts_of([header()])


def codes(experts: Experts, mib: int) -> list[str]:
    return [each.code for each in cautions(plan_cache(experts, budget_mib=mib)) if each.level == "warning"]


def test_the_experts_of_a_model_and_the_layers_that_are_alike(tiny: Experts) -> None:
    assert (tiny.architecture, tiny.per_layer, tiny.used) == ("tiny", 4, 2)
    assert tiny.total_bytes == TOTAL == 7_618_560
    plan = plan_cache(tiny, budget_mib=4)
    assert [group.layers for group in plan.groups] == [(0, 2), (1, 3)]
    assert [[(bank.kind, bank.dtype) for bank in group.banks] for group in plan.groups] == [
        [("down", "Q6_K"), ("gate", "Q4_K"), ("up", "Q4_K")],
        [("down", "Q4_K"), ("gate", "Q4_K"), ("up", "Q4_K")],
    ]
    assert [group.expert_bytes for group in plan.groups] == [LARGE, SMALL]


def test_the_slots_of_four_mib(tiny: Experts) -> None:
    """4,194,304 bytes: 2,245,974 and 1,948,329 by bytes, each 4.4 experts, one of which is the spare slot."""
    plan = plan_cache(tiny, budget_mib=4)
    assert [(group.slots, group.experts, group.slots_percent) for group in plan.groups] == [
        (3, 8, Decimal("37.5"))
    ] * 2
    # Three slots hold the two experts of one token, not the four that two tokens may use.
    assert [group.largest_batch_tokens for group in plan.groups] == [1, 1]
    # The spare slot makes four: 4 x (509,952 + 442,368).
    assert (plan.cache_bytes, plan.leftover_bytes) == (3_809_280, 4_194_304 - 3_809_280)
    # Two slots and the spare one in each group: 3 x 952,320 = 2,856,960 bytes, 2.72 MiB.
    assert [(group.floor_bytes, group.floor_mib) for group in plan.groups] == [(2_856_960, 3)] * 2
    # Two experts in each of two layers and the spare slot: 5 x 952,320 = 4,761,600 bytes, 4.54 MiB.
    assert [group.whole_token_mib for group in plan.groups] == [5, 5]
    assert (plan.floor_mib, plan.starts_from_mib, plan.starts) == (3, 3, True)


@pytest.mark.parametrize(
    ("mib", "slots", "batch"),
    [(1, 0, 0), (2, 0, 0), (3, 2, 1), (5, 4, 32), (8, 7, 32), (9, 8, 32), (1_000, 8, 32)],
)
def test_slots_grow_with_the_budget_up_to_all_experts(
    tiny: Experts, mib: int, slots: int, batch: int
) -> None:
    plan = plan_cache(tiny, budget_mib=mib)
    assert [(group.slots, group.largest_batch_tokens) for group in plan.groups] == [(slots, batch)] * 2
    assert plan.starts == (slots > 0)
    assert plan.cache_bytes == ((slots + 1) * (LARGE + SMALL) if slots else 0)


def test_only_the_first_layers_stay_in_host_memory(tiny: Experts) -> None:
    """Layer 0 alone: 4 x 509,952 bytes have the whole budget; 2 MiB are 4.1 of them, so three slots."""
    plan = plan_cache(tiny, budget_mib=2, n_cpu_moe=1)
    (group,) = plan.groups
    assert (plan.host_bytes, group.layers, group.slots, group.floor_mib) == (4 * LARGE, (0,), 3, 2)
    three = plan_cache(tiny, budget_mib=6, n_cpu_moe=3)
    # Two layers of the large kind and one of the small: 3 x 509,952 / 0.6975 = 2.09 MiB, and 3 x 442,368 /
    # 0.3025 = 4.18 MiB, so the kinds have floors of their own.
    assert [(each.layers, each.floor_mib) for each in three.groups] == [((0, 2), 3), ((1,), 5)]
    assert (three.floor_mib, three.starts_from_mib) == (5, 3)
    assert plan_cache(tiny, budget_mib=6, n_cpu_moe=99).groups == plan_cache(tiny, budget_mib=6).groups


def test_a_group_below_its_own_floor_is_left_out_of_a_cache_that_starts(tiny: Experts) -> None:
    plan = plan_cache(tiny, budget_mib=4, n_cpu_moe=3)
    assert [group.slots for group in plan.groups] == [4, 0]
    assert plan.starts
    said = cautions(plan)[0]
    assert (said.code, said.sentence) == ("group_not_cached", "Group 2: not cached below 5 MiB.")


def test_the_rounding_of_each_bank_can_cost_a_slot() -> None:
    """10,381 experts of 50 and of 51 bytes are 1,048,481 bytes, 1,048,704 with both rounded to 128."""
    banks = tuple(
        Bank(kind=kind, dtype="?", columns=1, rows=1, expert_bytes=x) for kind, x in (("a", 50), ("b", 51))
    )
    experts = Experts(architecture="x", per_layer=20_000, used=1, layers={0: banks})
    plan = plan_cache(experts, budget_mib=1)
    # 10,380 with the spare one: 519,040 and 529,408 bytes.
    assert (plan.groups[0].slots, plan.cache_bytes) == (10_379, 1_048_448)


def test_a_floor_is_rounded_up() -> None:
    """Three layers of 10 bytes an expert and one of 11, four experts each: 164 bytes, 120 of them alike."""
    ten, eleven = ((Bank(kind="up", dtype="?", columns=1, rows=1, expert_bytes=x),) for x in (10, 11))
    experts = Experts(architecture="x", per_layer=4, used=1, layers={0: ten, 1: ten, 2: ten, 3: eleven})
    # One expert and the spare slot take 128 bytes: 128 x 164 / 120 = 174.9 and 128 x 164 / 44 = 477.1.
    assert [each.floor_bytes for each in plan_cache(experts, budget_mib=1).groups] == [175, 478]


def test_no_step_of_more_than_32_tokens_is_served(tiny: Experts) -> None:
    """50 MiB are 102.8 experts of 509,952 bytes: 101 slots, as many as 50 tokens of two experts take."""
    single = replace(tiny, per_layer=128, layers={0: tiny.layers[0]})
    (group,) = plan_cache(single, budget_mib=50).groups
    assert (group.slots, group.largest_batch_tokens) == (101, 32)
    (group,) = plan_cache(single, budget_mib=25).groups
    assert (group.slots, group.largest_batch_tokens) == (50, 25)


def test_a_tenth_of_the_experts_is_planned_without_a_budget(tiny: Experts) -> None:
    wide = replace(tiny, per_layer=400)
    # 100 times as many experts: 761,856,000 bytes, a tenth of which is 72.66 MiB.
    plan = plan_cache(wide)
    assert (plan.budget_mib, plan.is_default) == (72, True)
    with pytest.raises(QueryError, match=r"^mib: 'a tenth of the experts' is not right: give a whole budget"):
        plan_cache(tiny)


@pytest.mark.parametrize("mib", [0, -1, 2**31, 2**63])
def test_a_budget_that_is_none_is_refused(tiny: Experts, mib: int) -> None:
    with pytest.raises(QueryError, match=rf"^mib: '{mib}' is not right"):
        plan_cache(tiny, budget_mib=mib)


@pytest.mark.parametrize("layers", [0, -5])
def test_no_layer_in_host_memory_is_refused(tiny: Experts, layers: int) -> None:
    with pytest.raises(
        QueryError, match=rf"^n_cpu_moe: '{layers}' is not right: its first layer with experts is 0"
    ):
        plan_cache(tiny, budget_mib=4, n_cpu_moe=layers)


def test_what_a_budget_does_wrong_is_said_and_nothing_where_it_does_not(tiny: Experts) -> None:
    assert codes(tiny, 2) == ["does_not_start"]
    assert codes(tiny, 3) == codes(tiny, 4) == ["near_the_floor"] * 2
    assert codes(tiny, 5) == codes(tiny, 9) == []
    # One layer each: two slots are enough for a token, and serve no second one.
    single = replace(tiny, layers={0: tiny.layers[0]})
    assert codes(single, 2) == ["small_batches_only"]


def sentence(experts: Experts, code: str, *, mib: int) -> str:
    (found,) = [each for each in cautions(plan_cache(experts, budget_mib=mib)) if each.code == code]
    return found.sentence


def test_one_of_a_thing_is_written_as_one(tiny: Experts) -> None:
    """Of 509,952 bytes an expert 2 MiB hold 4, so 3 slots beside the spare one; 1 MiB holds 2, so 1 slot."""
    single = replace(tiny, layers={0: tiny.layers[0]})
    assert "steps of more than 1 token are not served" in sentence(single, "small_batches_only", mib=2)
    alike = replace(tiny, used=1, layers=dict.fromkeys((0, 1), tiny.layers[0]))
    assert "one token uses 1 expert in each of 2 layers, and 1 slot does not hold them" in sentence(
        alike, "near_the_floor", mib=1
    )


def test_what_holds_for_every_budget_is_said_in_the_numbers_of_the_model(tiny: Experts) -> None:
    notes = {each.code: each.sentence for each in cautions(plan_cache(tiny, budget_mib=9))}
    assert list(notes) == ["skipped_past_32", "concurrency", "speculative_drafts"]
    assert notes["concurrency"].endswith("four use up to 4 of 4 in a layer, one uses 2.")
    many = replace(tiny, per_layer=128, used=8)
    assert "four use up to 32 of 128 in a layer, one uses 8." in " ".join(
        each.sentence for each in cautions(plan_cache(many, budget_mib=90))
    )


def test_routers_shared_experts_and_biases_are_not_cached() -> None:
    beside: list[Spec] = [
        ("blk.0.ffn_gate_inp.weight", "F32", (256, 4)),
        ("blk.0.ffn_up_shexp.weight", "Q4_K", (256, 1024)),
        ("blk.0.ffn_up_exps.bias", "F32", (1024, 4)),
    ]
    assert experts_of([header([*TINY, *beside])]).total_bytes == TOTAL


def test_gate_and_up_in_one_tensor_count_as_one_bank() -> None:
    experts = experts_of([header([("blk.7.ffn_gate_up_exps.weight", "Q4_K", (256, 2048, 4))])])
    assert [(bank.kind, bank.expert_bytes) for bank in experts.layers[7]] == [("gate_up", 2048 * 144)]


def test_layers_that_predict_further_tokens_are_named() -> None:
    experts = experts_of([header([*TINY, ("blk.3.nextn.eh_proj.weight", "F16", (512, 256))])])
    assert experts.mtp_layers == (3,)
    assert cautions(plan_cache(experts, budget_mib=9))[-1].sentence.endswith("may not be loaded: 3.")


def test_a_type_without_a_known_layout_is_measured_by_its_rows() -> None:
    """100 rows of 101 bytes are 10,100, and 10,112 up to where the next tensor may begin."""
    tensor = Tensor(
        name="blk.0.ffn_up_exps.weight", dtype="ggml type 99", shape=(64, 50, 2), begin=0, size_bytes=10_112
    )
    said = {"general.architecture": "x", "x.expert_count": 2, "x.expert_used_count": 1}
    made = replace(header(), tensors=(tensor,), metadata=said)
    assert experts_of([made]).layers[0][0].expert_bytes == 5_050


def test_parts_count_together_and_only_the_first_says_what_the_model_is() -> None:
    parts = [header(TINY[:6]), header(TINY[6:], {})]
    assert experts_of(parts) == experts_of([header()])
    with pytest.raises(HeaderError, match="stands twice"):
        experts_of([header(), header()])


def without(name: str, **other: tuple[str, object]) -> dict[str, tuple[str, object]]:
    return {key: value for key, value in {**SAID, **other}.items() if key != name}


@pytest.mark.parametrize(
    ("tensors", "said", "sentence"),
    [
        ([("blk.0.ffn_up.weight", "Q4_K", (256, 256))], SAID, "no stacked expert tensors"),
        ([], SAID, "no stacked expert tensors"),
        ([("blk.0.ffn_up_exps.weight", "Q4_K", (256, 256))], SAID, r"has the shape \[256, 256\]"),
        ([("blk.0.ffn_up_exps.weight", "Q4_K", (256, 256, 0))], SAID, r"has the shape \[256, 256, 0\]"),
        (expert_layer(0, down="Q6_K", count=5), SAID, "stacks 5 experts; its metadata say 4"),
        (TINY, without("general.architecture"), "names no general.architecture"),
        (TINY, without("tiny.expert_count"), "does not say 'tiny.expert_count'"),
        (TINY, without("tiny.expert_used_count"), "does not say 'tiny.expert_used_count'"),
        (
            TINY,
            without("", **{"tiny.expert_used_count": ("u32", 0)}),
            "does not say 'tiny.expert_used_count'",
        ),
        (TINY, without("", **{"tiny.expert_used_count": ("u32", 5)}), "a token uses 5 of 4 experts"),
        (TINY, without("", **{"tiny.expert_count": ("bool", True)}), "does not say 'tiny.expert_count'"),
        (TINY, without("", **{"tiny.expert_count": ("f32", 4.0)}), "does not say 'tiny.expert_count'"),
    ],
)
def test_a_model_that_cannot_be_planned_ends_in_a_sentence(
    tensors: list[Spec], said: dict[str, tuple[str, object]], sentence: str
) -> None:
    with pytest.raises(HeaderError, match=sentence) as refused:
        experts_of([header(tensors, said)])
    assert str(refused.value).startswith("tiny.gguf: ")


def test_a_share_is_all_only_when_nothing_is_missing() -> None:
    # 16,740 MiB are all experts of Qwen3-30B-A3B and no spare slot: 3,071 of 3,072, 99.97 %.
    assert [told_percent(held, 3072) for held in (3072, 3071, 1834, 0)] == ["100.0", "99.9", "59.7", "0.0"]
