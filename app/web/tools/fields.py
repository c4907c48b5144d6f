"""The fields of a tool's form: what each takes, and what was typed into them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.query import QueryError, read_whole
from app.domain.typed import read_figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

ON: Final = "on"
"""What a switch that is on sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field: the name in the link, the label with its unit, and a hint that says what is right.

    With `choices`, pairs of value and label, the first is the default; `rows` makes it a text of several
    lines; `is_switch` a box to tick; `is_number` brings up a keyboard of digits. `suggested` are texts that
    the browser offers, of which none has to be taken. `option` is the command's, where its name is another.
    """

    name: str
    label: str
    about: str
    choices: tuple[tuple[str, str], ...] = ()
    default: str = ""
    rows: int = 0
    is_switch: bool = False
    is_number: bool = False
    suggested: tuple[str, ...] = ()
    option: str = ""

    @property
    def initial(self) -> str:
        """What stands for nothing typed: the default, or the first choice."""
        return self.choices[0][0] if self.choices else self.default

    @property
    def schema(self) -> dict[str, Any]:
        """Return what programs may send, as a JSON schema."""
        if self.choices or self.is_switch:
            values = [value for value, _ in self.choices] or [ON]
            return {"type": "string", "enum": values}
        return {"type": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What was typed into the fields of a form; what is missing is the field's default."""

    texts: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return a field's text, with line ends as in a file."""
        return self.texts[name]

    def is_on(self, name: str) -> bool:
        """Tell whether a switch is on."""
        return self.texts[name] == ON

    def number(self, name: str) -> Decimal | None:
        """Return a number as people type it, 0.109, 1,200 or +75; None for nothing; raises QueryError."""
        text = self.texts[name].strip()
        if not text:
            return None
        try:
            return read_figure(text)
        except ValueError as error:
            raise QueryError(name, text, str(error)) from error

    def whole(self, name: str, *, low: int, high: int) -> int | None:
        """Return a whole number; None for nothing; raises QueryError."""
        text = self.texts[name].strip().replace(",", "")
        return read_whole(name, text, low=low, high=high) if text else None

    def names(self, name: str) -> list[str]:
        """Return what stands between commas, spaces and line ends."""
        return self.texts[name].replace(",", " ").split()


def read_typed(fields: Sequence[Field], pairs: Sequence[tuple[str, str]]) -> Typed:
    """Return what pairs of a link or a form type into fields.

    Raises:
        QueryError: a name that is no field, a field twice, or a value that is none of its choices.
    """
    by_name = {field.name: field for field in fields}
    texts: dict[str, str] = {}
    for name, value in pairs:
        field = by_name.get(name)
        if field is None:
            raise QueryError("parameter", name or value, f"use one of {', '.join(by_name)}")
        if name in texts:
            raise QueryError(name, value, "give it once")
        text = value.replace("\r\n", "\n").replace("\r", "\n")
        choices = field.schema.get("enum")
        if text and choices and text not in choices:
            raise QueryError(name, value, f"use one of {', '.join(choices)}")
        texts[name] = text
    return Typed(texts={field.name: texts.get(field.name) or field.initial for field in fields})


def options_of(fields: Sequence[Field], typed: Typed, *, names: Iterable[str]) -> list[str]:
    """Return what was typed into fields, where it differs from the default, as options of a command.

    Each is quoted for a shell: a link may type anything, and whoever opens it copies the line.
    """
    by_name = {field.name: field for field in fields}
    return [
        f"--{(by_name[name].option or name).replace('_', '-')} {shlex.quote(text)}"
        for name in names
        if (text := " ".join(typed.text(name).split())) != by_name[name].initial
    ]


def pairs_of(fields: Sequence[Field], texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pairs of a link: only what differs from the defaults, in the order of the form."""
    return [
        (field.name, texts[field.name])
        for field in fields
        if texts[field.name] and texts[field.name] != field.initial
    ]
