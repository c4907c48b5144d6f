"""How many parameters the towers in front of a language model have; decoding reads none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.domain.llms.configs.reading import Config


def siglip_params(vision: Config, *, hidden: int) -> int:
    """Return the parameters of a SigLIP tower and of Gemma 3's projection into the language model."""
    width = vision.whole("hidden_size")
    layers = vision.layers() * _layer(width, vision.whole("intermediate_size"))
    patches = (vision.whole("image_size") // vision.whole("patch_size")) ** 2
    embeddings = _patches(vision, width) + width + patches * width
    return layers + embeddings + 2 * width + width * hidden + width


def pixtral_params(vision: Config, *, hidden: int, merge: int) -> int:
    """Return the parameters of a Pixtral tower, without biases, and of Mistral's merger and projector."""
    width = vision.whole("hidden_size")
    layer = 4 * width**2 + 3 * width * vision.whole("intermediate_size") + 2 * width
    projector = width + merge**2 * width**2 + width * hidden + hidden**2
    return vision.layers() * layer + _patches(vision, width) + width + projector


def qwen_params(vision: Config) -> int:
    """Return the parameters of the tower of Qwen3-VL and Qwen3.5, with its mergers."""
    width, out = vision.whole("hidden_size"), vision.whole("out_hidden_size")
    layers = vision.whole("depth") * _layer(width, vision.whole("intermediate_size"))
    patches = _patches(vision, width) * vision.whole("temporal_patch_size") + width
    positions = vision.whole("num_position_embeddings") * width
    merged = vision.whole("spatial_merge_size") ** 2 * width
    merger = merged * (merged + 1) + merged * out + out
    deep = len(vision.numbers("deepstack_visual_indexes")) * (merger + 2 * merged)
    return layers + patches + positions + merger + 2 * width + deep


def moonvit_params(vision: Config, *, hidden: int) -> int:
    """Return the parameters of Kimi K2.5's tower and of its projector."""
    width = vision.whole("vt_hidden_size")
    layers = vision.whole("vt_num_hidden_layers") * _layer(width, vision.whole("vt_intermediate_size"))
    positions = vision.whole("init_pos_emb_height") * vision.whole("init_pos_emb_width") * width
    across, down = vision.numbers("merge_kernel_size", length=2)
    merged = across * down * width
    projector = 2 * width + merged * (merged + 1) + merged * hidden + hidden
    return layers + _patches(vision, width) + width + positions + 2 * width + projector


def llama4_params(vision: Config, *, hidden: int) -> int:
    """Return the parameters of Llama 4's tower, adapter and projector; pixels are shuffled by half."""
    width, out = vision.whole("hidden_size"), vision.whole("projector_output_dim")
    layers = vision.layers() * _layer(width, vision.whole("intermediate_size"))
    patches = (vision.whole("image_size") // vision.whole("patch_size")) ** 2 + 1
    embeddings = _patches(vision, width) + width + patches * width + 4 * width
    return layers + embeddings + 4 * width * out + out**2 + out * hidden


def gemma4_vision_params(vision: Config, *, hidden: int) -> int:
    """Return the parameters of Gemma 4's tower, which has no biases, and of its projection."""
    width = vision.whole("hidden_size")
    mlp = 3 * width * vision.whole("intermediate_size")
    layer = 4 * width**2 + mlp + 4 * width + 2 * vision.whole("head_dim")
    positions = 2 * vision.whole("position_embedding_size") * width
    standard = 2 * width * vision.flag("standardize")
    return vision.layers() * layer + _patches(vision, width) + positions + width * hidden + standard


def _layer(width: int, intermediate: int) -> int:
    """Return the parameters of a layer with biases everywhere and two layer norms."""
    return 4 * (width**2 + width) + 2 * width * intermediate + intermediate + width + 4 * width


def _patches(vision: Config, width: int) -> int:
    """Return the weights that turn a patch of three colours into a token."""
    return 3 * vision.whole("patch_size") ** 2 * width
