"""Models whose layers all have queries, keys and values by head, with dense layers or experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from app.domain.llms.configs.assemble import Experts, assemble
from app.domain.llms.configs.blocks import attention_params, gated_mlp_params
from app.domain.llms.configs.reading import text_config
from app.domain.llms.configs.vision import pixtral_params, qwen_params
from app.domain.llms.profile import Attention

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.domain.llms.configs.blocks import QkNorm
    from app.domain.llms.configs.reading import Config
    from app.domain.llms.profile import AttentionKind, LlmProfile

_LAYER_TYPES = ("full_attention", "sliding_attention")
Mtp = Literal["none", "layers", "with tables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What a family's configs do not say of it.

    `attention_bias` gives queries, keys and values a bias, and the output too unless `out_bias` is false;
    `qkv_bias` says that they have one anyhow. `window_by_switch`: a window holds only when switched on, from
    a layer on, as Qwen has it; else in all layers. `mtp` says what the files hold of the layers that predict
    further tokens: nothing, the layers alone, or for each the embedding and the head once more.
    """

    qkv_bias: bool = False
    out_bias: bool = True
    qk_norm: QkNorm = "none"
    router_bias: bool = False
    window_by_switch: bool = False
    head_dim_stated: bool = False
    mtp: Mtp = "none"
    notes: tuple[str, ...] = ()


def read_plain(document: Config, family: str, *, style: Style) -> LlmProfile:
    """Read a model of this kind; see `Style` for what differs between families."""
    text = text_config(document)
    text.never("mlp_bias")
    if style.head_dim_stated:
        text.whole("head_dim")
    layers, hidden = text.layers(), text.whole("hidden_size")
    groups = attention_groups(text, sliding_layers(text, layers, by_switch=style.window_by_switch))
    experts = read_experts(text, moe_layers(text, layers), router_bias=style.router_bias)
    count = _attention_counter(text, style)
    dense = layers - (experts.layers if experts else 0)
    width = text.whole("dense_intermediate_size", "intermediate_size") if dense else 0
    layer_mlp = gated_mlp_params(hidden, width)
    last = count(groups[0]) + (experts.layer if experts else layer_mlp)
    parts = {
        "attention": sum(group.layers * count(group) for group in groups),
        "dense MLP": dense * layer_mlp,
        "norms": (2 * layers + 1) * hidden,
        "MTP layers": mtp_params(text, last, holds=style.mtp),
        "vision tower": _vision(document, hidden),
    }
    return assemble(
        document, family=family, attention=groups, parts=parts, experts=experts, notes=style.notes
    )


def attention_groups(text: Config, sliding: Sequence[bool]) -> tuple[Attention, ...]:
    """Return the layers that keep all tokens and those that keep a window, in this order."""
    of, windows = heads(text), sum(sliding)
    groups = [layers_of(len(sliding) - windows, of)]
    if windows:
        groups.append(layers_of(windows, of, kind="window", window=text.whole("sliding_window")))
    return tuple(group for group in groups if group.layers)


def layers_of(
    layers: int, of: tuple[int, int, int], *, kind: AttentionKind = "full", window: int | None = None
) -> Attention:
    """Return a group of layers whose keys and values have heads of one size; `of` is as `heads` gives it."""
    q_heads, kv_heads, head_dim = of
    return Attention(
        kind=kind,
        layers=layers,
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim_k=head_dim,
        head_dim_v=head_dim,
        window=window,
    )


def heads(text: Config) -> tuple[int, int, int]:
    """Return the query heads, the heads of keys and values, and the size of a head."""
    q_heads = text.whole("num_attention_heads")
    head_dim = text.whole_or(0, "head_dim")
    if not head_dim and text.whole("hidden_size") % q_heads:
        raise text.error("head_dim", "the size of a head, as hidden_size is no multiple of the heads")
    return (
        q_heads,
        text.whole_or(q_heads, "num_key_value_heads"),
        head_dim or text.whole("hidden_size") // q_heads,
    )


def sliding_layers(text: Config, layers: int, *, by_switch: bool = False) -> tuple[bool, ...]:
    """Tell for each layer whether it keeps a window of tokens."""
    if by_switch and not text.flag("use_sliding_window"):
        return (False,) * layers
    if text.has("layer_types"):
        return named_sliding(text, layers)
    first = text.whole("max_window_layers", least=0) if by_switch else 0
    return tuple(text.has("sliding_window") and number >= first for number in range(layers))


def named_sliding(text: Config, layers: int) -> tuple[bool, ...]:
    """Tell for each layer whether `layer_types`, which must be there, says that it keeps a window."""
    kinds = text.words("layer_types", _LAYER_TYPES, length=layers)
    return tuple(kind == "sliding_attention" for kind in kinds)


def moe_layers(text: Config, layers: int) -> int:
    """Return how many layers have experts, none of a config that names none."""
    if not any(map(text.has, ("num_experts", "num_local_experts", "n_routed_experts"))):
        return 0
    if isinstance(text.values.get("moe_layer_freq"), list):
        return sum(number > 0 for number in text.numbers("moe_layer_freq", length=layers))
    dense = text.whole_or(0, "first_k_dense_replace")
    step = text.whole_or(1, "decoder_sparse_step", "moe_layer_freq")
    only = set(text.numbers("mlp_only_layers")) if text.has("mlp_only_layers") else set()
    sparse = (number for number in range(dense, layers) if step and not (number + 1) % step)
    return sum(number not in only for number in sparse)


def read_experts(
    text: Config, layers: int, *, router_bias: bool = False, shared_gate: bool = False
) -> Experts | None:
    """Return the experts of gated MLPs, None without such layers."""
    if not layers:
        return None
    hidden = text.whole("hidden_size")
    count = text.whole("num_experts", "num_local_experts", "n_routed_experts")
    width = text.whole("moe_intermediate_size", "intermediate_size")
    shared = text.whole_or(0, "n_shared_experts", "num_shared_experts") * width
    shared = text.whole_or(
        shared, "shared_expert_intermediate_size", "shared_intermediate_size", "share_expert_dim"
    )
    return Experts(
        layers=layers,
        count=count,
        per_token=text.whole("num_experts_per_tok", "num_experts_per_token", "experts_per_token"),
        expert=gated_mlp_params(hidden, width),
        shared=gated_mlp_params(hidden, shared) + (hidden if shared_gate else 0),
        router=count * hidden + (count if router_bias else 0),
    )


def _attention_counter(text: Config, style: Style) -> Callable[[Attention], int]:
    hidden, biased = text.whole("hidden_size"), text.flag("attention_bias")
    by_switch = style.qk_norm == "none" and text.flag("use_qk_norm")

    def count(group: Attention) -> int:
        return attention_params(
            hidden,
            group,
            qkv_bias=biased or style.qkv_bias,
            out_bias=biased and style.out_bias,
            qk_norm="per_head" if by_switch else style.qk_norm,
        )

    return count


def mtp_params(text: Config, layer: int, *, holds: Mtp) -> int:
    """Return the parameters of the layers that predict further tokens, each like `layer` of the model.

    Each joins two hidden states by a projection; it has norms for both, two of its own and one at its end.
    """
    if holds == "none":
        return 0
    hidden = text.whole("hidden_size")
    own = 2 * text.whole("vocab_size") * hidden if holds == "with tables" else 0
    each = layer + 2 * hidden**2 + 5 * hidden + own
    return text.whole_or(0, "num_nextn_predict_layers") * each


def _vision(document: Config, hidden: int) -> int:
    if not document.has("vision_config"):
        return 0
    vision = document.section("vision_config")
    if vision.text("model_type") == "pixtral":
        return pixtral_params(vision, hidden=hidden, merge=document.whole("spatial_merge_size"))
    return qwen_params(vision)
