"""What a mix of ggml types gives the experts of a shape, by llama-quantize's rules worked out by hand."""

from dataclasses import replace
from typing import Any

import pytest

from app.domain.query_error import QueryError
from app.domain.serving.expert_cache import Experts, plan_cache
from app.domain.serving.expert_mix import (
    ESTIMATE,
    MIX_NAMES,
    ExpertShape,
    MixedExperts,
    experts_of_mix,
    read_mix,
)
from tests.conftest import Tell
from tests.domain.serving.test_expert_cache_vectors import EXPECTED, agrees, lines

QWEN = ExpertShape(
    architecture="qwen3moe",
    columns=2048,
    expert_columns=768,
    per_layer=128,
    used=8,
    layers=tuple(range(48)),
    blocks=48,
)
# Of 48 layers the first and the last eighth have six; between them every third from 6 + 2 on.
EARLY = set(range(6))
LATE = set(range(42, 48))
MORE = EARLY | {8, 11, 14, 17, 20, 23, 26, 29, 32, 35, 38, 41} | LATE


def made(mix: str, shape: ExpertShape = QWEN) -> MixedExperts:
    return experts_of_mix(shape, read_mix(mix))


def types(experts: Experts, kind: str) -> dict[str, set[int]]:
    """Give the layers of each type of a kind."""
    found: dict[str, set[int]] = {}
    for layer, banks in experts.layers.items():
        (dtype,) = (bank.dtype for bank in banks if bank.kind == kind)
        found.setdefault(dtype, set()).add(layer)
    return found


def test_qwen3_30b_as_q4_k_m_is_what_a_server_logged() -> None:
    """Figures of `expert_cache.SOURCE`: 16.35 GiB, two groups of 24, 1,834 slots (59.7 %), floor 50 MiB."""
    experts = made("q4_k_m").experts
    assert (f"{experts.total_bytes / 2**30:.2f}", experts.total_bytes / 2**20) == ("16.35", 16_740)
    plan = plan_cache(experts, budget_mib=10_000)
    # 768 x 144 / 256 x 2,048 = 884,736 bytes as Q4_K, 768 x 210 / 256 x 2,048 = 1,290,240 as Q6_K.
    assert [(len(group.layers), group.expert_bytes) for group in plan.groups] == [
        (24, 2 * 884_736 + 1_290_240),
        (24, 3 * 884_736),
    ]
    assert [(each.slots, f"{each.slots_percent:.1f}") for each in plan.groups] == [(1_834, "59.7")] * 2
    assert plan.floor_mib == 50
    assert types(experts, "down") == {"Q6_K": MORE, "Q4_K": set(range(48)) - MORE}


@pytest.mark.parametrize(
    ("mix", "down", "rest", "gate"),
    [
        ("f16", {}, "F16", "F16"),
        ("bf16", {}, "BF16", "BF16"),
        ("q8_0", {}, "Q8_0", "Q8_0"),
        ("q6_k", {}, "Q6_K", "Q6_K"),
        ("q5_k_m", {"Q6_K": MORE}, "Q5_K", "Q5_K"),
        ("q5_k_s", {}, "Q5_K", "Q5_K"),
        ("q4_k_s", {"Q5_K": EARLY}, "Q4_K", "Q4_K"),
        ("q4_0", {}, "Q4_0", "Q4_0"),
        ("q4_0,imatrix", {"Q4_1": EARLY}, "Q4_0", "Q4_0"),
        ("q5_0,imatrix", {"Q5_1": EARLY}, "Q5_0", "Q5_0"),
        ("q4_1,imatrix", {}, "Q4_1", "Q4_1"),
        ("q3_k_s", {}, "Q3_K", "Q3_K"),
        ("q3_k_m", {"Q5_K": {0, 1, 2}}, "Q4_K", "Q3_K"),
        ("q3_k_l", {}, "Q5_K", "Q3_K"),
        ("q2_k", {}, "Q3_K", "Q2_K"),
        ("q2_k_s", {"Q4_K": EARLY}, "Q2_K", "Q2_K"),
        ("iq4_xs", {"Q5_K": EARLY}, "IQ4_XS", "IQ4_XS"),
        ("iq4_xs,imatrix", {}, "IQ4_XS", "IQ4_XS"),
        ("iq4_nl", {"Q5_K": EARLY}, "IQ4_NL", "IQ4_NL"),
        ("iq3_xxs,imatrix", {}, "IQ3_XXS", "IQ3_XXS"),
        ("iq3_s", {}, "IQ3_S", "IQ3_S"),
        ("iq3_m", {"Q4_K": EARLY}, "IQ3_S", "IQ3_S"),
        ("mxfp4_moe", {}, "MXFP4", "MXFP4"),
    ],
)
def test_what_a_name_gives_down_and_gate(mix: str, down: dict[str, set[int]], rest: str, gate: str) -> None:
    experts = made(mix).experts
    others = set(range(48)).difference(*down.values())
    assert types(experts, "down") == {**down, rest: others}
    assert types(experts, "gate") == types(experts, "up") == {gate: set(range(48))}


def test_iq3_xs_has_fewer_bits_in_gate_and_up_between_the_first_and_the_last_eighth() -> None:
    experts = made("iq3_xs,imatrix").experts
    assert types(experts, "down") == {"IQ3_S": set(range(48))}
    assert types(experts, "gate") == types(experts, "up")
    assert types(experts, "up") == {"IQ3_S": EARLY | LATE, "IQ3_XXS": set(range(6, 42))}


def test_eight_experts_have_more_bits_in_iq3_m() -> None:
    experts = made("iq3_m", replace(QWEN, per_layer=8, used=2)).experts
    assert types(experts, "down") == {"Q4_K": MORE, "IQ3_S": set(range(48)) - MORE}


def test_dense_layers_and_those_that_predict_further_tokens_count_as_blocks() -> None:
    """47 blocks, the first dense: an eighth is 5, the last from 7 x 47 / 8 = 41 on, a third from 7 on."""
    shape = replace(QWEN, layers=tuple(range(1, 47)), blocks=47, mtp_layers=(46,))
    mixed = made("q4_k_m", shape)
    more = {1, 2, 3, 4} | set(range(7, 41, 3)) | set(range(41, 47))
    assert types(mixed.experts, "down")["Q6_K"] == more
    assert mixed.experts.mtp_layers == (46,)


def test_rows_that_a_type_does_not_divide_have_the_fallback_type() -> None:
    """704 is 22 x 32 and no multiple of 256: 22 x 22 bytes as Q5_0 and 22 x 34 as Q8_0 for a row."""
    mixed = made("q4_k_m", replace(QWEN, columns=2816, expert_columns=704))
    assert set(types(mixed.experts, "down")) == {"Q8_0", "Q5_0"}
    sizes = {bank.dtype: bank.expert_bytes for banks in mixed.experts.layers.values() for bank in banks}
    assert sizes == {"Q8_0": 748 * 2816, "Q5_0": 484 * 2816, "Q4_K": 11 * 144 * 704}
    assert mixed.notes[1:] == (
        "Rows of ffn_down_exps have 704 values, no multiple of 256: Q6_K becomes Q8_0.",
        "Rows of ffn_down_exps have 704 values, no multiple of 256: Q4_K becomes Q5_0.",
    )


@pytest.mark.parametrize(
    ("mix", "down"),
    [
        ("q2_k", "Q4_0"),
        ("q3_k_s", "Q4_0"),
        ("q5_k_s", "Q5_1"),
        ("q6_k", "Q8_0"),
        ("iq3_s", "IQ4_NL"),
        ("iq4_xs,imatrix", "IQ4_NL"),
    ],
)
def test_the_fallbacks_of_the_other_types(mix: str, down: str) -> None:
    assert set(types(made(mix, replace(QWEN, expert_columns=704)).experts, "down")) == {down}


def test_rows_of_no_multiple_of_32_are_f16_or_stop_the_quantiser() -> None:
    odd = replace(QWEN, expert_columns=720)
    assert set(types(made("q6_k", odd).experts, "down")) == {"F16"}
    with pytest.raises(QueryError, match=r"^mix: 'q8_0' is not right: rows of ffn_down_exps have 720 values"):
        made("q8_0", odd)


def test_gate_and_up_in_one_tensor_follow_the_rule_of_gate() -> None:
    experts = made("iq3_xs,imatrix", replace(QWEN, gate="fused")).experts
    assert types(experts, "gate_up") == {"IQ3_S": EARLY | LATE, "IQ3_XXS": set(range(6, 42))}
    (down, gate_up) = experts.layers[0]
    # Rows of 2,048 values take 8 x 110 bytes as IQ3_S, and there are two for each of 768.
    assert (gate_up.rows, gate_up.expert_bytes) == (2 * 768, 880 * 2 * 768)
    assert (down.columns, down.rows) == (768, 2048)


def test_experts_without_a_gate() -> None:
    experts = made("q8_0", replace(QWEN, gate="none")).experts
    assert [bank.kind for bank in experts.layers[0]] == ["down", "up"]


def test_a_mix_written_out_is_laid_from_the_first_layer_with_experts_on() -> None:
    mixed = made(" Down = Q6_K:20, q4_k:4 , q8_0 ; gate=q4_k:48; UP=q4_k")
    assert mixed.mix == "down=q6_k:20,q4_k:4,q8_0;gate=q4_k:48;up=q4_k"
    assert types(mixed.experts, "down") == {
        "Q6_K": set(range(20)),
        "Q4_K": {20, 21, 22, 23},
        "Q8_0": set(range(24, 48)),
    }
    host = plan_cache(mixed.experts, budget_mib=5_000, n_cpu_moe=22)
    assert [len(group.layers) for group in host.groups] == [20, 2]


def test_q4_k_m_written_out_has_the_same_groups() -> None:
    named, written = (
        plan_cache(made(mix).experts, budget_mib=10_000)
        for mix in ("q4_k_m", "down=q6_k:24,q4_k:24;gate=q4_k;up=q4_k")
    )
    assert [(each.expert_bytes, each.slots) for each in named.groups] == [
        (each.expert_bytes, each.slots) for each in written.groups
    ]


@pytest.mark.parametrize("name", [*MIX_NAMES, "q4_0,imatrix", "gate_up=iq1_s:3,q4_k;down=nvfp4:2"])
def test_a_mix_is_read_as_it_is_spelled(name: str) -> None:
    assert str(read_mix(name)) == name
    assert read_mix(f" {name.upper()} ") == read_mix(name)


def test_the_names_that_stand_for_others() -> None:
    assert [str(read_mix(name)) for name in ("Q4_K", "q5-k", "q3_k", "mxfp4")] == [
        "q4_k_m",
        "q5_k_m",
        "q3_k_m",
        "mxfp4_moe",
    ]


def test_it_is_said_that_a_plan_from_a_mix_is_an_estimate_and_what_it_takes() -> None:
    assert made("q4_k_m").notes == (ESTIMATE,)
    assert made("q4_k_m", replace(QWEN, notes=("of the shape",))).notes == (ESTIMATE, "of the shape")
    assert "write iq4_xs,imatrix for that" in made("iq4_xs").notes[1]
    assert "write iq4_xs alone" in made("iq4_xs,imatrix").notes[1]
    assert made("iq3_xxs").notes[1] == "llama-quantize writes IQ3_XXS only with an importance matrix."


@pytest.mark.parametrize(
    ("mix", "sentence"),
    [
        ("", "mix: '' is not right: give a file type such as q4_k_m"),
        ("nan", "mix: 'nan' is not right: give a file type"),
        ("0", "the file types are f32, f16"),
        ("-1", "mix: '-1' is not right"),
        ("9223372036854775808", "mix: '9223372036854775808' is not right"),
        ("q4_k_xl", "mix: 'q4_k_xl' is not right"),
        ("q4_0,matrix", "mix: 'q4_0,matrix' is not right"),
        ("iq2_xs", "it counts tensors in the order of the file, which a config does not give; give a GGUF"),
        ("q4_k_m" * 1_000, "mix: '6,000 characters' is not right: give at most 4,000"),
        ("\x1b[31m", "mix: '\N{REPLACEMENT CHARACTER}[31m' is not right"),
        ("=", "mix: '=' is not right: name each of down, gate, gate_up, up at most once"),
        ("shared=q4_k", "mix: 'shared=q4_k' is not right: name each of"),
        ("up=q4_k;up=q4_k", "mix: 'up=q4_k' is not right: name each of"),
        ("up=", "mix: 'up=' is not right: give a type and layers as q6_k:24, of f32, f16"),
        ("up=q4_k_m", "mix: 'up=q4_k_m' is not right: give a type and layers"),
        ("up=i8", "mix: 'up=i8' is not right"),
        ("up=q4_k:x", "mix: 'up=q4_k:x' is not right"),
        ("up=q4_k:-1", "mix: 'up=q4_k:_1' is not right"),
        ("up=q4_k:0", "mix: 'up=q4_k:0' is not right: give 1 to 4,096 layers"),
        ("up=q4_k:1000000", "mix: 'up=q4_k:1000000' is not right: give 1 to 4,096 layers"),
        (f"up=q4_k:{'9' * 3_900}", "is not right: give 1 to 4,096 layers"),
        ("up=q4_k:\N{SUPERSCRIPT TWO}", "is not right: give a type and layers"),
        ("up=q4_k,q6_k:2", "mix: 'up=q4_k,q6_k:2' is not right: only the last type may leave out"),
    ],
)
def test_a_mix_that_is_none_is_refused(mix: str, sentence: str) -> None:
    with pytest.raises(QueryError) as refused:
        read_mix(mix)
    assert sentence in str(refused.value)
    assert (refused.value.field, len(str(refused.value)) < 500) == ("mix", True)


@pytest.mark.parametrize(
    ("mix", "sentence"),
    [
        ("down=q6_k;up=q4_k", "this model's experts are down, gate, up: give each of them"),
        ("down=q6_k;gate_up=q4_k", "this model's experts are down, gate, up"),
        ("down=q6_k:24;gate=q4_k;up=q4_k", "it is for 24 layers, and 48 have experts"),
        ("down=q6_k:49;gate=q4_k;up=q4_k", "it is for 49 layers, and 48 have experts"),
        ("down=q6_k:48,q4_k;gate=q4_k;up=q4_k", "it is for 48 and more layers, and 48 have experts"),
        (
            f"down={','.join(['q6_k:4096'] * 300)};gate=q4_k;up=q4_k",
            "it is for 1,228,800 layers, and 48 have experts",
        ),
    ],
)
def test_a_mix_that_does_not_go_with_the_shape_is_refused(mix: str, sentence: str) -> None:
    with pytest.raises(QueryError, match=r"^mix: ") as refused:
        made(mix)
    assert sentence in str(refused.value)


def test_a_type_written_out_must_divide_the_rows() -> None:
    with pytest.raises(
        QueryError, match="rows of ffn_down_exps have 704 values, and Q6_K takes 256 at a time"
    ):
        made("down=q6_k;gate=q4_k;up=q4_k", replace(QWEN, expert_columns=704))


def test_layers_that_predict_further_tokens_are_named_where_the_count_is_wrong() -> None:
    shape = replace(QWEN, layers=tuple(range(49)), blocks=49, mtp_layers=(48,))
    with pytest.raises(QueryError, match="49 have experts, 1 of them to predict further tokens"):
        made("down=q6_k:48;gate=q4_k;up=q4_k", shape)


@pytest.mark.parametrize(("kept", "written"), [("MXFP4", "mxfp4"), ("NVFP4", "nvfp4")])
def test_experts_that_are_quantised_already_take_no_other_name(kept: str, written: str) -> None:
    shape = replace(QWEN, kept=kept)
    asked = f"give down={written};gate={written};up={written}, the config of the model before that"
    with pytest.raises(QueryError, match=f"this checkpoint has {kept} experts.*{asked}"):
        made("q4_k_m", shape)
    assert types(made(f"down={written};gate={written};up={written}", shape).experts, "up") == {
        kept: set(range(48))
    }


def test_mxfp4_experts_are_mxfp4_moe_and_mixed_ones_are_to_be_written_out() -> None:
    assert types(made("mxfp4_moe", replace(QWEN, kept="MXFP4")).experts, "up") == {"MXFP4": set(range(48))}
    with pytest.raises(QueryError, match="give the types written out"):
        made("mxfp4_moe", replace(QWEN, kept="mixed precision"))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"columns": 0}, "config: 'columns 0' is not right: it is a whole number from 1 to 4,294,967,296"),
        ({"expert_columns": -1}, "config: 'expert_columns -1' is not right"),
        ({"per_layer": 2**63}, "config: 'per_layer 9223372036854775808' is not right"),
        ({"used": 129}, "config: '129 of 128 experts' is not right"),
        ({"layers": ()}, "config: '0 layers with experts' is not right"),
        ({"layers": (1, 0)}, "config: '2 layers with experts' is not right"),
        ({"layers": (-1, 0)}, "config: '2 layers with experts' is not right"),
        (
            {"layers": tuple(range(5_000)), "blocks": 5_000},
            "config: '5,000 layers with experts' is not right",
        ),
        ({"blocks": 47}, "config: '47 layers' is not right: the last with experts is layer 47"),
        ({"per_layer": 1, "used": 1}, "mix: 'q4_k_m' is not right: for one expert a layer the rule differs"),
    ],
)
def test_figures_that_are_no_shape_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(QueryError) as refused:
        made("q4_k_m", replace(QWEN, **wrong))
    assert sentence in str(refused.value)


def test_the_largest_shape_that_is_believed_is_planned() -> None:
    most = replace(
        QWEN, columns=2**32, expert_columns=2**32, per_layer=2**32, layers=tuple(range(4096)), blocks=2**32
    )
    plan = plan_cache(made("q4_k_m", most).experts, budget_mib=2**31 - 1)
    assert not plan.starts


@pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")
def test_the_rows_of_the_plans_that_another_program_worked_out(tell: Tell) -> None:
    experts = made("q4_k_m").experts
    passed = [agrees(line, experts) for line in lines("moe_cache_plan.csv")]
    tell(f"vectors moe_cache_plan.csv, from a mix: {sum(passed)} of {len(passed)} rows")
    assert passed == [True] * 9
