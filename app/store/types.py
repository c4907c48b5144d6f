"""How values stand in a column, the same on SQLite and PostgreSQL: UTC times, exact decimals, flags, JSON.

Reading a board turns hundreds of thousands of values, so what turns a value back is a plain cached function
that SQLAlchemy calls directly (`result_processor`).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Boolean, Integer, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine

BIG_INTEGER: Final = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit integer: a STRICT table of SQLite knows it only under the name INTEGER."""

_FLAGS: Final = {0: False, 1: True, None: None}


def to_seconds(instant: datetime) -> int:
    """Return whole Unix seconds of an aware time, rounded down; raise ValueError for a naive one."""
    if instant.tzinfo is None:
        raise ValueError(f"a time without its zone cannot be stored: {instant.isoformat()}")
    return int(instant.timestamp() // 1)


@lru_cache(maxsize=8192)
def from_seconds(seconds: int) -> datetime:
    """Return the aware UTC time of Unix seconds; cached because a run writes one time on all its rows."""
    return datetime.fromtimestamp(seconds, UTC)


def to_json(value: Any) -> str:
    """Return JSON with sorted keys and no spaces, so that equal values have equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@lru_cache(maxsize=4096)
def texts_to_json(texts: tuple[str, ...]) -> str:
    """Return texts as a JSON list; cached because most offers of a provider share their assumptions."""
    return to_json(texts)


@lru_cache(maxsize=8192)
def _time(seconds: int | None) -> datetime | None:
    """Return a stored time."""
    return None if seconds is None else from_seconds(seconds)


@lru_cache(maxsize=65536)
def _decimal(digits: str | None) -> Decimal | None:
    """Return a stored decimal; cached because prices repeat."""
    return None if digits is None else Decimal(digits)


@lru_cache(maxsize=4096)
def _texts(text: str | None) -> tuple[str, ...] | None:
    """Return stored texts, each one object however often it is read."""
    return None if text is None else tuple(intern(each) for each in json.loads(text))


def _json(text: str | None) -> Any:
    """Return stored JSON."""
    return None if text is None else json.loads(text)


class UtcSeconds(TypeDecorator[datetime]):
    """A time as whole Unix seconds: takes aware times only and returns them in UTC."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return a 64-bit integer of either database."""
        return dialect.type_descriptor(Integer() if dialect.name == "sqlite" else BigInteger())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Turn an aware time into seconds."""
        del dialect
        return None if value is None else to_seconds(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        """Return what turns seconds into an aware time."""
        del dialect, coltype
        return _time


class ExactDecimal(TypeDecorator[Decimal]):
    """A decimal as the text that was printed: SQLite has no exact decimal of its own."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """Turn a decimal into its digits, without an exponent."""
        del dialect
        return None if value is None else f"{value:f}"

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Decimal | None]:
        """Return what turns digits into a decimal."""
        del dialect, coltype
        return _decimal


class Texts(TypeDecorator[tuple[str, ...]]):
    """A tuple of texts as a JSON list in text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> Any:
        """Turn texts into JSON."""
        del dialect
        return None if value is None else texts_to_json(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], tuple[str, ...] | None]:
        """Return what turns JSON into texts."""
        del dialect, coltype
        return _texts


class Flag(TypeDecorator[bool]):
    """Yes or no: a STRICT table of SQLite has only 0 and 1."""

    impl = Boolean
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return an integer on SQLite and a boolean elsewhere."""
        return dialect.type_descriptor(Integer() if dialect.name == "sqlite" else Boolean())

    def process_bind_param(self, value: bool | None, dialect: Dialect) -> Any:  # noqa: FBT001 - SQLAlchemy's own signature
        """Turn a flag into what the database holds."""
        if value is None:
            return None
        return int(value) if dialect.name == "sqlite" else value

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], bool | None] | None:
        """Return what turns 0 and 1 back into a flag; PostgreSQL's driver gives flags already."""
        del coltype
        return _FLAGS.__getitem__ if dialect.name == "sqlite" else None


class Json(TypeDecorator[Any]):
    """Lists and mappings of text: JSONB on PostgreSQL, text on SQLite."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return JSONB on PostgreSQL and text elsewhere."""
        return dialect.type_descriptor(JSONB() if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> Any:
        """Write JSON as text where the database has no JSON of its own."""
        return value if dialect.name == "postgresql" else to_json(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        """Read JSON from text where the database has no JSON of its own."""
        return value if dialect.name == "postgresql" else _json(value)
