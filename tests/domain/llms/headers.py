"""Small checkpoints of our own making: the bytes of headers, and files whose weights are nowhere kept."""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.domain.llms.checkpoint.header import CheckpointFile

BYTES = {
    "F64": 8,
    "F32": 4,
    "BF16": 2,
    "F16": 2,
    "F8_E4M3": 1,
    "F8_E8M0": 1,
    "U8": 1,
    "I8": 1,
    "I32": 4,
    "I64": 8,
}
# Number, values in a block and bytes of a block, from the layouts in ggml's own documentation.
GGML = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q4_K": (12, 256, 144),
    "Q6_K": (14, 256, 210),
}

Spec = tuple[str, str, Sequence[int]]
"""Name, stored type and shape of a tensor."""


def count(shape: Iterable[int]) -> int:
    product = 1
    for each in shape:
        product *= each
    return product


def entries(tensors: Iterable[Spec]) -> dict[str, Any]:
    """Give the entries of a safetensors header, tensor after tensor."""
    listed: dict[str, Any] = {}
    at = 0
    for name, dtype, shape in tensors:
        end = at + count(shape) * BYTES[dtype]
        listed[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    return listed


def framed(text: str | bytes) -> bytes:
    """Give a text with its length before it, as a safetensors file begins."""
    body = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(body)) + body


def safetensors(tensors: Sequence[Spec], metadata: Mapping[str, str] | None = None) -> tuple[bytes, int]:
    """Give the header of a safetensors file, and the length of the whole file."""
    listed = entries(tensors)
    header = framed(json.dumps({"__metadata__": dict(metadata), **listed} if metadata else listed))
    return header, len(header) + max((each["data_offsets"][1] for each in listed.values()), default=0)


def text(value: str) -> bytes:
    body = value.encode()
    return struct.pack("<Q", len(body)) + body


def value(kind: str, content: Any) -> bytes:
    """Give a value of GGUF metadata with its kind before it."""
    if kind == "text":
        return struct.pack("<I", 8) + text(content)
    if kind == "texts":
        return struct.pack("<IIQ", 9, 8, len(content)) + b"".join(map(text, content))
    if kind == "floats":
        return struct.pack(f"<IIQ{len(content)}f", 9, 6, len(content), *content)
    number, form = {"u16": (2, "H"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?")}[
        kind
    ]
    return struct.pack(f"<I{form}", number, content)


def gguf(
    tensors: Sequence[Spec],
    metadata: Mapping[str, tuple[str, Any]] | None = None,
    *,
    version: int = 3,
    alignment: int = 32,
) -> tuple[bytes, int]:
    """Give the header of a GGUF file, padded to where its data begin, and the length of the whole file."""
    known = dict(metadata or {})
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(known))]
    parts += [text(key) + value(kind, content) for key, (kind, content) in known.items()]
    at = 0
    for name, kind, shape in tensors:
        number, elements, size = GGML[kind]
        parts.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, at))
        at += padded(count(shape) // elements * size, alignment)
    header = b"".join(parts)
    header += bytes(padded(len(header), alignment) - len(header)) if tensors else b""
    return header, len(header) + at


def padded(size: int, alignment: int) -> int:
    return (size + alignment - 1) // alignment * alignment


def hollow(header: bytes, file_bytes: int, name: str = "model.safetensors") -> CheckpointFile:
    """Give a file of this length that begins with a header and has nothing but zeros after it."""

    def read(offset: int, length: int) -> bytes:
        piece = header[offset : offset + length]
        return piece + bytes(length - len(piece))

    return CheckpointFile(name=name, file_bytes=file_bytes, read=read)
