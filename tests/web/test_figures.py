"""Every figure is one that plotly's own package accepts; its gaps are open and its numbers right by hand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]  # plotly has no types
import pytest
from starlette.testclient import TestClient

from app.domain.accelerators import load_catalogue
from app.domain.metrics import METRICS
from app.domain.offers import Offer, ServiceKind
from app.store.migrate import upgrade
from app.store.session import make_engine
from app.web.history_query import PRICED
from app.web.main import create_app
from tests.make import make_offer, publish_offers
from tests.web import hostile, market
from tests.web.conftest import settings_for

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)

OF_BOARD = (
    "",
    "pricing=on_demand",
    "gpu=h100-sxm&gpu=h200-sxm&gpu=b200-sxm&sort=usd_per_gb_hour",
    "precision=fp4",
    "precision=bf16&as_of=2026-11-05",
    "as_of=2026-10-01",
    "q=nothing+like+this",
    *(f"sort={key}" for key in METRICS),
)
OF_HISTORY = (
    "gpu=b200-sxm",
    "gpu=h200-sxm&service=pod&service=instance",
    "gpu=h100-sxm&pricing=spot",
    "gpu=h100-sxm&metric=usd_per_pflop_hour&precision=fp4",
    "gpu=h100-sxm&from=2026-11-10&to=2026-11-14",
    "gpu=rubin",
    *(f"metric={key}" for key in PRICED),
)


def asked() -> list[str]:
    """Return an address of every figure with every query of these."""
    board = [f"/figures/{name}.json?{query}" for name in ("scatter", "bars") for query in OF_BOARD]
    rooflines = [f"/figures/roofline.json?gpu={card.id}" for card in load_catalogue().accelerators]
    return [*board, *(f"/figures/history.json?{query}" for query in OF_HISTORY), *rooflines]


def figure_of(client: TestClient, path: str) -> dict[str, Any]:
    answer = client.get(path)
    assert answer.status_code == 200, path
    figure = answer.json()
    # Unknown names and values out of range raise here: this is what keeps attributes from being made up.
    assert len(go.Figure(figure).data) == len(figure["data"])
    return dict(figure)


@contextmanager
def serving(url: str, offers: dict[str, list[tuple[int, list[Offer]]]]) -> Iterator[TestClient]:
    """Serve offers by provider, each list read on a day of November at six."""
    engine = make_engine(url)
    upgrade(engine)
    for provider, runs in offers.items():
        for day, read in runs:
            publish_offers(engine, read, observed_at=market.at(day), provider=provider)
    engine.dispose()
    with TestClient(create_app(settings_for(url), clock=lambda: NOW), follow_redirects=False) as client:
        yield client


def test_plotly_accepts_every_figure_of_the_market(client: TestClient) -> None:
    assert all(figure_of(client, path)["layout"] for path in asked())


def test_plotly_accepts_the_figures_of_nothing_of_one_offer_and_of_a_provider_that_means_harm(
    tmp_path: Path,
) -> None:
    one = {"acme": [(20, [make_offer()])]}
    hostile_runs = {provider: [(at.day, read)] for provider, at, read in hostile.runs()}
    for number, offers in enumerate(({}, one, hostile_runs)):
        with serving(f"sqlite:///{tmp_path}/{number}.db", offers) as client:
            found = [figure_of(client, f"/figures/{name}.json") for name in ("scatter", "bars", "history")]
            traces = [len(each["data"]) for each in found]
            assert traces[:2] == [[1, 0], [2, 1], traces[:2]][number]
            assert (traces[2] > 0) == (number > 0)


def test_plotly_refuses_a_made_up_attribute(client: TestClient) -> None:
    for path in ("/figures/history.json?gpu=b200-sxm", "/figures/scatter.json", "/figures/bars.json"):
        figure = figure_of(client, path)
        places: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (
            lambda it: it["data"][0],
            lambda it: it["data"][0]["marker"],
            lambda it: it["layout"]["xaxis"],
        )
        for place in places:
            wrong = deepcopy(figure)
            place(wrong)["colour"] = "#000000"
            with pytest.raises(ValueError, match="colour"):
                go.Figure(wrong)
        figure["data"][0]["type"] = "scater"
        with pytest.raises(ValueError, match="scater"):
            go.Figure(figure)


def pod(sku: str, usd: str) -> Offer:
    return make_offer(provider="vast", sku=sku, list_price=usd, service_kind=ServiceKind.MARKETPLACE)


def solid(figure: dict[str, Any], name: str) -> list[tuple[str | None, float | None]]:
    """Return where the drawn line of a series turns, to the day."""
    [trace] = [each for each in figure["data"] if each["name"] == name and each["line"].get("dash") != "dot"]
    return [(x and x[:10], y) for x, y in zip(trace["x"], trace["y"], strict=True)]


def test_a_marketplace_has_its_lowest_its_middle_and_its_highest_price(tmp_path: Path) -> None:
    """On the 17th three hosts ask 1, 2 and 9; on the 18th a fourth asks 4; on the 19th the cheapest left."""
    three = [pod("a", "1"), pod("b", "2"), pod("c", "9")]
    runs = [(17, three), (18, [*three, pod("d", "4")]), (19, [*three[1:], pod("d", "4")])]
    with serving(f"sqlite:///{tmp_path}/vast.db", {"vast": runs}) as client:
        figure = figure_of(client, "/figures/history.json?gpu=h100-sxm")
        days = ("2026-11-17", "2026-11-18", "2026-11-19")
        # The source is read four times a day, so what the last run read is stale after half of one.
        end = (None, None)
        assert [each["name"] for each in figure["data"]] == [
            f"Vast.ai, {what}" for what in ("lowest", "median", "highest")
        ]
        drawn = {what: solid(figure, f"Vast.ai, {what}") for what in ("lowest", "median", "highest")}
    values = {
        what: [y for (x, y), _ in zip(points, points, strict=True) if x is not None]
        for what, points in drawn.items()
    }
    assert values["lowest"] == [1, 1, 1, 1, 2, 2]
    assert values["median"] == [2, 2, 3, 3, 4, 4]  # of 1 2 9; of 1 2 4 9 the mean of 2 and 4; of 2 4 9
    assert values["highest"] == [9, 9, 9, 9, 9, 9]
    assert all(points.count(end) == 2 for points in drawn.values()), "half a day is drawn, then nothing"
    assert {x for points in drawn.values() for x, _ in points if x} == set(days)


def test_an_announced_step_is_dotted_from_what_stands_to_what_comes(tmp_path: Path) -> None:
    """2.99 is read until the 20th, 3.49 is announced for the 25th, and is drawn for thirty days."""
    coming = replace(make_offer(), list_price=Decimal("3.49"), valid_from=date(2026, 11, 25))
    runs = [(day, [make_offer(), coming]) for day in (18, 19, 20)]
    with serving(f"sqlite:///{tmp_path}/next.db", {"acme": runs}) as client:
        known, announced = figure_of(client, "/figures/history.json?gpu=h100-sxm")["data"]
    assert (known["line"]["dash"], known["y"]) == ("solid", [2.99, 2.99])
    assert (announced["line"]["dash"], announced["y"]) == ("dot", [2.99, 3.49, 3.49])
    assert announced["x"] == ["2026-11-20 12:00:00", "2026-11-25 00:00:00", "2026-12-25 00:00:00"]
    assert announced["marker"]["symbol"].endswith("-open")
    assert known["x"][-1] == announced["x"][0]


def segments(trace: dict[str, Any]) -> Iterator[tuple[datetime, datetime]]:
    """Yield the times over which a trace draws a line: between two neighbours of which none is missing."""
    assert trace["connectgaps"] is False
    for (start, before), (end, after) in pairwise(zip(trace["x"], trace["y"], strict=True)):
        if None not in (start, end, before, after):
            yield tuple(datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (start, end))  # type: ignore[misc]  # two of them


def test_no_line_is_drawn_over_a_day_on_which_no_good_run_stood(tmp_path: Path) -> None:
    """Providers fail for a while, each at its own time, and a price moves at every third reading."""
    offers: dict[str, list[tuple[int, list[Offer]]]] = {}
    missed = {
        "one": {4},
        "two": {5, 6},
        "three": {3, 4, 5, 6, 7},
        "four": {2, 4, 6, 8},
        "five": {9, 10, 14, 15},
    }
    for provider, days in missed.items():
        offers[provider] = [
            (day, [make_offer(provider=provider, list_price=f"{2 + day // 3}.00")])
            for day in range(1, 20)
            if day not in days
        ]
    with serving(f"sqlite:///{tmp_path}/gaps.db", offers) as client:
        figure = figure_of(client, "/figures/history.json?gpu=h100-sxm")
    assert [each["name"] for each in figure["data"]] == sorted(missed)
    for trace in figure["data"]:
        read = [market.at(day) for day, _ in offers[trace["name"]]]
        # A price stands for the two days in which a daily source may fail twice; then nobody knows.
        blind = [
            (before + timedelta(days=2), after)
            for before, after in pairwise(read)
            if after - before > timedelta(days=2)
        ]
        drawn = list(segments(trace))
        assert not [
            (line, gap) for line in drawn for gap in blind if line[0] < gap[1] and gap[0] < line[1]
        ], trace["name"]
        assert len(blind) == {"one": 0, "two": 1, "three": 1, "four": 0, "five": 2}[trace["name"]]
        # And nothing that was known is left out: what is drawn and what nobody knew are the whole time.
        whole = sum((end - start for start, end in [*drawn, *blind]), timedelta())
        assert whole == NOW - read[0]


def test_a_line_through_a_gap_would_be_found() -> None:
    """The check above sees a line when the point that is missing is taken out."""
    x = ["2026-11-01 06:00:00", "2026-11-03 06:00:00", None, "2026-11-09 06:00:00"]
    open_trace = {"x": x, "y": [2, 2, None, 3], "connectgaps": False}
    closed = {"x": [*x[:2], x[3]], "y": [2, 2, 3], "connectgaps": False}
    assert len(list(segments(open_trace))) == 1
    assert len(list(segments(closed))) == 2


def test_a_roofline_has_the_other_published_bandwidth_dotted(client: TestClient) -> None:
    """A B200 does 4,500 dense FP8 TFLOPS: they meet 8.0 TB/s at 562.5 op/byte, 7.7 TB/s at 584.4."""
    traces = figure_of(client, "/figures/roofline.json?gpu=b200-sxm")["data"]
    [main] = [each for each in traces if "FP8" in each["name"] and each["line"]["dash"] != "dot"]
    [other] = [each for each in traces if "FP8" in each["name"] and each["line"]["dash"] == "dot"]
    assert other["name"] == f"{main['name']} with 7.7 TB/s"
    assert (main["x"][1], main["y"]) == (562.5, [8, 4500, 4500])
    assert other["x"][1] == pytest.approx(4500 / 7.7)
    assert other["y"] == [pytest.approx(7.7), pytest.approx(4500), 4500]
    assert main["line"]["color"] == other["line"]["color"]
    plain = figure_of(client, "/figures/roofline.json?gpu=h100-sxm")["data"]
    assert not [each for each in plain if each["line"]["dash"] == "dot"]
