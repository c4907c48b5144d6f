"""The curl line that asks what the CORS check asks, and the line by which it says whose answer each is."""

from __future__ import annotations

import hashlib
import re
import shlex
from typing import TYPE_CHECKING, Final

from app.domain.serving.cors import NULL, unrelated_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.serving.cors import Asked, What

LABEL: Final = re.compile(r"== (preflight with headers|preflight|GET) as (\S{1,300}), check ([0-9a-f]{6})")
"""What stands below each answer: the request, the origin asked as, and the mark of all that is asked."""

TIMEOUT_S: Final = 20
_MARK_CHARS: Final = 6


def origins(asked: Asked) -> tuple[str, ...]:
    """Return all origins that one may have to ask as: its own, null, and an unrelated made-up one."""
    return tuple(dict.fromkeys((asked.origin, NULL, unrelated_to(asked.origin))))


def mark_of(asked: Asked) -> str:
    """Return six hex digits that are others for another address, origin or header.

    By them answers to an earlier question are told from those to this one.
    """
    # With further headers two preflights are asked, where formerly one asked for them all.
    twice = ["twice"] if asked.further else []
    said = "\n".join([asked.url, asked.origin, *asked.names, *twice])
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]


def label(what: What, origin: str, *, mark: str) -> str:
    """Return the line below an answer."""
    return f"== {what} as {origin}, check {mark}"


def curl_line(asked: Asked) -> str:
    """Return the line for a POSIX shell: every request by turns, of each answer its status and headers.

    It reads no file of settings (`-q`), takes brackets in the address as they are (`-g`), shows nothing of a
    proxy's tunnel, follows no redirect and keeps no body.
    """
    mark = mark_of(asked)
    asks = [
        _ask(asked.url, method, headers=headers, label=label(what, origin, mark=mark))
        for origin in origins(asked)
        for what, (method, headers) in asked.by(origin).requests.items()
    ]
    return "curl -q " + " \\\n  --next ".join(asks)


def _ask(url: str, method: str, *, headers: Mapping[str, str], label: str) -> str:
    words = [
        *("-gsS", "-m", str(TIMEOUT_S), "--suppress-connect-headers", "-o", "/dev/null", "-D", "-"),
        *(("-X", method) if method != "GET" else ()),
        *(word for name, value in headers.items() for word in ("-H", f"{name}: {value}")),
        # curl itself makes a line end of the backslash and the n.
        *("-w", f"{label}\\n", url),
    ]
    return shlex.join(words)
