"""A page that says something else than the last one, and looks older than it, waits for somebody."""

from datetime import date
from pathlib import Path

from sqlalchemy import Engine

from app.domain.findings import Level
from app.ingest.answer import Answer
from app.ingest.quarantine import approve
from app.ingest.run import RunOutcome, claim, run_answers
from app.store.records import Outcome
from scrapers.base import Expect, Page, Parsed, Request, Scraper
from tests.make import make_offer, utc

URL = "https://acme.example/pricing"


def parse(page: Page) -> Parsed:
    """Read lines of a SKU, its price and, where one is printed, the date from which it holds."""
    offers = []
    for line in page.body.decode().split(";"):
        sku, list_price, *start = line.split()
        valid_from = date.fromisoformat(start[0]) if start else None
        offers.append(make_offer(sku=sku, list_price=list_price, valid_from=valid_from))
    return Parsed(offers=tuple(offers))


ACME = Scraper(provider="acme", requests=(), parse=parse, expect=Expect(min_offers=1))


def read(engine: Engine, archive: Path, text: str, *, day: int, changed: str = "") -> RunOutcome:
    run_id = claim(engine, "acme", slot=f"{day}", now=utc(day))
    assert run_id is not None
    page = Page(url=URL, body=text.encode(), fetched_at=utc(day))
    headers = {"last-modified": changed} if changed else {}
    answer = Answer(request=Request(url=URL), page=page, headers=headers)
    return run_answers(engine, archive, scraper=ACME, answers=[answer], run_id=run_id, now=utc(day))


def holding(ended: RunOutcome) -> list[str]:
    return [finding.code for finding in ended.findings if finding.level is Level.HOLD]


def test_a_page_that_comes_back_is_held_until_somebody_says_it_is_right(
    engine: Engine, archive: Path
) -> None:
    read(engine, archive, "a 2.00;b 3.00", day=1)
    assert read(engine, archive, "a 2.10;b 3.00", day=2).outcome is Outcome.PUBLISHED
    back = read(engine, archive, "a 2.00;b 3.00", day=3)
    assert (back.outcome, holding(back)) == (Outcome.QUARANTINED, ["page_seen_before"])
    assert "is byte for byte the page of 2026-11-01" in back.sentence
    assert back.quarantine_id is not None
    approve(engine, back.quarantine_id, because="They took the rise back.", now=utc(3, 13))
    assert read(engine, archive, "a 2.00;b 3.00", day=4).outcome is Outcome.UNCHANGED


def test_an_old_page_that_says_what_is_known_does_no_harm(engine: Engine, archive: Path) -> None:
    read(engine, archive, "a 2.00;b 3.00", day=1)
    read(engine, archive, "b 3.00;a 2.00", day=2)
    assert read(engine, archive, "a 2.00;b 3.00", day=3).outcome is Outcome.UNCHANGED


def test_a_page_last_changed_before_the_one_we_have_is_held(engine: Engine, archive: Path) -> None:
    read(engine, archive, "a 2.00;b 3.00", day=1, changed="Sun, 01 Nov 2026 08:00:00 GMT")
    older = read(engine, archive, "a 1.90;b 3.00", day=2, changed="Sat, 01 Nov 2025 08:00:00 GMT")
    assert holding(older) == ["page_went_back"]
    newer = read(engine, archive, "a 1.80;b 3.00", day=3, changed="Tue, 03 Nov 2026 08:00:00 GMT")
    assert newer.outcome is Outcome.PUBLISHED
    # A time that cannot be read says nothing.
    assert read(engine, archive, "a 1.70;b 3.00", day=4, changed="last year").outcome is Outcome.PUBLISHED


def test_a_page_whose_dates_lie_before_an_announcement_is_held(engine: Engine, archive: Path) -> None:
    """Last year's page has last year's column: its date has begun, so it would be the price of now."""
    read(engine, archive, "a 2.00;a 2.20 2026-11-10", day=1)
    assert read(engine, archive, "a 2.00;a 2.20 2026-11-10", day=12).outcome is Outcome.UNCHANGED
    old = read(engine, archive, "a 1.80;a 2.00 2025-11-10", day=13)
    assert (old.outcome, holding(old)) == (Outcome.QUARANTINED, ["dates_went_back"])
    assert "prices from 2026-11-10 on were announced" in old.sentence
    next_one = read(engine, archive, "a 2.20;a 2.40 2026-12-01", day=14)
    assert next_one.outcome is Outcome.PUBLISHED
