"""How values stand in a column, the same on SQLite and PostgreSQL: UTC times, exact decimals, flags, JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Boolean, Integer, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine

BIG_INTEGER: Final = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit integer: a STRICT table of SQLite knows it only under the name INTEGER."""


def to_seconds(instant: datetime) -> int:
    """Return whole Unix seconds of an aware time, rounded down; raise ValueError for a naive one."""
    if instant.tzinfo is None:
        raise ValueError(f"a time without its zone cannot be stored: {instant.isoformat()}")
    return int(instant.timestamp() // 1)


@lru_cache(maxsize=8192)
def from_seconds(seconds: int) -> datetime:
    """Return the aware UTC time of Unix seconds; cached because a run writes one time on all its rows."""
    return datetime.fromtimestamp(seconds, UTC)


@lru_cache(maxsize=65536)
def to_decimal(text: str) -> Decimal:
    """Return the decimal of its text; cached because prices repeat."""
    return Decimal(text)


def to_json(value: Any) -> str:
    """Return JSON with sorted keys and no spaces, so that equal values have equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


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

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Turn seconds into an aware time."""
        del dialect
        return None if value is None else from_seconds(value)


class ExactDecimal(TypeDecorator[Decimal]):
    """A decimal as the text that was printed: SQLite has no exact decimal of its own."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """Turn a decimal into its digits, without an exponent."""
        del dialect
        return None if value is None else f"{value:f}"

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Decimal | None:
        """Turn digits into a decimal."""
        del dialect
        return None if value is None else to_decimal(value)


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

    def process_result_value(self, value: Any | None, dialect: Dialect) -> bool | None:
        """Turn 0 and 1 back into a flag."""
        del dialect
        return None if value is None else bool(value)


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
        if value is None or dialect.name == "postgresql":
            return value
        return json.loads(value)
