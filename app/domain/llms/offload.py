"""Decode with some routed experts in host memory: what the GPU still holds, and the bound of the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from app.domain.llms.bounds import decode_bound
from app.domain.llms.touched import touched_share
from app.domain.llms.unknown import Unknown

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.llms.bounds import BoundBy, DecodeBound, Load, Peaks
    from app.domain.llms.fit import Demand


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What lies in host memory, and how fast it gets to where it is multiplied; both are stated inputs.

    `expert_share` is the share of the routed weights that the host holds. `bytes_per_s` is the link to the
    GPU where experts are sent there, or the host's memory bandwidth where its processor multiplies them.
    `miss_share` is the share of the touched expert bytes that come from the host: a measured miss rate of a
    cache, else that of experts which are as likely wherever they lie, `expert_share`.
    """

    expert_share: Decimal
    bytes_per_s: Decimal
    miss_share: Decimal | None = None

    @property
    def touched_from_host(self) -> Decimal:
        """Share of the touched expert bytes that the host gives."""
        return self.expert_share if self.miss_share is None else self.miss_share


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadBound:
    """A ceiling with experts in host memory: the GPU's own step beside the seconds that the host takes."""

    on_gpu: DecodeBound
    host_bytes: Decimal
    host_s: Decimal

    @property
    def step_s(self) -> Decimal:
        """Seconds of one step at least: host and GPU may overlap fully, so the longer counts."""
        return max(self.on_gpu.step_s, self.host_s)

    @property
    def tokens_per_s(self) -> Decimal:
        """Tokens a second of the whole batch."""
        return self.on_gpu.step.batch / self.step_s

    @property
    def bound_by(self) -> BoundBy | Literal["host"]:
        """What a step waits for."""
        return "host" if self.host_s > self.on_gpu.step_s else self.on_gpu.bound_by


def on_gpu_load(load: Load, host: Host, *, share: Decimal | None = None) -> Load:
    """Return the load without the experts of the host, for its fit; `share` leaves out another share."""
    kept = 1 - (host.expert_share if share is None else share)
    weights = replace(load.weights, routed_bytes=load.weights.routed_bytes * kept)
    return replace(load, weights=weights)


def offload_bound(load: Load, peaks: Peaks, *, demand: Demand, host: Host) -> OffloadBound | Unknown:
    """Return the ceiling when the host gives its share of the experts that a batch touches."""
    own = on_gpu_load(load, host, share=host.touched_from_host)
    bound = decode_bound(own, peaks, batch=demand.batch, context=demand.context)
    if isinstance(bound, Unknown):
        return bound
    touched = load.weights.routed_bytes * touched_share(load.profile, tokens=demand.batch)
    host_bytes = touched * host.touched_from_host
    return OffloadBound(on_gpu=bound, host_bytes=host_bytes, host_s=host_bytes / host.bytes_per_s)
