"""Benchmarked decode speeds beside the bounds of their model on a card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.llms.beside_bounds import beside_bounds
from app.domain.llms.own_measured import MAX_DECIMALS, parse_measured
from app.domain.llms.unknown import Unknown
from app.domain.names import fold
from app.domain.typed import plain_number

if TYPE_CHECKING:
    from datetime import date
    from decimal import Decimal

    from app.domain.llms.beside_bounds import Beside
    from app.domain.llms.profile import LlmProfile
    from app.domain.serving.benchmarked import Configuration

NOT_DECODE: Final = Unknown(why="prompt tokens were timed, not generated ones alone")
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class On:
    """What a benchmark ran on, in the words of a link: a variant, the weights' format, and more if known."""

    card: str
    weights: str
    gpus: int = 1
    context: int | None = None
    kv: str = ""


def measured_text(configuration: Configuration, on: On) -> str:
    """Return the `measured` part of a link to a model's page for the median of a configuration."""
    run = configuration.runs[0]
    rate = plain_number(round(configuration.summary.median, MAX_DECIMALS))
    batch, context = ("" if one is None else str(one) for one in (run.sent, on.context))
    return f"{rate}|{on.card}|{on.weights}|{on.gpus}|{batch}|{context}|{on.kv}"


def beside(
    configuration: Configuration, on: On, *, profile: LlmProfile, llm: str, day: date
) -> Beside | Unknown:
    """Return the median of a configuration beside its bounds, unknown when it is no decode speed.

    The batch is the requests kept in flight. Where no context is given the cache counts for nothing, which
    makes the bound wider.

    Raises:
        QueryError: the card, a format or a number is not right.
    """
    variants = fold(card.id for card in load_catalogue().accelerators)
    measurement = parse_measured(measured_text(configuration, on), variants, llm=llm or "own", day=day)
    if configuration.runs[0].phase != "decode":
        return NOT_DECODE
    return beside_bounds(measurement, load_catalogue().by_id[measurement.accelerator], profile=profile)


def sentence(found: Beside | Unknown) -> str:
    """Return in words how near to its bounds a speed lies."""
    if isinstance(found, Unknown):
        return f"No bound: {found.why}."
    over = " It lies above a bound, so something it says of itself cannot be so." * found.is_above_a_bound
    parts = [
        (found.share_of_batch_bound, "of the bound of its batch"),
        (found.share_of_any_batch, "of that of any batch"),
        (found.times_one_stream, "of the ceiling of one stream"),
    ]
    known = [f"{_percent(share)} {what}" for share, what in parts if not isinstance(share, Unknown)]
    why = [f"{what}: {share.why}" for share, what in parts if isinstance(share, Unknown)]
    lacking = f" Not known, {'; '.join(why)}." if why else ""
    return f"Beside {found.card.name}: {', '.join(known) or 'nothing known'}.{lacking}{over}"


def _percent(share: Decimal) -> str:
    return f"{share * _PERCENT:,.1f} %"
