"""One model on so many of one card: what fits, how fast it could be, and what a million tokens then cost.

A bound is worked out for a model that fits and for no other, and a cost for such a bound: what does not fit
is a `TooBig`, which has neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from app.domain.llms.bounds import Load, Peaks, decode_bound, prefill_bound
from app.domain.llms.fit import POWERS_OF_TWO, Fits, TooBig, fewest_gpus, memory_of, on_gpus
from app.domain.llms.formats import rate_of
from app.domain.llms.money import blended_usd_per_mtok, usd_per_mtok
from app.domain.llms.parallel import Spread
from app.domain.llms.unknown import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.domain.accelerators import Accelerator
    from app.domain.llms.bounds import DecodeBound, PrefillBound
    from app.domain.llms.fit import Demand, Engine
    from app.domain.llms.formats import Format
    from app.domain.llms.kv import KvCache
    from app.domain.llms.parallel import AttentionSharding, Link
    from app.domain.llms.profile import LlmProfile
    from app.domain.llms.weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything but the card: the model, its formats, the engine, the requests, and what sharing costs."""

    profile: LlmProfile
    weights: Weights
    fmt: Format
    kv: KvCache
    engine: Engine
    demand: Demand
    attention: AttentionSharding = "tensor"
    bandwidth_share: Decimal = Decimal(1)
    link: Link | None = None

    def load(self, gpus: int) -> Load:
        """Return the model at work on so many GPUs."""
        spread = Spread(gpus=gpus, attention=self.attention)
        return Load(profile=self.profile, weights=self.weights, kv=self.kv, spread=spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A model that fits, with its ceilings; a ceiling is unknown when the card's peaks are."""

    fit: Fits
    decode: DecodeBound | Unknown
    prefill: PrefillBound | Unknown


def peaks_of(card: Accelerator, fmt: Format, *, bandwidth_share: Decimal = Decimal(1)) -> Peaks:
    """Return the peaks of this card that bound weights of this format."""
    return Peaks(bandwidth_tb_s=card.bandwidth_tb_s, rate=rate_of(fmt, card), bandwidth_share=bandwidth_share)


def serve(
    setup: Setup, card: Accelerator, *, counts: Iterable[int] = POWERS_OF_TWO
) -> Served | TooBig | Unknown:
    """Return how the model runs on the fewest GPUs of `counts` (rising) that hold it, or what lacks.

    Prompts are as long as the context of the requests.
    """
    demand = setup.demand
    fit = fewest_gpus(setup.load(1), memory_of(card), engine=setup.engine, demand=demand, counts=counts)
    if not isinstance(fit, Fits):
        return fit
    load = on_gpus(setup.load(1), fit.gpus)
    peaks = peaks_of(card, setup.fmt, bandwidth_share=setup.bandwidth_share)
    return Served(
        fit=fit,
        decode=decode_bound(load, peaks, batch=demand.batch, context=demand.context, link=setup.link),
        prefill=prefill_bound(load, peaks, prompt_tokens=demand.context),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Dollars of a model that fits, at its ceilings: all of them lowest possible figures, none a forecast.

    Prompt tokens are charged for the seconds of prefill and generated ones for those of decode, so that no
    second is charged twice. `prefill_share` is prefill's share of the time at `input_per_output` prompt
    tokens for each generated one.
    """

    usd_per_hour: Decimal
    utilisation: Decimal
    input_per_output: Decimal
    usd_per_mtok_output: Decimal
    usd_per_mtok_input: Decimal
    usd_per_mtok_blended: Decimal
    prefill_share: Decimal


def cost_of(
    served: Served,
    *,
    usd_per_gpu_hour: Decimal | Unknown,
    utilisation: Decimal = Decimal(1),
    input_per_output: Decimal = Decimal(3),
) -> Cost | Unknown:
    """Return what a million tokens cost at the ceilings, unknown when the price or a ceiling is.

    `utilisation` is the share of the paid time in which the GPUs work at all.
    """
    if isinstance(usd_per_gpu_hour, Unknown):
        return usd_per_gpu_hour
    if isinstance(served.decode, Unknown):
        return served.decode
    if isinstance(served.prefill, Unknown):
        return served.prefill
    usd_per_hour = usd_per_gpu_hour * served.fit.gpus
    usd_output = usd_per_mtok(usd_per_hour, tokens_per_s=served.decode.tokens_per_s, utilisation=utilisation)
    usd_input = usd_per_mtok(usd_per_hour, tokens_per_s=served.prefill.tokens_per_s, utilisation=utilisation)
    prefill_s, decode_s = input_per_output / served.prefill.tokens_per_s, 1 / served.decode.tokens_per_s
    return Cost(
        usd_per_hour=usd_per_hour,
        utilisation=utilisation,
        input_per_output=input_per_output,
        usd_per_mtok_output=usd_output,
        usd_per_mtok_input=usd_input,
        usd_per_mtok_blended=blended_usd_per_mtok(usd_input, usd_output, input_per_output=input_per_output),
        prefill_share=prefill_s / (prefill_s + decode_s),
    )
