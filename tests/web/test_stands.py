"""Each row of a CSV says what its figures stand for, so that two files put together are not mixed up.

A B200 has 4,500 dense TFLOPS at FP8 and 9,000 at FP4 (its data sheet), so that a price per PFLOP-hour at FP4
is half of that at FP8.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.databases import empty_sqlite
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import get, read_csv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

ENDS = ("precision", "weights_gb", "spec", "as_of")
USUAL = {"precision": "fp8", "weights_gb": "70", "spec": "main", "as_of": "2026-11-20T12:30:00Z"}
OTHER = {"precision": "fp4", "weights_gb": "35.5", "spec": "alt", "as_of": "2026-11-14T23:59:59Z"}
ASKED = "precision=fp4&weights_gb=35.5&spec=alt&as_of=2026-11-14"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    url = empty_sqlite(tmp_path_factory.mktemp("stands"))
    day = [market.offer("acme", "b", "b200-sxm", "4.50"), market.offer("acme", "h", "h100-sxm", "3.35")]
    market.fill(url, market=[("acme", market.at(10), day)])
    with serve(url) as served:
        yield served


@pytest.mark.parametrize(
    "path", ["/offers.csv", "/view.csv", "/charts/scatter.csv", "/charts/bars.csv", "/compare.csv"]
)
def test_each_row_of_a_csv_ends_in_what_it_stands_for(client: TestClient, path: str) -> None:
    cards = "gpu=b200-sxm&gpu=h100-sxm"
    for asked, expected in ((cards, USUAL), (f"{cards}&{ASKED}", OTHER)):
        lines = read_csv(get(client, f"{path}?{asked}"))
        assert lines
        for line in lines:
            assert tuple(line)[-4:] == ENDS
            assert {key: line[key] for key in ENDS} == expected


def test_two_precisions_put_together_stay_told_apart(client: TestClient) -> None:
    """4.50 $ / 4.5 PFLOP/s is 1 at FP8 and 4.50 / 9 is 0.5 at FP4."""
    lines = [
        line
        for precision in ("fp8", "fp4")
        for line in read_csv(get(client, f"/offers.csv?gpu=b200-sxm&precision={precision}"))
    ]
    by_precision = {line["precision"]: float(line["usd_per_pflop_hour"]) for line in lines}
    assert by_precision == {"fp8": 1.0, "fp4": 0.5}


def test_multiples_say_what_they_are_of(client: TestClient) -> None:
    query = "gpu=b200-sxm&gpu=h100-sxm&columns=price_multiple"
    for path in ("/offers.csv", "/view.csv"):
        bare = read_csv(get(client, f"{path}?{query}"))
        asked = read_csv(get(client, f"{path}?{query}&baseline=h100-sxm"))
        assert ({line["baseline"] for line in bare}, {line["baseline"] for line in asked}) == (
            {""},
            {"h100-sxm"},
        )
    lines = read_csv(get(client, "/compare.csv?gpu=b200-sxm&gpu=h100-sxm&baseline=h100-sxm"))
    assert {line["baseline"] for line in lines} == {"h100-sxm"}


def test_tabs_part_the_same_cells(client: TestClient) -> None:
    head, *rows = get(client, f"/view.tsv?gpu=b200-sxm&{ASKED}").splitlines()
    assert tuple(head.split("\t")[-4:]) == ENDS
    assert [row.split("\t")[-4:] for row in rows] == [list(OTHER.values())]


def test_a_history_says_it_too(client: TestClient) -> None:
    query = "gpu=b200-sxm&metric=usd_per_pflop_hour&precision=fp4&weights_gb=35"
    lines = read_csv(get(client, f"/history.csv?{query}"))
    assert {(line["precision"], line["weights_gb"], line["spec"]) for line in lines} == {
        ("fp4", "35", "main")
    }
    assert {float(line["value"]) for line in lines} == {0.5}
    document = json.loads(get(client, f"/history.json?{query}"))
    assert {line["as_of"] for line in lines} == {document["as_of"]} == {USUAL["as_of"]}
    assert (document["precision"], document["weights_gb"]) == ("fp4", 35)


@pytest.mark.parametrize("path", ["/offers.json", "/view.json", "/charts/scatter.json", "/charts/bars.json"])
def test_a_document_says_it_once_in_its_head(client: TestClient, path: str) -> None:
    document = json.loads(get(client, f"{path}?gpu=b200-sxm&{ASKED}"))
    assert {key: document[key] for key in ENDS} == {**OTHER, "weights_gb": 35.5}
    (row,) = next(document[key] for key in ("rows", "points", "bars") if key in document)
    assert not set(ENDS) & set(row)


def test_a_line_of_ndjson_has_no_head_and_says_it_itself(client: TestClient) -> None:
    (line,) = get(client, f"/offers.ndjson?gpu=b200-sxm&baseline=h100-sxm&{ASKED}").splitlines()
    row = json.loads(line)
    assert {key: row[key] for key in ENDS} == {**OTHER, "weights_gb": 35.5}
    assert row["baseline"] == "h100-sxm"
    properties = json.loads(get(client, "/schemas/offers.json"))["properties"]
    assert {"baseline", *ENDS} <= set(properties)


def test_the_offers_of_a_provider_say_it_too(client: TestClient) -> None:
    lines = read_csv(get(client, "/providers/acme.csv"))
    assert {(line["precision"], line["weights_gb"], line["spec"]) for line in lines} == {
        ("fp8", "70", "main")
    }
