"""A held run: what came again, what was overtaken, and what a person is shown who has to decide."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine

from app import cli
from app.commands import reviewing
from app.domain.findings import Finding, Level
from app.ingest.quarantine import approve
from app.ingest.reparse import changes_between, newest_readable, publish_reread, reread
from app.ingest.run import RunOutcome, run_pages
from app.store import held as held_store
from app.store.queries import offers_as_of
from app.store.records import Outcome, State
from app.store.session import reading
from scrapers.base import Expect, Page, Parsed, ParseError, Scraper
from tests.make import make_offer, utc

PRICES = {f"SKU {number}": "2.00" for number in range(10)}
DOUBLED = dict.fromkeys(PRICES, "4.00")


def parse(page: Page) -> Parsed:
    prices = json.loads(page.body)
    offers = tuple(
        make_offer(sku=sku, list_price=text, source_url=page.url, fragment=f"row > {sku}\x1b[2J: {text}")
        for sku, text in prices.items()
    )
    noticed = Finding(code="noticed", level=Level.INFO, sentence="Something else.")
    return Parsed(offers=offers, findings=(noticed,))


ACME = Scraper(provider="acme", requests=(), parse=parse, expect=Expect(min_offers=1))


def read(
    engine: Engine, archive: Path, prices: dict[str, str], *, day: int, scraper: Scraper = ACME
) -> RunOutcome:
    when = utc(day)
    page = Page(url="https://acme.example/", body=json.dumps(prices).encode(), fetched_at=when)
    return run_pages(engine, archive, scraper=scraper, pages=[page], slot=f"{day}", now=when)


def shown(engine: Engine, when: datetime) -> dict[str, str]:
    with reading(engine) as connection:
        return {each.offer.sku: str(each.offer.list_price) for each in offers_as_of(connection, when)}


def numbers(engine: Engine, state: State) -> list[int]:
    with reading(engine) as connection:
        return sorted(each.quarantine_id for each in held_store.quarantined(connection, state=state))


def test_a_run_that_agrees_with_a_held_one_says_so(engine: Engine, archive: Path) -> None:
    read(engine, archive, PRICES, day=1)
    first = read(engine, archive, DOUBLED, day=2)
    assert "agrees" not in first.sentence
    second = read(engine, archive, DOUBLED, day=3)
    assert second.sentence.endswith(" It agrees with number 1, held since 2026-11-02.")
    third = read(engine, archive, DOUBLED, day=4)
    assert third.sentence.endswith("held since 2026-11-02; it is reading 3 of the same.")
    other = read(engine, archive, {**DOUBLED, "SKU 0": "4.01"}, day=5)
    assert "agrees" not in other.sentence
    with reading(engine) as connection:
        rows = held_store.quarantined(connection)
    assert [(each.agreeing_runs, each.agreed_at) for each in reversed(rows)] == [
        (2, utc(4)),
        (1, utc(4)),
        (0, None),
        (0, None),
    ]


def test_a_later_good_run_leaves_nothing_to_decide(engine: Engine, archive: Path) -> None:
    read(engine, archive, PRICES, day=1)
    read(engine, archive, DOUBLED, day=2)
    assert read(engine, archive, PRICES, day=3).outcome is Outcome.UNCHANGED
    assert (numbers(engine, State.HELD), numbers(engine, State.SUPERSEDED)) == ([], [1])
    with reading(engine) as connection:
        (overtaken,) = held_store.quarantined(connection, state=State.SUPERSEDED)
    assert overtaken.because == "Run 3 read acme well at 2026-11-03 12:00 UTC, after this one."
    assert overtaken.decided_at == utc(3)


def test_an_approval_overtakes_what_was_held_before_it_and_no_more(engine: Engine, archive: Path) -> None:
    read(engine, archive, PRICES, day=1)
    for day in (2, 3, 4):
        read(engine, archive, DOUBLED, day=day)
    approve(engine, 2, because="They said so.", now=utc(5))
    assert (numbers(engine, State.APPROVED), numbers(engine, State.SUPERSEDED)) == ([2], [1])
    assert numbers(engine, State.HELD) == [3]
    assert (shown(engine, utc(4)), shown(engine, utc(5))) == (PRICES, DOUBLED)


# The command line.


@pytest.fixture
def run(
    database_url: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Give a function that runs `inferprice` on the engine's database, on the seventh of the month."""
    del engine
    environment = {"INFERPRICE_HOME": str(tmp_path), "DATABASE_URL": database_url}
    for module in (reviewing, cli.scraping):
        monkeypatch.setattr(module, "now", lambda: utc(7))
    # The bundled table is no part of these tests.
    monkeypatch.setattr("app.ingest.imports.import_when_empty", lambda *_arguments, **_options: ())

    def invoke(*words: str, text: str | None = None) -> Result:
        return CliRunner().invoke(cli.main, words, env=environment, input=text, catch_exceptions=False)

    return invoke


def test_a_held_run_is_shown_side_by_side(run: Callable[..., Result], engine: Engine, archive: Path) -> None:
    read(engine, archive, PRICES, day=1)
    now = {**PRICES, "SKU 0": "3.00", "new": "5.00"}
    del now["SKU 1"]
    read(engine, archive, now, day=2)
    read(engine, archive, now, day=3)
    listed = run("quarantine", "list").stdout.splitlines()
    assert [line.split()[:3] for line in listed[1:]] == [["2", "acme", "10"], ["1", "acme", "10"]]
    text = run("quarantine", "show", "1").stdout
    lines = text.splitlines()
    assert lines[0].startswith("hold price_moved: The price of SKU 0, 1 GPU, on_demand moved by +50%")
    assert lines[1] == "info noticed: Something else."
    assert "acme, read at 2026-11-02 12:00 UTC: held" in lines
    assert "1 later run read the same, the last at 2026-11-03 12:00 UTC." in lines
    table = [line.split() for line in lines if line.startswith(("gone", "changed", "added"))]
    assert [" ".join(row) for row in table] == [
        "gone SKU 1, 1 GPU, on_demand 2.00 USD/gpu-hour - - row > SKU 1 [2J: 2.00",
        "changed SKU 0, 1 GPU, on_demand 2.00 USD/gpu-hour 3.00 USD/gpu-hour +50.0% row > SKU 0 [2J: 3.00",
        "added new, 1 GPU, on_demand - 5.00 USD/gpu-hour - row > new [2J: 5.00",
    ]
    assert "\x1b" not in text
    assert lines[-1] == "10 offers were read, 10 are on the board, 3 differ."
    assert run("quarantine", "show", "1", "--format", "csv").stdout.count("\n") == 11


def test_a_decision_is_recorded_with_its_reason(
    run: Callable[..., Result], engine: Engine, archive: Path
) -> None:
    read(engine, archive, PRICES, day=1)
    read(engine, archive, DOUBLED, day=2)
    assert run("quarantine", "reject", "1", "--because", "A broken page.").exit_code == 0
    assert "acme, read at 2026-11-02 12:00 UTC: rejected at 2026-11-07 12:00 UTC: A broken page." in (
        run("quarantine", "show", "1").stdout
    )
    read(engine, archive, DOUBLED, day=3)
    approved = run("quarantine", "approve", "2", "--because", "Their blog says so.")
    assert (approved.exit_code, shown(engine, utc(8))) == (0, DOUBLED)
    assert "approved at 2026-11-07 12:00 UTC: Their blog says so." in run("quarantine", "show", "2").stdout
    again = run("quarantine", "approve", "2", "--because", "x")
    assert again.exit_code == 1
    assert "were approved before: Their blog says so." in again.stderr


# Archived pages read again.


def for_two(page: Page) -> Parsed:
    """Read the page as a corrected parser would, which has learnt that each price was for two."""
    parsed = parse(page)
    return replace(
        parsed, offers=tuple(replace(each, list_price=each.list_price / 2) for each in parsed.offers)
    )


def picky(page: Page) -> Parsed:
    raise ParseError("unknown_page", "Nothing is right.", url=page.url)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scraper], None]:
    """Give a function that makes a scraper the registered one of its provider."""

    def register(scraper: Scraper) -> None:
        monkeypatch.setattr("scrapers.SCRAPERS", MappingProxyType({scraper.provider: scraper}))

    return register


def test_reparse_shows_what_would_change_and_writes_nothing(
    run: Callable[..., Result], engine: Engine, archive: Path, known: Callable[[Scraper], None]
) -> None:
    read(engine, archive, PRICES, day=1)
    read(engine, archive, {**PRICES, "SKU 9": "2.20"}, day=2)
    known(ACME)
    same = run("reparse", "acme", "--since", "2026-11-01")
    assert [line for line in same.stdout.splitlines() if line.startswith("Run")] == [
        "Run 1, read at 2026-11-01 12:00 UTC, published: nothing would change.",
        "Run 2, read at 2026-11-02 12:00 UTC, published: nothing would change.",
    ]
    known(replace(ACME, parse=for_two))
    other = run("reparse", "acme", "--since", "2026-11-02")
    assert other.exit_code == 0
    assert other.stdout.startswith(
        "Run 2, read at 2026-11-02 12:00 UTC, published: 0 added, 0 gone, 10 changed; it would be held\n"
    )
    assert shown(engine, utc(3)) == {**PRICES, "SKU 9": "2.20"}
    nothing = run("reparse", "acme", "--since", "2026-12-01")
    assert nothing.stdout == "The archive has no page of acme since 2026-12-01 00:00 UTC.\n"
    assert run("reparse", "nonesuch", "--since", "2026-12-01").exit_code == 2
    assert run("reparse", "acme", "--since", "yesterday").exit_code == 2


def test_reparse_says_what_it_cannot_read(
    run: Callable[..., Result], engine: Engine, archive: Path, known: Callable[[Scraper], None]
) -> None:
    read(engine, archive, PRICES, day=1)
    known(replace(ACME, parse=picky))
    refused = run("reparse", "acme", "--since", "2026-11-01", "--publish")
    assert (refused.exit_code, shown(engine, utc(8))) == (3, PRICES)
    assert "today's parser refuses it.\nhold unknown_page: Nothing is right." in refused.stdout
    for path in archive.glob("??/*.gz"):
        path.unlink()
    assert "The archive has no body" in run("reparse", "acme", "--since", "2026-11-01").stdout


def test_a_correction_is_published_through_the_checks_and_changes_no_day_that_is_over(
    run: Callable[..., Result], engine: Engine, archive: Path, known: Callable[[Scraper], None]
) -> None:
    read(engine, archive, PRICES, day=1)
    read(engine, archive, {**PRICES, "SKU 9": "2.20"}, day=2)
    known(replace(ACME, parse=for_two))
    held = run("reparse", "acme", "--since", "2026-11-01", "--publish")
    assert held.exit_code == 3
    assert "are held for review as number 1" in held.stdout
    assert run("quarantine", "approve", "1", "--because", "They were for two.").exit_code == 0
    halved = {**dict.fromkeys(PRICES, "1"), "SKU 9": "1.10"}
    assert {sku: float(price) for sku, price in shown(engine, utc(7)).items()} == {
        sku: float(price) for sku, price in halved.items()
    }
    assert [shown(engine, utc(day, 23)) for day in (1, 2, 6)] == [
        PRICES,
        {**PRICES, "SKU 9": "2.20"},
        {**PRICES, "SKU 9": "2.20"},
    ]


def test_a_run_read_again_is_never_published_over_a_newer_one(engine: Engine, archive: Path) -> None:
    read(engine, archive, PRICES, day=1)
    read(engine, archive, {**PRICES, "SKU 9": "2.20"}, day=2)
    first, last = reread(engine, archive, scraper=ACME, since=utc(1))
    assert newest_readable((first, last)) is last
    ended = publish_reread(engine, first, provider="acme", now=utc(3))
    assert ended.outcome is Outcome.REFUSED
    assert "before its last good run" in ended.sentence
    again = publish_reread(engine, last, provider="acme", now=utc(3))
    assert again.outcome is Outcome.UNCHANGED
    twice = publish_reread(engine, last, provider="acme", now=utc(3))
    assert twice.outcome is None
    assert publish_reread(engine, last, provider="acme", now=utc(3) + timedelta(seconds=1)).outcome is (
        Outcome.UNCHANGED
    )


def test_changes_are_gone_then_changed_then_added() -> None:
    was = [make_offer(sku="a"), make_offer(sku="b")]
    now = [make_offer(sku="b", list_price="3.99"), make_offer(sku="c")]
    found = [(c.was.sku if c.was else None, c.now.sku if c.now else None) for c in changes_between(was, now)]
    assert found == [("a", None), ("b", "b"), (None, "c")]
    assert changes_between(was, was) == ()
