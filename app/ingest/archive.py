"""Every body that was fetched, compressed under its SHA-256, so that any run can be parsed again later."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime


class ArchiveError(Exception):
    """A body is not in the archive, or not as it was put there; the message is a sentence."""


def store_body(archive: Path, body: bytes) -> str:
    """Put a body into the archive and return its SHA-256 in hex; a body that is there already is left alone.

    The file appears under its name only when it is complete, so a process killed here leaves no half file.
    """
    sha256 = hashlib.sha256(body).hexdigest()
    path = body_path(archive, sha256)
    if path.exists():
        # It is needed again from now on: `prune` goes by the file's time.
        path.touch()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".half-", delete=False) as half:
            try:
                # Without a time in it, equal bodies make equal files.
                half.write(gzip.compress(body, mtime=0))
                half.flush()
                os.fsync(half.fileno())
                Path(half.name).replace(path)
            except BaseException:
                Path(half.name).unlink(missing_ok=True)
                raise
    return sha256


def read_body(archive: Path, sha256: str) -> bytes:
    """Return the body with this hash; raise ArchiveError when it is not there or has changed."""
    path = body_path(archive, sha256)
    try:
        body = gzip.decompress(path.read_bytes())
    except FileNotFoundError:
        raise ArchiveError(f"The archive has no body {sha256}.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ArchiveError(f"The archived body {sha256} cannot be read: {error}.") from error
    if hashlib.sha256(body).hexdigest() != sha256:
        raise ArchiveError(f"The archived body {sha256} is no longer what was put there.")
    return body


def body_path(archive: Path, sha256: str) -> Path:
    """Return where a body is kept: by the first two digits of its hash, to keep folders small."""
    return archive / sha256[:2] / f"{sha256}.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """How many bodies went, how many bytes that freed on disk, and how many stay."""

    gone: int
    freed_bytes: int
    stay: int


def prune(archive: Path, needed: Collection[str], *, before: datetime) -> Pruned:
    """Remove the bodies that nobody needs and that were put here before a time; half files of then as well.

    `needed` holds their hashes, as `app.store.captures.needed_bodies` gives them. The file's own time is what
    keeps a body that a run is archiving at this moment and has not noted yet.
    """
    gone = freed_bytes = stay = 0
    for path in sorted(archive.glob("??/*")):
        try:
            file = path.stat()
        except FileNotFoundError:
            # Another process lets go of pages as well.
            continue
        if path.name.removesuffix(".gz") in needed or file.st_mtime >= before.timestamp():
            stay += 1
            continue
        path.unlink(missing_ok=True)
        gone += 1
        freed_bytes += file.st_size
    return Pruned(gone=gone, freed_bytes=freed_bytes, stay=stay)
