"""A query goes into a link and comes back; what cannot be asked is refused, with what would be right."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.accelerators import load_catalogue
from app.domain.query import (
    MAX_TEXT_LENGTH,
    REPEATED,
    SINGLE,
    OfferQuery,
    QueryError,
    make_vocabulary,
    parse_query,
    query_pairs,
)
from tests.domain import made
from tests.domain.made import TODAY, VOCABULARY


def parse(text: str) -> OfferQuery:
    return parse_query(parse_qsl(text, keep_blank_values=True), VOCABULARY)


def refusal(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        parse(text)
    return caught.value


@given(made.queries(days=(None, TODAY, date(2026, 10, 30))))
@settings(max_examples=400, deadline=None)
def test_a_query_goes_into_a_link_and_comes_back_the_same(query: OfferQuery) -> None:
    pairs = query_pairs(query)
    assert parse_query(pairs, VOCABULARY) == query
    assert parse(urlencode(pairs)) == query


@given(made.queries())
@settings(deadline=None)
def test_a_link_holds_nothing_that_is_the_default(query: OfferQuery) -> None:
    default = OfferQuery()
    names = {name for name, _ in query_pairs(query)}
    differ = {name for name in (*REPEATED, *SINGLE) if getattr(query, name) != getattr(default, name)}
    assert names == differ | {f"where.{condition.column}" for condition in query.where}


def test_the_default_query_has_an_empty_link() -> None:
    assert query_pairs(OfferQuery()) == ()
    assert parse("") == OfferQuery()


def test_every_field_has_a_parameter_of_its_name() -> None:
    assert set(OfferQuery.__dataclass_fields__) == {*REPEATED, *SINGLE, "where"}


def test_links_list_fields_in_one_order_whatever_order_they_were_asked_in() -> None:
    first = parse("sort=-tdp_w&gpu=h100&q=sxm&precision=bf16")
    second = parse("precision=bf16&q=sxm&gpu=h100&sort=-tdp_w")
    assert query_pairs(first) == query_pairs(second)
    assert [name for name, _ in query_pairs(first)] == ["gpu", "precision", "sort", "q"]


# ---------------------------------------------------------------- what may be written


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("gpu=h100,h200&gpu=b200", "gpu", ("h100", "h200", "b200")),
        ("gpu=H100-SXM", "gpu", ("h100-sxm",)),
        ("gpu=h100&gpu=h100,h100", "gpu", ("h100",)),
        ("gpu=,h100,,", "gpu", ("h100",)),
        ("gpu=&gpu=", "gpu", ()),
        ("pricing=spot,ON_DEMAND", "pricing", ("spot", "on_demand")),
        ("region=eu%2C+north", "region", ("eu, north",)),
        ("region=us-east&region=US-East", "region", ("us-east", "US-East")),
        ("provider=zed+%26+co", "provider", ("Zed & Co",)),
        ("columns=provider,tdp_w", "columns", ("provider", "tdp_w")),
        ("columns=", "columns", OfferQuery().columns),
        ("min_gpus=8", "min_gpus", 8),
        ("min_gpus=008", "min_gpus", 8),
        ("max_gpus=", "max_gpus", None),
        ("weights_gb=13.50", "weights_gb", Decimal("13.5")),
        ("weights_gb=1e3", "weights_gb", Decimal(1000)),
        ("min_memory_gb=0", "min_memory_gb", Decimal(0)),
        ("as_of=2026-11-20", "as_of", TODAY),
        ("as_of=2026-10-30", "as_of", date(2026, 10, 30)),
        ("sort=-USD_PER_TBS_HOUR", "sort", "-usd_per_tbs_hour"),
        ("precision=FP8", "precision", "fp8"),
        ("baseline=H100-SXM", "baseline", "h100-sxm"),
        ("q=+two%0Awords++", "q", "two words"),
        ("q=%00"[:2], "q", ""),
        ("page=2", "page", 2),
    ],
)
def test_ways_to_write_a_value(text: str, field: str, value: object) -> None:
    assert getattr(parse(text), field) == value


def test_two_regions_that_differ_in_case_are_two() -> None:
    for order in (["us-east", "US-East"], ["US-East", "us-east"]):
        words = make_vocabulary(load_catalogue(), providers=[], regions=order, today=TODAY)
        for region in order:
            assert parse_query([("region", region)], words).region == (region,)


# ---------------------------------------------------------------- what may not


@pytest.mark.parametrize(
    ("text", "field", "value", "expected"),
    [
        ("gpu=h10", "gpu", "h10", "did you mean h100"),
        ("gpu=H100+SXM", "gpu", "H100 SXM", "h100-sxm"),
        ("gpu=h100,nonsense", "gpu", "nonsense", "use one of"),
        ("provider=runpd", "provider", "runpd", "did you mean runpod?"),
        ("pricing=ondemand", "pricing", "ondemand", "did you mean on_demand?"),
        ("service=vm", "service", "vm", "use one of dedicated_deployment, instance"),
        ("form_factor=sxm5", "form_factor", "sxm5", "sxm"),
        ("region=eu-north", "region", "eu-north", "eu, north"),
        ("columns=price", "columns", "price", "did you mean price_basis or price_multiple?"),
        ("min_gpus=0", "min_gpus", "0", "a whole number from 1 to 100000"),
        ("min_gpus=1.5", "min_gpus", "1.5", "a whole number"),
        ("max_gpus=-1", "max_gpus", "-1", "a whole number"),
        ("max_gpus=100001", "max_gpus", "100001", "a whole number"),
        ("max_gpus=%D9%A3", "max_gpus", "\u0663", "a whole number"),  # an Arabic digit
        ("min_memory_gb=NaN", "min_memory_gb", "NaN", "a number from 0 to 100000"),
        ("min_memory_gb=-0.1", "min_memory_gb", "-0.1", "a number from 0"),
        ("min_memory_gb=1_0", "min_memory_gb", "1_0", "a number from 0"),
        ("min_memory_gb=1e-999999999", "min_memory_gb", "1e-999999999", "at most 9 decimals"),
        ("min_memory_gb=0e-999999999", "min_memory_gb", "0e-999999999", "at most 9 decimals"),
        ("weights_gb=0", "weights_gb", "0", "a number from 0.001 to 1000000"),
        ("weights_gb=Infinity", "weights_gb", "Infinity", "a number from 0.001"),
        ("weights_gb=1e999999999", "weights_gb", "1e999999999", "a number from 0.001"),
        ("weights_gb=70GB", "weights_gb", "70GB", "a number from 0.001"),
        ("precision=fp32", "precision", "fp32", "did you mean"),
        ("baseline=h100", "baseline", "h100", "did you mean h100-nvl or h100-sxm or h100-pcie?"),
        ("as_of=2026-11-21", "as_of", "2026-11-21", "up to today, 2026-11-20"),
        ("as_of=20261030", "as_of", "20261030", "YYYY-MM-DD"),
        ("as_of=2026-02-30", "as_of", "2026-02-30", "YYYY-MM-DD"),
        ("as_of=yesterday", "as_of", "yesterday", "YYYY-MM-DD"),
        ("sort=-price", "sort", "price", "did you mean price_basis or price_multiple?"),
        ("sort=--tdp_w", "sort", "-tdp_w", "tdp_w"),
        ("q=" + "x" * 201, "q", "x" * 80 + "...", "at most 200 printable"),
        ("q=a%00b", "q", "a\0b", "printable"),
        ("q=%E2%80%AE", "q", "\u202e", "printable"),  # it turns the direction of what follows
        ("page=0", "page", "0", "a whole number from 1"),
        ("per_page=1001", "per_page", "1001", "a whole number from 1 to 1000"),
        ("page=1&page=2", "page", "2", "give it once"),
        ("gpus=h100", "parameter", "gpus", "did you mean"),
        ("GPU=h100", "parameter", "GPU", "lower case"),
        ("=h100", "parameter", "", "use one of"),
        ("min_gpus=9&max_gpus=8", "min_gpus", "9", "more than max_gpus=8"),
    ],
)
def test_a_refusal_names_the_field_its_value_and_what_would_be_right(
    text: str, field: str, value: str, expected: str
) -> None:
    error = refusal(text)
    assert (error.field, error.value) == (field, value)
    assert expected in error.expected
    assert str(error) == f"{field}: '{value}' is not right: {error.expected}"


def test_every_parameter_can_be_refused() -> None:
    for name in (*REPEATED, *SINGLE):
        error = refusal(f"{name}={'?' * (MAX_TEXT_LENGTH + 1)}")
        assert error.field == name
        assert error.expected


@given(st.lists(st.tuples(st.sampled_from([*REPEATED, *SINGLE, "x"]), st.text(max_size=30)), max_size=4))
@settings(max_examples=300, deadline=None)
def test_anything_else_is_read_or_refused_and_its_link_is_short(pairs: list[tuple[str, str]]) -> None:
    try:
        query = parse_query(pairs, VOCABULARY)
    except QueryError:
        return
    link = urlencode(query_pairs(query))
    assert parse(link) == query
    assert len(link) < 2000


NUMBERS = st.from_regex(r"[0-9]{0,7}(\.[0-9]{0,12})?([eE][-+]?[0-9]{1,11})?", fullmatch=True)


@given(st.sampled_from(["weights_gb", "min_memory_gb"]), NUMBERS)
@settings(max_examples=400, deadline=None)
def test_a_number_that_is_taken_has_a_link_that_is_taken(name: str, number: str) -> None:
    try:
        query = parse_query([(name, number)], VOCABULARY)
    except QueryError:
        return
    assert parse_query(query_pairs(query), VOCABULARY) == query
    if number:
        assert getattr(query, name) == Decimal(number)


@pytest.mark.parametrize("make", [lambda n: "h" * n, lambda n: "h100," * (n // 5), lambda n: "-" * n])
def test_a_long_value_is_refused_quickly(make: Callable[[int], str]) -> None:
    """The longest value a query string may carry; close names are looked for only among those as long."""
    for name in ("gpu", "sort", "provider", "region", "weights_gb", "min_gpus", "as_of"):
        if name != "gpu" or "," not in make(8000):
            refusal(f"{name}={make(7900)}")
