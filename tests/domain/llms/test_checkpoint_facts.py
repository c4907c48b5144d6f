"""What follows from tensors and a config: parts, experts, packing, parameters, schemes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.llms.checkpoint.facts import CheckpointFacts, Packed, Tally, facts_of
from app.domain.llms.checkpoint.gguf import read_gguf
from app.domain.llms.checkpoint.header import HeaderError
from app.domain.llms.checkpoint.parts import Part, part_of
from app.domain.llms.checkpoint.patterns import patterns_of
from app.domain.llms.checkpoint.quantisation import quantisation_of
from app.domain.llms.checkpoint.safetensors import read_safetensors
from app.domain.llms.checkpoint.screening import FACTS, kinds, values
from app.domain.llms.checkpoint.yarn import context_of
from tests.domain.llms.headers import Spec, gguf, hollow, safetensors


def facts(*files: list[Spec], config: dict[str, Any] | None = None, side: Any = None) -> CheckpointFacts:
    """Read files one after the other, as the parts of one checkpoint."""
    tally = Tally(quantisation=quantisation_of(config, side))
    for number, tensors in enumerate(files):
        tally.add(read_safetensors(hollow(*safetensors(tensors), f"{number}.safetensors")))
    return facts_of(tally)


def gguf_facts(tensors: list[Spec]) -> CheckpointFacts:
    tally = Tally()
    tally.add(read_gguf(hollow(*gguf(tensors), "m.gguf")))
    return facts_of(tally)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("model.layers.3.self_attn.q_proj.weight", "attention"),
        ("model.layers.3.linear_attn.in_proj_qkvz.weight", "attention"),
        ("backbone.layers.5.mixer.q_proj.weight", "attention"),
        ("backbone.layers.4.mixer.in_proj.weight", "attention"),
        ("backbone.layers.7.mixer.experts.12.up_proj.weight", "experts"),
        ("backbone.layers.7.mixer.up_proj.weight", "mlp"),
        ("blk.0.attn_q.weight", "attention"),
        ("blk.0.attn_q_norm.weight", "attention"),
        ("blk.0.attn_norm.weight", "other"),
        ("blk.0.ffn_norm.weight", "other"),
        ("blk.0.ffn_up.weight", "mlp"),
        ("blk.0.ffn_up_exps.weight", "experts"),
        ("blk.0.ffn_up_shexp.weight", "mlp"),
        ("blk.0.ffn_gate_inp.weight", "mlp"),
        ("blk.61.nextn.eh_proj.weight", "mtp"),
        ("model.layers.3.mlp.experts.17.gate_proj.weight", "experts"),
        ("model.layers.3.mlp.experts.gate_up_proj_blocks", "experts"),
        ("model.layers.3.block_sparse_moe.experts.0.w1.weight", "experts"),
        ("model.layers.3.mlp.shared_experts.up_proj.weight", "mlp"),
        ("model.layers.3.mlp.shared_expert_gate.weight", "mlp"),
        ("model.layers.3.mlp.gate.weight", "mlp"),
        ("layers.0.ffn.experts.3.w1.weight", "experts"),
        ("layers.0.attn.wq_a.weight", "attention"),
        ("mtp.0.attn.wq_a.weight", "mtp"),
        ("mtp.layers.0.mlp.experts.3.up_proj.weight", "mtp"),
        ("model.mtp_layers.0.mlp.up_proj.weight", "mtp"),
        ("ngram_embedding.shard_0", "ple"),
        ("model.language_model.embed_tokens_per_layer.weight", "ple"),
        ("per_layer_token_embd.weight", "ple"),
        ("model.embed_tokens.weight", "embeddings"),
        ("token_embd.weight", "embeddings"),
        ("lm_head.weight", "head"),
        ("output.weight", "head"),
        ("output_norm.weight", "other"),
        ("model.norm.weight", "other"),
        ("model.layers.0.post_attention_layernorm.weight", "other"),
        ("vision_tower.blocks.0.attn.qkv.weight", "vision"),
        ("model.visual.blocks.0.attn.qkv.weight", "vision"),
        ("multi_modal_projector.linear_1.weight", "vision"),
        ("v.blk.0.attn_q.weight", "vision"),
        ("people.sample.weight", "other"),
    ],
)
def test_a_tensor_belongs_to_a_part_by_its_name(name: str, part: Part) -> None:
    assert part_of(name) == part


def moe(layer: int, *, experts: int, dtype: str = "BF16") -> list[Spec]:
    return [(f"model.layers.{layer}.mlp.experts.{e}.up_proj.weight", dtype, (4, 6)) for e in range(experts)]


def test_bytes_parameters_and_experts_add_up_over_files() -> None:
    found = facts(
        [("model.embed_tokens.weight", "BF16", (10, 4)), *moe(0, experts=3)],
        [
            *moe(1, experts=3),
            ("model.norm.weight", "F32", (4,)),
            ("model.layers.0.self_attn.q_proj.weight", "BF16", (4, 4)),
        ],
    )
    # 10 x 4 + 2 layers x 3 experts x 4 x 6 + 4 x 4 = 200 values of two bytes, and 4 of four.
    assert (found.files, found.tensors) == (2, 9)
    assert (found.stored_elements, found.parameters, found.tensor_bytes) == (204, 204, 416)
    assert dict(found.bytes_by_dtype) == {"BF16": 400, "F32": 16}
    assert dict(found.bytes_by_part) == {"attention": 32, "experts": 288, "embeddings": 80, "other": 16}
    assert (found.experts_per_layer, found.moe_layers) == ((3,), 2)
    assert found.packed == ()


def test_a_layer_that_predicts_further_tokens_is_known_by_what_only_it_has() -> None:
    """DeepSeek V3 numbers it as one more layer; its experts are no layer more, and its parts are its own."""
    found = facts(
        [
            *moe(60, experts=2),
            *moe(61, experts=2),
            ("model.layers.61.self_attn.q_proj.weight", "BF16", (4, 4)),
        ],
        [
            ("model.layers.61.eh_proj.weight", "BF16", (4, 8)),
            ("model.layers.61.embed_tokens.weight", "BF16", (9, 4)),
        ],
    )
    # 48 values of two experts, 16, 32 and 36, of two bytes each.
    assert dict(found.bytes_by_part) == {"experts": 96, "mtp": 2 * (48 + 16 + 32 + 36)}
    assert (found.moe_layers, found.dtype_by_part["mtp"]) == (1, "BF16")
    assert found.parameters_by_part["mtp"] == 132


NVFP4: list[Spec] = [
    ("model.layers.0.mlp.experts.0.up_proj.weight", "U8", (64, 16)),
    ("model.layers.0.mlp.experts.0.up_proj.weight_scale", "F8_E4M3", (64, 2)),
    ("model.layers.0.mlp.experts.0.up_proj.weight_scale_2", "F32", ()),
    ("model.layers.0.mlp.experts.0.up_proj.input_scale", "F32", ()),
]


def packed(found: CheckpointFacts) -> list[tuple[str, int, int | None]]:
    return [(each.dtype, each.size_bytes, each.values_per_element) for each in found.packed]


def test_pairs_of_4_bit_values_are_no_parameters() -> None:
    found = facts(NVFP4)
    # 64 x 32 weights stand in 64 x 16 bytes, with a scale for 16 of them.
    assert (found.stored_elements, found.parameters) == (64 * 16 + 128 + 2, 64 * 32)
    assert found.packed == (
        Packed(part="experts", dtype="U8", modules=1, size_bytes=1024, values_per_element=2),
    )
    assert found.bytes_by_part["experts"] == 1024 + 128 + 8


def test_a_module_may_lie_across_two_files() -> None:
    assert facts(NVFP4[1:], NVFP4[:1]).parameters == 2048


def test_mxfp4_as_gpt_oss_and_deepseek_v4_store_it() -> None:
    found = facts(
        [
            ("model.layers.0.mlp.experts.gate_up_proj_blocks", "U8", (4, 8, 3, 16)),
            ("model.layers.0.mlp.experts.gate_up_proj_scales", "U8", (4, 8, 3)),
            ("model.layers.0.mlp.experts.gate_up_proj_bias", "BF16", (4, 8)),
        ],
        [
            ("layers.1.ffn.experts.0.w1.weight", "I8", (8, 32)),
            ("layers.1.ffn.experts.0.w1.scale", "F8_E8M0", (8, 2)),
        ],
    )
    # 4 experts of 8 x 96, their bias, and 8 x 64 in pairs.
    assert found.parameters == 4 * 8 * 96 + 32 + 8 * 64
    assert packed(found) == [("U8", 1536, 2), ("I8", 256, 2)]
    assert found.experts_per_layer == (1, 4)


def test_int8_and_fp8_hold_one_value_each() -> None:
    found = facts(
        [("a.weight", "I8", (8, 32)), ("a.weight_scale", "F32", (8, 1))],
        [("b.weight", "F8_E4M3", (256, 256)), ("b.weight_scale_inv", "F32", (2, 2))],
    )
    assert (found.parameters, found.packed) == (8 * 32 + 256 * 256, ())


def test_pairs_that_bitsandbytes_marks() -> None:
    found = facts(
        [
            ("a.weight", "U8", (128, 1)),
            ("a.weight.absmax", "U8", (4,)),
            ("a.weight.quant_state.bitsandbytes__nf4", "U8", (70,)),
        ]
    )
    assert (found.parameters, packed(found)) == (256, [("U8", 128, 2)])


GPTQ: list[Spec] = [
    ("a.qweight", "I32", (8, 32)),
    ("a.qzeros", "I32", (1, 4)),
    ("a.scales", "F16", (1, 32)),
    ("a.g_idx", "I32", (64,)),
]


def test_values_in_32_bits_need_a_config_that_says_how_wide_they_are() -> None:
    found = facts(GPTQ)
    assert (found.parameters, packed(found)) == (None, [("I32", 1024, None)])
    assert (
        found.parameters_why
        == "neither scales nor a config say how many values an element of 'a.qweight' holds"
    )
    assert values(found, gpus=None)["packed"] is None
    said = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 64}}
    told = facts(GPTQ, config=said)
    assert (told.parameters, packed(told)) == (8 * 8 * 32, [("I32", 1024, 8)])
    assert told.quantisation is not None
    assert told.quantisation.scheme == "int4 g64"


def test_bytes_without_scales_are_not_taken_for_pairs_nor_for_values() -> None:
    assert facts([("a.weight", "U8", (8, 8))]).parameters is None


def test_tables_of_indices_are_no_parameters() -> None:
    tables: list[Spec] = [("position_ids", "I64", (1, 512)), ("layers.0.ffn.gate.tid2eid", "I32", (9, 6))]
    assert facts([*tables, ("a.weight", "BF16", (2, 2))]).parameters == 4


def test_integers_under_a_name_that_is_not_known_may_hold_anything() -> None:
    """ExLlama's third format keeps its weights in a trellis of 16 bits, of which no scale tells the width."""
    found = facts([("a.trellis", "I32", (4, 4, 48)), ("a.suh", "F16", (64,))])
    assert (found.parameters, packed(found)) == (None, [("I32", 3072, None)])
    assert (
        facts([("a.trellis", "I32", (4, 4, 48))], config={"quantization_config": {"bits": 4}}).parameters
        is None
    )


def test_stacked_experts_without_a_suffix_are_unpacked_by_their_scales() -> None:
    name = "model.layers.0.mlp.experts.gate_up_proj"
    found = facts([(name, "U8", (4, 32, 16)), (f"{name}_weight_scale", "F8_E4M3", (4, 32, 2))])
    assert (found.parameters, found.experts_per_layer) == (4 * 32 * 32, (4,))


def test_mlx_keeps_scales_and_biases_beside_its_values() -> None:
    tensors: list[Spec] = [
        ("a.weight", "I32", (8, 8)),
        ("a.scales", "F16", (8, 1)),
        ("a.biases", "F16", (8, 1)),
    ]
    assert facts(tensors, config={"quantization": {"bits": 4, "group_size": 64}}).parameters == 8 * 64


def test_experts_of_a_gguf_stand_last_in_the_shape() -> None:
    found = gguf_facts(
        [
            ("blk.0.ffn_up_exps.weight", "Q4_K", (256, 4, 16)),
            ("blk.0.ffn_gate_inp.weight", "F32", (256, 16)),
            ("token_embd.weight", "Q6_K", (256, 10)),
        ]
    )
    assert (found.experts_per_layer, found.moe_layers) == ((16,), 1)
    assert found.parameters == 256 * 4 * 16 + 256 * 16 + 2560
    assert dict(found.bytes_by_dtype) == {"F32": 16384, "Q4_K": 64 * 144, "Q6_K": 2100}


def test_what_does_not_belong_together_is_refused() -> None:
    with pytest.raises(HeaderError, match="'a' stands in another file too"):
        facts([("a", "U8", (1,))], [("a", "U8", (1,))])
    tally = Tally()
    tally.add(read_safetensors(hollow(*safetensors([("a", "U8", (1,))]))))
    with pytest.raises(HeaderError, match="it is gguf; all files of this checkpoint are safetensors"):
        tally.add(read_gguf(hollow(*gguf([("n", "F32", (1,))]))))


def test_every_named_fact_has_a_value_of_its_kind_or_none() -> None:
    types = {"yes_no": bool, "text": str, "texts": frozenset, "none": type(None)}
    for found in (facts(NVFP4), facts(GPTQ), gguf_facts([("n", "F32", (1,))])):
        named = values(found, gpus=2)
        assert named.keys() == kinds(gpus=2).keys()
        for name, kind in kinds(gpus=2).items():
            value = named[name]
            assert value is None or (kind in {"number", "bytes"} or isinstance(value, types[kind])), name
    assert all(fact.meaning.endswith(".") for fact in FACTS.values())
    assert "weights_per_gpu_bytes" not in kinds(gpus=None)


def said(config: dict[str, Any] | None, side: Any = None) -> Any:
    found = quantisation_of(config, side)
    assert found is not None
    return found


def test_nothing_said_is_nothing_known() -> None:
    assert quantisation_of(None) is None
    assert quantisation_of({"model_type": "llama"}) is None


def test_fp8_in_blocks_with_modules_left_out() -> None:
    config = {
        "quantization_config": {
            "quant_method": "fp8",
            "weight_block_size": [128, 128],
            "modules_to_not_convert": ["gate", "lm_head", "model.layers.0.mlp"],
        }
    }
    found = said(config)
    assert (found.method, found.scheme, found.bits, found.kv_cache) == ("fp8", "fp8 128x128", None, "")
    for module in ("model.layers.3.mlp.gate", "lm_head", "model.layers.0.mlp.up_proj"):
        assert found.scheme_of(module) == "not quantised", module
    for module in ("model.layers.3.mlp.gate_proj", "model.layers.10.mlp.up_proj", "lm_head2"):
        assert found.scheme_of(module) == "fp8 128x128", module


def test_mxfp4_with_wildcards_inside() -> None:
    config = {
        "quantization_config": {
            "quant_method": "mxfp4",
            "modules_to_not_convert": ["model.layers.*.self_attn"],
        }
    }
    assert said(config).scheme_of("model.layers.7.self_attn.q_proj") == "not quantised"
    assert said(config).scheme_of("model.layers.7.mlp.experts.gate_up_proj") == "mxfp4"


def test_compressed_tensors_with_expressions() -> None:
    config = {
        "text_config": {
            "quantization_config": {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {
                        "targets": ["Linear"],
                        "weights": {"num_bits": 4, "group_size": 32, "type": "int"},
                    }
                },
                "ignore": ["lm_head", "re:.*self_attn.*", r"re:.*mlp\.(gate|up|gate_up|down)_proj.*"],
            }
        }
    }
    found = said(config)
    assert (found.scheme, found.bits) == ("int4 g32", 4)
    assert found.scheme_of("model.layers.0.mlp.gate_up_proj") == "not quantised"
    assert found.scheme_of("model.layers.0.self_attn.o_proj") == "not quantised"
    assert found.scheme_of("model.layers.1.mlp.experts.3.up_proj") == "int4 g32"
    assert found.kept.unread == ()


def test_a_scheme_for_each_module_with_the_file_beside_the_config() -> None:
    side = {
        "producer": {"name": "modelopt"},
        "quantization": {
            "quant_algo": "MIXED_PRECISION",
            "kv_cache_quant_algo": "FP8",
            "quantized_layers": {
                "layers.0.ffn.experts": {"quant_algo": "NVFP4"},
                "layers.0.attn.q": {"quant_algo": "FP8"},
            },
            "exclude_modules": ["mtp*", "*.shared_experts.*"],
        },
    }
    found = said(None, side)
    assert (found.method, found.scheme, found.kv_cache) == ("modelopt", "", "FP8")
    modules = ("layers.0.ffn.experts.3.w1", "layers.0.attn.q", "layers.1.attn.q", "mtp.0.attn.q")
    assert [found.scheme_of(module) for module in modules] == [
        "nvfp4",
        "fp8",
        "not quantised",
        "not quantised",
    ]
    assert values(facts(NVFP4, side=side), gpus=None)["quant_scheme"] == "by module"


def test_what_the_config_says_stands_beside_what_is_stored() -> None:
    config = {
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}
    }
    tensors = [*NVFP4, ("lm_head.weight", "BF16", (4, 4)), ("mtp.fc.weight", "BF16", (4, 4))]
    assert dict(facts(tensors, config=config).modules) == {
        ("experts", "nvfp4", "U8"): 1,
        ("head", "not quantised", "BF16"): 1,
        # The config forgets that this repack left its MTP head in bf16; the file does not.
        ("mtp", "nvfp4", "BF16"): 1,
    }


@pytest.mark.parametrize(
    "text",
    [
        "re:(a+)+$",
        "re:[ab]*",
        "re:a{3}",
        "re:.*\\d+",
        "re:(?=x)",
        "x" * 201,
        7,
        "",
        "re:(" + "|".join("ab" * 40) + ")",
    ],
)
def test_an_expression_that_is_not_understood_is_said_and_not_run(text: object) -> None:
    found = patterns_of([text])
    assert len(found.unread) == 1
    assert not found.match("a" * 400)


def test_a_pattern_cannot_run_away() -> None:
    """Ten thousand modules against two hundred wildcards that nearly match; a backtracking one never ends."""
    found = patterns_of(["re:" + ".*a" * 40 + "b"] * 50 + ["*a" * 40 + "b"] * 50)
    assert not any(found.match("a" * 300) for _ in range(20))


@pytest.mark.parametrize(
    "config",
    [
        {"quantization_config": 7},
        {"quantization_config": {"config_groups": [1], "ignore": 3, "quant_method": None, "bits": "4"}},
        {"quantization_config": {"config_groups": {"g": 1}, "quantized_layers": {"a": 2}, "bits": True}},
        {"quantization_config": {"quant_method": "fp8", "weight_block_size": [[], {}]}},
        {"text_config": 5},
    ],
)
def test_a_config_of_wrong_kinds_says_nothing(config: dict[str, Any]) -> None:
    json.dumps(config)
    found = quantisation_of(config)
    assert found is None or found.bits is None


NAMES = (
    "quantization_config",
    "quantization",
    "config_groups",
    "weights",
    "num_bits",
    "bits",
    "group_size",
    "ignore",
)
MORE_NAMES = (
    "targets",
    "quant_method",
    "quant_algo",
    "quantized_layers",
    "text_config",
    "rope_scaling",
    "type",
    "factor",
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.just("yarn"),
    st.just("re:.*a"),
)
ANY = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES + MORE_NAMES), inner, max_size=4)
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(NAMES + MORE_NAMES), ANY, max_size=5), ANY)
def test_any_config_is_read_or_says_nothing(config: dict[str, Any], side: Any) -> None:
    found = quantisation_of(config, {"quantization": side})
    if found is not None:
        assert found.scheme_of("model.layers.0.mlp.up_proj")
    assert context_of(config).why
