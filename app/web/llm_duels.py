"""One bigger card against two smaller ones at the same provider, as a model's page and its JSON show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from app.domain.llms.duels import TIMES, duels
from app.domain.llms.fit import TooBig
from app.domain.llms.unknown import Unknown
from app.web import llm_words, words
from app.web.charts import provider_label
from app.web.llm_cautions import last_seen_day, marks_of

if TYPE_CHECKING:
    from decimal import Decimal

    from app.domain.llms.compare import Outcome
    from app.domain.llms.duels import Duel, Listed
    from app.web.llm_cautions import Mark
    from app.web.llm_found import Found


class Side(NamedTuple):
    """One side as the table shows it: what it is, its dollars or why there are none, its price's warnings."""

    name: str
    usd: str
    usd_raw: str
    why: str
    wins: bool
    marks: tuple[Mark, ...]
    last_seen: str


class DuelLine(NamedTuple):
    """One pair at one provider."""

    provider: str
    terms: str
    bigger: Side
    smaller: Side


def duel_lines(found: Found) -> tuple[DuelLine, ...]:
    """Return the pairs of the offers of a query, for its first batch."""
    return tuple(_line(each) for each in duels(found.serving, found.costs))


def _line(duel: Duel) -> DuelLine:
    offer, result = duel.bigger.cost.row.offer, duel.comparison
    return DuelLine(
        provider=provider_label(offer.provider),
        terms=f"{words.SERVICE[offer.service_kind]}, {words.pricing(offer)}",
        bigger=_side(duel.bigger, duel.gpus, outcome=result.first, wins=result.cheaper == "first"),
        smaller=_side(
            duel.smaller, TIMES * duel.gpus, outcome=result.second, wins=result.cheaper == "second"
        ),
    )


def _side(listed: Listed, gpus: int, *, outcome: Outcome, wins: bool) -> Side:
    usd, usd_raw, why = "", "", ""
    if isinstance(outcome, TooBig):
        why = llm_words.lacks(outcome)
    elif isinstance(outcome, Unknown):
        why = outcome.why
    else:
        usd, usd_raw = llm_words.usd(outcome.usd_per_mtok_output), words.exact(outcome.usd_per_mtok_output)
    row = listed.cost.row
    return Side(
        name=f"{gpus} \N{MULTIPLICATION SIGN} {listed.card.name}",
        usd=usd,
        usd_raw=usd_raw,
        why=why,
        wins=wins,
        marks=marks_of(row),
        last_seen=last_seen_day(row),
    )


def plain_duel(duel: Duel) -> dict[str, Any]:
    """Return a pair for programs."""
    result, gpus = duel.comparison, duel.gpus
    return {
        "provider": duel.bigger.cost.row.offer.provider,
        "cheaper": None if isinstance(result.cheaper, Unknown) else result.cheaper,
        "first": _plain_side(duel.bigger, gpus, outcome=result.first),
        "second": _plain_side(duel.smaller, TIMES * gpus, outcome=result.second),
    }


def _plain_side(listed: Listed, gpus: int, *, outcome: Outcome) -> dict[str, Any]:
    usd: Decimal | None = None
    why = None
    if isinstance(outcome, TooBig | Unknown):
        why = outcome.why
    else:
        usd = outcome.usd_per_mtok_output
    return {
        "offer_id": listed.cost.row.stored.offer_id,
        "accelerator": listed.card.id,
        "gpus": gpus,
        "usd_per_mtok_output": None if usd is None else float(usd),
        "why": why,
    }
