"""A model's page, its twins and its offers warn of a price as the board does, and say when it was last seen.

What must stand there is worked out by hand from the runs of the market: today is 2026-11-20, 12:30; sources
are read daily, so that a price is stale after two days and very stale after seven.
"""

import json
from collections.abc import Iterator

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode
from starlette.testclient import TestClient

from app.store.session import make_engine
from tests.databases import empty_sqlite
from tests.web import market
from tests.web.asking import result, serving
from tests.web.conftest import Market, serve
from tests.web.reading import get, read_csv

LLM = "/llms/openai/gpt-oss-20b"
EXPECTED: dict[tuple[str, str], tuple[list[str], str, str]] = {
    # Listed on the 5th and, for the last time, on the 15th: five days and six hours ago.
    ("oldhost", "H100"): (["stale"], "2026-11-05T06:00:00Z", "2026-11-15T06:00:00Z"),
    # Listed once, at midnight of the 2nd: eighteen days ago.
    ("ancient", "H100"): (["very_stale"], "2026-11-02T00:00:00Z", "2026-11-02T00:00:00Z"),
    # Two columns said on the 4th what holds from the 20th; read last on the 19th, a day and a half ago.
    ("nebius", "gpu-h100-sxm"): (["announced"], "2026-11-04T06:00:00Z", "2026-11-19T06:00:00Z"),
    ("nebius", "gpu-b200"): (["change_announced"], "2026-11-04T06:00:00Z", "2026-11-19T06:00:00Z"),
    # Listed on the 3rd and this morning at the same price.
    ("odd", "assumed"): (["assumed", "managed"], "2026-11-03T06:00:00Z", "2026-11-20T06:00:00Z"),
    ("odd", "minimum"): (["min_quantity"], "2026-11-03T06:00:00Z", "2026-11-20T06:00:00Z"),
    ("odd", "market"): ([], "2026-11-03T06:00:00Z", "2026-11-20T06:00:00Z"),
}
"""Flags, when the price was read, and when the offer was last seen."""

WORDS = {
    "stale": "stale",
    "very_stale": "very stale",
    "announced": "announced",
    "change_announced": "change announced",
    "assumed": "assumed",
    "managed": "managed",
    "min_quantity": "minimum 64",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    market.fill(url := empty_sqlite(tmp_path_factory.mktemp("market")))
    engine = make_engine(url)
    ids = market.offer_ids(engine)
    engine.dispose()
    with serve(url) as client:
        yield Market("sqlite", client, ids)


def lines_of(client: TestClient, address: str) -> dict[str, LexborNode]:
    """Give the lines of a model's table by the number of their offer."""
    page = LexborHTMLParser(get(client, address))
    return {(line.id or "").removeprefix("o"): line for line in page.css("table.costs tbody tr")}


def flags_in(node: LexborNode) -> list[str]:
    return [each.text() for each in node.css(".flag")]


def test_each_price_has_the_boards_warnings_and_the_day_it_was_last_seen(site: Market) -> None:
    lines = lines_of(site.client, f"{LLM}?batch=1&per_page=200")
    for key, (flags, _, last_seen) in EXPECTED.items():
        line = lines[str(site.ids[key])]
        assert flags_in(line) == [WORDS[flag] for flag in flags], key
        assert [each.attributes["class"] for each in line.css(".flag")] == [f"flag {each}" for each in flags]
        assert all(each.attributes["title"] for each in line.css(".flag"))
        [seen] = line.css("td.n time")
        assert (seen.text(), seen.attributes["datetime"]) == (last_seen[:10], last_seen[:10])


def test_programs_get_the_warnings_and_both_times_at_the_end_of_an_offer(site: Market) -> None:
    offers = {
        each["offer_id"]: each for each in json.loads(get(site.client, f"{LLM}.json?batch=1"))["offers"]
    }
    rows = {row["offer_id"]: row for row in read_csv(get(site.client, f"{LLM}.csv?batch=1"))}
    for key, expected in EXPECTED.items():
        number = site.ids[key]
        assert list(offers[number].items())[-3:] == list(
            zip(("flags", "observed_at", "last_seen_at"), expected, strict=True)
        )
        flags, *times = expected
        assert list(rows[str(number)].items())[-3:] == list(
            zip(("flags", "observed_at", "last_seen_at"), (" ".join(flags), *times), strict=True)
        )


@pytest.mark.parametrize("day", ["", "&as_of=2026-11-14"])
def test_every_offer_has_the_flags_and_times_of_the_board_but_for_its_own_fit(site: Market, day: str) -> None:
    """The board speaks of 100 GB in one card of 80, the model is of 20.9 GB and fits it."""
    keys = ("flags", "observed_at", "last_seen_at")
    asked = f"per_page=500&weights_gb=100{day}"
    board = {
        row["offer_id"]: [row[key] for key in keys]
        for row in json.loads(get(site.client, f"/offers.json?{asked}"))["rows"]
    }
    found = {
        each["offer_id"]: [each[key] for key in keys]
        for each in json.loads(get(site.client, f"{LLM}.json?batch=1{day}"))["offers"]
    }
    assert len(found) > 60
    assert any("over_memory" in flags for flags, *_ in board.values())
    assert found == {
        number: [[flag for flag in flags if flag != "over_memory"], *times]
        for number, (flags, *times) in board.items()
    }
    if day:
        assert max(last for *_, last in found.values()) < "2026-11-15"


def test_the_headline_names_a_price_that_is_stale_assumed_or_announced(site: Market) -> None:
    said = {
        "oldhost": " This price is stale, last seen on 2026-11-15.",
        "ancient": " This price is very stale, last seen on 2026-11-02.",
        "nebius&gpu=h100-sxm": " This price is announced, and not yet seen as the current one.",
        "odd&gpu=h100-sxm&service=dedicated_deployment": " This price is for a variant that is assumed.",
        "runpod": "",
    }
    for provider, ending in said.items():
        page = LexborHTMLParser(get(site.client, f"{LLM}?batch=1&provider={provider}"))
        [verdict] = page.css(".verdicts li")
        assert verdict.text().endswith(f"tokens/s.{ending}"), provider


def test_the_verdict_against_an_api_names_such_a_price(site: Market) -> None:
    """At $100 a million tokens all of them pay; at a thousandth of a dollar none does."""
    for api, begins in (("100", "pays when"), ("0.001", "cannot pay")):
        lines = lines_of(site.client, f"{LLM}?batch=1&api={api}&per_page=200")
        said = {
            key: [each.text() for each in lines[str(site.ids[key])].css("td.n.group small")]
            for key in EXPECTED
        }
        assert {key: found[1] for key, found in said.items() if found[1:] and "price" in found[1]} == {
            ("oldhost", "H100"): "price stale",
            ("ancient", "H100"): "price very stale",
            ("nebius", "gpu-h100-sxm"): "price announced",
            ("odd", "assumed"): "price assumed",
        }
        assert all(found[0].startswith(begins) for found in said.values() if len(found) > 1)
    steps = get(site.client, f"{LLM}/offers/{site.ids['oldhost', 'H100']}?batch=1&api=0.001")
    assert "have to be sold all the time. This price is stale, last seen on 2026-11-15." in steps


def test_an_offers_own_page_and_its_twins_say_the_same(site: Market) -> None:
    number = site.ids["oldhost", "H100"]
    page = LexborHTMLParser(get(site.client, f"{LLM}/offers/{number}?batch=1"))
    [price, *_] = page.css(".evidence-body section")
    assert (
        price.css_first("p")
        .text()
        .startswith(
            "$1.99 for one GPU for one hour, read 2026-11-05 06:00 UTC, last seen 2026-11-15 06:00 UTC."
        )
    )
    assert flags_in(price) == ["stale"]
    assert "no good run has listed this offer" in price.css_first("li").text()
    part = site.client.get(f"{LLM}/offers/{number}?batch=1", headers={"hx-request": "true"}).text
    assert "last seen 2026-11-15 06:00 UTC" in part
    [offer] = json.loads(get(site.client, f"{LLM}/offers/{number}.json?batch=1"))["offers"]
    [row] = read_csv(get(site.client, f"{LLM}/offers/{number}.csv?batch=1"))
    assert (offer["flags"], offer["last_seen_at"]) == (["stale"], "2026-11-15T06:00:00Z")
    assert (row["flags"], row["last_seen_at"]) == ("stale", "2026-11-15T06:00:00Z")


def test_one_card_against_two_warns_of_both_prices(site: Market) -> None:
    [line] = LexborHTMLParser(get(site.client, f"{LLM}?batch=1&provider=nebius")).css("#pairs tbody tr")
    bigger, smaller = line.css("td")[1], line.css("td")[3]
    assert (flags_in(bigger), flags_in(smaller)) == (["change announced"], ["announced"])
    assert [each.text() for each in line.css("time")] == ["2026-11-19", "2026-11-19"]


def test_a_readers_own_price_is_marked_and_has_no_dates(site: Market) -> None:
    asked = "batch=1&gpu=h200-sxm&quote=Mine|h200-sxm|0.5|"
    lines = lines_of(site.client, f"{LLM}?{asked}")
    own = next(line for number, line in lines.items() if number.startswith("-"))
    assert (flags_in(own), own.css("time")) == (["yours"], [])
    first, *_ = json.loads(get(site.client, f"{LLM}.json?{asked}"))["offers"]
    assert (first["is_own"], first["flags"]) == (True, ["own"])
    assert (first["observed_at"], first["last_seen_at"]) == (None, None)
    row, *_ = read_csv(get(site.client, f"{LLM}.csv?{asked}"))
    assert (row["flags"], row["observed_at"], row["last_seen_at"]) == ("own", "", "")
    page = LexborHTMLParser(get(site.client, f"{LLM}/offers/-1?{asked}"))
    price = page.css(".evidence-body section")[0]
    assert price.css_first("p").text().startswith("$0.50 for one GPU for one hour. ")
    assert flags_in(price) == ["yours"]


def test_a_pasted_config_is_held_against_the_same_warned_prices(site: Market) -> None:
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 256,
        "tie_word_embeddings": True,
    }
    answer = site.client.post("/llms/config", data={"config": json.dumps(config), "provider": "oldhost"})
    page = LexborHTMLParser(answer.text)
    [line] = page.css("table.costs tbody tr")
    assert (flags_in(line), line.css_first("time").text()) == (["stale"], "2026-11-15")
    assert all("This price is stale" in each.text() for each in page.css(".verdicts li"))


def test_a_program_that_asks_at_mcp_gets_the_days_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(tmp_path_factory.mktemp("mcp")) as address:
        found = result(address, "llm_cost", llm="openai/gpt-oss-20b", provider=["oldhost"], batch="1")
    [row] = found["rows"]
    flags, observed_at, last_seen_at = EXPECTED["oldhost", "H100"]
    assert (row["flags"], row["observed_at"], row["last_seen_at"]) == (flags, observed_at, last_seen_at)
    assert set(found["about"]["flag_meanings"]) == {"stale"}
