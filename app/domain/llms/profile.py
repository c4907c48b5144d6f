"""What a language model is made of, as far as memory and time of inference depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

AttentionKind = Literal["full", "window", "chunked", "mla", "compressed"]
Read = Literal["always", "routed", "lookup", "not_decoding"]

COMPRESSED_BYTES_PER_TOKEN: Final[Mapping[int, Decimal]] = MappingProxyType(
    {4: Decimal(180), 128: Decimal("6.75")}
)
"""Bytes that a `compressed` layer adds a token, by the tokens that share an entry: not checked.

Read from one public calculator of DeepSeek V4: 584 B an entry, 132 B of index an entry at ratio 4, each page
of 256 tokens rounded up to a multiple of 576 B. No engine's log has confirmed it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Layers of one kind of attention that keep keys and values. Counts are per layer; sizes in values.

    `mla` keeps one latent for all heads, `kv_lora_rank + rope_head_dim` values a token and layer; its
    `head_dim_k` and `head_dim_v` are those of the queries and the uncompressed values, for operations alone,
    and its `kv_heads` is 1. `compressed` (DeepSeek V4) keeps one entry for `compress_ratio` tokens, whose
    bytes `COMPRESSED_BYTES_PER_TOKEN` states, and beside it the last `window` tokens as they are.
    A `head_dim_v` of 0 says that the keys are the values too.
    """

    kind: AttentionKind
    layers: int
    q_heads: int
    kv_heads: int
    head_dim_k: int
    head_dim_v: int
    window: int | None = None
    """Tokens that window and chunked layers keep."""
    kv_lora_rank: int = 0
    rope_head_dim: int = 0
    indexer_layers: int = 0
    """How many of the layers also keep 132 bytes of index a token."""
    read_tokens: int | None = None
    """Most tokens whose keys and values one step reads, where an indexer chooses them."""
    compress_ratio: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent:
    """Layers that keep a state of fixed size: its bytes for one sequence and layer.

    The state counts 4 bytes a value and the convolution's inputs 2, as engines keep them.
    """

    layers: int
    state_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A named share of the parameters, and when decoding reads it.

    `always`: for each token; `routed`: all routed experts of all layers, of which a token reads some;
    `lookup`: a table of which a token reads one row; `not_decoding`: vision tower, layers that predict
    further tokens.
    """

    name: str
    params: int
    read: Read


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmProfile:
    """One language model. Parameters are counted in elements before any packing.

    `experts` and `experts_per_token` are the routed ones of one layer, 0 in a dense model. A tied head stands
    as one part read for each token. `native_dtype` is what the config says the weights are, `quant_method`
    how they were quantised; empty is unknown, or not quantised.
    """

    family: str
    hidden: int
    vocab: int
    layers: int
    attention: tuple[Attention, ...]
    recurrent: tuple[Recurrent, ...]
    parts: tuple[Part, ...]
    experts: int = 0
    experts_per_token: int = 0
    moe_layers: int = 0
    max_context: int | None
    native_dtype: str
    quant_method: str
    tied_head: bool
    notes: tuple[str, ...] = ()

    @property
    def params_text(self) -> int:
        """Parameters of the language model: all but what decoding never reads."""
        return sum(part.params for part in self.parts if part.read != "not_decoding")

    @property
    def params_always(self) -> int:
        """Parameters read for each token whatever it is."""
        return self._params("always")

    @property
    def params_routed(self) -> int:
        """Parameters of all routed experts of all layers."""
        return self._params("routed")

    @property
    def params_active(self) -> int:
        """Parameters read for one token: `always`, and the share of the routed experts that it goes to."""
        if not self.experts:
            return self.params_always
        return self.params_always + self.params_routed * self.experts_per_token // self.experts

    def _params(self, read: Read) -> int:
        return sum(part.params for part in self.parts if part.read == read)
