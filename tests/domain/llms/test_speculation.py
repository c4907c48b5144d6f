"""Tokens a pass in both countings, what a draft gains, and where experts make it lose."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.domain.llms.fit import Demand
from app.domain.llms.speculation import (
    Draft,
    Speculation,
    accepted_drafts,
    dense_speedup,
    routed_speedup,
    speculative_bound,
    tokens_per_pass,
)
from app.domain.llms.unknown import Unknown
from tests.domain.llms.shapes import DEEPSEEK_V3, H100, H200, LLAMA_70B, load, peaks

ONE_STREAM = Demand(batch=1, context=0)


def drafted(depth: int, tokens: str, *, share: str = "0") -> Draft:
    return Draft(depth=depth, tokens_per_pass=Decimal(tokens), step_share=Decimal(share))


def test_a_length_means_something_only_with_its_counting() -> None:
    """A rate of 0.505 at depth 4 accepts 2.02 drafts, which with the model's own token is 3.02 a pass."""
    accepted = accepted_drafts(Decimal("0.505"), depth=4)
    assert accepted == Decimal("2.02")
    assert tokens_per_pass(accepted, counting="drafts only") == Decimal("3.02")
    assert tokens_per_pass(Decimal("2.49"), counting="with bonus") == Decimal("2.49")


@pytest.mark.parametrize(("share", "speedup"), [("0", "3.02"), ("0.05", "2.5167"), ("0.127", "2.0027")])
def test_drafting_takes_its_share(share: str, speedup: str) -> None:
    assert round(dense_speedup(drafted(4, "3.02", share=share)), 4) == Decimal(speedup)


def test_a_draft_costs_nothing_unless_somebody_says_so() -> None:
    assert dense_speedup(Draft(depth=3, tokens_per_pass=Decimal("2.49"))) == Decimal("2.49")


def test_experts_of_one_pass_differ() -> None:
    """Four tokens go to 30.5 of 256 experts, 3.82 times eight: 2.49 tokens a pass are 0.65 of the speed."""
    speedup = routed_speedup(drafted(3, "2.49"), experts=256, experts_per_token=8)
    assert round(speedup, 4) == Decimal("0.6525")


def test_a_dense_memory_bound_model_gains_all_its_tokens() -> None:
    found = speculative_bound(load(LLAMA_70B), H200, demand=ONE_STREAM, draft=drafted(4, "3.02"))
    assert isinstance(found, Speculation)
    assert round(found.speedup, 6) == Decimal("3.02")
    assert not found.loses


def test_a_large_dense_batch_gains_less_than_it_verifies() -> None:
    """At 512 streams the pass is compute-bound: five times the operations for three times the tokens."""
    found = speculative_bound(
        load(LLAMA_70B), H200, demand=Demand(batch=512, context=0), draft=drafted(4, "3.02")
    )
    assert isinstance(found, Speculation)
    assert found.verify.bound_by == "compute"
    assert round(found.speedup, 3) == Decimal("0.604")
    assert found.loses


def test_a_mixture_of_experts_can_lose_with_a_short_length() -> None:
    """DeepSeek-V3, one stream: 16.191 GB beside 77.986 of experts, against 20.435 for one token: 2.571."""
    short = speculative_bound(load(DEEPSEEK_V3), H200, demand=ONE_STREAM, draft=drafted(3, "2.49"))
    assert isinstance(short, Speculation)
    assert round(short.verify.step_s / short.plain.step_s, 3) == Decimal("2.571")
    assert short.loses
    long = speculative_bound(load(DEEPSEEK_V3), H200, demand=ONE_STREAM, draft=drafted(3, "2.97"))
    assert isinstance(long, Speculation)
    assert not long.loses


def test_drafts_are_drawn_one_after_the_other() -> None:
    found = speculative_bound(
        load(LLAMA_70B), H100, demand=ONE_STREAM, draft=drafted(4, "3.02", share="0.05")
    )
    assert isinstance(found, Speculation)
    assert round(found.pass_s / found.plain.step_s, 6) == Decimal("1.2")
    assert round(found.speedup, 4) == Decimal("2.5167")


@pytest.mark.parametrize("tokens", ["0.9", "5.1"])
def test_a_pass_cannot_give_more_tokens_than_it_verifies(tokens: str) -> None:
    with pytest.raises(ValueError, match="gives 1 to 5 tokens"):
        speculative_bound(load(LLAMA_70B), H100, demand=ONE_STREAM, draft=drafted(4, tokens))


def test_an_unknown_peak_stays_unknown() -> None:
    card = replace(peaks("1", "1"), rate=Unknown(why="no rate"))
    found = speculative_bound(load(LLAMA_70B), card, demand=ONE_STREAM, draft=drafted(4, "3"))
    assert found == Unknown(why="no rate")
