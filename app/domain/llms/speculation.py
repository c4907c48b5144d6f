"""Speculative decoding: tokens a pass by acceptance length, the ceiling that follows, and where it loses.

A pass verifies `depth` drafted tokens and always gives one token of the model's own, the bonus (Leviathan et
al. 2023, arXiv 2211.17192). Lengths are published both ways: vLLM, SGLang and InferenceX's tables count the
bonus, TensorRT-LLM's switch and a rate times a depth do not. So a length comes with its counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from app.domain.llms.bounds import decode_bound
from app.domain.llms.touched import expected_distinct_experts
from app.domain.llms.unknown import Unknown

if TYPE_CHECKING:
    from app.domain.llms.bounds import DecodeBound, Load, Peaks
    from app.domain.llms.fit import Demand

Counting = Literal["with bonus", "drafts only"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """How far a draft looks ahead, what it gains and what it costs.

    `tokens_per_pass` counts the bonus. `step_share` is what drafting one token takes, as a share of a plain
    decode step.
    """

    depth: int
    tokens_per_pass: Decimal
    step_share: Decimal = Decimal(0)


def tokens_per_pass(length: Decimal, *, counting: Counting) -> Decimal:
    """Return the tokens a pass gives from an acceptance length that counts the bonus token or does not."""
    return length if counting == "with bonus" else length + 1


def accepted_drafts(acceptance_rate: Decimal, *, depth: int) -> Decimal:
    """Return the mean number of accepted drafts a pass: the rate is a mean over all drafted positions."""
    return acceptance_rate * depth


def dense_speedup(draft: Draft) -> Decimal:
    """Return the most that a dense, memory-bound model gains: verifying takes as long as one plain step."""
    return draft.tokens_per_pass / (1 + draft.depth * draft.step_share)


def routed_speedup(draft: Draft, *, experts: int, experts_per_token: int) -> Decimal:
    """Return what reading routed experts gains at batch 1, below 1 where speculation makes it slower.

    The tokens of one pass go to different experts, so a pass reads more of them than a plain step does.
    """
    distinct = expected_distinct_experts(experts, experts_per_token=experts_per_token, tokens=draft.depth + 1)
    return draft.tokens_per_pass * experts_per_token / distinct


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """The ceiling with a draft beside the one without; `verify` is the pass over all drafted tokens."""

    draft: Draft
    plain: DecodeBound
    verify: DecodeBound

    @property
    def pass_s(self) -> Decimal:
        """Seconds of one pass: verifying, and drafting each token one after the other."""
        return self.verify.step_s + self.draft.depth * self.draft.step_share * self.plain.step_s

    @property
    def tokens_per_s(self) -> Decimal:
        """Tokens a second of the whole batch."""
        return self.plain.step.batch * self.draft.tokens_per_pass / self.pass_s

    @property
    def speedup(self) -> Decimal:
        """How many times the plain ceiling this is."""
        return self.tokens_per_s / self.plain.tokens_per_s

    @property
    def loses(self) -> bool:
        """Tell whether the ceiling is lower with the draft than without."""
        return self.speedup < 1


def speculative_bound(load: Load, peaks: Peaks, *, demand: Demand, draft: Draft) -> Speculation | Unknown:
    """Return the ceiling with a draft: more tokens a pass, more experts and operations in it.

    Raises:
        ValueError: the tokens a pass are not from 1 to one more than the depth.
    """
    if not 1 <= draft.tokens_per_pass <= draft.depth + 1:
        raise ValueError(f"a pass of depth {draft.depth} gives 1 to {draft.depth + 1} tokens")
    plain = decode_bound(load, peaks, batch=demand.batch, context=demand.context)
    verify = decode_bound(
        load, peaks, batch=demand.batch, context=demand.context, tokens_per_sequence=draft.depth + 1
    )
    if isinstance(plain, Unknown):
        return plain
    return verify if isinstance(verify, Unknown) else Speculation(draft=draft, plain=plain, verify=verify)
