"""What a whole checkpoint holds, from the tensors of all its files, counted as they come.

Nothing of a file is kept but its counts, so a repository of hundreds of files needs no more memory than its
largest header.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.checkpoint.header import HeaderError, quoted
from app.domain.llms.checkpoint.packing import (
    PAIR_MARK,
    Packable,
    is_pair_mark,
    module_of,
    role_of,
    scaled_module,
)
from app.domain.llms.checkpoint.parts import PARTS, Part, expert_of, is_mtp_layer, layer_of, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.llms.checkpoint.header import Header, Tensor
    from app.domain.llms.checkpoint.quantisation import Quantisation
    from app.domain.llms.checkpoint.yarn import Context

Counts = Counter[tuple[str, Part, str]]
"""Counts by layer, part and stored type."""

MOST_TENSORS_OF_ALL: Final = 500_000
"""Tensors of all files of one checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Modules whose stored elements hold several values, or may: of one part, type and number of values.

    `values_per_element` is None where neither scales nor a config say it.
    """

    part: Part
    dtype: str
    modules: int
    size_bytes: int
    values_per_element: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFacts:
    """What a checkpoint holds. All bytes are of tensors, but for the header's and the files'.

    `stored_elements` counts as the Hub does, packed pairs once and scales too: not parameters. `parameters`
    is None with its reason where a packing is not known. `dtype_by_part` names the stored type of most of a
    part's values. `modules` counts matrices by part, the scheme that the config says, and the stored type.
    """

    format: str
    files: int
    tensors: int
    header_bytes: int
    file_bytes: int
    stored_elements: int
    parameters: int | None
    parameters_why: str
    bytes_by_dtype: Mapping[str, int]
    bytes_by_part: Mapping[Part, int]
    parameters_by_part: Mapping[Part, int | None]
    dtype_by_part: Mapping[Part, str]
    experts_per_layer: tuple[int, ...]
    moe_layers: int
    packed: tuple[Packed, ...]
    quantisation: Quantisation | None
    modules: Mapping[tuple[Part, str, str], int]
    context: Context | None
    notes: tuple[str, ...]

    @property
    def tensor_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(self.bytes_by_dtype.values())


@dataclass(slots=True)  # it adds up the files one after the other
class Tally:
    """The counts of the files so far, by layer: a layer may turn out at the end to be one of MTP."""

    quantisation: Quantisation | None = None
    format: str = ""
    files: int = 0
    tensors: int = 0
    header_bytes: int = 0
    file_bytes: int = 0
    stored_elements: int = 0
    size_bytes: Counts = field(default_factory=Counter)
    parameters: Counts = field(default_factory=Counter)
    value_bytes: Counts = field(default_factory=Counter)
    modules: Counter[tuple[str, Part, str, str]] = field(default_factory=Counter)
    experts: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    stacked: dict[str, int] = field(default_factory=dict)
    mtp_layers: set[str] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    packable: defaultdict[str, Packable] = field(default_factory=lambda: defaultdict(Packable))

    def add(self, header: Header) -> None:
        """Count one more file; raises HeaderError for one that does not belong to the others."""
        if self.format and header.format != self.format:
            raise HeaderError(
                header.file, f"it is {header.format}", f"all files of this checkpoint are {self.format}"
            )
        self.format = header.format
        self.files += 1
        self.header_bytes += header.header_bytes
        self.file_bytes += header.file_bytes
        self.tensors += len(header.tensors)
        if self.tensors > MOST_TENSORS_OF_ALL:
            raise HeaderError(
                header.file, f"with it come {self.tensors} tensors", f"at most {MOST_TENSORS_OF_ALL} are read"
            )
        for tensor in header.tensors:
            # A number stands for the name: a million names would take more memory than all else.
            mark = hash(tensor.name)
            if mark in self.seen:
                raise HeaderError(
                    header.file, f"{quoted(tensor.name)} stands in another file too", "each name stands once"
                )
            self.seen.add(mark)
            self._add(tensor)

    def _add(self, tensor: Tensor) -> None:
        layer, part, elements = layer_of(tensor.name), part_of(tensor.name), tensor.elements
        place = (layer, part, tensor.dtype)
        self.stored_elements += elements
        self.size_bytes[place] += tensor.size_bytes
        if is_mtp_layer(tensor.name):
            self.mtp_layers.add(layer)
        if part == "experts":
            self._add_experts(tensor, layer)
        role = "values" if self.format == "gguf" else role_of(tensor.name, tensor.dtype)
        module = module_of(tensor.name)
        if role == "packed":
            self._add_packable(tensor, module, layer=layer, part=part)
        elif role == "values":
            self.parameters[place] += elements
            self.value_bytes[place] += tensor.size_bytes if len(tensor.shape) > 1 else 0
        elif scaled := scaled_module(tensor.name):
            seen = self.packable[scaled]
            seen.scale_dtype = PAIR_MARK if is_pair_mark(tensor.name) else seen.scale_dtype or tensor.dtype
            seen.scale_elements = elements
        if self.quantisation is not None and role != "beside" and len(tensor.shape) > 1:
            self.modules[layer, part, self._said(part, module), tensor.dtype] += 1

    def _said(self, part: Part, module: str) -> str:
        """Return the scheme said of a module; embeddings are no linear layers, and are left as they are."""
        if self.quantisation is None or part in {"embeddings", "ple"}:
            return "not quantised"
        return self.quantisation.scheme_of(module)

    def _add_experts(self, tensor: Tensor, layer: str) -> None:
        number = expert_of(tensor.name)
        if number is not None:
            self.experts[layer].add(number)
        elif len(tensor.shape) > 2:  # noqa: PLR2004 - experts, rows and columns
            # GGUF lists the fastest dimension first, so experts stand last there.
            count = tensor.shape[-1] if self.format == "gguf" else tensor.shape[0]
            self.stacked[layer] = max(count, self.stacked.get(layer, 0))

    def _add_packable(self, tensor: Tensor, module: str, *, layer: str, part: Part) -> None:
        seen = self.packable[module]
        seen.dtype, seen.layer, seen.part, seen.name = tensor.dtype, layer, part, tensor.name
        seen.elements, seen.size_bytes = tensor.elements, tensor.size_bytes


def facts_of(tally: Tally, *, context: Context | None = None, notes: tuple[str, ...] = ()) -> CheckpointFacts:
    """Return what all counted files hold together."""
    counted = tally.parameters.copy()
    value_bytes = tally.value_bytes.copy()
    packed, unknown = _unpack(tally, counted, value_bytes=value_bytes)
    parameters = _by_part(tally, counted)
    experts = {layer: len(each) for layer, each in tally.experts.items()} | tally.stacked
    per_layer = {layer: count for layer, count in experts.items() if not _is_mtp(tally, layer)}
    known = {part: None if part in unknown else parameters.get(part, 0) for part in PARTS}
    return CheckpointFacts(
        format=tally.format,
        files=tally.files,
        tensors=tally.tensors,
        header_bytes=tally.header_bytes,
        file_bytes=tally.file_bytes,
        stored_elements=tally.stored_elements,
        parameters=None if unknown else sum(parameters.values()),
        parameters_why=_why(unknown),
        bytes_by_dtype=MappingProxyType(_by_dtype(tally)),
        bytes_by_part=MappingProxyType(_by_part(tally, tally.size_bytes)),
        parameters_by_part=MappingProxyType(known),
        dtype_by_part=MappingProxyType(_dtypes(tally, value_bytes)),
        experts_per_layer=tuple(sorted(set(per_layer.values()))),
        moe_layers=len(per_layer),
        packed=packed,
        quantisation=tally.quantisation,
        modules=MappingProxyType(_modules(tally)),
        context=context,
        notes=notes,
    )


def _unpack(
    tally: Tally, parameters: Counts, *, value_bytes: Counts
) -> tuple[tuple[Packed, ...], dict[Part, str]]:
    """Add what packed modules hold; return them, and a tensor of each part where the packing is not known."""
    bits = tally.quantisation.bits if tally.quantisation else None
    groups: dict[tuple[Part, str, int | None], list[Packable]] = defaultdict(list)
    unknown: dict[Part, str] = {}
    for each in tally.packable.values():
        if not each.dtype:
            continue
        part = _settled(tally, each.layer, part_of(each.name))
        count = each.values_per_element(bits)
        place = (each.layer, part_of(each.name), each.dtype)
        value_bytes[place] += each.size_bytes
        if count is None:
            unknown.setdefault(part, each.name)
        else:
            parameters[place] += each.elements * count
        if count != 1:
            groups[part, each.dtype, count].append(each)
    found = tuple(
        Packed(
            part=part,
            dtype=dtype,
            modules=len(each),
            size_bytes=sum(one.size_bytes for one in each),
            values_per_element=count,
        )
        for (part, dtype, count), each in groups.items()
    )
    return found, unknown


def _why(unknown: Mapping[Part, str]) -> str:
    if not unknown:
        return ""
    name = next(iter(unknown.values()))
    return f"neither scales nor a config say how many values an element of {quoted(name)} holds"


def _is_mtp(tally: Tally, layer: str) -> bool:
    return layer in tally.mtp_layers or part_of(f"{layer}.") == "mtp"


def _settled(tally: Tally, layer: str, part: Part) -> Part:
    """Return the part of tensors of a layer: all of a layer that predicts further tokens belong to it."""
    return "mtp" if layer and layer in tally.mtp_layers else part


def _by_part(tally: Tally, counts: Counts) -> dict[Part, int]:
    sums: Counter[Part] = Counter()
    for (layer, part, _), count in counts.items():
        sums[_settled(tally, layer, part)] += count
    return {part: sums[part] for part in PARTS if sums[part]}


def _by_dtype(tally: Tally) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for (_, _, dtype), count in tally.size_bytes.items():
        sums[dtype] += count
    return dict(sums.most_common())


def _dtypes(tally: Tally, value_bytes: Counts) -> dict[Part, str]:
    sums: defaultdict[Part, Counter[str]] = defaultdict(Counter)
    for (layer, part, dtype), count in value_bytes.items():
        sums[_settled(tally, layer, part)][dtype] += count
    return {part: sums[part].most_common(1)[0][0] for part in PARTS if sums[part].total()}


def _modules(tally: Tally) -> dict[tuple[Part, str, str], int]:
    sums: Counter[tuple[Part, str, str]] = Counter()
    for (layer, part, said, dtype), count in tally.modules.items():
        sums[_settled(tally, layer, part), said, dtype] += count
    return dict(sums.most_common())
