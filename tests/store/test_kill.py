"""A process killed while it publishes leaves one whole set of offers or the other, never some of both."""

import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy import Engine

from app.domain.offers import Offer
from app.store import runs
from app.store.queries import offers_as_of
from app.store.session import reading
from tests.make import DAY, utc
from tests.store.publisher import one_set, publish_until_killed

ROUNDS = 50
LONGEST_WAIT_S = 0.25
SLOWEST_WAIT_S = 4.0
FIRST_BYTE_TIMEOUT_S = 30
SEED = 20261129


def test_killed_at_50_random_moments_the_board_is_one_whole_set(engine: Engine, database_url: str) -> None:
    random_moments = random.Random(SEED)  # noqa: S311 - moments, not secrets
    sets = {as_shown(one_set(which)): which for which in (0, 1)}
    seen: list[int | None] = []
    longest_wait_s = LONGEST_WAIT_S
    for number in range(ROUNDS):
        with publishing(database_url, DAY + timedelta(days=number)):
            time.sleep(random_moments.uniform(0, longest_wait_s))
        seen.append(check(engine, sets))
        if seen[-1] is None:  # a busy machine has not come to its first publish yet
            longest_wait_s = min(2 * longest_wait_s, SLOWEST_WAIT_S)
    assert set(seen) >= {0, 1}, "every kill came before the first publish: it was not tested"


@contextmanager
def publishing(database_url: str, first_read_at: datetime) -> Iterator[None]:
    """Start a process that publishes, and kill it at the end of the block."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.store.publisher"])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=publish_until_killed, args=(database_url, first_read_at, theirs))
    process.start()
    theirs.close()
    try:
        assert ours.poll(FIRST_BYTE_TIMEOUT_S), "the publishing process did not begin"
        yield
        assert process.is_alive(), "the publishing process stopped by itself"
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def as_shown(offers: list[Offer]) -> frozenset[tuple[str, str]]:
    return frozenset((offer.sku, str(offer.list_price)) for offer in offers)


def check(engine: Engine, sets: dict[frozenset[tuple[str, str]], int]) -> int | None:
    """Return which set is shown, None for none yet; the journal's last run must be the one that is shown."""
    with reading(engine) as connection:
        stored = offers_as_of(connection, utc(1, year=2030))
        latest = runs.runs(connection, limit=1)
    if not stored:
        assert not latest
        return None
    shown = as_shown([each.offer for each in stored])
    assert shown in sets, f"{len(shown)} offers are shown, and they are neither set"
    assert len(stored) == len(shown)
    (run,) = latest
    assert run.observed_at is not None
    assert sets[shown] == run.observed_at.minute % 2
    assert {each.last_seen_at for each in stored} == {run.observed_at}
    return sets[shown]
