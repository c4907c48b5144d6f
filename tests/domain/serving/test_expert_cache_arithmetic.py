"""The arithmetic of a plan for a cache of experts: each line with its numbers, which follow by hand."""

from app.domain.serving.expert_cache import MIB, Bank, Experts, plan_cache
from app.domain.serving.expert_cache_arithmetic import gib, group_arithmetic, mib, plan_arithmetic
from tests.domain.serving.test_expert_mix import QWEN, made


def experts(*sizes: int, rows: int = 4, per_layer: int = 64, used: int = 2) -> Experts:
    """Give layers of one tensor of so many bytes an expert."""
    layers = {
        at: (Bank(kind="up", dtype="F32", columns=1, rows=rows, expert_bytes=size),)
        for at, size in enumerate(sizes)
    }
    return Experts(architecture="made", per_layer=per_layer, used=used, layers=layers)


def test_the_case_that_a_server_logged() -> None:
    """1,834 slots at 10,000 MiB and a floor of 50 MiB are logged; 51,425,280 bytes are another program's."""
    plan = plan_cache(made("q4_k_m", QWEN).experts, budget_mib=10_000)
    host = "24 layers x 128 x 3,059,712 + 24 layers x 128 x 2,654,208 = 17,553,162,240 bytes"
    assert plan_arithmetic(plan) == (
        f"experts in host memory = {host}, 16.35 GiB",
        "left over = 10,000 - 9,999.32 MiB of slots = 0.68 MiB",
    )
    # 768 values in Q4_K are 3 blocks of 144 bytes, 2,048 are 8. Of 10,485,760,000 bytes the part is
    # 4,870,804,645: 1,835.1 slots, one of them spare.
    banks = "down 2,048 rows x 432 bytes as Q4_K" + "".join(
        f" + {kind} 768 rows x 1,152 bytes as Q4_K" for kind in ("gate", "up")
    )
    of = "x 2,654,208 x 17,553,162,240 / 8,153,726,976"
    assert group_arithmetic(plan, plan.groups[1]) == (
        f"an expert = {banks} = 2,654,208 bytes",
        "share = 10,000 x 1,048,576 x 8,153,726,976 / 17,553,162,240 = 4,870,804,645 bytes",
        "slots = floor(4,870,804,645 / 2,654,208) - 1 spare = 1,834",
        "held = 1,834 / (24 x 128) experts = 59.7 %",
        "largest batch = 32 tokens, the most that is served: 1,834 slots hold all 128 experts of a layer",
        f"cached from = (8 + 1 spare) {of} = 51,425,280 bytes, 50 MiB",
        f"one token's experts fit from = (24 x 8 + 1 spare) {of} = 1,102,786,560 bytes, 1,052 MiB",
    )


def test_a_budget_that_nobody_gave_is_a_tenth() -> None:
    # 64 experts of 1 MiB are 64 MiB.
    (_, budget, _) = plan_arithmetic(plan_cache(experts(MIB)))
    assert budget == "budget = floor(67,108,864 bytes of experts / 10 / 1,048,576) = 6 MiB"


def test_a_group_that_is_not_cached_says_why() -> None:
    # 2 MiB hold one slot of 1 MiB and the spare one; a token uses two.
    plan = plan_cache(experts(MIB), budget_mib=2)
    lines = group_arithmetic(plan, plan.groups[0])
    assert lines[2] == (
        "slots = floor(2,097,152 / 1,048,576) - 1 spare = 1, fewer than the 2 that a token uses of a layer:"
        " not cached"
    )
    assert lines[4] == "largest batch = floor(0 slots / 2) = 0 tokens"


def test_there_are_no_more_slots_than_experts() -> None:
    plan = plan_cache(experts(MIB), budget_mib=100)
    assert group_arithmetic(plan, plan.groups[0])[2] == (
        "slots = floor(104,857,600 / 1,048,576) - 1 spare = 99, at most the 64 experts there are"
    )


def test_rounding_up_is_said_where_it_takes_a_slot() -> None:
    """Five of 104,857 and of 104,858 bytes are 1,048,575; rounded up 524,288 and 524,416, more than 1 MiB."""
    banks = tuple(
        Bank(kind=kind, dtype="I8", columns=1, rows=1, expert_bytes=size)
        for kind, size in (("down", 104_857), ("up", 104_858))
    )
    model = Experts(architecture="made", per_layer=64, used=2, layers={0: banks})
    plan = plan_cache(model, budget_mib=1)
    lines = group_arithmetic(plan, plan.groups[0])
    assert lines[2] == (
        "slots = floor(1,048,576 / 209,715) - 1 spare = 4, and 3 with each kind of tensor rounded up to 128"
        " bytes"
    )
    # Three are 314,571 and 314,574, each to the next 128 bytes 314,624.
    assert lines[5] == (
        "cached from = (2 + 1 spare) x 209,715 x 13,421,760 / 13,421,760 = 629,248 bytes with each kind of"
        " tensor rounded up to 128 bytes, 1 MiB"
    )


def test_a_batch_is_held_to_32_tokens_and_to_the_slots() -> None:
    # 512 experts of a layer: 6 slots serve 3 tokens of 2 experts, 100 would serve 50.
    large = experts(MIB, per_layer=512)
    at = {
        budget: group_arithmetic(plan, plan.groups[0])[4]
        for budget in (2, 3, 7, 101)
        for plan in (plan_cache(large, budget_mib=budget),)
    }
    assert at == {
        2: "largest batch = floor(0 slots / 2) = 0 tokens",
        3: "largest batch = floor(2 slots / 2) = 1 token",
        7: "largest batch = floor(6 slots / 2) = 3 tokens",
        101: "largest batch = floor(100 slots / 2) = 50 tokens, at most 32",
    }


def test_many_groups_are_summed_up_to_the_sixth() -> None:
    (line, _) = plan_arithmetic(plan_cache(experts(*(at * MIB for at in range(1, 10))), budget_mib=100))
    (seven, _) = plan_arithmetic(plan_cache(experts(*(at * MIB for at in range(1, 8))), budget_mib=100))
    assert "x 64 x 6,291,456 + 1 more group = " in seven
    # 64 x (1 + ... + 9) MiB = 2,880 MiB, 2.8125 GiB.
    assert line.endswith(" + 1 layer x 64 x 6,291,456 + 3 more groups = 3,019,898,880 bytes, 2.81 GiB")


def test_sizes_have_two_decimals() -> None:
    assert (mib(1_572_864), gib(2**40)) == ("1.50", "1,024.00")
