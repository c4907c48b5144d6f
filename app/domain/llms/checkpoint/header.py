"""The header of one file of a checkpoint: its tensors, how it is read, and the error of a bad one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_HEADER_BYTES: Final = 100_000_000
"""A longer header is refused; the safetensors library draws the same line."""

MOST_TENSORS: Final = 80_000
"""Tensors of one file. The largest checkpoints hold about 300,000, in dozens of files."""

MOST_NAME_CHARS: Final = 250
MOST_DIMENSIONS: Final = 16
MOST_ELEMENTS: Final = 2**63 - 1
_FIRST_CHUNK_BYTES: Final = 16_384
_MOST_CHUNK_BYTES: Final = 1_048_576
_GROWTH: Final = 4


class HeaderError(ValueError):
    """A header that cannot be trusted: the file, what it says, and what would be right."""

    def __init__(self, file: str, said: str, right: str) -> None:
        """Keep the three parts; the message joins them to a sentence."""
        super().__init__(f"{file}: {said}; {right}.")
        self.file = file
        self.said = said
        self.right = right


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFile:
    """A file that can be read in pieces: its name, its length, and `read(offset, length)`.

    `read` gives exactly the bytes asked for, which always lie within the file, or raises.
    """

    name: str
    file_bytes: int
    read: Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor: its stored type in the words of its format, and its bytes from the start of the data."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    size_bytes: int

    @property
    def elements(self) -> int:
        """Stored elements: for packed 4-bit values not the parameters."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What one file says of itself. `header_bytes` is all before the data; `metadata` has short values."""

    file: str
    format: Literal["safetensors", "gguf"]
    header_bytes: int
    file_bytes: int
    tensors: tuple[Tensor, ...]
    metadata: Mapping[str, str | int | float | bool]

    @property
    def data_bytes(self) -> int:
        """Bytes after the header."""
        return self.file_bytes - self.header_bytes


class Cursor:
    """A place in a file that moves on; it holds a piece of it, never as much as a length in it claims."""

    __slots__ = ("_base", "_chunk_bytes", "at", "buffer", "end", "file")

    def __init__(self, file: CheckpointFile) -> None:
        """Begin at the start of the file; `end` is where reading must stop, the end of the file at first."""
        self.file = file
        self.end = min(file.file_bytes, MOST_HEADER_BYTES + 8)
        self.buffer = b""
        self.at = 0
        self._base = 0
        self._chunk_bytes = _FIRST_CHUNK_BYTES

    @property
    def position(self) -> int:
        """Offset in the file of what comes next."""
        return self._base + self.at

    @property
    def left(self) -> int:
        """Bytes up to the end."""
        return self.end - self.position

    def fill(self, length: int) -> int:
        """Have `length` bytes in the buffer from `at` on, or all that are left; return how many there are."""
        wanted = min(length, self.end - self._base - self.at)
        while len(self.buffer) - self.at < wanted:
            loaded = self._base + len(self.buffer)
            size = min(max(self._chunk_bytes, wanted - (loaded - self.position)), self.end - loaded)
            size = min(size, _MOST_CHUNK_BYTES)
            self._chunk_bytes = min(self._chunk_bytes * _GROWTH, _MOST_CHUNK_BYTES)
            piece = self.file.read(loaded, size)
            if len(piece) != size:
                raise self.error(
                    f"it gave {len(piece)} bytes where {size} were asked for", "it must hold still"
                )
            self._base, self.at, self.buffer = self.position, 0, self.buffer[self.at :] + piece
        return wanted

    def take(self, length: int, what: str) -> bytes:
        """Return the next bytes and move past them; raises HeaderError when the file ends before."""
        if self.fill(length) < length:
            raise self.ended(what)
        self.at += length
        return self.buffer[self.at - length : self.at]

    def skip(self, length: int, what: str) -> None:
        """Move past bytes without reading those that are not here yet."""
        at = self.at + length
        if self._base + at > self.end:
            raise self.ended(what)
        if at <= len(self.buffer):
            self.at = at
        else:
            self._base, self.at, self.buffer = self._base + at, 0, b""

    def ended(self, what: str) -> HeaderError:
        """Return the error of a file, or of a header, that ends in the middle of something."""
        return self.error(
            f"it ends at byte {self.end} within {what}",
            f"a header is whole and no longer than {MOST_HEADER_BYTES} bytes",
        )

    def error(self, said: str, right: str) -> HeaderError:
        """Return the error of something in this file."""
        return HeaderError(self.file.name, said, right)


def quoted(text: str, *, most: int = 60) -> str:
    """Return a name of the file as a message may show it: short, and printable."""
    short = text if len(text) <= most else f"{text[:most]}..."
    return ascii(short)


def refuse_overlaps(file: str, tensors: tuple[Tensor, ...], *, most_gap: int) -> int:
    """Return where the data ends; raise where tensors overlap or leave more than `most_gap` bytes between."""
    end, before = 0, "the start of the data"
    for tensor in sorted(tensors, key=lambda each: (each.begin, each.size_bytes)):
        if tensor.begin < end:
            raise HeaderError(
                file,
                f"{quoted(tensor.name)} begins at {tensor.begin}, inside {before}, which ends at {end}",
                "tensors do not overlap",
            )
        if tensor.begin - end > most_gap:
            raise HeaderError(
                file,
                f"{tensor.begin - end} bytes before {quoted(tensor.name)} belong to no tensor",
                f"at most {most_gap} may" if most_gap else "tensors follow each other without a gap",
            )
        end, before = tensor.begin + tensor.size_bytes, quoted(tensor.name)
    return end
