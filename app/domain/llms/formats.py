"""How many bits a weight takes in each format, and at which dense rate a card multiplies such weights.

Bits count what a format stores beside the values: scales, zero points, block minima. GGUF blocks are those
of the `gguf` package 0.19.0 (its table of block and type sizes); the others follow from the layout named in
`holds`. Real checkpoints mix formats (gpt-oss keeps attention and embeddings in bf16), so parameters times
bits is an estimate, mostly too low; sizes of tensors in a checkpoint's headers replace it where known.

At which rate: a format names the precisions at which engines multiply it, in turn. The first that the card
has in hardware counts, and its dense rate must be published. So fp8 weights count at fp8 on Hopper and at
bf16 on Ampere, where vLLM unpacks them (its documentation of FP8 W8A8 and W8A16); mxfp4 and nvfp4 count at
fp4 where the card has it, else at bf16; int4 is weight-only (GPTQ, AWQ: W4A16) and counts at bf16
everywhere; GGUF blocks are multiplied as int8 by llama.cpp's own kernels or unpacked for 16-bit ones, so the
faster of both counts. Where the hardware has a precision whose rate nobody published, the rate is unknown:
a lower one would be no bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.unknown import Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.accelerators import Accelerator

_HALF: Final = (("half",),)
_FP4: Final = (("fp4",), *_HALF)
_FP8: Final = (("fp8",), *_HALF)
_INT8: Final = (("int8",), *_HALF)
_GGUF: Final = (("int8", "half"),)

_WITHOUT: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "fp4": (
            *("Hopper", "Ada", "Ampere", "Turing", "Volta", "Pascal", "Maxwell", "Kepler"),
            *("CDNA1", "CDNA2", "CDNA3", "GCN5", "GCN5.1", "RDNA1", "RDNA2", "RDNA3", "RDNA4"),
            *("Gaudi", "Xe-HPC", "Xe-HPG", "Xe2"),
        ),
        "fp8": (
            *("Ampere", "Turing", "Volta", "Pascal", "Maxwell", "Kepler"),
            *("CDNA1", "CDNA2", "GCN5", "GCN5.1", "RDNA1", "RDNA2", "RDNA3", "Xe-HPC", "Xe-HPG", "Xe2"),
        ),
        "int8": ("Volta", "Maxwell", "Kepler"),
    }
)
"""Architectures without matrix units for a precision, by the makers' architecture papers.

Only these fall back on the next precision of a format; any other card without a rate has an unknown one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to store weights: `block_bytes` for each `block_elements` values, scales included.

    `math` holds precisions in turn; those of one group are alternatives of which the faster counts.
    `ggml_type_id` is the number of the type in GGUF files, None for the other formats.
    """

    id: str
    label: str
    block_elements: int
    block_bytes: Decimal
    holds: str
    math: tuple[tuple[str, ...], ...]
    ggml_type_id: int | None = None

    @property
    def bits_per_weight(self) -> Decimal:
        """Bits for one parameter, scales included."""
        return self.block_bytes * 8 / self.block_elements


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The dense rate at which a card multiplies weights of a format, per GPU, and the precision it is for."""

    precision: str
    dense_tflops: Decimal


def rate_of(fmt: Format, card: Accelerator) -> Rate | Unknown:
    """Return the dense rate that bounds weights of this format on this card, by the rule of this module."""
    for group in fmt.math:
        has = [precision for precision in group if card.architecture not in _WITHOUT.get(precision, ())]
        rates = [_published(precision, card) for precision in has]
        known = [rate for rate in rates if rate is not None]
        if len(known) < len(has):
            lacking = " or ".join(_names(has[rates.index(None)]))
            return Unknown(why=f"no dense {lacking} rate is published for the {card.name}")
        if known:
            return max(known, key=lambda rate: rate.dense_tflops)
    return Unknown(why=f"the {card.name} has no matrix units for {fmt.label} weights")


def _names(precision: str) -> tuple[str, ...]:
    """Return the precisions under which cards publish a rate; both 16-bit ones run at the same rate."""
    return ("bf16", "fp16") if precision == "half" else (precision,)


def _published(precision: str, card: Accelerator) -> Rate | None:
    rates = card.dense_tflops
    return next(
        (Rate(precision=name, dense_tflops=rates[name]) for name in _names(precision) if name in rates), None
    )


def _plain(name: str, *, bits: int, holds: str, math: tuple[tuple[str, ...], ...], label: str = "") -> Format:
    return Format(
        id=name, label=label or name, block_elements=1, block_bytes=Decimal(bits) / 8, holds=holds, math=math
    )


_OTHERS: Final = (
    _plain("fp32", bits=32, holds="the value alone", math=(("tf32",), *_HALF)),
    _plain("bf16", bits=16, holds="the value alone", math=_HALF, label="bf16 or fp16"),
    _plain(
        "fp8", bits=8, holds="the value; one scale a tensor, not counted", math=_FP8, label="fp8 per tensor"
    ),
    Format(
        id="fp8-block",
        label="fp8 in blocks",
        block_elements=128 * 128,
        block_bytes=Decimal(128 * 128 + 4),
        holds="128 x 128 values and one fp32 scale",
        math=_FP8,
    ),
    Format(
        id="mxfp8",
        label="mxfp8",
        block_elements=32,
        block_bytes=Decimal(33),
        holds="32 values and a scale of one byte (OCP Microscaling 1.0)",
        math=_FP8,
    ),
    _plain("int8", bits=8, holds="the value; one scale a channel, not counted", math=_INT8),
    Format(
        id="int4-g128",
        label="int4, groups of 128",
        block_elements=128,
        block_bytes=Decimal("66.5"),
        holds="128 values, an fp16 scale and an int4 zero point (GPTQ, AWQ)",
        math=_HALF,
    ),
    Format(
        id="int4-g64",
        label="int4, groups of 64",
        block_elements=64,
        block_bytes=Decimal("34.5"),
        holds="64 values, an fp16 scale and an int4 zero point (GPTQ, AWQ)",
        math=_HALF,
    ),
    Format(
        id="int4-g32",
        label="int4, groups of 32",
        block_elements=32,
        block_bytes=Decimal(18),
        holds="32 values and a 16-bit scale, symmetric (compressed-tensors)",
        math=_HALF,
    ),
    Format(
        id="mxfp4",
        label="mxfp4",
        block_elements=32,
        block_bytes=Decimal(17),
        holds="32 values and a scale of one byte (OCP Microscaling 1.0)",
        math=_FP4,
    ),
    Format(
        id="nvfp4",
        label="nvfp4",
        block_elements=16,
        block_bytes=Decimal(9),
        holds="16 values and an fp8 scale; four bytes a tensor, not counted",
        math=_FP4,
    ),
)

# Name, number of the type, values in a block, bytes of a block, and how it is multiplied.
_GGUF_BLOCKS: Final[tuple[tuple[str, int, int, int, tuple[tuple[str, ...], ...]], ...]] = (
    ("F32", 0, 1, 4, (("tf32",), *_HALF)),
    ("F16", 1, 1, 2, _HALF),
    ("Q4_0", 2, 32, 18, _GGUF),
    ("Q4_1", 3, 32, 20, _GGUF),
    ("Q5_0", 6, 32, 22, _GGUF),
    ("Q5_1", 7, 32, 24, _GGUF),
    ("Q8_0", 8, 32, 34, _GGUF),
    ("Q8_1", 9, 32, 40, _GGUF),
    ("Q2_K", 10, 256, 84, _GGUF),
    ("Q3_K", 11, 256, 110, _GGUF),
    ("Q4_K", 12, 256, 144, _GGUF),
    ("Q5_K", 13, 256, 176, _GGUF),
    ("Q6_K", 14, 256, 210, _GGUF),
    ("Q8_K", 15, 256, 292, _GGUF),
    ("IQ2_XXS", 16, 256, 66, _GGUF),
    ("IQ2_XS", 17, 256, 74, _GGUF),
    ("IQ3_XXS", 18, 256, 98, _GGUF),
    ("IQ1_S", 19, 256, 50, _GGUF),
    ("IQ4_NL", 20, 32, 18, _GGUF),
    ("IQ3_S", 21, 256, 110, _GGUF),
    ("IQ2_S", 22, 256, 82, _GGUF),
    ("IQ4_XS", 23, 256, 136, _GGUF),
    ("I8", 24, 1, 1, _GGUF),
    ("I16", 25, 1, 2, _HALF),
    ("I32", 26, 1, 4, _HALF),
    ("I64", 27, 1, 8, _HALF),
    ("F64", 28, 1, 8, (("fp64",),)),
    ("IQ1_M", 29, 256, 56, _GGUF),
    ("BF16", 30, 1, 2, _HALF),
    ("TQ1_0", 34, 256, 54, _GGUF),
    ("TQ2_0", 35, 256, 66, _GGUF),
    ("MXFP4", 39, 32, 17, _GGUF),
    ("NVFP4", 40, 64, 36, _GGUF),
    ("Q1_0", 41, 128, 18, _GGUF),
)


def _gguf(name: str, type_id: int, *, elements: int, size: int, math: tuple[tuple[str, ...], ...]) -> Format:
    return Format(
        id=f"gguf-{name.lower().replace('_', '-')}",
        label=f"GGUF {name}",
        block_elements=elements,
        block_bytes=Decimal(size),
        holds=f"{elements} values in {size} bytes, by the layout of the type",
        math=math,
        ggml_type_id=type_id,
    )


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        fmt.id: fmt
        for fmt in (
            *_OTHERS,
            *(
                _gguf(name, type_id, elements=elements, size=size, math=math)
                for name, type_id, elements, size, math in _GGUF_BLOCKS
            ),
        )
    }
)
"""All formats by the id that a link names, in the order they show."""
