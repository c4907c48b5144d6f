"""The traps of measuring a server, each a named refusal with the evidence that sprang it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from app.domain.serving.reading import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.domain.serving.timings import Summary, Unit

Code = Literal[
    "foreign_load",
    "warm_up_included",
    "too_few_repetitions",
    "spread_too_wide",
    "identical_under_every_condition",
    "flag_ignored",
]

LEAST_REPETITIONS: Final = 4
"""Fewer give no spread to speak of; the article this follows settled on medians of four."""

MOST_SPREAD_PERCENT: Final = Decimal(10)
"""Widest middle half, as a share of the median: a deviation of 13 to 17 on 145 gave no finding there."""

_WARM_UP_SHARE: Final = Decimal("0.1")
_WARM_UP_RANGES: Final = 3
_LEAST_FOR_WARM_UP: Final = 3
_LONGEST_LINE: Final = 2000
_SHOWN_LINE: Final = 200

# vLLM: "Running: 32 reqs, Waiting: 21 reqs"; SGLang: "#running-req: 32, ... #queue-req: 21".
_RUNNING: Final = re.compile(r"(?:Running:|#running-req:)\s*(\d{1,9})")
_WAITING: Final = re.compile(r"(?:Waiting:|#queue-req:)\s*(\d{1,9})")
_WORD: Final = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_IGNORED: Final = re.compile(
    r"ignor|fall(?:s|ing)?[ -]?back|fallback|not supported|unsupported|no effect|overrid|disabl",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """One refusal: its name and what was seen."""

    code: Code
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known beside the timings.

    `sent` is how many requests the measurement kept in flight, `log` the server's log of its time, `flags`
    those that the claim turns on, `foreign_requests` what the reader knows to have run beside it.
    """

    sent: int | None = None
    foreign_requests: int = 0
    log: str = ""
    flags: tuple[str, ...] = field(default=())


def in_one(summary: Summary, name: str, *, unit: Unit) -> Iterator[Trap]:
    """Yield the traps in the repetitions of one configuration: too few, or the first of them a warm-up."""
    if summary.count < LEAST_REPETITIONS:
        yield Trap(
            code="too_few_repetitions",
            sentence=f"{name}: {summary.count} of at least {LEAST_REPETITIONS} repetitions.",
        )
    if _first_is_warm_up(summary.values, unit=unit):
        yield Trap(
            code="warm_up_included",
            sentence=f"{name}: the first value, {summary.values[0]:f}, is far worse than the others.",
        )


def _first_is_warm_up(values: Sequence[Decimal], *, unit: Unit) -> bool:
    """Tell whether the first is the worst by far: a tenth off the others' median and thrice their range."""
    if len(values) < _LEAST_FOR_WARM_UP:
        return False
    first, rest = values[0], values[1:]
    worse = first > max(rest) if unit == "ms" else first < min(rest)
    off = abs(first - median(rest))
    return worse and off > _WARM_UP_SHARE * median(rest) and off > _WARM_UP_RANGES * (max(rest) - min(rest))


def too_wide(summary: Summary, name: str) -> Iterator[Trap]:
    """Yield a trap when the middle half is wide for its median."""
    if summary.spread_percent > MOST_SPREAD_PERCENT:
        yield Trap(
            code="spread_too_wide",
            sentence=f"{name}: the middle half spreads over {summary.spread_percent:.1f} % of the median, "
            f"more than {MOST_SPREAD_PERCENT} %.",
        )


def in_all(summaries: Sequence[Summary]) -> Iterator[Trap]:
    """Yield a trap when every repetition under every condition gave one and the same number."""
    values = {value for summary in summaries for value in summary.values}
    if len(values) == 1 and len(summaries) > 1:
        yield Trap(
            code="identical_under_every_condition",
            sentence=f"Every repetition of every condition gave {values.pop():f}: suspect the measurement.",
        )


def in_evidence(evidence: Evidence) -> Iterator[Trap]:
    """Yield the traps beside the timings: load that was not the measurement's, and flags without effect."""
    if evidence.foreign_requests:
        yield Trap(
            code="foreign_load",
            sentence=f"{evidence.foreign_requests} other requests ran during the measurement.",
        )
    seen = most_requests(evidence.log)
    if evidence.sent is not None and seen is not None and seen > evidence.sent:
        yield Trap(
            code="foreign_load",
            sentence=f"The log shows {seen} requests at once where the measurement sent {evidence.sent}.",
        )
    for flag in evidence.flags:
        line = ignoring_line(evidence.log, flag)
        if line is not None:
            yield Trap(
                code="flag_ignored",
                sentence=f"{shown(flag)} had no effect, says the log: {shown(line, most=_SHOWN_LINE)}",
            )


def most_requests(log: str) -> int | None:
    """Return the most requests, running and waiting, that one line of a server's log tells of."""
    seen = None
    for line in log.splitlines():
        running = _RUNNING.search(line[:_LONGEST_LINE])
        if running:
            waiting = _WAITING.search(line[:_LONGEST_LINE])
            seen = max(seen or 0, int(running[1]) + (int(waiting[1]) if waiting else 0))
    return seen


def ignoring_line(log: str, flag: str) -> str | None:
    """Return the first line that names a flag and says it fell back or was ignored.

    Quotes, dashes and underscores do not matter: engines log a flag as an option, a field or a text.
    """
    words = _WORD.findall(flag)
    if not words:
        return None
    named = re.compile(r"[^a-z0-9]+".join(words), re.IGNORECASE)
    lines = (line[:_LONGEST_LINE] for line in log.splitlines())
    return next((line.strip() for line in lines if named.search(line) and _IGNORED.search(line)), None)
