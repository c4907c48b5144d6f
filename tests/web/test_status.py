"""The status page says of each source what happened to it, in words, and the document says the same."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import Engine
from starlette.testclient import TestClient

from app.domain.findings import Finding, Level
from app.store import runs
from app.store.held import hold_offers
from app.store.migrate import upgrade
from app.store.records import Outcome
from app.store.session import make_engine, writing
from app.store.switches import switch
from app.web.main import create_app
from scrapers import SCRAPERS
from tests.make import CAPTURE_SHA256, make_offer, publish_offers
from tests.web import market
from tests.web.conftest import settings_for
from tests.web.reading import get

NOW = market.NOW
"""Noon and a half of 2026-11-20."""

MOVED = Finding(
    code="price_moved",
    level=Level.HOLD,
    sentence="H100 SXM moved by 90 %.",
    evidence={"before": "2.99", "after": "<b>0.299</b>"},
)
STRANGE = Finding(code="unknown_accelerator", level=Level.WARNING, sentence="'Voodoo 2' is no name we know.")


def ended(
    engine: Engine,
    provider: str,
    at: datetime,
    *,
    outcome: Outcome,
    sentence: str,
    findings: tuple[Finding, ...] = (),
) -> int:
    """Note a run that published nothing, as the ingest does, and return its id."""
    with writing(engine) as connection:
        run_id = runs.claim_slot(connection, source=provider, slot=at.isoformat(), provider=provider, now=at)
        assert run_id is not None
        runs.record_findings(connection, run_id, findings=findings)
        runs.finish_run(connection, run_id, outcome=outcome, sentence=sentence, now=at, observed_at=at)
    return run_id


def fill(engine: Engine) -> None:
    """Make a source of every kind: fresh, stale, failing, held, switched, and one that is only in a table."""
    upgrade(engine)
    fresh = [make_offer(provider="nebius")]
    publish_offers(engine, fresh, observed_at=NOW - timedelta(hours=6), provider="nebius")
    names = [("Voodoo 2", None), ("Voodoo 2", None), ("H100", "h100")]
    unknown = [
        make_offer(
            provider="modal", sku=str(number), accelerator=None, family=family, accelerator_as_written=name
        )
        for number, (name, family) in enumerate(names)
    ]
    publish_offers(engine, unknown, observed_at=NOW - timedelta(hours=60), provider="modal")
    old = [make_offer(provider="coreweave")]
    publish_offers(
        engine, old, observed_at=NOW - timedelta(days=20), provider="coreweave", source="inferprice"
    )
    failed = "The run of coreweave broke, and its last good offers stay: the page answered 429 four times."
    ended(engine, "coreweave", NOW - timedelta(hours=2), outcome=Outcome.FAILED, sentence=failed)
    lambda_offers = [make_offer(provider="lambda")]
    publish_offers(engine, lambda_offers, observed_at=NOW - timedelta(days=1), provider="lambda")
    run_id = ended(
        engine,
        "lambda",
        NOW - timedelta(hours=1),
        outcome=Outcome.QUARANTINED,
        sentence="The 1 offers of lambda are held for review.",
        findings=(MOVED, STRANGE),
    )
    with writing(engine) as connection:
        hold_offers(connection, run_id, provider="lambda", offers=lambda_offers, captures=[CAPTURE_SHA256])
        switch(connection, "vast", is_on=True, because="we have a key", now=NOW)
        switch(connection, "baseten", is_on=False, because="its page moved", now=NOW)
    table = [make_offer(provider="seeweb")]
    publish_offers(engine, table, observed_at=NOW - timedelta(days=3), provider="seeweb", source="table")


@pytest.fixture
def client(database_url: str) -> Iterator[TestClient]:
    engine = make_engine(database_url)
    fill(engine)
    settings = settings_for(database_url).model_copy(update={"enabled_sources": ("runpod",)})
    with TestClient(create_app(settings, clock=lambda: NOW), follow_redirects=False) as made:
        yield made
    engine.dispose()


def sources(client: TestClient) -> dict[str, dict[str, Any]]:
    return {each["provider"]: each for each in client.get("/status.json").json()["sources"]}


def shown(client: TestClient, provider: str) -> tuple[list[str], str]:
    """Return the cells of a provider's line, and the text below it."""
    line = LexborHTMLParser(get(client, "/status")).css_first(f"tr#{provider}")
    below = line.next
    while below.tag != "tr":
        below = below.next
    return [cell.text().strip() for cell in line.css("th, td")], " ".join(below.text().split())


def test_every_source_and_every_provider_with_prices_is_there(client: TestClient) -> None:
    assert set(sources(client)) == {*SCRAPERS, "seeweb"}
    lines = LexborHTMLParser(get(client, "/status")).css("tbody tr[id]")
    assert [line.id for line in lines] == list(sources(client))


def test_a_source_that_was_read_today_is_fresh(client: TestClient) -> None:
    """Nebius is read at 01:41 UTC (see test_cadence.py), so next on the 21st."""
    each = sources(client)["nebius"]
    assert (each["freshness"], each["age_s"], each["offers"], each["is_on"]) == ("fresh", 21600, 1, True)
    assert each["last_good_run"]["read_at"] == "2026-11-20T06:30:00Z"
    assert each["last_run"]["outcome"] == "published"
    assert each["next_run_at"] == "2026-11-21T01:41:00Z"
    assert each["never_met_live"] is False
    cells, _ = shown(client, "nebius")
    assert cells == [
        "Nebius",
        "on",
        "fresh",
        "6 h",
        "2026-11-20 06:30 UTC, its page",
        "2026-11-20 06:30 UTC, published",
        "2026-11-21 01:41 UTC",
        "1",
        "none",
    ]


def test_a_source_that_fails_keeps_its_last_good_run_and_says_why(client: TestClient) -> None:
    each = sources(client)["coreweave"]
    assert (each["freshness"], each["age_s"]) == ("very_stale", 20 * 86400)
    assert (each["last_good_run"]["source"], each["last_run"]["outcome"]) == ("inferprice", "failed")
    cells, below = shown(client, "coreweave")
    assert cells[2:6] == [
        "very stale",
        "20 days",
        "2026-10-31 12:30 UTC, the bundled table",
        "2026-11-20 10:30 UTC, failed",
    ]
    assert "the page answered 429 four times" in below


def test_a_parser_that_never_met_its_page_says_so_until_it_has(client: TestClient) -> None:
    """A table under the provider's name is not its page; a good run of its own source is."""
    found = sources(client)
    assert found["coreweave"]["never_met_live"] is True
    assert found["modal"]["never_met_live"] is False
    assert found["seeweb"]["never_met_live"] is False
    assert "never met live" in shown(client, "coreweave")[1]
    assert "never met live" not in shown(client, "modal")[1]


def test_a_held_run_has_its_number_its_reasons_and_its_evidence(client: TestClient) -> None:
    document = client.get("/status.json").json()
    each = sources(client)["lambda"]
    assert document["held_runs"] == 1
    assert (each["freshness"], each["last_run"]["outcome"]) == ("fresh", "quarantined")
    (held,) = each["held"]
    assert (held["number"], held["held_at"]) == (1, "2026-11-20T11:30:00Z")
    assert [finding["code"] for finding in each["findings"]] == ["price_moved", "unknown_accelerator"]
    assert each["findings"][0]["evidence"] == {"before": "2.99", "after": "<b>0.299</b>"}
    cells, below = shown(client, "lambda")
    assert cells[-1] == "1 hold, 1 warning"
    assert "Number 1, since 2026-11-20 11:30 UTC" in below
    assert "H100 SXM moved by 90 %." in below
    page = get(client, "/status")
    assert "1 run is held for review" in page
    assert "<b>0.299" not in page


def test_names_that_stand_for_no_variant_are_counted(client: TestClient) -> None:
    each = sources(client)["modal"]
    assert each["freshness"] == "stale"
    assert each["unmapped"] == [
        {"name": "Voodoo 2", "family": None, "offers": 2},
        {"name": "H100", "family": "h100", "offers": 1},
    ]
    below = shown(client, "modal")[1]
    assert "Voodoo 2: 2 offers" in below
    assert "H100 (some H100): 1 offer" in below


def test_why_a_source_is_on_or_off_and_its_terms(client: TestClient) -> None:
    found = sources(client)
    assert {name for name, each in found.items() if not each["is_on"]} == {"baseten", "seeweb"}
    assert found["vast"]["why"] == "Turned on on 2026-11-20: we have a key"
    assert found["baseten"]["why"] == "Turned off on 2026-11-20: its page moved"
    assert found["runpod"]["why"] == "The settings of this site turn it on."
    assert found["nebius"]["why"] is None
    assert found["seeweb"]["has_source"] is False
    assert found["baseten"]["next_run_at"] is None
    cells, below = shown(client, "vast")
    assert cells[1] == "on"
    assert "are said to forbid automated collection" in below
    line = LexborHTMLParser(get(client, "/status")).css_first("tr#vast + tr")
    assert line.css_first("a").attributes["href"] == "https://vast.ai/"


def test_a_source_is_off_by_default_where_its_terms_are_said_to_forbid_it(database_url: str) -> None:
    engine = make_engine(database_url)
    upgrade(engine)
    engine.dispose()
    with TestClient(create_app(settings_for(database_url), clock=lambda: NOW)) as made:
        found = sources(made)
        page = get(made, "/status")
    off = {name for name, each in found.items() if not each["is_on"]}
    assert {"runpod", "vast"} <= off
    assert "nebius" not in off
    assert "Off by default because of its terms." in found["runpod"]["why"]
    assert all(each["freshness"] == "never_read" and each["age_s"] is None for each in found.values())
    assert f"{len(SCRAPERS)} never read" in page


def test_the_head_of_the_board_says_how_fresh_it_is(client: TestClient) -> None:
    summary = LexborHTMLParser(get(client, "/")).css_first("p.summary a")
    assert summary.attributes["href"] == "/status"
    assert summary.parent.text().endswith("; providers: 2 fresh, 2 stale, 1 very stale")
    assert summary.text() == "2 fresh, 2 stale, 1 very stale"
    assert LexborHTMLParser(get(client, "/?as_of=2026-11-19")).css_first("p.summary a") is None


def test_what_is_new_shows_at_once(client: TestClient, database_url: str) -> None:
    tag = client.get("/status").headers["etag"]
    engine = make_engine(database_url)
    ended(engine, "nebius", NOW, outcome=Outcome.REFUSED, sentence="robots.txt forbids it.")
    engine.dispose()
    again = client.get("/status", headers={"if-none-match": tag})
    assert again.status_code == 200
    assert "robots.txt forbids it." in again.text


def test_the_exchange_rates_are_a_source_as_well(client: TestClient, database_url: str) -> None:
    engine = make_engine(database_url)
    ended(engine, "ecb", NOW, outcome=Outcome.UNCHANGED, sentence="0 new exchange rates.")
    engine.dispose()
    cells, below = shown(client, "ecb")
    assert cells[:3] == ["European Central Bank", "on", "fresh"]
    assert "The exchange rates, read while a price is in another currency." in below
