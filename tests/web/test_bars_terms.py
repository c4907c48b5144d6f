"""Bars of unlike terms say so: a price for half a year and one to leave at any hour are not one figure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

from app.domain.offers import PricingModel
from app.web.charts import bars_figure
from tests.databases import empty_sqlite
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import get

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

ASKED = "sort=usd_per_gpu_hour&gpu=h100-sxm&gpu=b200-sxm"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    url = empty_sqlite(tmp_path_factory.mktemp("terms"))
    half_a_year = {"pricing_model": PricingModel.RESERVED, "term_days_min": 91, "term_days_max": 180}
    offers = [
        market.offer("acme", "h", "h100-sxm", "3.00"),
        market.offer("acme", "r", "h100-sxm", "2.00", **half_a_year),
        market.offer("acme", "b", "b200-sxm", "5.00", tier="secure"),
    ]
    other = [market.offer("zed", "h", "h100-sxm", "1.50", pricing_model=PricingModel.SPOT)]
    market.fill(url, market=[("acme", market.at(10), offers), ("zed", market.at(10), other)])
    with serve(url) as served:
        yield served


def test_each_cell_says_its_terms_and_the_sentence_that_they_are_unlike(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, f"/charts/bars?{ASKED}"))
    cells = {
        cell.css_first("a").text(): cell.css_first("small").text() for cell in tree.css("td.n[data-value]")
    }
    assert cells == {"2.00": "reserved, 91\u2013180 days", "1.50": "spot", "5.00": "on demand, secure"}
    said = " ".join(each.text() for each in tree.css("p.summary"))
    assert (
        "Not all of these are under the same terms: 1 on demand; 1 spot; 1 reserved, 91\u2013180 days."
        in said
    )


def test_like_terms_need_no_caution(client: TestClient) -> None:
    """A tier is no term: with on-demand prices alone nothing is unlike."""
    tree = LexborHTMLParser(get(client, f"/charts/bars?{ASKED}&pricing=on_demand"))
    assert [cell.text() for cell in tree.css("td.n[data-value] small")] == ["on demand, secure", "on demand"]
    assert "same terms" not in " ".join(each.text() for each in tree.css("p.summary"))


def test_a_bar_says_its_terms_under_the_pointer(client: TestClient) -> None:
    data = json.loads(get(client, f"/figures/bars.json?{ASKED}"))["data"]
    said = {
        (trace["name"], who): terms
        for trace in data
        for who, terms in zip(trace["y"], trace["customdata"], strict=True)
    }
    assert said == {
        ("H100 SXM 80 GB", "acme"): "reserved, 91\u2013180 days",
        ("H100 SXM 80 GB", "zed"): "spot",
        ("B200 SXM 180 GB", "acme"): "on demand, secure",
    }
    assert all("<br>%{customdata}<extra>" in trace["hovertemplate"] for trace in data)


def test_a_floor_and_a_firm_price_of_one_card_keep_their_own_terms() -> None:
    terms = {("one", "a"): "spot", ("one", "b"): "on demand <b>%{x}"}
    firm, least = bars_figure(
        {"one": {"a": 3.0, "b": 4.0}}, ["a", "b"], unit="$", floors={("one", "b")}, terms=terms
    )["data"]
    assert firm["customdata"] == ["spot"]
    assert least["customdata"] == ["on demand \u2039b\u203a% {x}"]
