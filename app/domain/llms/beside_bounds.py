"""A measurement beside its bounds: one stream, its own batch where stated, and any batch at all.

What a measurement does not state makes its bounds wider, so that no real speed should lie above them. One
thing may narrow them: experts count as if routing were even, and real routing touches fewer. Nothing here
says how fast a model will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.llms.bounds import Load, decode_bound
from app.domain.llms.formats import FORMATS, rate_of
from app.domain.llms.kv import KV_FORMATS, KvCache, kv_cache
from app.domain.llms.measured import times_ceiling
from app.domain.llms.parallel import Spread
from app.domain.llms.serving import peaks_of
from app.domain.llms.touched import weights_read_bytes
from app.domain.llms.unknown import Unknown
from app.domain.llms.weights import estimated_weights

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.llms.bounds import DecodeBound
    from app.domain.llms.measurements import Measurement
    from app.domain.llms.profile import LlmProfile

_GIGA: Final = 10**9
_TERA: Final = 10**12
_OPS_PER_PARAMETER: Final = 2

NOT_NAMED: Final = Unknown(why="the source does not name the model")
NO_PROFILE: Final = Unknown(why="the shape of this model is not known here")
NO_FORMAT: Final = Unknown(why="the source states no weight format of a known size")
NO_BATCH: Final = Unknown(why="the source states no batch")
TIMED: Final = Unknown(why="a pass was timed, not tokens a second")


@dataclass(frozen=True, slots=True, kw_only=True)
class OneStream:
    """The ceiling of one sequence on one GPU's share: bandwidth over the bytes that one token reads.

    `bytes_per_token` is the whole model's. Over N GPUs the ceiling is N times this, so per GPU it is this.
    The cache is left out, as in the ceiling of the board.
    """

    bytes_per_token: Decimal
    bytes_per_s: Decimal

    @property
    def tokens_per_s_per_gpu(self) -> Decimal:
        """Tokens a second of one sequence for each GPU that holds the model."""
        return self.bytes_per_s / self.bytes_per_token


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A measurement with what bounds it, each bound unknown with its reason.

    `any_batch_tokens_per_s_per_gpu` is the dense rate over two operations a parameter and token: above it is
    no batch of any size. `batch_bound` is of all GPUs.
    """

    measurement: Measurement
    card: Accelerator
    one_stream: OneStream | Unknown
    batch_bound: DecodeBound | Unknown
    any_batch_tokens_per_s_per_gpu: Decimal | Unknown

    @property
    def times_one_stream(self) -> Decimal | Unknown:
        """How many times the ceiling of one stream, per GPU: above 1 many streams share a pass."""
        ceiling = self.one_stream
        return ceiling if isinstance(ceiling, Unknown) else self._per_gpu_over(ceiling.tokens_per_s_per_gpu)

    @property
    def share_of_batch_bound(self) -> Decimal | Unknown:
        """What share of the bound of its own batch was reached."""
        bound = self.batch_bound
        if isinstance(bound, Unknown):
            return bound
        return self._per_gpu_over(bound.tokens_per_s / self.measurement.gpus)

    @property
    def share_of_any_batch(self) -> Decimal | Unknown:
        """What share of the bound of any batch was reached."""
        ceiling = self.any_batch_tokens_per_s_per_gpu
        return ceiling if isinstance(ceiling, Unknown) else self._per_gpu_over(ceiling)

    @property
    def is_above_a_bound(self) -> bool:
        """Tell whether it lies above a bound, so that something it says of itself cannot be so."""
        shares = (self.share_of_batch_bound, self.share_of_any_batch)
        return any(not isinstance(share, Unknown) and share > 1 for share in shares)

    def _per_gpu_over(self, ceiling: Decimal) -> Decimal | Unknown:
        measured = self.measurement.tokens_per_s_per_gpu
        return TIMED if measured is None else times_ceiling(measured, ceiling_tokens_per_s=ceiling)


def beside_bounds(measurement: Measurement, card: Accelerator, *, profile: LlmProfile | None) -> Beside:
    """Return a measurement on this card beside its bounds; `profile` is its model's, None when unknown."""
    lacking = _lacking(measurement, profile)
    return Beside(
        measurement=measurement,
        card=card,
        one_stream=_one_stream(measurement, card, profile=profile),
        batch_bound=lacking or _batch_bound(measurement, card, profile=profile),
        any_batch_tokens_per_s_per_gpu=lacking or _any_batch(measurement, card, profile=profile),
    )


def _lacking(measurement: Measurement, profile: LlmProfile | None) -> Unknown | None:
    if not measurement.llm:
        return NOT_NAMED
    if profile is None:
        return NO_PROFILE
    return None if measurement.weights else NO_FORMAT


def _one_stream(
    measurement: Measurement, card: Accelerator, *, profile: LlmProfile | None
) -> OneStream | Unknown:
    """Return the ceiling at the size that the measurement names, else at its model's own in its format."""
    bytes_per_s = card.bandwidth_tb_s * _TERA
    if measurement.weights_gb is not None:
        return OneStream(bytes_per_token=measurement.weights_gb * _GIGA, bytes_per_s=bytes_per_s)
    lacking = _lacking(measurement, profile)
    if lacking or profile is None:
        return lacking or NO_PROFILE
    weights = estimated_weights(profile, FORMATS[measurement.weights])
    read = weights_read_bytes(profile, weights, tokens=1)
    return OneStream(bytes_per_token=read, bytes_per_s=bytes_per_s)


def _batch_bound(
    measurement: Measurement, card: Accelerator, *, profile: LlmProfile | None
) -> DecodeBound | Unknown:
    """Return the bound of the measurement's batch at the context of its first token, the shortest it had."""
    if profile is None:
        return NO_PROFILE
    if measurement.batch is None:
        return NO_BATCH
    fmt = FORMATS[measurement.weights]
    load = Load(
        profile=profile,
        weights=estimated_weights(profile, fmt),
        kv=_cache(measurement, profile),
        spread=Spread(gpus=measurement.gpus),
    )
    context = measurement.context_in or 0
    return decode_bound(load, peaks_of(card, fmt), batch=measurement.batch, context=context)


def _cache(measurement: Measurement, profile: LlmProfile) -> KvCache:
    """Return the cache in the stated format, an empty one where none is stated: no smaller one exists."""
    if measurement.kv:
        return kv_cache(profile, KV_FORMATS[measurement.kv])
    return KvCache(layers=(), fixed_bytes=0, fmt=KV_FORMATS["bf16"])


def _any_batch(
    measurement: Measurement, card: Accelerator, *, profile: LlmProfile | None
) -> Decimal | Unknown:
    if profile is None:
        return NO_PROFILE
    rate = rate_of(FORMATS[measurement.weights], card)
    if isinstance(rate, Unknown):
        return rate
    return rate.dense_tflops * _TERA / (_OPS_PER_PARAMETER * profile.params_active)
