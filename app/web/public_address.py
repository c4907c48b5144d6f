"""The address that a page gives of itself to whoever shows or indexes links: nothing of the reader's own."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

OWN: Final = frozenset({"quote", "own", "measured"})
"""Parameters that hold what a reader typed as their own."""


def public_address(address: str) -> str:
    """Return an address of ours as the head of a page names it: without the reader's own figures.

    A text of a template comes escaped and is taken for what it says; the rest stays as it is written.
    """
    said = address.unescape() if isinstance(address, Markup) else address
    path, _, text = said.strip().partition("?")
    kept = "&".join(pair for pair in text.split("&") if pair.partition("=")[0] not in OWN)
    return f"{path}?{kept}" if kept else path
