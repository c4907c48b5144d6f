"""The bundled table fills an empty database once, and takes nothing from a provider that was read since."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from sqlalchemy import Engine

from app.ingest.archive import read_body
from app.ingest.imports import import_table, import_when_empty
from app.store.queries import data_version, last_good_runs, offers_as_of
from app.store.records import Outcome
from app.store.session import reading
from tests.make import make_offer, publish_offers, utc

TABLE_DAY = datetime(2026, 10, 30, tzinfo=UTC)
# RunPod 4, Together 5, the other six providers 3 each (the article "Priced per TB/s").
COUNTS = {"runpod": 4, "coreweave": 3, "nebius": 3, "modal": 3, "together": 5, "deepinfra": 3, "fireworks": 3}


def test_an_empty_database_is_filled_as_of_the_table_s_day(engine: Engine, tmp_path: Path) -> None:
    outcomes = import_when_empty(engine, tmp_path, now=utc(29))
    assert {each.provider: each.result.new for each in outcomes if each.result} == COUNTS
    assert {each.outcome for each in outcomes} == {Outcome.PUBLISHED}
    with reading(engine) as connection:
        stored = offers_as_of(connection, TABLE_DAY)
        assert last_good_runs(connection) == dict.fromkeys(COUNTS, TABLE_DAY)
    prices = {
        (each.offer.provider, each.offer.accelerator, each.offer.pricing_model.value): each.offer.list_price
        for each in stored
    }
    assert len(stored) == sum(COUNTS.values()) == 24
    assert prices["coreweave", "h100-sxm", "on_demand"] == Decimal("6.16")
    assert prices["together", "h200-sxm", "reserved"] == Decimal("3.99")
    (sha256,) = {each.capture_sha256 for each in stored}
    assert read_body(tmp_path / "archive", sha256).startswith(b"provider,sku,")


def test_a_second_import_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    import_table(engine, tmp_path, now=utc(29))
    with reading(engine) as connection:
        before = data_version(connection)
    again = import_table(engine, tmp_path, now=utc(30))
    assert {each.outcome for each in again} == {None}
    assert again[0].sentence == "runpod has already been read for the table of 2026-10-30."
    assert import_when_empty(engine, tmp_path, now=utc(30)) == ()
    with reading(engine) as connection:
        assert data_version(connection) == before


def test_a_provider_read_since_keeps_what_it_has(engine: Engine, tmp_path: Path) -> None:
    newer = make_offer(provider="nebius", sku="H100", list_price="4.20")
    publish_offers(engine, [newer], provider="nebius", observed_at=utc(20))
    assert import_when_empty(engine, tmp_path, now=utc(29)) == ()
    outcomes = {each.provider: each for each in import_table(engine, tmp_path, now=utc(29))}
    assert outcomes["nebius"].outcome is Outcome.REFUSED
    assert "before its last good run at 2026-11-20" in outcomes["nebius"].sentence
    assert outcomes["runpod"].outcome is Outcome.PUBLISHED
    with reading(engine) as connection:
        stored = offers_as_of(connection, utc(29))
    assert [each.offer for each in stored if each.offer.provider == "nebius"] == [newer]
    assert len(stored) == 22
