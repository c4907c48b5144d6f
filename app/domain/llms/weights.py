"""Bytes of a model's weights by when decoding reads them: estimated from parameters, or of headers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from app.domain.llms.formats import Format
    from app.domain.llms.profile import LlmProfile, Read

_ATTENTION: Final = frozenset({"attention", "indexer", "recurrent layers"})
"""Names of parts that each GPU holds whole when attention runs data parallel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Bytes of the weights that serve text, by when a step reads them, and whether that is an estimate.

    `attention_bytes` is the part of `always_bytes` that every GPU holds whole when attention runs data
    parallel. `beside_bytes` are parts that decoding never reads (vision tower, layers that predict further
    tokens): a server that uses them loads them on top of `total_bytes`.
    """

    always_bytes: Decimal
    routed_bytes: Decimal
    lookup_bytes: Decimal
    attention_bytes: Decimal
    beside_bytes: Decimal
    is_estimate: bool
    basis: str

    @property
    def total_bytes(self) -> int:
        """Bytes in memory for text, rounded up to a whole byte."""
        total = self.always_bytes + self.routed_bytes + self.lookup_bytes
        return int(total.to_integral_value(rounding=ROUND_CEILING))


def estimated_weights(profile: LlmProfile, fmt: Format) -> Weights:
    """Return parameters times bits per weight: what the weights take when every tensor is in this format.

    Real checkpoints keep some tensors wider, so the estimate is mostly low.
    """
    bytes_per_weight = fmt.bits_per_weight / 8

    def size(read: Read) -> Decimal:
        return bytes_per_weight * sum(part.params for part in profile.parts if part.read == read)

    attention = sum(part.params for part in profile.parts if part.name in _ATTENTION)
    return Weights(
        always_bytes=size("always"),
        routed_bytes=size("routed"),
        lookup_bytes=size("lookup"),
        attention_bytes=bytes_per_weight * attention,
        beside_bytes=size("not_decoding"),
        is_estimate=True,
        basis=f"estimate: parameters x {fmt.bits_per_weight.normalize():f} bits ({fmt.label}, all tensors)",
    )
