"""How the GPUs of a server share one model, as result files tell it: what that means for a bound.

Engines split each matrix over `tensor` GPUs, deal layers out to `pipeline` stages, and run whole `replicas`
beside one another (Megatron-LM, arXiv 1909.08053 and 2104.04473). Where attention runs data parallel a GPU
keeps whole sequences of its own. llama.cpp calls stages a split by layers, and a split of each matrix rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from app.domain.llms.parallel import Spread
from app.domain.serving.bench_run import is_cut
from app.domain.serving.figures import counted_as

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_GPUS: Final = 100_000

LONGEST_CARDS: Final = 1000
"""Characters of a list of cards that is counted."""

_SGLANG: Final = ("tp_size", "pp_size", "dp_size")
SGLANG_SIZES: Final = (*_SGLANG, "enable_dp_attention")
"""What an SGLang server says of its sizes; experts are parallel within its `tp_size` GPUs."""

VLLM_SIZES: Final = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """GPUs by what they share; `said` is what the file says of it, in its own words."""

    tensor: int = 1
    pipeline: int = 1
    replicas: int = 1
    has_data_attention: bool = False
    said: str = ""

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return self.gpus_per_replica * self.replicas

    @property
    def gpus_per_replica(self) -> int:
        """GPUs that hold one copy of the model."""
        return self.tensor * self.pipeline

    @property
    def is_plain(self) -> bool:
        """Tell whether all GPUs share each matrix, and nothing else."""
        return self.pipeline == self.replicas == 1 and not self.has_data_attention

    def shared(self, batch: int) -> tuple[int, int]:
        """Return among how many replicas a batch is dealt out evenly, and the most streams that one gets.

        A bound of so many streams on each is none too low: a further stream never lowers a bound, and even
        shares give the most, as each further stream adds less.
        """
        groups = min(self.replicas, batch)
        return groups, -(-batch // groups)

    def working(self, streams: int) -> Spread:
        """Return how the GPUs of one replica that work at once share a pass of so many streams.

        A stream is at one stage at a time, so no more stages work than there are streams. With stages or data
        parallel attention a GPU reads its share of the cache and no more: the least that is possible.
        """
        gpus = self.tensor * min(self.pipeline, streams)
        is_dealt = self.pipeline > 1 or self.has_data_attention
        return Spread(gpus=gpus, attention="data" if is_dealt else "tensor")


def sglang_layout(servers: Sequence[Mapping[str, Any]]) -> Layout | None:
    """Return how the servers that decode share the model, None where one does not tell its `tp_size`.

    `dp_size` counts replicas, or groups within the `tp_size` GPUs where attention is data parallel. Several
    servers are replicas; where they differ, each GPU counts for its share and no more.
    """
    known = [_sglang(server) for server in servers]
    layouts = [layout for layout in known if layout is not None]
    if not layouts or len(layouts) < len(known):
        return None
    gpus = sum(layout.gpus for layout in layouts)
    if gpus > MOST_GPUS:
        return None
    first = layouts[0]
    if len(layouts) == 1:
        return first
    said = f"{len(layouts):,} servers decode, the first with {first.said}"
    if len(set(layouts)) == 1:
        return replace(first, replicas=first.replicas * len(layouts), said=said)
    return Layout(tensor=gpus, has_data_attention=True, said=said)


def _sglang(server: Mapping[str, Any]) -> Layout | None:
    tensor, pipeline, data = (_size(server.get(name)) for name in _SGLANG)
    if tensor is None:
        return None
    has_data_attention = server.get("enable_dp_attention") is True and (data or 1) > 1
    names = [f"{name} {size:,}" for name, size in zip(_SGLANG, (tensor, pipeline, data), strict=True) if size]
    told = Layout(
        tensor=tensor,
        pipeline=pipeline or 1,
        replicas=1 if has_data_attention else data or 1,
        has_data_attention=has_data_attention,
        said=_told([*names, *(["data parallel attention"] if has_data_attention else [])]),
    )
    return told if told.gpus <= MOST_GPUS else None


def _told(names: Sequence[str]) -> str:
    """Return the sizes that count, those of 1 left out unless all are."""
    return " and ".join([name for name in names if not name.endswith(" 1")] or names[:1])


def vllm_layout(document: Mapping[str, Any]) -> Layout | None:
    """Return what `--metadata tensor_parallel_size=8` and its like tell, None where nothing does.

    Under data parallelism experts may be dealt out over all ranks, so each GPU counts for its share.
    """
    sizes = [_size(document.get(name)) for name in VLLM_SIZES]
    if not any(sizes):
        return None
    tensor, pipeline, data = (size or 1 for size in sizes)
    names = [f"{name} {size:,}" for name, size in zip(VLLM_SIZES, sizes, strict=True) if size]
    told = Layout(tensor=tensor * data, pipeline=pipeline, has_data_attention=data > 1, said=_told(names))
    return told if told.gpus <= MOST_GPUS else None


def llama_layout(document: Mapping[str, Any]) -> Layout | None:
    """Return how llama.cpp split the model, None where its GPUs are not told or are not all of one kind."""
    devices, info = (_short(document.get(name)) for name in ("devices", "gpu_info"))
    if document.get("split_mode") == "none":
        return Layout(said="split_mode none")
    cards = [name.strip() for name in info.split(",") if name.strip()]
    if not cards or len(set(cards)) > 1:
        return None
    is_auto = devices in {"auto", "none", ""}
    named = cards if is_auto else devices.split("/")
    said = f"{counted_as(len(named), 'card')} in gpu_info" if is_auto else counted_as(len(named), "device")
    if document.get("split_mode") in {"row", "tensor"}:
        return Layout(tensor=len(named), said=f"{said}, split_mode {document['split_mode']}")
    return Layout(pipeline=len(named), said=said)


def _short(value: Any) -> str:
    """Return a text that is whole, empty for one too long or with the mark of a part left out."""
    is_whole = isinstance(value, str) and len(value) <= LONGEST_CARDS and not is_cut(value)
    return value if is_whole else ""


def _size(value: Any) -> int | None:
    """Return a whole number of 1 or more, also as a text, None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= len(str(MOST_GPUS)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 1 <= value <= MOST_GPUS else None


def layout_sum(layout: Layout, batch: int) -> str:
    """Return how a batch is dealt out over GPUs that do more than share each matrix."""
    groups, streams = layout.shared(batch)
    working = layout.working(streams)
    each = " on each" if groups > 1 else ""
    whole = ", each of which reads the cache of its own" if working.attention == "data" else ""
    return (
        f"{layout.said}: {counted_as(groups, 'replica')} of {counted_as(layout.gpus_per_replica, 'GPU')}, "
        f"{counted_as(streams, 'stream')}{each}, for which {counted_as(working.gpus, 'GPU')} work at "
        f"once{whole}"
    )
