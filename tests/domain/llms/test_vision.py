"""Towers of tiny sizes against their tensors, listed one by one; decoding reads none of them."""

from typing import Any

import pytest

from app.domain.llms.configs import read_config
from tests.domain.llms.tiny import LATENT, PLAIN, VISION, Shapes, elements

# A layer of width 4 and MLP 6: four projections and two layers with biases, two layer norms.
LAYER: Shapes = [*4 * [(4, 4), (4,)], (6, 4), (6,), (4, 6), (4,), *4 * [(4,)]]
SIZES = {"hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 2, "patch_size": 2}
MERGER: Shapes = [(16, 16), (16,), (8, 16), (8,)]
LLAMA4 = {
    "attention_chunk_size": 32,
    "interleave_moe_layer_step": 1,
    "num_local_experts": 5,
    "num_experts_per_tok": 1,
}


@pytest.mark.parametrize(
    ("names", "text", "vision", "tensors"),
    [
        (
            ("Gemma3ForConditionalGeneration", "gemma3"),
            {"sliding_window": 16},
            {**SIZES, "image_size": 6},
            [*2 * LAYER, (4, 3, 2, 2), (4,), (9, 4), (4,), (4,), (4, 8), (4,)],
        ),
        (
            ("Mistral3ForConditionalGeneration", "mistral3"),
            {},
            {**SIZES, "model_type": "pixtral"},
            [
                *2 * [*4 * [(4, 4)], (6, 4), (6, 4), (4, 6), (4,), (4,)],
                *[(4, 3, 2, 2), (4,), (4,), (4, 16), (8, 4), (8, 8)],
            ],
        ),
        (
            ("Qwen3VLForConditionalGeneration", "qwen3_vl"),
            {},
            VISION,
            [*2 * LAYER, (4, 3, 3, 2, 2), (4,), (10, 4), (4,), (4,), *MERGER, (16,), (16,), *MERGER],
        ),
        (
            ("Gemma4ForConditionalGeneration", "gemma4"),
            {"sliding_window": 16, "layer_types": ["full_attention"] * 3},
            {**SIZES, "head_dim": 2, "position_embedding_size": 5, "standardize": True},
            [
                *2 * [*4 * [(4, 4)], (6, 4), (6, 4), (4, 6), *4 * [(4,)], (2,), (2,)],
                *[(4, 12), (2, 5, 4), (8, 4), (4,), (4,)],
            ],
        ),
        (
            ("Llama4ForConditionalGeneration", "llama4"),
            LLAMA4,
            {**SIZES, "image_size": 6, "projector_output_dim": 5},
            [*2 * LAYER, (4, 12), (4,), (10, 4), *4 * [(4,)], (5, 16), (5, 5), (8, 5)],
        ),
    ],
)
def test_the_tensors_of_a_tower(
    names: tuple[str, str], text: dict[str, Any], vision: dict[str, Any], tensors: Shapes
) -> None:
    profile = read_config(
        {
            "architectures": [names[0]],
            "model_type": names[1],
            "spatial_merge_size": 2,
            "text_config": {**PLAIN, **text},
            "vision_config": vision,
        }
    )
    (tower,) = (part for part in profile.parts if part.name == "vision tower")
    assert (tower.params, tower.read) == (elements(tensors), "not_decoding")


def test_the_tower_of_kimi() -> None:
    vision = {
        "vt_hidden_size": 4,
        "vt_intermediate_size": 6,
        "vt_num_hidden_layers": 2,
        "patch_size": 2,
        "init_pos_emb_height": 3,
        "init_pos_emb_width": 5,
        "merge_kernel_size": [2, 2],
    }
    names = {"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25"}
    profile = read_config({**names, "text_config": LATENT, "vision_config": vision})
    (tower,) = (part.params for part in profile.parts if part.name == "vision tower")
    ends: Shapes = [(4, 3, 2, 2), (4,), (3, 5, 4), (4,), (4,)]
    assert tower == elements(2 * LAYER, ends, [(4,), (4,)], MERGER)
