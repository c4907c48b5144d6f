"""What a day's changes are, told by hand from the runs of a few days; no history is read for them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import Engine, Select, text
from sqlalchemy.dialects import sqlite

from app.domain.changes import Change, ChangeKind
from app.domain.offers import Offer, PriceBasis
from app.ingest.imports import OBSERVED_AT, import_table
from app.store import changes
from app.store.changes import Wanted, change_days, changes_between, first_offered, midnight, next_change_days
from app.store.migrate import upgrade
from app.store.session import make_engine, reading
from tests.make import make_offer, publish_offers, utc

NOW = utc(30)
Told = tuple[str, str, str | None, str | None]


def priced(price: str, **fields: object) -> Offer:
    return make_offer(list_price=price, **fields)


def on(engine: Engine, day: int, *, wanted: Wanted = changes.ALL) -> list[Change]:
    start = midnight(date(2026, 11, day))
    with reading(engine) as connection:
        return changes_between(connection, start=start, end=start + timedelta(days=1), now=NOW, wanted=wanted)


def told(found: Sequence[Change]) -> list[Told]:
    """Say each change as kind, SKU, old and new printed price."""
    return [
        (
            change.kind.value,
            change.offer.sku,
            None if change.before is None else str(change.before.list_price),
            None if change.after is None else str(change.after.list_price),
        )
        for change in found
    ]


def test_a_first_price_is_a_new_offer_and_an_unchanged_one_is_nothing(engine: Engine) -> None:
    publish_offers(engine, [priced("2.99")], observed_at=utc(2))
    publish_offers(engine, [priced("2.99")], observed_at=utc(3))
    assert told(on(engine, 2)) == [("new", "H100 SXM", None, "2.99")]
    assert on(engine, 3) == []


def test_a_move_has_both_prices_its_percent_and_its_place(engine: Engine) -> None:
    publish_offers(engine, [priced("4.00")], observed_at=utc(2))
    publish_offers(engine, [priced("3.50")], observed_at=utc(5, 9))
    (move,) = on(engine, 5)
    assert told([move]) == [("move", "H100 SXM", "4.00", "3.50")]
    assert move.percent == Decimal("-12.5")
    assert move.at == utc(5, 9)
    assert move.before is not None
    assert move.before.usd_micros_per_gpu_hour == 4_000_000
    assert move.offer.fragment == "NVIDIA H100 SXM $2.99"
    assert (move.shown_on, move.source, move.announced_at) == (date(2026, 11, 5), "acme", None)


def test_an_offer_that_is_no_longer_listed_is_withdrawn_and_stays_so_when_it_is_back(engine: Engine) -> None:
    other = priced("5.00", sku="H200", accelerator="h200-sxm", family="h200")
    publish_offers(engine, [priced("2.99"), other], observed_at=utc(2))
    publish_offers(engine, [other], observed_at=utc(4))
    publish_offers(engine, [other, priced("3.10")], observed_at=utc(6))
    (gone,) = on(engine, 4)
    assert told([gone]) == [("withdrawn", "H100 SXM", "2.99", None)]
    assert gone.shown_on == date(2026, 11, 3)
    assert told(on(engine, 6)) == [("back", "H100 SXM", "2.99", "3.10")]


def test_an_offer_of_one_hour_has_no_day_that_shows_it(engine: Engine) -> None:
    publish_offers(engine, [priced("2.99")], observed_at=utc(2, 8))
    publish_offers(engine, [], observed_at=utc(2, 9))
    assert [(change.kind, change.shown_on) for change in on(engine, 2)] == [
        (ChangeKind.NEW, None),
        (ChangeKind.WITHDRAWN, None),
    ]


def test_an_announced_price_is_told_when_it_is_announced_and_moves_on_its_date(engine: Engine) -> None:
    """Nebius on 2026-09-16 printed what holds and, beside it, what holds from 2026-10-01 (FR-84)."""
    now, later = priced("2.95"), replace(priced("3.50"), valid_from=date(2026, 11, 10))
    for day in (2, 3):
        publish_offers(engine, [now, later], observed_at=utc(day))
    announced = [change for change in on(engine, 2) if change.kind is ChangeKind.ANNOUNCED]
    assert told(announced) == [("announced", "H100 SXM", "2.95", "3.50")]
    assert announced[0].starts_at == midnight(date(2026, 11, 10))
    assert told(on(engine, 2)) == [*told(announced), ("new", "H100 SXM", None, "2.95")]
    assert on(engine, 3) == []
    (move,) = on(engine, 10)
    assert told([move]) == [("move", "H100 SXM", "2.95", "3.50")]
    assert move.announced_at == utc(2)


def test_nothing_has_happened_yet_on_a_day_to_come(engine: Engine) -> None:
    coming = replace(priced("3.50"), valid_from=date(2026, 12, 24))
    publish_offers(engine, [priced("2.95"), coming], observed_at=utc(2))
    with reading(engine) as connection:
        day = midnight(date(2026, 12, 24))
        assert changes_between(connection, start=day, end=day + timedelta(days=1), now=NOW) == []
        assert change_days(connection, until=NOW.date(), limit=9) == [date(2026, 11, 2)]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        # Fireworks' column turned from per hour to per minute: 0.134 a minute is 8.04, the list price 8.00.
        (("8.00", "gpu_hour"), ("0.134", "gpu_minute"), "restated"),
        (("8.00", "gpu_hour"), ("0.14", "gpu_minute"), "move"),
        (("8.00", "gpu_hour"), ("64.00", "instance_hour"), "restated"),
        # Without a change of unit even a thousandth is a move.
        (("8.00", "gpu_hour"), ("8.01", "gpu_hour"), "move"),
    ],
)
def test_another_unit_and_rounding_is_no_move(
    engine: Engine, before: tuple[str, str], after: tuple[str, str], kind: str
) -> None:
    for day, (price, basis) in ((2, before), (3, after)):
        each = priced(price, price_basis=PriceBasis(basis), gpu_count=8)
        publish_offers(engine, [each], observed_at=utc(day))
    assert told(on(engine, 3)) == [(kind, "H100 SXM", before[0], after[0])]


def test_a_price_in_another_currency_or_with_a_from_in_front_is_restated(engine: Engine) -> None:
    publish_offers(engine, [priced("3.00")], observed_at=utc(2))
    publish_offers(engine, [priced("3.00", is_floor=True)], observed_at=utc(3))
    publish_offers(engine, [priced("2.70", currency="EUR")], observed_at=utc(4))
    publish_offers(engine, [priced("2.97", currency="EUR")], observed_at=utc(5))
    assert [change.kind for change in on(engine, 3)] == [ChangeKind.RESTATED]
    (euro,) = on(engine, 4)
    assert (euro.kind, euro.percent) == (ChangeKind.RESTATED, None)
    (move,) = on(engine, 5)
    assert (move.kind, move.percent) == (ChangeKind.MOVE, 10)


def test_a_choice_of_provider_variant_or_family_leaves_the_rest_out(engine: Engine) -> None:
    cards = [("h100-sxm", "h100"), ("h100-pcie", "h100"), ("b200-sxm", "b200"), (None, "h100")]
    for provider in ("acme", "other"):
        offers = [priced("3", provider=provider, sku=str(a), accelerator=a, family=f) for a, f in cards]
        publish_offers(engine, offers, observed_at=utc(2), provider=provider)
    assert len(on(engine, 2)) == 8
    acme = on(engine, 2, wanted=Wanted(providers=("acme",)))
    assert {change.offer.provider for change in acme} == {"acme"}
    variant = on(engine, 2, wanted=Wanted(variants=("h100-sxm",), families=("b200",)))
    assert sorted(change.offer.sku for change in variant) == ["b200-sxm", "b200-sxm", "h100-sxm", "h100-sxm"]
    family = on(engine, 2, wanted=Wanted(providers=("other",), families=("h100",)))
    assert [change.offer.sku for change in family] == ["h100-pcie", "h100-sxm", "None"]


def test_the_days_with_changes_are_found_both_ways(engine: Engine) -> None:
    coming = replace(priced("9"), valid_from=date(2026, 11, 20))
    publish_offers(engine, [priced("3"), coming], observed_at=utc(2))
    publish_offers(engine, [priced("4", provider="other")], observed_at=utc(7), provider="other")
    publish_offers(engine, [priced("5"), coming], observed_at=utc(9))
    days = {number: date(2026, 11, number) for number in (2, 7, 9, 20)}
    with reading(engine) as connection:
        latest = change_days(connection, until=NOW.date(), limit=3)
        before = change_days(connection, until=date(2026, 11, 8), limit=3)
        acme = change_days(connection, until=NOW.date(), limit=9, providers=("acme",))
        nobody = change_days(connection, until=NOW.date(), limit=9, providers=("nobody",))
        after = next_change_days(connection, after=days[2], until=NOW.date(), limit=2)
    assert latest == [days[20], days[9], days[7]]
    assert before == [days[7], days[2]]
    assert acme == [days[20], days[9], days[2]]
    assert nobody == []
    assert after == [days[9], days[7]]


def test_an_accelerator_is_first_offered_once(engine: Engine) -> None:
    publish_offers(engine, [priced("3")], observed_at=utc(2))
    publish_offers(engine, [priced("3", provider="other")], observed_at=utc(3), provider="other")
    with reading(engine) as connection:
        found = first_offered(connection, ["h100-sxm", "b200-sxm"])
    assert found == {"h100-sxm": utc(2)}


def test_the_bundled_import_is_twenty_four_new_offers(engine: Engine, tmp_path: Path) -> None:
    import_table(engine, tmp_path, now=NOW)
    with reading(engine) as connection:
        found = changes_between(connection, start=OBSERVED_AT, end=OBSERVED_AT + timedelta(days=1), now=NOW)
        days = change_days(connection, until=NOW.date(), limit=9)
    assert [change.kind for change in found] == [ChangeKind.NEW] * 24
    assert days == [date(2026, 10, 30)]


def plan(engine: Engine, query: Select[object]) -> list[str]:
    """Return what SQLite says it would do for a query, one step a line."""
    sql = str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    with reading(engine) as connection:
        return [row[3] for row in connection.execute(text(f"EXPLAIN QUERY PLAN {sql}"))]


@pytest.mark.parametrize(
    "wanted", [changes.ALL, Wanted(providers=("acme",), variants=("h100-sxm",), families=("h100",))]
)
def test_a_day_is_found_by_index_and_no_history_is_read(sqlite_database_url: str, wanted: Wanted) -> None:
    """Each step is a search, by the time of the day first; what an offer was before is looked up by offer."""
    engine = make_engine(sqlite_database_url)
    upgrade(engine)
    start, end = utc(2), utc(3)
    expected = {
        "begun": (
            changes.begun_query,
            "SEARCH price USING INDEX ix_price_valid_from (valid_from>? AND valid_from<?)",
        ),
        "ended": (
            changes.ended_query,
            "SEARCH price USING INDEX ix_price_valid_to_valid_from (valid_to>? AND valid_to<?)",
        ),
        "announced": (
            changes.announced_query,
            "SEARCH price USING INDEX ix_price_announced_observed_at (observed_at>? AND observed_at<?)",
        ),
    }
    for name, (make, first) in expected.items():
        steps = plan(engine, make(start, end, wanted=wanted))
        assert steps[0] == first, name
        assert [step for step in steps if step.startswith("SCAN")] == [], name
        looked_up = [step for step in steps if "ix_price_offer_id_valid_to" in step]
        assert looked_up, name
        assert all("(offer_id=?" in step for step in looked_up)
    (days,) = {tuple(plan(engine, changes.latest_query(end)))}
    assert [step for step in days if step.startswith(("SCAN", "SEARCH")) and "INDEX" not in step] == [
        "SCAN CONSTANT ROW"
    ]
    engine.dispose()
