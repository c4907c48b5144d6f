"""DeepSeek V4: layers that keep one entry for several tokens, and residual streams that are mixed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from app.domain.llms.configs.assemble import Experts, assemble
from app.domain.llms.configs.blocks import gated_mlp_params
from app.domain.llms.profile import COMPRESSED_BYTES_PER_TOKEN, Attention

if TYPE_CHECKING:
    from app.domain.llms.configs.reading import Config
    from app.domain.llms.profile import LlmProfile

_INDEXED: Final = 4
"""The ratio whose layers choose entries by an index; their compressors look at two blocks at once."""

_NOTES: Final = (
    "what a token adds to the cache was read from one public calculator and is not checked",
    "the compressors' own state, fixed for a sequence, is not counted",
)


def read_deepseek_v4(document: Config, family: str) -> LlmProfile:
    """Read a DeepSeek V4. Its counts agree to the unit with the elements in the files of Flash and Pro."""
    document.never("attention_bias")
    layers, hidden = document.layers(), document.whole("hidden_size")
    ratios = Counter(document.numbers("compress_ratios", length=layers))
    experts, attention = _experts(document, layers), _attention(document)
    streams = document.whole("hc_mult", most=64)
    mixing = 2 * (streams * (streams + 2) * (streams * hidden + 1) + 3)
    last_mixing = streams * (streams * hidden + 1) + 1
    hashed = document.whole_or(0, "num_hash_layers")
    if hashed > layers:
        raise document.error("num_hash_layers", f"at most the {layers} layers of the model")
    layer = attention + experts.layer + document.whole("n_routed_experts") + mixing + 2 * hidden
    table = document.whole("vocab_size") * experts.per_token
    return assemble(
        document,
        family=family,
        attention=(_group(document, ratio, count) for ratio, count in sorted(ratios.items())),
        parts={
            "hash routing": hashed * table,
            "attention": layers * attention
            + sum(count * _compressor(document, ratio) for ratio, count in ratios.items()),
            "indexer": ratios[_INDEXED] * _indexer(document),
            "norms": (2 * layers + 1) * hidden + layers * mixing + last_mixing,
            "router": (layers - hashed) * experts.count,
            "MTP layers": document.whole_or(0, "num_nextn_predict_layers")
            * (layer + 2 * hidden**2 + 3 * hidden + last_mixing),
        },
        experts=experts,
        notes=_NOTES,
    )


def _group(document: Config, ratio: int, layers: int) -> Attention:
    """Return the layers of one ratio; those of ratio 0 keep a window alone, whose keys are the values too."""
    if ratio and ratio not in COMPRESSED_BYTES_PER_TOKEN:
        known = ", ".join(map(str, COMPRESSED_BYTES_PER_TOKEN))
        raise document.error("compress_ratios", f"0 or one of {known}")
    head_dim = document.whole("head_dim")
    topk = document.whole("index_topk") if ratio == _INDEXED else 0
    return Attention(
        kind="compressed" if ratio else "window",
        layers=layers,
        q_heads=document.whole("num_attention_heads"),
        kv_heads=document.whole("num_key_value_heads"),
        head_dim_k=head_dim,
        head_dim_v=head_dim if ratio else 0,
        window=document.whole("sliding_window"),
        rope_head_dim=document.whole("qk_rope_head_dim"),
        indexer_layers=layers if ratio == _INDEXED else 0,
        read_tokens=topk * ratio or None,
        compress_ratio=ratio,
    )


def _attention(document: Config) -> int:
    """Return the parameters of one layer: queries and output by low rank, one key for all heads, sinks."""
    hidden, heads = document.whole("hidden_size"), document.whole("num_attention_heads")
    width, head_dim = heads * document.whole("head_dim"), document.whole("head_dim")
    q_rank, o_rank = document.whole("q_lora_rank"), document.whole("o_lora_rank")
    queries = hidden * q_rank + q_rank + q_rank * width
    out = width * o_rank + document.whole("o_groups") * o_rank * hidden
    return queries + hidden * head_dim + head_dim + out + heads


def _compressor(document: Config, ratio: int) -> int:
    if not ratio:
        return 0
    return _compressor_params(document.whole("hidden_size"), document.whole("head_dim"), ratio=ratio)


def _compressor_params(hidden: int, head_dim: int, *, ratio: int) -> int:
    width = 2 * head_dim if ratio == _INDEXED else head_dim
    return 2 * hidden * width + ratio * width + head_dim


def _indexer(document: Config) -> int:
    hidden, heads = document.whole("hidden_size"), document.whole("index_n_heads")
    head_dim = document.whole("index_head_dim")
    queries = document.whole("q_lora_rank") * heads * head_dim + hidden * heads
    return queries + _compressor_params(hidden, head_dim, ratio=_INDEXED)


def _experts(document: Config, layers: int) -> Experts:
    """Return the experts; the bias of those layers that do not route by a hash stands beside them."""
    hidden, count = document.whole("hidden_size"), document.whole("n_routed_experts")
    expert = gated_mlp_params(hidden, document.whole("moe_intermediate_size"))
    return Experts(
        layers=layers,
        count=count,
        per_token=document.whole("num_experts_per_tok"),
        expert=expert,
        shared=document.whole_or(0, "n_shared_experts") * expert,
        router=count * hidden,
    )
