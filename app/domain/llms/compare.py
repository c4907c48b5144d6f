"""One bigger card against two smaller ones: the same model on both, and which costs less for a token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from app.domain.llms.fit import TooBig
from app.domain.llms.serving import Cost, Served, cost_of, serve
from app.domain.llms.unknown import Unknown

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.accelerators import Accelerator
    from app.domain.llms.serving import Setup

Outcome = Cost | TooBig | Unknown
Cheaper = Literal["first", "second", "neither"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """So many of one card at a price for each; the model runs on all of them."""

    card: Accelerator
    gpus: int
    usd_per_gpu_hour: Decimal | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What each side comes to, and the one whose generated tokens cost less at the ceiling."""

    first: Outcome
    second: Outcome
    cheaper: Cheaper | Unknown


def compare(setup: Setup, first: Side, *, second: Side) -> Comparison:
    """Return both sides and the cheaper one. What does not fit loses to what does, whatever an hour costs."""
    one, other = _outcome(setup, first), _outcome(setup, second)
    return Comparison(first=one, second=other, cheaper=_cheaper(one, other))


def _outcome(setup: Setup, side: Side) -> Outcome:
    served = serve(setup, side.card, counts=(side.gpus,))
    if not isinstance(served, Served):
        return served
    return cost_of(served, usd_per_gpu_hour=side.usd_per_gpu_hour)


def _cheaper(one: Outcome, other: Outcome) -> Cheaper | Unknown:
    match one, other:
        case TooBig(), TooBig():
            return Unknown(why="the model fits on neither side")
        case Unknown(), _:
            return one
        case _, Unknown():
            return other
        case TooBig(), _:
            return "second"
        case _, TooBig():
            return "first"
        case Cost(usd_per_mtok_output=a), Cost(usd_per_mtok_output=b):
            return "neither" if a == b else "first" if a < b else "second"
