"""What programs ask at /mcp: the SDK's own client over HTTP gets what the addresses say, and little else."""

import asyncio
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, TextContent, TextResourceContents

from app.settings import Settings
from app.web.agent import asking
from app.web.agent.endpoint import LARGEST_BODY_BYTES
from app.web.main import create_app
from tests.databases import empty_sqlite
from tests.web import market
from tests.web.server import listening

READING = ["search_offers", "compare_accelerators", "llm_cost", "price_history", "claims", "explain_figure"]
LLM = "openai/gpt-oss-20b"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a served market."""
    url = empty_sqlite(tmp_path_factory.mktemp("agent"))
    market.fill(url)
    with listening(create_app(Settings(DATABASE_URL=url), clock=lambda: market.NOW)) as address:
        yield address


T = TypeVar("T")


def asked(site: str, ask: Callable[[Client], Awaitable[T]], *, mode: str = "auto") -> T:
    """Give what the SDK's client gets."""

    async def run() -> T:
        async with Client(f"{site}/mcp", mode=mode) as client:
            return await ask(client)

    return asyncio.run(run())


def called(site: str, name: str, **arguments: Any) -> CallToolResult:
    async def ask(client: Client) -> CallToolResult:
        await client.list_tools()  # so that the client holds the result to the schema that it was told
        return await client.call_tool(name, arguments)

    return asked(site, ask)


def result(site: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Give the result of a tool that is no error; as text it says the same."""
    found = called(site, name, **arguments)
    assert not found.is_error, found.content
    (content,) = found.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == found.structured_content
    document: dict[str, Any] = found.structured_content
    return document


def refusal(site: str, name: str, **arguments: Any) -> str:
    found = called(site, name, **arguments)
    assert found.is_error
    (content,) = found.content
    assert isinstance(content, TextContent)
    return content.text


def document(address: str) -> dict[str, Any]:
    answer = httpx2.get(address)
    assert answer.status_code == 200, address
    found: dict[str, Any] = answer.json()
    return found


# ---------------------------------------------------------------- what is there


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_that_read_are_listed_and_none_that_writes(site: str, mode: str) -> None:
    tools = asked(site, lambda client: client.list_tools(), mode=mode).tools
    assert [tool.name for tool in tools] == READING
    for tool in tools:
        hints = tool.annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (True, False, False)
        assert tool.description
        assert tool.output_schema is not None
        assert tool.input_schema["additionalProperties"] is False


def test_no_tool_takes_figures_of_the_readers_own(site: str) -> None:
    for tool in asked(site, lambda client: client.list_tools()).tools:
        assert not {"quote", "own", "measured"} & set(tool.input_schema["properties"])


# ---------------------------------------------------------------- the same as the addresses


CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("search_offers", {"gpu": ["h100", "h200"], "sort": "-usd_per_gpu_hour", "limit": 5, "page": 2}, "rows"),
    ("compare_accelerators", {"gpu": ["h100-sxm", "h200-sxm"], "metric": "usd_per_gpu_hour"}, "lines"),
    ("llm_cost", {"llm": LLM, "batch": "1,8", "limit": 100}, "offers"),
    ("claims", {}, "claims"),
    ("claims", {"as_of": "2026-11-14"}, "claims"),
    ("explain_figure", {"offer_id": 3}, "worked"),
]


@pytest.mark.parametrize(("name", "arguments", "key"), CALLS)
def test_a_tool_gives_the_rows_of_the_address_that_it_names(
    site: str, name: str, arguments: dict[str, Any], key: str
) -> None:
    found = result(site, name, **arguments)
    there = document(found["json_address"])
    assert found["rows"] == there[key][: found["limit"]]
    assert found["rows"]
    assert found["as_of"] == there["as_of"]
    assert found["total"] == there.get("total", len(there[key]))
    assert found["source"]
    assert httpx2.get(found["address"]).status_code == 200


def test_offers_carry_units_a_source_and_a_date(site: str) -> None:
    found = result(site, "search_offers", gpu="h100-sxm", provider="acme", limit=1)
    (row,) = found["rows"]
    assert found["units"]["usd_per_gpu_hour"] == "$/GPU-h"
    assert found["units"]["usd_per_tbs_hour"] == "$/TB/s-h"
    assert row["source_url"] == "https://acme.example/pricing"
    assert row["observed_at"].endswith("Z")
    assert row["usd_per_tbs_hour"] == pytest.approx(row["usd_per_gpu_hour"] / 3.35)
    assert found["address"] == f"{site}/?gpu=h100-sxm&provider=acme&page=1&per_page=1"


def test_history_gives_each_stretch_once_the_latest_first(site: str) -> None:
    found = result(site, "price_history", gpu="h100-sxm", limit=100)
    lines = document(found["json_address"])["lines"]
    expected = [
        (line["provider"], line["line"], each["from"], each["usd_per_gpu_hour"])
        for line in lines
        for each in line["stretches"]
    ]
    rows = [(row["provider"], row["line"], row["from"], row["usd_per_gpu_hour"]) for row in found["rows"]]
    assert sorted(rows) == sorted(expected)
    assert [row[2] for row in rows] == sorted((row[2] for row in rows), reverse=True)
    assert found["units"]["value"] == "$/GPU-h"


def test_pages_together_are_all_rows_in_a_stable_order(site: str) -> None:
    whole = result(site, "price_history", limit=100)["rows"]
    rows, page = [], 1
    while page:
        part = result(site, "price_history", limit=5, page=page)
        assert len(part["rows"]) <= 5
        rows += part["rows"]
        page = part["next_page"]
    assert rows == whole
    assert len(rows) > 5


def test_one_figure_comes_with_the_numbers_in_it(site: str) -> None:
    offer = result(site, "search_offers", gpu="h100-sxm", limit=1)["rows"][0]
    found = result(site, "explain_figure", offer_id=offer["offer_id"], figure="usd_per_tbs_hour")
    (row,) = found["rows"]
    assert (row["key"], row["unit"]) == ("usd_per_tbs_hour", "$/TB/s-h")
    assert "3.35" in row["working"]
    assert found["about"]["source_url"] in found["source"]
    assert found["about"]["fragment"] == offer["fragment"]


def test_accelerators_and_the_methodology_can_be_read(site: str) -> None:
    async def ask(client: Client) -> list[Any]:
        uris = [str(each.uri) for each in (await client.list_resources()).resources]
        templates = await client.list_resource_templates()
        assert [each.uri_template for each in templates.resource_templates] == [
            "inferprice://accelerators/{variant}"
        ]
        return [
            (await client.read_resource(uri)).contents[0]
            for uri in (*uris, "inferprice://accelerators/h200-sxm")
        ]

    texts = []
    for content in asked(site, ask):
        assert isinstance(content, TextResourceContents)
        assert content.mime_type == "application/json"
        texts.append(json.loads(content.text))
    addresses = ("gpus.json", "methodology.json", "gpus/h200-sxm.json")
    assert texts == [document(f"{site}/{each}") for each in addresses]
    assert texts[2]["id"] == "h200-sxm"


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("inferprice://offers", "There is no resource inferprice://offers."),
        ("inferprice://accelerators/h1000", "variant: 'h1000' is not right"),
    ],
)
def test_a_resource_that_is_not_there_is_a_sentence(site: str, uri: str, sentence: str) -> None:
    async def ask(client: Client) -> str:
        try:
            await client.read_resource(uri)
        except MCPError as error:
            return error.message
        return ""

    assert asked(site, ask).startswith(sentence)


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
        ("search_offers", {"q": "x" * 9000}, "query string: .* keep it under 8000 characters"),
        ("search_offers", {"gpu": ["h100"] * 600}, "query string: .* keep it under"),
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
