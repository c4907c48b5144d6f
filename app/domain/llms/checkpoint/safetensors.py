"""Read the header of a safetensors file: 8 bytes of length, then JSON, entry by entry and never as a whole.

The format: https://huggingface.co/docs/safetensors. Like its own library, this refuses overlaps, gaps and
bytes that belong to no tensor; it also refuses a name that stands twice.
"""

from __future__ import annotations

import json
import math
import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from app.domain.llms.checkpoint.header import (
    MOST_DIMENSIONS,
    MOST_ELEMENTS,
    MOST_HEADER_BYTES,
    MOST_NAME_CHARS,
    MOST_TENSORS,
    Cursor,
    Header,
    HeaderError,
    Tensor,
    quoted,
    refuse_overlaps,
)
from app.domain.llms.checkpoint.jsonscan import (
    CLOSE,
    COMMA,
    FLAT_OBJECT,
    KEY,
    OPEN,
    attempt,
    match,
    refuse_rest,
    string,
    text_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.llms.checkpoint.header import CheckpointFile

DTYPE_BITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("F4",), 4),
        **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
        **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 8),
        **dict.fromkeys(("F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
        **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
        **dict.fromkeys(("I32", "U32", "F32"), 32),
        **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
    }
)
"""Bits of one element, by the name of the type in a header."""

LENGTH_BYTES: Final = 8


def read_safetensors(file: CheckpointFile) -> Header:
    """Return the header of a safetensors file; raises HeaderError for one that cannot be trusted."""
    cursor = Cursor(file)
    (length,) = struct.unpack("<Q", cursor.take(LENGTH_BYTES, "the length of its header"))
    _check_length(file, length)
    cursor.end = LENGTH_BYTES + length
    tensors, metadata = _entries(cursor)
    data_end = refuse_overlaps(file.name, tensors, most_gap=0)
    if cursor.end + data_end != file.file_bytes:
        raise HeaderError(
            file.name,
            f"its header and tensors take {cursor.end + data_end} bytes, but it has {file.file_bytes}",
            "both agree in a whole file",
        )
    return Header(
        file=file.name,
        format="safetensors",
        header_bytes=cursor.end,
        file_bytes=file.file_bytes,
        tensors=tensors,
        metadata=metadata,
    )


def _check_length(file: CheckpointFile, length: int) -> None:
    if length > MOST_HEADER_BYTES:
        raise HeaderError(
            file.name, f"its header claims {length} bytes", f"at most {MOST_HEADER_BYTES} are read"
        )
    if LENGTH_BYTES + length > file.file_bytes:
        raise HeaderError(
            file.name,
            f"its header claims {length} bytes, but the file has {file.file_bytes}",
            "the header lies within the file",
        )


def _entries(cursor: Cursor) -> tuple[tuple[Tensor, ...], Mapping[str, str]]:
    """Return the tensors and the metadata of a header, one entry after the other."""
    tensors: dict[str, Tensor] = {}
    metadata: dict[str, str] | None = None
    match(cursor, OPEN, what="an object")
    first = True
    while not attempt(cursor, CLOSE):
        if not first:
            match(cursor, COMMA, what="a comma or the end of the object")
        first = False
        name = string(cursor, match(cursor, KEY, what="a name in quotes and a colon"))
        if name in tensors or (name == "__metadata__" and metadata is not None):
            raise cursor.error(f"{quoted(name)} stands twice", "each name stands once")
        if name == "__metadata__":
            metadata = text_pairs(cursor, what="the metadata")
            continue
        if len(tensors) == MOST_TENSORS:
            raise cursor.error(f"it lists more than {MOST_TENSORS} tensors", "no file needs as many")
        tensors[name] = _tensor(cursor, name)
    refuse_rest(cursor)
    return tuple(tensors.values()), MappingProxyType(metadata or {})


def _tensor(cursor: Cursor, name: str) -> Tensor:
    if len(name) > MOST_NAME_CHARS:
        raise cursor.error(
            f"the name {quoted(name)} has {len(name)} characters", f"at most {MOST_NAME_CHARS} are read"
        )
    what = f"the type, shape and offsets of {quoted(name)}"
    raw = match(cursor, FLAT_OBJECT, what=what)
    try:
        entry = json.loads(raw, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise cursor.error(f"{what} cannot be read", "they are plain JSON, each once") from error
    dtype, shape = entry.get("dtype"), _naturals(entry.get("shape"))
    offsets = _naturals(entry.get("data_offsets"))
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        raise cursor.error(
            f"{quoted(name)} is of type {quoted(repr(dtype))}", f"it is one of {', '.join(DTYPE_BITS)}"
        )
    if shape is None or len(shape) > MOST_DIMENSIONS:
        raise cursor.error(
            f"the shape of {quoted(name)} is no shape", f"it lists up to {MOST_DIMENSIONS} whole numbers"
        )
    if offsets is None or len(offsets) != 2 or offsets[0] > offsets[1]:  # noqa: PLR2004 - begin and end
        raise cursor.error(f"the offsets of {quoted(name)} are none", "they are where it begins and ends")
    tensor = Tensor(name=name, dtype=dtype, shape=shape, begin=offsets[0], size_bytes=offsets[1] - offsets[0])
    _check_size(cursor, tensor)
    return tensor


def _check_size(cursor: Cursor, tensor: Tensor) -> None:
    bits = math.prod(tensor.shape) * DTYPE_BITS[tensor.dtype]
    if bits > MOST_ELEMENTS or bits != tensor.size_bytes * 8:
        raise cursor.error(
            f"{quoted(tensor.name)} is {tensor.dtype} {list(tensor.shape)[:4]} in {tensor.size_bytes} bytes",
            "type, shape and offsets agree",
        )
    if cursor.end + tensor.begin + tensor.size_bytes > cursor.file.file_bytes:
        raise cursor.error(
            f"{quoted(tensor.name)} ends at byte {tensor.begin + tensor.size_bytes} of the data, which has"
            f" {cursor.file.file_bytes - cursor.end}",
            "tensors lie within the file",
        )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose names stand once."""
    entry = dict(pairs)
    if len(entry) != len(pairs):
        raise ValueError("a name stands twice")
    return entry


def _naturals(value: object) -> tuple[int, ...] | None:
    """Return a list of whole numbers below 2^63, None for anything else."""
    if not isinstance(value, list):
        return None
    good = all(type(each) is int and 0 <= each <= MOST_ELEMENTS for each in value)
    return tuple(value) if good else None
