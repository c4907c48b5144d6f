"""The error of a part of a query that cannot be answered."""

from __future__ import annotations


class QueryError(ValueError):
    """A part of a query that cannot be answered: which field, what it said, and what would be right."""

    def __init__(self, field_name: str, value: str, expected: str) -> None:
        """Keep the three parts; the message joins them to a sentence."""
        super().__init__(f"{field_name}: '{value}' is not right: {expected}")
        self.field = field_name
        self.value = value
        self.expected = expected
