"""A past day hashes to the same value for ever, whatever happens later, and an edit by hand shows."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import Engine, text

from app.domain.offers import Offer
from app.ingest.snapshots import seal_past_days, verify
from app.store.queries import offers_as_of
from app.store.session import reading, writing
from tests.make import make_offer, publish_offers

FIRST = datetime(2026, 10, 1, 12, tzinfo=UTC)
DAYS = 30
H200 = {"sku": "H200", "accelerator": "h200-sxm", "family": "h200", "accelerator_as_written": "H200"}


def market(number: int) -> list[Offer]:
    """Return a day's offers: a price that moves, one that comes and goes, a floor, another currency."""
    offers = [
        make_offer(list_price=f"{2 + number // 4}.50", memory_gb_as_written=Decimal(80)),
        make_offer(**H200, list_price="4.00", is_floor=True),
        make_offer(sku="EUR", list_price="3.10", currency="EUR"),
        make_offer(sku="soon", list_price="5.00"),
        make_offer(sku="soon", list_price="6.00", valid_from=date(2026, 10, 25)),
    ]
    return [each for each in offers if number % 7 != 3 or each.sku != "H200"]


def lived(engine: Engine, days: int = DAYS) -> None:
    """Publish and seal day by day, as a scheduler does."""
    for number in range(days):
        now = FIRST + timedelta(days=number)
        publish_offers(engine, market(number), observed_at=now)
        seal_past_days(engine, now=now + timedelta(hours=12, minutes=15))


def differing(engine: Engine) -> list[date]:
    return [each.snapshot.day for each in verify(engine) if not each.is_same]


def test_thirty_days_are_sealed_each_once(engine: Engine) -> None:
    lived(engine)
    checked = verify(engine)
    assert [each.snapshot.day for each in checked] == [date(2026, 10, 1) + timedelta(n) for n in range(DAYS)]
    assert [each.snapshot.offers_count for each in checked][:5] == [4, 4, 4, 3, 4]
    assert len({each.snapshot.sha256 for each in checked}) > 7
    assert differing(engine) == []
    assert seal_past_days(engine, now=FIRST + timedelta(days=29, hours=12, minutes=20)) == ()


def test_the_hash_is_what_anybody_works_out_from_the_facts(engine: Engine) -> None:
    """Worked out here by the rule of the module: one line of JSON per offer, sorted, below a head."""
    publish_offers(engine, [make_offer(list_price="2.990"), make_offer(**H200, list_price="4")])
    (made,) = seal_past_days(engine, now=datetime(2026, 11, 2, 0, 10, tzinfo=UTC))
    since = int(datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp())
    lines = [
        '{"day":"2026-11-01","methodology_version":"1"}',
        json.dumps(
            [
                "acme|H100 SXM|h100-sxm|1|1|instance|on_demand||||",
                "2.990",
                "USD",
                "gpu_hour",
                2990000,
                False,
                since,
            ],
            separators=(",", ":"),
        ),
        json.dumps(
            ["acme|H200|h200-sxm|1|1|instance|on_demand||||", "4", "USD", "gpu_hour", 4000000, False, since],
            separators=(",", ":"),
        ),
    ]
    expected = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert (made.sha256, made.offers_count) == (expected, 2)


def test_a_day_is_sealed_when_its_last_runs_have_ended(engine: Engine) -> None:
    publish_offers(engine, market(0), observed_at=FIRST)
    assert seal_past_days(engine, now=datetime(2026, 10, 2, 0, 9, 59, tzinfo=UTC)) == ()
    assert len(seal_past_days(engine, now=datetime(2026, 10, 2, 0, 10, tzinfo=UTC))) == 1


def test_any_number_of_processes_seal_a_day_once(engine: Engine) -> None:
    publish_offers(engine, market(0), observed_at=FIRST)
    now = FIRST + timedelta(days=5)
    with ThreadPoolExecutor(max_workers=4) as pool:
        made = list(pool.map(lambda _: seal_past_days(engine, now=now), range(8)))
    assert sum(len(each) for each in made) == 5
    assert differing(engine) == []


def test_nothing_is_sealed_before_the_first_price(engine: Engine) -> None:
    assert seal_past_days(engine, now=FIRST) == ()
    assert verify(engine) == ()


def test_corrected_facts_re_parses_withdrawals_and_late_runs_leave_sealed_days_as_they_were(
    engine: Engine,
) -> None:
    lived(engine)
    last = FIRST + timedelta(days=DAYS - 1)
    # Other words for the same things: what a corrected alias or a new layout brings.
    corrected = [
        replace(each, family="hopper", variant_assumed=True, assumptions=("It says so.",))
        for each in market(29)
    ]
    publish_offers(engine, corrected, observed_at=last, source="corrected")
    # The last capture read again, at the time it was fetched: other prices, one offer more, one less.
    reread = [make_offer(list_price="9.99"), make_offer(sku="overlooked", list_price="1.00")]
    seal_past_days(engine, now=last + timedelta(days=1))
    publish_offers(engine, reread, observed_at=last, source="reread")
    assert differing(engine) == []
    # Everything withdrawn, a day later.
    publish_offers(engine, [], observed_at=last + timedelta(days=2))
    seal_past_days(engine, now=last + timedelta(days=3))
    assert differing(engine) == []


def test_a_run_that_is_published_late_holds_from_the_first_day_that_is_not_sealed(engine: Engine) -> None:
    lived(engine, days=5)
    seal_past_days(engine, now=datetime(2026, 10, 9, 6, tzinfo=UTC))
    publish_offers(engine, [make_offer(list_price="7.00")], observed_at=datetime(2026, 10, 6, 9, tzinfo=UTC))
    assert differing(engine) == []
    with reading(engine) as connection:
        before = offers_as_of(connection, datetime(2026, 10, 8, 23, 59, 59, tzinfo=UTC))
        (after,) = offers_as_of(connection, datetime(2026, 10, 9, tzinfo=UTC))
    assert len(before) == 4
    assert (after.offer.list_price, after.last_seen_at) == (
        Decimal("7.00"),
        datetime(2026, 10, 6, 9, tzinfo=UTC),
    )


def test_history_of_a_provider_that_is_new_may_be_carried_in_behind_the_seals(engine: Engine) -> None:
    lived(engine, days=5)
    for number in range(3):
        elsewhere = [make_offer(provider="bolt", list_price=f"{number + 1}.00")]
        day = FIRST + timedelta(days=number)
        publish_offers(engine, elsewhere, observed_at=day, provider="bolt")
    with reading(engine) as connection:
        bolt = offers_as_of(connection, FIRST + timedelta(days=1, hours=1), provider="bolt")
    assert [each.offer.list_price for each in bolt] == [Decimal("2.00")]
    assert differing(engine) == []


EDITS: dict[str, tuple[str, Callable[[list[date]], bool]]] = {
    "a price": (
        "UPDATE price SET list_price = '0.01' WHERE id = 1",
        lambda days: days[0] == date(2026, 10, 1),
    ),
    "its digits": (
        "UPDATE price SET list_price = '2.5' WHERE id = 1",
        lambda days: days[0] == date(2026, 10, 1),
    ),
    "its normalised form": (
        "UPDATE price SET usd_micros_per_gpu_hour = 1 WHERE id = 1",
        lambda days: days == [date(2026, 10, day) for day in (1, 2, 3, 4)],
    ),
    "a currency": (
        "UPDATE price SET currency = 'GBP' WHERE currency = 'EUR'",
        lambda days: len(days) == DAYS,
    ),
    "a basis": (
        "UPDATE price SET price_basis = 'gpu_month' WHERE currency = 'EUR'",
        lambda days: len(days) == DAYS,
    ),
    "when it ended": (
        "UPDATE price SET valid_to = valid_to - 86400 WHERE id = 1",
        lambda days: days == [date(2026, 10, 4)],
    ),
    "when it began": (
        "UPDATE price SET valid_from = valid_from - 60 WHERE id = 1",
        lambda days: len(days) == 4,
    ),
    "what it is of": ("UPDATE offer SET key = 'acme|B200' WHERE id = 1", lambda days: len(days) == DAYS),
    "a price that is gone": ("DELETE FROM price WHERE id = 1", lambda days: len(days) == 4),
    "a hash": (
        "UPDATE snapshot SET sha256 = 'x' WHERE day = '2026-10-09'",
        lambda days: days == [date(2026, 10, 9)],
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_a_row_edited_by_hand_is_caught_on_the_days_it_stood_on(engine: Engine, what: str) -> None:
    lived(engine)
    statement, are_right = EDITS[what]
    with writing(engine) as connection:
        assert connection.execute(text(statement)).rowcount >= 1
    assert are_right(differing(engine)), differing(engine)
