"""The tool on SGLang's sampler: the published cases, what its link keeps, and what it refuses by name."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.query import QueryError
from app.domain.serving.batch import judge
from app.domain.serving.documents import sampler_document
from app.domain.serving.sampler import Server
from app.domain.serving.sampler_remedies import remedies
from app.web.tools import sampler
from app.web.tools.fields import pairs_of, read_typed
from app.web.tools.sampler import TOOL, Found, find, kept
from tests.domain.serving import sampled

PATH = "/tools/sampler"
EXPECTED = Path(__file__).resolve().parents[4] / "shared" / "expected"
QWEN3 = '{"temperature": 0.6, "top_p": 0.95, "top_k": 20}'
CHAT = '{"model": "Qwen/Qwen3-8B", "messages": [{"role": "user", "content": "hello"}]}'


def found(tools: TestClient, **typed: str) -> dict[str, Any]:
    answer: dict[str, Any] = tools.get(f"{PATH}.json?{urlencode(typed)}").json()["found"]
    return answer


def page(tools: TestClient, **typed: str) -> LexborHTMLParser:
    answer = tools.get(f"{PATH}?{urlencode(typed)}")
    assert answer.status_code == 200
    return LexborHTMLParser(answer.text)


def texts(tree: LexborHTMLParser, selector: str) -> list[str]:
    return [" ".join(node.text().split()) for node in tree.css(selector)]


def test_a_plain_chat_request_to_a_qwen3_model_is_filtered_by_the_models_file(tools: TestClient) -> None:
    """The published case: the file sets top_k and top_p, though the request states neither."""
    told = found(tools, requests=CHAT, generation_config=QWEN3)
    assert (told["path"], told["is_fast_path"], told["version"]) == ("filtered", False, "SGLang 0.5.20")
    assert [(one["field"], one["value"], one["source"]) for one in told["reasons"]] == [
        ("top_k", 20, "generation_config.json"),
        ("top_p", 0.95, "generation_config.json"),
    ]
    tree = page(tools, requests=CHAT, generation_config=QWEN3)
    assert texts(tree, "#found h2")[0] == "No request of this batch takes the fast path"
    assert texts(tree, "section[aria-labelledby=why] li") == [
        "requests line 1: top_k 20 from generation_config.json.",
        "requests line 1: top_p 0.95 from generation_config.json.",
    ]
    assert "until it has drained" in tree.css_first("section[aria-labelledby=why]").text()
    assert "94602c9c" in tree.css_first("section[aria-labelledby=rules]").text()
    # The published advice: state both in the request, or start with the other defaults.
    assert [one.partition(" Then ")[0] for one in texts(tree, "#found ol li")] == [
        "State top_k -1 and top_p 1 in requests line 1.",
        "Start the server with --sampling-defaults openai.",
    ]


def test_each_published_way_is_found_fast(tools: TestClient) -> None:
    stated = found(tools, requests='{"top_k": -1, "top_p": 1.0}', generation_config=QWEN3)
    openai = found(tools, requests=CHAT, generation_config=QWEN3, sampling_defaults="openai")
    generate = found(tools, requests='{"text": ""}', generation_config=QWEN3, endpoint="generate")
    without = found(tools, requests=CHAT)
    for told in (stated, openai, generate, without):
        assert (told["path"], told["is_fast_path"], told["ways_back"]) == ("gumbel", True, [])
    assert texts(page(tools, requests=CHAT), "#found h2")[0] == "This batch takes the fast path"


def test_what_has_ended_keeps_the_path(tools: TestClient) -> None:
    typed = {"requests": '{}\n{"top_p": 0.95}', "ended": "2"}
    told = found(tools, **typed)
    assert (told["path"], told["kept_by_ended_request"], told["path_afresh"]) == ("filtered", True, "gumbel")
    tree = page(tools, **typed)
    (notice,) = texts(tree, "section[aria-labelledby=why] .notice")
    assert notice == (
        "Kept by what has ended: no request that still runs asks for this path."
        " In a batch that starts afresh they take the gumbel path."
    )
    assert texts(tree, "#found table tbody td:last-child") == ["running", "ended"]
    over = page(tools, **{**typed, "ended": "1, 2"})
    assert texts(over, "#found h2")[0] == "The batch has drained"


def test_the_table_shows_what_the_scheduler_sees_and_from_where(tools: TestClient) -> None:
    typed = {
        "requests": '{"temperature": 0, "top_k": 5}\n{"min_p": 0.05}',
        "endpoint": "generate",
        "preferred": '{"top_p": 0.9}',
    }
    tree = page(tools, **typed)
    cells = texts(tree, "#found table tbody td")
    assert cells[:5] == [
        "0counts as 1, greedy; the request",
        "1by the temperature",
        "0.9the preferred sampling parameters",
        "0the endpoint's default",
        "running",
    ]
    assert cells[5:9] == [
        "1the endpoint's default",
        "none1,073,741,824; the endpoint's default",
        "0.9the preferred sampling parameters",
        "0.05the request",
    ]
    assert texts(tree, "#found table tbody strong") == ["0", "0.9", "0.9", "0.05"]
    lines = list(csv.DictReader(io.StringIO(tools.get(f"{PATH}.csv?{urlencode(typed)}").text)))
    assert [(line["request"], line["top_k"], line["asked_top_k"]) for line in lines] == [
        ("requests line 1", "1", "5"),
        ("requests line 2", "1073741824", "-1"),
    ]
    assert lines[1]["off_fast_path_by"] == "top_p | min_p"
    assert lines[1]["top_p_from"] == "the preferred sampling parameters"


def test_a_greedy_request_among_others_and_alone(tools: TestClient) -> None:
    mixed = page(tools, requests='{}\n{"temperature": 0}\n{}')
    assert texts(mixed, "section[aria-labelledby=why] li") == [
        "requests line 2: temperature 0 from the request makes it greedy, which counts as top_k 1."
    ]
    assert "the other 2 are on the gumbel path then" in mixed.css_first("#found ol").text()
    alone = page(tools, requests='{"temperature": 0}')
    assert texts(alone, "#found h2")[:2] == [
        "Nothing is drawn: every request is greedy",
        "What makes it greedy",
    ]
    assert "says nothing about that change" in alone.css_first("p.verdict").text()


def test_a_null_is_kept_in_the_link_where_it_decides(tools: TestClient) -> None:
    data = {"requests": '{"text": "secret", "sampling_params": {"top_p": null}}', "endpoint": "generate"}
    answer = tools.post(PATH, data={**data, "preferred": '{"top_p": 0.9}'}, follow_redirects=True)
    assert answer.url.params["requests"] == '{"sampling_params":{"top_p":null}}'
    assert texts(LexborHTMLParser(answer.text), "#found h2")[0] == "This batch takes the fast path"
    refused = tools.post(PATH, data={"requests": '{"top_p": null}', "endpoint": "completions"})
    assert refused.status_code == 422
    assert "/v1/completions refuses null" in refused.text


def test_a_batch_file_of_another_endpoint_marks_the_endpoint(tools: TestClient) -> None:
    line = '{"custom_id": "a", "url": "/v1/completions", "body": {"prompt": "secret"}}'
    answer = tools.post(PATH, data={"requests": line})
    assert answer.status_code == 422
    assert "choose completions" in answer.text


def test_many_requests_are_counted_and_not_all_shown(tools: TestClient) -> None:
    answer = tools.post(PATH, data={"requests": '{"top_p": 0.5, "top_k": 7}\n' * 300})
    assert answer.status_code == 200
    assert "too long for a link" in answer.text
    tree = LexborHTMLParser(answer.text)
    assert len(tree.css("section[aria-labelledby=why] li")) == 20
    assert "and 580 more; the JSON has all. In all top_k in 300, top_p in 300." in " ".join(
        tree.css_first("section[aria-labelledby=why]").text().split()
    )
    assert len(tree.css("#found table tbody tr")) == 50
    assert "The first 50 of 300 requests" in tree.text()
    assert "requests line 1, requests line 2, requests line 3 and 297 more" in tree.text()


def test_more_requests_than_a_server_batches_are_left_to_the_command(
    tools: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "MOST_REQUESTS", 3)
    assert tools.get(f"{TOOL.path}.json", params={"requests": "{}\n" * 3}).status_code == 200
    answer = tools.get(f"{TOOL.path}.json", params={"requests": "{}\n" * 4})
    assert answer.status_code == 422
    assert answer.json()["detail"] == (
        "requests: '4 requests' is not right: give at most 3; the command below takes more"
    )


def test_the_form_leads_to_a_link_without_prompts_that_finds_the_same(tools: TestClient) -> None:
    typed = {
        "requests": f'{CHAT}\n\n{{"messages": [{{"content": "my secret"}}], "top_p": 0.950, "seed": 7}}\n',
        "generation_config": '{"temperature": 0.6, "top_k": 20, "eos_token_id": [151645], "top_p": null}',
        "preferred": '{"stop": "my secret"}',
        "ended": "2 1, 2",
    }
    answer = tools.post(PATH, data=typed)
    assert answer.status_code == 303
    link = answer.headers["location"]
    assert parse_qs(urlsplit(link).query) == {
        "requests": ['{}\n\n{"top_p":0.95}'],
        "generation_config": ['{"temperature":0.6,"top_k":20}'],
        "preferred": ["{}"],
        "ended": ["1, 2"],
    }
    told = tools.get(link.replace(PATH, f"{PATH}.json", 1)).json()["found"]
    assert told == found(tools, **typed)
    assert [one["request"] for one in told["ended"]] == ["requests line 1", "requests line 3"]


@given(st.data())
def test_a_link_finds_what_the_form_found(data: st.DataObject) -> None:
    endpoint = data.draw(sampled.ENDPOINTS)
    each = data.draw(sampled.bodies(endpoint))
    lines = "\n".join(json.dumps(body) for body in each)
    pairs = {
        "requests": data.draw(st.sampled_from([lines, json.dumps(each, indent=1)])),
        "endpoint": endpoint,
        "sampling_defaults": data.draw(st.sampled_from(["model", "openai"])),
        "generation_config": data.draw(st.just("") | sampled.PLAIN.map(json.dumps)),
        "preferred": data.draw(st.just("") | sampled.PLAIN.map(json.dumps)),
        "deterministic": data.draw(st.sampled_from(["", "on"])),
        "ended": data.draw(st.sampled_from(["", "1", "1, 2", "3 1"])),
    }
    typed = read_typed(TOOL.fields, list(pairs.items()))
    try:
        full = find(typed, {})
    except QueryError:
        return
    shorter = read_typed(TOOL.fields, pairs_of(TOOL.fields, kept(typed)))
    assert isinstance(full, Found)
    assert find(shorter, {}) == full
    assert "secret" not in "".join(shorter.texts.values())
    assert kept(shorter) == shorter.texts


def test_the_twin_is_the_domains_document(tools: TestClient) -> None:
    config: Any = json.loads(QWEN3)
    server = Server(generation_config=config, deterministic=True)
    bodies = [("requests entry 1", {"top_p": 1}), ("requests entry 2", {"temperature": 0})]
    verdict = judge(bodies, server, endpoint="responses", ended=[2])
    document = sampler_document(verdict, remedies(verdict, server, endpoint="responses"))
    told = found(
        tools,
        requests='[{"top_p": 1}, {"temperature": 0}]',
        generation_config=QWEN3,
        endpoint="responses",
        deterministic="on",
        ended="2",
    )
    assert told == json.loads(json.dumps(document, default=float))


def test_the_command_says_what_was_chosen(tools: TestClient) -> None:
    tree = page(
        tools,
        requests='{}\n{"top_p": 0.5}',
        generation_config=QWEN3,
        endpoint="generate",
        sampling_defaults="openai",
        preferred='{"top_k": 5}',
        deterministic="on",
        ended="2,1",
    )
    assert tree.css_first("pre.command").text() == (
        "inferprice check sampler requests.jsonl --generation-config generation_config.json"
        " --endpoint generate --sampling-defaults openai --preferred preferred.json --deterministic"
        " --ended 2 --ended 1"
    )


@pytest.mark.parametrize(
    ("typed", "wrong", "expected"),
    [
        ({"requests": '{}\n{"top_p": 2}'}, "requests", "Requests line 2: top_p: “2” is not right"),
        ({"requests": '{"top_k": 0}'}, "requests", "Requests line 1: top_k: “0” is not right"),
        ({"requests": "[]"}, "requests", "needs at least one"),
        ({"requests": '{"a": '}, "requests", "give JSON"),
        (
            {
                "requests": '{"text": ["a", "b"], "sampling_params": [{}, {"min_p": 2}]}',
                "endpoint": "generate",
            },
            "requests",
            "Requests line 1 prompt 2: min_p",
        ),
        ({"requests": '{"sampling_params": 5}', "endpoint": "generate"}, "requests", "give an object"),
        ({"requests": "{}", "generation_config": '{"top_p": 0}'}, "generation_config", "json: top_p: “0”"),
        ({"requests": "{}", "generation_config": "{}{}"}, "generation_config", "give one JSON object"),
        ({"requests": "{}", "preferred": '{"temperature": "hot"}'}, "preferred", "temperature: “hot”"),
        ({"requests": "{}", "ended": "2"}, "ended", "give the number of a request, 1 to 1"),
        ({"requests": "{}", "ended": "x"}, "ended", "give a whole number"),
        ({"generation_config": QWEN3}, "requests", "paste at least one request body"),
    ],
)
def test_what_is_wrong_is_marked_in_its_field_and_nothing_is_lost(
    tools: TestClient, typed: dict[str, str], wrong: str, expected: str
) -> None:
    for answer in (tools.get(f"{PATH}?{urlencode(typed)}"), tools.post(PATH, data=typed)):
        assert answer.status_code == 422
        tree = LexborHTMLParser(answer.text)
        assert [each.attributes["id"] for each in tree.css("[aria-invalid]")] == [wrong]
        assert expected in tree.css_first("p.notice[role=alert]").text()
        for name, text in typed.items():
            if name not in {"endpoint", "ended"}:
                assert tree.css_first(f"#{name}").text() == text
    problem = tools.get(f"{PATH}.json?{urlencode(typed)}")
    assert (problem.status_code, problem.json()["field"].split()[0].rstrip(":")) == (422, wrong)


def test_markup_is_text_in_every_field(tools: TestClient) -> None:
    markup = "<script>alert(1)</script>"
    for name in ("requests", "generation_config", "preferred", "ended"):
        answer = tools.post(PATH, data={"requests": "{}", name: markup})
        assert answer.status_code == 422
        assert markup not in answer.text
        assert "&lt;script&gt;" in answer.text
    for name in ("endpoint", "sampling_defaults", "deterministic"):
        answer = tools.get(f"{PATH}?{urlencode({'requests': '{}', name: markup})}")
        assert answer.status_code == 422
        assert markup not in answer.text


def test_the_timings_add_up_as_published(tools: TestClient) -> None:
    # Saved per call as printed: 98.1, 108.7, 647.4 and 97.3 µs.
    told = found(tools, requests="{}")["timed"]
    assert [each["saved_us"] for each in told] == [98.1, 108.7, 647.4, 97.3]
    assert "143.2 &minus; 45.1 = 98.1" in tools.get(PATH).text


@pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")
def test_every_row_of_the_truth_table_through_the_page(tools: TestClient) -> None:
    with (EXPECTED / "sampler_path_truth_table.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 120
    for line in lines:
        typed = {
            "requests": line["request_json"],
            "endpoint": "chat" if line["endpoint"] == "chat" else "generate",
            "generation_config": QWEN3 if line["generation_config"] == "qwen3" else "",
            "sampling_defaults": line["sampling_defaults"],
            "deterministic": "on" if line["deterministic"] == "True" else "",
        }
        answer = tools.post(PATH, data=typed)
        told = tools.get(answer.headers["location"].replace(PATH, f"{PATH}.json", 1)).json()["found"]
        seen = ";".join(str(one["top_k"]) for one in told["running"])
        assert (told["path"], seen) == (line["path"], line["normalized_top_k"]), line
