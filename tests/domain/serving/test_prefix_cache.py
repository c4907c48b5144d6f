"""What routing costs, against the timed case, sums by hand and a count of every possible session."""

from decimal import Decimal
from itertools import product

import pytest

from app.domain.serving.prefix_cache import (
    WORKED_CASE,
    Keeps,
    Routing,
    cold_requests,
    first_token,
    measured,
    routing_costs,
)
from app.domain.serving.reading import InputError


def test_the_timed_case_is_3_78_times() -> None:
    assert (WORKED_CASE.cold_s, WORKED_CASE.warm_s) == (Decimal("4.65"), Decimal("1.23"))
    assert round(WORKED_CASE.times, 2) == Decimal("3.78")


def test_first_tokens_of_a_context() -> None:
    """10,000 tokens at 2,500 a second are 4 s; a hit of 93 % leaves 0.28 s; 0.5 s come on top of both."""
    found = first_token(Decimal(10_000), Decimal(2500), hit_share=Decimal("0.93"), rest_s=Decimal("0.5"))
    assert (found.cold_s, found.warm_s) == (Decimal("4.5"), Decimal("0.78"))


@pytest.mark.parametrize(
    ("routing", "keeps", "cold"),
    [
        ("round_robin", "all", "2"),
        ("round_robin", "last", "10"),
        ("least_busy", "last", "5.5"),
        ("session_pinning", "all", "1"),
        ("session_pinning", "last", "1"),
    ],
)
def test_ten_requests_over_two_instances(routing: Routing, keeps: Keeps, cold: str) -> None:
    assert cold_requests(routing, instances=2, requests=10, keeps=keeps) == Decimal(cold)


@pytest.mark.parametrize(("instances", "requests"), [(2, 1), (2, 3), (3, 2), (3, 5), (4, 4), (1, 6)])
@pytest.mark.parametrize("keeps", ["all", "last"])
def test_least_busy_against_every_session_there_can_be(instances: int, requests: int, keeps: Keeps) -> None:
    sessions = list(product(range(instances), repeat=requests))
    cold = 0
    for session in sessions:
        for at, instance in enumerate(session):
            warm = session[:at] if keeps == "all" else session[max(at - 1, 0) : at]
            cold += instance not in warm
    expected = Decimal(cold) / len(sessions)
    found = cold_requests("least_busy", instances=instances, requests=requests, keeps=keeps)
    assert abs(found - expected) < Decimal("1e-20")


def test_a_session_shorter_than_the_round_meets_cold_instances_alone() -> None:
    assert cold_requests("round_robin", instances=8, requests=3) == 3
    assert cold_requests("round_robin", instances=1, requests=3, keeps="last") == 1


def test_costs_of_the_timed_case() -> None:
    """In turn, cold twice in ten: 1.23 + 3.42 x 0.2 = 1.914 s, and 3.42 s more than pinned in all."""
    in_turn, _, pinned = routing_costs(WORKED_CASE, instances=2, requests=10)
    assert (in_turn.routing, in_turn.cold_share) == ("round_robin", Decimal("0.2"))
    assert (in_turn.mean_s, in_turn.waited_s) == (Decimal("1.914"), Decimal("3.42"))
    assert (pinned.mean_s, pinned.waited_s) == (Decimal("1.572"), 0)


def test_a_warm_first_token_may_take_as_long_as_a_cold_one() -> None:
    assert measured(Decimal(1), Decimal(1)).times == 1


def test_refusals() -> None:
    with pytest.raises(InputError, match="at most the 1 s"):
        measured(Decimal(1), Decimal(2))
    for wrong in ("0", "-1", "NaN", "Infinity", "1E+30"):
        with pytest.raises(InputError):
            measured(Decimal(wrong), Decimal("0.1"))
        with pytest.raises(InputError):
            first_token(Decimal(10), Decimal(wrong), hit_share=Decimal("0.5"))
    with pytest.raises(InputError, match="hit_share"):
        first_token(Decimal(10), Decimal(1), hit_share=Decimal(2))
    with pytest.raises(InputError, match="rest_s"):
        first_token(Decimal(10), Decimal(1), hit_share=Decimal(1))
    for instances, requests in ((0, 1), (1, 0), (2**63, 1), (1, 2**63)):
        with pytest.raises(InputError):
            cold_requests("least_busy", instances=instances, requests=requests)
