"""What is decided on today of a page read days ago leaves the days that are over as they were."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

import pytest
from sqlalchemy import Engine

from app.domain.offers import Offer
from app.store.queries import offers_as_of
from app.store.runs import claim_slot
from app.store.session import reading, writing
from app.store.write import OlderRunError, PublishResult, publish
from tests.make import CAPTURE_SHA256, make_offer, publish_offers, utc

Row = tuple[str, str, str | None, datetime]


def publish_late(
    engine: Engine, offers: Sequence[Offer], *, read_at: datetime, now: datetime
) -> PublishResult:
    with writing(engine) as connection:
        run_id = claim_slot(connection, source="acme", slot=f"{read_at} {now}", provider="acme", now=now)
        assert run_id is not None
        return publish(
            connection,
            provider="acme",
            offers=offers,
            observed_at=read_at,
            run_id=run_id,
            capture_sha256=CAPTURE_SHA256,
            not_before=now,
        )


def board(engine: Engine, instant: datetime) -> list[Row]:
    """What a board of that instant shows: SKU, price, announced price, and when each was read."""
    with reading(engine) as connection:
        return sorted(
            (
                each.offer.sku,
                str(each.offer.list_price),
                None if each.next_price is None else str(each.next_price.list_price),
                each.observed_at,
            )
            for each in offers_as_of(connection, instant)
        )


def test_prices_begin_with_the_decision_and_keep_the_time_they_were_read(engine: Engine) -> None:
    publish_offers(engine, [make_offer(sku="a", list_price="1"), make_offer(sku="b")], observed_at=utc(1))
    past = [board(engine, utc(day, 23)) for day in (1, 2, 3)]
    later = [
        make_offer(sku="a", list_price="2"),
        make_offer(sku="a", list_price="3", valid_from=date(2026, 11, 16)),
        make_offer(sku="c", list_price="4"),
    ]
    result = publish_late(engine, later, read_at=utc(2), now=utc(4))
    assert result == PublishResult(new=1, changed=1, closed=1, unchanged=0)
    assert [board(engine, utc(day, 23)) for day in (1, 2, 3)] == past
    assert board(engine, utc(4)) == [("a", "2", "3", utc(2)), ("c", "4", None, utc(2))]


def test_a_decision_before_the_page_changes_nothing(engine: Engine) -> None:
    publish_late(engine, [make_offer()], read_at=utc(4), now=utc(3))
    assert board(engine, utc(3, 23)) == []
    assert board(engine, utc(4)) == [("H100 SXM", "2.99", None, utc(4))]


def test_a_page_read_before_the_last_good_run_is_refused_whenever_it_is_decided_on(engine: Engine) -> None:
    publish_offers(engine, [make_offer(list_price=Decimal(2))], observed_at=utc(3))
    with pytest.raises(OlderRunError):
        publish_late(engine, [make_offer(list_price=Decimal(1))], read_at=utc(2), now=utc(4))
