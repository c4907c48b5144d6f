"""Boards follow the clock and the store: prices grow old, days pass, what is published shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.metrics import METRICS
from app.domain.rows import FLAG_MEANINGS
from app.web import boards
from app.web.main import create_app
from tests.web import market
from tests.web.conftest import settings_for
from tests.web.reading import get, read_csv, read_table


@dataclass(slots=True)
class Clock:
    """A clock that a test moves."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(market.NOW)


@pytest.fixture
def client(sqlite_database_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(boards, "CHECK_EVERY_S", -1.0)
    market.fill(sqlite_database_url)
    with TestClient(create_app(settings_for(sqlite_database_url), clock=clock)) as served:
        yield served


def stale(client: TestClient) -> set[str]:
    lines = read_csv(get(client, "/offers.csv"))
    return {line["provider"] for line in lines if "stale" in line["flags"].split()}


def test_prices_grow_old_without_anything_being_published(client: TestClient, clock: Clock) -> None:
    tag = client.get("/").headers["etag"]
    assert stale(client) == {"oldhost"}
    clock.now += timedelta(minutes=20)
    assert client.get("/", headers={"if-none-match": tag}).status_code == 304
    clock.now = market.at(21, 7)  # the page of the 19th at 06:00 is now older than 48 hours
    assert client.get("/", headers={"if-none-match": tag}).status_code == 200
    assert stale(client) == {"oldhost", "nebius"}
    clock.now = market.at(25)
    assert "Every price here is 5 days old or older" in get(client, "/")


def test_an_announced_price_begins_on_its_day(client: TestClient, clock: Clock) -> None:
    def b200() -> tuple[str, str]:
        [line] = read_csv(get(client, "/offers.csv?provider=nebius&gpu=b200"))
        return line["list_price"], line["flags"]

    assert b200() == ("5.5", "change_announced")
    clock.now = datetime(2026, 11, 30, 23, 59, tzinfo=market.NOW.tzinfo)
    assert b200() == ("5.5", "very_stale change_announced")
    clock.now += timedelta(minutes=1)
    assert b200() == ("6.1", "very_stale announced")
    # Each other file writes two flags as the board's does, and lists of names with bars.
    [row] = client.get("/offers.json?provider=nebius&gpu=b200").json()["rows"]
    [line] = read_csv(get(client, f"/offers/{row['offer_id']}.csv"))
    assert line["flags"] == "very_stale announced"
    assert " | " in line["specification_sources"]
    [listed] = [each for each in read_csv(get(client, "/gpus.csv")) if each["id"] == "b200-sxm"]
    assert listed["cheapest_on_demand_flags"] == "very_stale announced"
    assert " | " in listed["providers"]
    # A card's own page says it as strongly as the board does.
    marks = LexborHTMLParser(get(client, "/gpus/b200-sxm")).css("p.summary .flag")
    assert [mark.text() for mark in marks] == ["very stale", "announced"]


def test_tomorrow_today_is_a_past_day(client: TestClient, clock: Clock) -> None:
    assert client.get("/?as_of=2026-11-21").status_code == 422
    past = client.get("/?as_of=2026-11-19")
    assert 'max="2026-11-20"' in past.text
    today = read_table(get(client, "/?as_of=2026-11-20")).ids
    clock.now = market.at(21)
    assert client.get("/?as_of=2026-11-21").status_code == 200
    page = get(client, "/?as_of=2026-11-20")
    assert "These are the prices of 2026-11-20, not today" in page
    assert read_table(page).ids == today
    again = client.get("/?as_of=2026-11-19", headers={"if-none-match": past.headers["etag"]})
    assert again.status_code == 200
    assert 'max="2026-11-21"' in again.text


def test_past_boards_are_few_and_each_is_the_right_one(client: TestClient) -> None:
    """More days than are kept, asked for twice, in turns."""
    days = [f"2026-11-{day:02}" for day in range(2, 20)]
    assert len(days) > boards.PAST_BOARDS
    first = [client.get(f"/offers.json?as_of={day}").json() for day in days]
    again = [client.get(f"/offers.json?as_of={day}&page=1").json() for day in reversed(days)]
    assert [each["as_of"][:10] for each in first] == days
    assert [each["total"] for each in first] == [each["total"] for each in reversed(again)]
    assert first[0]["total"] < first[4]["total"]


def test_the_page_says_what_every_column_and_warning_means(client: TestClient) -> None:
    """Labels, units and formulas come from the figures themselves, so that none is named after another."""
    page = read_table(get(client, "/")).tree.css_first("#meanings").text()
    words = " ".join(page.split())
    for metric in METRICS.values():
        assert f"{metric.label} {metric.key} {metric.unit}" in words
        assert metric.formula in words
        assert metric.meaning in words
    for meaning in FLAG_MEANINGS.values():
        assert f"{meaning}." in words
    assert words.count("It is a bound, not a speed or a forecast.") == 2


def test_a_price_of_tokens_says_which_tokens() -> None:
    assert "generated" in METRICS["usd_per_mtok_at_ceiling"].meaning
    assert "generated" in METRICS["decode_ceiling_tokens_per_s"].meaning


def test_a_bound_says_so_in_its_heading_and_numbers_stand_without_words(client: TestClient) -> None:
    tree = read_table(
        get(client, "/?columns=usd_per_mtok_at_ceiling,usd_per_tbs_hour,decode_ceiling_tokens_per_s")
    ).tree
    headings = [" ".join(each.text(separator=" ").split()) for each in tree.css("thead th")][1:]
    assert headings == ["$/Mtok 70 GB bound", "$/TB/s-h ratio", "Decode ceiling tok/s, 70 GB bound"]
    numbers = [cell.text().replace(",", "") for cell in tree.css("tbody td.n:not(.unknown)")]
    assert all(float(number) > 0 for number in numbers)
