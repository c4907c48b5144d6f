"""Which part of a model a tensor belongs to, by its name: one table of rules for all families and formats."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

Part = Literal["mtp", "ple", "vision", "experts", "attention", "mlp", "embeddings", "head", "other"]
"""`ple`: n-gram and per-layer embedding tables; `mlp`: dense and shared experts, and routers."""

PARTS: Final[tuple[Part, ...]] = (
    *("attention", "experts", "mlp", "embeddings", "head", "mtp", "ple", "vision", "other"),
)

LABELS: Final[dict[str, str]] = {
    "attention": "attention and recurrent layers",
    "experts": "routed experts",
    "mlp": "dense and shared MLP, routers",
    "embeddings": "token embedding",
    "head": "output head",
    "mtp": "multi-token prediction",
    "ple": "n-gram and per-layer tables",
    "vision": "vision and audio",
    "other": "norms and the rest",
}

_RULES: Final[tuple[tuple[Part, str], ...]] = (
    # Qwen: mtp.layers.0; MiMo: model.mtp_layers.0; DeepSeek V4: mtp.0; GGUF: blk.61.nextn
    ("mtp", r"(^|\.)(mtp|mtp_\w+|nextn)(\.|$)"),
    # ngram_embedding.shard_0; Gemma 3n: embed_tokens_per_layer; GGUF: per_layer_token_embd
    ("ple", r"(^|[._])(n_?grams?|engrams?|ple)([._]|$)|embed_tokens_per_layer|per_layer_token_embd"),
    # GGUF keeps these in a file of their own: v.blk.0, mm.0, a.blk.0
    (
        "vision",
        r"(^|\.)(vision\w*|visual|audio\w*|(multi_modal|mm|embed_vision)_?projector)(\.|$)|^(v|a|mm)\.",
    ),
    # model.layers.0.mlp.experts.5.up_proj; stacked: mlp.experts.gate_up_proj; GGUF: ffn_up_exps
    ("experts", r"(^|\.)experts(\.|$)|_exps(\.|$)"),
    # Nemotron calls attention, Mamba and MLP alike a mixer.
    ("mlp", r"(^|\.)mixer\.(up_proj|down_proj|gate|shared_experts?|fc1_latent_proj|fc2_latent_proj)(\.|$)"),
    # GGUF: blk.0.attn_q, blk.0.ssm_in; its attn_norm is a norm
    (
        "attention",
        r"(^|\.)(self_attn(ention)?|attn|attention|linear_attn|mixer|mamba|conv)(\.|$)|\.(attn_(?!norm|post)|ssm_)",
    ),
    (
        "mlp",
        r"(^|\.)(mlp|feed_forward|ffn|block_sparse_moe|moe|router|shared_experts?)(\.|$)|\.ffn_(?!norm|post_norm)",
    ),
    (
        "embeddings",
        r"(^|\.)(embed_tokens|word_embeddings|tok_embeddings|token_embd|embeddings?|embed|wte)(\.|$)",
    ),
    ("head", r"(^|\.)(lm_head|head)(\.|$)|^output\.weight$"),
)
"""The first rule that matches counts; what none matches is `other`."""

_COMPILED: Final = tuple((part, re.compile(pattern)) for part, pattern in _RULES)
_LAYER: Final = re.compile(r"(?:^|\.)(?:layers|blk|blocks|h)\.\d+(?=\.)")
_MTP_LAYER: Final = re.compile(r"\.(eh_proj|nextn)(\.|$)")
_EXPERT: Final = re.compile(r"(?:^|\.)experts\.(\d{1,6})\.")
_NUMBER: Final = re.compile(r"\d+")


def part_of(name: str) -> Part:
    """Return the part of a tensor by its name alone.

    The layers that predict further tokens are named as any layer in DeepSeek V3 and GLM: `is_mtp_layer`.
    """
    return _part_of(_NUMBER.sub("0", name))


@lru_cache(maxsize=4096)  # tensors of all layers and experts share a name but for its numbers
def _part_of(name: str) -> Part:
    return next((part for part, pattern in _COMPILED if pattern.search(name)), "other")


def layer_of(name: str) -> str:
    """Return the beginning of a name up to its layer's number, empty outside of layers."""
    found = _LAYER.search(name)
    return name[: found.end()] if found else ""


def is_mtp_layer(name: str) -> bool:
    """Tell whether a tensor is one that only a layer predicting further tokens has."""
    return bool(_MTP_LAYER.search(name))


def expert_of(name: str) -> int | None:
    """Return the number of the routed expert that a tensor belongs to, None where experts are stacked."""
    found = _EXPERT.search(name)
    return int(found[1]) if found else None
