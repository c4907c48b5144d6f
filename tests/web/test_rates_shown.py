"""A converted price names its rate and day, and an aggregator's row its aggregator, wherever it shows."""

import csv
import io
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

import pytest
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import Engine
from starlette.testclient import TestClient

from app.domain.rates import Rate
from app.settings import Settings
from app.store.migrate import upgrade
from app.store.rates import keep_rates
from app.store.session import make_engine, writing
from app.web.main import create_app
from scrapers.base import Page
from scrapers.gpurentalprices import parse
from tests.make import make_offer, publish_offers, utc
from tests.scrapers.test_gpurentalprices import day, row

BANK = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"

# Offers are numbered in the order they are published in.
EURO, FRANC, AGGREGATED = 1, 2, 3


@pytest.fixture
def client(database_url: str) -> Iterator[TestClient]:
    engine = make_engine(database_url)
    upgrade(engine)
    fill(engine)
    engine.dispose()
    with TestClient(create_app(Settings(DATABASE_URL=database_url), clock=lambda: utc(2))) as made:
        yield made


def fill(engine: Engine) -> None:
    """Publish a price in euros, one in francs, and one of an aggregator's; there is a rate for the euro."""
    offers = [
        make_offer(sku="euro", currency="EUR", list_price="2.50"),
        make_offer(sku="franc", currency="CHF", list_price="2.50"),
    ]
    publish_offers(engine, offers, observed_at=utc(1))
    page = Page(url="gpurentalprices:x", body=day(row("coreweave", "h100-sxm", 6.155)), fetched_at=utc(1))
    (aggregated,) = parse(page).offers
    publish_offers(engine, [aggregated], observed_at=utc(1), provider=aggregated.provider)
    rate = Rate(day=date(2026, 10, 30), currency="EUR", usd_per_unit=Decimal("1.1588"), source_url=BANK)
    with writing(engine) as connection:
        keep_rates(connection, [rate], capture_sha256="1" * 64)


def lines(client: TestClient) -> dict[str, dict[str, str]]:
    return {line["sku"]: line for line in csv.DictReader(io.StringIO(client.get("/offers.csv").text))}


def text_of(client: TestClient, path: str) -> str:
    tree = LexborHTMLParser(client.get(path).text)
    assert tree.body is not None
    return " ".join(tree.body.text(separator=" ").split())


def test_the_rows_say_what_was_converted_and_what_is_an_aggregator_s(client: TestClient) -> None:
    """2.50 euros at 1.1588 are 2.897 dollars."""
    found = lines(client)
    euro, franc, aggregated = found["euro"], found["franc"], found["h100-sxm 80 GB"]
    assert (euro["list_price"], euro["currency"], euro["usd_per_gpu_hour"]) == ("2.5", "EUR", "2.897")
    assert (euro["flags"], franc["flags"], aggregated["flags"]) == ("converted", "", "aggregator")
    assert (franc["currency"], franc["usd_per_gpu_hour"]) == ("CHF", "")
    assert aggregated["provider"] == "coreweave-via-gpurentalprices"
    assert "CoreWeave via gpurentalprices" in text_of(client, "/")


def test_the_evidence_names_rate_day_and_source(client: TestClient) -> None:
    euro = text_of(client, f"/offers/{EURO}")
    assert "1 EUR = 1.1588 USD, the European Central Bank's reference rate of 2026-10-30" in euro
    assert BANK in euro
    assert "2.50 per GPU and hour \N{MULTIPLICATION SIGN} 1.1588 USD/EUR = 2.897 $/GPU-h" in euro
    franc = text_of(client, f"/offers/{FRANC}")
    assert "the price is in CHF and there is no exchange rate" in franc


def test_the_evidence_of_an_aggregator_s_row_carries_the_attribution_its_licence_asks_for(
    client: TestClient,
) -> None:
    path = f"/offers/{AGGREGATED}"
    assert "GPU rental price data by gpurentalprices.com, CC BY 4.0" in text_of(client, path)
    assert 'href="https://gpurentalprices.com"' in client.get(path).text
    assert "read by that aggregator at https://coreweave.example/pricing, not by us" in text_of(client, path)
