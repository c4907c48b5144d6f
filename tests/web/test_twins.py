"""Every page has a twin as JSON and one as CSV: the same query, numbers, tags and refusals; flat rows."""

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlencode, urlsplit

import pytest
from fastapi import FastAPI
from selectolax.lexbor import LexborHTMLParser
from starlette.routing import BaseRoute, Route
from starlette.testclient import TestClient

from app.web.tools.registry import TOOLS
from tests.web import hostile, market
from tests.web.conftest import Market, serve
from tests.web.reading import get, read_csv

NO_PAGES = {"/healthz", "/readyz", "/metrics", "/quote", "/llms/config"}
KINDS = {"json": "application/json", "csv": "text/csv; charset=utf-8"}

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")

# What a number of a twin ends in: a unit, or it counts or names something.
UNIT = re.compile(
    r"(hour|_gb|_gib_usable|_tb_s|_tflops|_tops|_pflops|_flops|_s|_w|_byte|_percent|_share|_year|_ceiling|_multiple|"
    r"_mtok_(output|input|blended)|_per_stream|_gb_per_gpu|_gb_fp8|_per_token_16bit|_bytes|_tokens)$"
)
COUNTS = re.compile(
    r"^(.*offers|.*_id|.*min_gpus|gpus_for_weights|gpu_count|.*_runs|.*providers|hits|needed|accelerators|"
    r"term_days_(min|max)|times_a_day|minimum|maximum|.*list_price|memory_(gb_as_written|bandwidth_alt_tb_s)|value|"
    r"decided_by_(rival_)?value|sku|capture_sha256|usd_per_unit_of_currency|"
    r"params_\w+|experts|experts_per_token|layers|slots|max_context|batch|(rented_)?gpus|max_concurrency|api_\w+|"
    r"engine_version|temperature|(asked_)?top_k|top_p|min_p)$"
)


FILLED = {tool.path: f"?{urlencode(tool.examples[0].texts)}" for tool in TOOLS}
"""What a tool has to be asked for rows: most have none before anything is typed."""


def all_paths(routes: Iterable[BaseRoute]) -> Iterator[str]:
    """Yield the path of every route that answers to GET, those of included routers too."""
    for each in routes:
        if isinstance(each, Route) and "GET" in (each.methods or ()):
            yield each.path_format
        yield from all_paths(getattr(getattr(each, "original_router", None), "routes", ()))


def known_paths(client: TestClient) -> list[str]:
    application = client.app
    assert isinstance(application, FastAPI)
    return list(dict.fromkeys(all_paths(application.routes)))


def page_paths(client: TestClient) -> list[str]:
    """Return the path of every page of the application, with the names of what varies in braces."""
    return [path for path in known_paths(client) if "." not in path and path not in NO_PAGES]


def twin_of(path: str, kind: str) -> str:
    return f"/offers.{kind}" if path == "/" else f"{path}.{kind}"


def examples(served: Market) -> Mapping[str, str]:
    """Return an address of every page."""
    known = {
        "/gpus/{variant}": "/gpus/h200-sxm",
        "/providers/{provider}": "/providers/runpod",
        "/offers/{offer_id}": f"/offers/{served.ids['odd', 'euro']}",
        "/llms/{llm}": "/llms/deepseek-ai/DeepSeek-V3",
        "/llms/{llm}/offers/{offer_id}": f"/llms/Qwen/Qwen3-8B/offers/{served.ids['runpod', 'H100 flex']}",
    }
    return {path: known.get(path, path) for path in page_paths(served.client)}


def test_every_page_has_a_twin_as_json_and_one_as_csv(client: TestClient) -> None:
    known, pages = known_paths(client), page_paths(client)
    assert {"/", "/compare", "/gpus/{variant}", "/providers/{provider}", "/docs"} <= set(pages)
    application = client.app
    assert isinstance(application, FastAPI)
    described = application.openapi()["paths"]
    twins = [twin_of(path, kind) for path in pages for kind in KINDS]
    assert [twin for twin in twins if twin not in known or twin not in described] == []


def test_a_page_names_its_twins_in_its_head_and_where_people_see_them(served: Market) -> None:
    for path, address in examples(served).items():
        tree = LexborHTMLParser(get(served.client, address))
        head = {
            link.attributes["type"]: urlsplit(link.attributes["href"] or "").path
            for link in tree.css('link[rel="alternate"]')
        }
        shown = {urlsplit(link.attributes["href"] or "").path for link in tree.css("main a[href]")}
        for kind, media_type in (("json", "application/json"), ("csv", "text/csv")):
            twin = twin_of(path if path == "/" else address, kind)
            assert head[media_type] == twin, address
            assert twin in shown, address


@pytest.mark.parametrize("kind", KINDS)
def test_a_twin_has_its_type_its_tag_and_a_head(served: Market, kind: str) -> None:
    for path, address in examples(served).items():
        twin = twin_of(path if path == "/" else address, kind)
        answer = served.client.get(twin)
        assert (answer.status_code, answer.headers["content-type"]) == (200, KINDS[kind]), twin
        assert len(answer.content) > 30
        again = served.client.get(twin, headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b""), twin
        head = served.client.head(twin)
        assert (head.status_code, head.headers["etag"], head.content) == (200, answer.headers["etag"], b"")
        if kind == "csv":
            assert answer.headers["content-disposition"].startswith('attachment; filename="inferprice-')


def test_a_wrong_query_is_refused_by_page_and_twins_alike(served: Market) -> None:
    for path, address in examples(served).items():
        assert served.client.get(f"{address}?colour=green").status_code == 422, address
        for kind in KINDS:
            answer = served.client.get(f"{twin_of(path if path == '/' else address, kind)}?colour=green")
            assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
            assert answer.json()["field"] == "parameter"
            assert answer.json()["value"] == "colour"


def test_an_empty_value_is_the_default_for_a_twin_and_tidied_away_for_a_page(client: TestClient) -> None:
    for path in ("/charts/bars", "/charts/scatter", "/gpus", "/compare", "/history", "/claims", "/changes"):
        name = "day" if path == "/changes" else "from" if path == "/history" else "as_of"
        answer = client.get(f"{path}?{name}=")
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, path)
        for kind in KINDS:
            twin = client.get(f"{path}.{kind}?{name}=")
            assert twin.status_code == 200, (path, kind)
            assert twin.content == client.get(f"{path}.{kind}").content


# ---------------------------------------------------------------- the same numbers


def values(html: str, selector: str = "main") -> list[str]:
    """Return the exact numbers that stand behind the shown ones, in the order of the page."""
    return [
        node.attributes["data-value"] or "" for node in LexborHTMLParser(html).css(f"{selector} [data-value]")
    ]


@pytest.mark.parametrize("query", ["", "?gpu=h100&sort=usd_per_gpu_hour", "?pricing=spot&precision=bf16"])
def test_the_bars_are_the_tables_numbers(client: TestClient, query: str) -> None:
    shown = [float(each) for each in values(get(client, f"/charts/bars{query}"))]
    document = client.get(f"/charts/bars.json{query}").json()
    key = document["metric"]["key"]
    assert [bar[key] for bar in document["bars"]] == shown
    assert [float(line[key]) for line in read_csv(get(client, f"/charts/bars.csv{query}"))] == shown
    assert len(shown) > 1


def test_a_bar_says_whether_its_price_is_a_floor(client: TestClient) -> None:
    """Of B200 the provider "odd" has one offer, from $4.00, and the others print prices."""
    query = "?gpu=b200&sort=usd_per_gpu_hour"
    bars = {
        bar["provider"]: bar["is_floor"] for bar in client.get(f"/charts/bars.json{query}").json()["bars"]
    }
    lines = {line["provider"]: line["is_floor"] for line in read_csv(get(client, f"/charts/bars.csv{query}"))}
    assert bars.pop("odd") is True
    assert set(bars.values()) == {False}
    assert lines == {"odd": "true", **dict.fromkeys(bars, "false")}
    shown = [
        cell.text() for cell in LexborHTMLParser(get(client, f"/charts/bars{query}")).css("[data-value] a")
    ]
    assert [text for text in shown if text.startswith("\N{GREATER-THAN OR EQUAL TO}")] == [
        "\N{GREATER-THAN OR EQUAL TO} 4.00"
    ]


@pytest.mark.parametrize("query", ["", "?gpu=h200&gpu=h100-sxm", "?precision=bf16&as_of=2026-11-14"])
def test_the_scatter_is_the_tables_numbers(client: TestClient, query: str) -> None:
    shown = [float(each) for each in values(get(client, f"/charts/scatter{query}"))]
    points = client.get(f"/charts/scatter.json{query}").json()["points"]
    lines = read_csv(get(client, f"/charts/scatter.csv{query}"))
    keys = ("usd_per_tbs_hour", "usd_per_pflop_hour")
    assert [point[key] for point in points for key in keys] == shown
    assert [float(line[key]) for line in lines for key in keys] == shown
    efficient = LexborHTMLParser(get(client, f"/charts/scatter{query}")).css("main tbody tr")
    marked = ["efficient" in row.text() for row in efficient]
    assert [point["efficient"] for point in points] == marked
    assert any(marked)


def test_a_card_has_the_price_of_its_page_and_the_ratio_worked_out(client: TestClient) -> None:
    page = LexborHTMLParser(get(client, "/gpus/h200-sxm")).css_first("p.summary strong").text()
    document = client.get("/gpus/h200-sxm.json").json()
    (line,) = read_csv(get(client, "/gpus/h200-sxm.csv"))
    # The market's own price, over the 4.8 TB/s of NVIDIA's data sheet.
    assert page == "$4.29"
    assert document["cheapest_on_demand_usd_per_gpu_hour"] == 4.29
    assert document["cheapest_on_demand_usd_per_tbs_hour"] == pytest.approx(4.29 / 4.8)
    assert float(line["cheapest_on_demand_usd_per_tbs_hour"]) == pytest.approx(0.89375)
    assert line["siblings"].split(" | ") == document["siblings"]
    assert "H200 SXM" in line["names"].split(" | ")


def test_a_card_takes_its_pages_query(client: TestClient) -> None:
    # Dense BF16 and FP8 rates of the H100 SXM over 3.35 TB/s, from NVIDIA's data sheet.
    for precision, ridge in (("bf16", 989.4 / 3.35), ("fp8", 1979 / 3.35)):
        address = f"?precision={precision}"
        document = client.get(f"/gpus/h100-sxm.json{address}").json()
        (line,) = read_csv(get(client, f"/gpus/h100-sxm.csv{address}"))
        assert document["ops_per_byte"] == pytest.approx(ridge, rel=1e-3)
        assert float(line["ops_per_byte"]) == pytest.approx(ridge, rel=1e-3)
        assert f"Dense {precision.upper()}" in get(client, f"/gpus/h100-sxm{address}")
    twins = LexborHTMLParser(get(client, "/gpus/h100-sxm?precision=bf16")).css('link[rel="alternate"]')
    assert {urlsplit(link.attributes["href"] or "").query for link in twins} == {"precision=bf16"}


def test_a_provider_has_the_offers_of_its_page(served: Market) -> None:
    client = served.client
    tree = LexborHTMLParser(get(client, "/providers/runpod"))
    shown = [int((row.id or "").removeprefix("o")) for row in tree.css("tr[id^=o]")]
    document = client.get("/providers/runpod.json").json()
    lines = read_csv(get(client, "/providers/runpod.csv"))
    assert [row["offer_id"] for row in document["rows"]] == shown
    assert [row["sku"] for row in document["rows"]] == [line["sku"] for line in lines]
    assert len(lines) == 6
    on_page = set(values(get(client, "/providers/runpod")))
    assert {line["usd_per_tbs_hour"] for line in lines} <= on_page
    assert [run["started_at"][:10] for run in document["runs"]] == ["2026-11-20", "2026-11-13", "2026-11-02"]
    listed = {each["provider"]: each for each in read_csv(get(client, "/providers.csv"))}
    assert (listed["runpod"]["offers"], listed["runpod"]["gpus"].count(" | ")) == ("6", 3)


def test_the_evidence_has_the_figures_of_its_page(served: Market) -> None:
    address = f"/offers/{served.ids['runpod', 'H100 flex']}"
    tree = LexborHTMLParser(get(served.client, f"{address}?weights_gb=140"))
    shown = [row.css_first("td").text() for row in tree.css("section.worked tbody tr")]
    document = served.client.get(f"{address}.json?weights_gb=140").json()
    assert [each["shown"] for each in document["worked"]] == shown
    # 0.00116 dollars a second, over 3.35 TB/s.
    assert document["usd_per_gpu_hour"] == pytest.approx(4.176)
    assert document["usd_per_tbs_hour"] == pytest.approx(4.176 / 3.35)
    # 3.35 TB/s over 140 GB.
    assert document["decode_ceiling_tokens_per_s"] == pytest.approx(3350 / 140)
    assert document["printed"] == "0.00116 USD per GPU and second"
    (line,) = read_csv(get(served.client, f"{address}.csv?weights_gb=140"))
    assert float(line["usd_per_tbs_hour"]) == document["usd_per_tbs_hour"]
    assert line["fragment"] == document["fragment"]
    gone = f"/offers/{served.ids['oldhost', 'X']}"
    assert served.client.get(f"{gone}.json?as_of=2026-11-05").json()["list_price"] == 6
    assert served.client.get(f"{gone}.csv").status_code == 404


def test_a_change_says_which_of_its_prices_are_floors(client: TestClient) -> None:
    lines = {line["sku"]: line for line in read_csv(get(client, "/changes.csv?provider=odd"))}
    floor, firm = lines["floor"], lines["minimum"]  # both were new, so there is no price before
    shown = [floor[key] for key in ("after_list_price", "after_is_floor", "before_is_floor")]
    assert shown == ["4.0", "true", ""]
    assert (firm["after_list_price"], firm["after_is_floor"]) == ("2.2", "false")


def test_changes_claims_and_status_have_a_line_for_each_of_the_pages(client: TestClient) -> None:
    shown = LexborHTMLParser(get(client, "/changes?provider=oldhost&day=2026-11-15"))
    lines = read_csv(get(client, "/changes.csv?provider=oldhost&day=2026-11-15"))
    assert len(lines) == len(shown.css("section.day tbody tr"))
    assert [(line["day"], line["kind"], line["before_usd_per_gpu_hour"]) for line in lines][:1] == [
        ("2026-11-15", "withdrawn", "6.0")
    ]
    claims = read_csv(get(client, "/claims.csv"))
    tree = LexborHTMLParser(get(client, "/claims"))
    assert list(dict.fromkeys(line["claim"] for line in claims)) == [
        each.id for each in tree.css("article.claim")
    ]
    assert {"true": "holds", "false": "does not hold"}[claims[0]["holds"]] == (
        tree.css_first("article.claim .stands").text()
    )
    status = read_csv(get(client, "/status.csv"))
    names = [row.css_first("th").text() for row in LexborHTMLParser(get(client, "/status")).css("tr[id]")]
    assert [line["name"] for line in status] == names
    assert {line["provider"]: line["freshness"] for line in status}["acme"] == "fresh"


def test_a_readers_own_quote_stands_in_twins_that_nobody_keeps(client: TestClient) -> None:
    quote = "quote=Mine%7Ch200-sxm%7C1.20"
    for address in (f"/charts/bars.csv?{quote}", f"/charts/scatter.csv?{quote}", f"/offers/-1.csv?{quote}"):
        answer = client.get(address)
        assert answer.headers["cache-control"] == "private, no-store"
        assert "etag" not in answer.headers
        (mine,) = [line for line in read_csv(answer.text) if "Mine" in line["provider"]]
        # 1.20 dollars over 4.8 TB/s.
        assert float(mine["usd_per_tbs_hour"]) == pytest.approx(0.25)
    assert "Mine" not in client.get("/charts/bars.csv").text


# ---------------------------------------------------------------- what is not there, and how it is written


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/gpus/h100.json", "did you mean h100-sxm"),
        ("/gpus/h200-smx.csv", "did you mean h200-sxm"),
        ("/providers/runpad.json", "did you mean runpod"),
        ("/offers/0.json", "There is no offer 0"),
        ("/offers/x.csv", "An offer is a number"),
    ],
)
def test_what_is_not_there_is_a_problem_that_says_so(client: TestClient, address: str, said: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert said in answer.json()["detail"]


@pytest.fixture(scope="module")
def hostile_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The application on a board whose texts are formulas and markup."""
    url = f"sqlite:///{tmp_path_factory.mktemp('hostile') / 'market.db'}"
    market.fill(url, market=hostile.runs())
    with serve(url) as client:
        yield client


def assert_flat(text: str, address: str) -> None:
    lines = read_csv(text)
    assert lines, address
    for line in lines:
        assert None not in line, (address, line)
        assert None not in line.values(), (address, line)
        for key, value in line.items():
            is_number = re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", value)
            assert is_number or not value.lstrip(" ").startswith(FORMULA_STARTS), (address, key, value)


def test_rows_are_flat_and_no_text_runs_in_a_spreadsheet(served: Market, hostile_client: TestClient) -> None:
    for path, address in examples(served).items():
        twin = twin_of(path if path == "/" else address, "csv") + FILLED.get(path, "")
        assert_flat(get(served.client, twin), twin)
    for number in range(1, len(hostile.MARKUP) + 1):
        assert_flat(get(hostile_client, f"/offers/{number}.csv"), f"/offers/{number}.csv")
    for address in (
        "/offers.csv",
        "/providers.csv",
        "/status.csv",
        "/charts/bars.csv",
        "/charts/scatter.csv",
    ):
        assert_flat(get(hostile_client, address), address)
    assert_flat(get(hostile_client, "/changes.csv?day=2026-11-20"), "/changes.csv")


def test_a_number_has_its_unit_in_its_header(served: Market) -> None:
    wrong = set()
    for path, address in examples(served).items():
        twin = twin_of(path if path == "/" else address, "csv") + FILLED.get(path, "")
        for line in read_csv(get(served.client, twin)):
            for key, value in line.items():
                is_number = re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", value)
                if is_number and not UNIT.search(key) and not COUNTS.match(key):
                    wrong.add((twin, key, value))
    assert wrong == set()
