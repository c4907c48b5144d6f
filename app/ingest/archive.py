"""Every body that was fetched, compressed under its SHA-256, so that any run can be parsed again later."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import zlib
from pathlib import Path


class ArchiveError(Exception):
    """A body is not in the archive, or not as it was put there; the message is a sentence."""


def store_body(archive: Path, body: bytes) -> str:
    """Put a body into the archive and return its SHA-256 in hex; a body that is there already is left alone.

    The file appears under its name only when it is complete, so a process killed here leaves no half file.
    """
    sha256 = hashlib.sha256(body).hexdigest()
    path = body_path(archive, sha256)
    if not path.exists():
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
