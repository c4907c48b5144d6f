"""The tool on claims: what a speed-up implies, and whether a stated figure follows from two others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from app.domain.query import QueryError
from app.domain.serving.arithmetic import follows_arithmetic, signed, speedup_arithmetic
from app.domain.serving.documents import follows_document, speedup_document
from app.domain.serving.printed import follows_printed, read_milliseconds, read_percent, read_printed
from app.domain.serving.speedup import UNITS, implied, short
from app.web.tools.fields import Field, options_of
from app.web.tools.tool import Example, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from app.domain.serving.printed import Printed
    from app.domain.serving.speedup import Follows, Form, Speedup
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

_Read = TypeVar("_Read")

_MOST_STREAMS: Final = 1_000_000
_STEPS: Final = ("saved_ms", "gain_percent", "old_step_ms", "new_step_ms")
_PRINTED: Final = ("before", "after", "stated")
_FORMS: Final[Mapping[str, Form]] = {
    "percent": "percent",
    "times": "times",
    "difference": "difference",
    "share": "share",
}

FIELDS: Final = (
    Field(
        name="saved_ms",
        label="Time saved, ms",
        about="What a step got shorter by, as 0.109 or 109 us; below 0 where it got longer.",
    ),
    Field(
        name="gain_percent",
        label="Gain, %",
        about="How much faster tokens come, as 75; twice as fast, in half the time, is 100.",
    ),
    Field(
        name="old_step_ms",
        label="Step before, ms",
        about="What a step took before the change, in ms unless it says us or s.",
    ),
    Field(
        name="new_step_ms",
        label="Step after, ms",
        about="What a step takes after it, the same way.",
    ),
    Field(
        name="streams",
        label="Streams",
        about=f"Sequences that get a token each from one step: 1 to {_MOST_STREAMS:,}.",
        default="1",
        is_number=True,
    ),
    Field(
        name="before",
        label="Number before",
        about="With the digits it was printed with, 613, not 613.0; its unit may stand behind it.",
    ),
    Field(
        name="after",
        label="Number after",
        about="The same way.",
    ),
    Field(
        name="stated",
        label="Stated figure",
        about="What is said to follow from the two, as 58.6 or +58.6 %; without a sign it may be what fell.",
    ),
    Field(
        name="as",
        label="Stated as",
        about="What the stated figure is of the two numbers.",
        choices=(
            ("percent", "percent more or less"),
            ("times", "times as much"),
            ("difference", "the difference, after less before"),
            ("share", "the share, after in percent of before"),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was checked of the two: a claimed speed-up, a stated figure, or both."""

    speedup: Speedup | None = None
    figure: Follows | None = None

    @property
    def speedup_arithmetic(self) -> tuple[str, ...]:
        """How the speed-up was worked out, a line for each figure."""
        return speedup_arithmetic(self.speedup) if self.speedup else ()

    @property
    def elsewhere(self) -> list[tuple[str, str, str]]:
        """The same on other steps: the step before, the gain of the same saving, the saving for the gain."""
        return [
            (
                short(one.old_step_ms),
                "no step is left" if one.gain_percent is None else signed(one.gain_percent),
                short(one.saved_ms),
            )
            for one in (self.speedup.elsewhere if self.speedup else ())
        ]

    @property
    def figure_arithmetic(self) -> tuple[str, ...]:
        """How the stated figure was judged, a line for each step."""
        return follows_arithmetic(self.figure) if self.figure else ()

    @property
    def unit(self) -> str:
        """The unit of the stated figure with a space before it, empty for a difference."""
        return UNITS[self.figure.form] if self.figure else ""


def find(typed: Typed, _llms: Llms) -> Found | None:
    """Return what the speed-up implies and whether the figure follows, each where it is filled in."""
    steps = {
        name: _read(typed, name, read=read_percent if name == "gain_percent" else read_milliseconds)
        for name in _STEPS
    }
    printed = {name: _read(typed, name, read=read_printed) for name in _PRINTED}
    streams = typed.whole("streams", low=1, high=_MOST_STREAMS) or 1
    has_speedup = any(value is not None for value in steps.values())
    has_figure = any(value is not None for value in printed.values())
    if not has_figure and (has_speedup or streams > 1):
        return Found(speedup=implied(**steps, streams=streams))
    if not has_figure:
        return None
    before, after, stated = (_filled(name, value) for name, value in printed.items())
    return Found(
        speedup=implied(**steps, streams=streams) if has_speedup else None,
        figure=follows_printed(before, after, stated=stated, form=_FORMS[typed.text("as")]),
    )


def _read(typed: Typed, name: str, *, read: Callable[[str], _Read]) -> _Read | None:
    """Return a figure as people print it, 0.109, 1.23 s or +75 %; None for nothing."""
    text = typed.text(name).strip()
    if not text:
        return None
    try:
        return read(text)
    except ValueError as error:
        raise QueryError(name, text, str(error)) from error


def _filled(name: str, value: Printed | None) -> Printed:
    if value is None:
        raise QueryError(name, "empty", "give the number before, the one after and the stated figure")
    return value


def document(found: Found) -> dict[str, Any]:
    """Return what was found as JSON."""
    return {
        "speedup": speedup_document(found.speedup) if found.speedup else None,
        "figure": follows_document(found.figure) if found.figure else None,
    }


_QUANTITIES: Final = (
    ("saved_ms", "ms"),
    ("gain_percent", "%"),
    ("old_step_ms", "ms"),
    ("new_step_ms", "ms"),
    ("old_tokens_per_s", "tokens/s"),
    ("new_tokens_per_s", "tokens/s"),
    ("streams", "streams"),
)
_COMPUTED: Final = ("stated", "computed", "least", "most", "stated_least", "stated_most")


def rows(found: Found) -> Iterator[Sequence[object]]:
    """Yield a line for each quantity of what was checked, and one with what it says in words."""
    if found.speedup:
        for name, unit in _QUANTITIES:
            yield "speedup", name, getattr(found.speedup, name), unit, ""
        yield "speedup", "sentence", "", "", found.speedup.sentence
    if found.figure:
        for name in ("before", "after", "after_if_stated", "before_if_stated"):
            yield "figure", name, getattr(found.figure, name), "", ""
        for name in _COMPUTED:
            yield "figure", name, getattr(found.figure, name), found.unit.strip(), ""
        yield "figure", "but_for_sign", found.figure.but_for_sign, "", ""
        yield "figure", "agrees", found.figure.agrees, "", found.figure.sentence


def command(typed: Typed) -> str:
    """Return the lines that do the same in a terminal."""
    lines = [
        _line("inferprice check claim speedup", typed, names=(*_STEPS, "streams")),
        _line("inferprice check claim figure", typed, names=(*_PRINTED, "as")),
    ]
    return "\n".join([line for line in lines if line] or ["inferprice check claim --help"])


def _line(begin: str, typed: Typed, *, names: Sequence[str]) -> str:
    """Return a line with the options of what was typed, nothing where none of it was."""
    options = options_of(FIELDS, typed, names=names)
    if options and "as" in names and typed.text("as") == TOOL.by_name["as"].initial:
        options.append(f"--as {typed.text('as')}")  # the command has no default for it
    return " ".join([begin, *options]) if options else ""


TOOL: Final = Tool(
    name="claim",
    title="Claim arithmetic",
    about="What a claimed speed-up implies, and whether a printed figure follows from the numbers beside it.",
    fields=FIELDS,
    find=find,
    document=document,
    columns=("check", "quantity", "value", "unit", "says"),
    rows=rows,
    command=command,
    examples=(
        Example(
            label="+75 % from 0.109 ms saved",
            texts={"saved_ms": "0.109", "gain_percent": "75"},
        ),
        Example(
            label="0.109 ms saved of a step of 20 ms",
            texts={"saved_ms": "0.109", "old_step_ms": "20"},
        ),
        Example(
            label="613 to 972 tokens/s, said to be +46.8 %",
            texts={"before": "613", "after": "972", "stated": "46.8"},
        ),
        Example(
            label="1.23 s to 4.65 s, said to be a factor of 4.8",
            texts={"before": "1.23", "after": "4.65", "stated": "4.8", "as": "times"},
        ),
    ),
)
