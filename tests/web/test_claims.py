"""The claims page says what holds, since when, by how much, and hanging on what; an edit breaks one."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import Engine
from starlette.testclient import TestClient

from app.ingest.imports import import_table
from app.store.migrate import upgrade
from app.store.session import make_engine
from app.web import claims_days
from app.web.main import create_app
from tests.domain.article import PRICES, offer_of
from tests.domain.bundled import READ_AT
from tests.make import publish_offers
from tests.web.conftest import settings_for
from tests.web.reading import get

NOW = datetime(2026, 11, 12, 12, tzinfo=UTC)
CHEAPEST = "b200-cheapest-per-tbs"


@contextmanager
def serving(url: str, now: datetime = NOW) -> Iterator[TestClient]:
    with TestClient(create_app(settings_for(url), clock=lambda: now), follow_redirects=False) as client:
        yield client


def publish(engine: Engine, provider: str, day: int, **changed: str) -> None:
    """Publish a provider's three cards as the article prints them, some at another price."""
    cards = ("h100-sxm", "h200-sxm", "b200-sxm")
    offers = [
        offer_of(provider, card, changed.get(card.partition("-")[0], usd))
        for card, usd in zip(cards, PRICES[provider], strict=True)
    ]
    publish_offers(engine, offers, observed_at=datetime(2026, 11, day, 6, tzinfo=UTC), provider=provider)


def claim_of(client: TestClient, name: str, query: str = "") -> dict[str, Any]:
    document = client.get(f"/claims.json{query}").json()
    [found] = [claim for claim in document["claims"] if claim["id"] == name]
    return dict(found)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The application on the table of 2026-10-30, a fortnight later."""
    home = tmp_path_factory.mktemp("claims")
    engine = make_engine(url := f"sqlite:///{home}/table.db")
    upgrade(engine)
    import_table(engine, home, now=READ_AT)
    engine.dispose()
    with serving(url) as client:
        yield client


@pytest.mark.parametrize("query", ["", "?as_of=2026-10-30"])
def test_all_four_hold_since_the_day_of_the_article(table: TestClient, query: str) -> None:
    claims = table.get(f"/claims.json{query}").json()["claims"]
    assert [(claim["holds"], claim["since"]) for claim in claims] == [(True, "2026-10-30")] * 4
    assert [[each["accelerator"] for each in claim["depends_on"]] for claim in claims] == [
        [],
        ["b200-sxm"],
        [],
        [],
    ]
    assert [round(claim["decided_by"]["slack_percent"], 2) for claim in claims] == [8.07, 2.56, 17.57, 4.56]


def test_the_page_says_the_same(table: TestClient) -> None:
    tree = LexborHTMLParser(get(table, "/claims"))
    assert tree.css_first(".summary strong").text() == "4 of 4 claims hold on 2026-11-12."
    shown = [node.text().strip() for node in tree.css(".standing")]
    assert shown == ["holds since 2026-10-30, the first day with prices"] * 4
    second = tree.css_first(f"#{CHEAPEST}").text()
    assert "by 2.6 % at Fireworks (1.625 against 1.667 of the H200 SXM 141 GB)" in second
    assert (
        "depends on the B200 SXM 180 GB: 8.0 or 7.7 TB/s. With the other figure it would not hold." in second
    )
    assert "at 7 of 7 providers, 7 needed" in second
    first = tree.css_first("#h200-beats-h100-sxm")
    assert "at 6 of 7 providers, 6 needed" in first.text()
    assert "It does not depend on any." in first.text()
    assert first.css_first("dd a").attributes["href"] == "/compare?gpu=h100-sxm&gpu=h200-sxm"


def test_every_comparison_behind_a_claim_can_be_opened(table: TestClient) -> None:
    for query in ("", "?as_of=2026-10-30"):
        for link in LexborHTMLParser(get(table, f"/claims{query}")).css(".claim dd a"):
            get(table, link.attributes["href"] or "")


def test_before_the_first_price_nothing_can_be_told(table: TestClient) -> None:
    claims = table.get("/claims.json?as_of=2026-10-01").json()["claims"]
    assert [(claim["holds"], claim["since"], claim["decided_by"]) for claim in claims] == [
        (None, None, None)
    ] * 4
    assert "There are no prices yet." in get(table, "/claims?as_of=2026-10-01")


@pytest.mark.parametrize(
    ("query", "field"), [("as_of=2027-01-01", "as_of"), ("gpu=h100", "parameter"), ("as_of=x", "as_of")]
)
def test_what_is_not_right_is_said(table: TestClient, query: str, field: str) -> None:
    answer = table.get(f"/claims.json?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert table.get(f"/claims?{query}").status_code == 422


def test_an_empty_field_is_redirected_away_and_a_tag_answers_304(table: TestClient) -> None:
    assert table.get("/claims?as_of=").headers["location"] == "/claims"
    for path in ("/claims", "/claims.json"):
        tag = table.get(path).headers["etag"]
        assert table.get(path, headers={"if-none-match": tag}).status_code == 304


def test_an_edit_breaks_a_claim_on_its_day_and_it_says_so(database_url: str) -> None:
    """At 13.40 the B200 costs 1.675 per TB/s at Fireworks, and its H200 1.667."""
    engine = make_engine(database_url)
    upgrade(engine)
    for provider in PRICES:
        publish(engine, provider, 2)
    publish(engine, "fireworks", 5, b200="13.40")
    publish(engine, "nebius", 6, h100="4.60")
    publish(engine, "fireworks", 9)
    engine.dispose()
    with serving(database_url) as client:
        claim = claim_of(client, CHEAPEST)
        assert claim["steps"] == [
            {"day": "2026-11-02", "holds": True},
            {"day": "2026-11-05", "holds": False},
            {"day": "2026-11-09", "holds": True},
        ]
        assert (claim["holds"], claim["since"]) == (True, "2026-11-09")
        broken = claim_of(client, CHEAPEST, "?as_of=2026-11-07")
        assert (broken["holds"], broken["since"]) == (False, "2026-11-05")
        assert broken["decided_by"]["provider"] == "fireworks"
        assert round(broken["decided_by"]["slack_percent"], 2) == -0.5  # 1.667 / 1.675 - 1
        page = LexborHTMLParser(get(client, "/claims?as_of=2026-11-07")).css_first(f"#{CHEAPEST}")
        assert page.css_first(".standing").text().strip() == "does not hold any more: it broke on 2026-11-05"
        said = " ".join(page.text().split())
        assert "by 0.5 % at Fireworks (1.675 against 1.667 of the H200 SXM 141 GB)" in said
        assert "at 6 of 7 providers, 7 needed" in said
        assert "held from 2026-11-02" in said
        for day, holds in ((4, True), (5, False), (8, False), (9, True)):
            assert claim_of(client, CHEAPEST, f"?as_of=2026-11-{day:02}")["holds"] is holds
            other = claim_of(client, "h200-beats-h100-sxm", f"?as_of=2026-11-{day:02}")
            assert (other["holds"], other["since"]) == (True, "2026-11-02")
        now = LexborHTMLParser(get(client, "/claims")).css_first(f"#{CHEAPEST}").text()
        assert "did not hold from 2026-11-05; held from 2026-11-02" in " ".join(now.split())


def test_how_far_is_looked_back_is_bounded_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_days, "MOST_DAYS", 3)
    engine = make_engine(url := f"sqlite:///{tmp_path}/days.db")
    upgrade(engine)
    for day in range(2, 8):
        publish(engine, "nebius", day, h100=f"4.{day}0")
    engine.dispose()
    with serving(url) as client:
        document = client.get("/claims.json").json()
        assert (document["days_judged"], document["first_day_judged"]) == (3, "2026-11-05")
        assert document["reaches_first_day"] is False
        assert "since 2026-11-05 at least" in get(client, "/claims")


def test_a_day_is_judged_once_while_the_data_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[date] = []
    plain = claims_days._judge_day

    def counted(*args: Any) -> Any:
        asked.append(args[2])
        return plain(*args)

    monkeypatch.setattr(claims_days, "_judge_day", counted)
    engine = make_engine(url := f"sqlite:///{tmp_path}/once.db")
    upgrade(engine)
    publish(engine, "nebius", 2)
    publish(engine, "nebius", 3, h100="4.60")
    with serving(url) as client:
        for path in ("/claims", "/claims.json", "/claims?as_of=2026-11-03"):
            get(client, path)
        assert asked == [date(2026, 11, 2), date(2026, 11, 3)]
        days = client.app.state.shared.claim_days  # type: ignore[attr-defined]  # our application
        publish(engine, "nebius", 4)
        looked = days.look_back(engine, client.app.state.shared.keeper.catalogue, until=NOW.date())  # type: ignore[attr-defined]  # same
        assert (looked.days, len(asked)) == (3, 5)
    engine.dispose()


def test_prices_of_another_day_do_not_move_a_past_day(table: TestClient) -> None:
    first = table.get("/claims.json?as_of=2026-10-30").json()
    later = table.get(f"/claims.json?as_of={date(2026, 10, 30) + timedelta(days=3)}").json()
    assert first["claims"] == later["claims"]
