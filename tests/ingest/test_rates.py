"""Other currencies are kept as printed and turned into dollars on read; the rate's moves are no price's."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.domain.accelerators import load_catalogue
from app.domain.board import Board, build_board
from app.domain.metrics import METRICS
from app.domain.offers import PriceBasis
from app.domain.query import OfferQuery
from app.domain.rates import Rate
from app.ingest import rates
from app.ingest.fetch import Fetcher, fetching
from app.ingest.snapshots import seal_past_days, verify
from app.settings import Settings
from app.store import runs
from app.store.queries import data_version, offer_history, offers_as_of
from app.store.rates import keep_rates, rates_at
from app.store.records import Outcome
from app.store.session import reading, writing
from scrapers.base import Request
from tests.ingest.server import Host, Reply, page, serving, status
from tests.ingest.test_fetch import LIMITS
from tests.make import make_offer, publish_offers, utc
from tests.scrapers.test_ecb import rates_xml

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
EURO = {"sku": "euro", "currency": "EUR"}


def keep(engine: Engine, *rates_of_days: tuple[str, str, str]) -> int:
    """Store rates given as day, currency and dollars for one unit."""
    given = [
        Rate(
            day=date.fromisoformat(day),
            currency=currency,
            usd_per_unit=Decimal(usd),
            source_url="https://bank.example/rates.xml",
        )
        for day, currency, usd in rates_of_days
    ]
    with writing(engine) as connection:
        return keep_rates(connection, given, capture_sha256="1" * 64)


def board(engine: Engine, at: datetime) -> Board:
    with reading(engine) as connection:
        return build_board(offers_as_of(connection, at), load_catalogue(), instant=at)


def figure(engine: Engine, at: datetime, key: str = "usd_per_gpu_hour") -> Decimal | None:
    """Return a figure of the one row in another currency."""
    made = board(engine, at)
    (row,) = [row for row in made.rows if row.offer.currency != "USD"]
    return METRICS[key].value(row, made.view(OfferQuery()))


def test_a_price_in_euros_is_worked_out_with_the_latest_rate_not_after_the_day(engine: Engine) -> None:
    """By hand: 8 GPUs at 20.00 euros an hour are 2.50 each; at 1.10 dollars that is 2.75, and 22 in all."""
    whole = {"list_price": "20.00", "gpu_count": 8, "price_basis": PriceBasis.INSTANCE_HOUR}
    publish_offers(engine, [make_offer(**EURO, **whole)], observed_at=utc(1))
    keep(engine, ("2026-10-30", "EUR", "1.10"), ("2026-11-03", "EUR", "1.20"), ("2026-11-03", "GBP", "1.30"))
    assert figure(engine, utc(2)) == Decimal("2.75")
    assert figure(engine, utc(2), "usd_per_instance_hour") == Decimal(22)
    assert figure(engine, utc(2), "usd_per_tbs_hour") == Decimal("2.75") / Decimal("3.35")
    assert figure(engine, utc(3)) == Decimal(3)
    (row,) = board(engine, utc(3)).rows
    assert row.flags == ("converted",)
    assert row.stored.rate is not None
    assert (row.stored.rate.day, row.offer.currency, row.offer.list_price) == (
        date(2026, 11, 3),
        "EUR",
        Decimal("20.00"),
    )


def test_without_a_rate_or_with_one_that_is_too_old_there_is_no_dollar_figure(engine: Engine) -> None:
    publish_offers(engine, [make_offer(**EURO)], observed_at=utc(1))
    assert figure(engine, utc(2)) is None
    keep(engine, ("2026-11-03", "EUR", "1.20"), ("2026-11-03", "GBP", "1.30"))
    assert figure(engine, utc(2)) is None
    assert figure(engine, utc(13)) == Decimal("2.99") * Decimal("1.2")
    assert figure(engine, utc(14)) is None


def test_converted_prices_rank_among_the_others(engine: Engine) -> None:
    offers = [make_offer(list_price="3.20"), make_offer(**EURO), make_offer(sku="cheap", list_price="3.00")]
    publish_offers(engine, offers, observed_at=utc(1))
    keep(engine, ("2026-11-01", "EUR", "1.05"))
    made = board(engine, utc(2))
    selection = made.select(OfferQuery(sort="usd_per_gpu_hour"), everything=True)
    assert [made.rows[number].offer.sku for number in selection.rows] == ["cheap", "euro", "H100 SXM"]


def test_a_move_of_the_rate_alone_is_no_price_change_and_changes_no_sealed_day(engine: Engine) -> None:
    for day in range(1, 11):
        result = publish_offers(engine, [make_offer(**EURO)], observed_at=utc(day))
        seal_past_days(engine, now=utc(day))
        keep(engine, (f"2026-11-{day:02}", "EUR", f"1.1{day - 1}"))
        assert result.changed == 0
    with reading(engine) as connection:
        assert len(offer_history(connection, 1)) == 1
    assert len(verify(engine)) == 9
    assert all(each.is_same for each in verify(engine))
    assert figure(engine, utc(1)) != figure(engine, utc(10))


def test_rates_are_written_once_and_make_a_new_board(engine: Engine) -> None:
    with reading(engine) as connection:
        before = data_version(connection)
    assert keep(engine, ("2026-11-02", "EUR", "1.10"), ("2026-11-02", "GBP", "1.25")) == 2
    assert keep(engine, ("2026-11-02", "EUR", "9.99")) == 0
    with reading(engine) as connection:
        assert data_version(connection) == before + 1
        assert rates_at(connection, date(2026, 11, 2))["EUR"].usd_per_unit == Decimal("1.10")


# The source: fetched by the rules of all others, from a server on this machine in the bank's place.


@pytest.fixture
def host() -> Iterator[Host]:
    with serving() as made:
        yield made


@pytest.fixture
def bank(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """The bank's two files on a host of ours."""
    monkeypatch.setattr(rates, "HOSTS", ("127.0.0.1",))
    monkeypatch.setattr(rates, "DAILY", Request(url=f"{host.url}/daily.xml"))
    monkeypatch.setattr(rates, "LAST_90_DAYS", Request(url=f"{host.url}/90d.xml"))
    monday = {"2026-11-02": {"USD": "1.16", "GBP": "0.80"}}
    host.answer("/daily.xml", page(rates_xml(monday)))
    host.answer("/90d.xml", page(rates_xml({**monday, "2026-10-30": {"USD": "1.15"}})))
    return host


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with fetching(replace(LIMITS, attempts=2), lambda: NOW) as made:
        yield made


def refresh(
    engine: Engine, tmp_path: Path, *, fetcher: Fetcher, slot: str = "2026-11-02", now: datetime = NOW
) -> rates.RunOutcome:
    return rates.refresh(engine, Settings(home=tmp_path), slot=slot, clock=lambda: now, fetcher=fetcher)


def test_nothing_is_asked_while_every_price_is_in_dollars(
    engine: Engine, tmp_path: Path, bank: Host, fetcher: Fetcher
) -> None:
    publish_offers(engine, [make_offer()], observed_at=utc(1))
    assert refresh(engine, tmp_path, fetcher=fetcher).outcome is None
    assert bank.seen == []


def test_the_file_of_90_days_is_read_first_and_then_the_day_s(
    engine: Engine, tmp_path: Path, bank: Host, fetcher: Fetcher
) -> None:
    publish_offers(engine, [make_offer(**EURO)], observed_at=utc(1))
    first = refresh(engine, tmp_path, fetcher=fetcher)
    assert (first.outcome, first.sentence) == (
        Outcome.PUBLISHED,
        "3 new exchange rates; the latest are of 2026-11-02.",
    )
    assert figure(engine, utc(2)) == Decimal("2.99") * Decimal("1.16")
    assert "already been read" in refresh(engine, tmp_path, fetcher=fetcher).sentence
    again = refresh(engine, tmp_path, fetcher=fetcher, slot="2026-11-03", now=NOW + timedelta(days=1))
    assert again.outcome is Outcome.UNCHANGED
    paths = ["/robots.txt", "/90d.xml", "/daily.xml"]
    assert [path for _, path in bank.seen] == paths
    with reading(engine) as connection:
        run = runs.run_of_slot(connection, source="ecb", slot="2026-11-02")
        assert run is not None
        (capture,) = runs.captures_of(connection, run.run_id)
    assert capture.url.endswith("/90d.xml")


@pytest.mark.parametrize(
    ("reply", "outcome", "code"),
    [
        (page(b"<html>Sorry</html>"), Outcome.REFUSED, "not_rates"),
        (status(404), Outcome.FAILED, "refused_by_host"),
        (status(503), Outcome.FAILED, "host_busy"),
    ],
)
def test_a_fault_of_the_bank_s_keeps_the_last_rates(
    engine: Engine, tmp_path: Path, bank: Host, fetcher: Fetcher, reply: Reply, outcome: Outcome, code: str
) -> None:
    publish_offers(engine, [make_offer(**EURO)], observed_at=utc(1))
    keep(engine, ("2026-11-01", "EUR", "1.10"))
    bank.answer("/daily.xml", reply)
    ended = refresh(engine, tmp_path, fetcher=fetcher)
    assert (ended.outcome, [finding.code for finding in ended.findings]) == (outcome, [code])
    assert "the last ones stay in use" in ended.sentence
    assert figure(engine, utc(2)) == Decimal("2.99") * Decimal("1.10")
