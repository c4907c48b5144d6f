"""The folder of dumps: files that a manifest lists with their hashes, and never a manifest that is not true.

A file gets in by being renamed, so it is there whole or not at all. New files come first; then, if files
have to be replaced, a manifest that leaves those out; then they are replaced; the whole manifest comes last.
Who is killed in between leaves a manifest whose every hash is right.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

MANIFEST: Final = "manifest.json"
HISTORY: Final = "history.parquet"
HALF: Final = ".half-"
"""What the name of a file begins with that is not whole yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """One file: what it holds, by which rules, and from which state of the data it was last found right.

    `day` is None for a file of all days. `data_version` grows with every publish.
    """

    name: str
    rows: int
    bytes: int
    sha256: str
    day: str | None
    schema_version: str
    methodology_version: str
    program_version: str
    data_version: int


def read_manifest(folder: Path) -> dict[str, Dump]:
    """Return the files that the manifest lists, by name; none without a manifest that can be read."""
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {each["name"]: _dump(each) for each in listed}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, KeyError, TypeError):
        # Whatever it is, it is not ours: all files are written anew.
        return {}


def _dump(listed: Mapping[str, Any]) -> Dump:
    return Dump(**{field.name: listed[field.name] for field in fields(Dump)})


def is_intact(folder: Path, dump: Dump) -> bool:
    """Tell whether a file is as the manifest says."""
    try:
        return hash_of(folder / dump.name) == dump.sha256
    except FileNotFoundError:
        return False


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Let nobody else write into a folder, which is made if need be; what was left half done is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for half in folder.glob(f"{HALF}*"):
            half.unlink()
        yield


def put(folder: Path, dumps: Sequence[Dump], *, made: Sequence[str], about: Mapping[str, str]) -> None:
    """Make these the files of a folder; `made` names those that stand in it with `HALF` before their name.

    `about` is said at the head of the manifest. The caller holds `writing`.
    """
    new = [name for name in made if not (folder / name).exists()]
    _rename(folder, new)
    replaced = [name for name in made if name not in new]
    if replaced:
        _write_manifest(folder, [each for each in dumps if each.name not in replaced], about)
        _rename(folder, replaced)
    _write_manifest(folder, dumps, about)


def _rename(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        (folder / f"{HALF}{name}").replace(folder / name)
    _sync(folder)


def _write_manifest(folder: Path, dumps: Sequence[Dump], about: Mapping[str, str]) -> None:
    document = {**about, "files": [asdict(each) for each in sorted(dumps, key=lambda each: each.name)]}
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    half = folder / f"{HALF}{MANIFEST}"
    with half.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    half.replace(folder / MANIFEST)
    _sync(folder)


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
