"""The query string and the query: reading one into the other, and links that keep only what differs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote_plus

from app.domain.query import BOARD_FIELDS, OfferQuery, QueryError, Vocabulary, parse_query, query_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request

MAX_QUERY_STRING: Final = 8000
MAX_PAIRS: Final = 500

_NOT_UTF_8: Final = "encode it as UTF-8 with % escapes"


def query_text(request: Request) -> str:
    """Return the query string as it was sent; raises QueryError for bytes that are no UTF-8."""
    sent: bytes = request.scope["query_string"]
    try:
        return sent.decode()
    except UnicodeDecodeError as error:
        raise QueryError("query string", sent[:200].decode(errors="replace"), _NOT_UTF_8) from error


def read_pairs(query_string: str) -> list[tuple[str, str]]:
    """Return the decoded pairs of a query string; raises QueryError when it cannot be decoded."""
    if len(query_string) > MAX_QUERY_STRING:
        raise QueryError("query string", query_string, f"keep it under {MAX_QUERY_STRING} characters")
    if query_string.count("&") >= MAX_PAIRS:
        raise QueryError("query string", query_string, f"keep it under {MAX_PAIRS} parameters")
    try:
        return parse_qsl(query_string, keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise QueryError("query string", query_string, _NOT_UTF_8) from error


def read_query(query_string: str, words: Vocabulary) -> OfferQuery:
    """Return the query that a query string asks for; raises QueryError."""
    return parse_query(read_pairs(query_string), words)


_APART: Final = re.compile(rf"(?:^|&)(?:{'|'.join(BOARD_FIELDS)}|measured|[^=&]*%)")
"""Finds one of these names, or one that is written with % escapes and so may be one of them."""


def is_apart(query_string: str) -> bool:
    """Tell whether a query string may ask for another board than the one of now, or one for its reader."""
    return _APART.search(query_string) is not None


_HOLDS_OWN: Final = re.compile(r"(?:^|&)(?:quote|own|measured|[^=&]*%)")
"""Finds the reader's own figures, those typed into the form too, or what is written with % escapes."""


def holds_own(query_string: str) -> bool:
    """Tell whether a query string may hold the reader's own figures."""
    return _HOLDS_OWN.search(query_string) is not None


def query_string(query: OfferQuery, **changes: Any) -> str:
    """Return the query string of a link to this query with some fields changed."""
    return joined(query_pairs(query.replace(**changes) if changes else query))


def joined(pairs: Iterable[tuple[str, str]]) -> str:
    """Return pairs of names and values as the text of a query string."""
    return "&".join(
        # A reader's own price is kept nowhere, and so not in this memory either.
        [f"{name}={(quote_plus if name in _OWN else _quoted)(value)}" for name, value in pairs]
    )


_OWN: Final = frozenset({"quote", "own", "measured"})


@lru_cache(maxsize=4096)  # nearly all values are names, which come again and again
def _quoted(value: str) -> str:
    return quote_plus(value)


def link(path: str, query: OfferQuery, **changes: Any) -> str:
    """Return the address of a page with this query; the bare path when all is default."""
    text = query_string(query, **changes)
    return f"{path}?{text}" if text else path
