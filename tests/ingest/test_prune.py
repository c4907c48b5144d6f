"""Pages that nobody needs may go; what a price cites, a decision or the next request needs, stays."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine

from app import cli
from app.commands import scraping
from app.ingest.archive import ArchiveError, body_path, prune, read_body, store_body
from app.ingest.run import RunOutcome, run_pages
from app.store.captures import needed_bodies
from app.store.session import reading
from scrapers.base import Expect, Page, Parsed, Scraper
from tests.make import make_offer, utc

MARCH = utc(1, month=3, year=2027)


def parse(page: Page) -> Parsed:
    """Read prices with commas; what follows a hash is not read, so other bytes may offer the same."""
    prices = page.body.decode().partition("#")[0].split(",")
    return Parsed(
        offers=tuple(make_offer(sku=f"SKU {place}", list_price=text) for place, text in enumerate(prices))
    )


ACME = Scraper(provider="acme", requests=(), parse=parse, expect=Expect(min_offers=1))


def run(engine: Engine, archive: Path, text: str, *, day: int) -> RunOutcome:
    page = Page(url="https://acme.example/", body=text.encode(), fetched_at=utc(day))
    return run_pages(engine, archive, scraper=ACME, pages=[page], slot=f"{day}", now=utc(day))


def age(archive: Path, when: datetime) -> None:
    """Make all files as old as the captures they are from."""
    for path in archive.glob("??/*"):
        os.utime(path, (when.timestamp(), when.timestamp()))


def bodies(archive: Path) -> set[str]:
    return {read_body(archive, path.name.removesuffix(".gz")).decode() for path in archive.glob("??/*.gz")}


@pytest.fixture
def kept(engine: Engine, archive: Path) -> Path:
    """An archive of five old pages, and what the database says of them."""
    run(engine, archive, "1.00,2.00", day=1)
    run(engine, archive, "1.00,2.00#seen again", day=2)
    run(engine, archive, "1.00,2.10", day=3)
    run(engine, archive, "9.00,9.00#held", day=4)
    run(engine, archive, "#broken", day=5)
    run(engine, archive, "#broken as well", day=6)
    store_body(archive, b"of a run that was killed")
    age(archive, utc(7))
    return archive


def test_only_what_nobody_needs_goes(engine: Engine, kept: Path) -> None:
    with reading(engine) as connection:
        needed = needed_bodies(connection, now=MARCH, days=30)
    pruned = prune(kept, needed, before=MARCH - timedelta(days=30))
    assert bodies(kept) == {
        "1.00,2.00",  # SKU 0 costs 1.00 by it
        "1.00,2.10",  # SKU 1 costs 2.10 by it
        "9.00,9.00#held",  # waits for a decision
        "#broken as well",  # the last answer, which a 304 would refer to
    }
    assert (pruned.gone, pruned.stay) == (3, 4)
    assert pruned.freed_bytes > 0


def test_young_pages_stay(engine: Engine, kept: Path) -> None:
    with reading(engine) as connection:
        young = needed_bodies(connection, now=utc(20), days=30)
    assert prune(kept, young, before=utc(20) - timedelta(days=30)).gone == 0


def test_a_body_that_is_archived_at_this_moment_stays(kept: Path) -> None:
    """It is in no table yet, or was there long before; its file is young by the clock of the machine."""
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    age(kept, hour_ago - timedelta(days=1))
    fresh, again = store_body(kept, b"of a run under way"), store_body(kept, b"1.00,2.00#seen again")
    assert prune(kept, frozenset(), before=hour_ago).stay == 2
    assert bodies(kept) == {"of a run under way", "1.00,2.00#seen again"}
    assert body_path(kept, fresh) != body_path(kept, again)
    with pytest.raises(ArchiveError):
        read_body(kept, "0" * 64)


def test_the_command_goes_by_the_setting(
    engine: Engine, kept: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del engine
    monkeypatch.setattr(scraping, "now", lambda: MARCH)
    monkeypatch.setattr("app.ingest.imports.import_when_empty", lambda *_arguments, **_options: ())
    environment = {
        "INFERPRICE_HOME": str(kept.parent),
        "DATABASE_URL": database_url,
        "INFERPRICE_ARCHIVE_RETENTION_DAYS": "200",
    }

    def say(*words: str) -> str:
        return CliRunner().invoke(cli.main, ["archive", "prune", *words], env=environment).stdout

    assert say() == "0 pages went (0 bytes), 7 stay.\n"
    assert say("--days", "30").startswith("3 pages went (")
    assert len(bodies(kept)) == 4
