"""Nebius prints a second column with its date: read on the day before it, on the day, and long after."""

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine

from app.domain.offers import PricingModel
from app.ingest.run import run_pages
from app.store.queries import offers_as_of
from app.store.records import Outcome
from app.store.session import reading
from scrapers import SCRAPERS, Page
from tests.scrapers.truth import our_page, our_rows

BODY = our_page("nebius").body.replace(b"March 15, 2027", b"October 1, 2026")
"""Our own page, with the date that Nebius printed in September 2026."""


def at(month: int, day: int, hour: int = 6) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=UTC)


def read(engine: Engine, archive: Path, when: datetime) -> Outcome | None:
    page = Page(url="https://nebius.com/prices", body=BODY, fetched_at=when)
    ended = run_pages(
        engine, archive, scraper=SCRAPERS["nebius"], pages=[page], slot=f"{when:%Y-%m-%d}", now=when
    )
    return ended.outcome


def written(start: str) -> dict[str, str]:
    """Return the on-demand prices of our page with this start date, as written beside it by hand."""
    return {
        row["sku"]: row["list_price"]
        for row in our_rows("nebius")
        if row["pricing_model"] == "on_demand" and row["valid_from"] == start
    }


def shown(engine: Engine, when: datetime) -> tuple[dict[str, str], dict[str, str]]:
    """Return the on-demand prices a date shows, and those it shows as announced."""
    with reading(engine) as connection:
        offers = [
            each
            for each in offers_as_of(connection, when)
            if each.offer.pricing_model is PricingModel.ON_DEMAND
        ]
    announced = {each.offer.sku: str(each.next_price.list_price) for each in offers if each.next_price}
    return {each.offer.sku: str(each.offer.list_price) for each in offers}, announced


def test_the_announced_column_becomes_the_price_on_its_day_and_the_old_one_never_comes_back(
    engine: Engine, archive: Path
) -> None:
    old, announced = written(""), written("2027-03-15")
    assert len(old) == len(announced) == 6
    new = announced
    assert read(engine, archive, at(9, 30)) is Outcome.PUBLISHED
    assert shown(engine, at(9, 30)) == (old, announced)
    # At midnight the new price holds, before anybody has read the page again.
    assert shown(engine, at(10, 1, 0)) == (new, {})
    # The page still has both columns on the day and a month later.
    for when in (at(10, 1), at(10, 2), at(11, 1)):
        assert read(engine, archive, when) is Outcome.UNCHANGED
        assert shown(engine, when) == (new, {})
    assert shown(engine, at(9, 30)) == (old, announced)


def test_a_first_reading_on_the_day_takes_the_new_column(engine: Engine, archive: Path) -> None:
    assert read(engine, archive, at(10, 1)) is Outcome.PUBLISHED
    assert shown(engine, at(10, 1)) == (written("2027-03-15"), {})
