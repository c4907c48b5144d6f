"""Lines of a price history, worked out by hand: who stands for a provider, gaps, what is announced."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from app.domain.accelerators import load_catalogue
from app.domain.history import Known, Span, covered, figure_of_price, lines_of, window
from app.domain.metrics import METRICS, View

DAILY = timedelta(days=1)


def day(number: int, hour: int = 0) -> datetime:
    return datetime(2026, 11, number, hour, tzinfo=UTC)


def span(offer_id: int, usd: str, starts: int, ends: int | None = None, *, min_gpus: int = 1) -> Span:
    return Span(
        offer_id=offer_id,
        min_gpus=min_gpus,
        usd_micros=int(Decimal(usd) * 1_000_000),
        starts=day(starts),
        ends=None if ends is None else day(ends),
        announced=False,
    )


def known(*days: int, market: bool = False) -> Known:
    return Known(provider="acme", is_marketplace=market, read_at=[day(each) for each in days], every=DAILY)


def shown(spans: Sequence[Span], read: Known, *, now: datetime) -> dict[str, list[tuple[int, int, float]]]:
    return {
        line.what: [(each.starts.day, each.ends.day, each.usd_micros / 1e6) for each in line.stretches]
        for line in lines_of(spans, read, now=now)
    }


def test_a_line_stops_when_two_readings_have_failed_and_goes_on_at_the_next_good_one() -> None:
    assert covered([day(1), day(2), day(8), day(9)], every=DAILY, now=day(10)) == (
        (day(1), day(4)),
        (day(8), day(10)),
    )
    found = shown([span(1, "2", 1)], known(1, 2, 8, 9), now=day(10))
    assert found == {"price": [(1, 4, 2.0), (8, 10, 2.0)]}


def test_the_smallest_minimum_quantity_stands_then_the_lowest_price() -> None:
    spans = [span(1, "3", 1), span(2, "1", 1, min_gpus=8), span(3, "2.5", 3, 5)]
    found = shown(spans, known(*range(1, 8)), now=day(7))
    assert found == {"price": [(1, 3, 3.0), (3, 5, 2.5), (5, 7, 3.0)]}


def test_a_marketplace_shows_its_lowest_its_middle_and_its_highest_price() -> None:
    spans = [span(1, "1", 1), span(2, "2", 1), span(3, "9", 1), span(4, "4", 4)]
    found = shown(spans, known(*range(1, 7), market=True), now=day(6))
    assert found == {
        "min": [(1, 6, 1.0)],
        "median": [(1, 4, 2.0), (4, 6, 3.0)],  # the mean of 2 and 4
        "max": [(1, 6, 9.0)],
    }


def test_an_announced_price_is_marked_until_a_run_has_seen_it() -> None:
    spans = [span(1, "2", 1, 20), span(1, "3", 20)]
    (line,) = lines_of(spans, known(1, 2, 3), now=day(4))
    assert [(each.announced, each.starts.day, each.ends) for each in line.stretches] == [
        (False, 1, day(4)),
        (True, 20, day(20) + timedelta(days=30)),
    ]
    clipped = window(line, start=day(2), end=day(4))
    assert [(each.starts, each.ends) for each in clipped.stretches] == [(day(2), day(4))]


def test_a_figure_is_the_metrics_own() -> None:
    card = load_catalogue().by_id["h200-sxm"]
    view = View(precision="fp8", weights_gb=Decimal(70))
    # 4.80 $/GPU-h over 4.8 TB/s.
    assert figure_of_price(METRICS["usd_per_tbs_hour"], card, view=view)(4_800_000) == 1
    assert figure_of_price(METRICS["usd_per_gpu_hour"], card, view=view)(4_800_000) == Decimal("4.8")
