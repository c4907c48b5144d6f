"""NVIDIA's Nemotron: hybrids of Mamba-2, attention, MLP and experts, and the Llama with blocks left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.configs.assemble import Experts, assemble
from app.domain.llms.configs.blocks import (
    attention_params,
    gated_mlp_params,
    mamba2_params,
    mamba2_state_bytes,
)
from app.domain.llms.configs.plain import heads, layers_of
from app.domain.llms.profile import Recurrent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.llms.configs.reading import Config
    from app.domain.llms.profile import Attention, LlmProfile

_BLOCKS: Final[Mapping[str, str]] = MappingProxyType({"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"})
_MOST_WIDE: Final = 64
_ROUNDED_TO: Final = 256
"""A block's MLP is as wide as a multiple of this, as the family's own code has it."""


def read_nemotron_h(document: Config, family: str) -> LlmProfile:
    """Read a hybrid; its blocks stand in `hybrid_override_pattern` or, by name, in `layers_block_type`."""
    blocks = _blocks(document, "hybrid_override_pattern", "layers_block_type")
    if document.has("num_hidden_layers") and document.layers() != len(blocks):
        raise document.error("num_hidden_layers", f"{len(blocks)}, the number of blocks in the pattern")
    hidden, count = document.whole("hidden_size"), Counter(blocks)
    group = layers_of(count["attention"], heads(document))
    attention = attention_params(hidden, group)
    experts = _experts(document, count["moe"]) if count["moe"] else None
    shape = _mamba_shape(document) if count["mamba"] else None
    return assemble(
        document,
        family=family,
        layers=len(blocks),
        attention=(group,),
        recurrent=(Recurrent(layers=count["mamba"], state_bytes=mamba2_state_bytes(**shape)),)
        if shape
        else (),
        parts={
            "attention": count["attention"] * attention,
            "recurrent layers": count["mamba"] * mamba2_params(hidden, **shape) if shape else 0,
            "dense MLP": count["mlp"] and count["mlp"] * 2 * hidden * document.whole("intermediate_size"),
            "norms": (len(blocks) + 1) * hidden,
            "MTP layers": _mtp(document, attention, experts),
        },
        experts=experts,
    )


def _mtp(document: Config, attention: int, experts: Experts | None) -> int:
    """Return the parameters of the layers that predict further tokens, whose blocks stand in two fields."""
    layers = document.whole_or(0, "num_nextn_predict_layers")
    if not layers:
        return 0
    hidden = document.whole("hidden_size")
    blocks = _blocks(document, "mtp_hybrid_override_pattern", "mtp_layers_block_type")
    of = {"attention": attention, "moe": experts.layer if experts else 0}
    if not set(blocks) <= set(of):
        raise document.error("mtp_layers_block_type", "attention and moe alone")
    return layers * (sum(of[block] + hidden for block in blocks) + 2 * hidden**2 + 3 * hidden)


def _blocks(document: Config, pattern: str, names: str) -> tuple[str, ...]:
    """Return the kind of each block, from letters in one field or names in the other."""
    letters = document.text(pattern)
    if not letters:
        return document.words(names, tuple(_BLOCKS.values()))
    if not set(letters) <= set(_BLOCKS):
        raise document.error(pattern, "letters M (Mamba), * (attention), - (MLP) and E (experts)")
    return tuple(_BLOCKS[letter] for letter in letters)


def _mamba_shape(document: Config) -> dict[str, int]:
    return {
        "heads": document.whole("mamba_num_heads"),
        "head_dim": document.whole("mamba_head_dim"),
        "groups": document.whole("n_groups"),
        "state": document.whole("ssm_state_size"),
        "conv": document.whole("conv_kernel"),
    }


def _experts(document: Config, layers: int) -> Experts:
    """Return the experts of two matrices each, of a latent width when there is one, and the shared one."""
    hidden, count = document.whole("hidden_size"), document.whole("n_routed_experts")
    latent = document.whole_or(0, "moe_latent_size")
    shared = document.whole_or(0, "n_shared_experts") * document.whole("moe_shared_expert_intermediate_size")
    return Experts(
        layers=layers,
        count=count,
        per_token=document.whole("num_experts_per_tok"),
        expert=2 * (latent or hidden) * document.whole("moe_intermediate_size"),
        shared=2 * hidden * shared + 2 * hidden * latent,
        router=count * hidden,
    )


@dataclass(frozen=True, slots=True)
class _Block:
    kv_heads: int
    width: int


def read_nemotron_nas(document: Config, family: str) -> LlmProfile:
    """Read a Llama whose blocks differ: some without attention, with key heads and MLPs of many sizes."""
    document.never("attention_bias", "mlp_bias")
    layers, hidden = document.layers(), document.whole("hidden_size")
    blocks = [_block(each, document) for each in document.sections("block_configs", length=layers)]
    groups = _groups(document, blocks)
    attention = sum(group.layers * attention_params(hidden, group) for group in groups)
    with_attention = sum(group.layers for group in groups)
    with_mlp = sum(block.width > 0 for block in blocks)
    return assemble(
        document,
        family=family,
        attention=groups,
        parts={
            "attention": attention,
            "dense MLP": sum(gated_mlp_params(hidden, block.width) for block in blocks),
            "norms": (with_attention + with_mlp + 1) * hidden,
        },
    )


def _groups(document: Config, blocks: Sequence[_Block]) -> tuple[Attention, ...]:
    q_heads = document.whole("num_attention_heads")
    head_dim = document.whole_or(document.whole("hidden_size") // q_heads, "head_dim")
    counted = Counter(block.kv_heads for block in blocks if block.kv_heads)
    return tuple(
        layers_of(layers, (q_heads, kv_heads, head_dim)) for kv_heads, layers in sorted(counted.items())
    )


def _block(block: Config, document: Config) -> _Block:
    """Return the key heads and the MLP's width of one block, 0 for what is left out."""
    attention, ffn = block.section("attention"), block.section("ffn")
    attention.never("replace_with_linear", "sparsify", "window_length", "num_sink_tokens", "unshifted_sink")
    ffn.never("replace_with_linear", "sparsify")
    q_heads = document.whole("num_attention_heads")
    kept = not attention.flag("no_op")
    kv_heads = q_heads // attention.whole("n_heads_in_group", most=q_heads) if kept else 0
    width = 0 if ffn.flag("no_op") else _width(ffn, document.whole("hidden_size"))
    return _Block(kv_heads, width)


def _width(ffn: Config, hidden: int) -> int:
    """Return two thirds of twice the hidden size, times the factor, rounded up as Llama's code did."""
    factor = ffn.values.get("ffn_mult")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor <= _MOST_WIDE:
        raise ffn.error("ffn_mult", f"a number above 0, at most {_MOST_WIDE}")
    width = int(2 * Decimal(str(factor)) * hidden / 3)
    return -(-width // _ROUNDED_TO) * _ROUNDED_TO
