"""What counts for the bounds of a benchmarked decode speed, and who says so: GPUs, context, cache, weights.

What was typed goes first, then what the files tell, then what is least, so that each bound stays one:

- of GPUs the layout that the files tell, where nobody typed another number, else the widest of that number;
- of the context the depth of llama-bench, else what was typed, else the mean prompt. A step reads the cache
  of its streams, so where long prompts get answers as long as others the mean over all steps is no less;
- of a cache whose format nobody tells, the fewest bytes a value that are known here, without any state;
- of weights the size of llama-bench's file, less its table of embeddings, else parameters times bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.llms.bounds import DecodeBound, Load, decode_bound
from app.domain.llms.fit import Demand, Engine, Memory, TooBig, fit, memory_of
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS, KvCache, kv_cache
from app.domain.llms.parallel import Spread
from app.domain.llms.serving import peaks_of
from app.domain.llms.unknown import Unknown
from app.domain.llms.weights import Weights, estimated_weights
from app.domain.serving.figures import counted_as
from app.domain.serving.layout import Layout

if TYPE_CHECKING:
    from app.domain.accelerators import Accelerator
    from app.domain.llms.formats import Format
    from app.domain.llms.profile import LlmProfile
    from app.domain.serving.benchmarked import Configuration
    from app.domain.serving.ran_on import On

LEAST_KV: Final = min(KV_FORMATS.values(), key=lambda fmt: fmt.bytes_per_value)
"""The cache format of the fewest bytes a value that is known here."""

MOST_CONTEXT: Final = 100_000_000
"""Longest context that counts, in tokens; of a longer one less is read than there is."""

_GIGA: Final = 10**9
_UNQUANTISED_BITS: Final = 16
_WIDER: Final = "files keep some tensors wider, so that a pass reads more than counts here"
_SAME_MODEL: Final = Decimal("0.02")
"""How far a file's own count of parameters may lie from the model's: it counts a few small tensors more."""

_ALL_MEMORY: Final = Engine(
    id="all", label="all memory", memory_share=Decimal(1), share_of="total", overhead_bytes=0
)
"""The most that any engine could have: all memory, with nothing beside weights and cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What counts for the bounds of a speed; `kv` is None where the cache's format is not known.

    `context` is None where nothing tells it, and no cache counts then. `remarks` say, in whole
    sentences, what was taken from the files, and where what was typed differs from it; `setup_remarks` say so
    of GPUs and the model, whatever was timed.
    """

    layout: Layout
    context: int | None
    kv: str | None
    weights: Weights
    setup_remarks: tuple[str, ...]
    remarks: tuple[str, ...]

    def cache(self, profile: LlmProfile) -> KvCache:
        """Return the cache of a stream: an empty one without a context, the least one without a format."""
        if self.context is None:
            return KvCache(layers=(), fixed_bytes=0, fmt=LEAST_KV)
        if self.kv is None:
            return replace(kv_cache(profile, LEAST_KV), fixed_bytes=0)
        return kv_cache(profile, KV_FORMATS[self.kv])


def counted(configuration: Configuration, on: On, *, profile: LlmProfile) -> Counted:
    """Return what counts of what was typed, with the ids of formats, and of what the files tell."""
    run = configuration.runs[0]
    layout, gpus_remark = _layout(configuration.layout, on)
    context, context_remark = _context(configuration, on)
    kv, kv_remark = _kv(run.kv, on)
    weights, weights_remark = _weights(
        run.weights_bytes, run.params, profile=profile, fmt=FORMATS[on.weights]
    )
    remarks = [context_remark, kv_remark if context else ""]
    return Counted(
        layout=layout,
        context=None if context is None else min(context, MOST_CONTEXT),
        kv=kv,
        weights=weights,
        setup_remarks=tuple(remark for remark in (gpus_remark, weights_remark) if remark),
        remarks=tuple(remark for remark in remarks if remark),
    )


def _layout(told: Layout | None, on: On) -> tuple[Layout, str]:
    if told is None:
        return _widest(on.gpus or 1), "" if (on.gpus or 1) == 1 else _untold(on.gpus or 1)
    if on.gpus is not None and on.gpus != told.gpus:
        given = f"{counted_as(on.gpus, 'GPU')} {'was' if on.gpus == 1 else 'were'} given"
        says = f"The file says {told.said}, which is {counted_as(told.gpus, 'GPU')}"
        return _widest(on.gpus), f"{says}, and {given}: the bounds are of {on.gpus:,}."
    said = f"The file says {told.said}, so {counted_as(told.gpus, 'GPU')} count." if told.gpus > 1 else ""
    return told, "" if on.gpus == told.gpus else said


def _widest(gpus: int) -> Layout:
    """Return the layout of the highest bound: each GPU reads its share of weights and cache, and no more.

    Shared heads stand more than once where there are more GPUs than heads, replicas read all weights each,
    and stages work one after another.
    """
    is_several = gpus > 1
    said = f"how {counted_as(gpus, 'GPU')} shared the model is not told" if is_several else ""
    return Layout(tensor=gpus, has_data_attention=is_several, said=said)


def _untold(gpus: int) -> str:
    return (
        f"The file does not tell how {counted_as(gpus, 'GPU')} shared the model: each counts for its share "
        "of weights and cache, and no layout reads less."
    )


def _context(configuration: Configuration, on: On) -> tuple[int | None, str]:
    told, mean = configuration.context, configuration.least_mean_prompt
    if told is not None:
        differs = on.context is not None and on.context != told
        return (
            told,
            f"The file says that a stream had {counted_as(told, 'token')}, which counts." if differs else "",
        )
    if on.context is not None:
        differs = mean is not None and on.context > mean
        given = f"and {on.context:,} were given, which count"
        return on.context, f"Prompts have {mean:,} tokens on average by the file, {given}." if differs else ""
    if not mean:
        return None, ""
    return mean, f"The cache of a stream counts {counted_as(mean, 'token')}, the mean prompt of the file."


def _kv(told: str, on: On) -> tuple[str | None, str]:
    if on.kv:
        label = KV_FORMATS[told].label if told else ""
        differs = f"The file says a cache in {label}, and {KV_FORMATS[on.kv].label} was given, which counts."
        return on.kv, differs if told and told != on.kv else ""
    if told:
        return told, ""
    bits = (LEAST_KV.bytes_per_value * 8).normalize()
    return None, (
        f"In which format the cache was nobody tells, so each of its values counts {bits:f} bits, the fewest "
        "known here."
    )


def _weights(
    size_bytes: int | None, params: int | None, *, profile: LlmProfile, fmt: Format
) -> tuple[Weights, str]:
    """Return the weights at the size of their file where it is of this model, else an estimate."""
    estimate = estimated_weights(profile, fmt)
    if fmt.bits_per_weight < _UNQUANTISED_BITS:
        estimate = replace(estimate, basis=f"{estimate.basis}; {_WIDER}")
    if size_bytes is None or params is None:
        return estimate, ""
    if abs(params - profile.params_text) > _SAME_MODEL * profile.params_text:
        return estimate, (
            f"The file's model has {params:,} parameters, and the one that counts {profile.params_text:,}, "
            "so the size of its file does not count."
        )
    read = estimate.always_bytes + estimate.routed_bytes
    share = (size_bytes - estimate.lookup_bytes) / read
    if share <= 0:
        return estimate, ""
    return _sized(estimate, size_bytes=size_bytes, share=share, fmt=fmt), ""


def _sized(estimate: Weights, *, size_bytes: int, share: Decimal, fmt: Format) -> Weights:
    table = ""
    if estimate.lookup_bytes:
        bits = fmt.bits_per_weight.normalize()
        table = f", less a table of embeddings of {estimate.lookup_bytes:,.0f} B at {bits:f} bits"
    return replace(
        estimate,
        always_bytes=estimate.always_bytes * share,
        routed_bytes=estimate.routed_bytes * share,
        attention_bytes=estimate.attention_bytes * share,
        basis=f"estimate: the file's model_size of {size_bytes:,} B{table}",
    )


def batch_bound(
    what: Counted, card: Accelerator, *, profile: LlmProfile, fmt: Format, batch: int
) -> DecodeBound | Unknown:
    """Return the bound of so many streams on all GPUs; its step is of each GPU of one replica.

    Without a known fit it says nothing of memory; see `too_big`.
    """
    groups, streams = what.layout.shared(batch)
    load = Load(
        profile=profile,
        weights=what.weights,
        kv=what.cache(profile),
        spread=what.layout.working(streams),
    )
    found = decode_bound(load, peaks_of(card, fmt), batch=streams, context=what.context or 0)
    if isinstance(found, Unknown) or groups == 1:
        return found
    return replace(found, step=replace(found.step, batch=streams * groups))


def too_big(what: Counted, card: Accelerator, *, profile: LlmProfile, batch: int | None) -> TooBig | None:
    """Return how the streams of a batch do not fit in all memory of a replica, None where they may.

    GPUs that share in other ways than each matrix count as one with the memory of all.
    """
    _, streams = what.layout.shared(batch or 1)
    demand = Demand(batch=streams, context=what.context or 0)
    gpus, memory = what.layout.gpus_per_replica, memory_of(card)
    if what.layout.pipeline > 1 or what.layout.has_data_attention:
        memory = Memory(usable_bytes=memory.usable_bytes * gpus, basis=memory.basis)
        gpus = 1
    load = Load(profile=profile, weights=what.weights, kv=what.cache(profile), spread=Spread(gpus=gpus))
    found = fit(load, memory, engine=_ALL_MEMORY, demand=demand)
    return found if isinstance(found, TooBig) else None


def is_weights_alone(found: TooBig) -> bool:
    """Tell whether the weights alone are more than all memory."""
    return found.budget.pool_bytes < 0


def why_too_big(found: TooBig, what: Counted, *, card: Accelerator) -> str:
    """Return in words how it does not fit: of weights alone, or of the cache beside them."""
    budget, gpus = found.budget, what.layout.gpus_per_replica
    cache = budget.requests * budget.request_bytes
    together = "together " if budget.gpus != gpus else ""
    where = (
        f"on each of {gpus:,} GPUs" if budget.gpus > 1 else f"on {gpus:,} GPUs" if gpus > 1 else "on one GPU"
    )
    held = f"the {_gb(Decimal(budget.memory.usable_bytes))} GB of memory {together}{where} ({card.name})"
    requests = f"{counted_as(budget.requests, 'request')} of {counted_as(what.context or 0, 'token')}"
    if is_weights_alone(found):
        beside = f", and the cache of {requests} takes {_gb(cache)} GB more" if cache else ""
        return f"weights of {_gb(budget.weights_bytes)} GB do not fit in {held}{beside}"
    return (
        f"{requests} at once, {_gb(cache)} GB of cache, do not fit beside weights of "
        f"{_gb(budget.weights_bytes)} GB in {held}"
    )


def _gb(size: Decimal) -> str:
    return f"{size / _GIGA:,.2f}"
