"""Read the header of a GGUF file, version 2 or 3: metadata, then tensors, then how the data is aligned.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. A tensor's bytes follow from the
layout of its type and must agree with the offsets; of a type that is not known here the offsets alone say
them, up to the padding. So the length of the file belongs to the reading: a header alone does not say where
the last tensor ends.
"""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.checkpoint.header import (
    MOST_ELEMENTS,
    MOST_NAME_CHARS,
    MOST_TENSORS,
    Cursor,
    Header,
    HeaderError,
    Tensor,
    quoted,
    refuse_overlaps,
)
from app.domain.llms.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.llms.checkpoint.header import CheckpointFile
    from app.domain.llms.formats import Format

MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)
MOST_METADATA: Final = 10_000
MOST_KEPT_CHARS: Final = 1_000
"""A longer text of the metadata is passed over, as arrays are."""

MOST_TEXTS: Final = 2_000_000
"""Texts of one array: the largest vocabularies have some 300,000."""

MOST_TYPE_ID: Final = 255
MOST_GGML_DIMENSIONS: Final = 4
DEFAULT_ALIGNMENT: Final = 32
_MOST_ALIGNMENT: Final = 65_536
_LENGTH: Final = struct.Struct("<Q")
_STRING: Final = 8
_ARRAY: Final = 9
_BOOL: Final = 7
_SCALARS: Final[Mapping[int, str]] = MappingProxyType(
    {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", _BOOL: "<B", 10: "<Q", 11: "<q", 12: "<d"}
)
_TYPES: Final[Mapping[int, Format]] = MappingProxyType(
    {fmt.ggml_type_id: fmt for fmt in FORMATS.values() if fmt.ggml_type_id is not None}
)

Value = str | int | float | bool


def read_gguf(file: CheckpointFile) -> Header:
    """Return the header of a GGUF file; raises HeaderError for one that cannot be trusted."""
    cursor = Cursor(file)
    tensor_count, metadata_count = _counts(cursor)
    metadata = _metadata(cursor, metadata_count)
    alignment = _alignment(cursor, metadata)
    tensors: dict[str, Tensor] = {}
    for number in range(tensor_count):
        tensor = _tensor(cursor, number, alignment=alignment)
        if tensor.name in tensors:
            raise cursor.error(f"{quoted(tensor.name)} stands twice", "each name stands once")
        tensors[tensor.name] = tensor
    data_begin = -(-cursor.position // alignment) * alignment if tensors else cursor.position
    measured = _measured(file, tuple(tensors.values()), data_begin=data_begin, alignment=alignment)
    return Header(
        file=file.name,
        format="gguf",
        header_bytes=data_begin,
        file_bytes=file.file_bytes,
        tensors=measured,
        metadata=MappingProxyType(metadata),
    )


def _counts(cursor: Cursor) -> tuple[int, int]:
    """Return how many tensors and how many entries of metadata follow."""
    magic = cursor.take(len(MAGIC), "the word GGUF")
    if magic != MAGIC:
        raise cursor.error(f"it begins with {quoted(repr(magic))}", "a GGUF file begins with 'GGUF'")
    version = _number(cursor, "<I", "the version")
    if version not in VERSIONS:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        said = f"it is of version {version}"
        if swapped in VERSIONS:
            said = f"it is of version {swapped} in big-endian order"
        raise cursor.error(said, "versions 2 and 3 in little-endian order are read")
    tensor_count = _number(cursor, "<Q", "the number of tensors")
    metadata_count = _number(cursor, "<Q", "the number of metadata entries")
    for count, most, what in (
        (tensor_count, MOST_TENSORS, "tensors"),
        (metadata_count, MOST_METADATA, "metadata entries"),
    ):
        if count > most:
            raise cursor.error(f"it claims {count} {what}", f"at most {most} are read")
    return tensor_count, metadata_count


def _number(cursor: Cursor, form: str, what: str) -> int:
    (value,) = struct.unpack(form, cursor.take(struct.calcsize(form), what))
    return int(value)


def _metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    """Return the short values by their keys; arrays and long texts are passed over."""
    kept: dict[str, Value] = {}
    seen: set[str] = set()
    for number in range(count):
        key = _text(cursor, f"key {number} of the metadata", most=MOST_NAME_CHARS)
        if key in seen:
            raise cursor.error(f"{quoted(key)} stands twice in the metadata", "each key stands once")
        seen.add(key)
        value = _value(cursor, key)
        if value is not None:
            kept[key] = value
    return kept


def _text(cursor: Cursor, what: str, *, most: int) -> str:
    length = _number(cursor, "<Q", f"the length of {what}")
    if length > most:
        raise cursor.error(f"{what} claims {length} bytes", f"at most {most} are read")
    try:
        return cursor.take(length, what).decode()
    except UnicodeDecodeError as error:
        raise cursor.error(f"{what} is no UTF-8", "names are UTF-8") from error


def _value(cursor: Cursor, key: str) -> Value | None:
    what = f"the value of {quoted(key)}"
    kind = _number(cursor, "<I", f"the kind of {what}")
    if kind == _STRING:
        return _short_text(cursor, what)
    if kind == _ARRAY:
        _skip_array(cursor, what)
        return None
    form = _form(cursor, kind, what)
    (value,) = struct.unpack(form, cursor.take(struct.calcsize(form), what))
    return bool(value) if kind == _BOOL else float(value) if form in {"<f", "<d"} else int(value)


def _short_text(cursor: Cursor, what: str) -> str | None:
    """Return a text that is worth keeping, None for a long one or one that is no UTF-8."""
    length = _number(cursor, "<Q", f"the length of {what}")
    if length > MOST_KEPT_CHARS:
        cursor.skip(length, what)
        return None
    try:
        return cursor.take(length, what).decode()
    except UnicodeDecodeError:
        # A value of the metadata decides nothing here; a token of a vocabulary may be half a letter.
        return None


def _form(cursor: Cursor, kind: int, what: str) -> str:
    if kind not in _SCALARS:
        raise cursor.error(f"{what} is of kind {kind}", "kinds 0 to 12 are known")
    return _SCALARS[kind]


def _skip_array(cursor: Cursor, what: str) -> None:
    kind = _number(cursor, "<I", f"the kind of {what}")
    count = _number(cursor, "<Q", f"the length of {what}")
    if kind == _ARRAY:
        raise cursor.error(f"{what} is an array of arrays", "arrays hold numbers or texts")
    if kind != _STRING:
        cursor.skip(count * struct.calcsize(_form(cursor, kind, what)), what)
        return
    if count > MOST_TEXTS or count * 8 > cursor.left:
        raise cursor.error(f"{what} claims {count} texts", f"at most {MOST_TEXTS} within the file are read")
    for _ in range(count):
        if cursor.fill(_LENGTH.size) < _LENGTH.size:
            raise cursor.ended(what)
        (length,) = _LENGTH.unpack_from(cursor.buffer, cursor.at)
        cursor.skip(_LENGTH.size + length, what)


def _alignment(cursor: Cursor, metadata: Mapping[str, Value]) -> int:
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    is_power = type(value) is int and 0 < value <= _MOST_ALIGNMENT and value & (value - 1) == 0
    if not isinstance(value, int) or not is_power:
        raise cursor.error(
            f"its alignment is {quoted(str(value))}", f"it is a power of two up to {_MOST_ALIGNMENT}"
        )
    return value


def _tensor(cursor: Cursor, number: int, *, alignment: int) -> Tensor:
    """Return a tensor with the bytes of its type's layout, -1 for a type that is not known."""
    name = _text(cursor, f"the name of tensor {number}", most=MOST_NAME_CHARS)
    what = f"tensor {quoted(name)}"
    rank = _number(cursor, "<I", what)
    if rank > MOST_GGML_DIMENSIONS:
        raise cursor.error(f"{what} claims {rank} dimensions", f"there are at most {MOST_GGML_DIMENSIONS}")
    shape = struct.unpack(f"<{rank}Q", cursor.take(8 * rank, what))
    type_id = _number(cursor, "<I", what)
    begin = _number(cursor, "<Q", what)
    elements = math.prod(shape)
    if elements > MOST_ELEMENTS or begin > MOST_ELEMENTS:
        raise cursor.error(f"{what} has {elements} elements at {begin}", f"both are at most {MOST_ELEMENTS}")
    if begin % alignment:
        raise cursor.error(f"{what} begins at {begin}", f"offsets are multiples of {alignment}")
    fmt = _TYPES.get(type_id)
    if fmt is None:
        if type_id > MOST_TYPE_ID:
            raise cursor.error(f"{what} is of ggml type {type_id}", f"types end at {MOST_TYPE_ID}")
        return Tensor(name=name, dtype=f"ggml type {type_id}", shape=shape, begin=begin, size_bytes=-1)
    if elements and shape[:1] and shape[0] % fmt.block_elements:
        raise cursor.error(
            f"{what} has rows of {shape[0]} values", f"{fmt.label} takes {fmt.block_elements} at a time"
        )
    size = elements // fmt.block_elements * int(fmt.block_bytes)
    return Tensor(name=name, dtype=fmt.label.removeprefix("GGUF "), shape=shape, begin=begin, size_bytes=size)


def _measured(
    file: CheckpointFile, tensors: tuple[Tensor, ...], *, data_begin: int, alignment: int
) -> tuple[Tensor, ...]:
    """Return the tensors with their bytes, after the offsets and the file's length were held against them."""
    data_bytes = file.file_bytes - data_begin
    ordered = sorted(tensors, key=lambda each: each.begin)
    ends = [*(each.begin for each in ordered[1:]), data_bytes]
    spans = {each.name: max(0, end - each.begin) for each, end in zip(ordered, ends, strict=False)}
    sized = tuple(
        replace(each, size_bytes=spans[each.name]) if each.size_bytes < 0 else each for each in tensors
    )
    data_end = refuse_overlaps(file.name, sized, most_gap=alignment - 1)
    if data_end > max(0, data_bytes) or data_bytes - data_end >= alignment:
        raise HeaderError(
            file.name,
            f"its tensors end at byte {data_end} of the data, which has {max(0, data_bytes)}",
            f"both agree in a whole file, up to {alignment - 1} bytes of padding",
        )
    return sized
