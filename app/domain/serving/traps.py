"""The traps of measuring a server, each a named refusal with the evidence that sprang it."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from app.domain.serving.figures import counted_as
from app.domain.serving.reading import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
_NOTHING_TOLD: Final = "(no line tells how many requests ran, or what became of a flag)"

# vLLM: "Running: 32 reqs, Waiting: 21 reqs"; SGLang: "#running-req: 32, ... #queue-req: 21".
_RUNNING: Final = re.compile(r"(?:Running:|#running-req:)\s*(\d{1,9})")
_WAITING: Final = re.compile(r"(?:Waiting:|#queue-req:)\s*(\d{1,9})")
# vLLM: "Engine 001: Avg prompt"; SGLang: "[2026-09-18 10:00:00 DP1 TP0]".
_ENGINE: Final = re.compile(r"\bEngine \d{1,5}\b|\bDP\d{1,5}\b")
_OUR_OWN: Final = re.compile(
    rf"(?:Engine [01]: )?Running: \d{{1,9}} reqs, Waiting: \d{{1,9}} reqs|{re.escape(_NOTHING_TOLD)}"
)
_WORD: Final = re.compile(r"[a-z0-9]+", re.IGNORECASE)
# No part of an option's name: engines list theirs at start, as --disable-radix-cache and hf_overrides.
_IGNORED: Final = re.compile(
    r"(?<!--)(?<!_)(?<!\bno )(?<!\bnot )"
    r"(?:ignor|f(?:a|e)ll(?:s|ing)?[ -]?back|(?:not |un)(?:supported|available)|not compatible"
    r"|incompatible|not be used|no effect|overrid|disabl)"
    r"[a-z]{0,6}(?![a-z_=]|-[a-z])",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(
    r"((?:api[-_ ]?key|secret|passw(?:or)?d|authorization|credentials?|(?:hf|access|auth|bearer)[-_]?token)"
    r"['\"]*\s*[=:]\s*(?:bearer\s+)?|bearer\s+)"
    r"(?:\[[^\]]*\]|\([^)]*\)|\"[^\"]*\"|'[^']*'|['\"\[(]*[^\s'\",;)\]}]+)"
    r"|\b(?:sk|hf|ghp|gho|xox[a-z])[-_](?=[a-z_-]*[0-9])[a-z0-9_-]{16,}",
    re.IGNORECASE,
)

ADVICE: Final[dict[Code, str]] = {
    "foreign_load": "Stop what else uses the server, or measure at another time, and time everything again.",
    "warm_up_included": "Leave out the first values of each set, which pay for compiling and filling caches.",
    "too_few_repetitions": f"Repeat each set until it has {LEAST_REPETITIONS} values or more.",
    "spread_too_wide": "Find what varies from run to run, or repeat more; only large changes will show.",
    "identical_under_every_condition": "Check that the timer reads what you change: time it in another way.",
    "flag_ignored": "Compare with a setting that the log says took effect; so far everything ran without it.",
}
"""What to do about each trap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """One refusal: its name and what was seen."""

    code: Code
    sentence: str

    @property
    def advice(self) -> str:
        """What to do about it."""
        return ADVICE[self.code]


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
            sentence=f"{counted_as(evidence.foreign_requests, 'other request')} ran during the measurement.",
        )
    seen = most_requests(evidence.log)
    if evidence.sent is not None and seen is not None and seen > evidence.sent:
        most = counted_as(seen, "request")
        yield Trap(
            code="foreign_load",
            sentence=f"The log shows {most} at once where the measurement sent {evidence.sent}.",
        )
    for flag, line in ignoring_lines(evidence.log, evidence.flags).items():
        yield Trap(
            code="flag_ignored",
            sentence=f"{shown(flag)} had no effect, says the log: {shown(line, most=_SHOWN_LINE)}",
        )


def unchecked(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence for each trap that nothing is known to tell by."""
    seen = most_requests(evidence.log)
    if not evidence.log.strip():
        yield "Without the server's log nobody can tell whether other requests ran, or a flag had no effect."
    elif seen is None:
        yield "No line of the log tells how many requests ran, so load from elsewhere was not looked for."
    elif engines_in(evidence.log) > 1:
        yield (
            "Lines of the log are of several engines, each with requests of its own, which nothing here adds "
            "up: load from elsewhere is told only where one engine alone had more than were sent."
        )
    elif evidence.sent is None:
        most = counted_as(seen, "request")
        yield f"The log shows up to {most} at once; say how many were kept in flight to judge that."
    if evidence.log.strip() and not evidence.flags:
        yield "No flag is named, so the log was not searched for one that had no effect."
    if evidence.log.strip() and (untold := unnamed(evidence.log, evidence.flags)):
        yield (
            f"No line of the log names {shown(', '.join(untold))}: whether it took effect stands at the "
            "start of a server's log, if anywhere."
        )


def lines_that_matter(log: str, flags: Sequence[str]) -> str:
    """Return what `in_evidence` and `unchecked` read of a log, of which they find the same.

    The most requests at once are written as vLLM does, without the rest of their line; then comes the line
    that says a flag had no effect, for each flag, with what looks like a key or a password left out, and the
    names alone of those that other lines name.
    """
    busiest = _busiest(log)
    load = [] if busiest is None else [f"Running: {busiest[0]} reqs, Waiting: {busiest[1]} reqs"]
    if engines_in(log) > 1:
        load = [f"Engine 0: {load[0]}", "Engine 1: Running: 0 reqs, Waiting: 0 reqs"]
    # Underscores and dashes in front keep a flag's own words from being read as what became of it.
    ignored = _ignoring(log, flags)
    told = {*ignored, *unnamed(log, flags)}
    named = [
        f"--{'_'.join(_WORD.findall(flag))}" for flag in flags if _WORD.search(flag) and flag not in told
    ]
    lines = dict.fromkeys([*load, *ignored.values(), *named])
    return "\n".join(lines) or (_NOTHING_TOLD if log.strip() else "")


def engines_in(log: str) -> int:
    """Return how many engines tell how many requests they run: 1 where no line names its own."""
    lines = (line for line in _lines(log) if _RUNNING.search(line))
    return max(1, len({found[0] for line in lines if (found := _ENGINE.search(line))}))


def most_requests(log: str) -> int | None:
    """Return the most requests, running and waiting, that one line of a server's log tells of."""
    busiest = _busiest(log)
    return None if busiest is None else sum(busiest)


def _busiest(log: str) -> tuple[int, int] | None:
    found: tuple[int, int] | None = None
    for line in _lines(log):
        running = _RUNNING.search(line)
        if running:
            waiting = _WAITING.search(line)
            told = (int(running[1]), int(waiting[1]) if waiting else 0)
            found = told if found is None or sum(told) > sum(found) else found
    return found


def ignoring_lines(log: str, flags: Sequence[str]) -> dict[str, str]:
    """Return for each flag the first line that names it and says it fell back or was ignored.

    Quotes, dashes and underscores do not matter: engines log a flag as an option, a field or a text. What
    looks like a key or a password in the line is left out of it. A flag of which no line tells is not there.
    """
    found = _ignoring(log, flags)
    return {flag: found[flag] for flag in flags if flag in found}


def _ignoring(log: str, flags: Sequence[str]) -> dict[str, str]:
    """Return the same in the order of the lines, so that each is found again as the first of its flag."""
    left = {flag: _flat(flag) for flag in flags if _WORD.search(flag)}
    found: dict[str, str] = {}
    for line in _lines(log):
        if not left:
            break
        if _may_name(left, line) and _IGNORED.search(line) and _named(left, line):
            told = _SECRET.sub(r"\1...", line)[:_LONGEST_LINE].strip()
            if _IGNORED.search(told):
                found |= dict.fromkeys(_named(left, told), told)
                left = {flag: words for flag, words in left.items() if flag not in found}
    return found


def unnamed(log: str, flags: Sequence[str]) -> list[str]:
    """Return the flags that no line of a log names, but for those that `lines_that_matter` writes."""
    left = {flag: _flat(flag) for flag in flags if _WORD.search(flag)}
    for line in _lines(log):
        if not left:
            break
        if _OUR_OWN.fullmatch(line.strip()):
            continue
        if _may_name(left, line):
            for flag in _named(left, line):
                del left[flag]
    return list(left)


def _named(flags: Mapping[str, str], line: str) -> list[str]:
    """Return those of the flags that a line names, each with its words as `_flat` gives them."""
    flat = _flat(line)
    return [flag for flag, words in flags.items() if words in flat]


def _may_name(flags: Mapping[str, str], line: str) -> bool:
    """Tell whether a line holds the longest word of a flag, which few do and which is quick to look for."""
    low = line.lower()
    return any(max(words.split(), key=len) in low for words in flags.values())


def _flat(text: str) -> str:
    """Return the words of a text with a space around each; a pattern would stay in the memory of `re`."""
    return f" {' '.join(_WORD.findall(text)).lower()} "


def _lines(log: str) -> Iterator[str]:
    """Yield the start of each line that holds more than its end, without a copy of them all."""
    return (line[:_LONGEST_LINE] for line in io.StringIO(log, newline=None) if line != "\n")
