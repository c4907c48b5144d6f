"""A scrape asks what its source says and no more, obeys the switches, and keeps one fault from all others."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import pytest
from sqlalchemy import Engine

from app.domain.providers import load_providers
from app.ingest import sources
from app.ingest.archive import body_path
from app.ingest.fetched import Fetched, FetchError, PassingError
from app.ingest.sources import SourceError, inspect_page, scrape
from app.settings import Settings
from app.store import runs
from app.store.queries import last_good_runs, offers_as_of
from app.store.records import Capture, Outcome
from app.store.session import reading
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from tests.make import make_offer, utc


def scraper(provider: str, *requests: Request) -> Scraper:
    """Return a source whose pages are JSON objects of prices by SKU."""

    def parse(page: Page) -> Parsed:
        if not page.body.startswith(b"{"):
            raise ParseError("not_json", "The page is no JSON.")
        prices = json.loads(page.body)
        return Parsed(
            offers=tuple(
                make_offer(provider=provider, sku=sku, list_price=price) for sku, price in prices.items()
            )
        )

    return Scraper(
        provider=provider,
        requests=requests or (Request(url=f"https://{provider}.example/pricing"),),
        parse=parse,
        expect=Expect(min_offers=1),
    )


@dataclass
class FakeFetcher:
    """Answers from memory; an answer that is an error is raised."""

    answers: dict[str, Fetched | Exception]
    asked: list[tuple[str, tuple[str, ...], Capture | None]] = field(default_factory=list)

    def fetch(self, request: Request, *, hosts: Collection[str], known: Capture | None = None) -> Fetched:
        self.asked.append((request.url, tuple(hosts), known))
        answer = self.answers[request.url]
        if isinstance(answer, Exception):
            raise answer
        return answer


def fetched(url: str, prices: dict[str, str] | None, *, day: int = 1, etag: str = '"1"') -> Fetched:
    """Return a page of these prices, or a 304 without any."""
    return Fetched(
        url=url,
        status=304 if prices is None else 200,
        body=b"" if prices is None else json.dumps(prices).encode(),
        fetched_at=utc(day),
        content_type="" if prices is None else "application/json",
        headers={"etag": etag} if prices else {},
    )


ACME, BOLT, SHUT = (
    "https://acme.example/pricing",
    "https://bolt.example/pricing",
    "https://shut.example/pricing",
)


@pytest.fixture(autouse=True)
def three_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sources that are on, and one that is off."""
    row = load_providers()["nebius"]
    facts = {
        name: replace(
            row, id=name, name=name.title(), hosts=(f"{name}.example",), enabled_by_default=name != "shut"
        )
        for name in ("acme", "bolt", "shut")
    }
    facts["shut"] = replace(facts["shut"], terms_note="Its terms are said to forbid it.")
    monkeypatch.setattr(sources, "load_providers", lambda: facts)
    monkeypatch.setattr(sources, "SCRAPERS", MappingProxyType({name: scraper(name) for name in facts}))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def at(day: int) -> Callable[[], datetime]:
    return lambda: utc(day)


def outcomes(
    engine: Engine, settings: Settings, fetcher: FakeFetcher, **options: object
) -> dict[str, Outcome | None]:
    ended = scrape(engine, settings, fetcher=fetcher, **{"clock": at(1), **options})
    return {each.provider: each.outcome for each in ended}


def test_every_source_that_is_on_is_asked_within_its_hosts(engine: Engine, settings: Settings) -> None:
    fetcher = FakeFetcher({ACME: fetched(ACME, {"a": "1"}), BOLT: fetched(BOLT, {"b": "2"})})
    assert outcomes(engine, settings, fetcher) == {"acme": Outcome.PUBLISHED, "bolt": Outcome.PUBLISHED}
    assert fetcher.asked == [(ACME, ("acme.example",), None), (BOLT, ("bolt.example",), None)]
    with reading(engine) as connection:
        assert {each.offer.sku for each in offers_as_of(connection, utc(1))} == {"a", "b"}
        assert [run.slot for run in runs.runs(connection)] == ["2026-11-01T12:00Z"] * 2


def test_a_source_that_is_off_says_why_and_is_not_asked(engine: Engine, settings: Settings) -> None:
    fetcher = FakeFetcher({})
    (ended,) = scrape(engine, settings, providers=["shut"], clock=at(1), fetcher=fetcher)
    assert ended.outcome is None
    assert ended.sentence == (
        "Shut is off by default. Its terms are said to forbid it. "
        "`inferprice sources enable shut` turns it on."
    )
    assert fetcher.asked == []


def test_the_operator_may_turn_a_source_on(engine: Engine, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, enabled_sources=("shut",))
    fetcher = FakeFetcher({SHUT: fetched(SHUT, {"s": "3"})})
    assert outcomes(engine, settings, fetcher, providers=["shut"]) == {"shut": Outcome.PUBLISHED}


def test_a_source_that_is_not_there_is_named(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no source 'acmee'; there are acme, bolt, shut"):
        scrape(engine, Settings(home=tmp_path), providers=["acmee"], clock=at(1))
    with pytest.raises(SourceError, match="INFERPRICE_ENABLED_SOURCES: there is no source 'acmee'"):
        scrape(engine, Settings(home=tmp_path, enabled_sources=("acmee",)), clock=at(1))


@pytest.mark.parametrize(
    ("fault", "outcome", "code"),
    [
        (PassingError("host_busy", "It answered 503."), Outcome.FAILED, "host_busy"),
        (FetchError("disallowed_by_robots", "It disallows."), Outcome.REFUSED, "disallowed_by_robots"),
        (FetchError("foreign_host", "Elsewhere."), Outcome.REFUSED, "foreign_host"),
        (ZeroDivisionError("oh"), Outcome.FAILED, "fetch_failed"),
    ],
)
def test_one_source_that_fails_does_not_keep_the_others(
    engine: Engine, settings: Settings, fault: Exception, outcome: Outcome, code: str
) -> None:
    fetcher = FakeFetcher({ACME: fault, BOLT: fetched(BOLT, {"b": "2"})})
    assert outcomes(engine, settings, fetcher) == {"acme": outcome, "bolt": Outcome.PUBLISHED}
    with reading(engine) as connection:
        failed = runs.last_runs(connection)["acme"]
        assert [finding.code for finding in runs.findings_of(connection, failed.run_id)] == [code]


def test_a_page_that_is_as_it_was_is_read_from_the_archive(engine: Engine, settings: Settings) -> None:
    first = FakeFetcher({ACME: fetched(ACME, {"a": "1"})})
    outcomes(engine, settings, first, providers=["acme"])
    for day in (2, 3):
        again = FakeFetcher({ACME: fetched(ACME, None, day=day)})
        assert outcomes(engine, settings, again, providers=["acme"], clock=at(day)) == {
            "acme": Outcome.UNCHANGED
        }
        ((_, _, known),) = again.asked
        assert known is not None
        assert known.headers == {"etag": '"1"'}
    with reading(engine) as connection:
        assert last_good_runs(connection) == {"acme": utc(3)}
        (stored,) = offers_as_of(connection, utc(3))
    assert (stored.observed_at, stored.last_seen_at) == (utc(1), utc(3))


def test_a_page_the_archive_has_lost_is_fetched_whole(engine: Engine, settings: Settings) -> None:
    page = fetched(ACME, {"a": "1"})
    outcomes(engine, settings, FakeFetcher({ACME: page}), providers=["acme"])
    with reading(engine) as connection:
        known = runs.last_capture(connection, ACME)
    assert known is not None
    body_path(settings.archive, known.sha256).unlink()
    again = FakeFetcher({ACME: fetched(ACME, {"a": "1"}, day=2)})
    assert outcomes(engine, settings, again, providers=["acme"], clock=at(2)) == {"acme": Outcome.UNCHANGED}
    assert again.asked == [(ACME, ("acme.example",), None)]


def test_a_day_is_run_once(engine: Engine, settings: Settings) -> None:
    fetcher = FakeFetcher({ACME: fetched(ACME, {"a": "1"})})
    assert outcomes(engine, settings, fetcher, providers=["acme"], slot="2026-11-01") == {
        "acme": Outcome.PUBLISHED
    }
    assert outcomes(engine, settings, fetcher, providers=["acme"], slot="2026-11-01") == {"acme": None}
    assert len(fetcher.asked) == 1


def test_a_page_at_hand_is_read_as_a_scrape_would() -> None:
    acme = scraper("acme")
    good = inspect_page(acme, b'{"a": "1"}', url=None, fetched_at=utc(1))
    assert ([offer.sku for offer in good.offers], good.refused, good.held) == (["a"], False, False)
    held = inspect_page(acme, b'{"a": "0"}', url=None, fetched_at=utc(1))
    assert (held.refused, held.held) == (False, True)
    refused = inspect_page(acme, b"<html>", url="https://acme.example/", fetched_at=utc(1))
    assert (refused.refused, refused.held, refused.findings[0].code) == (True, False, "not_json")
