"""What cannot be answered is refused in a sentence, on the page and as a problem document; nothing breaks."""

import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from app.domain.query import REPEATED, SINGLE
from tests.web.conftest import Market
from tests.web.reading import get, read_table

WRONG = [
    ("gpu=h10", "gpu", "h10", "h100"),
    ("pricing=ondemand", "pricing", "ondemand", "did you mean on_demand?"),
    ("min_gpus=none", "min_gpus", "none", "give a whole number from 1 to 100000"),
    ("weights_gb=0", "weights_gb", "0", "give a number from 0.001 to 1000000"),
    ("as_of=2026-11-21", "as_of", "2026-11-21", "up to today, 2026-11-20"),
    ("as_of=21.11.2026", "as_of", "21.11.2026", "give a day as YYYY-MM-DD"),
    ("sort=cheapest", "sort", "cheapest", "use one of"),
    ("columns=provider,price_tag", "columns", "price_tag", "did you mean"),
    ("page=1&page=2", "page", "2", "give it once"),
    ("colour=green", "parameter", "colour", "did you mean columns?"),
    ("min_gpus=8&max_gpus=1", "min_gpus", "8", "it is more than max_gpus=1"),
    ("gpu=%3Cscript%3Ealert(1)%3C/script%3E", "gpu", "<script>alert(1)</script>", "use one of"),
]


@pytest.mark.parametrize(("text", "field", "value", "expected"), WRONG)
def test_the_page_says_in_a_sentence_what_would_be_right(
    client: TestClient, text: str, field: str, value: str, expected: str
) -> None:
    answer = client.get(f"/?{text}")
    assert answer.status_code == 422
    assert answer.headers["cache-control"] == "no-store"
    tree = LexborHTMLParser(answer.text)
    assert tree.css_first("h1").text() == f"{field}: \u201c{value}\u201d is not right."
    assert expected in tree.css_first("main > p").text()
    assert tree.css_first("main a").attributes["href"] == "/"
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize(("text", "field", "value", "expected"), WRONG)
@pytest.mark.parametrize("path", ["/offers.json", "/offers.csv"])
def test_a_program_gets_a_problem_document(
    client: TestClient, path: str, text: str, field: str, value: str, expected: str
) -> None:
    answer = client.get(f"{path}?{text}")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert {key: body[key] for key in ("status", "field", "value", "type")} == {
        "status": 422,
        "field": field,
        "value": value,
        "type": "about:blank",
    }
    assert expected in body["expected"]
    assert body["detail"] == f"{field}: '{value}' is not right: {body['expected']}"


def test_a_name_that_is_right_but_not_on_the_board_is_an_empty_board(client: TestClient) -> None:
    for query in ("gpu=h20-96", "provider=modal", "q=nothing+like+it", "min_gpus=99"):
        page = get(client, f"/?{query}")
        assert read_table(page).ids == ()
        assert "No offer matches" in page
        assert client.get(f"/offers.json?{query}").json()["total"] == 0
        assert get(client, f"/offers.csv?{query}").count("\r\n") == 1


def test_a_page_beyond_the_last_says_which_is_the_last(client: TestClient) -> None:
    page = get(client, "/?page=50")
    assert "There is no page 50" in page
    assert 'href="/?page=2"' in page
    assert client.get("/offers.json?page=50").json()["rows"] == []


# ---------------------------------------------------------------- days


def test_the_days_that_can_be_asked_for(client: TestClient) -> None:
    today = read_table(get(client, "/?as_of=2026-11-20"))
    assert today.ids == read_table(get(client, "/")).ids
    assert "not today" not in today.tree.body.text()
    before = get(client, "/?as_of=2026-11-01")
    assert read_table(before).ids == ()
    assert "These are the prices of 2026-11-01, not today" in before
    assert "No price was recorded before 2026-11-02." in before
    assert client.get("/?as_of=0001-01-01").status_code == 200
    assert client.get("/?as_of=9999-12-31").status_code == 422


def test_a_past_day_shows_its_own_offers_and_says_so(client: TestClient) -> None:
    page = get(client, "/?as_of=2026-11-05&provider=oldhost")
    assert len(read_table(page).ids) == 2
    assert "These are the prices of 2026-11-05" in page
    assert "stale" not in read_table(page).tree.css_first("table.offers").text()


def test_evidence_of_a_past_day_or_of_an_offer_that_is_gone(served: Market) -> None:
    gone = served.ids["oldhost", "X"]
    assert served.client.get(f"/offers/{gone}?as_of=2026-11-05").status_code == 200
    answer = served.client.get(f"/offers/{gone}")
    assert answer.status_code == 404
    assert f"There is no offer {gone}." in answer.text
    assert served.client.get(f"/offers/{gone}?as_of=2026-11-16").status_code == 404
    assert served.client.get(f"/offers/{gone}?as_of=2026-11-21").status_code == 422


# ---------------------------------------------------------------- addresses that lead nowhere


NOWHERE = (
    "/nothing",
    "/offers/0",
    "/offers/-1",
    "/offers/1.5",
    "/offers/x",
    "/offers/1/2",
    "/offers/\u0661",  # an Arabic digit
    "/offers/%00",
    f"/offers/{'9' * 400}",
    f"/offers/{'9' * 6000}",
    "/offers.xml",
    "/redoc",
    "/%00",
    "/static/",
    "/static/../pyproject.toml",
    "/static/%2e%2e/pyproject.toml",
    "/static/..%2f..%2fpyproject.toml",
    "/static//etc/passwd",
    "/static/vendor/manifest.json/x",
)


@pytest.mark.parametrize("path", NOWHERE)
def test_an_address_that_leads_nowhere_is_a_404_with_a_way_back(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert 'href="/"' in answer.text
    assert len(answer.text) < 10_000
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/nothing.json", "/nothing.csv", "/offers/0.json", "/offers/x.csv"])
def test_a_program_gets_its_404_as_a_problem_document(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["status"]) == (404, 404)
    assert answer.headers["content-type"] == "application/problem+json"


# ---------------------------------------------------------------- what no browser sends


async def ask(app: ASGIApp, path: str, query: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """Ask the application directly with bytes that a client would refuse to send; give the status."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("192.0.2.1", 1),
        "server": ("test", 80),
    }
    await app(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("query", "status"),
    [
        (b"q=\xff", 422),
        (b"\xff\xfe=1", 422),
        (b"q=%ff", 422),
        (b"q=%c3%28", 422),
        (b"q=caf\xc3\xa9", 200),
        (b"q=%00", 422),
        (b"q=\x00", 422),
        (b"q=%zz%", 200),
        (b"&&&", 200),
        (b"=", 422),
        (b"?", 422),
        (b"gpu=%68100", 200),
        (b"q=" + b"x" * 8000, 422),
        (b"a=b&" * 10_000, 422),
        (b"q=&" * 600, 422),
        (b"gpu=h100&" * 400, 200),
        (b"gpu=" + b"h100," * 1500, 200),
        (b"min_memory_gb=1e-999999999", 422),
        (b"min_memory_gb=0e-999999999", 422),
        (b"weights_gb=1e999999999", 422),
        (b"as_of=%00", 422),
        (b"as_of&as_of&as_of", 303),
    ],
)
@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/", "/offers.csv", "/offers.json"])
async def test_odd_query_strings_are_read_or_refused_in_no_time(
    served: Market, path: str, query: bytes, status: int
) -> None:
    started = time.perf_counter()
    got = await ask(served.client.app, path, query, [])
    assert got == (200 if status == 303 and path != "/" else status)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("host", [b"", b"[::1", b"a b", b"\xff", b'evil"><script>', b"x" * 9000])
@pytest.mark.anyio
async def test_odd_host_headers_break_nothing(served: Market, host: bytes) -> None:
    for path in ("/", "/docs", "/nothing"):
        assert await ask(served.client.app, path, b"", [(b"host", host)]) in {200, 404}


def test_a_host_header_cannot_write_into_the_page(client: TestClient) -> None:
    text = client.get("/docs", headers={"host": 'evil"><script>alert(1)</script>'}).text
    assert "<script>alert" not in text


ANYTHING = st.text(st.characters(codec="utf-8"), max_size=40)
NAMES = st.sampled_from([*REPEATED, *SINGLE]) | ANYTHING


@given(st.lists(st.tuples(NAMES, ANYTHING | st.sampled_from(["h100", "1", "spot", "-tdp_w"])), max_size=5))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_the_three_answers_agree_on_whether_it_can_be_answered(
    served: Market, pairs: list[tuple[str, str]]
) -> None:
    text = "&".join(f"{quote(name)}={quote(value)}" for name, value in pairs)
    page, table, document = (
        served.client.get(f"{path}?{text}") for path in ("/", "/offers.csv", "/offers.json")
    )
    assert table.status_code == document.status_code
    assert page.status_code in ({200, 303} if table.status_code == 200 else {422})
    if table.status_code != 200:
        body: dict[str, Any] = document.json()
        assert body["field"]
        assert body["expected"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
