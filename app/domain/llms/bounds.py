"""Bounds on decode and prefill: the least seconds a step can take, what binds, and where that changes.

The roofline (Williams, Waterman, Patterson 2009, doi 10.1145/1498765.1498785) applied to one step of a batch:
bytes over peak bandwidth, operations over the dense peak, the larger counts. Operations: two a parameter
and token, and attention's own; softmax, norms and recurrent state are left out, so real work is more. A bound
holds for the bytes and rates it is given; whether the batch fits a memory is for `fit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from app.domain.llms.kv import step_tokens
from app.domain.llms.parallel import Spread, communication_s
from app.domain.llms.touched import weights_read_bytes
from app.domain.llms.unknown import Unknown

if TYPE_CHECKING:
    from app.domain.llms.formats import Rate
    from app.domain.llms.kv import KvCache
    from app.domain.llms.parallel import Link
    from app.domain.llms.profile import Attention, LlmProfile
    from app.domain.llms.weights import Weights

BoundBy = Literal["memory", "compute", "communication"]

_TERA: Final = 10**12
_OPS_PER_MULTIPLY_ADD: Final = 2
_ONE_GPU: Final = Spread()


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What one GPU can do at most: its memory bandwidth and its dense rate at the weights' precision.

    Either may be unknown. `bandwidth_share` is the share of the peak bandwidth that counts: 1 for a ceiling;
    planners use about 0.8 (aiconfigurator, InferSim), an empirical figure.
    """

    bandwidth_tb_s: Decimal | Unknown
    rate: Rate | Unknown
    bandwidth_share: Decimal = Decimal(1)

    @property
    def bytes_per_s(self) -> Decimal | Unknown:
        """Bytes a second that count."""
        if isinstance(self.bandwidth_tb_s, Unknown):
            return self.bandwidth_tb_s
        return self.bandwidth_tb_s * _TERA * self.bandwidth_share

    @property
    def ops_per_s(self) -> Decimal | Unknown:
        """Dense operations a second; one multiply-add is two."""
        return self.rate if isinstance(self.rate, Unknown) else self.rate.dense_tflops * _TERA


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One model at work: its shape, its weights and cache in their formats, and how many GPUs share it."""

    profile: LlmProfile
    weights: Weights
    kv: KvCache
    spread: Spread = _ONE_GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one pass of a batch moves and computes on each GPU; `tokens` is how many tokens it works out."""

    batch: int
    tokens: int
    weight_bytes: Decimal
    cache_bytes: Decimal
    ops: Decimal

    @property
    def total_bytes(self) -> Decimal:
        """Bytes of weights, cache and state."""
        return self.weight_bytes + self.cache_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeBound:
    """A ceiling on generated tokens: no step of this batch can be shorter than `step_s`.

    `communication_s` is None where nobody stated a link, and then not in the bound.
    """

    step: Step
    memory_s: Decimal
    compute_s: Decimal
    communication_s: Decimal | None
    step_s: Decimal
    bound_by: BoundBy

    @property
    def tokens_per_s(self) -> Decimal:
        """Tokens a second of the whole batch, one a sequence and step."""
        return self.step.batch / self.step_s

    @property
    def tokens_per_s_per_stream(self) -> Decimal:
        """Tokens a second of each sequence."""
        return 1 / self.step_s

    @property
    def ops_per_byte(self) -> Decimal:
        """Arithmetic intensity of the step."""
        return self.step.ops / self.step.total_bytes


def decode_step(load: Load, *, batch: int, context: int, tokens_per_sequence: int = 1) -> Step:
    """Return what one decode pass moves and computes on each GPU.

    Each of `batch` sequences attends to `context` tokens and works out `tokens_per_sequence` (more than one
    when a draft is verified).
    """
    tokens = batch * tokens_per_sequence
    gpus = load.spread.gpus
    ops = _OPS_PER_MULTIPLY_ADD * load.profile.params_active + attention_ops(load.profile, context)
    return Step(
        batch=batch,
        tokens=tokens,
        weight_bytes=weights_read_bytes(load.profile, load.weights, tokens=tokens) / gpus,
        cache_bytes=batch * load.kv.step_bytes(context, spread=load.spread),
        ops=tokens * Decimal(ops) / gpus,
    )


def attention_ops(profile: LlmProfile, context: int) -> int:
    """Return the operations of attention for one token that attends to so many, in all layers.

    A query against each key and its weight on each value; under MLA in the absorbed form, on the latent
    (DeepSeek-V2, arXiv 2405.04434).
    """
    return sum(_ops_per_token_attended(one) * _attended(one, context) for one in profile.attention)


def _ops_per_token_attended(attention: Attention) -> int:
    if attention.kind == "mla":
        width = 2 * attention.kv_lora_rank + attention.rope_head_dim
    else:
        width = attention.head_dim_k + (attention.head_dim_v or attention.head_dim_k)
    return _OPS_PER_MULTIPLY_ADD * attention.layers * attention.q_heads * width


def _attended(attention: Attention, context: int) -> int:
    """Return how many keys one query meets: of the window, chosen by an indexer, or compressed entries."""
    chosen = step_tokens(attention)
    tokens = context if chosen is None else min(context, chosen)
    if attention.kind == "compressed":
        return tokens // attention.compress_ratio + min(context, attention.window or 0)
    return tokens if attention.window is None else min(tokens, attention.window)


def decode_bound(
    load: Load,
    peaks: Peaks,
    *,
    batch: int,
    context: int,
    link: Link | None = None,
    tokens_per_sequence: int = 1,
) -> DecodeBound | Unknown:
    """Return the ceiling of one batch at one context, unknown when a peak is.

    Memory and compute may overlap fully, so the longer counts. Messages between GPUs add to it when a link is
    stated: what they carry is needed before the next layer starts.
    """
    bytes_per_s, ops_per_s = peaks.bytes_per_s, peaks.ops_per_s
    if isinstance(bytes_per_s, Unknown):
        return bytes_per_s
    if isinstance(ops_per_s, Unknown):
        return ops_per_s
    step = decode_step(load, batch=batch, context=context, tokens_per_sequence=tokens_per_sequence)
    memory_s, compute_s = step.total_bytes / bytes_per_s, step.ops / ops_per_s
    waiting_s = (
        None if link is None else communication_s(load.profile, load.spread, tokens=step.tokens, link=link)
    )
    return DecodeBound(
        step=step,
        memory_s=memory_s,
        compute_s=compute_s,
        communication_s=waiting_s,
        step_s=max(memory_s, compute_s) + (waiting_s or 0),
        bound_by=_binds(memory_s, compute_s, waiting_s=waiting_s),
    )


def _binds(memory_s: Decimal, compute_s: Decimal, *, waiting_s: Decimal | None) -> BoundBy:
    if waiting_s is not None and waiting_s > max(memory_s, compute_s):
        return "communication"
    return "compute" if compute_s > memory_s else "memory"


def ridge_ops_per_byte(peaks: Peaks) -> Decimal | Unknown:
    """Return the operations a byte below which work waits on memory."""
    bytes_per_s, ops_per_s = peaks.bytes_per_s, peaks.ops_per_s
    if isinstance(bytes_per_s, Unknown):
        return bytes_per_s
    return ops_per_s if isinstance(ops_per_s, Unknown) else ops_per_s / bytes_per_s


def crossover_batch_dense(peaks: Peaks, *, bytes_per_param: Decimal) -> Decimal | Unknown:
    """Return the batch at which a dense model without any cache turns from memory- to compute-bound.

    Each parameter is read once a step and takes two operations a token.
    """
    ridge = ridge_ops_per_byte(peaks)
    return ridge if isinstance(ridge, Unknown) else ridge * bytes_per_param / _OPS_PER_MULTIPLY_ADD


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """No batch is compute-bound: each further stream takes longer to read than to compute."""

    read_s_per_stream: Decimal
    compute_s_per_stream: Decimal


def compute_bound_from_batch(load: Load, peaks: Peaks, *, context: int) -> int | Never | Unknown:
    """Return the smallest batch that is compute-bound at this context, or that there is none, and why.

    A further stream brings its cache to read and its operations. When reading takes as long or longer, no
    batch is compute-bound; else the weights, which are read once however many streams there are, lose.
    """
    bytes_per_s, ops_per_s = peaks.bytes_per_s, peaks.ops_per_s
    if isinstance(bytes_per_s, Unknown):
        return bytes_per_s
    if isinstance(ops_per_s, Unknown):
        return ops_per_s
    one = decode_step(load, batch=1, context=context)
    read_s, compute_s = one.cache_bytes / bytes_per_s, one.ops / ops_per_s
    if read_s >= compute_s:
        return Never(read_s_per_stream=read_s, compute_s_per_stream=compute_s)
    # Once what the streams gain covers reading all weights, a batch is surely compute-bound. Bytes of touched
    # experts grow ever slower with the batch, so below the crossing every batch is memory-bound.
    low, high = 0, int(_all_weights(load) / bytes_per_s / (compute_s - read_s)) + 2
    while high - low > 1:
        batch = (low + high) // 2
        step = decode_step(load, batch=batch, context=context)
        if step.ops / ops_per_s > step.total_bytes / bytes_per_s:
            high = batch
        else:
            low = batch
    return high


def _all_weights(load: Load) -> Decimal:
    return (load.weights.always_bytes + load.weights.routed_bytes) / load.spread.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillBound:
    """A ceiling on prompt tokens a second, of all GPUs: their dense rate over operations a token."""

    ops_per_token: Decimal
    attention_ops_per_token: Decimal
    tokens_per_s: Decimal


def prefill_bound(load: Load, peaks: Peaks, *, prompt_tokens: int) -> PrefillBound | Unknown:
    """Return the ceiling on prompt tokens a second, unknown when the dense rate is.

    Reading the weights is left out: many prompt tokens share one pass. The output head counts for each token.
    """
    ops_per_s = peaks.ops_per_s
    if isinstance(ops_per_s, Unknown):
        return ops_per_s
    attention = sum((_prefill_ops(one, prompt_tokens) for one in load.profile.attention), Decimal(0))
    ops = Decimal(_OPS_PER_MULTIPLY_ADD * load.profile.params_active)
    return PrefillBound(
        ops_per_token=ops,
        attention_ops_per_token=attention,
        tokens_per_s=load.spread.gpus * ops_per_s / (ops + attention),
    )


def _prefill_ops(attention: Attention, prompt_tokens: int) -> Decimal:
    """Return attention's operations of the average prompt token; MLA's keys unfold to each head's width."""
    width = attention.head_dim_k + (attention.head_dim_v or attention.head_dim_k)
    per_key = _OPS_PER_MULTIPLY_ADD * attention.layers * attention.q_heads * width
    chosen = step_tokens(attention)
    most = prompt_tokens if chosen is None else min(prompt_tokens, chosen)
    window = min(prompt_tokens, attention.window or prompt_tokens)
    match attention.kind:
        case "compressed":
            keys = _causal_mean(most, prompt_tokens) / attention.compress_ratio
            keys += _causal_mean(window, prompt_tokens)
        case "chunked":
            keys = Decimal(window) / 2
        case _:
            keys = _causal_mean(min(most, window), prompt_tokens)
    return per_key * keys


def _causal_mean(most: int, prompt_tokens: int) -> Decimal:
    """Return how many keys the average token meets: all before it, at most so many; half of the prompt."""
    return Decimal(most) - Decimal(most) ** 2 / (2 * prompt_tokens) if most else Decimal(0)
