"""Qwen3-Next and Qwen3.5: gated DeltaNet layers with some of full attention between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.llms.configs.assemble import assemble
from app.domain.llms.configs.blocks import (
    attention_params,
    delta_net_params,
    delta_net_state_bytes,
    gated_mlp_params,
)
from app.domain.llms.configs.plain import attention_groups, moe_layers, read_experts
from app.domain.llms.configs.reading import text_config
from app.domain.llms.configs.vision import qwen_params
from app.domain.llms.profile import Recurrent

if TYPE_CHECKING:
    from app.domain.llms.configs.reading import Config
    from app.domain.llms.profile import LlmProfile

_LAYER_TYPES = ("full_attention", "linear_attention")


def read_qwen_hybrid(document: Config, family: str) -> LlmProfile:
    """Read a model of this kind; its attention gates its output, its shared expert has a gate of its own."""
    text = text_config(document)
    text.never("attention_bias")
    layers, hidden = text.layers(), text.whole("hidden_size")
    full = _full_layers(text, layers)
    groups = attention_groups(text, (False,) * full)
    experts = read_experts(text, moe_layers(text, layers), shared_gate=True)
    dense = layers - (experts.layers if experts else 0)
    layer_mlp = gated_mlp_params(hidden, text.whole("intermediate_size")) if dense else 0
    shape = _delta_shape(text)
    attention = sum(attention_params(hidden, group, gated=True, qk_norm="per_head") for group in groups)
    mtp_layers = text.whole_or(0, "mtp_num_hidden_layers")
    mtp_layer = attention + (experts.layer if experts else layer_mlp) + 2 * hidden
    return assemble(
        document,
        family=family,
        attention=groups,
        recurrent=(Recurrent(layers=layers - full, state_bytes=delta_net_state_bytes(**shape)),),
        parts={
            "attention": full * attention,
            "recurrent layers": (layers - full) * delta_net_params(hidden, **shape),
            "dense MLP": dense * layer_mlp,
            "norms": (2 * layers + 1) * hidden,
            "MTP layers": mtp_layers and mtp_layers * mtp_layer + 2 * hidden**2 + 3 * hidden,
            "vision tower": qwen_params(document.section("vision_config"))
            if document.has("vision_config")
            else 0,
        },
        experts=experts,
        notes=()
        if mtp_layers
        else ("a layer that predicts further tokens may be in the files; not counted",),
    )


def _full_layers(text: Config, layers: int) -> int:
    """Return how many layers keep keys and values."""
    if text.has("layer_types"):
        return text.words("layer_types", _LAYER_TYPES, length=layers).count(_LAYER_TYPES[0])
    return layers // text.whole("full_attention_interval")


def _delta_shape(text: Config) -> dict[str, int]:
    return {
        "key_heads": text.whole("linear_num_key_heads"),
        "value_heads": text.whole("linear_num_value_heads"),
        "key_dim": text.whole("linear_key_head_dim"),
        "value_dim": text.whole("linear_value_head_dim"),
        "conv": text.whole("linear_conv_kernel_dim"),
    }
