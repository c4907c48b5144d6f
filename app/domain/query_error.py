"""The error of a part of a query that cannot be answered."""

from __future__ import annotations

from typing import Final

MOST_SHOWN_CHARS: Final = 80
"""Most characters of what was typed that an error repeats; an ellipsis stands for the rest."""


def cut(text: str, most: int = MOST_SHOWN_CHARS) -> str:
    """Return a text as it is, or its start and an ellipsis where it has more characters than `most`."""
    return text if len(text) <= most else f"{text[:most]}..."


class QueryError(ValueError):
    """A part of a query that cannot be answered: which field, what it said, and what would be right."""

    def __init__(self, field_name: str, value: str, expected: str) -> None:
        """Keep the three parts, of a long value its start; the message joins them to a sentence."""
        shown = cut(value)
        super().__init__(f"{field_name}: '{shown}' is not right: {expected}")
        self.field = field_name
        self.value = shown
        self.expected = expected
