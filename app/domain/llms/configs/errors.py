"""The errors of a config that cannot be read."""

from __future__ import annotations

from app.domain.query_error import QueryError


class ConfigError(QueryError):
    """A key of a config.json that is missing or cannot be used: which, what it says, what would be right."""


class UnknownFamilyError(QueryError):
    """A config of a family that no reader knows; it is refused rather than read as another."""
