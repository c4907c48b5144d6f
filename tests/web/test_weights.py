"""Weights that one card cannot hold: the ceiling stays a bound, and nobody takes it for a speed to be had.

An H100 holds 80 GB and reads 3.35 TB/s, an H200 holds 141 GB and reads 4.8 TB/s (their data sheets). 500 / 80
is 6.25, so seven H100 hold 500 GB, and 500 / 141 is 3.5, so four H200 do; 3,350 / 500 is 6.7 tokens a second.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.databases import empty_sqlite
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import get, read_csv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

FITS = "500 GB does not fit in 80 GB: 7 GPUs at least"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    url = empty_sqlite(tmp_path_factory.mktemp("weights"))
    market.fill(url)
    with serve(url) as served:
        yield served


def test_the_board_marks_each_ceiling_that_no_one_gpu_has(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/?weights_gb=500&gpu=h100-sxm&gpu=h200-sxm"))
    words = {mark.text() for mark in tree.css("table.offers .flag.over_memory")}
    assert words == {"does not fit: 7 GPUs", "does not fit: 4 GPUs"}
    assert len(tree.css("table.offers .flag.over_memory")) == len(tree.css("table.offers tbody tr"))
    assert tree.css_first(".flag.over_memory").attributes["title"].startswith("500 GB does not fit in ")
    plain = LexborHTMLParser(get(client, "/?weights_gb=80&gpu=h100-sxm"))
    assert plain.css("table.offers .flag.over_memory") == []
    # Nobody has asked about weights where no figure depends on them.
    prices = "/?weights_gb=500&gpu=h100-sxm&columns=accelerator,usd_per_gpu_hour"
    assert LexborHTMLParser(get(client, prices)).css("table.offers .flag.over_memory") == []


@pytest.mark.parametrize(
    ("weights_gb", "gpus", "tokens_per_s"), [("500", 7, 6.7), ("140", 2, 3350 / 140), ("80", 1, 41.875)]
)
def test_programs_are_told_how_many_it_takes(
    client: TestClient, weights_gb: str, gpus: int, tokens_per_s: float
) -> None:
    query = urlencode([("gpu", "h100-sxm"), ("weights_gb", weights_gb)])
    rows = json.loads(get(client, f"/offers.json?{query}"))["rows"]
    lines = read_csv(get(client, f"/offers.csv?{query}"))
    for row, line in zip(rows, lines, strict=True):
        assert ("over_memory" in row["flags"], row["gpus_for_weights"]) == (gpus > 1, gpus)
        assert ("over_memory" in line["flags"].split(), line["gpus_for_weights"]) == (gpus > 1, str(gpus))
        assert row["decode_ceiling_tokens_per_s"] == pytest.approx(tokens_per_s, rel=1e-12)
    assert rows


def test_rows_are_kept_and_sorted_by_how_many_it_takes(client: TestClient) -> None:
    asked = "/offers.json?weights_gb=500&gpu=h100-sxm&gpu=h200-sxm&sort=gpus_for_weights"
    needed = [row["gpus_for_weights"] for row in json.loads(get(client, asked))["rows"]]
    assert needed == sorted(needed)
    assert set(needed) == {4, 7}
    few = json.loads(get(client, f"{asked}&where.gpus_for_weights=%3C%3D4"))["rows"]
    assert {row["accelerator"] for row in few} == {"h200-sxm"}
    assert json.loads(get(client, f"{asked}&where.flags=!over_memory"))["total"] == 0
    assert json.loads(get(client, "/offers.json?gpu=h100-sxm&where.flags=!over_memory"))["total"] > 0


def test_the_evidence_says_it_beside_the_figure(client: TestClient) -> None:
    row = json.loads(get(client, "/offers.json?weights_gb=500&gpu=h100-sxm"))["rows"][0]
    at = f"/offers/{row['offer_id']}"
    assert FITS.removeprefix("500 GB ") in get(client, f"{at}?weights_gb=500")
    assert "does not fit" not in get(client, at)
    worked = json.loads(get(client, f"{at}.json?weights_gb=500"))["worked"]
    said = {each["key"]: each["does_not_fit"] for each in worked if each["does_not_fit"]}
    keys = ("decode_ceiling_tokens_per_s", "usd_per_mtok_at_ceiling")
    assert said == dict.fromkeys(keys, FITS.removeprefix("500 GB "))


def test_a_comparison_by_a_ceiling_marks_its_cells(client: TestClient) -> None:
    query = "gpu=h100-sxm&gpu=h200-sxm&weights_gb=500&metric=usd_per_mtok_at_ceiling"
    marks = LexborHTMLParser(get(client, f"/compare?{query}")).css(".flag.over_memory")
    assert {(mark.text(), mark.attributes["title"]) for mark in marks} == {
        ("does not fit: 7 GPUs", FITS),
        ("does not fit: 4 GPUs", "500 GB does not fit in 141 GB: 4 GPUs at least"),
    }
    cells = [
        cell for line in json.loads(get(client, f"/compare.json?{query}"))["lines"] for cell in line["cells"]
    ]
    needed = {cell["accelerator"]: cell["gpus_for_weights"] for cell in cells if cell["offer_id"]}
    assert needed == {"h100-sxm": 7, "h200-sxm": 4}
    assert all("over_memory" in cell["flags"] for cell in cells if cell["offer_id"])
    lines = read_csv(get(client, f"/compare.csv?{query}"))
    assert {line["gpus_for_weights"] for line in lines if line["offer_id"]} == {"7", "4"}
    assert "flag over_memory" not in get(client, "/compare?gpu=h100-sxm&gpu=h200-sxm&weights_gb=500")


def test_a_comparison_says_very_stale_where_the_board_does(tmp_path: Path) -> None:
    """Of two providers read daily one was last read 18 days before the market's day, one 5 days before."""
    url = empty_sqlite(tmp_path)
    read = (("ancient", market.at(2)), ("oldhost", market.at(15)))
    market.fill(
        url,
        market=[
            (name, day, [market.offer(name, card, card, "3") for card in ("h100-sxm", "h200-sxm")])
            for name, day in read
        ],
    )
    query = "?gpu=h100-sxm&gpu=h200-sxm"
    with serve(url) as client:
        marks = [mark.text() for mark in LexborHTMLParser(get(client, f"/compare{query}")).css("td .flag")]
        flags = {
            row["provider"]: row["flags"] for row in json.loads(get(client, f"/offers.json{query}"))["rows"]
        }
    assert ["very_stale" in flags["ancient"], "stale" in flags["oldhost"]] == [True, True]
    assert sorted(mark for mark in marks if "stale" in mark) == ["stale"] * 2 + ["very stale"] * 2


def test_a_quote_is_counted_apart_and_has_no_time_of_reading(client: TestClient) -> None:
    quote = urlencode([("quote", "Zed|h200-sxm|2.90|8x"), ("gpu", "h200-sxm")])

    def summary(path: str) -> str:
        return str(LexborHTMLParser(get(client, path)).css_first("p.summary").text())

    plain, with_quote = summary("/?gpu=h200-sxm"), summary(f"/?{quote}")
    assert with_quote.replace("; beside them 1 of your own", "") == plain
    assert "beside them 1 of your own" in with_quote
    rows = json.loads(get(client, f"/offers.json?{quote}"))["rows"]
    own = next(row for row in rows if row["provider"] == "own:Zed")
    assert [own[key] for key in ("observed_at", "last_seen_at", "valid_from")] == [None] * 3
    line = next(
        each for each in read_csv(get(client, f"/offers.csv?{quote}")) if each["provider"] == "own:Zed"
    )
    assert [line[key] for key in ("observed_at", "last_seen_at", "valid_from")] == [""] * 3
    # The reader's own alone is no empty board.
    alone = get(client, f"/?{quote}&where.flags=own")
    assert summary(f"/?{quote}&where.flags=own").startswith("0 of ")
    assert "No offer matches" not in alone


def test_the_page_for_programs_says_all_that_mcp_has(client: TestClient) -> None:
    from app.web.agent.access import SCOPES  # noqa: PLC0415 - slow to import
    from app.web.agent.reading import READING  # noqa: PLC0415 - same
    from app.web.agent.resources import RESOURCES, TEMPLATES  # noqa: PLC0415 - same
    from app.web.agent.writing import WRITING  # noqa: PLC0415 - same

    tree = LexborHTMLParser(get(client, "/docs"))
    code = {each.text() for each in tree.css("code")}
    names = {tool.name for tool in (*READING, *WRITING)} | set(SCOPES.values())
    names |= {str(each.uri) for each in RESOURCES} | {each.uri_template for each in TEMPLATES}
    assert names <= code
    address = f"{client.base_url}/mcp"
    assert address in code
    example = next(each for each in tree.css("pre code") if "mcpServers" in each.text())
    assert json.loads(example.text())["mcpServers"]["inferprice"]["url"] == address
