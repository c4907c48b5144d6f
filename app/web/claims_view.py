"""What the page of the claims shows: how each stands, since when, what decides it and what it hangs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.claims import depends_on, judge, load_claims
from app.domain.metrics import METRICS
from app.web import words
from app.web.compare_view import compare_link
from app.web.compare_words import apart, joined, providers

if TYPE_CHECKING:
    from datetime import date

    from app.domain.accelerators import Accelerator
    from app.domain.claims import Claim, Decider, Part, PartVerdict, Verdict
    from app.web.boards import Served
    from app.web.claims_days import Looked, Step

HOLDS: Final = {True: "holds", False: "does not hold", None: "cannot be told"}
"""What a claim is on a day."""

KIND: Final = {True: "holds", False: "broken", None: "unknown"}
"""The same as a word for programs and style sheets."""

WAS: Final = {True: "held", False: "did not hold", None: "could not be told"}
"""What a claim was from a day on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One claim on a day, with its past. `depends` are cards whose other figures would turn it."""

    verdict: Verdict
    steps: tuple[Step, ...]
    depends: tuple[Accelerator, ...]

    @property
    def claim(self) -> Claim:
        """Return the claim itself."""
        return self.verdict.claim


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """One condition of a claim in words, and the comparison that shows it."""

    sentence: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    """One claim as the template shows it."""

    id: str
    sentence: str
    source: str
    kind: str
    standing: str
    since: str
    decided: str
    depends: str
    parts: tuple[PartView, ...]
    past: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsPage:
    """What the template of the claims shows."""

    notices: tuple[str, ...]
    summary: str
    claims: tuple[ClaimView, ...]
    as_of: str
    today: str
    first_day: str
    json_href: str
    csv_href: str
    looked: str


def judge_all(served: Served, looked: Looked) -> tuple[Judged, ...]:
    """Judge every claim on a board, with what the days before it say."""
    rows, catalogue = served.board.rows, served.board.catalogue
    return tuple(
        Judged(
            verdict=judge(claim, rows, catalogue=catalogue),
            steps=looked.steps[claim.id],
            depends=depends_on(claim, rows, catalogue=catalogue),
        )
        for claim in load_claims()
    )


def claims_page(
    served: Served, judged: tuple[Judged, ...], *, looked: Looked, day: date | None
) -> ClaimsPage:
    """Work out what the page shows."""
    today = served.words.today
    past = day if day is not None and day < today else None
    notices = []
    if served.outage:
        notices.append(f"The database is away. These are the prices of {words.moment(served.board.instant)}.")
    if past is not None:
        notices.append(f"Judged by the prices of {past}, not today's.")
    holding = sum(each.verdict.holds is True for each in judged)
    return ClaimsPage(
        notices=tuple(notices),
        summary=f"{holding} of {len(judged)} claims hold on {past or today}.",
        claims=tuple(_claim(each, looked, past) for each in judged),
        as_of=past.isoformat() if past else "",
        today=today.isoformat(),
        first_day=served.first_day.isoformat() if served.first_day else "",
        json_href=f"/claims.json?as_of={past}" if past else "/claims.json",
        csv_href=f"/claims.csv?as_of={past}" if past else "/claims.csv",
        looked=_looked(looked),
    )


def _looked(looked: Looked) -> str:
    if looked.first is None:
        return "There are no prices yet."
    days = f"{looked.days} day{'' if looked.days == 1 else 's'} on which prices changed"
    back = "the first day with prices" if looked.is_whole else "as far back as is looked"
    return f"Judged on {days}, from {looked.first}, {back}. A claim stands as it is until prices change."


def _claim(each: Judged, looked: Looked, past: date | None) -> ClaimView:
    verdict = each.verdict
    return ClaimView(
        id=each.claim.id,
        sentence=each.claim.sentence,
        source=each.claim.source,
        kind=KIND[verdict.holds],
        standing=HOLDS[verdict.holds],
        since=_since(each, looked),
        decided=decided(verdict.decider) if verdict.decider else "",
        depends=_depends(each),
        parts=tuple(
            PartView(sentence=part_sentence(part), href=part_link(part.part, past)) for part in verdict.parts
        ),
        past=tuple((step.day.isoformat(), WAS[step.holds]) for step in reversed(each.steps[:-1])),
    )


def _since(each: Judged, looked: Looked) -> str:
    if not each.steps or each.steps[-1].holds != each.verdict.holds:
        return ""
    day = each.steps[-1].day
    if len(each.steps) > 1:
        return f"any more: it broke on {day}" if each.verdict.holds is False else f"since {day}"
    return f"since {day}, the first day with prices" if looked.is_whole else f"since {day} at least"


def decided(decider: Decider) -> str:
    """Return by how much a claim is decided, and where."""
    ours, theirs = apart(decider.value, decider.rival_value, fewest=3)
    rival = load_catalogue().by_id[decider.rival].name
    percent = words.number(abs(decider.slack) * 100, 1)
    return (
        f"by {percent} % at {words.provider_name(decider.provider)} ({ours} against {theirs} of the {rival})"
    )


def _depends(each: Judged) -> str:
    """Return the disputed figures that the claim depends on, with what it would be with the other ones."""
    if not each.depends:
        return ""
    figures = [
        f"{card.name}: {card.bandwidth_tb_s} or {card.bandwidth_alt_tb_s} TB/s" for card in each.depends
    ]
    would = "would not hold" if each.verdict.holds else "would be otherwise"
    return f"{joined(figures)}. With the other figure it {would}."


def condition(part: Part) -> str:
    """Return one condition in words."""
    catalogue = load_catalogue()
    others = joined([catalogue.by_id[card].name for card in part.query.gpu if card != part.card])
    does = "beats" if part.relation == "beats" else "loses to"
    unit = METRICS[part.query.metric].unit
    terms = f", {' or '.join(part.query.pricing).replace('_', ' ')}"
    if part.term_days:
        terms += f", {part.term_days[0]} to {part.term_days[1]} days"
    where = f" at {words.provider_name(part.provider)}" if part.provider else ""
    return f"The {catalogue.by_id[part.card].name} {does} the {others} by {unit}{where}{terms}"


def part_sentence(each: PartVerdict) -> str:
    """Return one condition in words, with how it comes out."""
    part = each.part
    if each.of == 0:
        came = (
            "no provider that could tell" if part.provider is None else "it does not list them on these terms"
        )
    elif part.provider is not None:
        came = "yes" if each.holds else "no"
    else:
        came = f"at {each.hits} of {providers(each.of)}, {each.needed} needed"
    if each.announced:
        whose = joined([words.provider_name(name) for name in each.announced])
        came += f"; it counts a price of {whose} that is announced and no run has seen"
    return f"{condition(part)}: {came}."


def part_link(part: Part, past: date | None) -> str:
    """Return the address of the comparison that shows a condition."""
    return compare_link("/compare", part.query, as_of=past)
