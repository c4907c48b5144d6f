"""Reading a date costs what that date holds, not what history holds, and says only what was known then."""

import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Select, text
from sqlalchemy.exc import StatementError

from app.store import queries
from app.store.migrate import upgrade
from app.store.session import make_engine, reading, writing
from app.store.types import to_seconds
from tests.make import DAY, make_offer, publish_offers, utc


@pytest.mark.parametrize("analyzed", [False, True])
def test_a_date_is_read_through_an_index_without_a_window_or_a_scan_of_prices(
    tmp_path: Path, *, analyzed: bool
) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'plan.db'}")
    upgrade(engine)
    for day in range(1, 20):
        publish_offers(
            engine, [make_offer(sku=f"{i}", list_price=f"{day}") for i in range(50)], observed_at=utc(day)
        )
    if analyzed:
        with writing(engine) as connection:
            connection.execute(text("ANALYZE"))
    plan = _plan(engine, queries._as_of(utc(10)))
    on_prices = [line for line in plan if " price " in f"{line} "]
    assert len(on_prices) == 2
    assert all(line.startswith("SEARCH price USING INDEX ix_price_") for line in on_prices)
    assert all("valid_to" in line for line in on_prices)
    assert not any("WINDOW" in line.upper() or "TEMP B-TREE" in line for line in plan)
    engine.dispose()


def _plan(engine: Engine, query: Select[Any]) -> list[str]:
    """SQLite's plan for a query, one line a step."""
    compiled = query.compile(engine)
    values = [compiled.params[name] for name in compiled.positiontup or ()]
    plain = tuple(to_seconds(value) if isinstance(value, datetime) else value for value in values)
    with reading(engine) as connection:
        return [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", plain)]


def test_50_000_offers_stay_slim(tmp_path: Path) -> None:
    """The whole program with 50,000 offers has 400 MB (architecture.md section 6); a tenth is for these."""
    engine = make_engine(f"sqlite:///{tmp_path / 'slim.db'}")
    upgrade(engine)
    offers = [
        make_offer(
            sku=f"SKU {i}",
            region=f"region-{i % 40}",
            list_price=f"{1 + i % 700}.50",
            assumptions=("As HGX.",),
        )
        for i in range(5_000)
    ]
    publish_offers(engine, offers)
    with reading(engine) as connection:
        tracemalloc.start()
        stored = queries.offers_as_of(connection, DAY)
        size_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert len(stored) == 5_000
    assert size_bytes / len(stored) * 50_000 < 40e6
    assert stored[0].offer.provider is stored[-1].offer.provider
    assert stored[0].offer.assumptions is stored[-1].offer.assumptions
    engine.dispose()


def test_an_empty_database_answers(engine: Engine) -> None:
    with reading(engine) as connection:
        assert queries.offers_as_of(connection, DAY) == []
        assert queries.data_version(connection) == 0
        assert queries.first_day(connection) is None
        assert queries.last_good_runs(connection) == {}
        assert queries.known_names(connection) == ((), ())


def test_when_each_provider_was_read_well(engine: Engine) -> None:
    publish_offers(engine, [make_offer(region="eu")], observed_at=utc(2))
    publish_offers(engine, [make_offer(provider="bolt")], provider="bolt", observed_at=utc(4))
    publish_offers(engine, [make_offer(region="eu")], observed_at=utc(6))
    with reading(engine) as connection:
        assert queries.last_good_runs(connection) == {"acme": utc(6), "bolt": utc(4)}
        assert queries.last_good_runs(connection, utc(5)) == {"acme": utc(2), "bolt": utc(4)}
        assert queries.first_day(connection) == utc(2)
        assert queries.known_names(connection) == (("acme", "bolt"), ("eu",))


def test_a_time_comes_back_in_utc_and_one_without_a_zone_is_refused(engine: Engine) -> None:
    publish_offers(engine, [make_offer()], observed_at=utc(2))
    elsewhere = utc(2).astimezone(tz=None)
    with reading(engine) as connection:
        (stored,) = queries.offers_as_of(connection, elsewhere + timedelta(hours=1))
        assert stored.first_seen_at.tzinfo is UTC
        with pytest.raises(StatementError, match="a time without its zone cannot be stored"):
            queries.offers_as_of(connection, utc(2).replace(tzinfo=None))


def test_a_reader_sees_one_moment_while_a_run_is_published(engine: Engine) -> None:
    publish_offers(engine, [make_offer(list_price="1")], observed_at=utc(1))
    with reading(engine) as connection:
        before = queries.data_version(connection)
        publish_offers(engine, [make_offer(list_price="2")], observed_at=utc(2))
        assert queries.data_version(connection) == before
        (stored,) = queries.offers_as_of(connection, utc(3))
        assert str(stored.offer.list_price) == "1"
    with reading(engine) as connection:
        assert queries.data_version(connection) == before + 1
