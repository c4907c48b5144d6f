"""What the experts of known models and of configs measure in a GGUF, by their published configs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from app.domain.llms.configs import FAMILIES
from app.domain.llms.facts import load_llms
from app.domain.query_error import QueryError
from app.domain.serving.expert_mix import experts_of_mix, read_mix
from app.domain.serving.expert_shape import SETTLED_FAMILIES, shape_of_config, shape_of_profile
from tests.domain.llms.tiny import LATENT, MAMBA, PLAIN
from tests.domain.serving.test_expert_cache_vectors import SHARED

QWEN: dict[str, Any] = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "vocab_size": 151_936,
    "max_position_embeddings": 40_960,
}
LLAMA4: dict[str, Any] = {
    **PLAIN,
    "architectures": ["Llama4ForConditionalGeneration"],
    "model_type": "llama4",
    "num_hidden_layers": 7,
    "intermediate_size_mlp": 20,
    "interleave_moe_layer_step": 3,
    "num_local_experts": 4,
    "num_experts_per_tok": 1,
    "attention_chunk_size": 16,
}


@pytest.mark.parametrize(
    ("llm_id", "columns", "width", "experts", "used", "layers", "blocks"),
    [
        ("Qwen/Qwen3-30B-A3B", 2048, 768, 128, 8, range(48), 48),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 2048, 512, 512, 10, range(48), 48),
        ("Qwen/Qwen3.5-35B-A3B", 2048, 512, 256, 8, range(41), 41),
        ("deepseek-ai/DeepSeek-V3", 7168, 2048, 256, 8, range(3, 61), 61),
        ("moonshotai/Kimi-K2-Instruct", 7168, 2048, 384, 8, range(1, 61), 61),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 2304, 1024, 256, 8, range(1, 27), 27),
        ("mistralai/Mistral-Large-3-675B-Base-2512", 7168, 4096, 128, 4, range(3, 61), 61),
        ("zai-org/GLM-4.5-Air", 4096, 1408, 128, 8, range(1, 47), 47),
        ("zai-org/GLM-5", 6144, 2048, 256, 8, range(3, 79), 79),
        ("openai/gpt-oss-20b", 2880, 2880, 32, 4, range(24), 24),
        ("mistralai/Mixtral-8x7B-v0.1", 4096, 14336, 8, 2, range(32), 32),
        ("google/gemma-4-26B-A4B", 2816, 704, 128, 8, range(30), 30),
        ("MiniMaxAI/MiniMax-M2.5", 3072, 1536, 256, 8, range(62), 62),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 5120, 8192, 16, 1, range(48), 48),
        ("meta-llama/Llama-4-Maverick-17B-128E-Instruct", 5120, 8192, 128, 1, range(1, 48, 2), 48),
    ],
)
def test_a_row_of_the_table_says_the_shape(
    llm_id: str, columns: int, width: int, experts: int, used: int, layers: range, blocks: int
) -> None:
    """The widths and layers are those of the models' config.json; GLM-4.5-Air's log says 47 blocks."""
    shape = shape_of_profile(load_llms()[llm_id].profile)
    assert (shape.columns, shape.expert_columns, shape.per_layer, shape.used) == (
        columns,
        width,
        experts,
        used,
    )
    assert (shape.layers, shape.blocks) == (tuple(layers), blocks)


def test_every_known_model_has_a_shape_or_a_sentence() -> None:
    shaped: set[str] = set()
    refused: dict[str, str] = {}
    for llm_id, llm in load_llms().items():
        try:
            shape_of_profile(llm.profile)
            shaped.add(llm_id)
        except QueryError as error:
            refused[llm_id] = f"{error.field}: {error.expected}"
    assert len(shaped) + len(refused) == len(load_llms())
    assert {why.partition(":")[0] for why in refused.values()} == {"config"}
    dense = {llm_id for llm_id, why in refused.items() if "a dense model has no use for it" in why}
    assert dense == {llm_id for llm_id, llm in load_llms().items() if not llm.profile.experts}
    assert "not settled here; give a GGUF" in refused["deepseek-ai/DeepSeek-V4-Flash"]
    assert refused["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"].endswith("give a GGUF or its config.json")


def test_deepseek_r1_as_q4_k_m_leaves_the_rest_of_its_file_at_the_bits_of_q4_k_and_q6_k() -> None:
    """376.65 GiB and 671.03 B parameters as llama-bench says of it: ikawrakow/ik_llama.cpp, pull 259."""
    profile = load_llms()["deepseek-ai/DeepSeek-R1"].profile
    experts = experts_of_mix(shape_of_profile(profile), read_mix("q4_k_m")).experts
    rest_bits = 8 * (376.65 * 2**30 - experts.total_bytes) / (671.03e9 - profile.params_routed)
    assert 4.5 < rest_bits < 5.2


def test_a_config_says_the_same_as_its_row() -> None:
    assert shape_of_config(QWEN) == shape_of_profile(load_llms()["Qwen/Qwen3-30B-A3B"].profile)


def test_layers_that_predict_further_tokens_are_counted_or_left_out_as_llama_cpp_does() -> None:
    glm = shape_of_profile(load_llms()["zai-org/GLM-4.5-Air"].profile)
    assert (glm.mtp_layers, glm.notes[0].startswith("llama.cpp's converter writes layer 46")) == ((46,), True)
    deepseek = shape_of_profile(load_llms()["deepseek-ai/DeepSeek-V3"].profile)
    assert deepseek.mtp_layers == ()
    assert "leaves out the layers that predict further tokens" in deepseek.notes[0]
    assert shape_of_config(QWEN).notes == ()


def test_two_layers_that_predict_further_tokens_are_told_from_their_parameters() -> None:
    glm = {**LATENT, "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa"}
    sized = {**glm, "hidden_size": 64, "moe_intermediate_size": 64, "n_routed_experts": 64}
    for count in (0, 1, 2, 3):
        shape = shape_of_config({**sized, "num_nextn_predict_layers": count})
        assert (shape.blocks, len(shape.mtp_layers)) == (3 + count, count)


def test_gate_and_up_are_one_tensor_in_gemma_4_and_two_in_its_nvfp4_repack() -> None:
    gemma = load_llms()["google/gemma-4-26B-A4B"].profile
    assert shape_of_profile(gemma).kinds == ("down", "gate_up")
    repacked = shape_of_profile(replace(gemma, quant_method="modelopt NVFP4"))
    assert (repacked.kinds, repacked.kept) == (("down", "gate", "up"), "NVFP4")


def test_experts_that_a_converter_takes_over_as_they_are() -> None:
    assert shape_of_profile(load_llms()["openai/gpt-oss-20b"].profile).kept == "MXFP4"
    assert shape_of_profile(load_llms()["nvidia/Kimi-K2.6-NVFP4"].profile).kept == "NVFP4"
    assert shape_of_profile(load_llms()["nvidia/Qwen3.6-35B-A3B-NVFP4"].profile).kept == "mixed precision"
    assert shape_of_profile(load_llms()["deepseek-ai/DeepSeek-V3"].profile).kept == ""


def test_a_nemotron_has_experts_where_its_pattern_says_and_no_gate() -> None:
    document = {
        **PLAIN,
        **MAMBA,
        "architectures": ["NemotronHForCausalLM"],
        "model_type": "nemotron_h",
        "num_hidden_layers": 5,
        "hybrid_override_pattern": "ME*ME",
    }
    shape = shape_of_config(document)
    assert (shape.layers, shape.blocks, shape.kinds) == ((1, 4), 5, ("down", "up"))
    assert (shape.columns, shape.expert_columns) == (8, 7)
    further = {"num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": "*E", "moe_latent_size": 6}
    with_further = shape_of_config({**document, **further})
    assert (with_further.layers, with_further.blocks, with_further.columns) == ((1, 4, 5), 6, 6)
    with pytest.raises(QueryError, match=r"llama\.cpp converts one layer that predicts further tokens"):
        shape_of_config({**document, **further, "num_nextn_predict_layers": 2})


def test_a_llama_4_has_experts_in_every_so_many_layers() -> None:
    shape = shape_of_config(LLAMA4)
    # Of seven layers the third and the sixth.
    assert (shape.layers, shape.expert_columns) == ((2, 5), 10)
    assert shape_of_config({**LLAMA4, "moe_layers": [2, 5]}).layers == (2, 5)
    with pytest.raises(QueryError, match="moe_layers and interleave_moe_layer_step 3 name different layers"):
        shape_of_config({**LLAMA4, "moe_layers": [0, 5]})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"mlp_only_layers": [0]}, "47 of 48 layers have experts, and llama.cpp reads this family with"),
        ({"decoder_sparse_step": 2}, "24 of 48 layers have experts"),
        ({"num_experts": None}, "it has no experts: the MoE cache holds experts, so a dense model"),
        ({"num_experts": 2**63}, "num_experts: '9223372036854775808' is not right"),
        ({"moe_intermediate_size": 0}, "moe_intermediate_size: '0' is not right"),
        ({"hidden_size": -1}, "hidden_size: '-1' is not right"),
        ({"num_hidden_layers": 1_000_000}, "num_hidden_layers: '1000000' is not right"),
        ({"num_experts_per_tok": 129}, "num_experts_per_tok: '129' is not right"),
        ({"architectures": ["NoSuchModel"], "model_type": "none"}, "no reader knows this family"),
    ],
)
def test_a_config_without_a_plan_ends_in_a_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(QueryError) as refused:
        shape_of_config({**QWEN, **wrong})
    assert sentence in str(refused.value)


def test_dense_layers_between_those_with_experts_are_refused() -> None:
    base = {**LATENT, "first_k_dense_replace": 0, "num_nextn_predict_layers": 0}
    assert shape_of_config({**base, "moe_layer_freq": [0, 1, 1]}).layers == (1, 2)
    for freq in ([1, 0, 1], 2):
        with pytest.raises(QueryError, match="moe_layer_freq puts dense layers between those with experts"):
            shape_of_config({**base, "moe_layer_freq": freq})


def test_the_settled_families_are_families() -> None:
    assert set(SETTLED_FAMILIES) <= {family.name for family in FAMILIES}


@pytest.mark.skipif(not SHARED.is_dir(), reason="not run: ../shared is not here")
def test_configs_at_hand_say_what_their_rows_say() -> None:
    compared = 0
    for path in sorted((SHARED / "models" / "configs").glob("*.json")):
        llm = load_llms().get(path.stem.replace("--", "/"))
        beside = path.with_suffix(".hf_quant_config.json")
        if llm is None or llm.profile.family not in SETTLED_FAMILIES or not llm.profile.experts:
            continue
        if llm.profile.family == "Nemotron-H":
            continue
        quantization = json.loads(beside.read_text()) if beside.is_file() else None
        assert shape_of_config(json.loads(path.read_text()), quantization=quantization) == shape_of_profile(
            llm.profile
        )
        compared += 1
    assert compared >= 25
