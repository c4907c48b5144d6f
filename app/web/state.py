"""The query string and the query: reading one into the other, and links that keep only what differs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote_plus

from app.domain.query import OfferQuery, QueryError, Vocabulary, parse_query, query_pairs

if TYPE_CHECKING:
    from datetime import date

MAX_QUERY_STRING = 8000


def read_pairs(query_string: str) -> list[tuple[str, str]]:
    """Return the decoded pairs of a query string; raises QueryError when it cannot be decoded."""
    if len(query_string) > MAX_QUERY_STRING:
        raise QueryError("query string", query_string[:40], f"keep it under {MAX_QUERY_STRING} characters")
    try:
        return parse_qsl(query_string, keep_blank_values=True, errors="strict", max_num_fields=500)
    except ValueError as error:
        raise QueryError("query string", query_string[:40], "encode it as UTF-8 with % escapes") from error


def read_query(query_string: str, words: Vocabulary) -> OfferQuery:
    """Return the query that a query string asks for; raises QueryError."""
    return parse_query(read_pairs(query_string), words)


def asked_day(query_string: str, today: date) -> date | None:
    """Return the day asked for, so that its board can be found before the rest is read."""
    words = Vocabulary(gpus={}, variants={}, form_factors={}, providers={}, regions={}, today=today)
    pairs = [pair for pair in read_pairs(query_string) if pair[0] == "as_of"]
    return parse_query(pairs, words).as_of if pairs else None


def query_string(query: OfferQuery, **changes: Any) -> str:
    """Return the query string of a link to this query with some fields changed."""
    pairs = query_pairs(query.replace(**changes) if changes else query)
    return "&".join(f"{name}={_quoted(value)}" for name, value in pairs)


@lru_cache(maxsize=4096)  # nearly all values are names, which come again and again
def _quoted(value: str) -> str:
    return quote_plus(value)


def link(path: str, query: OfferQuery, **changes: Any) -> str:
    """Return the address of a page with this query; the bare path when all is default."""
    text = query_string(query, **changes)
    return f"{path}?{text}" if text else path
