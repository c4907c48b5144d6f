"""What routing costs when each instance keeps its own prefix cache: how often a first token is cold."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from app.domain.serving.reading import InputError
from app.domain.serving.speedup import short

if TYPE_CHECKING:
    from collections.abc import Mapping

Routing = Literal["round_robin", "least_busy", "session_pinning"]
Keeps = Literal["all", "last"]

ROUTINGS: Final[tuple[Routing, ...]] = ("round_robin", "least_busy", "session_pinning")
MOST_INSTANCES: Final = 10_000
MOST_REQUESTS: Final = 10_000

ASSUMES: Final[dict[Routing, str]] = {
    "round_robin": "the session's requests go round the instances in turn",
    "least_busy": "each request meets any instance with equal chance, as when all are equally loaded",
    "session_pinning": "every request of the session goes to the instance of its first",
}

_MOST_SECONDS: Final = Decimal(10) ** 6
_MOST_TOKENS: Final = Decimal(10) ** 9
_LEAST: Final = Decimal("1e-9")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstToken:
    """Seconds to the first token of one context, with none of it in the cache and with what a hit leaves."""

    cold_s: Decimal
    warm_s: Decimal

    @property
    def times(self) -> Decimal:
        """How many times as long the cold one takes."""
        return self.cold_s / self.warm_s


def first_token(
    context_tokens: Decimal,
    prefill_tokens_per_s: Decimal,
    *,
    hit_share: Decimal,
    rest_s: Decimal = Decimal(0),
) -> FirstToken:
    """Return both first tokens: what is not in the cache over the prefill rate, and `rest_s` for all else.

    Raises:
        InputError: a figure is out of range, or the warm first token takes no time.
    """
    _within("context_tokens", context_tokens, most=_MOST_TOKENS)
    _within("prefill_tokens_per_s", prefill_tokens_per_s, most=_MOST_TOKENS)
    _within("hit_share", hit_share, least=Decimal(0), most=Decimal(1))
    _within("rest_s", rest_s, least=Decimal(0), most=_MOST_SECONDS)
    if hit_share == 1 and not rest_s:
        expected = (
            "give some seconds, or a hit_share below 1: with neither the warm first token takes no time"
        )
        raise InputError("rest_s", "0", expected)
    prefill_s = context_tokens / prefill_tokens_per_s
    return measured(prefill_s + rest_s, prefill_s * (1 - hit_share) + rest_s)


def measured(cold_s: Decimal, warm_s: Decimal) -> FirstToken:
    """Return two first tokens as somebody measured them.

    Raises:
        InputError: one takes no time or too much, or the warm one takes longer.
    """
    _within("cold_s", cold_s, most=_MOST_SECONDS)
    _within("warm_s", warm_s, most=_MOST_SECONDS)
    if warm_s > cold_s:
        raise InputError("warm_s", f"{warm_s:f}", f"give at most the {cold_s:f} s of the cold one")
    return FirstToken(cold_s=cold_s, warm_s=warm_s)


_TIMED: Final = frozenset({"cold_s", "warm_s"})
_WORKED: Final = frozenset({"context_tokens", "prefill_tokens_per_s"})
_MORE: Final = frozenset({"hit_share", "rest_s"})


def first_token_of(given: Mapping[str, Decimal | None]) -> FirstToken:
    """Return both first tokens from what is stated: timed, or worked out; the worked case for nothing.

    Raises:
        InputError: what is stated is neither, or a figure is out of range.
    """
    stated = {name: value for name, value in given.items() if value is not None}
    if not stated:
        return WORKED_CASE
    if stated.keys() == _TIMED:
        return measured(stated["cold_s"], stated["warm_s"])
    if stated.keys() - _MORE == _WORKED:
        more = {"hit_share": Decimal(1), "rest_s": Decimal(0)} | {
            name: stated[name] for name in _MORE & stated.keys()
        }
        return first_token(stated["context_tokens"], stated["prefill_tokens_per_s"], **more)
    missing = [*(_TIMED if stated.keys() & _TIMED else _WORKED) - stated.keys()]
    field = min(missing) if missing else min(stated.keys() - _TIMED)
    expected = "give cold_s and warm_s, or context_tokens and prefill_tokens_per_s with the rest"
    raise InputError(field, ", ".join(stated), expected)


def _within(field: str, value: Decimal, *, least: Decimal = _LEAST, most: Decimal) -> None:
    if not value.is_finite() or not least <= value <= most:
        raise InputError(field, str(value), f"give a number from {least:f} to {most:,f}")


def told(figure: Decimal, *, places: int = 2) -> str:
    """Return a figure to so many places, and a small one to three digits: 1.91, 0.00125."""
    return f"{figure:.{places}f}" if not figure or figure >= 1 else short(figure)


def cold_requests(routing: Routing, *, instances: int, requests: int, keeps: Keeps = "all") -> Decimal:
    """Return how many of a session's requests are expected to meet an instance without its prefix.

    The first always does. `keeps` is what the caches hold: "all", every instance keeps the prefix it has seen
    to the end of the session; "last", only the instance that served the last request still has it. With all
    kept, a request is cold when its instance is new to the session: in turn that is once for each instance,
    by chance n (1 - (1 - 1/n)^r) times (Feller, An Introduction to Probability Theory, occupancy).

    Raises:
        InputError: there is no instance or no request, or too many.
    """
    _count("instances", instances, most=MOST_INSTANCES)
    _count("requests", requests, most=MOST_REQUESTS)
    if routing == "session_pinning" or instances == 1:
        return Decimal(1)
    if routing == "round_robin":
        return Decimal(min(instances, requests) if keeps == "all" else requests)
    elsewhere = 1 - Decimal(1) / instances
    if keeps == "all":
        return instances * (1 - elsewhere**requests)
    return 1 + (requests - 1) * elsewhere


def _count(field: str, value: int, *, most: int) -> None:
    if not 1 <= value <= most:
        raise InputError(field, str(value), f"give a whole number from 1 to {most:,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingCost:
    """One routing: the expected share of a session's requests that are cold, and the mean first token."""

    routing: Routing
    cold_share: Decimal
    mean_s: Decimal
    waited_s: Decimal


def routing_costs(
    token: FirstToken, *, instances: int, requests: int, keeps: Keeps = "all"
) -> tuple[RoutingCost, ...]:
    """Return each routing's cost; `waited_s` is what it adds over a session to that of pinning.

    Raises:
        InputError: as `cold_requests`.
    """
    counts = {
        routing: cold_requests(routing, instances=instances, requests=requests, keeps=keeps)
        for routing in ROUTINGS
    }
    dearer_s = token.cold_s - token.warm_s
    return tuple(
        RoutingCost(
            routing=routing,
            cold_share=count / requests,
            mean_s=token.warm_s + dearer_s * count / requests,
            waited_s=dearer_s * (count - counts["session_pinning"]),
        )
        for routing, count in counts.items()
    )


WORKED_CASE: Final = FirstToken(cold_s=Decimal("4.65"), warm_s=Decimal("1.23"))
"""One context of a 27B model on two instances as its operator timed it (The default moves local, 2026)."""
