"""Reads a config.json key by key, so that an error names key and value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.llms.configs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MOST: Final = 2**32
"""Largest count or size that is believed, far above any of a real model."""

MOST_LAYERS: Final = 4096
"""Most layers that are believed."""

_LONGEST_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Config:
    """One object of a config.json; `path` is where it stands in the file, as in `text_config.`.

    A key that is null counts as absent. Every reader raises ConfigError for a value it does not promise.
    """

    values: Mapping[str, Any]
    path: str = ""

    def error(self, key: str, expected: str) -> ConfigError:
        """Return the error that names the key, its value and what would be right."""
        shown = repr(self.values[key]) if key in self.values else "(absent)"
        if len(shown) > _LONGEST_SHOWN:
            shown = f"{shown[:_LONGEST_SHOWN]}..."
        return ConfigError(f"{self.path}{key}", shown, expected)

    def has(self, key: str) -> bool:
        """Tell whether a key is there with a value."""
        return self.values.get(key) is not None

    def whole(self, *keys: str, least: int = 1, most: int = MOST) -> int:
        """Return the whole number under the first of the keys that is there."""
        key = next((each for each in keys if self.has(each)), keys[0])
        return self._whole(key, self.values.get(key), least=least, most=most)

    def whole_or(self, default: int, *keys: str) -> int:
        """Return the whole number, which may be zero, under the first of the keys that is there."""
        return self.whole(*keys, least=0) if any(map(self.has, keys)) else default

    def layers(self) -> int:
        """Return how many layers the model has."""
        return self.whole("num_hidden_layers", most=MOST_LAYERS)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return true or false."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def never(self, *keys: str) -> None:
        """Refuse what this family's reader does not count."""
        for key in keys:
            if self.values.get(key):
                raise self.error(key, "false or absent, as in every config of this family known here")

    def text(self, key: str) -> str:
        """Return a text, empty when absent."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str) or not value.isprintable():
            raise self.error(key, "a text of one line")
        return value

    def section(self, key: str) -> Config:
        """Return the object under a key."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.error(key, "an object")
        return Config(value, f"{self.path}{key}.")

    def sections(self, key: str, *, length: int) -> tuple[Config, ...]:
        """Return the objects of a list, one for each layer."""
        items = self._items(key, length=length)
        if not all(isinstance(item, dict) for item in items):
            raise self.error(key, "a list of objects")
        return tuple(Config(item, f"{self.path}{key}[{number}].") for number, item in enumerate(items))

    def words(self, key: str, allowed: Collection[str], *, length: int | None = None) -> tuple[str, ...]:
        """Return the words of a list, each one of the allowed."""
        items = self._items(key, length=length)
        if not all(isinstance(item, str) and item in allowed for item in items):
            raise self.error(key, f"a list of {', '.join(sorted(allowed))}")
        return tuple(items)

    def numbers(self, key: str, *, length: int | None = None) -> tuple[int, ...]:
        """Return the whole numbers of a list, zero or above."""
        items = self._items(key, length=length)
        return tuple(self._whole(key, item, least=0, most=MOST) for item in items)

    def _items(self, key: str, *, length: int | None) -> tuple[Any, ...]:
        value = self.values.get(key)
        if not isinstance(value, list) or len(value) > MOST_LAYERS:
            raise self.error(key, "a list")
        if length is not None and len(value) < length:
            raise self.error(key, f"a list of {length}, one for each layer")
        return tuple(value[:length])

    def _whole(self, key: str, value: Any, *, least: int, most: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.error(key, f"a whole number from {least} to {most}")
        return value


def text_config(document: Config) -> Config:
    """Return the object that describes the language model: `text_config`, or the whole file."""
    return document.section("text_config") if document.has("text_config") else document
