"""How answers travel: tags and 304, what varies, parts for htmx, redirects, HEAD, headers, compression."""

import re
from typing import Any
from urllib.parse import urlsplit

import brotli
import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.web import pages
from app.web.answers import MAX_BYTES, Answer, Answers
from tests.web.conftest import Market
from tests.web.reading import get, read_table

PART = {"hx-request": "true"}
RESTORE = {"hx-request": "true", "hx-history-restore-request": "true"}
TAGGED = ("/", "/?sort=-tdp_w&gpu=h100", "/offers/1", "/docs", "/offers.csv", "/offers.json?q=h100&page=1")
EVERYTHING = (*TAGGED, "/healthz", "/openapi.json", "/static/site.css", "/static/nothing", "/nothing")
PROBLEMS = ("/offers.csv?gpu=x", "/offers.json?as_of=2026-11-21", "/nothing.json", "/nothing.csv")


def first_id(market: Market) -> int:
    return next(iter(market.ids.values()))


# ---------------------------------------------------------------- tags


@pytest.mark.parametrize("address", TAGGED)
def test_an_answer_that_is_known_is_not_sent_again(client: TestClient, address: str) -> None:
    first = client.get(address)
    assert first.status_code == 200
    tag = first.headers["etag"]
    again = client.get(address, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag
    assert again.headers["vary"] == first.headers["vary"]
    assert "content-security-policy" in again.headers
    listed = client.get(address, headers={"if-none-match": f'"other", {tag.removeprefix("W/")}'})
    assert listed.status_code == 304
    assert client.get(address, headers={"if-none-match": '"other"'}).status_code == 200


def test_each_question_has_its_own_tag(client: TestClient) -> None:
    addresses = [*TAGGED, "/?gpu=h100", "/?as_of=2026-11-14", "/offers.csv?gpu=h100", "/offers.json?gpu=h100"]
    tags = {client.get(address).headers["etag"] for address in addresses}
    tags |= {
        client.get("/", headers=PART).headers["etag"],
        client.get("/offers/1", headers=PART).headers["etag"],
    }
    assert len(tags) == len(addresses) + 2


def test_an_answer_is_asked_for_again_each_time_and_says_what_it_varies_with(client: TestClient) -> None:
    for address in ("/", "/offers/1", "/offers.csv", "/offers.json"):
        answer = client.get(address)
        assert answer.headers["cache-control"] == "no-cache"
        varies = {each.strip().lower() for each in answer.headers["vary"].split(",")}
        assert varies == {"accept-encoding", "hx-request", "hx-history-restore-request"}


def test_browser_files_are_kept_for_ever_because_their_names_change(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/"))
    addresses = [each.attributes["href"] or "" for each in tree.css("link[rel=stylesheet], link[rel=icon]")]
    addresses += [each.attributes["src"] or "" for each in tree.css("script")]
    assert len(addresses) == 5
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert re.search(r"\.[0-9a-f]{12}\.|\?v=", address), "a name without a hash must carry a version"


# ---------------------------------------------------------------- the part that htmx swaps


def test_htmx_gets_the_part_and_everybody_else_the_page(client: TestClient) -> None:
    address = "/?gpu=h100&sort=-tdp_w"
    page, part, restored = (client.get(address, headers=headers) for headers in ({}, PART, RESTORE))
    assert page.text.startswith("<!doctype html>")
    assert restored.text == page.text
    assert part.text.lstrip().startswith("<main")
    assert part.text.strip() in page.text
    assert part.headers["hx-push-url"] == address
    assert "hx-push-url" not in page.headers


def test_a_part_pushes_the_short_address_of_its_query(client: TestClient) -> None:
    long = "/?q=&gpu=H100&sort=usd_per_tbs_hour&weights_gb=70&min_gpus=&columns=provider,accelerator"
    pushed = client.get(long, headers=PART).headers["hx-push-url"]
    assert pushed == "/?gpu=h100&columns=provider%2Caccelerator"
    assert client.get("/?q=&as_of=", headers=PART).headers["hx-push-url"] == "/"


def test_evidence_comes_as_a_row_below_or_as_a_page(client: TestClient) -> None:
    part = client.get("/offers/1?columns=provider,tdp_w", headers=PART).text
    assert part.startswith('<tr class="evidence" id="e1"><td colspan="3">')
    page = client.get("/offers/1").text
    assert page.startswith("<!doctype html>")
    assert LexborHTMLParser(page).css_first("h1").text()


def test_an_error_in_a_part_takes_the_place_of_the_board(client: TestClient) -> None:
    for address, status in (("/?gpu=x", 422), ("/offers/0", 404), ("/nothing", 404)):
        answer = client.get(address, headers=PART)
        assert answer.status_code == status
        assert answer.text.lstrip().startswith('<main id="board"')
        assert answer.headers["hx-retarget"] == "#board"
        assert answer.headers["hx-reswap"] == "outerHTML"


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("asked", "short"),
    [
        ("/?q=", "/"),
        ("/?q=&gpu=h200&min_gpus=&max_gpus=&as_of=&weights_gb=70", "/?gpu=h200"),
        ("/?sort=-tdp_w&q=a+b&baseline=", "/?sort=-tdp_w&q=a+b"),
        ("/?region=50%25+off%2Bzone&q=", "/?region=50%25+off%2Bzone"),
    ],
)
def test_a_form_s_empty_fields_are_led_away(client: TestClient, asked: str, short: str) -> None:
    answer = client.get(asked)
    assert (answer.status_code, answer.headers["location"]) == (303, short)
    assert client.get(short).status_code == 200


def test_every_link_of_the_page_leads_somewhere(client: TestClient) -> None:
    seen = set()
    for address in ("/", "/?per_page=10&page=2&baseline=h100-sxm&as_of=2026-11-14", "/?gpu=h100&page=9"):
        tree = LexborHTMLParser(get(client, address))
        links = {each.attributes.get("href") or "" for each in tree.css("a, link")}
        links |= {each.attributes.get("hx-get") or "" for each in tree.css("[hx-get]")}
        seen |= {link for link in links if link.startswith("/") and not link.startswith("//")}
    assert len(seen) > 50
    assert {link: status for link in seen if (status := client.get(link).status_code) != 200} == {}


def test_a_sort_link_keeps_everything_but_the_page(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/?gpu=h100&per_page=10&page=2&weights_gb=13.5"))
    links = [each.attributes["href"] or "" for each in tree.css("table.offers thead a")]
    assert len(links) == 11
    for link in links:
        assert {"gpu=h100", "per_page=10", "weights_gb=13.5"} <= set(urlsplit(link).query.split("&"))
        assert "&page=" not in link


def test_a_heading_sorts_the_best_first_and_turns_on_the_second_click(client: TestClient) -> None:
    def link(address: str, label: str) -> str:
        tree = LexborHTMLParser(get(client, address))
        [found] = [each for each in tree.css("table.offers thead a") if each.text() == label]
        return found.attributes["href"] or ""

    assert link("/", "$/GPU-h") == "/?sort=usd_per_gpu_hour"
    assert link("/?sort=usd_per_gpu_hour", "$/GPU-h") == "/?sort=-usd_per_gpu_hour"
    assert link("/?sort=-usd_per_gpu_hour", "$/GPU-h") == "/?sort=usd_per_gpu_hour"
    assert link("/", "Decode ceiling") == "/?sort=-decode_ceiling_tokens_per_s"
    assert link("/", "$/TB/s-h") == "/?sort=-usd_per_tbs_hour"
    assert link("/?sort=-usd_per_tbs_hour", "$/TB/s-h") == "/"


def test_the_form_carries_what_it_does_not_show(client: TestClient) -> None:
    """A filter that is changed keeps the sort order and the number of rows, and goes back to page one."""
    tree = LexborHTMLParser(get(client, "/?sort=-tdp_w&per_page=10&page=2"))
    hidden = {
        each.attributes["name"]: each.attributes["value"] for each in tree.css("#filters input[type=hidden]")
    }
    assert hidden == {"sort": "-tdp_w", "per_page": "10"}


# ---------------------------------------------------------------- what every answer has


@pytest.mark.parametrize("address", [*EVERYTHING, *PROBLEMS, "/?gpu=x", "/?q=", "/offers/0"])
def test_every_answer_carries_the_security_headers(client: TestClient, address: str) -> None:
    headers = client.get(address).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "strict-origin-when-cross-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"


def test_a_fault_is_a_sentence_without_a_traceback_and_carries_them_too(
    served: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(pages, "render_evidence", broken)
    monkeypatch.setattr("app.web.kept.find_board", broken)
    careless = TestClient(served.client.app, raise_server_exceptions=False)
    page, document = careless.get("/offers/1"), careless.get("/offers.json?q=never+asked")
    for answer in (page, document):
        assert answer.status_code == 500
        assert "content-security-policy" in answer.headers
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text
    assert "Something broke here" in page.text
    assert document.headers["content-type"] == "application/problem+json"
    assert document.json()["status"] == 500


@pytest.mark.parametrize("address", [*EVERYTHING, *PROBLEMS, "/?gpu=x", "/?q="])
def test_head_answers_as_get_without_a_body(client: TestClient, address: str) -> None:
    got, headed = client.get(address), client.head(address)
    assert headed.status_code == got.status_code
    assert headed.content == b""
    for name in ("content-type", "etag", "cache-control", "location", "content-disposition"):
        assert headed.headers.get(name) == got.headers.get(name), name


@pytest.mark.parametrize("address", ["/", "/offers/1", "/docs", "/offers.csv", "/offers.json", "/healthz"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(client: TestClient, address: str, method: str) -> None:
    answer = client.request(method, address)
    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


def test_bodies_are_compressed_for_those_who_take_it(client: TestClient) -> None:
    plain = client.get("/", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    for accepted in ("br", "gzip, br;q=0.5", "BR"):
        with client.stream("GET", "/", headers={"accept-encoding": accepted}) as answer:
            assert answer.headers["content-encoding"] == "br"
            assert brotli.decompress(b"".join(answer.iter_raw())) == plain.content
    for refused in ("gzip", "br;q=0", "br; q=0.0", "*;q=0", "brotli"):
        assert "content-encoding" not in client.get("/", headers={"accept-encoding": refused}).headers


def test_types_and_names_of_the_exports(client: TestClient) -> None:
    assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
    assert client.get("/offers.json").headers["content-type"] == "application/json"
    table = client.get("/offers.csv?as_of=2026-11-14")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.headers["content-disposition"] == 'attachment; filename="inferprice-2026-11-14.csv"'


# ---------------------------------------------------------------- memory


def test_kept_answers_stay_within_their_bytes() -> None:
    kept = Answers()
    for number in range(20):
        kept.keep("board", str(number), answer=Answer(bytes(MAX_BYTES // 4), "text/csv"))
    held = [number for number in range(20) if kept.peek("board", str(number))]
    assert held == [16, 17, 18, 19]
    kept.keep("board", "larger than all", answer=Answer(bytes(MAX_BYTES + 1), "text/csv"))
    assert [number for number in range(20) if kept.peek("board", str(number))] == []
    assert kept.peek("board", "larger than all")
    for number in range(20):
        kept.keep("board", "same", answer=Answer(bytes(MAX_BYTES // 4), str(number)))
    found = kept.peek("board", "same")
    assert found is not None
    assert found.media_type == "19"


def test_rows_of_two_questions_never_mix(client: TestClient) -> None:
    """Rendered rows are kept by columns and figures; asking in turns must give the same as asking alone."""
    addresses = [
        f"/?precision={precision}&weights_gb={weights}&columns=provider,ops_per_byte,usd_per_mtok_at_ceiling{more}"
        for precision in ("fp8", "bf16")
        for weights in ("70", "13")
        for more in ("", "&as_of=2026-11-14", "&baseline=h100-sxm")
    ]
    first = [read_table(get(client, address)).cells for address in addresses]
    again = [read_table(get(client, f"{address}&per_page=99")).cells for address in reversed(addresses)]
    assert [cells[:99] for cells in first] == list(reversed(again))
    assert len({str(cells) for cells in first}) >= 8
