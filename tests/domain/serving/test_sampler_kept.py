"""What a link keeps of requests is judged as they are, under the same names, and holds no prompt."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.serving.batch import Verdict, judge
from app.domain.serving.reading import InputError, read_documents
from app.domain.serving.sampler import Server, read_config
from app.domain.serving.sampler_kept import kept_config, kept_requests
from app.domain.serving.sampler_rules import Endpoint
from tests.domain.serving import sampled


def judged(text: str, server: Server, endpoint: Endpoint) -> Verdict | InputError:
    try:
        return judge(read_documents(text.encode(), "requests"), server, endpoint=endpoint)
    except InputError as error:
        return error


@st.composite
def texts(draw: st.DrawFn, endpoint: Endpoint) -> str:
    """Return bodies as they are pasted: a line each, with empty lines, one over several lines, an array."""
    each = draw(sampled.bodies(endpoint))
    match draw(st.sampled_from(["lines", "array", "pretty array", "pretty"])):
        case "lines":
            ends = draw(st.lists(st.sampled_from(["\n", " ", "", "\n\n", " \n\n\n"]), min_size=5, max_size=5))
            return "".join(json.dumps(body) + end for body, end in zip(each, ends, strict=False))
        case "array":
            return json.dumps(each)
        case "pretty array":
            return json.dumps(each, indent=2)
        case _:
            return "\n".join(json.dumps(body, indent=2) for body in each)


@given(st.data())
def test_what_is_kept_is_judged_as_the_whole(data: st.DataObject) -> None:
    endpoint, server = data.draw(sampled.ENDPOINTS), data.draw(sampled.SERVERS)
    text = data.draw(texts(endpoint))
    full = judged(text, server, endpoint)
    kept = kept_requests(text.encode(), "requests", endpoint=endpoint)
    assert "secret" not in kept
    if isinstance(full, InputError):
        assert str(judged(kept, server, endpoint)) == str(full)
    else:
        assert judged(kept, server, endpoint) == full
    assert kept_requests(kept.encode(), "requests", endpoint=endpoint) == kept


@given(sampled.PLAIN)
def test_what_is_kept_of_a_config_is_read_as_the_whole(config: dict[str, Any]) -> None:
    text = json.dumps(config, indent=1)
    kept = kept_config(text.encode(), "generation_config")
    assert set(json.loads(kept)) <= {"temperature", "top_k", "top_p", "min_p"}
    numbers = {name: float(value) for name, value in read_config(text.encode(), "generation_config").items()}
    again = {name: float(value) for name, value in read_config(kept.encode(), "generation_config").items()}
    assert again == numbers


@pytest.mark.parametrize(
    ("endpoint", "text", "kept"),
    [
        ("chat", '{"model": "q", "top_p": 0.950, "top_k": null}\n\n{}\n', '{"top_p":0.95}\n\n{}'),
        ("chat", '{\n "messages": [],\n "min_p": 1e-7\n}', '{"min_p":1e-07}'),
        ("chat", '[{"top_k": 5}, {"seed": 1}]', '[{"top_k":5},{}]'),
        ("chat", '{"custom_id": "1", "body": {"top_k": 5}}', '{"top_k":5}'),
        ("chat", '{"sampling_params": {"top_k": 5}, "min_p": 0}', '{"min_p":0,"sampling_params":{}}'),
        ("generate", '{"text": "hello"}', '{"sampling_params":{}}'),
        ("generate", '{"text": "hello", "top_p": "none"}', '{"sampling_params":{},"top_p":1}'),
        (
            "generate",
            '{"text": ["a", "b"], "sampling_params": [{"top_k": 5, "stop": "x"}, {}]}',
            '{"sampling_params":[{"top_k":5},{}]}',
        ),
        ("generate", '{"top_k": 5, "stop": "x"}', '{"top_k":5}'),
    ],
)
def test_only_what_the_path_depends_on_is_kept(endpoint: Endpoint, text: str, kept: str) -> None:
    assert kept_requests(text.encode(), "requests", endpoint=endpoint) == kept


@pytest.mark.parametrize("text", ['{"top_k":5}\n' * 50, f"[{','.join(['{}'] * 50)}]", '{"top_k":5}' * 50])
def test_what_no_link_holds_is_not_worked_out_to_its_end(text: str) -> None:
    cut = kept_requests(text.encode(), "requests", endpoint="chat", most=30)
    whole = kept_requests(text.encode(), "requests", endpoint="chat")
    assert 30 < len(cut) < len(whole)
    assert kept_requests(text.encode(), "requests", endpoint="chat", most=len(whole)) == whole


def test_fields_beside_a_line_of_a_batch_file_are_told_like_those_of_a_body() -> None:
    line = {"body": {"text": "a", "top_p": 0.5}}
    (note,) = judge([("r", line)], Server(), endpoint="generate").notes
    assert note.startswith("/generate reads sampling_params alone")


def test_what_is_no_config_is_refused_by_its_name() -> None:
    for text in ("[]", "{}{}", "5", '{"top_p": 2}', ""):
        with pytest.raises(InputError) as refused:
            read_config(text.encode(), "generation_config")
        assert refused.value.field.startswith("generation_config")
