"""What is published is what a date shows: changes only, announcements on their day, nothing turned back."""

import contextlib
from datetime import date, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import IntegrityError

from app.domain.listing import StoredOffer
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.store.queries import data_version, offer_history, offers_as_of
from app.store.session import reading
from app.store.tables import offer, price
from app.store.write import DuplicateOfferError, OlderRunError, PublishError, PublishResult
from tests.make import CAPTURE_SHA256, make_offer, publish_offers, utc

Shown = list[tuple[str, str]]


def board(engine: Engine, day: int, hour: int = 12) -> list[StoredOffer]:
    with reading(engine) as connection:
        return offers_as_of(connection, utc(day, hour))


def shown(engine: Engine, day: int, hour: int = 12) -> Shown:
    """What a date shows: each offer's SKU and printed price."""
    return sorted((each.offer.sku, str(each.offer.list_price)) for each in board(engine, day, hour))


def count_prices(engine: Engine) -> int:
    with reading(engine) as connection:
        return connection.execute(select(func.count()).select_from(price)).scalar_one()


def h100(list_price: str, **fields: object) -> Offer:
    return make_offer(sku="H100", list_price=list_price, **fields)


def h200(list_price: str, **fields: object) -> Offer:
    return make_offer(sku="H200", accelerator="h200-sxm", family="h200", list_price=list_price, **fields)


def test_an_offer_comes_back_as_it_was_read(engine: Engine) -> None:
    read = make_offer(
        sku="8x | H100 \\ SXM",
        accelerator=None,
        slice_of="h100-sxm",
        variant_assumed=True,
        gpu_count=8,
        min_gpus=2,
        list_price="23.920",
        price_basis=PriceBasis.INSTANCE_HOUR,
        pricing_model=PricingModel.RESERVED,
        service_kind=ServiceKind.DEDICATED_DEPLOYMENT,
        provider_term="Reserved 3-6 months",
        tier="secure",
        term_days_min=91,
        term_days_max=180,
        region="eu-north1",
        memory_gb_as_written=Decimal(80),
        is_floor=True,
        assumptions=("The page says HGX, which comes with SXM only.", "Größe wie gedruckt"),
    )
    publish_offers(engine, [read], observed_at=utc(1))
    (stored,) = board(engine, 1)
    assert stored.offer == read
    assert str(stored.offer.list_price) == "23.920"
    assert stored.usd_micros_per_gpu_hour == 2_990_000
    assert (
        stored.price_valid_from == stored.first_seen_at == stored.last_seen_at == stored.observed_at == utc(1)
    )
    assert stored.capture_sha256 == CAPTURE_SHA256
    assert stored.next_price is None
    assert not stored.announced_since_page


def test_a_price_in_another_currency_has_no_dollars(engine: Engine) -> None:
    publish_offers(engine, [h100("250", currency="INR")], observed_at=utc(1))
    (stored,) = board(engine, 1)
    assert stored.offer.currency == "INR"
    assert stored.usd_micros_per_gpu_hour is None


def test_before_the_first_run_there_is_nothing(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99")], observed_at=utc(5))
    assert shown(engine, 4) == []
    assert shown(engine, 5, hour=11) == []
    assert shown(engine, 5) == [("H100", "2.99")]


def test_only_a_change_is_stored(engine: Engine) -> None:
    for day in (1, 2, 3):
        publish_offers(engine, [h100("2.99"), h200("3.79")], observed_at=utc(day))
    assert count_prices(engine) == 2
    result = publish_offers(engine, [h100("2.49"), h200("3.79")], observed_at=utc(4))
    assert result == PublishResult(new=0, changed=1, closed=0, unchanged=1)
    assert count_prices(engine) == 3
    assert shown(engine, 3) == [("H100", "2.99"), ("H200", "3.79")]
    assert shown(engine, 4) == [("H100", "2.49"), ("H200", "3.79")]
    assert shown(engine, 4, hour=11) == [("H100", "2.99"), ("H200", "3.79")]


def test_the_same_bytes_again_move_only_the_time_last_seen(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99")], observed_at=utc(1))
    result = publish_offers(engine, [h100("2.99")], observed_at=utc(2))
    assert result == PublishResult(new=0, changed=0, closed=0, unchanged=1)
    (stored,) = board(engine, 2)
    assert (stored.price_valid_from, stored.last_seen_at, stored.observed_at) == (utc(1), utc(2), utc(1))


def test_a_past_instant_knows_nothing_of_later_runs(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99")], observed_at=utc(1))
    publish_offers(engine, [h100("2.99")], observed_at=utc(9))
    (stored,) = board(engine, 5)
    assert stored.last_seen_at == utc(1)


def test_another_way_to_print_the_same_price_is_no_change(engine: Engine) -> None:
    publish_offers(engine, [h100("2.5")], observed_at=utc(1))
    assert publish_offers(engine, [h100("2.50")], observed_at=utc(2)).unchanged == 1
    assert publish_offers(engine, [h100("2.50", is_floor=True)], observed_at=utc(3)).changed == 1


def test_an_offer_no_longer_listed_is_closed_and_one_that_comes_back_opens_anew(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99"), h200("3.79")], observed_at=utc(1))
    gone = publish_offers(engine, [h100("2.99")], observed_at=utc(2))
    assert gone == PublishResult(new=0, changed=0, closed=1, unchanged=1)
    publish_offers(engine, [h100("2.99")], observed_at=utc(3))
    back = publish_offers(engine, [h100("2.99"), h200("3.79")], observed_at=utc(4))
    assert back == PublishResult(new=1, changed=0, closed=0, unchanged=1)
    assert [len(shown(engine, day)) for day in (1, 2, 3, 4)] == [2, 1, 1, 2]
    with reading(engine) as connection:
        (h200_id,) = connection.execute(select(offer.c.id).where(offer.c.sku == "H200")).scalars()
        steps = offer_history(connection, h200_id)
    assert [(step.valid_from, step.valid_to) for step in steps] == [(utc(1), utc(2)), (utc(4), None)]


def test_an_empty_set_closes_everything(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99"), h200("3.79")], observed_at=utc(1))
    assert publish_offers(engine, [], observed_at=utc(2)).closed == 2
    assert shown(engine, 2) == []


def test_providers_do_not_touch_each_other(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99")], observed_at=utc(1))
    publish_offers(engine, [h200("3.79", provider="bolt")], provider="bolt", observed_at=utc(1))
    publish_offers(engine, [], observed_at=utc(2))
    assert shown(engine, 2) == [("H200", "3.79")]


def test_words_beside_the_price_are_kept_up_to_date(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99", provider_term="On demand")], observed_at=utc(1))
    changed = h100("2.99", provider_term="Flexible", memory_gb_as_written=Decimal(80), assumptions=("SXM",))
    assert publish_offers(engine, [changed], observed_at=utc(2)).unchanged == 1
    (stored,) = board(engine, 2)
    assert stored.offer == changed


# Announced prices: Nebius printed a column "from 16 November" beside the current one (providers.md, fault 4).


def nebius_page(*, old: str = "7.85", new: str = "9.50", from_day: int = 16) -> list[Offer]:
    return [h100(old), h100(new, valid_from=date(2026, 11, from_day))]


def test_an_announced_price_waits_for_its_day(engine: Engine) -> None:
    publish_offers(engine, nebius_page(), observed_at=utc(10))
    assert shown(engine, 15) == [("H100", "7.85")]
    assert shown(engine, 16, hour=0) == [("H100", "9.50")]
    (today,) = board(engine, 15)
    assert today.next_price is not None
    assert (today.next_price.list_price, today.next_price.valid_from) == (Decimal("9.50"), utc(16, 0))
    assert today.next_price.usd_micros_per_gpu_hour == 9_500_000
    (then,) = board(engine, 16)
    assert then.price_valid_from == utc(16, 0)
    assert then.announced_since_page
    assert then.next_price is None


def test_the_old_column_left_on_the_page_does_not_come_back(engine: Engine) -> None:
    publish_offers(engine, nebius_page(), observed_at=utc(10))
    assert publish_offers(engine, nebius_page(), observed_at=utc(20)).unchanged == 1
    assert shown(engine, 20) == [("H100", "9.50")]
    (before,), (after,) = board(engine, 19), board(engine, 20)
    assert before.announced_since_page
    assert not after.announced_since_page
    assert count_prices(engine) == 2


def test_an_announced_price_seen_later_without_its_date_is_the_same_price(engine: Engine) -> None:
    publish_offers(engine, nebius_page(), observed_at=utc(10))
    assert publish_offers(engine, [h100("9.50")], observed_at=utc(17)).unchanged == 1
    (stored,) = board(engine, 17)
    assert (stored.price_valid_from, stored.announced_since_page) == (utc(16, 0), False)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(nebius_page(new="8.50"), {15: "7.85", 16: "8.50"}, id="another price"),
        pytest.param(nebius_page(from_day=20), {16: "7.85", 19: "7.85", 20: "9.50"}, id="another day"),
        pytest.param([h100("7.85")], {16: "7.85", 20: "7.85"}, id="taken back"),
        pytest.param(
            [h100("7.00"), *nebius_page()[1:]], {12: "7.00", 16: "9.50"}, id="the current one moved"
        ),
        pytest.param(
            [*nebius_page(), h100("9.00", valid_from=date(2026, 11, 25))], {16: "9.50", 25: "9.00"}, id="two"
        ),
    ],
)
def test_a_later_run_may_announce_something_else(
    engine: Engine, page: list[Offer], expected: dict[int, str]
) -> None:
    publish_offers(engine, nebius_page(), observed_at=utc(10))
    publish_offers(engine, page, observed_at=utc(12))
    assert {day: shown(engine, day) for day in expected} == {
        day: [("H100", cost)] for day, cost in expected.items()
    }
    assert shown(engine, 11) == [("H100", "7.85")]


def test_only_an_announced_price_shows_nothing_until_its_day(engine: Engine) -> None:
    publish_offers(engine, nebius_page()[1:], observed_at=utc(10))
    assert shown(engine, 15) == []
    assert shown(engine, 16) == [("H100", "9.50")]


def test_an_announced_price_of_a_closed_offer_is_forgotten(engine: Engine) -> None:
    publish_offers(engine, nebius_page(), observed_at=utc(10))
    publish_offers(engine, [], observed_at=utc(12))
    assert [shown(engine, day) for day in (11, 12, 16)] == [[("H100", "7.85")], [], []]


def test_a_price_dated_in_the_past_starts_when_it_is_read_so_that_past_days_stay(engine: Engine) -> None:
    publish_offers(engine, [h100("7.85")], observed_at=utc(10))
    publish_offers(engine, nebius_page(), observed_at=utc(20))
    assert shown(engine, 18) == [("H100", "7.85")]
    assert shown(engine, 20) == [("H100", "9.50")]


def test_a_past_day_does_not_know_a_later_announcement(engine: Engine) -> None:
    publish_offers(engine, [h100("7.85")], observed_at=utc(8))
    publish_offers(engine, nebius_page(), observed_at=utc(10))
    (before,) = board(engine, 9)
    assert before.next_price is None


def test_an_offer_that_is_not_there_has_no_history(engine: Engine) -> None:
    with reading(engine) as connection:
        assert offer_history(connection, 999) == []


# What is refused.


def test_a_run_read_before_the_last_good_one_is_refused(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99")], observed_at=utc(10))
    with pytest.raises(
        OlderRunError, match="acme was read at 2026-11-09 12:00 UTC, before its last good run"
    ):
        publish_offers(engine, [h100("1.00")], observed_at=utc(9))
    assert shown(engine, 10) == [("H100", "2.99")]


def test_a_run_before_the_one_that_closed_everything_is_refused(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99")], observed_at=utc(8))
    publish_offers(engine, [], observed_at=utc(10))
    with pytest.raises(OlderRunError):
        publish_offers(engine, [h100("1.00")], observed_at=utc(9))


@pytest.mark.parametrize("start", [None, date(2026, 11, 16)])
def test_one_thing_twice_from_one_date_is_refused(engine: Engine, start: date | None) -> None:
    with pytest.raises(DuplicateOfferError, match="is offered twice from"):
        publish_offers(engine, [h100("2.99", valid_from=start), h100("2.49", valid_from=start)])
    assert shown(engine, 20) == []


def test_an_offer_of_another_provider_is_refused(engine: Engine) -> None:
    with pytest.raises(PublishError, match="An offer of bolt came with a run of acme"):
        publish_offers(engine, [h100("2.99", provider="bolt")])


def test_a_free_gpu_is_refused_by_the_database_itself(engine: Engine) -> None:
    with pytest.raises(IntegrityError):
        publish_offers(engine, [h100("0")])
    assert shown(engine, 2) == []


def test_a_refused_run_leaves_no_trace_and_each_publish_counts_the_version_up(engine: Engine) -> None:
    versions = []
    for day, list_price in ((1, "2.99"), (2, "2.99"), (3, "0")):
        with contextlib.suppress(IntegrityError):
            publish_offers(engine, [h100(list_price)], observed_at=utc(day))
        with reading(engine) as connection:
            versions.append(data_version(connection))
    assert versions == [1, 2, 2]


def test_the_same_instant_again_replaces_what_it_said(engine: Engine) -> None:
    publish_offers(engine, [h100("2.99"), h200("3.79")], observed_at=utc(1))
    publish_offers(engine, [h100("2.49")], observed_at=utc(1) + timedelta(milliseconds=400))
    assert shown(engine, 1) == [("H100", "2.49")]
    assert count_prices(engine) == 1
