"""Whether a model with its cache fits the memory of so many GPUs, how many requests it holds, what lacks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from app.domain.llms.kv import longest_context
from app.domain.llms.parallel import Spread, weights_per_gpu_bytes
from app.domain.llms.unknown import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.accelerators import Accelerator
    from app.domain.llms.bounds import Load

POWERS_OF_TWO: Final = (1, 2, 4, 8, 16, 32)
"""Sizes of tensor parallel groups that engines run on most models, up to four hosts of eight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory of one GPU that a program can use, and how that is known."""

    usable_bytes: int
    basis: str


def memory_of(card: Accelerator) -> Memory:
    """Return what a driver reported for this card, else its label as decimal gigabytes, and say which."""
    if card.memory_gib_usable is not None:
        basis = f"{card.memory_gib_usable} GiB as the driver reports it"
    else:
        basis = f"{card.memory_gb} GB as the label says, read as decimal gigabytes"
    return Memory(usable_bytes=card.memory_bytes, basis=basis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """How an engine divides memory: which share, of what, and what it needs beside weights and cache.

    vLLM's `gpu_memory_utilization` is a share of all memory, and the rest serves nothing. TensorRT-LLM's
    `free_gpu_memory_fraction` is a share of what is free after the weights. Taking one for the other gave
    26 GiB of cache instead of 8 (aiconfigurator pull request 1423). `overhead_bytes` is activations, graphs
    and messages on each GPU; aiconfigurator sets 3.5 GiB aside and up to 0.4 for NCCL.
    """

    id: str
    label: str
    memory_share: Decimal
    share_of: Literal["total", "free"]
    overhead_bytes: int = 3 * 10**9


ENGINES: Final[Mapping[str, Engine]] = MappingProxyType(
    {
        "vllm": Engine(id="vllm", label="vLLM", memory_share=Decimal("0.9"), share_of="total"),
        "tensorrt-llm": Engine(
            id="tensorrt-llm", label="TensorRT-LLM", memory_share=Decimal("0.9"), share_of="free"
        ),
    }
)
"""Engines by the id that a link names, with their own default shares (vLLM's was 0.9 before 0.22)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How the memory of each GPU is divided, in bytes; a pool below zero is room that the weights lack."""

    gpus: int
    memory: Memory
    engine: Engine
    weights_bytes: Decimal
    pool_bytes: Decimal
    request_bytes: Decimal
    requests: int
    """Requests on the GPU that holds the most of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The batch fits: what each GPU holds, and the most requests of this context that all hold together.

    Where a request keeps nothing, those that were asked for are the most. `longest_context` is for one
    request alone, None without a limit.
    """

    budget: Budget
    max_concurrency: int
    longest_context: int | None

    @property
    def gpus(self) -> int:
        """GPUs that hold one copy of the model."""
        return self.budget.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class TooBig:
    """The batch does not fit: how many bytes lack on each GPU, and why. It has no speed and no cost.

    `max_concurrency` is how many requests of this context would fit, 0 when the weights leave no room.
    """

    budget: Budget
    max_concurrency: int
    missing_bytes: Decimal
    why: str

    @property
    def gpus(self) -> int:
        """GPUs that were tried."""
        return self.budget.gpus


Fit = Fits | TooBig


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How many requests run together, and how many tokens each may reach.

    Layers with a window reserve what vLLM reserves for passes of `max_num_batched_tokens`; at 0 they hold the
    window alone, the least that any engine needs.
    """

    batch: int
    context: int
    max_num_batched_tokens: int = 0


def fit(load: Load, memory: Memory, *, engine: Engine, demand: Demand) -> Fit:
    """Tell whether the requests fit on the GPUs of the load."""
    budget = _budget(load, memory, engine=engine, demand=demand)
    most = _most_requests(budget, load.spread, demand=demand)
    missing = budget.requests * budget.request_bytes - budget.pool_bytes
    if missing > 0:
        return TooBig(
            budget=budget, max_concurrency=most, missing_bytes=missing, why=_why(budget, demand=demand)
        )
    longest = longest_context(load.kv, budget.pool_bytes, spread=_one_request(load.spread))
    return Fits(budget=budget, max_concurrency=most, longest_context=longest)


def _budget(load: Load, memory: Memory, *, engine: Engine, demand: Demand) -> Budget:
    spread = load.spread
    weights = weights_per_gpu_bytes(load.weights, spread)
    request = load.kv.reserved_bytes(
        demand.context,
        max_num_batched_tokens=demand.max_num_batched_tokens,
        spread=_one_request(spread),
    )
    return Budget(
        gpus=spread.gpus,
        memory=memory,
        engine=engine,
        weights_bytes=weights,
        pool_bytes=pool_bytes(memory, engine, weights_bytes=weights),
        request_bytes=request,
        requests=-(-demand.batch // spread.gpus) if spread.attention == "data" else demand.batch,
    )


def pool_bytes(memory: Memory, engine: Engine, *, weights_bytes: Decimal) -> Decimal:
    """Return the bytes left for the cache on one GPU by the engine's rule, below zero when none is left."""
    total, share = Decimal(memory.usable_bytes), engine.memory_share
    if engine.share_of == "total":
        return total * share - weights_bytes - engine.overhead_bytes
    free = total - weights_bytes - engine.overhead_bytes
    return free * share if free > 0 else free


def _most_requests(budget: Budget, spread: Spread, *, demand: Demand) -> int:
    if budget.pool_bytes < 0:
        return 0
    if budget.request_bytes == 0:
        return demand.batch
    on_one_gpu = (budget.pool_bytes / budget.request_bytes).to_integral_value(rounding=ROUND_FLOOR)
    return int(on_one_gpu) * (spread.gpus if spread.attention == "data" else 1)


def _one_request(spread: Spread) -> Spread:
    """Return how one request lies on the GPUs that hold it: whole on one with data parallel attention."""
    return Spread() if spread.attention == "data" else spread


def _why(budget: Budget, *, demand: Demand) -> str:
    where = "the GPU" if budget.gpus == 1 else f"each of {budget.gpus} GPUs"
    wanted = budget.requests * budget.request_bytes
    if budget.pool_bytes < 0:
        return (
            f"weights of {_gb(budget.weights_bytes)} GB on {where} are {_gb(-budget.pool_bytes)} GB more "
            f"than {budget.engine.label} leaves them, and the cache of {_requests(demand)} takes "
            f"another {_gb(wanted)} GB"
        )
    return (
        f"the cache of {_requests(demand)} takes {_gb(wanted)} GB on {where}, and the weights of "
        f"{_gb(budget.weights_bytes)} GB leave {_gb(budget.pool_bytes)} GB: "
        f"{_gb(wanted - budget.pool_bytes)} GB too much"
    )


def _requests(demand: Demand) -> str:
    return f"{demand.batch} request{'' if demand.batch == 1 else 's'} of {demand.context:,} tokens"


def _gb(size: Decimal) -> str:
    return f"{size / 10**9:,.2f}"


def fewest_gpus(
    load: Load,
    memory: Memory,
    *,
    engine: Engine,
    demand: Demand,
    counts: Iterable[int] = POWERS_OF_TWO,
) -> Fit | Unknown:
    """Return the fit on the fewest GPUs of `counts` (rising) that hold it, else how the most fail to."""
    found: Fit | Unknown = Unknown(why="no number of GPUs to try")
    for gpus in counts:
        found = fit(on_gpus(load, gpus), memory, engine=engine, demand=demand)
        if isinstance(found, Fits):
            break
    return found


def on_gpus(load: Load, gpus: int) -> Load:
    """Return the same model spread over so many GPUs."""
    return replace(load, spread=replace(load.spread, gpus=gpus))
