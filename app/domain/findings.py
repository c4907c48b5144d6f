"""What a check or a parser noticed: one code, one level, one sentence, and the evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Level(StrEnum):
    """How much a finding matters: only `HOLD` keeps a run from being published."""

    INFO = "info"
    WARNING = "warning"
    HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth saying about a run.

    `code` is stable and lower case with underscores (`unknown_accelerator`). `sentence` is for people.
    `evidence` holds short strings: the words on the page, the values compared, the place.
    """

    code: str
    level: Level
    sentence: str
    evidence: Mapping[str, str] = field(default_factory=dict)


def holds(findings: tuple[Finding, ...]) -> bool:
    """Tell whether any finding keeps the run from being published."""
    return any(finding.level is Level.HOLD for finding in findings)
