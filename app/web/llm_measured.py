"""Measurements of one model beside its bounds, as its page shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from app.domain.accelerators import load_catalogue
from app.domain.llms.beside_bounds import beside_bounds
from app.domain.llms.cost_query import cost_pairs
from app.domain.llms.measurements import load_measurements
from app.domain.llms.own_measured import MAX_MEASURED, MEASURED_PARTS
from app.domain.llms.unknown import Unknown
from app.web import llm_words, words
from app.web.llm_view import cost_link
from app.web.measured_query import MeasuredQuery
from app.web.measured_view import CAUTION, line_of, plain_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from app.domain.llms.cost_query import CostQuery
    from app.domain.llms.measurements import Measurement
    from app.web.llm_view import Subject

_HUNDRED: Final = 100


class Figure(NamedTuple):
    """A number as it is shown and in full, or why there is none."""

    text: str
    raw: str
    why: str


class MeasuredLine(NamedTuple):
    """One measurement with what bounds it; speeds are tokens a second for each GPU."""

    measurement: Measurement
    gpu: str
    measured: Figure
    one_stream: Figure
    of_batch: Figure
    reached_percent: Figure


class OwnMeasured(NamedTuple):
    """What the page of a model shows of the reader's own measurements, and a form that adds one needs.

    `hrefs` take each of them away; `kept` is the rest of the question, `full` says that no more is taken.
    """

    caution: str
    hrefs: tuple[str, ...]
    parts: str
    kept: tuple[tuple[str, str], ...]
    full: bool
    beside_href: str


def own_measured(subject: Subject, query: CostQuery) -> OwnMeasured:
    """Return what goes with the reader's own measurements of a model."""
    mine = query.measured
    return OwnMeasured(
        caution=CAUTION["own"] if mine else "",
        hrefs=tuple(
            cost_link(subject.path, query, measured=mine[:at] + mine[at + 1 :]) + "#measured"
            for at in range(len(mine))
        ),
        parts=MEASURED_PARTS,
        kept=tuple(cost_pairs(query)),
        full=len(mine) >= MAX_MEASURED,
        beside_href=MeasuredQuery(llm=subject.id, measured=mine).link("/measured"),
    )


def measurements_of(subject: Subject, query: CostQuery) -> tuple[Measurement, ...]:
    """Return the reader's own measurements, then what others measured of the model, by card.

    Of a pasted config nobody else measured anything.
    """
    own = tuple(replace(each, llm=subject.id, llm_as_written=subject.id) for each in query.measured)
    names = {card.id: card.name for card in load_catalogue().accelerators}
    found = [each for each in load_measurements() if subject.id and each.llm == subject.id]
    return (*own, *sorted(found, key=lambda each: (names[each.accelerator], each.id)))


def measured_lines(subject: Subject, query: CostQuery) -> tuple[MeasuredLine, ...]:
    """Return each measurement of a model beside its bounds, the reader's own first."""
    return tuple(_lines(measurements_of(subject, query), subject))


def plain_measured(subject: Subject, query: CostQuery) -> list[dict[str, Any]]:
    """Return the same for programs, as `/measured.json` has it."""
    return [plain_line(line_of(each, subject.profile)) for each in measurements_of(subject, query)]


def _lines(found: tuple[Measurement, ...], subject: Subject) -> Iterator[MeasuredLine]:
    for each in found:
        card = load_catalogue().by_id[each.accelerator]
        beside = beside_bounds(each, card, profile=subject.profile)
        stream, bound = beside.one_stream, beside.batch_bound
        share = beside.share_of_batch_bound
        yield MeasuredLine(
            measurement=each,
            gpu=card.name,
            measured=_rate(each.tokens_per_s_per_gpu or Unknown(why="a pass was timed, not tokens a second")),
            one_stream=_rate(stream if isinstance(stream, Unknown) else stream.tokens_per_s_per_gpu),
            of_batch=_rate(bound if isinstance(bound, Unknown) else bound.tokens_per_s / each.gpus),
            reached_percent=_percent(share),
        )


def _rate(value: Decimal | Unknown) -> Figure:
    if isinstance(value, Unknown):
        return Figure("", "", value.why)
    return Figure(llm_words.rate(value), words.exact(value), "")


def _percent(value: Decimal | Unknown) -> Figure:
    if isinstance(value, Unknown):
        return Figure("", "", value.why)
    return Figure(words.number(value * _HUNDRED, 1), words.exact(value * _HUNDRED), "")
