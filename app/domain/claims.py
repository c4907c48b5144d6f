"""Claims about prices: sentences with a comparison and a condition, judged by the offers of a day."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qsl

from app.domain.accelerators import load_catalogue
from app.domain.cells import packaged_lines
from app.domain.compare_query import parse_compare, question_of
from app.domain.metrics import METRICS
from app.domain.pairing import pair_cards
from app.domain.providers import VIA
from app.domain.query import make_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    from app.domain.accelerators import Accelerator, Catalogue
    from app.domain.compare_query import CompareQuery
    from app.domain.pairing import Line
    from app.domain.rows import Row

_DATA_FILE: Final = "claims.toml"

Relation = Literal["beats", "loses_to"]
_RELATIONS: Final[Mapping[str, Relation]] = MappingProxyType({"beats": "beats", "loses_to": "loses_to"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One condition of a claim: how a card does against every other card of a comparison.

    `provider` narrows it to one, else it has to be so at a `least` share of the providers that list the card
    and another. `term_days` narrows it to rates for one range of days.
    """

    query: CompareQuery
    card: str
    relation: Relation
    provider: str | None
    least: Fraction
    term_days: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence that holds when all of its parts do; `source` says who said it and when."""

    id: str
    sentence: str
    source: str
    parts: tuple[Part, ...]

    @property
    def cards(self) -> tuple[str, ...]:
        """Return the cards that the claim is about."""
        return tuple(dict.fromkeys(card for part in self.parts for card in part.query.gpu))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """The provider that decides a part, with the card's figure and that of the rival nearest to turning it.

    `slack` is by what share of its price the card could change before this provider turns, below zero where
    it would have to. A part holds while the slack of its decider is above zero.
    """

    provider: str
    rival: str
    value: Decimal
    rival_value: Decimal
    slack: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PartVerdict:
    """Whether a part holds: at `hits` of `of` providers where `needed` are; None where no provider tells.

    `announced` are the providers of which it counts a price that no run has seen as the current one yet.
    """

    part: Part
    holds: bool | None
    hits: int
    of: int
    needed: int
    decider: Decider | None
    announced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a claim holds, None when a part cannot be told and no other is wrong."""

    claim: Claim
    holds: bool | None
    parts: tuple[PartVerdict, ...]

    @property
    def decider(self) -> Decider | None:
        """Return what decides the claim: the least slack of its parts."""
        known = [part.decider for part in self.parts if part.decider is not None]
        return min(known, key=lambda each: each.slack, default=None)


def judge(
    claim: Claim, rows: Iterable[Row], *, catalogue: Catalogue, use_alt: frozenset[str] = frozenset()
) -> Verdict:
    """Judge a claim by the rows of a board; `use_alt` names cards to take the other published figures of."""
    cards = set(claim.cards)
    about = [row for row in rows if row.accelerator is not None and row.accelerator.id in cards]
    parts = tuple(_judge_part(part, about, catalogue, use_alt=use_alt) for part in claim.parts)
    known = {part.holds for part in parts}
    holds = False if False in known else None if None in known else True
    return Verdict(claim=claim, holds=holds, parts=parts)


def depends_on(claim: Claim, rows: Sequence[Row], *, catalogue: Catalogue) -> tuple[Accelerator, ...]:
    """Return the cards whose other published figures, together, would change whether a claim holds.

    It is the smallest set that does; empty when none does.
    """
    before = judge(claim, rows, catalogue=catalogue).holds
    disputed = [each for each in claim.cards if catalogue.by_id[each].bandwidth_alt_tb_s is not None]
    for size in range(1, len(disputed) + 1):
        for chosen in combinations(disputed, size):
            if judge(claim, rows, catalogue=catalogue, use_alt=frozenset(chosen)).holds != before:
                return tuple(catalogue.by_id[each] for each in chosen)
    return ()


def _judge_part(
    part: Part, rows: Iterable[Row], catalogue: Catalogue, *, use_alt: frozenset[str]
) -> PartVerdict:
    question = replace(question_of(part.query, catalogue, use_alt=use_alt), wants_doubts=False)
    pairing = pair_cards([row for row in rows if _concerns(part, row)], question)
    found = [_decider(line, part) for line in pairing.counted]
    slacks = sorted((each for each in found if each is not None), key=lambda each: -each.slack)
    needed = ceil(part.least * len(slacks))
    decider = slacks[needed - 1] if slacks else None
    return PartVerdict(
        part=part,
        holds=None if decider is None else decider.slack > 0,
        hits=sum(each.slack > 0 for each in slacks),
        of=len(slacks),
        needed=needed,
        decider=decider,
        announced=tuple(line.provider for line in pairing.counted if _counts_announced(line)),
    )


def _counts_announced(line: Line) -> bool:
    rows = [cell.row for cell in line.cells if cell.row is not None and cell.value is not None]
    return any(row.stored.announced_since_page for row in rows)


def _concerns(part: Part, row: Row) -> bool:
    offer = row.offer
    if part.provider is not None and offer.provider.partition(VIA)[0] != part.provider:
        return False
    return part.term_days is None or (offer.term_days_min, offer.term_days_max) == part.term_days


def _decider(line: Line, part: Part) -> Decider | None:
    """Return the rival nearest to turning a line, or furthest beyond it; None without both figures."""
    ours = line.cell(part.card).value
    rivals = {
        cell.card.id: cell.value
        for cell in line.cells
        if cell.card.id != part.card and cell.value is not None
    }
    if not ours or not rivals:
        return None
    lower = METRICS[part.query.metric].better == "lower"
    found = []
    for rival, theirs in rivals.items():
        if theirs:
            room = theirs / ours - 1 if lower else ours / theirs - 1
            slack = room if part.relation == "beats" else -room
            found.append(
                Decider(provider=line.provider, rival=rival, value=ours, rival_value=theirs, slack=slack)
            )
    return min(found, key=lambda each: each.slack, default=None)


@cache
def load_claims() -> tuple[Claim, ...]:
    """Read the packaged claims, once per process; raises ValueError naming the claim and what is wrong."""
    return parse_claims("\n".join(packaged_lines(_DATA_FILE)), load_catalogue())


def parse_claims(text: str, catalogue: Catalogue) -> tuple[Claim, ...]:
    """Read claims from TOML; see `load_claims` for the errors."""
    found = tuple(_claim(each, catalogue) for each in tomllib.loads(text)["claim"])
    twice = [claim.id for claim in found if [each.id for each in found].count(claim.id) > 1]
    if twice:
        raise ValueError(f"{_DATA_FILE}: claim {twice[0]!r} stands twice")
    return found


def _claim(entry: Mapping[str, Any], catalogue: Catalogue) -> Claim:
    name = entry.get("id", "?")
    try:
        _only(entry, {"id", "sentence", "source", "part"})
        parts = tuple(_part(each, catalogue) for each in entry["part"])
        return Claim(id=entry["id"], sentence=entry["sentence"], source=entry["source"], parts=parts)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise ValueError(f"{_DATA_FILE}, claim {name!r}: {error}") from error


def _only(entry: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(entry) - known)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}")


def _part(entry: Mapping[str, Any], catalogue: Catalogue) -> Part:
    _only(entry, {"query", "card", "relation", "provider", "least", "term_days"})
    words = make_vocabulary(catalogue, providers=(), regions=(), today=date.max)
    pairs = parse_qsl(entry["query"], strict_parsing=True)
    query = parse_compare(pairs, words, catalogue=catalogue)
    if entry["card"] not in query.gpu:
        raise ValueError(f"card {entry['card']!r} is not among those compared")
    least = Fraction(entry.get("least", "1"))
    if not 0 < least <= 1:
        raise ValueError(f"least {entry['least']!r} is no share")
    days = entry.get("term_days")
    return Part(
        query=query,
        card=entry["card"],
        relation=_RELATIONS[entry["relation"]],
        provider=entry.get("provider"),
        least=least,
        term_days=(int(days[0]), int(days[1])) if days else None,
    )
