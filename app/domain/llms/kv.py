"""Bytes that one sequence keeps beside the weights (keys, values, state), and what a pool of memory holds.

What grows with the context, what stops at a window and what is fixed stand apart: for a hybrid, memory
divided by tokens is no cost per token.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.parallel import Spread
from app.domain.llms.profile import COMPRESSED_BYTES_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.llms.profile import Attention, LlmProfile

INDEX_BYTES_PER_TOKEN: Final = 132
"""One indexer's entry: 128 values of fp8 and one fp32 scale (DeepSeek V3.2, GLM-5)."""

COMPRESSED_ENTRY_BYTES: Final = 584
"""One entry of DeepSeek V4's cache: 448 values of fp8, 64 of 16 bits, 8 bytes of scales."""

_ONE_GPU: Final = Spread()
_LONGEST_CONTEXT: Final = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFormat:
    """How keys and values are kept, in bytes a value; scales of a whole tensor are not counted."""

    id: str
    label: str
    bytes_per_value: Decimal


KV_FORMATS: Final[Mapping[str, KvFormat]] = MappingProxyType(
    {
        "bf16": KvFormat(id="bf16", label="16-bit", bytes_per_value=Decimal(2)),
        "fp8": KvFormat(id="fp8", label="fp8", bytes_per_value=Decimal(1)),
        "q8-0": KvFormat(id="q8-0", label="GGUF Q8_0", bytes_per_value=Decimal(34) / 32),
        "q4-0": KvFormat(id="q4-0", label="GGUF Q4_0", bytes_per_value=Decimal(18) / 32),
    }
)
"""All cache formats by the id that a link names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KvLayers:
    """Layers that keep keys and values in one way; bytes are those of all these layers for one sequence.

    `window` is how many tokens they keep, None for all. `read_tokens` is how many of those kept one step
    reads at most, None for all; an index over them is read whole.
    """

    kv_heads: int
    kv_bytes_per_token: Decimal
    index_bytes_per_token: Decimal = Decimal(0)
    window: int | None = None
    chunked: bool = False
    read_tokens: int | None = None

    def kept_tokens(self, context: int) -> int:
        """Return how many tokens of a context these layers keep."""
        return context if self.window is None else min(context, self.window)

    def reserved_tokens(self, max_model_len: int, max_num_batched_tokens: int) -> int:
        """Return how many tokens vLLM sets aside for one request (its SlidingWindowSpec and chunked twin).

        A pass adds at least one token. Rounding up to blocks, at most two blocks, is left out.
        """
        if self.window is None:
            return max_model_len
        in_flight = max(max_num_batched_tokens, 1)
        kept = self.window if self.chunked else self.window - 1
        return min(kept + in_flight, max_model_len)

    def kv_bytes(self, tokens: int, spread: Spread) -> Decimal:
        """Return the bytes of so many tokens on each GPU."""
        share = spread.share_of_heads(self.kv_heads)
        return (self.kv_bytes_per_token + self.index_bytes_per_token) * tokens * share

    def read_bytes(self, context: int, spread: Spread) -> Decimal:
        """Return the bytes that one step reads on each GPU."""
        kept = self.kept_tokens(context)
        chosen = kept if self.read_tokens is None else min(kept, self.read_tokens)
        bytes_read = self.kv_bytes_per_token * chosen + self.index_bytes_per_token * kept
        return bytes_read * spread.share_of_heads(self.kv_heads)


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCache:
    """What one sequence of a model keeps in one format; `fixed_bytes` is its recurrent state.

    State has one size whatever the context, and is dealt out over the GPUs by heads: each holds its share.
    """

    layers: tuple[KvLayers, ...]
    fixed_bytes: int
    fmt: KvFormat
    notes: tuple[str, ...] = ()

    @property
    def growing_bytes_per_token(self) -> Decimal:
        """Bytes each token adds in the layers that keep all tokens, without any index."""
        return sum((one.kv_bytes_per_token for one in self.layers if one.window is None), Decimal(0))

    @property
    def index_bytes_per_token(self) -> Decimal:
        """Bytes each token adds to the indexes of sparse attention."""
        return sum((one.index_bytes_per_token for one in self.layers), Decimal(0))

    @property
    def windowed_bytes_per_token(self) -> Decimal:
        """Bytes each token adds in layers with a window, until it is full."""
        return sum((one.kv_bytes_per_token for one in self.layers if one.window is not None), Decimal(0))

    def sequence_bytes(self, context: int, *, spread: Spread = _ONE_GPU) -> Decimal:
        """Return what one sequence of so many tokens keeps on each GPU, windows cut to their length."""
        kept = sum((one.kv_bytes(one.kept_tokens(context), spread) for one in self.layers), Decimal(0))
        return kept + Decimal(self.fixed_bytes) / spread.gpus

    def reserved_bytes(
        self, max_model_len: int, *, max_num_batched_tokens: int, spread: Spread = _ONE_GPU
    ) -> Decimal:
        """Return what vLLM sets aside on each GPU for one request of the longest length."""
        kept = sum(
            (
                one.kv_bytes(one.reserved_tokens(max_model_len, max_num_batched_tokens), spread)
                for one in self.layers
            ),
            Decimal(0),
        )
        return kept + Decimal(self.fixed_bytes) / spread.gpus

    def step_bytes(self, context: int, *, spread: Spread = _ONE_GPU) -> Decimal:
        """Return what a step of one sequence moves on each GPU: all it attends to, state read and written."""
        read = sum((one.read_bytes(context, spread) for one in self.layers), Decimal(0))
        return read + Decimal(2 * self.fixed_bytes) / spread.gpus


def kv_cache(profile: LlmProfile, fmt: KvFormat) -> KvCache:
    """Return what one sequence of this model keeps in this format.

    Two vectors a head and token (Attention Is All You Need, arXiv 1706.03762; fewer heads: GQA, arXiv
    2305.13245); one latent a token under MLA (DeepSeek-V2, arXiv 2405.04434).
    """
    kept = tuple(layers for attention in profile.attention for layers in _layers(attention, fmt))
    state = sum(recurrent.layers * recurrent.state_bytes for recurrent in profile.recurrent)
    compressed = any(attention.kind == "compressed" for attention in profile.attention)
    note = "compressed layers keep their own fp8 layout, read from one public calculator, not checked"
    return KvCache(layers=kept, fixed_bytes=state, fmt=fmt, notes=(note,) if compressed else ())


def _layers(attention: Attention, fmt: KvFormat) -> tuple[KvLayers, ...]:
    if attention.kind == "compressed":
        return _compressed_layers(attention)
    if attention.kind == "mla":
        values = attention.kv_lora_rank + attention.rope_head_dim
        kv_heads = 1
    else:
        values = attention.kv_heads * (attention.head_dim_k + attention.head_dim_v)
        kv_heads = attention.kv_heads
    layers = KvLayers(
        kv_heads=kv_heads,
        kv_bytes_per_token=attention.layers * values * fmt.bytes_per_value,
        index_bytes_per_token=Decimal(attention.indexer_layers * INDEX_BYTES_PER_TOKEN),
        window=attention.window if attention.kind in {"window", "chunked"} else None,
        chunked=attention.kind == "chunked",
        read_tokens=step_tokens(attention),
    )
    return (layers,)


def _compressed_layers(attention: Attention) -> tuple[KvLayers, ...]:
    """Return the compressed entries, and beside them the window of whole tokens."""
    in_all = attention.layers * COMPRESSED_BYTES_PER_TOKEN[attention.compress_ratio]
    index = Decimal(attention.indexer_layers * INDEX_BYTES_PER_TOKEN) / attention.compress_ratio
    entries = KvLayers(
        kv_heads=1,
        kv_bytes_per_token=in_all - index,
        index_bytes_per_token=index,
        read_tokens=step_tokens(attention),
    )
    whole = Decimal(attention.layers * COMPRESSED_ENTRY_BYTES)
    window = KvLayers(kv_heads=1, kv_bytes_per_token=whole, window=attention.window or 0)
    return (entries, window)


def step_tokens(attention: Attention) -> int | None:
    """Return how many tokens one step attends to at most, None for all that are kept.

    Where an indexer chooses and nobody says how many, none count: the bytes read stay a lower bound.
    """
    if attention.read_tokens is None and attention.indexer_layers:
        return 0
    return attention.read_tokens


def concurrency(pool_bytes: Decimal, *, request_bytes: Decimal) -> Decimal:
    """Return how many requests a pool holds at once, as vLLM prints it: with its fraction."""
    return pool_bytes / request_bytes


def derived_pool_tokens(pool_bytes: Decimal, *, request_bytes: Decimal, max_model_len: int) -> int:
    """Return the size of a pool in tokens as vLLM prints it: concurrency times the longest length.

    vLLM issue 51041: the figure is derived. For a model with fixed state it depends on the length, so the
    pool divided by it is no cost per token.
    """
    tokens = concurrency(pool_bytes, request_bytes=request_bytes) * max_model_len
    return int(tokens.to_integral_value(rounding=ROUND_FLOOR))


def longest_context(kv: KvCache, free_bytes: Decimal, *, spread: Spread = _ONE_GPU) -> int | None:
    """Return the most tokens one sequence may have in so many bytes on each GPU, None without a limit.

    0 when not even the fixed part fits.
    """
    if kv.sequence_bytes(_LONGEST_CONTEXT, spread=spread) <= free_bytes:
        return None
    fits, too_long = 0, _LONGEST_CONTEXT
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if kv.sequence_bytes(middle, spread=spread) <= free_bytes:
            fits = middle
        else:
            too_long = middle
    return fits
