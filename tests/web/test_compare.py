"""The comparison's page, JSON and CSV give the article's table, the same numbers, and say what is wrong."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.ingest.imports import import_table
from app.store.migrate import upgrade
from app.store.session import make_engine
from app.web.main import create_app
from tests.domain.bundled import READ_AT
from tests.domain.test_pairing import ARTICLE
from tests.web.conftest import settings_for
from tests.web.reading import get, read_csv

CARDS = ("h100-sxm", "h200-sxm", "b200-sxm")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The application on the table of 2026-10-30, on that day."""
    home = tmp_path_factory.mktemp("table")
    engine = make_engine(url := f"sqlite:///{home}/table.db")
    upgrade(engine)
    import_table(engine, home, now=READ_AT)
    engine.dispose()
    with TestClient(create_app(settings_for(url), clock=lambda: READ_AT), follow_redirects=False) as client:
        yield client


@pytest.fixture
def day(table: TestClient) -> TestClient:
    return table


def sentences(html: str, css: str) -> list[str]:
    return [node.text().strip() for node in LexborHTMLParser(html).css(css)]


def test_the_page_says_what_the_article_says(day: TestClient) -> None:
    page = get(day, "/compare")
    assert sentences(page, ".verdicts li") == [
        (
            "The H200 SXM wins against the H100 SXM at 6 of 7 providers and loses at Together AI "
            "(1.50 times the price, break-even 1.43)."
        ),
        "The B200 SXM wins against the H100 SXM at 7 of 7 providers.",
        "Of all compared, the B200 SXM does best at 7 of 7 that list it.",
    ]
    assert sentences(page, ".fragile li") == [
        "With 7.7 TB/s, also published, the B200 SXM loses to the H200 SXM at Fireworks (1.69 against 1.67)."
    ]


def test_the_cells_of_page_json_and_csv_are_the_articles(day: TestClient) -> None:
    lines = LexborHTMLParser(get(day, "/compare")).css("table.offers tbody tr")
    document = day.get("/compare.json").json()
    rows = {(row["provider"], row["accelerator"]): row for row in read_csv(get(day, "/compare.csv"))}
    assert (len(lines), len(document["lines"]), len(rows)) == (7, 7, 21)
    for line, each in zip(lines, document["lines"], strict=True):
        printed = ARTICLE[each["provider"]]
        shown = [float(cell.attributes["data-value"] or "") for cell in line.css("td[data-value]")]
        for number, cell in enumerate(each["cells"]):
            row = rows[each["provider"], cell["accelerator"]]
            usd, value = float(row["usd_per_gpu_hour"]), float(row["usd_per_tbs_hour"])
            assert usd == cell["usd_per_gpu_hour"] == shown[2 * number] == float(printed[number])
            assert value == cell["value"] == shown[2 * number + 1]
            assert value == pytest.approx(float(printed[3 + number]), abs=0.0051)
            for key in ("price_multiple", "breakeven_multiple"):
                assert (float(row[key]) if row[key] else None) == cell[key]


def test_every_price_leads_to_its_evidence(day: TestClient) -> None:
    links = LexborHTMLParser(get(day, "/compare")).css("table.offers tbody td a")
    assert len(links) == 21
    for link in links:
        evidence = get(day, link.attributes["href"] or "")
        assert link.text() in evidence


def test_the_other_figures_by_a_link_and_back(day: TestClient) -> None:
    link = LexborHTMLParser(get(day, "/compare")).css_first(".fragile a")
    assert link.text() == "Recompute with H200 SXM 4.89 TB/s and B200 SXM 7.7 TB/s"
    assert link.attributes["href"] == "/compare?spec=alt"
    page = get(day, "/compare?spec=alt")
    assert "The B200 SXM does best" not in page
    assert "the B200 SXM does best at 6 of 7" in page
    assert LexborHTMLParser(page).css_first(".fragile a").attributes["href"] == "/compare"


def test_reserved_rates_pass_at_together(day: TestClient) -> None:
    document = day.get("/compare.json?gpu=h100-sxm&gpu=h200-sxm&pricing=reserved").json()
    [line] = document["lines"]
    cell = line["cells"][1]
    assert (line["provider"], line["term_days_min"], line["term_days_max"]) == ("together", 91, 180)
    assert (round(cell["price_multiple"], 4), cell["passes"]) == (1.2508, True)
    assert len(document["left_out"]) == 6


def test_a_form_leads_to_the_short_address(day: TestClient) -> None:
    sent = "/compare?" + "&".join(f"gpu={card}" for card in CARDS)
    answer = day.get(f"{sent}&metric=usd_per_tbs_hour&pricing=on_demand&as_of=")
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare")
    answer = day.get("/compare?gpu=h100-sxm&gpu=b200-sxm&metric=usd_per_pflop_hour&spec=alt&as_of=")
    assert answer.headers["location"] == (
        "/compare?gpu=h100-sxm&gpu=b200-sxm&spec=alt&metric=usd_per_pflop_hour"
    )


def test_a_family_of_one_variant_stands_for_it(day: TestClient) -> None:
    document = day.get("/compare.json?gpu=rubin&gpu=h200-sxm").json()
    assert [card["accelerator"] for card in document["cards"]] == ["rubin", "h200-sxm"]


REFUSED = {
    "gpu=h100&gpu=h200-sxm": ("gpu", "h100", "name the variant: h100-sxm or h100-pcie or h100-nvl"),
    "gpu=h100-sxm": ("gpu", "h100-sxm", "compare 2 to 8 different cards"),
    "gpu=h100-sx&gpu=h200-sxm": ("gpu", "h100-sx", "did you mean"),
    "metric=tdp_w": ("metric", "tdp_w", "use one of usd_per_gpu_hour"),
    "metric=ops_per_byte": ("metric", "ops_per_byte", "use one of"),
    "spec=other": ("spec", "other", "use one of alt, main"),
    "spec=alt&spec=main": ("spec", "main", "give it once"),
    "baseline=h100-pcie": ("baseline", "h100-pcie", "use one of the compared cards"),
    "pricing=xyz": ("pricing", "xyz", "use one of on_demand"),
    "as_of=2027-01-01": ("as_of", "2027-01-01", "up to today, 2026-10-30"),
    "sort=provider": ("parameter", "sort", "use one of gpu"),
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_right_is_said(day: TestClient, query: str) -> None:
    field, value, expected = REFUSED[query]
    for path in ("/compare.json", "/compare.csv"):
        answer = day.get(f"{path}?{query}")
        assert answer.status_code == 422
        problem = answer.json()
        assert (problem["field"], problem["value"]) == (field, value)
        assert expected in problem["expected"]
    page = day.get(f"/compare?{query}")
    assert page.status_code == 422
    assert f"{field}: \u201c{value}\u201d is not right." in page.text


def test_a_day_before_the_first_price_has_an_empty_table(day: TestClient) -> None:
    page = get(day, "/compare?as_of=2026-10-01")
    assert "No provider lists two of these cards under the same terms on 2026-10-01." in page
    assert "No price was recorded before 2026-10-30." in page


def test_it_is_answered_from_memory_with_a_tag(day: TestClient) -> None:
    for path in ("/compare", "/compare.json", "/compare.csv"):
        first = day.get(path)
        assert day.get(path, headers={"if-none-match": first.headers["etag"]}).status_code == 304


def test_the_market_shows_who_is_left_out_and_why(client: TestClient) -> None:
    document = client.get("/compare.json").json()
    out = {each["provider"]: each["why"] for each in document["left_out"]}
    assert out["odd"] == "has no price in dollars for the H200 SXM; gives only a floor for the B200 SXM"
    assert out["oldhost"] == "lists no H200 SXM; lists no B200 SXM"
    nebius = next(line for line in document["lines"] if line["provider"] == "nebius")
    assert nebius["cells"][1]["why"] == "lists no H200 SXM"
    page = LexborHTMLParser(get(client, "/compare"))
    assert [node.text() for node in page.css(".left-out dt")] == ["ancient and oldhost", "odd"]


def test_old_prices_are_said_in_one_sentence(table: TestClient) -> None:
    """Two weeks later every price of the table is old."""
    url = str(table.app.state.shared.engine.url)  # type: ignore[attr-defined]  # our application
    later = READ_AT + timedelta(days=14)
    with TestClient(create_app(settings_for(url), clock=lambda: later)) as client:
        page = get(client, "/compare")
    assert sentences(page, ".fragile li")[1:] == [
        "A good run last saw all of these prices on 2026-10-30; they may have moved since."
    ]
    assert len(LexborHTMLParser(page).css("tbody .flag.very_stale")) == 21
    assert sentences(page, "tbody td:last-child small") == ["in doubt"]


BEGINS = "Nebius has announced this price of its H100 SXM for 2026-11-20"
ANNOUNCED = f"{BEGINS}; no run has seen it as the current price yet."


@pytest.mark.parametrize("day", ["", "&as_of=2026-11-20"])
def test_a_price_that_was_only_announced_is_marked_and_nobody_is_said_to_have_seen_it(
    client: TestClient, day: str
) -> None:
    """Nebius was read on the 4th and the 19th, and said that 3.50 begins on the 20th."""
    query = f"?gpu=h100-sxm,b200-sxm{day}"
    document = client.get(f"/compare.json{query}").json()
    line = next(each for each in document["lines"] if each["provider"] == "nebius")
    assert line["cells"][0]["usd_per_gpu_hour"] == 3.5
    assert ("announced", "h100-sxm", ANNOUNCED) in [
        (each["why"], each["accelerator"], each["sentence"]) for each in line["doubts"]
    ]
    assert ANNOUNCED in document["doubts"]
    seen = [each for each in document["doubts"] if each.startswith("A good run last saw")]
    assert all("all of these prices between" not in each for each in seen)
    page = LexborHTMLParser(get(client, f"/compare{query}"))
    marks = [flag.attributes["title"] for flag in page.css("tbody .flag.announced")]
    assert marks == [ANNOUNCED]


def test_the_document_says_which_cards_a_comparison_takes(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for path in ("/compare.json", "/compare.csv"):
        (gpu,) = [each for each in paths[path]["get"]["parameters"] if each["name"] == "gpu"]
        assert gpu["description"] == "A variant, such as h100-sxm, and no family of several; 2 to 8 of them."
        nine = "h100-sxm,h100-pcie,h200-sxm,b200-sxm,a100-sxm-80,l4,l40s,b300-sxm,mi300x"
        for cards in ("h100-sxm", "h100,h200-sxm", nine):
            answer = client.get(f"{path}?gpu={cards}")
            assert (answer.status_code, answer.json()["field"]) == (422, "gpu"), cards
        assert client.get(f"{path}?gpu={nine.removesuffix(',mi300x')}").status_code == 200
    (board,) = [each for each in paths["/offers.json"]["get"]["parameters"] if each["name"] == "gpu"]
    assert "a family" in board["description"]
