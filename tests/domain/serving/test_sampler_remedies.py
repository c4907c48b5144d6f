"""What puts a batch back on the fast path: cases by hand, and each way tried again on the changed input."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.serving.batch import judge
from app.domain.serving.reading import InputError
from app.domain.serving.sampler import Server, sampling_of
from app.domain.serving.sampler_remedies import Remedy, remedies
from app.domain.serving.sampler_rules import RULES, Endpoint
from tests.domain.serving import sampled

QWEN3: Any = {"temperature": 0.6, "top_p": 0.95, "top_k": 20}


def ways(
    *bodies: dict[str, Any], endpoint: Endpoint = "chat", ended: tuple[int, ...] = (), **started: Any
) -> tuple[Remedy, ...]:
    server = Server(**started)
    named = [(f"request {number}", body) for number, body in enumerate(bodies, start=1)]
    return remedies(judge(named, server, endpoint=endpoint, ended=ended), server, endpoint=endpoint)


def said(*bodies: dict[str, Any], **given: Any) -> list[list[str]]:
    return [way.sentences for way in ways(*bodies, **given)]


def test_a_plain_chat_request_to_a_qwen3_model_has_the_two_ways_that_the_published_check_names() -> None:
    stated, started = ways({}, generation_config=QWEN3)
    assert stated.sentences == ["State top_k -1 and top_p 1 in request 1."]
    assert [each.sentence for each in stated.moved] == [
        "top_k 20 becomes -1 (none) in 1 request",
        "top_p 0.95 becomes 1 in 1 request",
    ]
    assert started.sentences == ["Start the server with --sampling-defaults openai."]
    # The file's temperature goes with the filters: the endpoint's own is 1.
    assert started.moved[0].sentence == "temperature 0.6 becomes 1 in 1 request"
    assert [way.path for way in (stated, started)] == ["gumbel", "gumbel"]


def test_the_server_alone_is_not_enough_where_a_request_filters_itself() -> None:
    assert said({"top_p": 0.9}, {}, generation_config=QWEN3) == [
        ["State top_k -1 and top_p 1 in request 1, request 2."],
        [
            "Start the server with --sampling-defaults openai.",
            "State top_p 1 in request 1.",
            "Or serve those from another server: the other request is on the gumbel path then.",
        ],
    ]


def test_one_greedy_request_among_others() -> None:
    assert said({}, {"temperature": 0}, {}) == [
        [
            "State temperature 1 in request 2.",
            "Or serve those from another server: the other 2 are on the gumbel path then.",
        ]
    ]


def test_a_top_k_that_a_temperature_of_0_hides_has_to_go_too() -> None:
    assert said({"temperature": 0, "top_k": 20}) == [["State temperature 1 and top_k -1 in request 1."]]


def test_a_filter_that_ended_is_still_what_has_to_change() -> None:
    assert said({}, {"min_p": 0.05}, ended=(2,))[0][0] == "State min_p 0 in request 2."


def test_preferred_parameters_reach_generate() -> None:
    found = said({}, endpoint="generate", preferred={"top_k": 40, "top_p": 1.0})
    assert found == [
        ["State top_k -1 in sampling_params of request 1."],
        ["Start the server without top_k in --preferred-sampling-params."],
    ]


def test_both_of_the_servers_settings_only_where_both_matter() -> None:
    found = said({}, endpoint="responses", preferred={"top_k": 40}, generation_config={"top_p": 0.95})
    assert [each[0] for each in found] == [
        "State top_k -1 and top_p 1 in request 1.",
        "Start the server with --sampling-defaults openai.",
        "Start the server without top_k in --preferred-sampling-params.",
        "Start the server with --sampling-defaults openai and without top_k in --preferred-sampling-params.",
    ]
    assert found[1][1] == "State top_k -1 in request 1."


def test_deterministic_mode_is_left_in_every_way() -> None:
    assert said({}, deterministic=True) == [["Start the server without --enable-deterministic-inference."]]
    assert said({"top_k": 5}, deterministic=True) == [
        ["Start the server without --enable-deterministic-inference.", "State top_k -1 in request 1."]
    ]


def test_what_is_fast_or_over_needs_nothing() -> None:
    assert ways({}) == ()
    assert ways({"top_p": 0.5}, ended=(1,)) == ()


def test_many_requests_are_counted_and_ranges_of_values_given() -> None:
    (way,) = ways(*({"top_p": 0.5 + 0.01 * number} for number in range(30)))
    assert way.sentences == ["State top_p 1 in request 1, request 2, request 3 and 27 more."]
    assert way.stated == 30
    assert [each.sentence for each in way.moved] == ["top_p 0.5 to 0.79 becomes 1 in 30 requests"]


def applied(way: Remedy, server: Server) -> Server:
    words = " ".join(way.server)
    other = replace(server, deterministic=server.deterministic and "deterministic" not in words)
    if "openai" in words:
        other = replace(other, sampling_defaults="openai")
    if "preferred" in words:
        kept: Any = {name: value for name, value in (server.preferred or {}).items() if name not in words}
        other = replace(other, preferred=kept)
    return other


@given(st.data())
def test_each_way_holds_when_it_is_tried(data: st.DataObject) -> None:
    endpoint, server = data.draw(sampled.ENDPOINTS), data.draw(sampled.SERVERS)
    each = data.draw(st.lists(sampled.FIELDS, min_size=1, max_size=6))
    if endpoint == "completions":  # which refuses null
        each = [{field: value for field, value in one.items() if value is not None} for one in each]
    named = [(f"request {number}", body) for number, body in enumerate(each, start=1)]
    found = judge(named, server, endpoint=endpoint)
    ways = remedies(found, server, endpoint=endpoint)
    assert bool(ways) == (found.path != "gumbel")
    for way in ways:
        other, changed = applied(way, server), dict(named)
        for one in way.statements:
            for name in one.requests:
                changed[name] = {
                    **changed[name],
                    **{str(field): value for field, value in one.values.items()},
                }
        after = judge(list(changed.items()), other, endpoint=endpoint)
        assert (after.path, way.path) == ("gumbel", "gumbel")
        moved = {
            (field, was.asked[field], now.asked[field])
            for was, now in zip(found.requests, after.requests, strict=True)
            for field in was.asked
            if was.asked[field] != now.asked[field]
        }
        told = {(one.field, one.after): (one.least, one.most) for one in way.moved}
        assert {(field, now) for field, _, now in moved} == set(told)
        for key, (least, most) in told.items():
            befores = [was for field, was, now in moved if (field, now) == key]
            assert (min(befores), max(befores)) == (least, most)


@pytest.mark.parametrize(
    ("value", "words"), [(0.9999999, "0.9999999"), (20.0, "20"), (2**31 - 1, "2147483647")]
)
def test_a_value_is_said_with_all_its_digits(value: float, words: str) -> None:
    field = "top_p" if value < 1 else "top_k"
    (reason,) = judge([("r", {field: value})], Server(), endpoint="chat").reasons
    assert reason.sentence == f"r: {field} {words} from the request."


def test_neutral_values_are_what_the_rules_let_pass() -> None:
    neutral: dict[str, float] = dict(RULES.neutral.items())
    one = sampling_of(neutral, Server(), endpoint="chat", name="r")
    assert (one.top_k, one.top_p, one.min_p, one.is_greedy) == (2**30, 1, 0, False)
    with pytest.raises(InputError):
        sampling_of({"top_k": 0}, Server(), endpoint="chat", name="r")
