"""The mean time to a first token beside the least that reading the prompts takes.

No first token comes before its prompt was read, so a request with a prompt of n tokens waits for n over the
bound of prefill at least. The longer a prompt, the longer each of its tokens takes, so the mean over requests
is no less than the least for a prompt of the mean length (Jensen's inequality). Which engine answered, and
with which kernels, a file does not tell: the highest rate that can apply counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.llms.formats import FORMATS, Rate
from app.domain.llms.unknown import Unknown
from app.domain.serving.figures import counted_as
from app.domain.serving.prefilled import Worked, params_sum, prompt_bound, rate_in_any_engine, worked_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from app.domain.llms.bounds import PrefillBound
    from app.domain.llms.measurements import Measurement
    from app.domain.llms.profile import LlmProfile
    from app.domain.serving.benchmarked import Configuration

_MS_PER_S: Final = 1000
_MANY: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideFirstToken:
    """A mean time to a first token, in ms, beside the least for a prompt of the mean length, rounded down."""

    measured_ms: Decimal
    prompt_tokens: int
    gpus: int
    rate: Rate
    worked: Worked
    bound: PrefillBound

    @property
    def least_ms(self) -> Decimal:
        """The least that reading such a prompt takes."""
        return self.prompt_tokens / self.bound.tokens_per_s * _MS_PER_S

    @property
    def times_least(self) -> Decimal:
        """How many times the least was measured."""
        return self.measured_ms / self.least_ms

    @property
    def is_below_the_least(self) -> bool:
        """Tell whether no such time is possible for prompts that were read."""
        return self.measured_ms < self.least_ms


def first_token_of(
    configuration: Configuration, on: Measurement, *, profile: LlmProfile
) -> BesideFirstToken | None:
    """Return the mean time to a first token beside the least, None where a file or a card lacks a figure."""
    ms, tokens = configuration.mean_ttft_ms, configuration.mean_prompt_tokens
    if ms is None or tokens is None or tokens < 1:
        return None
    rate = rate_in_any_engine(FORMATS[on.weights], load_catalogue().by_id[on.accelerator])
    if isinstance(rate, Unknown):
        return None
    bound = prompt_bound(profile, on, rate=rate, prompt_tokens=int(tokens))
    if isinstance(bound, Unknown):
        return None
    return BesideFirstToken(
        measured_ms=ms,
        prompt_tokens=int(tokens),
        gpus=on.gpus,
        rate=rate,
        worked=worked_of(profile),
        bound=bound,
    )


def first_token_sentence(found: BesideFirstToken) -> str:
    """Return in words how a mean time to a first token lies to the least."""
    measured = f"The mean time to a first token, {_ms(found.measured_ms)} ms,"
    prompt = counted_as(found.prompt_tokens, "token")
    least = (
        f"the least that reading {prompt} takes at the dense {found.rate.precision} rate, "
        f"{_ms(found.least_ms)} ms"
    )
    if found.is_below_the_least:
        return (
            f"{measured} lies below {least}: prompts were in a cache in part, the first chunk held no token, "
            "or something it says of itself cannot be so."
        )
    return f"{measured} is {found.times_least:,.2f} times {least}."


def first_token_sums(found: BesideFirstToken) -> Iterator[tuple[str, str]]:
    """Yield the arithmetic of the least time to a first token."""
    attention = f"{found.bound.attention_ops_per_token:,.0f} of attention to half of them"
    ops = f"(2 x {found.worked.params:,} parameters + {attention}) operations a token"
    times = f" x {found.gpus} GPUs" if found.gpus > 1 else ""
    card = f"{found.rate.dense_tflops:,f} dense {found.rate.precision} TFLOPS{times}"
    quotient = f"{_ms(found.measured_ms)} / {_ms(found.least_ms)} = {found.times_least:,.2f} times"
    yield params_sum(found.worked)
    prompt = counted_as(found.prompt_tokens, "token")
    yield (
        "Least time to a first token",
        f"{prompt} x {ops} / ({card}) = {_ms(found.least_ms)} ms; {quotient}",
    )


def _ms(value: Decimal) -> str:
    return f"{value:,.1f}" if value >= _MANY else f"{value:,.3f}"
