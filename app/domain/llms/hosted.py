"""A batch with some routed experts in host memory: the GPUs that hold the rest, and the ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.llms.costs import peaks_at
from app.domain.llms.fit import Fits, fewest_gpus, memory_of
from app.domain.llms.offload import offload_bound, on_gpu_load

if TYPE_CHECKING:
    from app.domain.accelerators import Accelerator
    from app.domain.llms.costs import Serving
    from app.domain.llms.fit import TooBig
    from app.domain.llms.offload import Host, OffloadBound
    from app.domain.llms.unknown import Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """How the rest fits the GPUs, and the ceiling, unknown when a peak is."""

    fit: Fits
    bound: OffloadBound | Unknown


def with_host(serving: Serving, card: Accelerator, *, batch: int, host: Host) -> Hosted | TooBig | Unknown:
    """Return a batch on the fewest GPUs that hold what the host does not, whatever room the host has."""
    setup = serving.of_batch(batch)
    rest = on_gpu_load(setup.load(1), host)
    fit = fewest_gpus(
        rest, memory_of(card), engine=setup.engine, demand=setup.demand, counts=serving.gpu_counts
    )
    if not isinstance(fit, Fits):
        return fit
    bound = offload_bound(setup.load(fit.gpus), peaks_at(serving, card), demand=setup.demand, host=host)
    return Hosted(fit=fit, bound=bound)
