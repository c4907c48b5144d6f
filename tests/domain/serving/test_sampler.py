"""The sampler's path of SGLang 0.5.20, by hand from its rules: merge order, filters, drains, refusals."""

from typing import Any

import pytest

from app.domain.serving.batch import Running, Verdict, judge
from app.domain.serving.reading import MOST_ENTRIES, InputError
from app.domain.serving.sampler import Server, sampling_of
from app.domain.serving.sampler_rules import Endpoint

QWEN3 = {"temperature": 0.6, "top_p": 0.95, "top_k": 20}
PLAIN: dict[str, Any] = {"model": "qwen3", "messages": [{"role": "user", "content": "hello"}]}


def verdict(
    *bodies: dict[str, Any], endpoint: Endpoint = "chat", ended: tuple[int, ...] = (), **server: Any
) -> Verdict:
    named = [(f"request {number}", body) for number, body in enumerate(bodies, start=1)]
    return judge(named, Server(**server), endpoint=endpoint, ended=ended)


def test_a_plain_chat_request_to_a_qwen3_model_is_filtered_by_its_top_k_and_top_p() -> None:
    found = verdict(PLAIN, generation_config=QWEN3)
    assert (found.path, found.is_fast) == ("filtered", False)
    assert [(one.field, one.value, one.source) for one in found.reasons] == [
        ("top_k", 20, "generation_config.json"),
        ("top_p", 0.95, "generation_config.json"),
    ]
    assert found.reasons[0].sentence == "request 1: top_k 20 from generation_config.json."


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [("chat", "filtered"), ("responses", "filtered"), ("completions", "gumbel"), ("generate", "gumbel")],
)
def test_which_endpoints_read_the_models_file(endpoint: Endpoint, path: str) -> None:
    assert verdict({}, endpoint=endpoint, generation_config=QWEN3).path == path


def test_responses_take_all_four_of_the_file_and_top_k_and_min_p_as_preferred_where_it_has_none() -> None:
    # serving_responses.py of 0.5.20 adds every key of the file that the request leaves out, and passes
    # neither top_k nor min_p on where both are silent.
    found = verdict({}, endpoint="responses", generation_config=QWEN3)
    assert [(one.field, one.value) for one in found.reasons] == [("top_k", 20), ("top_p", 0.95)]
    assert verdict({"top_p": 1.0}, endpoint="responses", generation_config=QWEN3).counts == {"top_k": 1}
    assert verdict({}, endpoint="responses", preferred={"top_k": 40}).path == "filtered"
    both = {"preferred": {"top_k": 40}, "generation_config": {"top_k": -1}}
    assert verdict({}, endpoint="responses", **both).path == "gumbel"
    assert verdict({}, endpoint="responses", preferred={"top_p": 0.9}).path == "gumbel"


def test_a_null_is_left_out_or_the_default_or_refused_by_endpoint() -> None:
    # 0.5.20: Optional in both of chat's and responses' requests; a float in completions'; and in /generate it
    # goes before what is preferred ({**preferred, **request}), then counts as the default (__post_init__).
    null = {"top_p": None}
    assert verdict(null, endpoint="chat", generation_config=QWEN3).path == "filtered"
    assert verdict(null, endpoint="responses", generation_config=QWEN3).path == "filtered"
    assert verdict(null, endpoint="generate", preferred={"top_p": 0.9}).path == "gumbel"
    nested = {"text": "hello", "sampling_params": {"top_p": None}}
    assert verdict(nested, endpoint="generate", preferred={"top_p": 0.9}).path == "gumbel"
    assert verdict({}, endpoint="generate", preferred={"top_p": 0.9}).path == "filtered"
    with pytest.raises(InputError, match=r"request 1: top_p.*null.*/v1/completions refuses null"):
        verdict(null, endpoint="completions")


def test_a_line_of_a_batch_file_for_another_endpoint_is_refused() -> None:
    line = {"custom_id": "a", "url": "/v1/completions", "body": {"prompt": "hello"}}
    assert verdict(line, endpoint="completions", generation_config=QWEN3).path == "gumbel"
    with pytest.raises(InputError, match=r"endpoint.*choose completions: request 1 goes to /v1/completions"):
        verdict(line, endpoint="chat", generation_config=QWEN3)
    proxied = {"custom_id": "a", "url": "/openai/v1/chat/completions", "body": PLAIN}
    assert verdict(proxied, generation_config=QWEN3).path == "filtered"


def test_what_only_a_client_reads_is_not_read_and_noted() -> None:
    found = verdict({**PLAIN, "extra_body": {"top_k": 20}})
    assert found.path == "gumbel"
    assert "extra_body" in found.notes[0]
    assert verdict({**PLAIN, "extra_body": {"cache_salt": "a"}}).notes == ()


def test_openai_defaults_leave_the_file_unread() -> None:
    found = verdict(PLAIN, generation_config=QWEN3, sampling_defaults="openai")
    assert (found.path, found.is_fast) == ("gumbel", True)
    assert found.notes == ("OpenAI's sampling defaults do not read generation_config.json.",)


def test_a_request_goes_before_the_file_and_null_is_as_if_left_out() -> None:
    off = {"top_p": 1.0, "top_k": -1}
    assert verdict(off, generation_config=QWEN3).path == "gumbel"
    assert verdict({"top_p": 1, "top_k": None}, generation_config=QWEN3).counts == {"top_k": 1}


def test_deterministic_mode_takes_the_place_of_the_fast_path_alone() -> None:
    assert verdict({}, deterministic=True).path == "deterministic"
    assert verdict({"temperature": 0}, deterministic=True).path == "greedy"
    assert verdict({"min_p": 0.05}, deterministic=True).path == "filtered"


def test_a_greedy_batch_is_named_for_what_makes_it_greedy() -> None:
    found = verdict({"temperature": 0, "top_p": 0.5}, {"top_k": 1, "min_p": 0.1})
    assert (found.path, found.is_fast) == ("greedy", False)
    assert [(one.request, one.field) for one in found.reasons] == [
        ("request 1", "temperature"),
        ("request 2", "top_k"),
    ]
    assert verdict({}, deterministic=True).reasons == ()


def test_one_greedy_request_among_others_filters_all_and_is_named() -> None:
    found = verdict({}, {"temperature": 0}, {})
    assert found.path == "filtered"
    assert [one.sentence for one in found.reasons] == [
        "request 2: temperature 0 from the request makes it greedy, which counts as top_k 1."
    ]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"temperature": 0.00000099}, "greedy"),
        ({"temperature": 0.000001}, "gumbel"),
        ({"top_k": 1}, "greedy"),
        ({"top_k": 2}, "filtered"),
        ({"top_k": 1073741824}, "gumbel"),
        ({"top_k": 1073741823}, "filtered"),
        ({"top_k": 20.0}, "filtered"),
        ({"top_k": 2147483647}, "filtered"),
        ({"min_p": 0}, "gumbel"),
        ({"min_p": 1e-9}, "filtered"),
        ({"top_p": 0.9999999}, "filtered"),
    ],
)
def test_the_edges_of_each_rule(body: dict[str, Any], path: str) -> None:
    assert verdict(body).path == path


def test_preferred_parameters_reach_generate_and_not_chat() -> None:
    preferred = {"top_k": 40}
    assert verdict({}, endpoint="generate", preferred=preferred).path == "filtered"
    assert verdict({"top_k": -1}, endpoint="generate", preferred=preferred).path == "gumbel"
    assert verdict({}, endpoint="responses", preferred=preferred).path == "filtered"
    chat = verdict({}, preferred=preferred)
    assert chat.path == "gumbel"
    assert chat.notes[0].startswith("The preferred top_k change nothing: /v1/chat/completions")
    assert verdict({}, endpoint="completions", preferred=preferred).path == "gumbel"


def test_generate_reads_its_own_parameters_one_set_for_each_prompt() -> None:
    outside = verdict({"text": "a", "top_p": 0.5}, endpoint="generate")
    assert outside.path == "gumbel"
    assert "fields beside it" in outside.notes[0]
    assert verdict({"top_p": 0.5}, endpoint="generate").notes == ()
    assert verdict({"text": "a"}, endpoint="generate").notes == ()
    two = {"text": ["a", "b"], "sampling_params": [{"temperature": 1}, {"top_p": 0.5}]}
    assert [one.request for one in verdict(two, endpoint="generate").reasons] == ["request 1 prompt 2"]
    assert verdict({"text": "a", "sampling_params": None}, endpoint="generate").path == "gumbel"


def test_parameters_of_generate_are_not_read_elsewhere_and_that_is_said() -> None:
    found = verdict({"body": {"sampling_params": {"top_k": 5}}})
    assert (found.path, found.notes) == (
        "gumbel",
        ("/v1/chat/completions does not read sampling_params; choose /generate if the requests go there.",),
    )


def test_a_line_of_a_batch_file_holds_its_request_under_body() -> None:
    line = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"top_k": 5}}
    assert verdict(line).counts == {"top_k": 1}


def test_the_flag_outlives_its_request_until_the_batch_has_drained() -> None:
    found = verdict({}, {"top_p": 0.95}, ended=(2,))
    assert (found.path, found.kept_by_ended) == ("filtered", True)
    assert [one.request for one in found.reasons] == ["request 2"]
    assert [one.name for one in found.requests] == ["request 1"]
    assert verdict({}, {"top_p": 0.95}, ended=(1,)).kept_by_ended is False
    empty = verdict({}, {"top_p": 0.95}, ended=(1, 2))
    assert (empty.path, empty.kept_by_ended) == (None, False)


def test_greedy_requests_stay_filtered_after_the_one_that_draws_has_ended() -> None:
    greedy, drawing = (
        sampling_of(body, Server(), endpoint="chat", name=name)
        for name, body in (("greedy", {"temperature": 0}), ("drawing", {}))
    )
    running = Running().join([greedy])
    assert running.path(deterministic=False) == "greedy"
    running = running.join([drawing]).end(["drawing"])
    assert running.path(deterministic=False) == "filtered"
    assert running.end(["greedy"]).join([greedy]).path(deterministic=False) == "greedy"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"temperature": -1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"temperature": "0.7"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"temperature": [0.7]}, "temperature"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": -2}, "top_k"),
        ({"top_k": 2**31}, "top_k"),
        ({"top_k": 2**63}, "top_k"),
        ({"top_k": 10**59}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.0001}, "top_p"),
        ({"min_p": -0.1}, "min_p"),
        ({"min_p": 2}, "min_p"),
    ],
)
def test_a_value_that_the_server_refuses_is_refused_by_name(body: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        verdict({}, body)
    assert refused.value.field == f"request 2: {field}"


def test_no_request_and_a_request_that_is_not_there() -> None:
    with pytest.raises(InputError, match="at least one"):
        verdict()
    many = {"sampling_params": [{}] * (MOST_ENTRIES + 1)}
    with pytest.raises(InputError, match="100,000 at most"):
        verdict(many, endpoint="generate")
    with pytest.raises(InputError, match="1 to 1"):
        verdict({}, ended=(2,))
    with pytest.raises(InputError, match="an object"):
        verdict({"sampling_params": 5}, endpoint="generate")
