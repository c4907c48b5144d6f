"""Benchmarked speeds of reading prompts beside the compute bound of prefill of their model on a card.

llama-bench alone times prompts without generating, so what counts is how llama.cpp multiplies, which a file
does not tell. The highest dense rate that can apply makes the bound one that nobody beats:

- weights of 16 bits or more are multiplied as 16-bit values. Its CUDA backend may add up in 16 bits as well
  (CUBLAS_COMPUTE_16F), which consumer cards do up to twice as fast as the rate that is published for them;
  there the rate of int8 counts, which is higher still;
- blocks with fp4 values are multiplied as fp4 where the card has it (pull request 17906), else as the rest;
- all other blocks are multiplied as int8, or unpacked for 16-bit kernels: the faster of both counts.

Of a prompt's tokens llama.cpp works the output head and the last layer's feed-forward part out for the last
one alone (`inp_out_ids` in its graphs), so the bound counts neither the head nor one layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from app.domain.llms.bounds import Load, Peaks, PrefillBound, prefill_bound
from app.domain.llms.formats import FORMATS, Rate, rate_of
from app.domain.llms.kv import KV_FORMATS, KvCache
from app.domain.llms.parallel import Spread
from app.domain.llms.profile import Part
from app.domain.llms.unknown import Unknown
from app.domain.llms.weights import estimated_weights
from app.domain.serving.figures import counted_as, percent, share_sum, speed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.llms.formats import Format
    from app.domain.llms.measurements import Measurement
    from app.domain.llms.profile import LlmProfile

TOGETHER: Final = Unknown(
    why="prompt and generated tokens were timed together, and reading and generating each have a bound of "
    "their own"
)

_ABOVE: Final = (
    "It lies above that bound, so something it says of itself cannot be so, or tokens count as read that "
    "were never worked out, as those of a prefix in a cache."
)
_BITS_UNQUANTISED: Final = 16
_FP4_VALUES: Final = frozenset(("mxfp4", "nvfp4", "gguf-mxfp4", "gguf-nvfp4"))
_EXACT_ATTENTION: Final = frozenset(("full", "window", "mla"))
"""Kinds whose operations `prefill_bound` never overstates; of chunks and compressed entries it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """Parameters that every token of a prompt goes through: of `active` all but the head and a layer."""

    active: int
    head: int
    layers: int

    @property
    def params(self) -> int:
        """Parameters that count, rounded down."""
        return (self.active - self.head) * (self.layers - 1) // self.layers


@dataclass(frozen=True, slots=True, kw_only=True)
class BesidePrefill:
    """A speed of reading prompts with what bounds it; `bound` is of all GPUs, `rate` of each.

    The prompt had `prompt_tokens`, and `depth_tokens` were in the cache before it.
    """

    measurement: Measurement
    card: Accelerator
    rate: Rate
    worked: Worked
    prompt_tokens: int
    depth_tokens: int
    bound: PrefillBound

    @property
    def share_of_bound(self) -> Decimal:
        """What share of the bound was reached."""
        return self.measurement.value / self.bound.tokens_per_s

    @property
    def is_above_a_bound(self) -> bool:
        """Tell whether it lies above the bound, so that something it says of itself cannot be so."""
        return self.share_of_bound > 1


def beside_prefill(
    measurement: Measurement,
    card: Accelerator,
    *,
    profile: LlmProfile,
    prompt_tokens: int,
    depth_tokens: int,
) -> BesidePrefill | Unknown:
    """Return a speed of reading prompts, in tokens/s of all GPUs, beside its bound, unknown with its reason.

    `prompt_tokens` is 1 or more. Reading the weights is left out, so for a prompt of a few tokens the bound
    is far off.
    """
    highest = rate_in_llama_cpp(FORMATS[measurement.weights], card)
    if isinstance(highest, Unknown):
        return highest
    bound = prompt_bound(
        profile, measurement, rate=highest, prompt_tokens=prompt_tokens, depth_tokens=depth_tokens
    )
    if isinstance(bound, Unknown):
        return bound
    return BesidePrefill(
        measurement=measurement,
        card=card,
        rate=highest,
        worked=worked_of(profile),
        prompt_tokens=prompt_tokens,
        depth_tokens=depth_tokens,
        bound=bound,
    )


def prompt_bound(
    profile: LlmProfile,
    measurement: Measurement,
    *,
    rate: Rate,
    prompt_tokens: int,
    depth_tokens: int = 0,
) -> PrefillBound | Unknown:
    """Return the most prompt tokens a second of all GPUs at this rate of each, after those before it."""
    worked = worked_of(profile)
    if not worked.params:
        return Unknown(why="all of its one layer but the keys and values may be left out for a prompt")
    load = Load(
        profile=_of_a_prompt(profile, worked),
        weights=estimated_weights(profile, FORMATS[measurement.weights]),
        kv=KvCache(layers=(), fixed_bytes=0, fmt=KV_FORMATS["bf16"]),
        spread=Spread(gpus=measurement.gpus),
    )
    peaks = Peaks(bandwidth_tb_s=Unknown(why="nothing is read"), rate=rate)
    return _after(load, peaks, prompt_tokens=prompt_tokens, depth_tokens=depth_tokens)


def rate_in_llama_cpp(fmt: Format, card: Accelerator) -> Rate | Unknown:
    """Return the highest dense rate at which llama.cpp may multiply such weights, by this module's rule."""
    return _highest(fmt, card, quantised=("int8", "half"))


def rate_in_any_engine(fmt: Format, card: Accelerator) -> Rate | Unknown:
    """Return the highest dense rate at which any engine may multiply such weights: fp8 may apply as well."""
    return _highest(fmt, card, quantised=("fp8", "int8", "half"))


def _highest(fmt: Format, card: Accelerator, *, quantised: tuple[str, ...]) -> Rate | Unknown:
    group: tuple[str, ...]
    if fmt.bits_per_weight >= _BITS_UNQUANTISED:
        group = ("int8", "half") if card.form_factor == "consumer" else ("half",)
    else:
        group = ("fp4", *quantised) if fmt.id in _FP4_VALUES else quantised
    return rate_of(replace(fmt, math=(group,)), card)


def worked_of(profile: LlmProfile) -> Worked:
    """Return what each token of a prompt goes through; a layer is an average one, of those with experts."""
    head = sum(part.params for part in profile.parts if part.name == "head")
    return Worked(active=profile.params_active, head=head, layers=profile.moe_layers or profile.layers)


def _of_a_prompt(profile: LlmProfile, worked: Worked) -> LlmProfile:
    """Return a profile of what counts alone, for the one formula of prefill there is."""
    return replace(
        profile,
        parts=(Part(name="each token of a prompt", params=worked.params, read="always"),),
        experts=0,
        experts_per_token=0,
        attention=tuple(one for one in profile.attention if one.kind in _EXACT_ATTENTION),
    )


def _after(load: Load, peaks: Peaks, *, prompt_tokens: int, depth_tokens: int) -> PrefillBound | Unknown:
    """Return the bound of a prompt that attends to tokens before it: the time of all less that of those."""
    in_all = depth_tokens + prompt_tokens
    whole = prefill_bound(load, peaks, prompt_tokens=in_all)
    before = prefill_bound(load, peaks, prompt_tokens=depth_tokens)
    if isinstance(whole, Unknown):
        return whole
    if isinstance(before, Unknown):
        return before
    attention = whole.attention_ops_per_token * in_all - before.attention_ops_per_token * depth_tokens
    return PrefillBound(
        ops_per_token=whole.ops_per_token,
        attention_ops_per_token=attention / prompt_tokens,
        tokens_per_s=prompt_tokens / (in_all / whole.tokens_per_s - depth_tokens / before.tokens_per_s),
    )


def prefill_sentence(found: BesidePrefill) -> str:
    """Return in words how near to its bound a speed of reading prompts lies."""
    above = f" {_ABOVE}" if found.is_above_a_bound else ""
    return (
        f"Beside {found.card.name}: {percent(found.share_of_bound)} of the bound of prefill, at the dense "
        f"{found.rate.precision} rate; llama.cpp multiplies such weights no faster.{above}"
    )


def prefill_sums(found: BesidePrefill) -> Iterator[tuple[str, str]]:
    """Yield the arithmetic of the bound, and what the measured speed is of it."""
    worked, bound, gpus = found.worked, found.bound, found.measurement.gpus
    yield params_sum(worked)
    ops = (
        f"(2 x {worked.params:,} parameters + {bound.attention_ops_per_token:,.0f} of attention to "
        f"{_attended(found)}) operations a token"
    )
    times = f" x {gpus} GPUs" if gpus > 1 else ""
    sum_ = f"{found.rate.dense_tflops:,f} dense {found.rate.precision} TFLOPS / {ops}{times}"
    measured = share_sum(found.measurement.value, bound.tokens_per_s)
    yield "Bound of prefill", f"{sum_} = {speed(bound.tokens_per_s)} tokens/s; {measured}"


def params_sum(worked: Worked) -> tuple[str, str]:
    """Return how the parameters that count for a token of a prompt are worked out."""
    without_head = f"({worked.active:,} a token - {worked.head:,} of the output head)"
    layers = f"{worked.layers - 1:,} / {worked.layers:,} layers"
    return "Parameters for each token of a prompt", f"{without_head} x {layers} = {worked.params:,}"


def _attended(found: BesidePrefill) -> str:
    before = f"{counted_as(found.depth_tokens, 'token')} before and " if found.depth_tokens else ""
    return f"{before}half of {found.prompt_tokens:,}"
