"""How many parameters the blocks of a transformer have, and what their recurrent layers keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from app.domain.llms.profile import Attention

QkNorm = Literal["none", "per_head", "per_layer"]

_STATE_BYTES = 4
_CONV_BYTES = 2


def attention_params(
    hidden: int,
    group: Attention,
    *,
    qkv_bias: bool = False,
    out_bias: bool = False,
    qk_norm: QkNorm = "none",
    gated: bool = False,
) -> int:
    """Return the parameters of one layer with query, key, value and output projections.

    `gated` doubles the query projection, whose second half gates the output.
    """
    q = group.q_heads * group.head_dim_k
    k, v = group.kv_heads * group.head_dim_k, group.kv_heads * group.head_dim_v
    out = group.q_heads * group.head_dim_v
    q_out = 2 * q if gated else q
    params = hidden * (q_out + k + v) + out * hidden
    params += (q_out + k + v) * qkv_bias + hidden * out_bias
    return params + {"none": 0, "per_head": 2 * group.head_dim_k, "per_layer": q + k}[qk_norm]


def mla_params(hidden: int, group: Attention, *, q_lora_rank: int, gated: bool = False) -> int:
    """Return the parameters of one layer of latent attention, with the norms of both latents.

    Without `q_lora_rank` (0) the queries are projected at once. `gated` gates the output by a projection.
    """
    q = group.q_heads * group.head_dim_k
    nope = group.head_dim_k - group.rope_head_dim
    queries = hidden * q_lora_rank + q_lora_rank + q_lora_rank * q if q_lora_rank else hidden * q
    latent = hidden * (group.kv_lora_rank + group.rope_head_dim) + group.kv_lora_rank
    up = group.kv_lora_rank * group.q_heads * (nope + group.head_dim_v)
    out = group.q_heads * group.head_dim_v * hidden
    return queries + latent + up + out * (2 if gated else 1)


def indexer_params(hidden: int, *, q_lora_rank: int, heads: int, head_dim: int) -> int:
    """Return the parameters of one sparse indexer: queries, one key with its norm, and head weights."""
    return q_lora_rank * heads * head_dim + hidden * head_dim + 2 * head_dim + hidden * heads


def gated_mlp_params(hidden: int, intermediate: int) -> int:
    """Return the parameters of gate, up and down projections without biases."""
    return 3 * hidden * intermediate


def delta_net_params(
    hidden: int, *, key_heads: int, value_heads: int, key_dim: int, value_dim: int, conv: int
) -> int:
    """Return the parameters of one gated DeltaNet layer."""
    keys, values = key_heads * key_dim, value_heads * value_dim
    projections = hidden * (2 * keys + 2 * values) + 2 * hidden * value_heads + values * hidden
    return projections + (2 * keys + values) * conv + 2 * value_heads + value_dim


def delta_net_state_bytes(
    *, key_heads: int, value_heads: int, key_dim: int, value_dim: int, conv: int
) -> int:
    """Return the bytes that one gated DeltaNet layer keeps for a sequence."""
    inputs = 2 * key_heads * key_dim + value_heads * value_dim
    return value_heads * key_dim * value_dim * _STATE_BYTES + inputs * (conv - 1) * _CONV_BYTES


def kda_params(hidden: int, *, heads: int, head_dim: int, conv: int, full_rank_gate: bool) -> int:
    """Return the parameters of one Kimi delta attention layer; its decay, and its gate, go by a low rank."""
    width = heads * head_dim
    projections = 4 * hidden * width + 3 * width * conv
    decay = hidden * head_dim + head_dim * width + width + heads
    gate = hidden * width if full_rank_gate else hidden * head_dim + head_dim * width
    return projections + decay + gate + hidden * heads + head_dim


def kda_state_bytes(*, heads: int, head_dim: int, conv: int) -> int:
    """Return the bytes that one Kimi delta attention layer keeps for a sequence."""
    return heads * head_dim**2 * _STATE_BYTES + 3 * heads * head_dim * (conv - 1) * _CONV_BYTES


def mamba2_params(hidden: int, *, heads: int, head_dim: int, groups: int, state: int, conv: int) -> int:
    """Return the parameters of one Mamba-2 layer whose convolution has a bias."""
    inner, inputs = heads * head_dim, heads * head_dim + 2 * groups * state
    projections = hidden * (inner + inputs + heads) + inner * hidden
    return projections + inputs * (conv + 1) + 3 * heads + inner


def mamba2_state_bytes(*, heads: int, head_dim: int, groups: int, state: int, conv: int) -> int:
    """Return the bytes that one Mamba-2 layer keeps for a sequence."""
    inputs = heads * head_dim + 2 * groups * state
    return heads * head_dim * state * _STATE_BYTES + inputs * (conv - 1) * _CONV_BYTES
