"""Addresses that were never quite these, or are no longer: where each of them leads."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

MOVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "/index.html": "/",
        "/board": "/",
        "/offers": "/",
        "/gpu": "/gpus",
        "/provider": "/providers",
        "/charts": "/charts/scatter",
        "/about": "/about-data",
        "/api": "/docs",
        "/feed": "/changes.atom",
    }
)
"""Whole paths, in small letters and without a slash at the end."""

MOVED_UNDER: Final[Mapping[str, str]] = MappingProxyType(
    {"/gpu/": "/gpus/", "/provider/": "/providers/", "/offer/": "/offers/"}
)
"""Beginnings of paths; what follows stays as it is."""


def moved(request: Request) -> str:
    """Return where an address without a page of its own leads, with its query; else nothing."""
    path = str(request.scope["path"])
    place = _place(path, {route.path for route in request.app.routes if isinstance(route, Route)})
    if not place or place == path or request.method not in {"GET", "HEAD"}:
        return ""
    text = quote(request.scope["query_string"], safe="%=&+,;:/?@!$'()*")
    return f"{quote(place)}?{text}" if text else quote(place)


def _place(path: str, known: set[str]) -> str:
    folded = path.rstrip("/").casefold()
    if folded in MOVED:
        return MOVED[folded]
    if folded in known and folded.isascii():
        return folded
    for old, new in MOVED_UNDER.items():
        if path.startswith(old):
            return new + path.removeprefix(old)
    return ""
