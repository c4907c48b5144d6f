"""The charts of a model end where memory does, stand under their roofs, and hold the page's numbers."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from tests.web.reading import get
from tests.web.test_llms import LLAMA, WALL
from tests.web.test_llms import table as table

QUERY = "kv=fp8&context=4096&batch=1,32&provider=runpod"


def figure(table: TestClient, name: str, query: str = QUERY) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(get(table, f"/figures{LLAMA}/{name}.json?{query}"))
    return found


def lines(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the traces of curves, without walls, frontier and API."""
    return (each for each in found["data"] if "\N{MULTIPLICATION SIGN}" in each["name"])


def test_a_line_ends_at_the_last_batch_that_memory_holds(table: TestClient) -> None:
    """An H200 leaves 62.12 GB beside 70.55 GB of weights: 92 requests of 0.671 GB, and no more."""
    found = figure(table, "cost")
    h200 = next(each for each in lines(found) if "H200" in each["name"])
    assert h200["name"] == "1 \N{MULTIPLICATION SIGN} H200 SXM 141 GB, RunPod"
    assert h200["x"] == [1, 2, 4, 8, 16, 32, 64, 92]
    wall = next(each for each in found["data"] if each["name"] == "memory wall, H200 SXM 141 GB")
    assert wall["x"] == [92, 92]
    assert "at most 92 requests on 1 GPU" in wall["hovertemplate"]
    # $5.29 over 512.877 and 1,688.32 tokens/s.
    assert h200["y"][3] == pytest.approx(2.865101, rel=1e-6)
    assert h200["y"][5] == pytest.approx(5.29e6 / 3600 / 1688.3227, rel=1e-6)


def test_requests_without_context_meet_no_wall(table: TestClient) -> None:
    found = figure(table, "cost", "context=0&batch=1&gpu=h200-sxm")
    [line] = list(lines(found))
    assert line["x"] == [2**power for power in range(11)]
    assert not [each for each in found["data"] if each["name"].startswith("memory wall")]
    document = json.loads(get(table, f"{LLAMA}.json?context=0&batch=1&gpu=h200-sxm"))
    assert {each["batches"][0]["max_concurrency"] for each in document["offers"]} == {None}


def test_what_does_not_fit_is_on_no_chart(table: TestClient) -> None:
    for name in ("cost", "throughput", "roofline"):
        assert list(lines(figure(table, name, WALL))) == []
    both = figure(table, "cost", WALL.replace("batch=128", "batch=1,128"))
    [line] = list(lines(both))
    assert max(line["x"]) == 92
    page = LexborHTMLParser(get(table, f"{LLAMA}?{WALL}"))
    assert page.css(".chart") == []
    assert page.css("td.n.group") == []


def test_the_frontier_is_beaten_by_no_point_in_both(table: TestClient) -> None:
    found = figure(table, "throughput")
    frontier = next(each for each in found["data"] if each["name"] == "efficient frontier")
    best = list(zip(frontier["x"], frontier["y"], strict=True))
    every = [point for line in lines(found) for point in zip(line["x"], line["y"], strict=True)]
    assert set(best) <= set(every)
    for x, y in best:
        assert not any(a >= x and b >= y and (a, b) != (x, y) for a, b in every)
    beaten = [point for point in every if point not in best]
    assert all(any(a >= x and b >= y for a, b in best) for x, y in beaten)
    assert all(a[0] > b[0] and a[1] < b[1] for a, b in pairwise(best))


def test_batches_stand_under_their_roof(table: TestClient) -> None:
    """At most the bandwidth times operations per byte, and the dense FP8 rate: 4.8 TB/s, 1,979 TFLOPS."""
    found = figure(table, "roofline", f"{QUERY}&gpu=h200-sxm")
    roof, points = found["data"]
    assert roof["name"] == "H200 SXM 141 GB, FP8"
    assert roof["y"] == [4.8, 1979.0, 1979.0]
    assert points["text"] == ["1", "32"]
    for x, y in zip(points["x"], points["y"], strict=True):
        assert y == pytest.approx(min(4.8 * x, 1979))
    # 149,743,484,928 operations over 70,174,121,984 bytes.
    assert points["x"][0] == pytest.approx(149_743_484_928 / 70_174_121_984)


def test_the_table_and_the_json_hold_the_charts_numbers(table: TestClient) -> None:
    drawn = [value for line in lines(figure(table, "cost")) for value in line["y"]]
    curves = json.loads(get(table, f"{LLAMA}.json?{QUERY}"))["curves"]
    assert [point["usd_per_mtok_output"] for curve in curves for point in curve["points"]] == drawn
    page = LexborHTMLParser(get(table, f"{LLAMA}?{QUERY}"))
    cells = page.css("#points td[data-value]")
    assert [float(cell.attributes["data-value"] or "") for cell in cells] == drawn
    assert len(page.css(".chart[data-figure]")) == 3


def test_a_figure_has_a_tag_and_refuses_what_is_wrong(table: TestClient) -> None:
    address = f"/figures{LLAMA}/cost.json"
    first = table.get(address)
    again = table.get(address, headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)
    assert table.get(f"{address}?batch=x").status_code == 422
    assert table.get("/figures/llms/no/such/cost.json").status_code == 404
