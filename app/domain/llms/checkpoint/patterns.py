"""Which modules a quantisation leaves out, by the three ways in which configs name them.

Names: a module, or what it is in or ends with (`lm_head`). Wildcards: `model.layers.1.*`. Expressions after
`re:` are not run as they come: letters, dots, `.*` and alternatives in brackets are understood, as wildcards
that cannot run away, and any other is reported as unread.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_PATTERNS: Final = 50_000
MOST_WILDCARDS: Final = 200
MOST_PATTERN_CHARS: Final = 200
_MOST_ALTERNATIVES: Final = 64
_EXPRESSION: Final = re.compile(r"(?:[\w-]|\\\.|\.\*|\.|\([\w.|-]+\))*")
_TOKEN: Final = re.compile(r"\\\.|\.\*|\.|\([\w.|-]+\)|[\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """Patterns sorted by how they are looked up; `unread` are those that are not understood."""

    names: frozenset[str]
    beginnings: frozenset[str]
    wildcards: tuple[re.Pattern[str], ...]
    unread: tuple[str, ...]

    def match(self, module: str) -> bool:
        """Tell whether one of the patterns means a module."""
        segments = module.split(".")
        inside = {".".join(segments[:end]) for end in range(1, len(segments) + 1)}
        ends = {".".join(segments[begin:]) for begin in range(len(segments))}
        if not self.names.isdisjoint(inside | ends):
            return True
        if self.beginnings and any(module[:end] in self.beginnings for end in range(len(module) + 1)):
            return True
        return any(pattern.fullmatch(module) for pattern in self.wildcards)


def patterns_of(texts: Iterable[object]) -> Patterns:
    """Return patterns ready to be looked up, from what a config lists."""
    names: set[str] = set()
    beginnings: set[str] = set()
    wildcards: list[str] = []
    unread: list[str] = []
    for text in itertools.islice(texts, MOST_PATTERNS):
        globs = _globs(text)
        if globs is None or len(wildcards) + len(globs) > MOST_WILDCARDS:
            unread.append(str(text)[:MOST_PATTERN_CHARS])
        for glob in globs or ():
            if "*" not in glob and "?" not in glob:
                names.add(glob)
            elif glob.find("*") == len(glob) - 1 and "?" not in glob:
                beginnings.add(glob[:-1])
            elif len(wildcards) < MOST_WILDCARDS:
                wildcards.append(glob)
    return Patterns(
        names=frozenset(names),
        beginnings=frozenset(beginnings),
        wildcards=tuple(re.compile(fnmatch.translate(glob.replace("[", "[[]"))) for glob in wildcards),
        unread=tuple(unread),
    )


def _globs(text: object) -> list[str] | None:
    """Return a pattern as wildcards, None when it is not understood."""
    if not isinstance(text, str) or not text or len(text) > MOST_PATTERN_CHARS:
        return None
    if not text.startswith("re:"):
        # A name with a wildcard means what lies within it too: model.layers.*.self_attn
        return [text] if "*" not in text or text.endswith("*") else [text, f"{text}.*"]
    expression = text.removeprefix("re:").removeprefix("^")
    is_whole, expression = expression.endswith("$"), expression.removesuffix("$")
    if not _EXPRESSION.fullmatch(expression):
        return None
    choices = [_choices(token) for token in _TOKEN.findall(expression)]
    if len(choices) > MOST_PATTERN_CHARS or _product(choices) > _MOST_ALTERNATIVES:
        return None
    end = "" if is_whole else "*"
    return ["".join(each) + end for each in itertools.product(*choices)]


def _product(choices: list[list[str]]) -> int:
    product = 1
    for each in choices:
        product = min(product * len(each), _MOST_ALTERNATIVES + 1)
    return product


def _choices(token: str) -> list[str]:
    plain = {r"\.": ".", ".*": "*", ".": "?"}
    if token in plain:
        return [plain[token]]
    return token[1:-1].split("|") if token.startswith("(") else [token]
