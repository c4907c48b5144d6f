"""Weights, cache and messages of one GPU when several hold one model together."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from app.domain.llms.profile import LlmProfile
    from app.domain.llms.weights import Weights

AttentionSharding = Literal["tensor", "data"]
"""Each GPU takes some heads of every sequence (tensor), or all heads of its own sequences (data parallel)."""

ALL_REDUCES_PER_LAYER: Final = 2
_ACTIVATION_BYTES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """On how many GPUs one copy of the model runs, and how they share attention."""

    gpus: int = 1
    attention: AttentionSharding = "tensor"

    def share_of_heads(self, kv_heads: int) -> Decimal:
        """Return the share of a sequence's keys and values that one GPU keeps and reads, on average.

        Tensor parallel: the heads are dealt out, and kept more than once when there are more GPUs than
        heads, as vLLM and TensorRT-LLM do; so one latent (MLA) stands on every GPU. Data parallel: each
        sequence is whole on one GPU.
        """
        if self.attention == "data":
            return Decimal(1) / self.gpus
        return Decimal(-(-kv_heads // self.gpus)) / kv_heads


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What an all-reduce costs between the GPUs: both are inputs that somebody states, never our guess."""

    latency_s: Decimal
    bytes_per_s: Decimal


def weights_per_gpu_bytes(weights: Weights, spread: Spread) -> Decimal:
    """Return the bytes of weights on each GPU: the whole divided by the GPUs, tables of n-grams included.

    The rule was held against a measured 62.12 GiB a GPU: a checkpoint of 125.87 GiB on two cards, where
    this gives 62.94 and leaving the tables or the extra head out misses by 1.6 to 23 GiB. With data
    parallel attention each GPU holds all of attention instead of a share.
    """
    total = Decimal(weights.total_bytes)
    if spread.attention == "tensor":
        return total / spread.gpus
    return (total - weights.attention_bytes) / spread.gpus + weights.attention_bytes


def all_reduce_bytes(profile: LlmProfile, spread: Spread, *, tokens: int) -> Decimal:
    """Return the bytes each GPU sends in a step of so many tokens: two all-reduces a layer, as a ring.

    Two a layer: Megatron-LM (arXiv 1909.08053). A ring sends 2 x (N-1)/N of the message from each GPU; the
    message is one 16-bit hidden vector a token.
    """
    message = ALL_REDUCES_PER_LAYER * profile.layers * profile.hidden * _ACTIVATION_BYTES * tokens
    return message * Decimal(2 * (spread.gpus - 1)) / spread.gpus


def communication_s(profile: LlmProfile, spread: Spread, *, tokens: int, link: Link) -> Decimal:
    """Return the seconds a step waits for all-reduces that nothing hides; none on one GPU."""
    if spread.gpus == 1:
        return Decimal(0)
    calls = ALL_REDUCES_PER_LAYER * profile.layers
    return calls * link.latency_s + all_reduce_bytes(profile, spread, tokens=tokens) / link.bytes_per_s
