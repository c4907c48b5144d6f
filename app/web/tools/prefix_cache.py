"""The tool on prefix caches: what a cold prefix costs a first token, and how often each routing pays it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.serving.documents import routing_document
from app.domain.serving.prefix_cache import (
    ASSUMES,
    MOST_INSTANCES,
    MOST_REQUESTS,
    WORKED_CASE,
    first_token_of,
    routing_costs,
    told,
)
from app.web.tools.fields import Field, options_of
from app.web.tools.tool import Example, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.prefix_cache import FirstToken, Keeps, Routing, RoutingCost
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

_PERCENT: Final = 100
_FIGURES: Final = ("cold_s", "warm_s", "context_tokens", "prefill_tokens_per_s", "hit_share", "rest_s")

FIELDS: Final = (
    Field(
        name="cold_s",
        label="Cold first token, s",
        about="Seconds to the first token of a context that no cache holds, as 4.65.",
        is_number=True,
    ),
    Field(
        name="warm_s",
        label="Warm first token, s",
        about="Seconds to the first token when the context is in the cache, as 1.23.",
        is_number=True,
    ),
    Field(
        name="context_tokens",
        label="Context, tokens",
        about="Tokens of the context that is asked about again.",
        option="context",
        is_number=True,
    ),
    Field(
        name="prefill_tokens_per_s",
        label="Prefill rate, tokens/s",
        about="Prompt tokens a second of one instance.",
        option="prefill",
        is_number=True,
    ),
    Field(
        name="hit_share",
        label="Share found in a warm cache",
        about="As 0.93; all of it, 1, when left empty.",
        is_number=True,
    ),
    Field(
        name="rest_s",
        label="Rest of a first token, s",
        about="Seconds of a first token that are no prefill; 0 when left empty.",
        is_number=True,
    ),
    Field(
        name="instances",
        label="Instances",
        about=f"Copies of the model, each with a cache of its own: 1 to {MOST_INSTANCES:,}.",
        default="2",
        is_number=True,
    ),
    Field(
        name="requests",
        label="Requests of a session",
        about=f"How often one context is asked about: 1 to {MOST_REQUESTS:,}.",
        default="10",
        is_number=True,
    ),
    Field(
        name="keeps",
        label="Who keeps the prefix",
        about="Who still has it when the session's next request comes.",
        choices=(("all", "every instance that has seen it"), ("last", "only the instance asked last")),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Both first tokens and what each routing costs; `is_worked_case` where somebody timed just these."""

    token: FirstToken
    costs: tuple[RoutingCost, ...]
    instances: int
    requests: int
    is_worked_case: bool

    @property
    def assumes(self) -> Mapping[Routing, str]:
        """What each routing is taken to do."""
        return ASSUMES

    @property
    def parts(self) -> list[tuple[RoutingCost, Sequence[str]]]:
        """Each routing with its cells: requests expected cold, which its mean comes from, and the rest."""
        return [(cost, self._cells(cost)) for cost in self.costs]

    def _cells(self, cost: RoutingCost) -> Sequence[str]:
        cold = cost.cold_share
        percent = told(cold * _PERCENT, places=1)
        return told(cold * self.requests), percent, told(cost.mean_s), told(cost.waited_s)


def find(typed: Typed, _llms: Llms) -> Found:
    """Return the cost of each routing; of the worked case where no figure is typed."""
    token = first_token_of({name: typed.number(name) for name in _FIGURES})
    instances = typed.whole("instances", low=1, high=MOST_INSTANCES) or 1
    requests = typed.whole("requests", low=1, high=MOST_REQUESTS) or 1
    keeps: Keeps = "last" if typed.text("keeps") == "last" else "all"
    return Found(
        token=token,
        costs=routing_costs(token, instances=instances, requests=requests, keeps=keeps),
        instances=instances,
        requests=requests,
        is_worked_case=token == WORKED_CASE,
    )


def document(found: Found) -> dict[str, Any]:
    """Return what was found as JSON."""
    return routing_document(found.token, found.costs)


def rows(found: Found) -> Iterator[Sequence[object]]:
    """Yield a line for each routing."""
    token = found.token
    for cost in found.costs:
        yield cost.routing, cost.cold_share, cost.mean_s, cost.waited_s, token.cold_s, token.warm_s


def command(typed: Typed) -> str:
    """Return the line that does the same in a terminal."""
    return " ".join(["inferprice check prefix-cache", *options_of(FIELDS, typed, names=TOOL.by_name)])


TOOL: Final = Tool(
    name="prefix-cache",
    title="Cold prefix caches",
    about="What a cold prefix costs a first token, and how often each way of routing pays for it.",
    fields=FIELDS,
    find=find,
    document=document,
    columns=("routing", "cold_share", "mean_s", "waited_s", "cold_s", "warm_s"),
    rows=rows,
    command=command,
    examples=(
        Example(label="a case that somebody timed", texts={"cold_s": "4.65", "warm_s": "1.23"}),
        Example(
            label="32,000 tokens on eight instances",
            texts={
                "context_tokens": "32,000",
                "prefill_tokens_per_s": "8,000",
                "hit_share": "0.95",
                "rest_s": "0.2",
                "instances": "8",
            },
        ),
    ),
)
