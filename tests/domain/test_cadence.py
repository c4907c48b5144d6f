"""How old is stale: two missed days, very stale: seven (architecture.md, issue of the daily board)."""

from datetime import UTC, date, datetime, timedelta

import pytest

from app.domain.cadence import Freshness, Slot, freshness, latest_slot, next_run, read_every, slots_of


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


def test_a_source_that_is_read_four_times_has_four_slots_six_hours_apart() -> None:
    """101 minutes are within the first six hours, so they are the first slot's."""
    slots = slots_of("nebius", date(2026, 11, 20), times=4)
    assert [slot.name for slot in slots] == [f"2026-11-20 {number}/4" for number in (1, 2, 3, 4)]
    assert [f"{slot.at:%H:%M}" for slot in slots] == ["01:41", "07:41", "13:41", "19:41"]
    assert (read_every("vast"), read_every("nebius")) == (timedelta(hours=6), timedelta(days=1))
    assert read_every("nobody we know") == timedelta(days=1)


@pytest.mark.parametrize(
    ("now", "times", "expected"),
    [
        ("2026-11-20T01:40:59", 1, "2026-11-19"),
        ("2026-11-20T01:41:00", 1, "2026-11-20"),
        ("2026-11-20T00:00:00", 4, "2026-11-19 4/4"),
        ("2026-11-20T13:41:00", 4, "2026-11-20 3/4"),
    ],
)
def test_the_latest_slot_is_the_last_whose_time_has_come(now: str, times: int, expected: str) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert latest_slot("nebius", moment, times=times).name == expected


def test_jitter_delays_a_slot_and_the_one_before_stands_until_then() -> None:
    def later(_slot: Slot) -> timedelta:
        return timedelta(hours=23)

    assert latest_slot("nebius", datetime(2026, 11, 20, 0, 40, tzinfo=UTC), jitter=later).name == "2026-11-18"
    assert latest_slot("nebius", datetime(2026, 11, 20, 0, 41, tzinfo=UTC), jitter=later).name == "2026-11-19"
