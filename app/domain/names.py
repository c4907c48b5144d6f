"""Names that a link may use, looked up without regard to case; a wrong one is told what comes close."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from app.domain.query_error import QueryError

MAX_NAMES_LISTED: Final = 12

Names = Mapping[str, str]
"""Allowed names by themselves and by their folded form."""


def fold(names: Iterable[str]) -> Names:
    """Return names by themselves and folded: a look-up ignores case, except where case tells two apart.

    Of several that fold to one form the first stands under it, unless the form is itself a name.
    """
    exact = {str(name): str(name) for name in names}
    folded = {name.casefold(): name for name in reversed(exact)}
    return MappingProxyType({**folded, **exact})


def one_of(field_name: str, value: str, *, names: Names) -> str:
    """Return the allowed name that equals `value` but for case; else say which ones come close."""
    text = value.strip()
    found = names.get(text) or names.get(text.casefold())
    if found is not None:
        return found
    close = [names[name] for name in _close_names(text.casefold(), names)]
    if close:
        raise QueryError(field_name, value, f"did you mean {' or '.join(dict.fromkeys(close))}?")
    known = sorted(set(names.values()))
    rest = len(known) - MAX_NAMES_LISTED
    listed = ", ".join(known[:MAX_NAMES_LISTED]) + (f" and {rest} more" if rest > 0 else "")
    expected = f"use one of {listed}" if known else "there is none to choose from yet"
    raise QueryError(field_name, value, expected)


def _close_names(text: str, names: Names) -> list[str]:
    """Return a few names that begin with the text, the shortest first; else those that look like it.

    A name that has an organisation and a slash before it may be begun without them.
    """
    begun = (name for name in names if text and (name.startswith(text) or f"/{text}" in name))
    longer = sorted(begun, key=lambda name: (len(name), name))
    return longer[:3] or get_close_matches(text, names, n=3, cutoff=0.5)
