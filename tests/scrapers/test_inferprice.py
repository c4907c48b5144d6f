"""The bundled table: its 24 rows, and what a damaged one leads to."""

from collections import Counter
from decimal import Decimal
from importlib import resources

import pytest

from scrapers import BUNDLED, Page, Parsed, ParseError
from tests.scrapers.truth import READ_AT

SCRAPER = BUNDLED["inferprice"]
BODY = resources.files("app.domain").joinpath("data", "price_table_2026-10-30.csv").read_bytes()


def parse(body: bytes) -> Parsed:
    return SCRAPER.parse(Page(url="price_table_2026-10-30.csv", body=body, fetched_at=READ_AT))


def test_the_table_gives_every_row_of_the_article() -> None:
    parsed = parse(BODY)
    assert parsed.findings == ()
    # The article lists 22 on-demand prices of seven providers and two reserved ones.
    assert Counter(one.pricing_model.value for one in parsed.offers) == {"on_demand": 22, "reserved": 2}
    assert len({one.provider for one in parsed.offers}) == 7
    prices = {
        (one.provider, one.sku): one.list_price
        for one in parsed.offers
        if one.pricing_model.value == "on_demand"
    }
    assert prices["coreweave", "H100 SXM"] == Decimal("6.16")
    assert prices["nebius", "H200"] == Decimal("5.40")
    assert prices["fireworks", "B200"] == Decimal("13.00")


def test_every_row_has_an_accelerator_and_its_terms() -> None:
    for offer in parse(BODY).offers:
        assert offer.accelerator is not None
        assert offer.variant_assumed == bool(offer.assumptions)
        reserved = offer.pricing_model.value == "reserved"
        assert (offer.term_days_min, offer.term_days_max) == ((91, 180) if reserved else (None, None))


def test_the_table_fulfils_what_is_expected_of_it() -> None:
    offers = parse(BODY).offers
    assert len(offers) == SCRAPER.expect.min_offers
    assert set(SCRAPER.expect.anchors) <= {offer.accelerator for offer in offers}
    assert SCRAPER.requests == ()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("list_price_usd", "list_price_eur", "unknown_column"),
        (",observed_on", "", "unknown_column"),
        (",2.89,", ",$2.89,", "unreadable_cell"),
        (",2.89,", ",,", "unreadable_cell"),
        (",gpu_hour,", ",gpu_fortnight,", "unreadable_cell"),
        (",pod,", ",pods,", "unreadable_cell"),
        (",no,", ",maybe,", "unreadable_cell"),
        ("2026-10-30", "30.10.2026", "unreadable_cell"),
        ("https://inferprice.pages.dev/", "", "unreadable_cell"),
        ("runpod,H100 SXM,", "runpod,H100 SXM,,", "wrong_cell_count"),
        ("runpod,H200,H200", "runpod,B200,B200", "duplicate_row"),
    ],
)
def test_a_damaged_table_is_refused(old: str, new: str, code: str) -> None:
    text = BODY.decode()
    assert old in text
    with pytest.raises(ParseError) as refusal:
        parse(text.replace(old, new).encode())
    assert refusal.value.code == code
