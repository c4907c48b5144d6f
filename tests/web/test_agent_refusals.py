"""What is refused at /mcp: wrong arguments by their names, bodies that are no question, pages elsewhere."""

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from app.settings import Settings
from app.web.agent import asking
from app.web.agent.endpoint import LARGEST_BODY_BYTES
from app.web.main import create_app
from tests.databases import empty_sqlite
from tests.web import market
from tests.web.asking import LLM, READING, document, refusal, serving
from tests.web.server import listening


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a served market."""
    with serving(tmp_path_factory.mktemp("agent")) as address:
        yield address


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("name", "arguments", "address"),
    [
        ("search_offers", {"gpu": "h1000"}, "/offers.json?gpu=h1000"),
        ("search_offers", {"min_gpus": 8, "max_gpus": 1}, "/offers.json?min_gpus=8&max_gpus=1"),
        ("search_offers", {"as_of": "2099-01-01"}, "/offers.json?as_of=2099-01-01"),
        ("compare_accelerators", {"gpu": ["h100-sxm"]}, "/compare.json?gpu=h100-sxm"),
        ("compare_accelerators", {"metric": "sku"}, "/compare.json?metric=sku"),
        ("price_history", {"metric": "colour"}, "/history.json?metric=colour"),
        ("price_history", {"provider": "acne"}, "/history.json?provider=acne"),
        ("llm_cost", {"llm": LLM, "batch": 0}, f"/llms/{LLM}.json?batch=0"),
        ("claims", {"as_of": "soon"}, "/claims.json?as_of=soon"),
        ("explain_figure", {"offer_id": 1, "precision": "fp7"}, "/offers/1.json?precision=fp7"),
    ],
)
def test_a_wrong_argument_is_refused_in_the_words_of_the_address(
    site: str, name: str, arguments: dict[str, Any], address: str
) -> None:
    answer = httpx2.get(site + address)
    assert answer.status_code == 422
    assert refusal(site, name, **arguments) == answer.json()["detail"]


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("search_offers", {"gpus": "h100"}, "argument: 'gpus' is not right: did you mean gpu"),
        ("search_offers", {"quote": "x"}, "argument: 'quote' is not right"),
        ("search_offers", {"limit": 101}, "limit: '101' is not right: give a whole number from 1 to 100"),
        ("search_offers", {"limit": 0}, "limit: '0' is not right"),
        ("search_offers", {"limit": -1}, "limit: '-1' is not right"),
        ("search_offers", {"limit": 2**63}, "limit: '9223372036854775808' is not right"),
        ("search_offers", {"min_gpus": 2**63}, "min_gpus: '9223372036854775808' is not right"),
        ("search_offers", {"min_memory_gb": 1e308}, "min_memory_gb: "),
        ("search_offers", {"page": [1, 2]}, "page: '2' is not right: give it once"),
        ("search_offers", {"gpu": {"is": "h100"}}, "gpu: .* give a text, a number, or a list of them"),
        ("search_offers", {"gpu": True}, "gpu: 'True' is not right: give a text, a number"),
        ("search_offers", {"q": "x" * 9000}, "q: 'x{80}...' is not right: keep it under 1,000 characters"),
        ("search_offers", {"gpu": ["h100"] * 600}, "gpu: '600 values' is not right: give at most 100"),
        (
            "search_offers",
            {"q": "x" * 200, "provider": ["y" * 900] * 9},
            "query string: .* keep it under 8000 characters",
        ),
        ("llm_cost", {}, "llm: '' is not right: use one of"),
        ("llm_cost", {"llm": "openai/gpt-oss-21b"}, "llm: .* did you mean openai/gpt-oss-20b"),
        ("explain_figure", {"offer_id": 10**15}, "There is no offer 1000000000000000; it may have been"),
        ("explain_figure", {"offer_id": -1}, "offer_id: '-1' is not right: give the number of an offer"),
        ("explain_figure", {"offer_id": 1, "figure": "colour"}, "figure: 'colour' is not right: use one of"),
        ("start_scrape", {"provider": "acme"}, "There is no tool 'start_scrape'"),
        ("decide_quarantine", {}, "There is no tool 'decide_quarantine'"),
    ],
)
def test_what_cannot_be_answered_is_an_error_result_with_a_sentence(
    site: str, name: str, arguments: dict[str, Any], sentence: str
) -> None:
    text = refusal(site, name, **arguments)
    assert httpx2.get(site + "/healthz").status_code == 200
    assert len(text) < 1_500
    assert re.match(sentence, text), text


def test_a_result_that_is_too_large_says_so(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MAX_RESULT_BYTES", 1_000)
    sentence = refusal(site, "search_offers", limit=100)
    assert sentence.startswith("The result would have ")
    assert sentence.endswith(" bytes, and at most 1,000 are given: lower limit, or ask for less.")


def test_a_fault_is_logged_and_its_words_are_kept_here(
    site: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_result: object) -> None:
        raise KeyError("inner words")

    monkeypatch.setattr("app.web.agent.tool.bounded", broken)
    assert refusal(site, "claims") == "Something broke here. The fault has been logged."
    (record,) = [each for each in caplog.records if each.name == "app.web.agent.server"]
    assert record.getMessage() == "The tool claims broke"


# ---------------------------------------------------------------- the way there


def sent(
    site: str, body: bytes, *, method: str = "POST", **headers: str
) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Send bytes to /mcp and give the status, the headers and the body of the answer."""
    address = urlsplit(site)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
    names = {"content-type": "application/json", "accept": "application/json"}
    names |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, "/mcp", body=body, headers=names)
        answer = connection.getresponse()
        text = answer.read()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, json.loads(text) if text.startswith(b"{") else {"text": text.decode()}
    finally:
        connection.close()


def question(name: str = "claims", arguments: str = "{}") -> bytes:
    params = f'{{"name": "{name}", "arguments": {arguments}}}'
    return f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'.encode()


def test_a_question_needs_no_handshake_and_is_answered_with_json(site: str) -> None:
    status, headers, answer = sent(site, question())
    assert (status, headers["content-type"]) == (200, "application/json")
    assert "mcp-session-id" not in headers
    assert headers["x-content-type-options"] == "nosniff"
    assert answer["result"]["structuredContent"]["total"] == len(document(f"{site}/claims.json")["claims"])


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_it_is_asked_with_post_alone(site: str, method: str) -> None:
    status, headers, answer = sent(site, b"", method=method)
    assert (status, headers["allow"]) == (405, "POST")
    assert answer["error"]["message"] == "Ask with POST."


HOSTILE: dict[str, Any] = {
    "past 64 bits": 2**63,
    "below zero": -1,
    "not a number": "NaN",
    "a truth": True,
    "a long text": "x" * 60_000,
    "many digits": "9" * 5_000,
    "many values": ["1"] * 10_000,
    "a list in a list": [[1]],
    "an object": {"a": {"b": [1]}},
    "a NUL": "a\x00b",
}
FINE = {
    "q": ("past 64 bits", "below zero", "not a number"),
    "where.provider": ("past 64 bits", "below zero", "not a number"),
    "where.usd_per_gpu_hour": ("below zero",),
}
"""What is no fault in an argument: words to look for, a price that is -1."""

ALSO = {"llm_cost": {"llm": LLM}, "explain_figure": {"offer_id": 1}}


def arguments_of(site: str, name: str) -> list[str]:
    """Give the names of a tool's arguments as it lists them, two conditions on columns for all."""
    _, _, answer = sent(site, b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}')
    (tool,) = (each for each in answer["result"]["tools"] if each["name"] == name)
    conditions = {"where.provider", "where.usd_per_gpu_hour"}
    return [key for key in tool["inputSchema"]["properties"] if "." not in key or key in conditions]


def words_of(site: str, name: str, **arguments: Any) -> str:
    """Give the words with which a tool refuses arguments."""
    status, _, answer = sent(site, question(name, json.dumps(arguments)))
    assert status == 200
    assert answer["result"]["isError"] is True, arguments
    (content,) = answer["result"]["content"]
    return str(content["text"])


@pytest.mark.parametrize("name", READING)
def test_every_argument_refuses_what_is_out_of_range_by_its_name(site: str, name: str) -> None:
    for argument in arguments_of(site, name):
        for why, value in HOSTILE.items():
            if why in FINE.get(argument, ()):
                continue
            text = words_of(site, name, **(ALSO.get(name, {}) | {argument: value}))
            assert text.startswith(f"{argument}: "), (why, text)
            assert len(text) < 1_500, (argument, why)


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("value", [None, [], "", 1, {"a": 1}])
def test_an_argument_that_is_none_is_refused_whatever_it_says(site: str, name: str, value: Any) -> None:
    for unknown in ("unknown", "", "where.colour", "__class__", "x" * 50_000):
        text = words_of(site, name, **ALSO.get(name, {}), **{unknown: value})
        assert text.startswith(f"argument: '{unknown[:40]}' is not right"), text
        assert len(text) < 1_500
    many = {f"unknown{number}": 1 for number in range(3_000)}
    assert words_of(site, name, **many).startswith("argument: 'unknown0' is not right")


@pytest.mark.parametrize(
    ("params", "word"),
    [
        (None, "params"),
        ([], "params"),
        (5, "params"),
        ({}, "params.name"),
        ({"name": 5}, "params.name"),
        ({"name": ["claims"]}, "params.name"),
        ({"name": "claims", "arguments": []}, "params.arguments"),
        ({"name": "claims", "arguments": "limit"}, "params.arguments"),
        ({"name": "claims", "arguments": 2**63}, "params.arguments"),
        ({"name": "claims", "arguments": False}, "params.arguments"),
    ],
)
def test_a_call_of_the_wrong_shape_is_refused_by_the_name_of_what_is_wrong(
    site: str, params: Any, word: str
) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    status, _, answer = sent(site, body)
    assert (status, answer["error"]["code"]) == (400, -32602)
    assert answer["error"]["message"].startswith(f"{word}: ")


def test_a_call_without_arguments_is_one(site: str) -> None:
    for text in ("{}", "null"):
        assert sent(site, question(arguments=text))[2]["result"]["isError"] is False


DEEP = '{"a": ' * 5_000 + "1" + "}" * 5_000


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The body is no JSON"),
        (b"{", "The body is no JSON"),
        (b"\xff\xfe{}", "The body is no JSON"),
        (question(arguments='{"limit": NaN}'), "The body is no JSON"),
        (question(arguments='{"limit": Infinity}'), "The body is no JSON"),
        (question(arguments='{"q": "\\ud800"}'), "The body is no JSON"),
        (question(arguments=DEEP), "The body is no JSON"),
        (question(arguments='{"a": ' * 500 + "1" + "}" * 500), ""),
        (b"[" * 60_000, "The body is no JSON"),
        (b"[]", ""),
        (b"9223372036854775808", ""),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "tools/list"}', "The body is no JSON"),
    ],
)
def test_a_body_that_is_no_question_is_a_bad_request(site: str, body: bytes, message: str) -> None:
    status, _, answer = sent(site, body)
    assert status == 400
    assert answer["error"]["message"].startswith(message)
    assert len(json.dumps(answer)) < 4_000


@pytest.mark.parametrize("name", [*READING, "start_scrape"])
def test_every_tool_refuses_numbers_that_are_none(site: str, name: str) -> None:
    assert sent(site, question(name, '{"limit": NaN}'))[0] == 400
    assert sent(site, question(name, '{"limit": -1e400}'))[0] == 400
    status, _, answer = sent(site, question(name, '{"limit": 9223372036854775808}'))
    assert status == 200
    assert answer["result"]["isError"] is True


def test_a_hundred_megabytes_are_refused_by_their_length_alone(site: str) -> None:
    address = urlsplit(site)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
    connection.putrequest("POST", "/mcp")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", "100000000")
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    error = json.loads(answer.read())["error"]
    assert error["message"] == f"The body has more than {LARGEST_BODY_BYTES} bytes."
    connection.close()


def test_a_body_of_unknown_length_is_read_up_to_the_bound_and_no_further(site: str) -> None:
    address = urlsplit(site)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
    connection.putrequest("POST", "/mcp")
    connection.putheader("content-type", "application/json")
    connection.putheader("transfer-encoding", "chunked")
    connection.endheaders()
    chunk = b"x" * 16_384
    for _ in range(5):
        connection.send(b"4000\r\n" + chunk + b"\r\n")
    answer = connection.getresponse()  # the end of the body was never sent
    assert answer.status == 413
    connection.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "localhost:1234"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"content_type": "text/plain"}, 400),
        ({"accept": "text/html"}, 406),
    ],
)
def test_pages_elsewhere_cannot_ask_a_server_of_this_machine(
    site: str, headers: dict[str, str], status: int
) -> None:
    assert sent(site, question(), **headers)[0] == status


@pytest.mark.parametrize(
    ("settings", "headers", "status"),
    [
        ({"host": "0.0.0.0"}, {"host": "anything.example"}, 200),  # noqa: S104 - it is not listened on
        ({"public_url": "https://prices.example"}, {"host": "prices.example"}, 200),
        ({"public_url": "https://prices.example"}, {"host": "evil.example"}, 421),
        ({"public_url": "https://prices.example"}, {"origin": "https://prices.example"}, 200),
        ({"public_url": "https://prices.example"}, {"origin": "https://prices.example.evil"}, 403),
    ],
)
def test_a_public_server_is_asked_by_its_own_name(
    tmp_path: Path, settings: dict[str, str], headers: dict[str, str], status: int
) -> None:
    url = empty_sqlite(tmp_path)
    market.fill(url, market=market.runs()[:1])
    application = create_app(Settings(DATABASE_URL=url, **settings), clock=lambda: market.NOW)  # type: ignore[arg-type]
    with listening(application) as address:
        code, _, answer = sent(address, question(), **headers)
    assert code == status
    if status == 200 and "public_url" in settings:
        there = answer["result"]["structuredContent"]["address"]
        assert there == "https://prices.example/claims"


def test_the_protocol_is_not_imported_before_somebody_asks() -> None:
    code = "import sys, app.web.main; print(sorted(name for name in sys.modules if name in ('mcp', 'jwt')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_summary_for_language_models_names_it(site: str) -> None:
    assert f"{site}/mcp" in httpx2.get(f"{site}/llms.txt").text
