"""Whatever a provider or an address says, the page keeps its shape and nothing in it can run."""

from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.columns import COLUMNS
from app.web.exports import harmless as harmless_text
from app.web.words import safe_url
from tests.conftest import Tell
from tests.web import hostile, market
from tests.web.conftest import Market, filled_with, serve
from tests.web.reading import choices, get, read_csv, read_table

ALL = f"columns={','.join(COLUMNS)}&baseline=h100-sxm"
PART = {"hx-request": "true"}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def hostile_market(request: pytest.FixtureRequest) -> Iterator[Market]:
    """A board of hostile offers."""
    with filled_with(hostile.runs(), request) as made:
        yield made


@pytest.fixture
def client(hostile_market: Market, count_on: Tell) -> TestClient:
    """The application on the hostile board, counted for the summary line."""
    count_on(hostile_market.kind)
    return hostile_market.client


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The same board with plain words in place of every text."""
    url = f"sqlite:///{tmp_path_factory.mktemp('harmless')}/harmless.db"
    market.fill(url, market=hostile.runs(harmless=True))
    with serve(url) as served:
        yield served


def shape(html: str) -> Counter[tuple[str, ...]]:
    """Count the elements of a page by their name and the names of their attributes."""
    tree = LexborHTMLParser(html)
    return Counter((node.tag or "", *sorted(node.attributes)) for node in tree.css("*"))


def assert_nothing_can_run(html: str) -> None:
    """Check a parsed page: only our scripts, no event attributes, no address but plain ones.

    A page with a chart loads plotly and what starts it beside the two of every page.
    """
    tree = LexborHTMLParser(html)
    scripts = [node.attributes.get("src") or "inline" for node in tree.css("script")]
    assert len(scripts) in {0, 2, 4}
    assert all(each.startswith("/static/") for each in scripts), scripts
    assert tree.css("img, iframe, object, embed, svg, style, base, textarea, [srcdoc], [style]") == []
    for node in tree.css("*"):
        for name, value in node.attributes.items():
            assert not name.startswith("on"), (node.tag, name)
            assert not name.startswith("hx-on"), (node.tag, name)
            if name in {"href", "src", "action", "formaction", "hx-get"}:
                assert (value or "").startswith(("/", "#", "http://", "https://")), (node.tag, name, value)
                assert not (value or "").startswith("//")


def test_the_board_keeps_its_shape_and_nothing_in_it_can_run(
    client: TestClient, harmless: TestClient
) -> None:
    for address in ("/", f"/?{ALL}", "/compare", "/claims"):
        for headers in ({}, PART):
            page = client.get(address, headers=headers).text
            assert_nothing_can_run(page)
            assert shape(page) == shape(harmless.get(address, headers=headers).text)


def test_the_evidence_keeps_its_shape_and_nothing_in_it_can_run(
    client: TestClient, harmless: TestClient
) -> None:
    for number in range(1, len(hostile.MARKUP) + 1):
        for headers in ({}, PART):
            address = f"/offers/{number}?baseline=h100-sxm"
            page = client.get(address, headers=headers).text
            assert_nothing_can_run(page)
            assert shape(page) == shape(harmless.get(address, headers=headers).text)


def test_pages_about_cards_and_providers_keep_their_shape_and_nothing_in_them_can_run(
    client: TestClient, harmless: TestClient
) -> None:
    for address in (
        "/gpus",
        "/gpus/h100-sxm",
        "/history?gpu=h100-sxm",
        "/charts/scatter",
        "/charts/bars",
        "/providers",
    ):
        page = client.get(address).text
        assert_nothing_can_run(page)
        assert shape(page) == shape(harmless.get(address).text), address
    for offer in hostile.offers():
        answer = client.get(f"/providers/{quote(offer.provider, safe='')}")
        assert answer.status_code == 200
        assert_nothing_can_run(answer.text)


def test_a_figure_holds_no_markup_for_plotly_to_read(client: TestClient) -> None:
    for address in ("/figures/history.json?gpu=h100-sxm", "/figures/scatter.json", "/figures/bars.json"):
        for trace in client.get(address).json()["data"]:
            texts = [trace["name"], *trace.get("text", []), *(y for y in trace["y"] if isinstance(y, str))]
            assert not [text for text in texts if "<" in text or "%{" in text], address


def test_every_text_shows_as_it_was_written(client: TestClient) -> None:
    tree = read_table(get(client, f"/?{ALL}")).tree
    shown = {cell.text().strip() for cell in tree.css("table.offers td")}
    for offer in hostile.offers():
        words = (offer.provider, offer.sku, offer.region, offer.tier, offer.fragment)
        assert {" ".join(word.split()) for word in words} <= {" ".join(each.split()) for each in shown}
    menu = choices(tree, "region")
    assert set(menu) == {offer.region for offer in hostile.offers()}


def test_every_region_and_provider_can_be_chosen_by_its_link(client: TestClient) -> None:
    for offer in hostile.offers():
        page = get(client, f"/?region={quote(offer.region)}")
        assert len(read_table(page).ids) == 1
        assert_nothing_can_run(page)
        if "," not in offer.provider:
            assert len(read_table(get(client, f"/?provider={quote(offer.provider)}")).ids) == 1


def test_the_exports_hold_the_texts_too(client: TestClient) -> None:
    lines = read_csv(get(client, "/offers.csv?columns=provider"))
    rows = client.get("/offers.json").json()["rows"]
    written = {offer.sku: offer for offer in hostile.offers()}
    for line, row in zip(lines, rows, strict=True):
        offer = written[row["sku"]]
        for key in ("provider", "region", "tier", "fragment", "source_url", "accelerator_as_written"):
            assert row[key] == getattr(offer, key)
            assert line[key] == harmless_text(getattr(offer, key))
        assert row["assumptions"] == list(offer.assumptions)


@pytest.mark.parametrize("text", [*hostile.MARKUP, "\u201c", "a" * 300])
def test_what_an_address_says_cannot_run_on_the_page_that_refuses_it(client: TestClient, text: str) -> None:
    quoted = quote(text)
    for address in (
        f"/?gpu={quoted}",
        f"/?{quoted}=1",
        f"/?sort={quoted}",
        f"/{quoted}",
        f"/offers/{quoted}",
    ):
        answer = client.get(address)
        assert answer.status_code in {404, 422}
        assert_nothing_can_run(answer.text)
        assert shape(answer.text) == shape(client.get(address.replace(quoted, "xyz")).text)


@pytest.mark.parametrize("text", [each for each in hostile.MARKUP if each.isprintable()])
def test_what_is_searched_for_shows_in_its_field_and_nowhere_else(client: TestClient, text: str) -> None:
    page = get(client, f"/?q={quote(text)}&weights_gb=13")
    assert_nothing_can_run(page)
    assert LexborHTMLParser(page).css_first("#q").attributes["value"] == " ".join(text.split())


@pytest.mark.parametrize("address", hostile.ADDRESSES)
def test_an_address_that_is_no_web_page_is_no_link(address: str) -> None:
    assert safe_url(address) == ""


@pytest.mark.parametrize("address", ["http://a.example", "https://a.example/x?y=<b>#z", "HTTPS://A.EXAMPLE/"])
def test_a_web_page_is_a_link(address: str) -> None:
    assert safe_url(address) == address
