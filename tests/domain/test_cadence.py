"""How old is stale: two missed days, very stale: seven (architecture.md, issue of the daily board)."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.cadence import Freshness, freshness, next_run


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (None, "never_read"),
        (timedelta(0), "fresh"),
        (timedelta(hours=48), "fresh"),
        (timedelta(hours=48, seconds=1), "stale"),
        (timedelta(days=7), "stale"),
        (timedelta(days=7, seconds=1), "very_stale"),
    ],
)
def test_a_daily_source_is_stale_after_two_days_and_very_stale_after_seven(
    age: timedelta | None, expected: str
) -> None:
    assert freshness(age) is Freshness(expected)


def test_a_source_that_is_read_hourly_is_stale_after_two_hours() -> None:
    hourly = timedelta(hours=1)
    assert freshness(timedelta(minutes=121), every=hourly) is Freshness.STALE
    assert freshness(timedelta(hours=8), every=hourly) is Freshness.VERY_STALE


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (datetime(2026, 11, 20, 0, 0, tzinfo=UTC), datetime(2026, 11, 20, 1, 41, tzinfo=UTC)),
        (datetime(2026, 11, 20, 1, 41, tzinfo=UTC), datetime(2026, 11, 21, 1, 41, tzinfo=UTC)),
        (datetime(2026, 12, 31, 12, 0, tzinfo=UTC), datetime(2027, 1, 1, 1, 41, tzinfo=UTC)),
    ],
)
def test_the_next_run_is_at_the_minute_of_the_source(now: datetime, expected: datetime) -> None:
    """Minute 101 of the day is nebius': the first four bytes of its name's SHA-256, modulo 1440."""
    assert next_run("nebius", now) == expected
