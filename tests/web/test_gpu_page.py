"""The page of one accelerator: its figures and their sources, its offers, its names, its roofline."""

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.accelerators import load_catalogue
from tests.web.reading import get


def test_every_variant_has_a_page_with_its_sources(client: TestClient) -> None:
    for card in load_catalogue().accelerators[::12]:
        tree = LexborHTMLParser(get(client, f"/gpus/{card.id}"))
        assert tree.css_first("h1").text().startswith(card.name)
        assert [each.text() for each in tree.css("ul.sources li")] == list(card.sources)


def test_the_offers_are_the_boards_rows_with_their_evidence(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/gpus/h200-sxm"))
    shown = [row.id for row in tree.css("tr[id]")]
    board = LexborHTMLParser(get(client, "/?gpu=h200-sxm"))
    assert shown == [row.id for row in board.css("table.offers > tbody > tr[id]")]
    assert {client.get(link.attributes["href"] or "").status_code for link in tree.css("td.open a")} == {200}


def test_the_alternative_bandwidth_and_the_dense_rates_stand_on_the_page(client: TestClient) -> None:
    text = LexborHTMLParser(get(client, "/gpus/b200-sxm")).css_first("main").text()
    # Makers disagree on the B200: 8.0 or 7.7 TB/s.
    assert "8 TB/s" in text
    assert "or 7.7 TB/s" in text
    assert "4,500" in text


def test_names_of_siblings_are_told_apart(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/gpus/h100-sxm"))
    terms, said = tree.css("dl.names dt"), tree.css("dl.names dd")
    names = {term.text().strip(): each.text() for term, each in zip(terms, said, strict=True)}
    assert "NVIDIA H100 80GB HBM3" in names["These names mean this card"]
    assert "H100 80GB" in names["These leave open which card it is"]
    assert "NVIDIA H100 PCIe" in names["These mean the H100 PCIe 80 GB instead"]
    document = client.get("/gpus/h100-sxm.json").json()
    assert "h100-pcie" in document["siblings"]


def test_the_roofline_bends_at_the_ridge_point(client: TestClient) -> None:
    figure = client.get("/figures/roofline.json?gpu=h100-sxm").json()
    fp8 = next(each for each in figure["data"] if each["name"] == "FP8, INT8")
    # NVIDIA's data sheet: 1,979 dense TFLOPS over 3.35 TB/s.
    assert fp8["x"][:2] == [1, pytest.approx(590.7, abs=0.1)]
    assert fp8["y"] == [3.35, pytest.approx(1979), 1979]


@pytest.mark.parametrize(
    ("asked", "near"),
    [("h100", "/gpus/h100-sxm"), ("h200-smx", "/gpus/h200-sxm"), ("h100-sxm-81", "/gpus/h100-sxm")],
)
def test_an_unknown_variant_is_answered_with_names_like_it(client: TestClient, asked: str, near: str) -> None:
    answer = client.get(f"/gpus/{asked}")
    assert answer.status_code == 404
    links = [link.attributes["href"] for link in LexborHTMLParser(answer.text).css("main a")]
    assert near in links
    assert client.get(f"/gpus/{asked}.json").status_code == 404


def test_another_spelling_leads_to_the_page(client: TestClient) -> None:
    answer = client.get("/gpus/H100-SXM")
    assert (answer.status_code, answer.headers["location"]) == (308, "/gpus/h100-sxm")


@pytest.mark.parametrize("query", ["", "?gpu=", "?gpu=h100", "?gpu=h100-sxm&gpu=h200-sxm", "?metric=x"])
def test_a_roofline_of_no_variant_is_refused(client: TestClient, query: str) -> None:
    assert client.get(f"/figures/roofline.json{query}").status_code == 422
