"""The tool on timings: two sets of repetitions side by side, and what forbids a finding."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.serving.arithmetic import comparison_arithmetic, signed
from app.domain.serving.bench_kept import kept_results
from app.domain.serving.documents import paired_document
from app.domain.serving.paired import compared_timed, read_timed, sent_of
from app.domain.serving.speedup import ends, precise
from app.domain.serving.timings import is_result
from app.domain.serving.traps import Evidence, lines_that_matter
from app.web.state import MAX_QUERY_STRING
from app.web.tools.fields import Field, options_of
from app.web.tools.flags import flag_options, flags_of
from app.web.tools.tool import Example, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.paired import Paired, Timed
    from app.domain.serving.timings import Comparison, Summary, Unit
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

MOST_SHOWN: Final = 50
"""Repetitions that the page shows of a set, in its table and its picture, and configurations in its table."""

MOST_DETAILED: Final = 10
"""Configurations of which the page shows the sums and the values."""

_MOST_WARM_UP: Final = 1_000
_MOST_REQUESTS: Final = 1_000_000
_UNITS: Final[Mapping[str, Unit]] = {"tokens/s": "tokens/s", "ms": "ms"}

FIELDS: Final = (
    Field(
        name="before",
        label="Before",
        about="Numbers, one a line or with spaces between, a JSON array, or a benchmark's result file, each "
        "configuration of which is compared with its like.",
        rows=7,
    ),
    Field(
        name="after",
        label="After",
        about="The same way, of the other configuration.",
        rows=7,
    ),
    Field(
        name="unit",
        label="Unit",
        about="Of both sets; result files hold tokens/s.",
        choices=(("tokens/s", "tokens/s, more is faster"), ("ms", "ms, less is faster")),
    ),
    Field(
        name="warm_up",
        label="Warm-up, values",
        about="The first so many of each set, or configuration, are left out.",
        default="0",
        is_number=True,
    ),
    Field(
        name="sent",
        label="Requests in flight",
        about="How many were kept in flight, where no result file says it; a log that shows more tells of "
        "other load.",
        is_number=True,
    ),
    Field(
        name="foreign_requests",
        label="Other requests",
        about="How many you know to have run beside the measurement.",
        default="0",
        is_number=True,
    ),
    Field(
        name="flags",
        label="Flags",
        about="Options the claim turns on, with commas between, as --mamba-cache-mode.",
    ),
    Field(
        name="log",
        label="The server's log",
        about="Of the time of both sets, with its start; lines that tell of load or name a flag are read.",
        rows=5,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One value in the picture: where it lies across and down."""

    x: str
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was timed before beside its like after, and what the page shows of it."""

    paired: Paired

    @property
    def several(self) -> list[tuple[str, Sequence[str]]]:
        """Each configuration's name, medians, change, speed and outcome; nothing where it is alone."""
        if self.paired.is_one:
            return []
        return [(pair.title, _outcome_cells(pair.comparison)) for pair in self.paired.pairs[:MOST_SHOWN]]

    @property
    def detailed(self) -> list[tuple[str, Shown]]:
        """The first configurations, each with its name."""
        return [(pair.title, Shown(comparison=pair.comparison)) for pair in self.paired.pairs[:MOST_DETAILED]]

    @property
    def not_detailed(self) -> int:
        """How many configurations have neither sums nor values on the page."""
        return max(0, len(self.paired.pairs) - MOST_DETAILED)

    @property
    def alone(self) -> list[tuple[str, Sequence[str], int]]:
        """What was timed before alone and after alone: when, the first of it, and how many more there are."""
        each = (("before", self.paired.only_before), ("after", self.paired.only_after))
        return [
            (when, titles[:MOST_SHOWN], max(0, len(titles) - MOST_SHOWN)) for when, titles in each if titles
        ]

    @property
    def unit(self) -> Unit:
        """The unit of all timings."""
        return self.paired.pairs[0].comparison.unit

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What was not looked for, of all configurations."""
        return self.paired.pairs[0].comparison.unchecked


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Both sets of one configuration, what they say, and what the page shows of it."""

    comparison: Comparison

    @property
    def arithmetic(self) -> tuple[str, ...]:
        """How the figures were worked out, a line for each."""
        return comparison_arithmetic(self.comparison)

    @property
    def sets(self) -> list[tuple[str, Sequence[str]]]:
        """Each set's name and its cells: repetitions, median, middle half, range, spread."""
        found = self.comparison
        return [("Before", _cells(found.before)), ("After", _cells(found.after))]

    @property
    def change(self) -> str:
        """By how much the median moved, in percent."""
        return signed(self.comparison.change_percent)

    @property
    def speed(self) -> str:
        """By how much tokens come faster, in percent."""
        return signed(self.comparison.speedup_percent)

    @property
    def repetitions(self) -> list[tuple[int, str, str]]:
        """The first repetitions of both sets beside each other, nothing where one has fewer."""
        before, after = (list(map(_value, each.values[:MOST_SHOWN])) for each in self._summaries)
        longest = max(len(before), len(after))
        before, after = (each + [""] * (longest - len(each)) for each in (before, after))
        return [(at, *pair) for at, pair in enumerate(zip(before, after, strict=True), start=1)]

    @property
    def more(self) -> int:
        """How many repetitions of the longer set are not shown."""
        return max(0, *(each.count - MOST_SHOWN for each in self._summaries))

    @property
    def dots(self) -> list[Dot]:
        """Where the values lie that the picture shows."""
        return [
            Dot(x=self._across(value), y=_ROWS[at])
            for at, each in enumerate(self._summaries)
            for value in each.values[:MOST_SHOWN]
        ]

    @property
    def medians(self) -> list[Dot]:
        """Where both medians lie in the picture."""
        return [Dot(x=self._across(each.median), y=_ROWS[at]) for at, each in enumerate(self._summaries)]

    @property
    def ends(self) -> tuple[str, str]:
        """The least and the most of both sets."""
        least, most = self.comparison.whole
        return _value(least), _value(most)

    @property
    def _summaries(self) -> tuple[Summary, Summary]:
        return self.comparison.before, self.comparison.after

    def _across(self, value: Decimal) -> str:
        least, most = self.comparison.whole
        share = (value - least) / (most - least) if most > least else Decimal("0.5")
        return f"{_LEFT + share * _WIDE:.1f}"


_ROWS: Final = (22, 54)
_LEFT: Final = 60
_WIDE: Final = 420
_LONGEST_VALUE: Final = 12


def _value(value: Decimal) -> str:
    """Return a value as it was given, or to five digits when that is long."""
    text = f"{value:f}"
    return text if len(text) <= _LONGEST_VALUE else precise(value)


def _outcome_cells(found: Comparison) -> Sequence[str]:
    medians = (precise(each.median) for each in (found.before, found.after))
    said = ", ".join(dict.fromkeys(trap.code for trap in found.traps)) if found.traps else found.outcome
    return (*medians, signed(found.change_percent), signed(found.speedup_percent), _OUTCOMES.get(said, said))


_OUTCOMES: Final[Mapping[str, str]] = {
    "same": "look the same",
    "different": "differ",
    "undecided": "undecided: repeat more",
}


def _cells(summary: Summary) -> Sequence[str]:
    return (
        f"{summary.count:,}",
        precise(summary.median),
        " to ".join(ends(summary.low_quartile, summary.high_quartile)),
        " to ".join(ends(min(summary.values), max(summary.values))),
        f"{summary.spread_percent:.1f}",
    )


def find(typed: Typed, _llms: Llms) -> Found | None:
    """Return both sets side by side; None while nothing is typed."""
    if all(typed.texts[field.name] == field.initial for field in FIELDS):
        return None
    unit = _UNITS[typed.text("unit")]
    warm_up = typed.whole("warm_up", low=0, high=_MOST_WARM_UP) or 0
    evidence = Evidence(
        sent=typed.whole("sent", low=1, high=_MOST_REQUESTS),
        foreign_requests=typed.whole("foreign_requests", low=0, high=_MOST_REQUESTS) or 0,
        log=typed.text("log"),
        flags=flags_of(typed),
    )
    before, after = (_timed(typed, name, unit=unit) for name in _SIDES)
    return Found(paired=compared_timed(before, after, unit=unit, warm_up=warm_up, evidence=evidence))


_SIDES: Final = ("before", "after")


def _data(typed: Typed, name: str) -> bytes:
    # What a form sends as a lone surrogate is no character, and is refused as no number.
    return typed.text(name).encode(errors="replace")


def _timed(typed: Typed, name: str, *, unit: Unit) -> Timed:
    return read_timed([(_data(typed, name), name)], unit=unit)


def kept(typed: Typed) -> Mapping[str, str]:
    """Return the numbers of both sets, or what is read of several configurations, and of a log no more.

    Beside numbers alone stands how many were in flight, as the files said.
    """
    unit = _UNITS[typed.text("unit")]
    timed = {name: _timed(typed, name, unit=unit) for name in _SIDES if typed.text(name)}
    is_one = len(timed) < len(_SIDES) or compared_timed(*timed.values(), unit=unit).is_one
    numbers = {
        name: "\n".join(map(str, each.values))
        if is_one or not is_result(_data(typed, name))
        else kept_results(_data(typed, name), name, most=MAX_QUERY_STRING)
        for name, each in timed.items()
    }
    flags = flags_of(typed)
    sent = sent_of(*timed.values()) if is_one and len(timed) == len(_SIDES) else None
    return {
        **typed.texts,
        **({"sent": f"{sent}"} if sent and not typed.text("sent").strip() else {}),
        **numbers,
        "flags": ", ".join(flags),
        "log": lines_that_matter(typed.text("log"), flags),
    }


def document(found: Found) -> dict[str, Any]:
    """Return what was found as JSON."""
    return paired_document(found.paired)


_QUANTITIES: Final = ("median", "low_quartile", "high_quartile")


def rows(found: Found) -> Iterator[Sequence[object]]:
    """Yield the lines of each configuration, and one for each that was timed before or after alone."""
    for pair in found.paired.pairs:
        yield from ((*line, pair.title) for line in _rows(pair.comparison))
    for when, titles in (("before", found.paired.only_before), ("after", found.paired.only_after)):
        yield from ((when, "alone", "", "", "", title) for title in titles)
    if found.paired.by_chance is not None:
        most = found.paired.by_chance
        yield "all", "differences_by_chance_at_most", most, "configurations", found.paired.sentence, ""


def _rows(comparison: Comparison) -> Iterator[Sequence[object]]:
    """Yield a line for each quantity of both sets and of the comparison, the verdict, and each trap."""
    unit = comparison.unit
    for name, each in (("before", comparison.before), ("after", comparison.after)):
        yield name, "repetitions", each.count, "values", ""
        for quantity in _QUANTITIES:
            yield name, quantity, getattr(each, quantity), unit, ""
        yield name, "least", min(each.values), unit, ""
        yield name, "most", max(each.values), unit, ""
        yield name, "spread", each.spread_percent, "%", ""
    yield "both", "change", comparison.change_percent, "%", ""
    yield "both", "speedup", comparison.speedup_percent, "%", ""
    yield "both", "overlap", comparison.overlap_percent, "%", ""
    yield "both", "outcome", comparison.outcome, "", comparison.sentence
    for trap in comparison.traps:
        yield "trap", trap.code, "", "", f"{trap.sentence} {trap.advice}"


def command(typed: Typed) -> str:
    """Return the line that does the same in a terminal."""
    options = options_of(FIELDS, typed, names=("unit", "warm_up", "sent", "foreign_requests"))
    log = ["--log server.log"] if typed.text("log") else []
    flags = flag_options(typed)
    begin = "inferprice check claim timings --before before.txt --after after.txt"
    return " ".join([begin, *options, *log, *flags])


_STEADY: Final = "145.2\n144.8\n145.9\n145.1\n144.6"

TOOL: Final = Tool(
    name="timings",
    title="Two sets of timings",
    about="Whether two sets of repeated timings differ, or are one configuration measured twice.",
    fields=FIELDS,
    find=find,
    document=document,
    columns=("part", "quantity", "value", "unit", "says", "configuration"),
    rows=rows,
    command=command,
    kept=kept,
    is_pasted=True,
    examples=(
        Example(label="two identical runs", texts={"before": _STEADY, "after": _STEADY}),
        Example(
            label="a clear difference",
            texts={"before": _STEADY, "after": "171.3\n170.2\n172.8\n171.0\n170.9"},
        ),
        Example(
            label="a warm-up included",
            texts={"before": f"6.5\n{_STEADY}", "after": "6.9\n171.3\n170.2\n172.8\n171.0\n170.9"},
        ),
        Example(
            label="a flag that fell back",
            texts={
                "before": _STEADY,
                "after": "149.9\n150.2\n149.7\n150.4\n150.1",
                "sent": "32",
                "flags": "--mamba-cache-mode",
                "log": "Running: 32 reqs\nmamba_cache_mode 'all' is not supported, falling back to 'align'",
            },
        ),
    ),
)
