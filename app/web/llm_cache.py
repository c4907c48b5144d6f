"""What a token of a model adds to its cache: one figure for the list, the page and every twin of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.llms.kv import INDEX_BYTES_PER_TOKEN, KV_FORMATS, kv_cache
from app.web import words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from app.domain.llms.kv import KvCache
    from app.domain.llms.profile import LlmProfile

OWN_LAYOUT: Final = "own fp8 layout, not checked"
"""What is said briefly of a model that keeps compressed entries: no format of the cache changes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOfToken:
    """Bytes that each token adds for good, indexes of sparse attention among them, and how they are kept.

    `is_16bit` says whether keys and values are at 16 bits; a model with a layout of its own keeps it whatever
    is asked. What a window forgets again is not in the bytes; `basis` names it.
    """

    bytes_per_token: Decimal
    is_16bit: bool
    basis: str

    @property
    def remark(self) -> str:
        """Return what has to stand beside the figure in a list of those at 16 bits; empty for most."""
        return "" if self.is_16bit else OWN_LAYOUT


def has_own_layout(profile: LlmProfile) -> bool:
    """Tell whether a model keeps compressed entries, which no format of the cache changes (DeepSeek V4)."""
    return any(attention.kind == "compressed" for attention in profile.attention)


def cache_of_token(profile: LlmProfile) -> CacheOfToken:
    """Return what a token adds to the cache at 16 bits a value, or in the model's own layout."""
    cache = kv_cache(profile, KV_FORMATS["bf16"])
    return CacheOfToken(
        bytes_per_token=cache.growing_bytes_per_token + cache.index_bytes_per_token,
        is_16bit=not has_own_layout(profile),
        basis="; ".join(_basis(profile, cache)),
    )


def _basis(profile: LlmProfile, cache: KvCache) -> Iterator[str]:
    own = has_own_layout(profile)
    if own:
        yield f"whatever the cache is set to, {'; '.join(cache.notes)}"
    else:
        yield "at 16 bits a value"
    if cache.index_bytes_per_token:
        index = words.number(cache.index_bytes_per_token, 0)
        rule = "" if own else f", {INDEX_BYTES_PER_TOKEN} B for each layer that owns one, in every format"
        yield f"{index} B of it are indexes of sparse attention{rule}"
    if cache.windowed_bytes_per_token:
        yield f"until a window is full, {words.number(cache.windowed_bytes_per_token, 0)} B more"
