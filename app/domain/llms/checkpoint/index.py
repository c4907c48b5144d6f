"""Which files make up a checkpoint: the index of a sharded one, and names that count their parts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.checkpoint.header import Cursor, HeaderError, quoted
from app.domain.llms.checkpoint.jsonscan import (
    CLOSE,
    COMMA,
    FLAT_OBJECT,
    KEY,
    OPEN,
    SCALAR,
    attempt,
    match,
    refuse_rest,
    string,
    text_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.llms.checkpoint.header import CheckpointFile, Header

MOST_FILES: Final = 2_000
"""Parts of one checkpoint."""

_PART: Final = re.compile(
    r"(?P<stem>.*)-(?P<number>\d{1,6})-of-(?P<count>\d{1,6})\.(?P<kind>safetensors|gguf)"
)
_KINDS: Final = (".safetensors", ".gguf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """What `model.safetensors.index.json` says: the file of each tensor, and the bytes of all, if it does."""

    files: Mapping[str, str]
    total_bytes: int | None

    @property
    def names(self) -> tuple[str, ...]:
        """The files, each once, in order."""
        return tuple(sorted(set(self.files.values())))


def read_index(file: CheckpointFile) -> Index:
    """Return an index; raises HeaderError for one that is none, or that names a file elsewhere."""
    cursor = Cursor(file)
    weight_map: dict[str, str] | None = None
    total: object = None
    seen: set[str] = set()
    match(cursor, OPEN, what="an object")
    while not attempt(cursor, CLOSE):
        if seen:
            match(cursor, COMMA, what="a comma or the end of the object")
        name = string(cursor, match(cursor, KEY, what="a name in quotes and a colon"))
        if name in seen:
            raise cursor.error(f"{quoted(name)} stands twice", "each name stands once")
        seen.add(name)
        if name == "weight_map":
            weight_map = text_pairs(cursor, what="the weight map")
        elif name == "metadata":
            total = _total(cursor, match(cursor, FLAT_OBJECT, what="an object of plain values"))
        else:
            match(cursor, SCALAR, what="a plain value")
    refuse_rest(cursor)
    if not weight_map:
        raise cursor.error("it has no weight map", "an index says which file holds each tensor")
    index = Index(files=MappingProxyType(weight_map), total_bytes=total if type(total) is int else None)
    _refuse_paths(file.name, index.names)
    return index


def _total(cursor: Cursor, raw: bytes) -> object:
    try:
        return json.loads(raw).get("total_size")
    except (ValueError, RecursionError) as error:
        raise cursor.error("its metadata cannot be read", "they are plain JSON") from error


def _refuse_paths(file: str, names: Iterable[str]) -> None:
    """Raise for a file that is not beside the index, and for too many."""
    listed = list(names)
    for name in listed:
        if "/" in name or "\\" in name or not name.endswith(".safetensors"):
            raise HeaderError(file, f"it names {quoted(name)}", "it names safetensors files beside it")
    if len(listed) > MOST_FILES:
        raise HeaderError(file, f"it names {len(listed)} files", f"at most {MOST_FILES} are read")


def check_names(index: Index, header: Header) -> None:
    """Raise for tensors that an index says to be in a file which does not hold them."""
    held = {tensor.name for tensor in header.tensors}
    missing = [name for name, file in index.files.items() if header.file.endswith(file) and name not in held]
    if missing:
        raise HeaderError(
            header.file,
            f"it lacks {len(missing)} tensors that the index says are in it",
            f"{quoted(missing[0])} is one",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Files that make up one checkpoint: its name, its parts in order, and its index where that was read."""

    name: str
    files: tuple[str, ...]
    index: Index | None = None


def parts_of(name: str) -> tuple[str, ...]:
    """Return the names of all parts of a checkpoint from one of them; only this one when it is no part."""
    found = _PART.fullmatch(name)
    if not found:
        return (name,)
    count, digits = int(found["count"]), len(found["number"])
    if not 1 <= int(found["number"]) <= count <= MOST_FILES:
        raise HeaderError(name, "its name counts wrongly", f"parts count from 1 to at most {MOST_FILES}")
    return tuple(
        f"{found['stem']}-{number:0{digits}}-of-{found['count']}.{found['kind']}"
        for number in range(1, count + 1)
    )


def groups_of(names: Iterable[str]) -> tuple[Group, ...]:
    """Return the checkpoints that files make up, parts of one together; raises where a part is missing."""
    there = {name for name in names if name.endswith(_KINDS)}
    groups: list[Group] = []
    grouped: set[str] = set()
    for name in sorted(there):
        if name in grouped:
            continue
        parts = parts_of(name)
        missing = [part for part in parts if part not in there]
        if missing:
            raise HeaderError(
                name, f"{len(missing)} of its {len(parts)} parts are missing", f"{missing[0]} is one"
            )
        grouped.update(parts)
        found = _PART.fullmatch(name)
        groups.append(Group(name=found["stem"] if found else name.rpartition(".")[0], files=parts))
    return tuple(groups)
