"""A link to a model's page says only what differs, reads back as what it said, and names what is wrong."""

from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.llms.cost_query import (
    COUNTINGS,
    PRESETS,
    SORTS,
    CostQuery,
    cost_pairs,
    parse_cost,
    serving_of,
)
from app.domain.llms.facts import load_llms
from app.domain.llms.fit import ENGINES, POWERS_OF_TWO
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS
from app.domain.query import QueryError
from tests.domain.made import VOCABULARY

SHARES = st.decimals("0.05", 1, places=3)


@st.composite
def drafts(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a whole draft."""
    depth, counts = draw(st.integers(1, 16)), draw(st.sampled_from(list(COUNTINGS)))
    bonus = 1 if counts == "with_bonus" else 0
    return {
        "draft_depth": depth,
        "draft_tokens": draw(st.decimals(bonus, depth + bonus, places=2)).normalize(),
        "draft_counts": counts,
        "draft_share": draw(st.decimals(0, 1, places=3)).normalize(),
    }


def hosts() -> st.SearchStrategy[dict[str, Any]]:
    """Return what draws the fields of experts in host memory."""
    share = st.decimals("0.01", 1, places=2).map(lambda one: one.normalize())
    speed = st.decimals(1, 900, places=1).map(lambda one: one.normalize())
    return st.fixed_dictionaries({"host_experts_share": share, "host_gb_s": speed})


@st.composite
def queries(draw: st.DrawFn) -> CostQuery:
    """Draw a query with some of everything that a link may say."""
    numbers = st.lists(st.integers(1, 4096), min_size=1, max_size=6, unique=True)
    cards = st.lists(st.sampled_from(POWERS_OF_TWO), min_size=1, unique=True)
    return CostQuery(
        format=draw(st.sampled_from(list(FORMATS))),
        kv=draw(st.sampled_from(list(KV_FORMATS))),
        context=draw(st.integers(0, 1_000_000)),
        batch=tuple(draw(numbers)),
        cards=tuple(sorted(draw(cards))),
        utilisation=draw(SHARES).normalize(),
        engine=draw(st.sampled_from(list(ENGINES))),
        memory_share=draw(SHARES).normalize(),
        overhead_gb=draw(st.decimals(0, 20, places=2)).normalize(),
        attention=draw(st.sampled_from(("tensor", "data"))),
        weights_gb=draw(st.none() | st.decimals(1, 2000, places=2).map(lambda one: one.normalize())),
        api=draw(st.none() | st.decimals("0.01", 100, places=2).map(lambda one: one.normalize())),
        ratio=draw(st.decimals(0, 100, places=1)).normalize(),
        **draw(st.just({}) | drafts()),
        **draw(st.just({}) | hosts()),
        gpu=tuple(draw(st.lists(st.sampled_from(("h100-sxm", "h200", "b200-sxm")), unique=True))),
        provider=tuple(draw(st.lists(st.sampled_from(("acme", "Zed & Co")), unique=True))),
        pricing=tuple(draw(st.lists(st.sampled_from(("spot", "reserved")), unique=True))),
        sort=draw(st.sampled_from([*SORTS, *(f"-{key}" for key in SORTS)])),
        page=draw(st.integers(1, 50)),
    )


@given(query=queries())
def test_a_link_reads_back_as_what_it_said(query: CostQuery) -> None:
    assert parse_cost(cost_pairs(query), VOCABULARY) == query


def test_a_link_holds_only_what_differs() -> None:
    assert cost_pairs(CostQuery()) == []
    said = cost_pairs(CostQuery(batch=(8, 1), gpu=("h200-sxm",), utilisation=Decimal("0.50")))
    assert said == [("batch", "8,1"), ("utilisation", "0.5"), ("gpu", "h200-sxm")]


def test_what_is_asked_is_what_is_served() -> None:
    asked = (
        "format=nvfp4&kv=fp8&context=1024&batch=4,2&cards=8,2&memory_share=0.8&overhead_gb=2.5&attention=data"
    )
    query = parse_cost(parse_qsl(asked), VOCABULARY)
    serving = serving_of(query, load_llms()["deepseek-ai/DeepSeek-V3"].profile)
    setup = serving.setup
    assert (setup.fmt.id, setup.kv.fmt.id, setup.attention) == ("nvfp4", "fp8", "data")
    assert (setup.demand.batch, setup.demand.context) == (4, 1024)
    assert (serving.batches, serving.gpu_counts) == ((4, 2), (2, 8))
    assert (setup.engine.memory_share, setup.engine.overhead_bytes) == (Decimal("0.8"), 2_500_000_000)


@pytest.mark.parametrize("llm", ["meta-llama/Meta-Llama-3.1-70B", "deepseek-ai/DeepSeek-V3"])
def test_weights_of_the_link_are_all_that_steps_read(llm: str) -> None:
    profile = load_llms()[llm].profile
    weights = serving_of(CostQuery(weights_gb=Decimal(70)), profile).setup.weights
    assert weights.always_bytes + weights.routed_bytes == pytest.approx(Decimal(70 * 10**9))
    assert weights.lookup_bytes == 0
    routed = Decimal(profile.params_routed) / (profile.params_routed + profile.params_always)
    assert weights.routed_bytes / (70 * 10**9) == pytest.approx(routed)


def test_the_presets_are_the_four_ways_to_serve() -> None:
    found = {each.name: (each.context, each.batch) for each in PRESETS}
    assert found == {
        "Chat": (4096, (1,)),
        "Long context": (131_072, (1,)),
        "Batch": (2048, (64,)),
        "Agent": (32_768, (8,)),
    }


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("batch=", None),
        ("batch=,", "batch"),
        ("batch=65537", "batch"),
        ("cards=,", "cards"),
        ("cards=1,3", "cards"),
        ("context=1e3", "context"),
        ("utilisation=NaN", "utilisation"),
        ("overhead_gb=-1", "overhead_gb"),
        ("api=0", "api"),
        ("FORMAT=fp8", "parameter"),
        ("weights_gb=0", "weights_gb"),
        ("min_gpus=1", "parameter"),
    ],
)
def test_what_is_wrong_is_named(asked: str, field: str | None) -> None:
    pairs = parse_qsl(asked, keep_blank_values=True)
    if field is None:
        assert parse_cost(pairs, VOCABULARY) == CostQuery()
        return
    with pytest.raises(QueryError) as raised:
        parse_cost(pairs, VOCABULARY)
    assert raised.value.field == field
