"""Read JSON from a file piece by piece: what comes next is matched, within a bound."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from app.domain.llms.checkpoint.header import quoted

if TYPE_CHECKING:
    from app.domain.llms.checkpoint.header import Cursor

MOST_KEPT_CHARS: Final = 1_000
"""A longer text is passed over."""

MOST_TEXT_CHARS: Final = 40_000_000
"""Characters of all names of an object of texts; the largest checkpoint's index has about 25 million."""

_ENTRY_OVERHEAD_CHARS: Final = 20
_ENTRY_BYTES: Final = 65_536
_TEXT_BYTES: Final = 4_194_304
_SPACE: Final = rb"[ \t\r\n]*+"
_STRING: Final = rb'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
OPEN: Final = re.compile(_SPACE + rb"\{" + _SPACE)
CLOSE: Final = re.compile(_SPACE + rb"\}" + _SPACE)
COMMA: Final = re.compile(_SPACE + rb"," + _SPACE)
KEY: Final = re.compile(rb"(" + _STRING + rb")" + _SPACE + rb":" + _SPACE)
TEXT: Final = re.compile(rb"(" + _STRING + rb")")
FLAT_OBJECT: Final = re.compile(rb"(\{[^{}]*+\})")
"""An object without another one in it."""

SCALAR: Final = re.compile(rb"(" + _STRING + rb"|[-+.0-9a-zA-Z]++)")
_BLANKS: Final = re.compile(_SPACE)


def text_pairs(cursor: Cursor, *, what: str) -> dict[str, str]:
    """Return an object that maps texts to texts, from its brace on, without values that are long."""
    pairs: dict[str, str] = {}
    values: dict[str, str] = {}
    held_chars = 0
    match(cursor, OPEN, what=f"the object of {what}")
    while not attempt(cursor, CLOSE):
        if pairs:
            match(cursor, COMMA, what=f"a comma in {what}")
        name = string(cursor, match(cursor, KEY, what=f"a name in {what}"))
        value = string(cursor, match(cursor, TEXT, what=f"a text for {quoted(name)} in {what}"))
        if name in pairs:
            raise cursor.error(f"{quoted(name)} stands twice in {what}", "each name stands once")
        value = value if len(value) <= MOST_KEPT_CHARS else ""
        # Thousands of tensors name one file: it is held once.
        pairs[name] = values.setdefault(value, value)
        held_chars += len(name) + _ENTRY_OVERHEAD_CHARS
        if held_chars > MOST_TEXT_CHARS:
            raise cursor.error(f"{what} goes on and on", f"at most {MOST_TEXT_CHARS} characters are read")
    return pairs


def match(cursor: Cursor, pattern: re.Pattern[bytes], *, what: str) -> bytes:
    """Return what the pattern finds next and move past it; raises HeaderError for anything else."""
    for window in (_ENTRY_BYTES, _TEXT_BYTES):
        had = cursor.fill(window)
        found = pattern.match(cursor.buffer, cursor.at, cursor.at + had)
        if found:
            cursor.at = found.end()
            return found[pattern.groups] if pattern.groups else found[0]
        if had == cursor.left:
            break
    seen = cursor.buffer[cursor.at : cursor.at + 30].decode("ascii", "replace")
    if not cursor.left:
        raise cursor.ended(what)
    raise cursor.error(f"at byte {cursor.position} stands {quoted(seen)}", f"{what} would be right there")


def attempt(cursor: Cursor, pattern: re.Pattern[bytes]) -> bool:
    """Move past what the pattern finds next, if it does."""
    found = pattern.match(cursor.buffer, cursor.at, cursor.at + cursor.fill(_ENTRY_BYTES))
    if found:
        cursor.at = found.end()
    return bool(found)


def refuse_rest(cursor: Cursor) -> None:
    """Raise for anything but blanks after the object."""
    while cursor.left:
        had = cursor.fill(_ENTRY_BYTES)
        found = _BLANKS.match(cursor.buffer, cursor.at, cursor.at + had)
        if found is None or found.end() == cursor.at:
            raise cursor.error(f"something follows its object at byte {cursor.position}", "only blanks may")
        cursor.at = found.end()


def string(cursor: Cursor, raw: bytes) -> str:
    """Return the text that a string in quotes stands for."""
    try:
        text: str = json.loads(raw)
        text.encode()
    except ValueError as error:
        raise cursor.error(f"{quoted(repr(raw))} is no text", "texts are UTF-8 in quotes") from error
    return text
