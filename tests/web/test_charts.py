"""Charts of the board: figures hold the numbers of the table beside them and of the board itself."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.accelerators import load_catalogue
from app.domain.history import Line, Stretch
from app.domain.metrics import METRICS
from app.web.chart_pages import efficient
from app.web.charts import FEW_MARKS, MOST_MARKED, history_figure, styles
from app.web.history_query import History, HistoryQuery
from tests.web.reading import get

ON_DEMAND = "pricing=on_demand&gpu=h100-sxm&gpu=h200-sxm&gpu=b200-sxm"


def numbers(tree: LexborHTMLParser) -> list[tuple[str, float, float]]:
    return [
        (
            row.css_first("th").text(),
            *(float(cell.attributes["data-value"] or "") for cell in row.css("td.n")),
        )
        for row in tree.css("table.offers tbody tr")
    ]


def test_nothing_undercuts_an_efficient_pair() -> None:
    pairs = [(1, 9), (2, 5), (2, 7), (3, 5), (4, 1), (9, 9)]
    found = efficient((Decimal(x), Decimal(y)) for x, y in pairs)
    # (2, 7) and (3, 5) cost as much as (2, 5) in one and more in the other.
    assert sorted(found) == [(1, 9), (2, 5), (4, 1)]


@pytest.mark.parametrize("query", ["", ON_DEMAND, "precision=bf16&as_of=2026-11-05"])
def test_the_scatter_and_its_table_hold_the_same_points(client: TestClient, query: str) -> None:
    figure: dict[str, Any] = client.get(f"/figures/scatter.json?{query}").json()
    *cards, frontier = figure["data"]
    points = sorted((card["name"], x, y) for card in cards for x, y in zip(card["x"], card["y"], strict=True))
    tree = LexborHTMLParser(get(client, f"/charts/scatter?{query}"))
    assert points == sorted(numbers(tree))
    marked = [row for row in tree.css("tbody tr") if "efficient" in row.text()]
    assert marked
    assert all(
        before[0] < after[0] for before, after in pairwise(zip(frontier["x"], frontier["y"], strict=True))
    )
    assert sorted(frontier["y"], reverse=True) == frontier["y"]


def test_the_scatter_holds_the_boards_figures(client: TestClient) -> None:
    rows = client.get(f"/offers.json?{ON_DEMAND}").json()["rows"]
    wanted = sorted(
        (row["usd_per_tbs_hour"], row["usd_per_pflop_hour"])
        for row in rows
        if row["usd_per_tbs_hour"] is not None and row["usd_per_pflop_hour"] is not None
    )
    *cards, _ = client.get(f"/figures/scatter.json?{ON_DEMAND}").json()["data"]
    assert sorted(pair for card in cards for pair in zip(card["x"], card["y"], strict=True)) == wanted


def test_the_bars_are_each_providers_lowest_figure_of_each_card(client: TestClient) -> None:
    query = f"{ON_DEMAND}&sort=usd_per_gpu_hour"
    figure = client.get(f"/figures/bars.json?{query}").json()
    bars = {
        (card["name"], who): x for card in figure["data"] for who, x in zip(card["y"], card["x"], strict=True)
    }
    # From the market: RunPod's community H100, acme's list, the only H200 that is in dollars beside RunPod's.
    assert bars["H100 SXM 80 GB", "RunPod"] == 3.39
    assert bars["H200 SXM 141 GB", "acme"] == 4.29
    assert bars["H200 SXM 141 GB", "RunPod"] == 5.29
    assert ("H200 SXM 141 GB", "odd") not in bars
    tree = LexborHTMLParser(get(client, f"/charts/bars?{query}"))
    shown = [float(cell.attributes["data-value"] or "") for cell in tree.css("td.n[data-value]")]
    assert sorted(shown) == sorted(bars.values())


def test_bars_show_what_the_board_is_sorted_by_when_that_is_a_price(client: TestClient) -> None:
    for sort, heading in (("usd_per_gb_hour", "Memory price"), ("region", "Bandwidth price")):
        tree = LexborHTMLParser(get(client, f"/charts/bars?sort={sort}"))
        assert tree.css_first("h1").text() == f"{heading} by provider"


@pytest.mark.parametrize("name", ["scatter", "bars"])
@pytest.mark.parametrize(
    ("query", "field"), [("precision=fp9", "precision"), ("gpu=h100-smx", "gpu"), ("x=1", "parameter")]
)
def test_a_wrong_value_is_named(client: TestClient, name: str, query: str, field: str) -> None:
    answer = client.get(f"/figures/{name}.json?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert client.get(f"/charts/{name}?{query}").status_code == 422


@pytest.mark.parametrize("name", ["scatter", "bars"])
def test_a_choice_without_offers_says_so(client: TestClient, name: str) -> None:
    assert "No offer of this choice" in get(client, f"/charts/{name}?q=nothing+like+this")
    assert client.get(f"/figures/{name}.json?q=nothing+like+this").status_code == 200


def test_series_are_told_apart_by_more_than_colour() -> None:
    found = styles(56)
    assert len(set(found)) == 56
    assert len({(colour, symbol) for colour, symbol, _ in found}) == 56


def test_plotly_is_loaded_only_where_there_is_a_chart(client: TestClient) -> None:
    for path in ("/charts/scatter", "/charts/bars", "/history", "/gpus/h100-sxm"):
        assert "/static/vendor/plotly." in get(client, path)
    for path in ("/", "/gpus", "/changes", "/status", "/offers/1"):
        assert "plotly" not in get(client, path)


def test_a_long_history_marks_a_few_points_of_each_line_only() -> None:
    """Twenty thousand symbols take a browser four seconds, the lines alone half of one."""
    start = datetime(2025, 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=number) for number in range(MOST_MARKED + 2)]
    stretches = tuple(
        Stretch(this, following, 2_000_000, 1, announced=False) for this, following in pairwise(days)
    )
    for most, wanted in ((MOST_MARKED, None), (MOST_MARKED + 1, FEW_MARKS)):
        history = History(
            query=HistoryQuery(),
            card=load_catalogue().by_id["h100-sxm"],
            other_card=None,
            metric=METRICS["usd_per_gpu_hour"],
            lines=(Line(provider="acme", what="price", stretches=stretches[:most]),),
            figures={2_000_000: Decimal(2)},
            other_currency=(),
            first=start.date(),
            now=days[-1],
        )
        (trace,) = history_figure(history, unit="$/GPU-h")["data"]
        assert trace["marker"].get("maxdisplayed") == wanted
        assert len(trace["x"]) == most + 1
