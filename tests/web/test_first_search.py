"""What a reader types first finds what they mean, and what the board leaves out it says with a link."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from tests.databases import empty_sqlite
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import get, read_table


def told(client: TestClient, address: str) -> tuple[str, str, str]:
    """Return the sentence on announced cards below the rows, where it leads, and what stands for no rows."""
    page = LexborHTMLParser(get(client, address))
    link = page.css_first("div.scroll ~ p.summary a, div.scroll ~ p.empty a[href*='gpu=']")
    empty = page.css_first("p.empty")
    said, href = (link.text(), link.attributes["href"] or "") if link else ("", "")
    return said, href, empty.text() if empty else ""


def test_offers_of_announced_cards_are_left_out_with_a_word_and_a_link(client: TestClient) -> None:
    """Of the market's 116 offers one is for the Rubin, which is announced."""
    left_out = "1 of an announced card is left out"
    assert told(client, "/") == (left_out, "/?gpu=rubin", "")
    page = LexborHTMLParser(get(client, "/"))
    assert page.css_first("p.summary strong").text() == "115 of 116 offers"
    said, href, empty = told(client, "/?q=rubin")
    assert (said, href) == (left_out, "/?gpu=rubin&q=rubin")
    assert empty == f"No offer of a card that is out matches: {left_out}."
    assert len(read_table(get(client, href)).ids) == 1
    assert told(client, href) == ("", "", "")


def test_nothing_is_said_of_announced_cards_where_no_filter_lets_one_through(client: TestClient) -> None:
    assert told(client, "/?q=h200") == ("", "", "")
    assert told(client, "/?gpu=h200-sxm") == ("", "", "")
    assert told(client, "/?q=voodoo+9") == ("", "", "No offer matches. Take a filter away, or start again.")


def test_several_announced_cards_are_named_by_their_number(tmp_path: Path) -> None:
    made = [market.offer("acme", each, each, "9") for each in ("rubin", "mi455x", "h100-sxm")]
    made.append(market.offer("acme", "more", "rubin", "10"))
    url = empty_sqlite(tmp_path)
    market.fill(url, market=[("acme", market.at(20), made)])
    with serve(url) as client:
        said, href, _ = told(client, "/")
        assert said == "3 of announced cards are left out"
        assert len(read_table(get(client, href)).ids) == 3


@pytest.fixture(scope="module")
def looked_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A site with one card of each kind at one provider each, all of whose own texts are of no help."""
    listed = (("together", "h100-sxm"), ("acme", "h200-sxm"), ("odd", "b200-sxm"), ("hale", "mi300x"))
    url = empty_sqlite(tmp_path_factory.mktemp("search"))
    runs = [
        (name, market.at(20), [market.offer(name, "x1", card, "3", accelerator_as_written="GPU")])
        for name, card in listed
    ]
    slices = [
        market.offer("cut", "x2", None, "1", slice_of="h100-sxm", accelerator_as_written="part"),
        market.offer("cut", "x3", None, "1", family="h100", accelerator_as_written="GPU"),
    ]
    market.fill(url, market=[*runs, ("cut", market.at(20), slices)])
    with serve(url) as client:
        yield client


@pytest.mark.parametrize(
    ("words", "cards"),
    [
        ("Together AI", ["h100-sxm"]),
        ("together ai h100", ["h100-sxm"]),
        ("nvidia", [None, None, "b200-sxm", "h100-sxm", "h200-sxm"]),
        ("nvidia h100", ["h100-sxm"]),
        ("NVIDIA H200", ["h200-sxm"]),
        ("amd", ["mi300x"]),
        ("H100", ["h100-sxm"]),
        ("H100 80GB", ["h100-sxm"]),
        ("H100 80 GB", ["h100-sxm"]),
        ("H100-80GB", ["h100-sxm"]),
        ("H100 SXM5", ["h100-sxm"]),
        ("B200 SXM6", ["b200-sxm"]),
        ("H200 141GB", ["h200-sxm"]),
        ("H200 SXM 141 GB", ["h200-sxm"]),
        ("H100 141GB", []),
        ("amd h100", []),
        ("Together AI h200", []),
        ("p5.48xlarge", []),
    ],
)
def test_what_is_typed_first_finds_it(looked_in: TestClient, words: str, cards: list[str | None]) -> None:
    """NVIDIA's data sheets: the H100 SXM has 80 GB, the H200 141; sockets as Lambda and Modal write them."""
    rows = looked_in.get("/offers.json", params={"q": words}).json()["rows"]
    assert sorted(row["accelerator"] or "" for row in rows) == [card or "" for card in cards]
