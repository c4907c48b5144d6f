"""A price written as "from" is drawn as a hollow bar; figure, legend and words say that it is at least so."""

from itertools import combinations
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.web.charts import COLOURS, INK, NOTHING, bars_figure
from tests.web.reading import get, read_csv

ASKED = (
    "sort=usd_per_gpu_hour",
    "gpu=b200&sort=usd_per_gpu_hour",
    "gpu=b200&sort=usd_per_instance_hour",
    "gpu=b200&sort=usd_per_gpu_hour&quote=Hale%7Cb200-sxm%7C5",
    "gpu=h100-sxm&sort=usd_per_gpu_hour",
    "gpu=b200",
    "as_of=2026-10-01&sort=usd_per_gpu_hour",
)
HAVE_ONE = ASKED[:4]
"""Those that show the market's one floor, "odd" from $4.00 for a B200: no ratio is worked out of it."""


def is_hollow(trace: dict[str, Any]) -> bool:
    return bool(trace["marker"]["color"] == NOTHING)


def drawn(figure: dict[str, Any], *, hollow: bool) -> set[tuple[str, str, float]]:
    """Return the card, the provider and the length of each bar, of the hollow or of the filled ones."""
    return {
        (trace["name"].removesuffix(", at least"), who, x)
        for trace in figure["data"]
        if is_hollow(trace) is hollow
        for who, x in zip(trace["y"], trace["x"], strict=True)
    }


def test_a_floor_is_a_hollow_bar_in_its_cards_place_and_says_at_least() -> None:
    cards = {"one": {"a": 3.0, "b": 4.0}, "two": {"b": 5.0}}
    firm, least, other = bars_figure(cards, ["a", "b"], unit="$/GPU-h", floors={("one", "b"), ("two", "b")})[
        "data"
    ]
    assert [each["name"] for each in (firm, least, other)] == ["one", "one, at least", "two, at least"]
    assert ((firm["y"], firm["x"]), (least["y"], least["x"])) == ((["a"], [3.0]), (["b"], [4.0]))
    assert firm["offsetgroup"] == least["offsetgroup"] != other["offsetgroup"]
    assert [is_hollow(each) for each in (firm, least, other)] == [False, True, True]
    for trace, colour in ((least, COLOURS[0]), (other, COLOURS[1])):
        assert trace["marker"]["line"] == {"color": colour, "width": 2}
        assert trace["marker"]["pattern"]["fgcolor"] == colour
        assert trace["hovertemplate"].startswith("%{y}: at least %{x:.3f} $/GPU-h<extra>")
    assert firm["marker"]["color"] == COLOURS[0]
    assert "least" not in firm["hovertemplate"]


def test_no_two_bars_look_alike_and_none_like_the_readers_own() -> None:
    count = 2 * len(COLOURS)
    cards = {f"card {number}": {"a": 1.0, "b": 2.0, "yours: c": 3.0} for number in range(count)}
    floors = {(card, "b") for card in cards}
    found = bars_figure(cards, ["a", "b", "yours: c"], unit="$", own={"yours: c"}, floors=floors)["data"]
    assert len(found) == 2 * count
    looks = [
        (each["marker"]["color"], each["marker"]["pattern"]["shape"], str(each["marker"].get("line")))
        for each in found
    ]
    for one, other in combinations(looks, 2):
        assert one != other
    assert all(each["marker"]["color"] != INK for each in found if is_hollow(each))


def test_a_card_whose_bars_are_all_firm_has_one_series() -> None:
    found = bars_figure({"one": {"a": 3.0}, "none": {}}, ["a"], unit="$")["data"]
    assert [each["name"] for each in found] == ["one", "none"]


@pytest.mark.parametrize("query", ASKED)
def test_what_is_hollow_is_what_json_csv_and_table_call_a_floor(client: TestClient, query: str) -> None:
    figure = client.get(f"/figures/bars.json?{query}").json()
    document = client.get(f"/charts/bars.json?{query}").json()
    key = document["metric"]["key"]
    lengths = {each: sorted(x for _, _, x in drawn(figure, hollow=each)) for each in (True, False)}
    for is_floor in (True, False):
        assert (
            sorted(bar[key] for bar in document["bars"] if bar["is_floor"] is is_floor) == lengths[is_floor]
        )
    lines = read_csv(get(client, f"/charts/bars.csv?{query}"))
    assert sorted(float(line[key]) for line in lines if line["is_floor"] == "true") == lengths[True]
    table = LexborHTMLParser(get(client, f"/charts/bars?{query}")).css("tbody td[data-value]")
    signed = [cell for cell in table if cell.text().startswith("\N{GREATER-THAN OR EQUAL TO}")]
    assert sorted(float(cell.attributes["data-value"] or "") for cell in signed) == lengths[True]
    # The market's one floor, as it was made: "odd", a B200 from $4.00.
    assert drawn(figure, hollow=True) == ({("B200 SXM 180 GB", "odd", 4.0)} if query in HAVE_ONE else set())


@pytest.mark.parametrize("query", ASKED)
def test_the_words_beside_the_chart_say_what_hollow_is_where_there_is_one(
    client: TestClient, query: str
) -> None:
    tree = LexborHTMLParser(get(client, f"/charts/bars?{query}"))
    chart = tree.css_first("[data-figure]")
    said = [
        "hollow" in "".join(each.text() for each in tree.css("p.summary")),
        chart is not None and "hollow" in (chart.attributes["aria-label"] or ""),
        "hollow" in "".join(each.text() for each in tree.css("figcaption")),
    ]
    assert said == [query in HAVE_ONE] * 3


def test_neither_the_history_nor_the_scatter_draws_a_floor_and_both_say_so(client: TestClient) -> None:
    """The "odd" B200 has no price but its floor, so it has no line and no point."""
    lines = client.get("/figures/history.json?gpu=b200-sxm").json()["data"]
    assert {trace["name"] for trace in lines} == {"acme", "Nebius", "RunPod", "oldhost"}
    assert "written as \u201cfrom\u201d is left out" in get(client, "/history?gpu=b200-sxm")
    points = client.get("/figures/scatter.json?gpu=b200").json()["data"]
    assert not [text for trace in points for text in trace.get("text", ()) if text.startswith("odd")]
    assert "as a floor" in get(client, "/charts/scatter?gpu=b200")
