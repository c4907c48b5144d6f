"""Configs of tiny models, with the keys of real ones and sizes of our own, and the tensors they stand for."""

from collections.abc import Iterable
from math import prod
from typing import Any

Shapes = list[tuple[int, ...]]

PLAIN: dict[str, Any] = {
    "hidden_size": 8,
    "intermediate_size": 10,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
    "vocab_size": 20,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
QKVO: Shapes = [(24, 8), (12, 8), (12, 8), (8, 24)]
MLP: Shapes = [(10, 8), (10, 8), (8, 10)]
NORMS: Shapes = [(8,), (8,)]
TABLE: Shapes = [(20, 8)]

EXPERTS: dict[str, Any] = {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 7}
EXPERT: Shapes = [(7, 8), (7, 8), (8, 7)]

LATENT: dict[str, Any] = {
    **PLAIN,
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_key_value_heads": 4,
    "q_lora_rank": 5,
    "kv_lora_rank": 9,
    "qk_nope_head_dim": 3,
    "qk_rope_head_dim": 2,
    "v_head_dim": 4,
    "first_k_dense_replace": 1,
    "n_routed_experts": 5,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 7,
    "topk_method": "noaux_tc",
    "num_nextn_predict_layers": 1,
}
MLA: Shapes = [(5, 8), (5,), (4 * 5, 5), (9 + 2, 8), (9,), (4 * (3 + 4), 9), (8, 4 * 4)]


MAMBA: dict[str, Any] = {
    "mamba_num_heads": 3,
    "mamba_head_dim": 4,
    "n_groups": 2,
    "ssm_state_size": 5,
    "conv_kernel": 4,
    "n_routed_experts": 5,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 7,
    "moe_shared_expert_intermediate_size": 9,
    "num_hidden_layers": 5,
}

GEMMA4_TEXT: dict[str, Any] = {
    **PLAIN,
    "sliding_window": 16,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
    "num_global_key_value_heads": 1,
    "global_head_dim": 9,
    "attention_k_eq_v": True,
}

MIMO_V2: dict[str, Any] = {
    "v_head_dim": 4,
    "swa_num_attention_heads": 4,
    "swa_num_key_value_heads": 4,
    "swa_head_dim": 6,
    "swa_v_head_dim": 4,
    "sliding_window": 16,
    "hybrid_layer_pattern": [0, 1, 1],
    "moe_layer_freq": [0, 1, 1],
    "add_swa_attention_sink_bias": True,
    "n_routed_experts": 5,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 7,
}

GPT_OSS: dict[str, Any] = {
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "sliding_window": 16,
    "attention_bias": True,
    "num_local_experts": 5,
    "experts_per_token": 2,
    "intermediate_size": 7,
    "quantization_config": {"quant_method": "mxfp4"},
}

DEEPSEEK_V4: dict[str, Any] = {
    "num_hidden_layers": 4,
    "num_key_value_heads": 1,
    "qk_rope_head_dim": 2,
    "q_lora_rank": 5,
    "o_lora_rank": 3,
    "o_groups": 2,
    "index_n_heads": 3,
    "index_head_dim": 4,
    "index_topk": 32,
    "sliding_window": 16,
    "hc_mult": 2,
    "num_hash_layers": 1,
    "compress_ratios": [0, 4, 4, 128, 0],
    "n_routed_experts": 5,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 7,
}

LLAMA4_TEXT: dict[str, Any] = {
    **PLAIN,
    "num_hidden_layers": 8,
    "attention_chunk_size": 32,
    "interleave_moe_layer_step": 2,
    "intermediate_size": 7,
    "intermediate_size_mlp": 10,
    "num_local_experts": 5,
    "num_experts_per_tok": 1,
}

DELTA_TEXT: dict[str, Any] = {
    **PLAIN,
    "num_hidden_layers": 4,
    "full_attention_interval": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 3,
    "linear_key_head_dim": 4,
    "linear_value_head_dim": 5,
    "linear_conv_kernel_dim": 4,
    "mtp_num_hidden_layers": 1,
}

VISION: dict[str, Any] = {
    "hidden_size": 4,
    "intermediate_size": 6,
    "depth": 2,
    "patch_size": 2,
    "temporal_patch_size": 3,
    "num_position_embeddings": 10,
    "spatial_merge_size": 2,
    "out_hidden_size": 8,
    "deepstack_visual_indexes": [0],
}


def of(architecture: str, model_type: str, **keys: Any) -> dict[str, Any]:
    """Return the plain config under a family's name, with keys changed or added."""
    return {**PLAIN, "architectures": [architecture], "model_type": model_type, **keys}


def around(architecture: str, model_type: str, text: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Return a config whose language model stands in an object of its own."""
    return {"architectures": [architecture], "model_type": model_type, "text_config": text, **keys}


def elements(*tensors: Iterable[tuple[int, ...]]) -> int:
    """Count the elements of tensors."""
    return sum(prod(shape) for shapes in tensors for shape in shapes)


_BLOCK: dict[str, Any] = {
    "attention": {"n_heads_in_group": 4, "no_op": False},
    "ffn": {"ffn_mult": 1.5, "no_op": False},
}

EACH_KIND: list[dict[str, Any]] = [
    of("LlamaForCausalLM", "llama"),
    of("Qwen3MoeForCausalLM", "qwen3_moe", mlp_only_layers=[0], **EXPERTS),
    LATENT,
    of("GptOssForCausalLM", "gpt_oss", **GPT_OSS),
    of("MiMoV2FlashForCausalLM", "mimo_v2_flash", **MIMO_V2),
    of("DeepseekV4ForCausalLM", "deepseek_v4", **DEEPSEEK_V4),
    of(
        "NemotronHForCausalLM",
        "nemotron_h",
        hybrid_override_pattern="ME*-M",
        mtp_hybrid_override_pattern="*E",
        num_nextn_predict_layers=1,
        **MAMBA,
    ),
    of("DeciLMForCausalLM", "nemotron-nas", block_configs=[_BLOCK] * 3),
    around("Llama4ForConditionalGeneration", "llama4", LLAMA4_TEXT),
    around("Gemma3ForConditionalGeneration", "gemma3", {**GEMMA4_TEXT, "sliding_window_pattern": 2}),
    around("Gemma4ForConditionalGeneration", "gemma4", GEMMA4_TEXT),
    around("Qwen3_5ForConditionalGeneration", "qwen3_5", DELTA_TEXT, vision_config=VISION),
]
"""One config of each kind of reader."""
