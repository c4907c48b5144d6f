"""Turns the text of a config.json into the object it holds, however it was made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from app.domain.llms.configs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_BYTES: Final = 8_000_000
"""Longest file that is read; the longest known one has a ninetieth of it."""

_SHOWN: Final = 40


def parse_document(text: str | bytes, *, name: str = "config.json") -> Mapping[str, Any]:
    """Return the object of a JSON text.

    Raises:
        ConfigError: the text is too long, no JSON, nested too deep, or no object; the error names the file.
    """
    if len(text) > MOST_BYTES:
        raise ConfigError(name, f"{len(text)} long", f"at most {MOST_BYTES} bytes")
    start = text[:_SHOWN]
    shown = repr(start if isinstance(start, str) else start.decode("utf-8", "replace"))[1:-1]
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ConfigError(name, shown, "JSON that is not nested so deep") from error
    except ValueError as error:
        raise ConfigError(name, shown, f"JSON ({error})") from error
    if not isinstance(document, dict):
        raise ConfigError(name, shown, "a JSON object")
    return document
