"""When an answer was last modified, and what a reader gets who says when it had it last."""

from collections.abc import Iterator
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import NoReturn

import pytest
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from app.web import boards
from app.web.main import create_app
from tests.make import publish_offers
from tests.web import market
from tests.web.conftest import settings_for
from tests.web.test_boards import Clock

# Written out as RFC 9110 (5.6.7) has it: 2026-11-20 was a Friday.
MADE = "Fri, 20 Nov 2026 12:30:00 GMT"
SAME = {"if-modified-since": MADE}
DATED = (
    "/",
    "/?gpu=h100&sort=-tdp_w",
    "/offers.csv",
    "/offers.json?gpu=h100",
    "/?as_of=2026-11-14",
    "/offers.csv?as_of=2026-11-14",
    "/compare.json?gpu=h100-sxm&gpu=h200-sxm",
    "/claims.json",
    "/gpus.json",
)


@pytest.fixture
def clock() -> Clock:
    return Clock(market.NOW)


@pytest.fixture
def client(sqlite_database_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """An application that looks at its store on every request, and whose clock a test moves."""
    monkeypatch.setattr(boards, "CHECK_EVERY_S", -1.0)
    market.fill(sqlite_database_url)
    application = create_app(settings_for(sqlite_database_url), clock=clock)
    with TestClient(application, follow_redirects=False) as served:
        yield served


def publish(client: TestClient, price: str, *, day: int) -> None:
    engine = client.app.state.shared.engine  # type: ignore[attr-defined]  # a FastAPI application
    offers = [market.offer("newcomer", "H100", "h100-sxm", price)]
    publish_offers(engine, offers, observed_at=market.at(day), provider="newcomer")


@pytest.mark.parametrize("address", DATED)
def test_an_answer_says_since_when_it_stands_and_is_not_sent_to_who_has_had_it_since(
    client: TestClient, clock: Clock, address: str
) -> None:
    assert client.get(address).headers["last-modified"] == MADE
    clock.now += timedelta(minutes=29, seconds=59)  # the hour is the same
    again = client.get(address, headers=SAME)
    assert (again.status_code, again.content) == (304, b"")
    assert {"etag", "cache-control", "vary"} <= set(again.headers)
    assert client.head(address, headers=SAME).status_code == 304
    assert client.get(address).headers["last-modified"] == MADE


@pytest.mark.parametrize(
    ("since", "status"),
    [
        (MADE, 304),
        ("Fri, 20 Nov 2026 12:30:01 GMT", 304),
        ("Fri, 20 Nov 2026 12:29:59 GMT", 200),
        # The two old ways to write a date, which have to be read as well.
        ("Friday, 20-Nov-26 12:30:00 GMT", 304),
        ("Fri Nov 20 12:30:00 2026", 304),
        ("Fri Nov 20 12:29:59 2026", 200),
        # What is no HTTP date is not looked at.
        ("2026-11-20T12:30:00Z", 200),
        ("Fri, 20 Nov 2026 12:30:00 +0000", 200),
        ("yesterday", 200),
        ("", 200),
    ],
)
def test_a_date_is_read_in_each_of_its_three_forms(client: TestClient, since: str, status: int) -> None:
    assert client.get("/offers.csv", headers={"if-modified-since": since}).status_code == status


def test_beside_a_tag_a_date_is_not_looked_at(client: TestClient) -> None:
    tag = client.get("/offers.csv").headers["etag"]
    assert client.get("/offers.csv", headers={**SAME, "if-none-match": '"other"'}).status_code == 200
    old = {"if-modified-since": "Thu, 01 Jan 1970 00:00:00 GMT", "if-none-match": tag}
    assert client.get("/offers.csv", headers=old).status_code == 304


@pytest.mark.parametrize("address", ["/", "/offers.csv", "/offers.json?as_of=2026-11-14"])
def test_what_can_change_an_answer_moves_its_date(client: TestClient, clock: Clock, address: str) -> None:
    """New data, also of a past day, and a new hour, after which a price may be stale."""
    client.get(address)
    clock.now += timedelta(minutes=10)
    # Read long ago and carried in now: when it was read is no date of the answer.
    publish(client, "1.11", day=12)
    moved = client.get(address, headers=SAME)
    assert moved.status_code == 200
    assert parsedate_to_datetime(moved.headers["last-modified"]) == clock.now
    before = {"if-modified-since": moved.headers["last-modified"]}
    assert client.get(address, headers=before).status_code == 304
    clock.now += timedelta(minutes=20)
    later = client.get(address, headers=before)
    assert later.status_code == 200
    assert later.headers["last-modified"] == "Fri, 20 Nov 2026 13:00:00 GMT"


def test_two_boards_in_one_second_are_told_apart_by_tags_alone(client: TestClient, clock: Clock) -> None:
    first = client.get("/offers.csv")
    clock.now += timedelta(milliseconds=900)
    publish(client, "1.11", day=20)
    second = client.get("/offers.csv", headers=SAME)
    assert second.status_code == 200
    assert "newcomer" in second.text
    assert "newcomer" not in first.text
    assert "last-modified" not in second.headers
    clock.now -= timedelta(minutes=5)  # the clock was set back
    publish(client, "2.22", day=21)
    third = client.get("/offers.csv", headers=SAME)
    assert (third.status_code, "last-modified" in third.headers) == (200, False)
    clock.now += timedelta(minutes=6)
    publish(client, "3.33", day=22)
    assert parsedate_to_datetime(client.get("/offers.csv").headers["last-modified"]) == clock.now.replace(
        microsecond=0
    )


def test_a_program_that_was_started_anew_dates_its_answers_anew(
    client: TestClient, clock: Clock, sqlite_database_url: str
) -> None:
    client.get("/offers.csv")
    clock.now += timedelta(minutes=3)
    with TestClient(create_app(settings_for(sqlite_database_url), clock=clock)) as another:
        assert another.get("/offers.csv", headers=SAME).status_code == 200


def test_an_outage_and_its_end_change_an_answer(
    client: TestClient, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_self: object, _now: object) -> NoReturn:
        raise OperationalError("SELECT 1", {}, Exception("away"))

    addresses = ("/", "/?as_of=2026-11-14")
    for address in addresses:
        client.get(address)
    clock.now += timedelta(minutes=1)
    began = {"if-modified-since": "Fri, 20 Nov 2026 12:31:00 GMT"}
    with monkeypatch.context() as patch:
        patch.setattr(boards.BoardKeeper, "_read", away)
        for address in addresses:
            assert "The database is away" in client.get(address, headers=SAME).text
            clock.now += timedelta(seconds=1)
            assert client.get(address, headers=began).status_code == 304
    for address in addresses:
        answer = client.get(address, headers=began)
        assert answer.status_code == 200
        assert "The database is away" not in answer.text


def test_what_is_refused_is_refused_whatever_date_comes_with_it(client: TestClient) -> None:
    """RFC 9110, 13.2.1: a condition is for what would otherwise be answered."""
    late = {"if-modified-since": "Fri, 01 Jan 2100 00:00:00 GMT"}
    assert client.get("/offers.csv", headers=late).status_code == 304
    assert client.get("/offers.csv?gpu=x", headers=late).status_code == 422
    assert client.get("/?gpu=x", headers=late).status_code == 422
    assert client.get("/?q=", headers=late).status_code == 303
    assert client.get("/nothing", headers=late).status_code == 404
