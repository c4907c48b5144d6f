"""The list of accelerators: what each is, what the cheapest costs, who lists it, by the market itself."""

from decimal import Decimal

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.accelerators import load_catalogue
from app.domain.roofline import attainable_tflops, ridge_point
from tests.web.reading import get, read_csv


def test_the_ridge_point_is_where_both_peaks_meet() -> None:
    card = load_catalogue().by_id["h100-sxm"]
    # NVIDIA's data sheet: 1,979 dense FP8 TFLOPS and 3.35 TB/s.
    assert ridge_point(card, "fp8") == Decimal(1979) / Decimal("3.35")
    ridge = ridge_point(card, "bf16")
    assert ridge is not None
    assert attainable_tflops(card, "bf16", ops_per_byte=Decimal(1)) == Decimal("3.35")
    assert attainable_tflops(card, "bf16", ops_per_byte=ridge * 2) == Decimal("989.4")
    assert ridge_point(card, "fp4") is None


def test_the_list_gives_the_cheapest_on_demand_price_and_who_lists_the_card(client: TestClient) -> None:
    gpus = {each["id"]: each for each in client.get("/gpus.json").json()["gpus"]}
    h100 = gpus["h100-sxm"]
    # oldhost asks 1.99, but was last read five days ago; nobody fresh asks less than odd's 2.20.
    assert h100["cheapest_on_demand_usd_per_gpu_hour"] == 2.2
    assert h100["cheapest_on_demand_provider"] == "odd"
    assert h100["providers"] == ["acme", "ancient", "nebius", "odd", "oldhost", "runpod"]
    assert h100["dense_fp8_tflops"] == 1979
    assert h100["dense_fp4_tflops"] is None
    assert h100["ops_per_byte"] == pytest.approx(590.7, abs=0.1)
    assert gpus["mi300x"]["offers"] == 0
    assert gpus["mi300x"]["cheapest_on_demand_usd_per_gpu_hour"] is None
    assert len(gpus) == len(load_catalogue().accelerators)


def test_page_csv_and_json_hold_the_same_cards_in_the_same_order(client: TestClient) -> None:
    for query in ("", "?precision=bf16", "?as_of=2026-11-05"):
        document = client.get(f"/gpus.json{query}").json()["gpus"]
        lines = read_csv(get(client, f"/gpus.csv{query}"))
        tree = LexborHTMLParser(get(client, f"/gpus{query}"))
        shown = [link.text() for link in tree.css("tbody th a")]
        assert [each["name"] for each in document] == [line["name"] for line in lines] == shown
        for each, line in zip(document, lines, strict=True):
            wanted = each["ops_per_byte"]
            assert line["ops_per_byte"] == ("" if wanted is None else str(wanted))


@pytest.mark.parametrize(
    ("query", "field"),
    [("precision=fp9", "precision"), ("as_of=2030-01-01", "as_of"), ("gpu=h100", "parameter")],
)
def test_a_wrong_value_is_named(client: TestClient, query: str, field: str) -> None:
    answer = client.get(f"/gpus.json?{query}")
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert client.get(f"/gpus?{query}").status_code == 422


def test_a_forms_empty_fields_are_left_out(client: TestClient) -> None:
    answer = client.get("/gpus?precision=bf16&as_of=")
    assert (answer.status_code, answer.headers["location"]) == (303, "/gpus?precision=bf16")
