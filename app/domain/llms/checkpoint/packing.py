"""What a stored tensor is: values, values packed into wider elements, or something beside the values.

Packed elements are no parameters: the Hub's own counts add a pair of 4-bit values as one, and scales as
parameters. How many values an element holds follows from the scales beside it, one for 16 values in NVFP4
(FP8 scales) and one for 32 in the MX formats (one byte a scale), or from the bits that the config states.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Role = Literal["values", "packed", "beside"]
"""`beside`: scales, zero points, shapes, index tables, which are no parameters."""

_BESIDE: Final = re.compile(
    r"(^|[._])(weight_scale(_2|_inv)?|weight_global_scale|input(_global)?_scale(_inv)?|output_scale|scale_inv"
    r"|[qkv]_scale|kv_scale|prob_output_scale|(weight|input)_zero_point|weight_shape|weight_g_idx|scales|qzeros"
    r"|g_idx|absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+|biases)$"
)
_INDICES: Final = re.compile(
    r"(^|\.)(position_ids|token_type_ids|tid2eid|relative_position_index|num_batches_tracked)$"
)
_SCALE_OF: Final = re.compile(r"(\.weight_scale|_weight_scale|\.scales|_scales|\.scale|\.weight\.absmax)$")
_NF4: Final = re.compile(r"\.weight\.quant_state\.bitsandbytes__(nf4|fp4)$")
_VALUES_OF: Final = re.compile(r"(\.weight_packed|\.qweight|\.weight|_blocks)$")
_ALWAYS_PACKED: Final = re.compile(r"(\.weight_packed|\.qweight|_blocks)$")
_VALUES_PER_SCALE: Final = {"F8_E4M3": 16, "F8_E8M0": 32, "U8": 32}
_INTEGER_BITS: Final = {"U8": 8, "I8": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32, "I64": 64, "U64": 64}
PAIR_MARK: Final = "bitsandbytes"
"""Stands for the type of a scale where a tensor's name says that the values are pairs."""


def role_of(name: str, dtype: str) -> Role:
    """Return what a tensor is, by its name and stored type; `packed` is one that may be.

    Weights are integers only where they are packed or scaled, so under an unknown name they may be anything.
    """
    if dtype in {"F8_E8M0", "BOOL"} or _BESIDE.search(name) or _INDICES.search(name):
        return "beside"
    return "packed" if dtype in _INTEGER_BITS else "values"


def module_of(name: str) -> str:
    """Return the name of the module whose values a tensor holds."""
    return _VALUES_OF.sub("", name)


def scaled_module(name: str) -> str | None:
    """Return the module whose values a tensor scales, None when it is no scale."""
    found = _SCALE_OF.search(name) or _NF4.search(name)
    return name[: found.start()] if found else None


def is_pair_mark(name: str) -> bool:
    """Tell whether a tensor is the mark by which bitsandbytes says that values are 4-bit pairs."""
    return bool(_NF4.search(name))


@dataclass(slots=True)  # it fills as the tensors of a module come, in any order and from any file
class Packable:
    """A module whose stored elements may hold several values: what was seen of it so far."""

    dtype: str = ""
    layer: str = ""
    part: str = ""
    name: str = ""
    elements: int = 0
    size_bytes: int = 0
    scale_dtype: str = ""
    scale_elements: int = 0

    def values_per_element(self, bits: int | None) -> int | None:
        """Return how many values an element holds, None when neither scales nor bits say it."""
        if self.scale_dtype == PAIR_MARK:
            return 2
        per_scale = _VALUES_PER_SCALE.get(self.scale_dtype, 0)
        for count in (1, 2):
            if per_scale and self.elements * count == self.scale_elements * per_scale:
                return count
        if not _VALUES_OF.search(self.name):
            return None
        width = _INTEGER_BITS[self.dtype]
        if bits is not None and 0 < bits <= width and width % bits == 0:
            return width // bits
        is_plain = self.dtype == "I8" and not _ALWAYS_PACKED.search(self.name)
        return 1 if is_plain else None
