"""Publishes one of two sets of offers after the other until it is killed; for test_kill.py."""

from datetime import datetime, timedelta
from itertools import count
from multiprocessing.connection import Connection

from app.domain.offers import Offer
from app.store.session import make_engine
from tests.make import make_offer, publish_offers

OFFERS = 1_500
SHARED = 1_000


def one_set(which: int) -> list[Offer]:
    """Return set 0 or 1: each has offers of its own, and those they share are at other prices."""
    first = which * (OFFERS - SHARED)
    return [
        make_offer(sku=f"SKU {number}", list_price=f"{1 + which + number / 10_000}")
        for number in range(first, first + OFFERS)
    ]


def publish_until_killed(database_url: str, first_read_at: datetime, beginning: Connection) -> None:
    """Publish the sets in turn, a minute apart, and send a byte at the beginning of each."""
    engine = make_engine(database_url)
    sets = (one_set(0), one_set(1))
    for turn in count():
        beginning.send_bytes(b".")
        publish_offers(engine, sets[turn % 2], observed_at=first_read_at + timedelta(minutes=turn))
