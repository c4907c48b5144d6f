"""Measurements of one model beside its bounds, as its page shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from app.domain.accelerators import load_catalogue
from app.domain.llms.beside_bounds import beside_bounds
from app.domain.llms.measurements import load_measurements
from app.domain.llms.unknown import Unknown
from app.web import llm_words, words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

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


def measured_lines(subject: Subject) -> tuple[MeasuredLine, ...]:
    """Return what was measured of a model, by card; of a pasted config nothing was."""
    found = [each for each in load_measurements() if subject.id and each.llm == subject.id]
    return tuple(sorted(_lines(found, subject), key=lambda line: (line.gpu, line.measurement.id)))


def _lines(found: list[Measurement], subject: Subject) -> Iterator[MeasuredLine]:
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
