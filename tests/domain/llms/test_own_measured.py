"""The reader's own measurement is read from a link, written back, and set beside bounds like any other."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.accelerators import load_catalogue
from app.domain.llms.beside_bounds import beside_bounds
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import KV_FORMATS
from app.domain.llms.measurements import Measurement
from app.domain.llms.own_measured import canonical_measured, parse_measured
from app.domain.names import fold
from app.domain.query_error import QueryError
from tests.domain.llms.shapes import LLAMA_70B

CARDS = load_catalogue().by_id
VARIANTS = fold(CARDS)
TODAY = date(2026, 11, 29)


def measured(text: str) -> Measurement:
    return parse_measured(text, VARIANTS, llm="made/llama-70b", day=TODAY)


def test_the_shortest_text_states_three_things() -> None:
    found = measured("41.5|h200-sxm|fp8")
    assert (found.value, found.accelerator, found.weights, found.gpus) == (
        Decimal("41.5"),
        "h200-sxm",
        "fp8",
        1,
    )
    assert (found.batch, found.context_in, found.kv, found.id) == (None, None, "", "yours")
    assert (found.kind, found.llm, found.as_of) == ("own", "made/llama-70b", TODAY)


def test_every_part_can_be_given_as_people_type_it() -> None:
    found = measured(" 3,200 | H200-SXM | FP8 | 8 | 32 | 4,096 | bf16 | my  rack ")
    assert (found.value, found.gpus, found.batch, found.context_in) == (Decimal(3200), 8, 32, 4096)
    assert (found.accelerator, found.weights, found.kv, found.id) == ("h200-sxm", "fp8", "bf16", "my rack")
    assert canonical_measured(found) == "3200|h200-sxm|fp8|8|32|4096|bf16|my rack"


def test_a_part_between_may_be_left_empty() -> None:
    found = measured("41.5|h200-sxm|fp8||1")
    assert (found.gpus, found.batch) == (1, 1)
    assert canonical_measured(found) == "41.5|h200-sxm|fp8||1"


def test_it_is_set_beside_the_ceiling_like_any_other() -> None:
    """4.8 TB/s over 69,503,033,344 B is 69.0617 tokens/s, of which 41.5 are 60.1 %."""
    beside = beside_bounds(measured("41.5|h200-sxm|fp8||1"), CARDS["h200-sxm"], profile=LLAMA_70B)
    assert isinstance(beside.times_one_stream, Decimal)
    assert float(beside.times_one_stream) == pytest.approx(41.5 / 69.0617, rel=1e-5)
    assert isinstance(beside.share_of_batch_bound, Decimal)
    assert round(beside.share_of_batch_bound, 9) == round(beside.times_one_stream, 9)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it has 1 of the parts tokens_per_s|accelerator|weights|gpus"),
        ("41|h200-sxm", "it has 2 of the parts"),
        ("41|h200-sxm|fp8|1|1|1|bf16|me|more", "it has 9 of the parts"),
        ("fast|h200-sxm|fp8", "tokens_per_s: 'fast' is no number"),
        ("0|h200-sxm|fp8", "tokens_per_s: give a number from 0.001"),
        ("-1|h200-sxm|fp8", "tokens_per_s: give a number from 0.001"),
        ("1.2345|h200-sxm|fp8", "tokens_per_s: give at most 3 decimals"),
        ("41|h200|fp8", "accelerator: 'h200' is none; did you mean"),
        ("41|h200-sxm|fp9", "weights: 'fp9' is none; did you mean"),
        ("41|h200-sxm|", "weights: '' is none"),
        ("41|h200-sxm|fp8|0", "gpus: give a number from 1"),
        ("41|h200-sxm|fp8|1.5", "gpus: give at most 0 decimals"),
        ("41|h200-sxm|fp8|1|0", "batch: give a number from 1"),
        ("41|h200-sxm|fp8|1|1|x", "context: 'x' is no number"),
        ("41|h200-sxm|fp8|1|1|1|int1", "kv: 'int1' is none"),
        ("41|h200-sxm|fp8|1|1|1|bf16|a\x07b", "name: give 1 to 40 printable characters"),
        ("4" * 301, "give at most 300 characters"),
    ],
)
def test_a_wrong_part_is_named_with_what_would_be_right(text: str, problem: str) -> None:
    with pytest.raises(QueryError) as refused:
        measured(text)
    assert refused.value.field == "measured"
    assert problem in refused.value.expected
    assert len(refused.value.value) <= 300


@settings(max_examples=300, deadline=None)
@given(
    value=st.decimals("0.001", "1000000", places=3),
    card=st.sampled_from(sorted(CARDS)),
    weights=st.sampled_from(sorted(FORMATS)),
    gpus=st.integers(1, 100_000),
    batch=st.none() | st.integers(1, 1_000_000),
    context=st.none() | st.integers(0, 100_000_000),
    kv=st.sampled_from(["", *KV_FORMATS]),
)
def test_what_is_written_reads_back_as_it_was(
    value: Decimal, card: str, weights: str, gpus: int, batch: int | None, context: int | None, kv: str
) -> None:
    numbers = ["" if each is None else str(each) for each in (batch, context)]
    found = measured("|".join([str(value), card, weights, str(gpus), *numbers, kv]))
    assert measured(canonical_measured(found)) == found


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=320) | st.lists(st.text(max_size=12), max_size=10).map("|".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = measured(text)
    except QueryError:
        return
    assert measured(canonical_measured(found)) == found
