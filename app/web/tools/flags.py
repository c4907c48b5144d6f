"""The field of flags that two tools have: names of a server's options, as people write them."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from app.domain.query import QueryError

if TYPE_CHECKING:
    from app.web.tools.fields import Typed

FIELD: Final = "flags"

_MOST: Final = 20
_LONGEST: Final = 100


def _names(typed: Typed) -> tuple[str, ...]:
    """Return the names between commas, line ends or before the next dash, without their values."""
    found = [each.strip() for each in re.split(r"[,\n]|\s(?=-)", typed.text(FIELD))]
    named = [re.split(r"[\s=]", each)[0] if each.startswith("-") else each for each in found]
    return tuple(dict.fromkeys(filter(None, named)))


def flags_of(typed: Typed) -> tuple[str, ...]:
    """Return the flags that are named; raises QueryError for too many or too long ones."""
    flags = _names(typed)
    long = next((flag for flag in flags if len(flag) > _LONGEST), None)
    if long is not None or len(flags) > _MOST:
        expected = f"name at most {_MOST} flags of at most {_LONGEST} characters each"
        raise QueryError(FIELD, long or flags[_MOST], expected)
    return flags


def flag_options(typed: Typed) -> list[str]:
    """Return the same as options of a command, whatever is wrong with them."""
    return [f"--flag={shlex.quote(flag)}" for flag in _names(typed)[:_MOST]]
