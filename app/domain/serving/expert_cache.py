"""What llama.cpp's `--moe-cache-mib` buys: how many experts a cache on the GPU holds, group by group.

Layers whose experts stay in host memory and whose expert tensors agree in type and shape share one pool of
slots. The rules are those of b11712, as `SOURCE` states them from the program's own code and saw them in its
log; another version may differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from app.domain.llms.checkpoint.header import HeaderError, quoted
from app.domain.llms.checkpoint.parts import is_mtp_layer
from app.domain.serving.reading import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from app.domain.llms.checkpoint.header import Header, Tensor

VERSION: Final = "llama.cpp b11712"
SOURCE: Final = (
    'inferprice.pages.dev, "llama.cpp\'s MoE cache nearly doubled 30B decode speed on a free T4", 2026-10-18'
)
MOST_BATCH_TOKENS: Final = 32
"""Tokens of the largest step that the cache serves."""

ALIGNMENT_BYTES: Final = 128
"""Each bank of slots is rounded up to this, the alignment of a CUDA buffer."""

SPARE_SLOTS: Final = 1
"""Slots of each bank that hold no expert."""

DEFAULT_DIVISOR: Final = 10
"""Without a budget a tenth of all experts is planned, where the feature's author starts."""

MIB: Final = 2**20
MOST_MIB: Final = 2**31 - 1
_DIMENSIONS: Final = 3
_PERCENT: Final = Decimal(100)
_NAME: Final = re.compile(r"blk\.(\d{1,6})\.ffn_(down|gate|gate_up|up)_exps\.weight")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """One kind of expert tensor of a layer: its type, the columns and rows of one expert, and its bytes."""

    kind: str
    dtype: str
    columns: int
    rows: int
    expert_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """The routed experts of a model: how many a layer has, how many a token uses, the banks of each layer."""

    architecture: str
    per_layer: int
    used: int
    layers: Mapping[int, tuple[Bank, ...]]
    mtp_layers: tuple[int, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Bytes of all experts of all layers."""
        return self.bytes_of(self.layers)

    def bytes_of(self, layers: Iterable[int]) -> int:
        """Return the bytes of all experts of some layers."""
        return sum(self.per_layer * _expert_bytes(self.layers[layer]) for layer in layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Layers that share slots, with what holds for every budget.

    `experts` counts those of all its layers, `group_bytes` are theirs, and `host_bytes` those of all experts
    in host memory; `used` is what a token uses of the `per_layer` of a layer.
    """

    layers: tuple[int, ...]
    banks: tuple[Bank, ...]
    per_layer: int
    used: int
    group_bytes: int
    host_bytes: int

    @property
    def experts(self) -> int:
        """Experts of all its layers."""
        return len(self.layers) * self.per_layer

    def share_bytes(self, budget_bytes: int) -> int:
        """Return the group's part of a budget, which is its part of the bytes in host memory."""
        return budget_bytes * self.group_bytes // self.host_bytes

    def slots_at(self, budget_bytes: int) -> int:
        """Return the slots that a budget buys, 0 where those do not hold the experts of one token."""
        slots = _slots(self.banks, self.share_bytes(budget_bytes), most=self.experts)
        return slots if slots >= self.used else 0

    def bytes_for(self, slots: int) -> int:
        """Return the smallest budget, in bytes for the whole model, at which it has so many slots."""
        return -(-_pool_bytes(self.banks, slots) * self.host_bytes // self.group_bytes)

    def mib_for(self, slots: int) -> int:
        """Return the smallest whole budget at which it has so many slots."""
        return _mib(self.bytes_for(slots))

    def largest_batch_tokens(self, slots: int) -> int:
        """Return the tokens of the largest step that is served: all experts it may use have a slot."""
        if slots >= self.per_layer:
            return MOST_BATCH_TOKENS
        return min(MOST_BATCH_TOKENS, slots // self.used)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Layers that share a pool.

    `experts` counts those of all its layers, `slots` how many of them the cache holds at once. Below a budget
    of `floor_bytes` for the whole model the group is not cached; from `whole_token_bytes` on it holds what
    one token uses in all of its layers.
    """

    layers: tuple[int, ...]
    banks: tuple[Bank, ...]
    experts: int
    slots: int
    largest_batch_tokens: int
    floor_bytes: int
    whole_token_bytes: int
    cache_bytes: int

    @property
    def expert_bytes(self) -> int:
        """Bytes of one expert, which is one slot and what a miss uploads."""
        return _expert_bytes(self.banks)

    @property
    def types_told(self) -> str:
        """Each kind of tensor with its type, as a table shows them."""
        return ", ".join(f"{bank.kind} {bank.dtype}" for bank in self.banks)

    @property
    def slots_percent(self) -> Decimal:
        """Share of the group's experts that the cache holds."""
        return _PERCENT * self.slots / self.experts

    @property
    def slots_told(self) -> str:
        """The same share to a tenth of a percent; see `told_percent`."""
        return told_percent(self.slots, self.experts)

    @property
    def floor_mib(self) -> int:
        """Smallest whole budget that caches the group."""
        return _mib(self.floor_bytes)

    @property
    def whole_token_mib(self) -> int:
        """Smallest whole budget at which one token's experts of all layers fit."""
        return _mib(self.whole_token_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a budget buys. `host_bytes` are the experts that stay in host memory, which alone are cached."""

    experts: Experts
    n_cpu_moe: int | None
    budget_mib: int
    is_default: bool
    host_bytes: int
    groups: tuple[Group, ...]

    @property
    def cache_bytes(self) -> int:
        """Bytes of all slots, spare ones with them."""
        return sum(group.cache_bytes for group in self.groups)

    @property
    def leftover_bytes(self) -> int:
        """Bytes of the budget that buy nothing."""
        return self.budget_mib * MIB - self.cache_bytes

    @property
    def starts_from_mib(self) -> int:
        """Smallest budget with which the server starts: one group is cached."""
        return min(group.floor_mib for group in self.groups)

    @property
    def floor_mib(self) -> int:
        """Smallest budget that caches every group."""
        return max(group.floor_mib for group in self.groups)

    @property
    def starts(self) -> bool:
        """Tell whether the server starts with this budget."""
        return any(group.slots for group in self.groups)


def told_percent(held: int, experts: int) -> str:
    """Return a share in percent to a tenth: 100.0 only when none is missing."""
    told = f"{_PERCENT * held / experts:.1f}"
    return "99.9" if held < experts and told == "100.0" else told


def experts_of(headers: Iterable[Header]) -> Experts:
    """Return the experts of a GGUF from the headers of all its parts, in order.

    Raises:
        HeaderError: it has none, or what it says of them does not go together.
    """
    first: Header | None = None
    banks: dict[int, dict[str, Bank]] = defaultdict(dict)
    counts: dict[int, str] = {}
    mtp_layers: set[int] = set()
    for header in headers:
        first = first or header
        for tensor in header.tensors:
            found = _NAME.fullmatch(tensor.name)
            if found:
                layer, kind = int(found[1]), found[2]
                if kind in banks[layer]:
                    raise HeaderError(
                        header.file, f"{quoted(tensor.name)} stands twice", "each name stands once"
                    )
                banks[layer][kind] = _bank(header.file, tensor, kind=kind)
                counts.setdefault(tensor.shape[-1], tensor.name)
            elif is_mtp_layer(tensor.name) and tensor.name.startswith("blk."):
                mtp_layers.update(int(number) for number in re.findall(r"^blk\.(\d{1,6})\.", tensor.name))
    if first is None or not banks:
        raise HeaderError(
            first.file if first else "GGUF",
            "it has no stacked expert tensors",
            "the MoE cache holds experts, so a dense model has no use for it",
        )
    architecture, per_layer, used = _said(first, counts)
    layers = {layer: tuple(banks[layer][kind] for kind in sorted(banks[layer])) for layer in sorted(banks)}
    return Experts(
        architecture=architecture,
        per_layer=per_layer,
        used=used,
        layers=layers,
        mtp_layers=tuple(sorted(mtp_layers & layers.keys())),
    )


def _bank(file: str, tensor: Tensor, *, kind: str) -> Bank:
    """Return one kind of expert tensor; of a type with no known layout the padding is left out."""
    if len(tensor.shape) != _DIMENSIONS or not tensor.elements:
        raise HeaderError(
            file,
            f"{quoted(tensor.name)} has the shape {list(tensor.shape)}",
            "experts are stacked as columns, rows and experts, none of them 0",
        )
    columns, rows, count = tensor.shape
    expert_bytes = tensor.size_bytes // (rows * count) * rows
    if not expert_bytes:
        raise HeaderError(file, f"{quoted(tensor.name)} has rows of no bytes", "each row has some")
    return Bank(kind=kind, dtype=tensor.dtype, columns=columns, rows=rows, expert_bytes=expert_bytes)


def _said(header: Header, counts: Mapping[int, str]) -> tuple[str, int, int]:
    """Return the architecture, the experts of a layer and those a token uses, as the metadata say them."""
    architecture = header.metadata.get("general.architecture")
    if not isinstance(architecture, str):
        raise HeaderError(header.file, "it names no general.architecture", "a GGUF of a model names it")
    per_layer, used = (
        _count(header, f"{architecture}.{name}") for name in ("expert_count", "expert_used_count")
    )
    if used > per_layer:
        raise HeaderError(
            header.file, f"a token uses {used} of {per_layer} experts", "it uses at most all of them"
        )
    for count, name in counts.items():
        if count != per_layer:
            raise HeaderError(
                header.file,
                f"{quoted(name)} stacks {count} experts",
                f"its metadata say {per_layer} for each layer",
            )
    return architecture, per_layer, used


def _count(header: Header, name: str) -> int:
    value = header.metadata.get(name)
    if type(value) is not int or value < 1:
        raise HeaderError(header.file, f"it does not say {quoted(name)}", "it is one number of at least 1")
    return value


def plan_cache(experts: Experts, *, budget_mib: int | None = None, n_cpu_moe: int | None = None) -> Plan:
    """Return what a budget buys, a tenth of all experts without one.

    With `n_cpu_moe` only the experts of the layers below it stay in host memory, as with `--n-cpu-moe`;
    without it those of all layers, as with `--cpu-moe`.

    Raises:
        InputError: the budget is below 1 MiB or beyond `MOST_MIB`, or no layer is in host memory.
    """
    host = pools(experts, n_cpu_moe)
    budget = experts.total_bytes // DEFAULT_DIVISOR // MIB if budget_mib is None else budget_mib
    if not 1 <= budget <= MOST_MIB:
        expected = f"give a whole budget from 1 to {MOST_MIB:,} MiB"
        raise InputError("mib", f"{budget}" if budget_mib is not None else "a tenth of the experts", expected)
    return Plan(
        experts=experts,
        n_cpu_moe=n_cpu_moe,
        budget_mib=budget,
        is_default=budget_mib is None,
        host_bytes=host[0].host_bytes,
        groups=tuple(_group(pool, budget_bytes=budget * MIB) for pool in host),
    )


def pools(experts: Experts, n_cpu_moe: int | None = None) -> tuple[Pool, ...]:
    """Return the groups of layers in host memory, in the order of their first; see `plan_cache`.

    Raises:
        InputError: no layer is in host memory.
    """
    host = [layer for layer in experts.layers if n_cpu_moe is None or layer < n_cpu_moe]
    if not host:
        raise InputError(
            "n_cpu_moe",
            str(n_cpu_moe),
            f"its first layer with experts is {min(experts.layers)}, so give more",
        )
    host_bytes = experts.bytes_of(host)
    return tuple(
        Pool(
            layers=layers,
            banks=experts.layers[layers[0]],
            per_layer=experts.per_layer,
            used=experts.used,
            group_bytes=experts.bytes_of(layers),
            host_bytes=host_bytes,
        )
        for layers in _alike(experts, host)
    )


def _alike(experts: Experts, layers: Sequence[int]) -> list[tuple[int, ...]]:
    """Return layers of equal types and shapes together, in the order of their first."""
    alike: dict[tuple[Bank, ...], list[int]] = defaultdict(list)
    for layer in layers:
        alike[experts.layers[layer]].append(layer)
    return [tuple(each) for each in alike.values()]


def _group(pool: Pool, *, budget_bytes: int) -> Group:
    """Return what a budget gives one pool."""
    slots = pool.slots_at(budget_bytes)
    return Group(
        layers=pool.layers,
        banks=pool.banks,
        experts=pool.experts,
        slots=slots,
        largest_batch_tokens=pool.largest_batch_tokens(slots),
        floor_bytes=pool.bytes_for(pool.used),
        whole_token_bytes=pool.bytes_for(len(pool.layers) * pool.used),
        cache_bytes=_pool_bytes(pool.banks, slots) if slots else 0,
    )


def _slots(banks: Sequence[Bank], share_bytes: int, *, most: int) -> int:
    """Return the most slots whose banks fit in a share."""
    slots = min(most, max(0, share_bytes // _expert_bytes(banks) - SPARE_SLOTS))
    # Only the rounding of each bank is left to make room for: at most a slot where experts are real ones.
    while slots and _pool_bytes(banks, slots) > share_bytes:
        slots -= 1
    return slots


def _pool_bytes(banks: Sequence[Bank], slots: int) -> int:
    """Return the bytes of a pool: each bank with its spare slot, rounded up."""
    sizes = (bank.expert_bytes * (slots + SPARE_SLOTS) for bank in banks)
    return sum(-(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES for size in sizes)


def _expert_bytes(banks: Iterable[Bank]) -> int:
    return sum(bank.expert_bytes for bank in banks)


def _mib(size_bytes: int) -> int:
    return -(-size_bytes // MIB)
