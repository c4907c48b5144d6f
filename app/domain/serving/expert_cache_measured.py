"""What was measured of llama.cpp's expert cache on one T4: facts to set beside a plan, none of them computed.

Qwen3-30B-A3B Q4_K_M, llama.cpp b11712, one 16 GB T4 of a shared virtual machine with four CPU cores, one run
on 2026-10-17; from `expert_cache.SOURCE`. Decode is the mean of four replies of 128 tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

CONDITIONS: Final = (
    "Qwen3-30B-A3B Q4_K_M on one 16 GB T4, four CPU cores, llama.cpp b11712, one run on 2026-10-17"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One configuration and its speeds; None is what was not measured or does not exist without a cache."""

    configuration: str
    decode_tokens_per_s: Decimal
    prompt_tokens_per_s: Decimal | None
    hit_percent: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """The log's own count of one configuration, for steps of so many tokens."""

    step_tokens: str
    hits: int
    misses: int
    uploaded_mib: Decimal

    @property
    def hit_percent(self) -> Decimal:
        """Share of the lookups that the cache served."""
        return Decimal(100) * self.hits / (self.hits + self.misses)

    @property
    def mib_per_miss(self) -> Decimal:
        """What a miss uploaded on average: one expert."""
        return self.uploaded_mib / self.misses


def _measured(configuration: str, decode: str, *, prompt: str = "", hits: str = "") -> Measured:
    return Measured(
        configuration=configuration,
        decode_tokens_per_s=Decimal(decode),
        prompt_tokens_per_s=Decimal(prompt) if prompt else None,
        hit_percent=Decimal(hits) if hits else None,
    )


MEASURED: Final = (
    _measured("--fit (the default)", "22.6", prompt="349"),
    _measured("--fit --moe-cache-mib 1674", "23.6", prompt="357", hits="75.6"),
    _measured("--cpu-moe", "9.6", prompt="150"),
    _measured("--cpu-moe --moe-cache-mib 50", "3.8", prompt="152", hits="0.0"),
    _measured("--cpu-moe --moe-cache-mib 10000", "43.2", prompt="382", hits="95.7"),
    _measured("--cpu-moe --moe-cache-mib 10000, four requests", "37.0", hits="92.3"),
)

LOOKUPS: Final = (
    Lookups(step_tokens="1 to 8", hits=234_520, misses=10_452, uploaded_mib=Decimal("28587.06")),
    Lookups(step_tokens="9 to 32", hits=2_668, misses=1_785, uploaded_mib=Decimal("4862.46")),
)
"""Of `--cpu-moe --moe-cache-mib 10000`."""
