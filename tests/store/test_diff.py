"""Whatever a provider prints and announces, each instant shows what the last page read by then says."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from app.store.diff import ALWAYS, Asked, Stored, price_steps
from tests.make import make_offer

FIRST_DAY = date(2026, 11, 1)
DAYS = 12
DAY_S = 86_400

# A page: the price it prints without a date, if any, and prices by the day from which they hold.
Printed = tuple[int | None, dict[int, int]]
pages = st.tuples(
    st.none() | st.integers(1, 3), st.dictionaries(st.integers(0, DAYS - 1), st.integers(1, 3), max_size=3)
)
# Pages by the half day on which they were read, so that some are read at midnight and some at noon.
histories = st.dictionaries(st.integers(0, 2 * DAYS - 1), pages, min_size=1, max_size=6)


@dataclass
class Table:
    """The price table of one offer, kept by doing what `price_steps` says."""

    rows: list[Stored]
    next_id: int = 1

    def read(self, page: Printed, *, seen_at: int) -> None:
        stored = sorted(
            (row for row in self.rows if row.valid_to is None or row.valid_to > seen_at),
            key=lambda row: row.valid_from,
        )
        steps = price_steps(stored, asked_on(page), seen_at=seen_at)
        ends = {price_id: end for end, price_id in steps.ended}
        self.rows = [
            row._replace(valid_to=ends.get(row.price_id, row.valid_to))
            for row in self.rows
            if row.price_id not in steps.withdrawn
        ]
        for added in steps.added:
            price = added.asked.offer.list_price
            bounds = (added.valid_from, added.valid_to, added.announced)
            self.rows.append(Stored(self.next_id, 1, *bounds, None, price, "USD", "gpu_hour", is_floor=False))
            self.next_id += 1

    def shown(self, instant_s: int) -> Decimal | None:
        holding = [
            row
            for row in self.rows
            if row.valid_from <= instant_s and (row.valid_to is None or row.valid_to > instant_s)
        ]
        assert len(holding) <= 1
        return holding[0].list_price if holding else None


def start_of(day: int) -> int:
    return int(datetime.combine(FIRST_DAY + timedelta(days=day), time(), UTC).timestamp())


def asked_on(page: Printed) -> list[Asked]:
    now, dated = page
    asked = [] if now is None else [Asked(ALWAYS, make_offer(list_price=now), "aa")]
    for day, price in dated.items():
        offer = make_offer(list_price=price, valid_from=FIRST_DAY + timedelta(days=day))
        asked.append(Asked(start_of(day), offer, "aa"))
    return asked


def said(page: Printed, instant_s: int) -> int | None:
    """What a careful reader of the page would say holds at an instant."""
    now, dated = page
    begun = [day for day in dated if start_of(day) <= instant_s]
    return dated[max(begun)] if begun else now


@given(histories)
def test_each_instant_shows_what_the_last_page_says(history: dict[int, Printed]) -> None:
    table = Table([])
    moments = sorted(history)
    for number, moment in enumerate(moments):
        seen_at = start_of(0) + moment * DAY_S // 2
        table.read(history[moment], seen_at=seen_at)
        assert [row.valid_to for row in table.rows].count(None) <= 1
        assert all(row.valid_to is None or row.valid_to > row.valid_from for row in table.rows)
        for half_day in range(2 * DAYS + 2):
            instant_s = start_of(0) + half_day * DAY_S // 2
            read_by_then = [each for each in moments[: number + 1] if each <= half_day]
            expected = said(history[read_by_then[-1]], instant_s) if read_by_then else None
            assert table.shown(instant_s) == expected


@given(histories)
def test_the_same_page_twice_adds_nothing(history: dict[int, Printed]) -> None:
    table = Table([])
    for moment in sorted(history):
        for again_s in (0, 60):
            seen_at = start_of(0) + moment * DAY_S // 2 + again_s
            before = list(table.rows)
            table.read(history[moment], seen_at=seen_at)
        assert table.rows == before
