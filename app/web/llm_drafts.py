"""Speculative decoding beside the plain ceiling, as a model's page, its arithmetic and its JSON show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from app.domain.llms.costs import DoesNotFit
from app.domain.llms.drafted import drafted, routed_times
from app.domain.llms.speculation import Speculation
from app.web import llm_words, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.domain.llms.cost_query import CostQuery
    from app.domain.llms.costs import OfferCost, Serving
    from app.domain.llms.drafted import Drafted
    from app.domain.llms.profile import LlmProfile
    from app.domain.llms.unknown import Unknown


class DraftLine(NamedTuple):
    """One card and batch as the table shows it; figures are empty where there are none, and `said` why."""

    on: str
    requests: str
    tokens: str
    plain: str
    plain_raw: str
    drafted: str
    drafted_raw: str
    times: str
    said: str


def draft_lines(serving: Serving, costs: Iterable[OfferCost]) -> tuple[DraftLine, ...]:
    """Return a line for each card of these offers and each batch; none without a draft."""
    return tuple(_line(each, serving.setup.profile) for each in drafted(serving, costs))


def _line(each: Drafted, profile: LlmProfile) -> DraftLine:
    on = each.card.name if each.gpus is None else f"{each.gpus} \N{MULTIPLICATION SIGN} {each.card.name}"
    requests, found = f"{each.cost.batch:,}", each.found
    if not isinstance(found, Speculation):
        return DraftLine(on, requests, "", "", "", "", "", "", _without(found))
    plain, with_it = found.plain.tokens_per_s, found.tokens_per_s
    return DraftLine(
        on=on,
        requests=requests,
        tokens=words.exact(found.draft.tokens_per_pass),
        plain=llm_words.rate(plain),
        plain_raw=words.exact(plain),
        drafted=llm_words.rate(with_it),
        drafted_raw=words.exact(with_it),
        times=words.number(found.speedup, 3),
        said=verdict(found, profile),
    )


def _without(found: DoesNotFit | Unknown) -> str:
    return llm_words.lacks(found.nearest) if isinstance(found, DoesNotFit) else found.why


def verdict(found: Speculation, profile: LlmProfile) -> str:
    """Return in a sentence whether the ceiling is higher with the draft, and what a pass takes for that."""
    outcome = "loses" if found.loses else "gains" if found.speedup > 1 else "changes nothing"
    longer = words.number(found.pass_s / found.plain.step_s, 2)
    tokens, experts = words.exact(found.draft.tokens_per_pass), ""
    if profile.experts:
        times = words.number(routed_times(profile, found), 2)
        experts = f"; it reads {times} times the bytes of routed experts"
    return (
        f"{outcome}: a pass gives {tokens} tokens a request and takes {longer} times as long as a plain step"
        f"{experts}; {found.verify.bound_by}-bound"
    )


def plain_drafts(serving: Serving, query: CostQuery, *, costs: Iterable[OfferCost]) -> dict[str, Any] | None:
    """Return the same for programs, None without a draft."""
    draft = serving.draft
    if draft is None or query.draft_tokens is None:
        return None
    profile = serving.setup.profile
    return {
        "draft_depth": draft.depth,
        "draft_tokens": float(query.draft_tokens),
        "draft_counts": query.draft_counts,
        "draft_share": float(draft.step_share),
        "tokens_per_pass": float(draft.tokens_per_pass),
        "bounds": [_plain(each, profile) for each in drafted(serving, costs)],
    }


def _plain(each: Drafted, profile: LlmProfile) -> dict[str, Any]:
    found = each.found
    where = {"accelerator": each.card.id, "batch": each.cost.batch, "gpus": each.gpus}
    if isinstance(found, Speculation):
        return {**where, **_figures(found, profile), "why": None}
    why = found.nearest.why if isinstance(found, DoesNotFit) else found.why
    return {**where, **dict.fromkeys(_FIGURES), "why": why}


def _figures(found: Speculation, profile: LlmProfile) -> dict[str, Any]:
    routed = float(routed_times(profile, found)) if profile.experts else None
    numbers = (found.plain.tokens_per_s, found.tokens_per_s, found.speedup, found.pass_s)
    values = (*map(float, numbers), routed, found.loses, found.verify.bound_by)
    return dict(zip(_FIGURES, values, strict=True))


_FIGURES: Final = (
    *("tokens_per_s", "tokens_per_s_with_draft", "times", "pass_s", "routed_bytes_times"),
    *("loses", "bound_by"),
)
