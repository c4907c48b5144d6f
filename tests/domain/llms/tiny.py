"""Configs of tiny models, with the keys of real ones and sizes of our own, and the tensors they stand for."""

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


def of(architecture: str, model_type: str, **keys: Any) -> dict[str, Any]:
    """Return the plain config under a family's name, with keys changed or added."""
    return {**PLAIN, "architectures": [architecture], "model_type": model_type, **keys}


def elements(*tensors: Shapes) -> int:
    """Count the elements of tensors."""
    return sum(prod(shape) for shapes in tensors for shape in shapes)
