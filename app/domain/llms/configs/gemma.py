"""Gemma 3 and 4: mostly layers with a window, some of all tokens that may have heads of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.llms.configs.assemble import Experts, assemble
from app.domain.llms.configs.blocks import attention_params, gated_mlp_params
from app.domain.llms.configs.plain import attention_groups, layers_of, named_sliding
from app.domain.llms.configs.reading import text_config
from app.domain.llms.configs.vision import gemma4_vision_params, siglip_params

if TYPE_CHECKING:
    from app.domain.llms.configs.reading import Config
    from app.domain.llms.profile import Attention, LlmProfile

_PATTERN = 6
_NORMS = 4
_NORMS_WITH_EXPERTS = 7


def read_gemma3(document: Config, family: str) -> LlmProfile:
    """Read a Gemma 3: every sixth layer keeps all tokens unless the config says otherwise."""
    text = text_config(document)
    text.never("attention_bias")
    text.whole("head_dim")
    layers, hidden = text.layers(), text.whole("hidden_size")
    pattern = "sliding_window_pattern"
    every = text.whole(pattern) if text.has(pattern) else _PATTERN
    if text.has("layer_types"):
        sliding = named_sliding(text, layers)
    else:
        sliding = tuple(bool((number + 1) % every) for number in range(layers))
    groups = attention_groups(text, sliding)
    attention = sum(group.layers * attention_params(hidden, group, qk_norm="per_head") for group in groups)
    vision = (
        siglip_params(document.section("vision_config"), hidden=hidden)
        if document.has("vision_config")
        else 0
    )
    return assemble(
        document,
        family=family,
        attention=groups,
        parts={
            "attention": attention,
            "dense MLP": layers * gated_mlp_params(hidden, text.whole("intermediate_size")),
            "norms": (4 * layers + 1) * hidden,
            "vision tower": vision,
        },
        tied_default=True,
    )


def read_gemma4(document: Config, family: str) -> LlmProfile:
    """Read a Gemma 4, whose layers of all tokens have heads of their own size and number.

    With `attention_k_eq_v` those layers store no value projection; engines keep keys and values all the same.
    With `enable_moe_block` each layer has experts beside its dense MLP. Each layer has one scalar.
    """
    text = text_config(document)
    text.never("attention_bias", "hidden_size_per_layer_input", "num_kv_shared_layers", "use_double_wide_mlp")
    layers, hidden = text.layers(), text.whole("hidden_size")
    groups = _gemma4_groups(text, named_sliding(text, layers))
    experts = _gemma4_experts(text, layers) if text.flag("enable_moe_block") else None
    norms = _NORMS_WITH_EXPERTS if experts else _NORMS
    return assemble(
        document,
        family=family,
        attention=groups,
        parts={
            "attention": sum(group.layers * _gemma4_attention(text, group) for group in groups),
            "dense MLP": layers * gated_mlp_params(hidden, text.whole("intermediate_size")),
            "norms": norms * layers * hidden + layers + hidden,
            "vision tower": _gemma4_vision(document, hidden),
        },
        experts=experts,
        tied_default=True,
    )


def _gemma4_groups(text: Config, sliding: tuple[bool, ...]) -> tuple[Attention, ...]:
    q_heads, windows = text.whole("num_attention_heads"), sum(sliding)
    of_all = text.whole("num_global_key_value_heads", "num_key_value_heads")
    of_window = (q_heads, text.whole("num_key_value_heads"), text.whole("head_dim"))
    return (
        layers_of(len(sliding) - windows, (q_heads, of_all, text.whole("global_head_dim", "head_dim"))),
        layers_of(windows, of_window, kind="window", window=text.whole("sliding_window")),
    )


def _gemma4_attention(text: Config, group: Attention) -> int:
    hidden = text.whole("hidden_size")
    params = attention_params(hidden, group, qk_norm="per_head")
    without_values = group.kind == "full" and text.flag("attention_k_eq_v")
    return params - hidden * group.kv_heads * group.head_dim_v * without_values


def _gemma4_experts(text: Config, layers: int) -> Experts:
    hidden, count = text.whole("hidden_size"), text.whole("num_experts")
    return Experts(
        layers=layers,
        count=count,
        per_token=text.whole("top_k_experts"),
        expert=gated_mlp_params(hidden, text.whole("moe_intermediate_size")),
        router=count * hidden + hidden + count,
    )


def _gemma4_vision(document: Config, hidden: int) -> int:
    if not document.has("vision_config"):
        return 0
    vision = document.section("vision_config")
    vision.never("attention_bias", "use_clipped_linears")
    return gemma4_vision_params(vision, hidden=hidden)
