"""Models whose layers keep one latent for all heads: DeepSeek V3 and its kin, GLM-5, Kimi Linear and K3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.llms.configs.assemble import Experts, assemble
from app.domain.llms.configs.blocks import (
    gated_mlp_params,
    indexer_params,
    kda_params,
    kda_state_bytes,
    mla_params,
)
from app.domain.llms.configs.plain import moe_layers, mtp_params, read_experts
from app.domain.llms.configs.reading import text_config
from app.domain.llms.configs.vision import moonvit_params, pixtral_params
from app.domain.llms.profile import Attention, Recurrent

if TYPE_CHECKING:
    from app.domain.llms.configs.plain import Mtp
    from app.domain.llms.configs.reading import Config
    from app.domain.llms.profile import LlmProfile

_INDEXER_TYPES = ("full", "shared")
_K3_NOTES = ("the residual weights between blocks of layers and the vision tower are not counted",)


def read_deepseek_v3(document: Config, family: str, *, mtp: Mtp = "with tables") -> LlmProfile:
    """Read a model of MLA layers and experts, with or without a sparse indexer; `mtp` as in `Style`."""
    text = text_config(document)
    text.never("attention_bias")
    layers, hidden = text.layers(), text.whole("hidden_size")
    own_indexers = _indexers(text, layers)
    group = latent_group(text, layers, indexers=own_indexers)
    experts = read_experts(text, moe_layers(text, layers), router_bias=_has_router_bias(text))
    dense = layers - (experts.layers if experts else 0)
    attention = mla_params(hidden, group, q_lora_rank=text.whole_or(0, "q_lora_rank"))
    indexer = _indexer(text) if own_indexers else 0
    mlp = experts.layer if experts else gated_mlp_params(hidden, text.whole("intermediate_size"))
    parts = {
        "attention": layers * attention,
        "indexer": own_indexers * indexer,
        "dense MLP": dense and dense * gated_mlp_params(hidden, text.whole("intermediate_size")),
        "norms": (2 * layers + 1) * hidden,
        "MTP layers": mtp_params(text, attention + indexer + mlp, holds=mtp),
        "vision tower": _vision(document, hidden),
    }
    return assemble(document, family=family, attention=(group,), parts=parts, experts=experts)


def latent_group(text: Config, layers: int, *, indexers: int = 0) -> Attention:
    """Return the group of MLA layers: what it keeps is one latent and one rotated key for all heads."""
    rope = text.whole("qk_rope_head_dim")
    return Attention(
        kind="mla",
        layers=layers,
        q_heads=text.whole("num_attention_heads"),
        kv_heads=1,
        head_dim_k=text.whole("qk_nope_head_dim") + rope,
        head_dim_v=text.whole("v_head_dim"),
        kv_lora_rank=text.whole("kv_lora_rank"),
        rope_head_dim=rope,
        indexer_layers=indexers,
        read_tokens=text.whole("index_topk") if indexers else None,
    )


def read_kimi_linear(document: Config, family: str) -> LlmProfile:
    """Read a model of Kimi delta attention with some MLA layers between, and experts."""
    text = text_config(document)
    layers, hidden = text.layers(), text.whole("hidden_size")
    linear = text.section("linear_attn_config")
    delta = {"heads": linear.whole("num_heads"), "head_dim": linear.whole("head_dim")}
    conv = linear.whole("short_conv_kernel_size")
    full, recurrent = (len(linear.numbers(key)) for key in ("full_attn_layers", "kda_layers"))
    if full + recurrent != layers:
        raise linear.error("kda_layers", f"with full_attn_layers, the {layers} layers of the model")
    group = latent_group(text, full)
    mla = mla_params(
        hidden, group, q_lora_rank=text.whole_or(0, "q_lora_rank"), gated=text.flag("mla_use_output_gate")
    )
    kda = kda_params(hidden, **delta, conv=conv, full_rank_gate=linear.flag("use_full_rank_gate"))
    experts = _kimi_experts(text, moe_layers(text, layers))
    dense = layers - (experts.layers if experts else 0)
    return assemble(
        document,
        family=family,
        attention=(group,),
        recurrent=(Recurrent(layers=recurrent, state_bytes=kda_state_bytes(**delta, conv=conv)),),
        parts={
            "attention": full * mla,
            "recurrent layers": recurrent * kda,
            "dense MLP": dense and dense * gated_mlp_params(hidden, text.whole("intermediate_size")),
            "norms": (2 * layers + 1) * hidden,
        },
        experts=experts,
        notes=_K3_NOTES if document.has("vision_config") else (),
    )


def _kimi_experts(text: Config, layers: int) -> Experts | None:
    """Return the experts; those of a latent width come with projections into it and out of it, and a norm."""
    experts = read_experts(text, layers, router_bias=True)
    latent = text.whole_or(0, "routed_expert_hidden_size")
    if experts is None or not latent:
        return experts
    hidden = text.whole("hidden_size")
    return Experts(
        layers=layers,
        count=experts.count,
        per_token=experts.per_token,
        expert=gated_mlp_params(latent, text.whole("moe_intermediate_size")),
        shared=experts.shared + 2 * hidden * latent + latent * text.flag("latent_moe_use_norm"),
        router=experts.router,
    )


def _has_router_bias(text: Config) -> bool:
    """Tell whether the router corrects its scores by a bias for each expert."""
    return text.text("topk_method") == "noaux_tc"


def _indexers(text: Config, layers: int) -> int:
    """Return how many layers have an indexer of their own; the others use that of a layer before them."""
    if not text.has("index_topk"):
        return 0
    if not text.has("indexer_types"):
        return layers
    return text.words("indexer_types", _INDEXER_TYPES, length=layers).count("full")


def _indexer(text: Config) -> int:
    return indexer_params(
        text.whole("hidden_size"),
        q_lora_rank=text.whole("q_lora_rank"),
        heads=text.whole("index_n_heads"),
        head_dim=text.whole("index_head_dim"),
    )


def _vision(document: Config, hidden: int) -> int:
    if not document.has("vision_config"):
        return 0
    vision = document.section("vision_config")
    if vision.has("vt_hidden_size"):
        return moonvit_params(vision, hidden=hidden)
    return pixtral_params(vision, hidden=hidden, merge=vision.whole("spatial_merge_size"))
