"""Models with layers that keep a window or a chunk of tokens: gpt-oss, Llama 4 and MiMo-V2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.llms.configs.assemble import Experts, assemble
from app.domain.llms.configs.blocks import attention_params, gated_mlp_params
from app.domain.llms.configs.plain import (
    attention_groups,
    heads,
    layers_of,
    moe_layers,
    read_experts,
    sliding_layers,
)
from app.domain.llms.configs.reading import text_config
from app.domain.llms.configs.vision import llama4_params
from app.domain.llms.profile import Attention

if TYPE_CHECKING:
    from app.domain.llms.configs.reading import Config
    from app.domain.llms.profile import LlmProfile

_FULL_EVERY = 4
_NO_TOWER = "the config does not describe the vision tower that the files hold; not counted"
_NO_MTP = "the files hold layers that predict further tokens, of which the config says nothing; not counted"


def read_gpt_oss(document: Config, family: str) -> LlmProfile:
    """Read a gpt-oss: biases everywhere, a sink for each query head, experts in all layers."""
    layers, hidden = document.layers(), document.whole("hidden_size")
    groups = attention_groups(document, sliding_layers(document, layers))
    bias = document.flag("attention_bias", default=True)
    attention = (
        group.layers * (attention_params(hidden, group, qkv_bias=bias, out_bias=bias) + group.q_heads)
        for group in groups
    )
    width, count = document.whole("intermediate_size"), document.whole("num_local_experts")
    experts = Experts(
        layers=layers,
        count=count,
        per_token=document.whole("num_experts_per_tok", "experts_per_token"),
        expert=gated_mlp_params(hidden, width) + 2 * width + hidden,
        router=count * hidden + count,
    )
    parts = {"attention": sum(attention), "norms": (2 * layers + 1) * hidden}
    return assemble(document, family=family, attention=groups, parts=parts, experts=experts)


def read_llama4(document: Config, family: str) -> LlmProfile:
    """Read a Llama 4: three of four layers keep a chunk, every so many have experts and one shared."""
    text = text_config(document)
    text.never("attention_bias")
    layers, hidden = text.layers(), text.whole("hidden_size")
    groups = _llama4_groups(text, layers)
    width, step = text.whole("intermediate_size"), text.whole("interleave_moe_layer_step")
    count, with_experts = text.whole("num_local_experts"), layers // step
    expert = gated_mlp_params(hidden, width)
    experts = Experts(
        layers=with_experts,
        count=count,
        per_token=text.whole("num_experts_per_tok"),
        expert=expert,
        shared=expert,
        router=count * hidden,
    )
    dense = layers - with_experts
    tower = document.has("vision_config")
    return assemble(
        document,
        family=family,
        attention=groups,
        parts={
            "attention": sum(group.layers * attention_params(hidden, group) for group in groups),
            "dense MLP": dense and dense * gated_mlp_params(hidden, text.whole("intermediate_size_mlp")),
            "norms": (2 * layers + 1) * hidden,
            "vision tower": llama4_params(document.section("vision_config"), hidden=hidden) if tower else 0,
        },
        experts=experts,
        notes=() if tower else (_NO_TOWER,),
    )


def _llama4_groups(text: Config, layers: int) -> tuple[Attention, ...]:
    if text.has("no_rope_layers"):
        chunked = sum(number > 0 for number in text.numbers("no_rope_layers", length=layers))
    else:
        chunked = layers - layers // _FULL_EVERY
    chunk = text.whole("attention_chunk_size")
    return (
        layers_of(layers - chunked, heads(text)),
        layers_of(chunked, heads(text), kind="chunked", window=chunk),
    )


def read_mimo_v2(document: Config, family: str) -> LlmProfile:
    """Read a MiMo-V2: keys wider than values, and other heads and sinks in the layers with a window."""
    document.never("attention_bias")
    layers, hidden = document.layers(), document.whole("hidden_size")
    windows = sum(number > 0 for number in document.numbers("hybrid_layer_pattern", length=layers))
    full = Attention(
        kind="full",
        layers=layers - windows,
        q_heads=document.whole("num_attention_heads"),
        kv_heads=document.whole("num_key_value_heads"),
        head_dim_k=document.whole("head_dim"),
        head_dim_v=document.whole("v_head_dim"),
    )
    window = Attention(
        kind="window",
        layers=windows,
        q_heads=document.whole("swa_num_attention_heads"),
        kv_heads=document.whole("swa_num_key_value_heads"),
        head_dim_k=document.whole("swa_head_dim"),
        head_dim_v=document.whole("swa_v_head_dim"),
        window=document.whole("sliding_window"),
    )
    sinks = windows * window.q_heads * document.flag("add_swa_attention_sink_bias")
    sinks += full.layers * full.q_heads * document.flag("add_full_attention_sink_bias")
    experts = read_experts(document, moe_layers(document, layers), router_bias=True)
    dense = layers - (experts.layers if experts else 0)
    return assemble(
        document,
        family=family,
        attention=(full, window),
        parts={
            "attention": sum(group.layers * attention_params(hidden, group) for group in (full, window))
            + sinks,
            "dense MLP": dense and dense * gated_mlp_params(hidden, document.whole("intermediate_size")),
            "norms": (2 * layers + 1) * hidden,
        },
        experts=experts,
        notes=(_NO_MTP,),
    )
