"""The history of a card: page, JSON, CSV and figure hold the same lines, worked out by hand."""

from datetime import UTC, datetime
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import text
from starlette.testclient import TestClient

from app.domain.history import Line, Stretch
from app.store import history as store
from app.store.history import Wanted, prices_query
from app.store.session import make_engine
from app.web import history_query
from app.web.charts import INK, OWN_SYMBOL
from tests.web.conftest import Market
from tests.web.reading import get, read_csv


def lines(client: TestClient, query: str) -> dict[tuple[str, str], list[tuple[str, str, float, bool]]]:
    document = client.get(f"/history.json?{query}").json()
    return {
        (line["provider"], line["line"]): [
            (each["from"][:10], each["to"][:10], each["value"], each["announced"])
            for each in line["stretches"]
        ]
        for line in document["lines"]
    }


def test_a_line_a_provider_with_gaps_where_no_good_run_stood(client: TestClient) -> None:
    found = lines(client, "gpu=h100-sxm")
    # Read on the 2nd, 13th and 20th: what was read holds for 48 hours. The community pod is its cheapest.
    assert found["runpod", "price"] == [
        ("2026-11-02", "2026-11-04", 3.39, False),
        ("2026-11-13", "2026-11-15", 4.39, False),
        ("2026-11-20", "2026-11-20", 3.39, False),
    ]
    assert found["oldhost", "price"] == [
        ("2026-11-05", "2026-11-07", 1.99, False),
        ("2026-11-15", "2026-11-17", 1.99, False),
    ]
    # 2.95 was read on the 4th and 19th; 3.50 was announced for the 20th and no run has seen it yet.
    assert found["nebius", "price"] == [
        ("2026-11-04", "2026-11-06", 2.95, False),
        ("2026-11-19", "2026-11-20", 2.95, False),
        ("2026-11-20", "2026-11-20", 3.5, True),
    ]


def test_an_announced_price_shows_ahead_and_only_without_an_end(client: TestClient) -> None:
    found = lines(client, "gpu=b200-sxm")
    assert found["nebius", "price"][-1] == ("2026-12-01", "2026-12-31", 6.1, True)
    assert lines(client, "gpu=b200-sxm&to=2026-11-20")["nebius", "price"][-1][2] == 5.5


def test_a_floor_is_no_line_and_another_currency_is_named(client: TestClient) -> None:
    assert ("odd", "price") not in lines(client, "gpu=b200-sxm")
    assert client.get("/history.json?gpu=h200-sxm").json()["not_in_dollars"] == ["odd"]
    assert "left out: odd" in get(client, "/history?gpu=h200-sxm")


def test_the_metric_the_pricing_and_the_service_are_chosen(client: TestClient) -> None:
    # 3.39 over 3.35 TB/s, from the maker's data sheet.
    per_tbs = lines(client, "gpu=h100-sxm&metric=usd_per_tbs_hour")["runpod", "price"][0][2]
    assert per_tbs == pytest.approx(3.39 / 3.35)
    assert set(lines(client, "gpu=h100-sxm&pricing=spot")) == {("acme", "price")}
    assert lines(client, "gpu=h100-sxm&service=serverless")["runpod", "price"][0][2] == pytest.approx(4.176)
    unknown = lines(client, "gpu=h100-sxm&metric=usd_per_pflop_hour&precision=fp4")
    assert {each[2] for line in unknown.values() for each in line} == {None}


@pytest.mark.parametrize("query", ["gpu=h100-sxm", "gpu=b200-sxm&metric=usd_per_tbs_hour&from=2026-11-10"])
def test_page_csv_and_json_hold_the_same_numbers(client: TestClient, query: str) -> None:
    wanted = sorted(
        (provider, each[0], each[2]) for (provider, _), line in lines(client, query).items() for each in line
    )
    rows = read_csv(get(client, f"/history.csv?{query}"))
    names = {"runpod": "RunPod", "nebius": "Nebius"}
    assert sorted((row["provider"], row["from"][:10], float(row["value"])) for row in rows) == sorted(
        (names.get(provider, provider), day, value) for provider, day, value in wanted
    )
    tree = LexborHTMLParser(get(client, f"/history?{query}"))
    shown = sorted(
        (
            row.css_first("th").text(),
            row.css_first("td").text()[:10],
            float(row.css_first("td.n").attributes["data-value"]),
        )
        for row in tree.css("table.offers tbody tr")
    )
    assert shown == sorted((names.get(provider, provider), day, value) for provider, day, value in wanted)


def test_the_figure_has_a_hole_where_nobody_read_and_dots_what_is_announced(client: TestClient) -> None:
    figure: dict[str, Any] = client.get("/figures/history.json?gpu=b200-sxm").json()
    traces = {(each["name"], each["line"]["dash"] == "dot"): each for each in figure["data"]}
    runpod = traces["RunPod", False]
    assert runpod["y"] == [7.99, 7.99, None, 8.99, 8.99, None, 7.99, 7.99]
    assert runpod["x"][2] is None
    assert not runpod["connectgaps"]
    assert runpod["line"]["shape"] == "hv"
    coming = traces["Nebius", True]
    assert coming["y"] == [5.5, 6.1, 6.1]
    assert coming["x"][1] == "2026-12-01 00:00:00"
    assert all("cloud" not in key for key in figure["layout"])


def test_evidence_links_lead_somewhere(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/history?gpu=h100-sxm"))
    links = [link.attributes["href"] or "" for link in tree.css("tbody a") if link.text() == "evidence"]
    assert len(links) > 5
    assert {client.get(each).status_code for each in links} == {200}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("gpu=h100", "gpu"),
        ("gpu=h100-sxm&gpu=h200-sxm", "gpu"),
        ("metric=usd", "metric"),
        ("metric=memory_gb", "metric"),
        ("precision=fp9", "precision"),
        ("weights_gb=0", "weights_gb"),
        ("pricing=free", "pricing"),
        ("service=bus", "service"),
        ("from=yesterday", "from"),
        ("to=2030-01-01", "to"),
        ("from=2026-11-10&to=2026-11-09", "from"),
        ("provider=acne", "provider"),
        ("provider=acme&provider=nobody", "provider"),
        ("quote=Hale%7Ch100%7C2", "quote"),
        ("own=Rig%7Ch100-sxm%7C2", "own"),
        ("region=us-east", "parameter"),
    ],
)
def test_a_wrong_value_is_named(client: TestClient, query: str, field: str) -> None:
    for path in ("/history.json", "/history.csv", "/figures/history.json"):
        answer = client.get(f"{path}?{query}")
        assert answer.status_code == 422
        assert answer.json()["field"] == field
        assert answer.json()["expected"]
    assert client.get(f"/history?{query}").status_code == 422


@pytest.mark.parametrize("query", ["from=0001-01-01", "to=0001-01-01", "from=0001-01-01&to=0001-01-02"])
def test_the_first_days_of_the_calendar_can_be_asked_for(client: TestClient, query: str) -> None:
    has_lines = bool(client.get(f"/history.json?{query}").json()["lines"])
    assert has_lines == ("to=" not in query)


def test_a_forms_empty_fields_are_left_out(client: TestClient) -> None:
    answer = client.get("/history?gpu=h100-sxm&metric=usd_per_gpu_hour&weights_gb=70&service=&from=&to=")
    assert (answer.status_code, answer.headers["location"]) == (303, "/history?gpu=h100-sxm")


def test_the_history_of_a_card_is_read_by_its_offers(served: Market) -> None:
    engine = make_engine(str(served.client.app.state.shared.engine.url))  # type: ignore[attr-defined]  # Starlette's
    start, end = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
    query = prices_query(Wanted(accelerator="h100-sxm", pricing="spot"), start=start, end=end, limit=9)
    sql = str(query.compile(engine, compile_kwargs={"literal_binds": True}))
    explain = "EXPLAIN QUERY PLAN" if served.kind == "sqlite" else "EXPLAIN"
    with engine.connect() as connection:
        if served.kind != "sqlite":
            # So small a table would be read whole; whether an index serves shows when that is not allowed.
            connection.execute(text("SET enable_seqscan = off"))
        plan = [str(row[-1]) for row in connection.execute(text(f"{explain} {sql}"))]
    engine.dispose()
    assert any("ix_offer_accelerator_first_seen_at" in line for line in plan)
    assert any("offer_id" in line and ("Index" in line or "INDEX" in line or "=" in line) for line in plan)
    if served.kind == "sqlite":
        assert len(plan) == 2
        assert "(offer_id=?)" in plan[1]


def test_the_other_published_bandwidth_can_be_used_and_is_stated(client: TestClient) -> None:
    """NVIDIA prints 8.0 TB/s for a B200 in an HGX and 7.7 TB/s for the part: 7.99 dollars over either."""
    query = "gpu=b200-sxm&metric=usd_per_tbs_hour"
    for spec, tb_s in (("main", 8.0), ("alt", 7.7)):
        document = client.get(f"/history.json?{query}&spec={spec}").json()
        assert (document["spec"], document["bandwidth_tb_s"]) == (spec, tb_s)
        figure = client.get(f"/figures/history.json?{query}&spec={spec}").json()
        assert figure["data"][-1]["y"][0] == pytest.approx(7.99 / tb_s)
    page = get(client, f"/history?{query}")
    assert "Work it out with 7.7 TB/s, which is published too" in page
    other = get(client, f"/history?{query}&spec=alt")
    assert (
        "Worked out with the other published bandwidth, 7.7 TB/s, not the 8 TB/s of all other pages." in other
    )
    form = LexborHTMLParser(other).css_first("form input[name=spec]")
    assert form.attributes["value"] == "alt"
    back = LexborHTMLParser(other).css_first(".summary a[href*=history]").attributes["href"]
    assert back == f"/history?{query}"


def test_providers_are_chosen_as_on_the_board(client: TestClient) -> None:
    every = lines(client, "gpu=h100-sxm")
    for query in ("provider=runpod&provider=nebius", "provider=runpod,Nebius", "provider=nebius,,runpod"):
        found = lines(client, f"gpu=h100-sxm&{query}")
        assert found == {key: every[key] for key in every if key[0] in {"runpod", "nebius"}}
        assert len(found) == 2 < len(every)
    answers = [client.get(f"{path}?provider=acne").json() for path in ("/history.json", "/offers.json")]
    assert answers[0]["expected"] == answers[1]["expected"] == "did you mean acme or ancient?"
    assert "Nobody we read has asked such a price" in get(client, "/history?provider=ancient&from=2026-11-19")


def test_the_form_and_every_link_keep_the_providers(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/history?gpu=h100-sxm&provider=runpod&provider=nebius"))
    ticked = [box.attributes["value"] for box in tree.css("form input[name=provider][checked]")]
    assert sorted(str(each) for each in ticked) == ["nebius", "runpod"]
    assert tree.css_first("#menu-provider .count").text() == "2"
    assert len(tree.css("form input[name=provider]")) > 4
    kept = "gpu=h100-sxm&provider=runpod&provider=nebius"
    hrefs = {
        link.attributes["href"] or "" for link in tree.css("main a[href*=history], head link[href*=history]")
    }
    assert {f"/history.json?{kept}", f"/history.csv?{kept}", f"/figures/history.json?{kept}"} <= hrefs
    assert [href for href in hrefs if "provider=runpod&provider=nebius" not in href] == []
    assert f"/?{kept}" in {link.attributes["href"] for link in tree.css("main a")}
    assert client.get(f"/history.json?{kept}").json()["provider"] == ["runpod", "nebius"]


# ---------------------------------------------------------------- the reader's own figures

QUOTE = "quote=Hale%7Ch100-sxm%7C2.10"


def test_a_quote_is_a_level_line_over_all_that_is_shown(client: TestClient) -> None:
    """The first price of an H100 SXM was read on the 2nd; today, the 20th, is the end of all its lines."""
    document = client.get(f"/history.json?gpu=h100-sxm&{QUOTE}").json()
    plain = client.get("/history.json?gpu=h100-sxm").json()["lines"]
    own, *others = document["lines"]
    assert others == plain
    assert (own["provider"], own["line"], own["is_own"]) == ("own:Hale", "price", True)
    assert {line["is_own"] for line in others} == {False}
    times = [(each["from"], each["to"]) for line in plain for each in line["stretches"]]
    (level,) = own["stretches"]
    assert (level["from"], level["to"]) == (min(times)[0], max(each[1] for each in times))
    assert level["from"][:10] == "2026-11-02"
    assert (level["value"], level["offer_id"], level["announced"]) == (2.1, -1, False)
    rows = read_csv(get(client, f"/history.csv?gpu=h100-sxm&{QUOTE}"))
    assert [row["provider"] for row in rows if row["is_own"] == "true"] == ["Hale"]
    assert float(rows[0]["value"]) == 2.1


def test_a_quote_reaches_as_far_ahead_as_what_is_announced(client: TestClient) -> None:
    """Nebius announced a price from the 1st of December on, which is drawn for 30 days."""
    query = "gpu=b200-sxm&provider=nebius&quote=Hale%7Cb200-sxm%7C5"
    assert lines(client, query)["own:Hale", "price"][0][1] == "2026-12-31"
    assert lines(client, f"{query}&to=2026-11-19")["own:Hale", "price"][0][1] == "2026-11-20"


def test_a_quote_does_not_end_where_a_provider_was_last_read(client: TestClient) -> None:
    """Nobody has read `ancient` since the second of the month; it is the twentieth."""
    found = lines(client, f"gpu=h100-sxm&provider=ancient&{QUOTE}")
    assert found["ancient", "price"][0][1] < "2026-11-20"
    assert found["own:Hale", "price"][0][1] == "2026-11-20"


def test_a_quote_has_its_figure_by_every_metric(client: TestClient) -> None:
    """2.10 dollars over the 3.35 TB/s of NVIDIA's data sheet of the H100 SXM."""
    found = lines(client, f"gpu=h100-sxm&metric=usd_per_tbs_hour&{QUOTE}")
    assert found["own:Hale", "price"][0][2] == pytest.approx(2.1 / 3.35)
    unknown = lines(client, f"gpu=h100-sxm&metric=usd_per_pflop_hour&precision=fp4&{QUOTE}")
    assert unknown["own:Hale", "price"][0][2] is None
    # 40,000 / (4 x 8,760 x 0.6) is 1.902588, 1.2 kW at 0.12 is 0.144.
    rig = lines(client, "gpu=h200-sxm&own=Rig%7Ch200-sxm%7C40000%7C4%7C1200%7C0.12%7C60%25")
    assert rig["own:Rig", "price"][0][2] == pytest.approx(2.046588)


def test_the_chart_draws_a_quote_level_in_ink_with_stars(client: TestClient) -> None:
    plain = client.get("/figures/history.json?gpu=h100-sxm").json()["data"]
    *others, own = client.get(f"/figures/history.json?gpu=h100-sxm&{QUOTE}").json()["data"]
    assert others == plain
    assert own["name"] == "yours: Hale"
    assert own["y"] == [2.1, 2.1]
    times = [each for trace in plain for each in trace["x"] if each]
    assert own["x"] == [min(times), max(times)]
    assert (own["line"]["color"], own["marker"]["symbol"]) == (INK, OWN_SYMBOL)


def test_the_table_begins_with_a_quote_that_leads_to_its_evidence(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, f"/history?gpu=h100-sxm&metric=usd_per_tbs_hour&spec=alt&{QUOTE}"))
    first = tree.css_first("table.offers tbody tr")
    assert first.attributes["class"] == "own"
    assert first.css_first("th .flag.own").text() == "yours"
    assert first.css_first("th a") is None
    assert float(first.css_first("td.n").attributes["data-value"] or "") == pytest.approx(2.1 / 3.35)
    evidence = first.css_first("td a").attributes["href"]
    assert evidence == f"/offers/-1?spec=alt&{QUOTE[:-1]}"
    assert "Your own figure" in get(client, evidence)
    (without,) = tree.css(".own-figures a")
    assert without.attributes["href"] == "/history?gpu=h100-sxm&metric=usd_per_tbs_hour&spec=alt"
    hidden = tree.css_first("form input[name=quote]").attributes["value"]
    assert hidden == "Hale|h100-sxm|2.1"
    assert f"/gpus/h100-sxm?{QUOTE[:-1]}" in {link.attributes["href"] for link in tree.css("main a")}


def test_a_figure_for_another_card_is_said_not_to_be_shown(client: TestClient) -> None:
    query = f"gpu=h200-sxm&{QUOTE}&quote=Vale%7Ch200-sxm%7C3&own=Rig%7Cb200-sxm%7C1%7C1%7C1%7C1%7C1"
    document = client.get(f"/history.json?{query}").json()
    assert [line["provider"] for line in document["lines"] if line["is_own"]] == ["own:Vale"]
    assert document["own_not_shown"] == ["own:Hale", "own:Rig"]
    tree = LexborHTMLParser(get(client, f"/history?{query}"))
    said = [node.text() for node in tree.css(".notice")]
    assert "Your quote Hale is for the H100 SXM 80 GB and is not shown here." in said
    assert "Your hardware Rig is for the B200 SXM 180 GB and is not shown here." in said
    assert not [each for each in said if "Vale" in each]
    assert [row.css_first("th").text() for row in tree.css("tr.own")] == ["Vale yours"]
    # The evidence of a figure is that of its number among all that the link gives.
    assert (tree.css_first("tr.own td a").attributes["href"] or "").startswith("/offers/-2?")


def test_a_quote_stays_beside_lines_of_other_terms_which_the_page_says(client: TestClient) -> None:
    query = "gpu=h100-sxm&service=pod&provider=runpod&quote=Hale%7Ch100-sxm%7C2.10%7C8x+1y"
    assert lines(client, query)["own:Hale", "price"][0][2] == 2.1
    said = [node.text() for node in LexborHTMLParser(get(client, f"/history?{query}")).css(".notice")]
    assert said == [
        "Your quote Hale is reserved, 365 days; the other lines are on demand.",
        "Your quote Hale is for: instance; the other lines: pod.",
    ]


def test_a_quote_alone_is_level_over_the_time_that_was_asked_for(client: TestClient) -> None:
    found = lines(client, f"gpu=h100-sxm&from=2026-10-01&to=2026-10-31&{QUOTE}")
    assert found == {("own:Hale", "price"): [("2026-10-01", "2026-11-01", 2.1, False)]}
    open_end = lines(client, f"gpu=h100-sxm&provider=ancient&from=2026-11-19&{QUOTE}")
    assert open_end == {("own:Hale", "price"): [("2026-11-19", "2026-11-20", 2.1, False)]}
    page = get(client, f"/history?gpu=h100-sxm&from=2026-10-01&to=2026-10-31&{QUOTE}")
    assert "Nobody we read has asked such a price" in page
    assert "data-figure" in page


def test_the_page_of_a_card_draws_a_quote_too(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, f"/gpus/h100-sxm?{QUOTE}"))
    assert "Hale" in tree.css_first("h2#history ~ * tr.own, tr.own").text()
    figures = [node.attributes["data-figure"] or "" for node in tree.css("[data-figure]")]
    assert f"/figures/history.json?gpu=h100-sxm&{QUOTE[:-1]}" in figures


def test_where_no_bandwidth_counts_none_is_offered(client: TestClient) -> None:
    for query in ("gpu=b200-sxm", "gpu=h100-sxm&metric=usd_per_tbs_hour"):
        assert "which is published too" not in get(client, f"/history?{query}")
        assert "is the same with any published bandwidth" in get(client, f"/history?{query}&spec=alt")
    answer = client.get("/history.json?spec=best")
    assert (answer.status_code, answer.json()["field"]) == (422, "spec")


def test_links_lead_to_the_last_days(client: TestClient) -> None:
    """Today is the 20th of November."""
    tree = LexborHTMLParser(get(client, "/history?gpu=b200-sxm&metric=usd_per_tbs_hour"))
    found = {link.text(): link for link in tree.css("nav.choices a")}
    start = "/history?gpu=b200-sxm&metric=usd_per_tbs_hour"
    assert {label: link.attributes["href"] for label, link in found.items()} == {
        "30 days": f"{start}&from=2026-10-21",
        "90 days": f"{start}&from=2026-08-22",
        "400 days": start,
    }
    assert [label for label, link in found.items() if "aria-current" in link.attributes] == ["400 days"]
    month = LexborHTMLParser(get(client, found["30 days"].attributes["href"] or ""))
    [chosen] = month.css("nav.choices a[aria-current]")
    assert chosen.text() == "30 days"


def test_the_rows_of_a_history_are_read_once_while_the_board_stands(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page, chart and another figure of the same lines do not ask the database again; another card does."""
    asked: list[str] = []
    plain = store.prices_of

    def counted(connection: Any, wanted: Wanted, **times: Any) -> Any:
        asked.append(wanted.accelerator)
        return plain(connection, wanted, **times)

    monkeypatch.setattr(store, "prices_of", counted)
    query = "service=pod&from=2026-11-03"
    for path in ("history", "history.json", "history.csv", "figures/history.json"):
        for metric in ("usd_per_gpu_hour", "usd_per_tbs_hour"):
            assert client.get(f"/{path}?gpu=h200-sxm&{query}&metric={metric}").status_code == 200
    assert client.get(f"/history.json?gpu=h100-pcie&{query}").status_code == 200
    assert asked == ["h200-sxm", "h100-pcie"]


def test_only_as_many_lines_are_kept_as_a_large_history_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_query, "MOST_PRICES", 10)
    recent = history_query._Recent()
    made: list[int] = []
    day = datetime(2026, 11, 1, tzinfo=UTC)
    line = Line(provider="acme", what="price", stretches=(Stretch(day, day, 1, 1, announced=False),) * 4)
    kept = history_query._Lines((line,), (), day.date(), day)

    def ask(key: int) -> None:
        recent.lines(key, lambda: made.append(key) or kept)  # type: ignore[func-returns-value]  # noted, then kept

    for key in (1, 2, 1, 3, 2, 1):
        ask(key)
    # Two of four stretches each fit; the third puts out the first, which is made once more.
    assert made == [1, 2, 3, 1]
