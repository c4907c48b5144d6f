"""What a reader types first finds what they mean, and what the board leaves out it says with a link."""

from pathlib import Path

from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from tests.databases import empty_sqlite
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import get, read_table


def told(client: TestClient, address: str) -> tuple[str, str, str]:
    """Return the head's sentence about announced cards with where it leads, and the empty row's sentence."""
    page = LexborHTMLParser(get(client, address))
    link, empty = page.css_first("p.summary a[href*='gpu=']"), page.css_first("p.empty")
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
