"""What programs ask at /mcp: the SDK's own client over HTTP gets what the addresses say."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp_types import TextResourceContents

from app.domain.accelerators import load_catalogue
from tests.web.asking import ARGUMENTS, LLM, READING, asked, called, document, result, serving, text_of


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a served market."""
    with serving(tmp_path_factory.mktemp("agent")) as address:
        yield address


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


def test_the_rule_of_a_condition_is_told_once_for_words_and_once_for_numbers(site: str) -> None:
    (tool, *_) = asked(site, lambda client: client.list_tools()).tools
    told = {
        name: each["description"]
        for name, each in tool.input_schema["properties"].items()
        if name.startswith("where.")
    }
    rules = {name: text for name, text in told.items() if not text.startswith("As ")}
    assert list(rules) == ["where.provider", "where.gpu_count"]
    assert {text for name, text in told.items() if name not in rules} == {f"As {name}." for name in rules}
    assert told["where.region"] == "As where.provider."
    assert told["where.usd_per_tbs_hour"] == "As where.gpu_count."


# ---------------------------------------------------------------- the same as the addresses


CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("search_offers", {"gpu": ["h100", "h200"], "sort": "-usd_per_gpu_hour", "limit": 5, "page": 2}, "rows"),
    ("compare_accelerators", {"gpu": ["h100-sxm", "h200-sxm"], "metric": "usd_per_gpu_hour"}, "lines"),
    ("llm_cost", {"llm": LLM, "batch": "1,8", "limit": 100}, "offers"),
    ("claims", {}, "claims"),
    ("claims", {"as_of": "2026-11-14"}, "claims"),
    ("explain_figure", {"offer_id": 3}, "worked"),
]


def as_there(row: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    """Give a row without what the tool adds to what the address has: its source and warnings."""
    plain = {key: value for key, value in row.items() if key in like}
    if "cells" in like:
        plain["cells"] = [
            {key: value for key, value in cell.items() if key in like["cells"][0]} for cell in row["cells"]
        ]
    return plain


@pytest.mark.parametrize(("name", "arguments", "key"), CALLS)
def test_a_tool_gives_the_rows_of_the_address_that_it_names(
    site: str, name: str, arguments: dict[str, Any], key: str
) -> None:
    found = result(site, name, **arguments)
    there = document(found["json_address"])
    assert [as_there(row, there[key][0]) for row in found["rows"]] == there[key][: found["limit"]]
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


def prices(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Give what in a result has a price."""
    return [priced for row in found["rows"] for priced in row.get("cells", [row])]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_offers", {}),
        ("compare_accelerators", {"gpu": ["h100-sxm", "h200-sxm", "b200-sxm"]}),
        ("compare_accelerators", {"as_of": "2026-11-05"}),
        ("llm_cost", {"llm": LLM}),
        ("llm_cost", {"llm": LLM, "as_of": "2026-11-05"}),
        ("price_history", {}),
        ("price_history", {"gpu": "b200-sxm"}),  # oldhost has taken its B200 off the list since
    ],
)
def test_every_price_says_where_and_when_it_was_read(site: str, name: str, arguments: dict[str, Any]) -> None:
    found = result(site, name, limit=12, **arguments)
    known = [each for each in prices(found) if each["usd_per_gpu_hour"] is not None]
    assert known
    for each in known:
        evidence = f"{site}/offers/{each['offer_id']}.json"
        assert each["source_url"].endswith(".example/pricing")
        assert each["observed_at"].endswith("Z")
        assert each["observed_at"] <= arguments.get("as_of", found["as_of"]) + "T24"
        if name == "price_history":
            assert each["source_url"] == f"https://{each['provider']}.example/pricing"
        else:
            day = {"as_of": arguments["as_of"]} if "as_of" in arguments else {}
            there = httpx2.get(evidence, params=day).json()
            assert (each["source_url"], each["observed_at"]) == (there["source_url"], there["observed_at"])
            assert each["flags"] == there["flags"]
            assert set(each["flags"]) <= set(found["about"]["flag_meanings"])


def test_a_past_price_was_read_then_and_not_since(site: str) -> None:
    """Runpod raised its prices by a dollar on 13 November, and took it back on the 20th."""
    rows = result(site, "price_history", gpu="b200-sxm", limit=100)["rows"]
    assert [
        (row["from"], row["usd_per_gpu_hour"], row["observed_at"])
        for row in rows
        if row["provider"] == "runpod"
    ] == [
        ("2026-11-20T06:00:00Z", 7.99, "2026-11-20T06:00:00Z"),
        ("2026-11-13T06:00:00Z", 8.99, "2026-11-13T06:00:00Z"),
        ("2026-11-02T06:00:00Z", 7.99, "2026-11-02T06:00:00Z"),
    ]


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        ({"sort": ["-usd_per_gb_hour", "tdp_w"]}, ["usd_per_gb_hour", "tdp_w"]),
        ({"sort": "usd_per_gb_hour,memory_gb"}, ["usd_per_gb_hour", "memory_gb"]),
        ({"where.memory_bandwidth_tb_s": ">4"}, ["memory_bandwidth_tb_s"]),
        ({"min_memory_gb": 100}, ["memory_gb"]),
        ({"baseline": "h100-sxm"}, ["price_multiple", "breakeven_multiple"]),
        ({"sort": "usd_per_gpu_hour"}, []),
    ],
)
def test_what_a_search_is_about_stands_in_its_rows_with_its_unit(
    site: str, arguments: dict[str, Any], keys: list[str]
) -> None:
    found = result(site, "search_offers", gpu="h200-sxm", limit=1, **arguments)
    assert [key for key in keys if found["rows"][0][key] is not None] == keys
    assert set(keys) <= set(found["units"])
    assert ("columns=" in found["address"]) == bool(keys)
    assert httpx2.get(found["address"]).status_code == 200


def test_what_an_agent_asks_is_answered_right_at_the_first_call(site: str) -> None:
    """Bandwidth as published: H200 4.8 TB/s, B200 8 TB/s; prices as the market of these tests lists them."""
    best = result(site, "search_offers", gpu="h200", pricing="on_demand", limit=1)["rows"][0]
    assert (best["provider"], best["pricing_model"], best["usd_per_gpu_hour"]) == ("acme", "on_demand", 4.29)
    assert best["usd_per_tbs_hour"] == pytest.approx(4.29 / 4.8)
    # A floor of $4.00 ("from $4.00") is no price to be had, so $5.50 is the cheapest that is.
    best = result(site, "search_offers", gpu="b200", pricing="on_demand", limit=1)["rows"][0]
    assert (best["provider"], best["usd_per_gpu_hour"]) == ("nebius", 5.5)
    assert best["usd_per_tbs_hour"] == pytest.approx(5.5 / 8)
    found = result(site, "compare_accelerators", gpu=["h100-sxm", "h200-sxm"])
    assert found["about"]["counts"][0].startswith(
        "The H200 SXM wins against the H100 SXM at 1 of 2 providers"
    )
    found = result(
        site, "search_offers", gpu="h100-sxm", sort="usd_per_gpu_hour", pricing="on_demand", limit=1
    )
    assert found["rows"][0]["provider"] == "oldhost"  # $1.99, last read on 15 November: the flag says so
    assert found["about"]["flag_meanings"]["stale"].startswith("no good run has listed this offer")


def test_numbers_with_commas_may_be_a_list(site: str) -> None:
    text = result(site, "llm_cost", llm=LLM, batch="1,8", cards="2,4", limit=2)
    assert result(site, "llm_cost", llm=LLM, batch=[1, 8], cards=[2, 4], limit=2)["rows"] == text["rows"]
    assert [each["batch"] for each in text["rows"][0]["batches"]] == [1, 8]
    assert "batch=1%2C8" in result(site, "llm_cost", llm=LLM, batch=["1", 8])["address"]


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


def test_history_is_that_of_the_providers_that_are_named(site: str) -> None:
    found = result(site, "price_history", gpu="h100-sxm", provider=["runpod", "Nebius"], limit=100)
    assert {row["provider"] for row in found["rows"]} == {"runpod", "nebius"}
    assert found["about"]["provider"] == ["runpod", "nebius"]
    assert found["address"].endswith("/history?gpu=h100-sxm&provider=runpod&provider=Nebius")


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


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server on a database that is new."""
    with serving(tmp_path_factory.mktemp("fresh"), fresh=True) as address:
        yield address


@pytest.fixture(params=["site", "fresh"])
def either(request: pytest.FixtureRequest) -> str:
    """The address of a served market, and of a server without a price."""
    return str(request.getfixturevalue(request.param))


def test_accelerators_and_the_methodology_can_be_read(either: str) -> None:
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
    for content in asked(either, ask):
        assert isinstance(content, TextResourceContents)
        assert content.mime_type == "application/json"
        texts.append(json.loads(content.text))
    addresses = ("gpus.json", "methodology.json", "gpus/h200-sxm.json")
    assert texts == [document(f"{either}/{each}") for each in addresses]
    assert texts[2]["id"] == "h200-sxm"
    assert [text["memory_bandwidth_tb_s"] for text in texts[2:]] == [4.8]  # as NVIDIA's data sheet has it


def test_every_resource_that_the_templates_name_can_be_read(site: str) -> None:
    async def ask(client: Client) -> list[str]:
        content = (await client.read_resource("inferprice://accelerators")).contents[0]
        assert isinstance(content, TextResourceContents)
        listed = [each["id"] for each in json.loads(content.text)["gpus"]]
        for each in listed:
            content = (await client.read_resource(f"inferprice://accelerators/{each}")).contents[0]
            assert isinstance(content, TextResourceContents)
            assert json.loads(content.text)["id"] == each
        return listed

    assert sorted(asked(site, ask)) == sorted(load_catalogue().by_id)


def test_tools_on_a_new_database_have_no_rows_and_say_so_without_a_fault(fresh: str) -> None:
    for name in READING:
        found = called(fresh, name, **ARGUMENTS[name])
        if name == "explain_figure":
            assert text_of(found) == "There is no offer 1; it may have been withdrawn."
        else:
            assert not found.is_error, text_of(found)
            assert (found.structured_content["total"] == 0) == (name != "claims")


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
