"""A run publishes all of its offers, holds all of them, or refuses them; what was good before stays."""

import json
import logging
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.domain.findings import Finding, Level
from app.ingest.archive import read_body
from app.ingest.quarantine import QuarantineError, approve, reject
from app.ingest.run import RunOutcome, run_pages
from app.store import held as held_store
from app.store import runs
from app.store.queries import last_good_runs, offers_as_of
from app.store.records import Outcome, State
from app.store.session import reading
from app.store.write import PublishResult
from scrapers.base import Expect, Page, Parsed, ParseError, Scraper
from tests.make import make_offer, publish_offers, utc


def parse(page: Page) -> Parsed:
    """Read the made-up provider's page: a JSON object of prices by SKU, or one of the ways to fail."""
    prices: dict[str, Any] = json.loads(page.body)
    if "refuse" in prices:
        raise ParseError("no_table", "The page has no price table.", heading="Welcome")
    offers = tuple(
        make_offer(provider="acme", sku=sku, list_price=price, source_url=page.url)
        for sku, price in prices.items()
    )
    findings = (Finding(code="noticed", level=Level.INFO, sentence="Noticed."),)
    return Parsed(offers=offers, findings=findings)


ACME = Scraper(provider="acme", requests=(), parse=parse, expect=Expect(min_offers=1))
PRICES = {f"SKU {number}": f"{2 + number / 10:.2f}" for number in range(10)}


def page(prices: object, *, day: int = 1, url: str = "https://acme.example/pricing") -> Page:
    return Page(
        url=url, body=json.dumps(prices).encode(), fetched_at=utc(day), content_type="application/json"
    )


def run(
    engine: Engine, archive: Path, *pages: Page, scraper: Scraper = ACME, now: datetime | None = None
) -> RunOutcome:
    read_at = max(each.fetched_at for each in pages)
    return run_pages(
        engine, archive, scraper=scraper, pages=pages, slot=f"{read_at:%Y-%m-%d}", now=now or read_at
    )


def shown(engine: Engine, day: int) -> dict[str, str]:
    with reading(engine) as connection:
        return {each.offer.sku: str(each.offer.list_price) for each in offers_as_of(connection, utc(day))}


def noted(engine: Engine) -> tuple[runs.Run, list[str]]:
    """The latest run as the journal has it, with the codes of its findings."""
    with reading(engine) as connection:
        latest = runs.runs(connection, limit=1)[0]
        return latest, [finding.code for finding in runs.findings_of(connection, latest.run_id)]


def test_a_good_run_is_published_archived_and_noted(engine: Engine, archive: Path) -> None:
    ended = run(engine, archive, page(PRICES))
    assert ended.outcome is Outcome.PUBLISHED
    assert ended.result == PublishResult(new=10, changed=0, closed=0, unchanged=0)
    assert shown(engine, 1) == PRICES
    latest, codes = noted(engine)
    assert (latest.run_id, latest.outcome, latest.offers_count) == (ended.run_id, Outcome.PUBLISHED, 10)
    assert (latest.source, latest.slot, latest.observed_at) == ("acme", "2026-11-01", utc(1))
    assert latest.sentence == "acme: 10 new, 0 changed, 0 closed, 0 unchanged."
    assert codes == ["noticed"]
    with reading(engine) as connection:
        (capture,) = runs.captures_of(connection, latest.run_id)
        assert {each.capture_sha256 for each in offers_as_of(connection, utc(1))} == {capture.sha256}
    assert read_body(archive, capture.sha256) == page(PRICES).body


def test_the_same_page_again_is_unchanged(engine: Engine, archive: Path) -> None:
    run(engine, archive, page(PRICES))
    ended = run(engine, archive, page(PRICES, day=2))
    assert ended.outcome is Outcome.UNCHANGED
    with reading(engine) as connection:
        assert last_good_runs(connection) == {"acme": utc(2)}


def test_each_offer_knows_which_of_several_pages_it_is_from(engine: Engine, archive: Path) -> None:
    run(engine, archive, page({"one": "2"}), page({"two": "3"}, url="https://acme.example/other"))
    with reading(engine) as connection:
        hashes = {each.offer.sku: each.capture_sha256 for each in offers_as_of(connection, utc(1))}
    assert json.loads(read_body(archive, hashes["one"])) == {"one": "2"}
    assert json.loads(read_body(archive, hashes["two"])) == {"two": "3"}


def test_a_slot_runs_once(engine: Engine, archive: Path) -> None:
    run(engine, archive, page(PRICES))
    ended = run(engine, archive, page({}))
    assert (ended.outcome, ended.sentence) == (None, "acme has already been read for 2026-11-01.")
    assert shown(engine, 1) == PRICES


def test_a_page_that_is_not_understood_is_refused(engine: Engine, archive: Path) -> None:
    run(engine, archive, page(PRICES))
    ended = run(engine, archive, page({"refuse": True}, day=2))
    assert ended.outcome is Outcome.REFUSED
    assert (
        ended.sentence
        == "The run of acme was refused, and its last good offers stay: The page has no price table."
    )
    (finding,) = ended.findings
    assert (finding.code, finding.level, finding.evidence) == ("no_table", Level.HOLD, {"heading": "Welcome"})
    assert noted(engine)[1] == ["no_table"]
    assert shown(engine, 2) == PRICES


def test_a_parser_that_breaks_is_a_failed_run_with_a_traceback_in_the_log_only(
    engine: Engine, archive: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(engine, archive, page(PRICES))
    ended = run(engine, archive, Page(url="https://acme.example/", body=b"<html>", fetched_at=utc(2)))
    assert ended.outcome is Outcome.FAILED
    assert ended.sentence == (
        "The run of acme broke, and its last good offers stay: The parser broke with JSONDecodeError."
    )
    assert noted(engine)[1] == ["parser_failed"]
    assert ended.findings[0].evidence["message"].startswith("Expecting value")
    assert shown(engine, 2) == PRICES
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info is not None


def test_a_held_run_replaces_nothing_until_it_is_approved(engine: Engine, archive: Path) -> None:
    run(engine, archive, page(PRICES))
    doubled = {sku: f"{2 * Decimal(price):.2f}" for sku, price in PRICES.items()}
    ended = run(engine, archive, page(doubled, day=2))
    assert ended.outcome is Outcome.QUARANTINED
    assert "The price of SKU 0, 1 GPU, on_demand moved by +100%" in ended.sentence
    assert ended.sentence.endswith("(and 10 more)")
    assert shown(engine, 2) == PRICES
    with reading(engine) as connection:
        assert last_good_runs(connection) == {"acme": utc(1)}
    assert ended.quarantine_id is not None
    approved = approve(engine, ended.quarantine_id, because="They announced it.", now=utc(3))
    assert approved.outcome is Outcome.PUBLISHED
    assert approved.result == PublishResult(new=0, changed=10, closed=0, unchanged=0)
    # The day of the page is over and stays as it was; the prices hold from the day of the decision.
    assert (shown(engine, 2), shown(engine, 3)) == (PRICES, doubled)
    latest, _ = noted(engine)
    assert (latest.outcome, latest.observed_at, latest.finished_at) == (Outcome.PUBLISHED, utc(2), utc(3))
    assert latest.sentence.endswith("Approved: They announced it.")
    with reading(engine) as connection:
        assert held_store.quarantined(connection) == []
        assert last_good_runs(connection) == {"acme": utc(2)}


def held(engine: Engine, archive: Path) -> int:
    run(engine, archive, page(PRICES))
    ended = run(engine, archive, page(dict(list(PRICES.items())[:8]), day=2))
    assert [finding.code for finding in ended.findings if finding.level is Level.HOLD] == ["offers_gone"]
    assert ended.quarantine_id is not None
    return ended.quarantine_id


def test_rejected_offers_stay_out(engine: Engine, archive: Path) -> None:
    number = held(engine, archive)
    ended = reject(engine, number, because="Half the page was missing.", now=utc(3))
    assert ended.sentence == "The 8 offers of acme stay unpublished. Rejected: Half the page was missing."
    assert shown(engine, 3) == PRICES
    with reading(engine) as connection:
        (decided,) = held_store.quarantined(connection, state=State.REJECTED)
    assert (decided.because, decided.decided_at) == ("Half the page was missing.", utc(3))


def test_held_offers_are_decided_on_once(engine: Engine, archive: Path) -> None:
    number = held(engine, archive)
    reject(engine, number, because="Half the page was missing.", now=utc(3))
    with pytest.raises(QuarantineError, match="were rejected before: Half the page"):
        approve(engine, number, because="After all.", now=utc(4))
    with pytest.raises(QuarantineError, match="no held offers with the number 99"):
        reject(engine, 99, because="", now=utc(4))


def test_held_offers_are_not_published_over_a_later_good_run(engine: Engine, archive: Path) -> None:
    number = held(engine, archive)
    run(engine, archive, page(PRICES, day=3))
    with pytest.raises(QuarantineError, match="were superseded before: Run 3 read acme well at 2026-11-03"):
        approve(engine, number, because="Late.", now=utc(4))
    assert shown(engine, 4) == PRICES
    with reading(engine) as connection:
        assert held_store.quarantined(connection) == []
        (overtaken,) = held_store.quarantined(connection, state=State.SUPERSEDED)
    assert (overtaken.quarantine_id, overtaken.decided_at) == (number, utc(3))


def test_a_page_older_than_the_last_good_run_is_refused(engine: Engine, archive: Path) -> None:
    run(engine, archive, page(PRICES, day=5))
    ended = run(engine, archive, page({"SKU 0": "2.00"}, day=4))
    assert ended.outcome is Outcome.REFUSED
    assert shown(engine, 5) == PRICES


def test_the_first_run_of_a_source_is_not_measured_by_another_source(engine: Engine, archive: Path) -> None:
    """The bundled table names three of a provider's offers; its own page has other names for them."""
    table = [make_offer(sku=f"H100 of the table {number}", list_price="9") for number in range(3)]
    publish_offers(engine, table, observed_at=utc(1), source="inferprice")
    assert run(engine, archive, page(PRICES, day=2)).outcome is Outcome.PUBLISHED
    assert shown(engine, 2) == PRICES


def test_what_a_database_cannot_hold_is_a_failed_run(engine: Engine, archive: Path) -> None:
    def with_lone_surrogate(_page: Page) -> Parsed:
        return Parsed(
            offers=(make_offer(sku="half a \ud83d"),),
            findings=(Finding(code="nul", level=Level.INFO, sentence="\x00"),),
        )

    ended = run(engine, archive, page({}), scraper=replace(ACME, parse=with_lone_surrogate))
    assert ended.outcome is Outcome.FAILED
    assert noted(engine)[1] == ["nul", "refused_by_database"]
    assert shown(engine, 1) == {}


def test_unknown_things_are_published_as_unknown(engine: Engine, archive: Path) -> None:
    unknown = (make_offer(sku="B400", accelerator=None, family=None, list_price="9.99"),)
    scraper = replace(ACME, parse=lambda _page: Parsed(offers=unknown))
    assert run(engine, archive, page({}), scraper=scraper).outcome is Outcome.PUBLISHED
    assert shown(engine, 1) == {"B400": "9.99"}
