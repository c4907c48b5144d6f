"""The list of providers and the page of each: what it lists, how it was read, what was held."""

from collections.abc import Iterator

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.store.held import hold_offers
from app.store.records import Outcome
from app.store.runs import claim_slot, finish_run
from app.store.session import make_engine, writing
from tests.make import make_offer
from tests.web import market
from tests.web.conftest import serve
from tests.web.reading import get


def test_every_provider_with_prices_or_a_source_is_listed_and_has_a_page(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/providers"))
    links = [link.attributes["href"] or "" for link in tree.css("tbody th a")]
    listed = [each["provider"] for each in client.get("/providers.json").json()["providers"]]
    assert links == [f"/providers/{each}" for each in listed]
    assert {"acme", "runpod", "vast"} <= set(listed)
    assert {client.get(each).status_code for each in links} == {200}


def test_the_page_says_what_is_listed_and_how_runs_went(client: TestClient) -> None:
    tree = LexborHTMLParser(get(client, "/providers/runpod"))
    text = tree.css_first("main").text()
    assert tree.css_first("h1").text() == "RunPod"
    # From the market: six offers, read on the 2nd, 13th and 20th of November.
    assert len(tree.css("td.open a")) == 6
    runs = [row.text() for row in tree.css("section:has(#runs) tbody th")]
    assert runs == [f"2026-11-{day} 06:00 UTC" for day in ("20", "13", "02")]
    assert "Its terms of 2026-03-24" in text
    assert "H200 SXM 141 GB" in text
    # The address that providers.csv names for people.
    assert tree.css_first('a[href="https://www.runpod.io/pricing"]') is not None


def test_a_provider_without_a_source_says_so(client: TestClient) -> None:
    text = LexborHTMLParser(get(client, "/providers/acme")).css_first("main").text()
    assert "there is no source of its own" in text


@pytest.mark.parametrize(("asked", "near"), [("runpad", "runpod"), ("neb", "nebius")])
def test_an_unknown_provider_is_answered_with_names_like_it(
    client: TestClient, asked: str, near: str
) -> None:
    answer = client.get(f"/providers/{asked}")
    assert answer.status_code == 404
    assert f'href="/providers/{near}"' in answer.text


def test_a_parameter_is_refused(client: TestClient) -> None:
    assert client.get("/providers?x=1").status_code == 422
    assert client.get("/providers.json?x=1").json()["field"] == "parameter"


@pytest.fixture
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A market in which a run of RunPod waits for a decision."""
    url = f"sqlite:///{tmp_path_factory.mktemp('held') / 'market.db'}"
    market.fill(url)
    engine = make_engine(url)
    with writing(engine) as connection:
        run_id = claim_slot(connection, source="runpod", slot="x", provider="runpod", now=market.NOW)
        assert run_id is not None
        sentence = "A price moved by half."
        finish_run(connection, run_id, outcome=Outcome.QUARANTINED, sentence=sentence, now=market.NOW)
        offers = [make_offer(provider="runpod")]
        hold_offers(connection, run_id, provider="runpod", offers=offers, captures=["0" * 64])
    engine.dispose()
    with serve(url) as client:
        yield client


def test_a_run_that_was_held_stands_on_the_page(held: TestClient) -> None:
    tree = LexborHTMLParser(get(held, "/providers/runpod"))
    (row,) = tree.css("section:has(#held) tbody tr")
    assert "A price moved by half." in row.text()
    assert "waits for a decision" in row.text()
