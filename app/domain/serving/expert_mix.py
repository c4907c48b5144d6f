"""The experts of a model from its shape and a mix of ggml types, for a plan before any GGUF exists.

A mix is the name of a llama.cpp file type, or the types written out. What a name gives an expert tensor was
read in llama.cpp's own `src/llama-quant.cpp` at commit 007dbbf3fd17eefe9b47fee45f48f7ba5e62b714
(`llama_ftype_get_default_type`, `llama_tensor_get_type_impl`, `tensor_type_fallback`):

- a tensor has the default type of its file type, but for `ffn_down` in many and for `ffn_gate` and `ffn_up`
  in IQ3_XS; `ffn_gate_up_exps` counts as `ffn_gate`;
- in a model with experts the layer is the number in the tensor's name, and its range all blocks of the file,
  those that predict further tokens with them;
- a row that is no multiple of the type's block has the fallback type, and F16 where it is none of 32 either.

Another version may differ, and files of others are often quantised with types of their own for each tensor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from app.domain.llms.formats import FORMATS
from app.domain.serving.expert_cache import Bank, Experts
from app.domain.serving.reading import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.domain.llms.formats import Format

SOURCE: Final = "llama.cpp src/llama-quant.cpp at commit 007dbbf3fd17"
ESTIMATE: Final = (
    "A plan from a config and a mix is an estimate of what a quantiser writes; the header of a GGUF is exact."
)
MOST_CHARS: Final = 4_000
MOST_LAYERS: Final = 4_096
MOST: Final = 2**32
"""Largest size or count of a shape that is believed, as of a config."""

Gate = Literal["split", "fused", "none"]
_KINDS: Final[Mapping[Gate, tuple[str, ...]]] = MappingProxyType(
    {"split": ("down", "gate", "up"), "fused": ("down", "gate_up"), "none": ("down", "up")}
)
_EVERY_KIND: Final = ("down", "gate", "gate_up", "up")
_NO_WEIGHTS: Final = frozenset({"I8", "I16", "I32", "I64", "F64", "Q8_1", "Q8_K"})
_TYPES: Final[Mapping[str, Format]] = MappingProxyType(
    {
        name: fmt
        for fmt in FORMATS.values()
        for name in (fmt.label.removeprefix("GGUF "),)
        if fmt.ggml_type_id is not None and name not in _NO_WEIGHTS
    }
)
_RUN: Final = re.compile(r"([a-z0-9_]+)(?::([0-9]+))?")
_HOW: Final = "give a file type such as q4_k_m, or the types written out: down=q6_k:24,q4_k;gate=q4_k;up=q4_k"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertShape:
    """What a model's expert tensors measure, whatever their type.

    A row of gate and up has `columns` values, the width of what the experts read, and a row of down
    `expert_columns`. `layers` are the numbers of those with experts, `mtp_layers` those of them that predict
    further tokens; `blocks` counts all layers of the file. `kept` is the type in which a converter takes the
    experts over from the checkpoint as they are, `mixed precision` where that differs from tensor to tensor,
    and empty where it unpacks them.
    """

    architecture: str
    columns: int
    expert_columns: int
    per_layer: int
    used: int
    layers: tuple[int, ...]
    blocks: int
    gate: Gate = "split"
    mtp_layers: tuple[int, ...] = ()
    kept: str = ""
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of expert tensors of a layer, by name."""
        return _KINDS[self.gate]

    def columns_of(self, kind: str) -> int:
        """Values in a row of a kind."""
        return self.expert_columns if kind == "down" else self.columns

    def rows_of(self, kind: str) -> int:
        """Rows of one expert of a kind."""
        if kind == "down":
            return self.columns
        return self.expert_columns * (2 if kind == "gate_up" else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMix:
    """A file type of llama-quantize, in lower case, and whether an importance matrix was given to it."""

    name: str
    imatrix: bool = False

    def __str__(self) -> str:
        """Spell it as `read_mix` reads it."""
        return f"{self.name},imatrix" if self.imatrix else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenMix:
    """For each kind of tensor the types of its layers, as runs from the first layer with experts on.

    A run is a type and how many layers have it; None, which the last one alone may have, is all the rest.
    """

    runs: Mapping[str, tuple[tuple[str, int | None], ...]]

    def __str__(self) -> str:
        """Spell it as `read_mix` reads it."""
        return ";".join(
            f"{kind}={','.join(_spelled(dtype, count) for dtype, count in runs)}"
            for kind, runs in self.runs.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedExperts:
    """Experts of a mix, the mix as it is spelled, and what to know of them; the first note is `ESTIMATE`."""

    experts: Experts
    mix: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a layer is among the blocks of a file, as llama-quantize asks."""

    layer: int
    blocks: int
    experts: int
    imatrix: bool

    @property
    def early(self) -> bool:
        return self.layer < self.blocks // 8

    @property
    def late(self) -> bool:
        return self.layer >= 7 * self.blocks // 8

    @property
    def more_bits(self) -> bool:
        """The layers for which `use_more_bits` holds: the first and the last eighth, and a third between."""
        return self.early or self.late or (self.layer - self.blocks // 8) % 3 == 2  # noqa: PLR2004 - its own


_DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: dtype or name.upper()
        for dtype, names in (
            ("", "f32 f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0"),
            ("Q6_K", "q6_k"),
            ("Q5_K", "q5_k_m q5_k_s"),
            ("Q4_K", "q4_k_m q4_k_s"),
            ("Q3_K", "q3_k_l q3_k_m q3_k_s"),
            ("Q2_K", "q2_k q2_k_s"),
            ("", "iq4_nl iq4_xs"),
            ("IQ3_S", "iq3_m iq3_s iq3_xs"),
            ("", "iq3_xxs"),
            ("MXFP4", "mxfp4_moe"),
        )
        for name in names.split()
    }
)
MIX_NAMES: Final = tuple(_DEFAULTS)
"""The file types whose rule for experts is known."""

_ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {"q3_k": "q3_k_m", "q4_k": "q4_k_m", "q5_k": "q5_k_m", "mxfp4": "mxfp4_moe"}
)
_UNSETTLED: Final = frozenset({"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m"})
"""File types that count the `ffn_down` tensors of a file in its order, dense and shared ones with them."""

_DOWN: Final[Mapping[str, Callable[[_Place], str]]] = MappingProxyType(
    {
        "q2_k": lambda _: "Q3_K",
        "q2_k_s": lambda at: "Q4_K" if at.early else "",
        "q3_k_m": lambda at: "Q5_K" if at.layer < at.blocks // 16 else "Q4_K",
        "q3_k_l": lambda _: "Q5_K",
        "q4_k_s": lambda at: "Q5_K" if at.early else "",
        "q4_k_m": lambda at: "Q6_K" if at.more_bits else "",
        "q5_k_m": lambda at: "Q6_K" if at.more_bits else "",
        "iq3_m": lambda at: "Q4_K" if at.early or (at.experts == _EIGHT and at.more_bits) else "",
        "iq4_nl": lambda at: "Q5_K" if at.early and not at.imatrix else "",
        "iq4_xs": lambda at: "Q5_K" if at.early and not at.imatrix else "",
        "q4_0": lambda at: "Q4_1" if at.early and at.imatrix else "",
        "q5_0": lambda at: "Q5_1" if at.early and at.imatrix else "",
    }
)
"""What `ffn_down` has instead of the default, empty for the default."""

_EIGHT: Final = 8
_BY_IMATRIX: Final = frozenset({"q4_0", "q5_0", "iq4_nl", "iq4_xs"})
_ONLY_WITH_IMATRIX: Final = frozenset({"q2_k_s", "iq3_xxs", "iq3_xs"})
_FALLBACKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        dtype: fallback
        for fallback, dtypes in (
            ("IQ4_NL", "IQ3_XXS IQ3_S IQ4_XS"),
            ("Q4_0", "Q2_K Q3_K"),
            ("Q5_0", "Q4_K"),
            ("Q5_1", "Q5_K"),
            ("Q8_0", "Q6_K"),
        )
        for dtype in dtypes.split()
    }
)


def read_mix(text: str) -> NamedMix | WrittenMix:
    """Return the mix that a text names or writes out, whatever the case and the spaces in it.

    A name is one of `MIX_NAMES`, with `,imatrix` after it where an importance matrix was used. Written out
    are the kinds of tensors, `down`, and `gate` and `up` or `gate_up`.
    `down=q6_k:24,q4_k:24;gate=q4_k;up=q4_k`
    gives down Q6_K in the first 24 layers with experts and Q4_K in the next 24, and gate and up Q4_K in all;
    only the last type of a kind may leave out its layers.

    Raises:
        InputError: of the field `mix`: no such name or type, or a name whose rule is not settled.
    """
    if len(text) > MOST_CHARS:
        raise InputError("mix", f"{len(text):,} characters", f"give at most {MOST_CHARS:,}")
    said = "".join(text.split()).casefold()
    if "=" in said:
        return WrittenMix(runs=MappingProxyType(_read_kinds(said)))
    name, comma, option = said.replace("-", "_").partition(",")
    name = _ALIASES.get(name, name)
    if name in _UNSETTLED:
        raise InputError(
            "mix",
            shown(text),
            "it counts tensors in the order of the file, which a config does not give; give a GGUF, or the"
            " types written out",
        )
    if name not in _DEFAULTS or (comma and option != "imatrix"):
        raise InputError("mix", shown(text), f"{_HOW}; the file types are {', '.join(MIX_NAMES)}")
    return NamedMix(name=name, imatrix=bool(comma))


def _read_kinds(said: str) -> dict[str, tuple[tuple[str, int | None], ...]]:
    kinds: dict[str, tuple[tuple[str, int | None], ...]] = {}
    for part in filter(None, said.split(";")):
        kind, _, runs = part.partition("=")
        if kind not in _EVERY_KIND or kind in kinds:
            raise InputError("mix", shown(part), f"name each of {', '.join(_EVERY_KIND)} at most once")
        kinds[kind] = _read_runs(kind, runs)
    return kinds


def _read_runs(kind: str, text: str) -> tuple[tuple[str, int | None], ...]:
    runs: list[tuple[str, int | None]] = []
    for part in text.replace("-", "_").split(","):
        found = _RUN.fullmatch(part)
        if found is None or found[1].upper() not in _TYPES:
            known = ", ".join(_TYPES).casefold()
            raise InputError("mix", shown(f"{kind}={part}"), f"give a type and layers as q6_k:24, of {known}")
        count = None if found[2] is None else int(found[2])
        if count is not None and not 1 <= count <= MOST_LAYERS:
            raise InputError("mix", shown(f"{kind}={part}"), f"give 1 to {MOST_LAYERS:,} layers")
        if runs and runs[-1][1] is None:
            raise InputError("mix", shown(f"{kind}={text}"), "only the last type may leave out its layers")
        runs.append((found[1].upper(), count))
    return tuple(runs)


def _spelled(dtype: str, count: int | None) -> str:
    return dtype.casefold() if count is None else f"{dtype.casefold()}:{count}"


def experts_of_mix(shape: ExpertShape, mix: NamedMix | WrittenMix) -> MixedExperts:
    """Return the experts of a shape in the types of a mix, bytes by the block sizes of ggml.

    Raises:
        InputError: of the field `config`: the shape is none; of `mix`: it does not go with the shape.
    """
    _check(shape)
    if isinstance(mix, NamedMix):
        _check_name(shape, mix)
        types = {kind: _named_types(shape, mix, kind) for kind in shape.kinds}
        wanted = {kind: _wanted(shape, mix, kind) for kind in shape.kinds}
        notes = (*_imatrix_notes(mix), *_fallback_notes(shape, wanted, types))
    else:
        types, notes = _written_types(shape, mix), ()
    made: dict[tuple[str, str], Bank] = {}
    layers = {
        layer: tuple(
            made.setdefault((kind, types[kind][at]), _bank(shape, kind, types[kind][at]))
            for kind in shape.kinds
        )
        for at, layer in enumerate(shape.layers)
    }
    experts = Experts(
        architecture=shape.architecture,
        per_layer=shape.per_layer,
        used=shape.used,
        layers=layers,
        mtp_layers=shape.mtp_layers,
    )
    return MixedExperts(experts=experts, mix=str(mix), notes=(ESTIMATE, *shape.notes, *notes))


def _check(shape: ExpertShape) -> None:
    """Refuse figures that are no shape."""
    sizes = {
        "columns": shape.columns,
        "expert_columns": shape.expert_columns,
        "per_layer": shape.per_layer,
        "used": shape.used,
    }
    for name, size in sizes.items():
        if not 1 <= size <= MOST:
            raise InputError("config", f"{name} {size}", f"it is a whole number from 1 to {MOST:,}")
    if shape.used > shape.per_layer:
        said = f"{shape.used} of {shape.per_layer} experts"
        raise InputError("config", said, "a token uses at most all experts of a layer")
    layers = shape.layers
    if not 1 <= len(layers) <= MOST_LAYERS or list(layers) != sorted(set(layers)) or layers[0] < 0:
        said = f"{len(layers):,} layers with experts"
        raise InputError("config", said, f"give 1 to {MOST_LAYERS:,} of them by number, in order")
    if not layers[-1] < shape.blocks <= MOST:
        raise InputError("config", f"{shape.blocks} layers", f"the last with experts is layer {layers[-1]}")


def _check_name(shape: ExpertShape, mix: NamedMix) -> None:
    """Refuse a name for experts that llama-quantize would not touch."""
    if shape.per_layer == 1:
        raise InputError(
            "mix", str(mix), "for one expert a layer the rule differs; give the types written out"
        )
    if shape.kept and shape.kept != _DEFAULTS[mix.name]:
        written = "the types written out"
        if shape.kept in _TYPES:
            written = ";".join(f"{kind}={shape.kept.casefold()}" for kind in shape.kinds)
        raise InputError(
            "mix",
            str(mix),
            f"this checkpoint has {shape.kept} experts, which the converter takes over and llama-quantize"
            f" leaves; give {written}, the config of the model before that, or a GGUF",
        )


def _wanted(shape: ExpertShape, mix: NamedMix, kind: str) -> list[str]:
    """Return the type of each layer with experts before any fallback."""
    return [
        _type_of(
            mix.name,
            kind,
            _Place(layer=layer, blocks=shape.blocks, experts=shape.per_layer, imatrix=mix.imatrix),
        )
        for layer in shape.layers
    ]


def _type_of(name: str, kind: str, at: _Place) -> str:
    default = _DEFAULTS[name]
    if kind == "down":
        return (_DOWN[name](at) if name in _DOWN else "") or default
    return "IQ3_XXS" if name == "iq3_xs" and not at.early and not at.late else default


def _named_types(shape: ExpertShape, mix: NamedMix, kind: str) -> list[str]:
    columns = shape.columns_of(kind)
    return [_fitting(dtype, columns, kind=kind, mix=mix) for dtype in _wanted(shape, mix, kind)]


def _fitting(dtype: str, columns: int, *, kind: str, mix: NamedMix) -> str:
    """Return the type, or what llama-quantize falls back to for rows that it does not divide."""
    if columns % _TYPES[dtype].block_elements == 0:
        return dtype
    if dtype not in _FALLBACKS:
        raise InputError(
            "mix",
            str(mix),
            f"rows of ffn_{kind}_exps have {columns} values, {dtype} takes"
            f" {_TYPES[dtype].block_elements} at a time, and llama-quantize has no other type for it",
        )
    fallback = _FALLBACKS[dtype]
    return fallback if columns % _TYPES[fallback].block_elements == 0 else "F16"


def _imatrix_notes(mix: NamedMix) -> tuple[str, ...]:
    if mix.name in _ONLY_WITH_IMATRIX:
        return (f"llama-quantize writes {mix.name.upper()} only with an importance matrix.",)
    if mix.name not in _BY_IMATRIX:
        return ()
    if mix.imatrix:
        return (f"With an importance matrix, as asked; without one write {mix.name} alone.",)
    return (
        f"Without an importance matrix; with one the first layers differ: write {mix.name},imatrix for that.",
    )


def _fallback_notes(
    shape: ExpertShape, wanted: Mapping[str, list[str]], types: Mapping[str, list[str]]
) -> tuple[str, ...]:
    fallen = dict.fromkeys(
        (kind, before, after)
        for kind in shape.kinds
        for before, after in zip(wanted[kind], types[kind], strict=True)
        if before != after
    )
    return tuple(
        f"Rows of ffn_{kind}_exps have {shape.columns_of(kind):,} values, no multiple of"
        f" {_TYPES[before].block_elements}: {before} becomes {after}."
        for kind, before, after in fallen
    )


def _written_types(shape: ExpertShape, mix: WrittenMix) -> dict[str, list[str]]:
    """Return the types of each kind by layer with experts, in order."""
    if set(mix.runs) != set(shape.kinds):
        said = ", ".join(mix.runs) or "nothing"
        raise InputError("mix", said, f"this model's experts are {', '.join(shape.kinds)}: give each of them")
    return {kind: _laid_out(shape, kind, mix.runs[kind]) for kind in shape.kinds}


def _laid_out(shape: ExpertShape, kind: str, runs: tuple[tuple[str, int | None], ...]) -> list[str]:
    said = f"{kind}={','.join(_spelled(*run) for run in runs)}"
    counted, layers = sum(count or 0 for _, count in runs), len(shape.layers)
    rest = layers - counted
    if rest < 0 or (runs[-1][1] is None) != (rest > 0):
        predicting = (
            f", {len(shape.mtp_layers)} of them to predict further tokens" if shape.mtp_layers else ""
        )
        raise InputError(
            "mix",
            shown(said),
            f"it is for {counted:,}{' and more' if runs[-1][1] is None else ''} layers, and {layers} have"
            f" experts{predicting}",
        )
    columns = shape.columns_of(kind)
    for dtype, _ in runs:
        if columns % _TYPES[dtype].block_elements:
            raise InputError(
                "mix",
                shown(said),
                f"rows of ffn_{kind}_exps have {columns} values, and {dtype} takes"
                f" {_TYPES[dtype].block_elements} at a time",
            )
    return [dtype for dtype, count in runs for _ in range(rest if count is None else count)]


def _bank(shape: ExpertShape, kind: str, dtype: str) -> Bank:
    """Return the bank of a kind in a type: its rows by the bytes of the type's blocks."""
    fmt, columns, rows = _TYPES[dtype], shape.columns_of(kind), shape.rows_of(kind)
    expert_bytes = columns // fmt.block_elements * int(fmt.block_bytes) * rows
    return Bank(kind=kind, dtype=dtype, columns=columns, rows=rows, expert_bytes=expert_bytes)
