"""Lines of a price history, worked out by hand: who stands for a provider, gaps, what is announced."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from app.domain.accelerators import load_catalogue
from app.domain.history import FOR_EVER, Known, Listed, Stretch, covered, figure_of_price, lines_of, window
from app.domain.metrics import METRICS, View

DAILY = timedelta(days=1)


def day(number: int, hour: int = 0) -> datetime:
    return datetime(2026, 11, number, hour, tzinfo=UTC)


def listed(offer_id: int, usd: str, starts: int, ends: int | None = None, *, min_gpus: int = 1) -> Listed:
    until = FOR_EVER if ends is None else day(ends)
    price = Stretch(day(starts), until, int(Decimal(usd) * 1_000_000), offer_id, announced=False)
    return Listed(offer_id, min_gpus, [price])


def seconds(*days: int) -> list[int]:
    return [int(day(each).timestamp()) for each in days]


def known(*days: int, market: bool = False) -> Known:
    return Known(provider="acme", is_marketplace=market, read_at_s=seconds(*days), every=DAILY)


def shown(offers: Sequence[Listed], read: Known, *, now: datetime) -> dict[str, list[tuple[int, int, float]]]:
    return {
        line.what: [(each.starts.day, each.ends.day, each.usd_micros / 1e6) for each in line.stretches]
        for line in lines_of(offers, read, now=now)
    }


def test_a_line_stops_when_two_readings_have_failed_and_goes_on_at_the_next_good_one() -> None:
    assert covered(seconds(1, 2, 8, 9), every=DAILY, now=day(10)) == (
        (day(1), day(4)),
        (day(8), day(10)),
    )
    found = shown([listed(1, "2", 1)], known(1, 2, 8, 9), now=day(10))
    assert found == {"price": [(1, 4, 2.0), (8, 10, 2.0)]}


def test_the_smallest_minimum_quantity_stands_then_the_lowest_price() -> None:
    offers = [listed(1, "3", 1), listed(2, "1", 1, min_gpus=8), listed(3, "2.5", 3, 5)]
    found = shown(offers, known(*range(1, 8)), now=day(7))
    assert found == {"price": [(1, 3, 3.0), (3, 5, 2.5), (5, 7, 3.0)]}


def test_a_marketplace_shows_its_lowest_its_middle_and_its_highest_price() -> None:
    offers = [listed(1, "1", 1), listed(2, "2", 1), listed(3, "9", 1), listed(4, "4", 4)]
    found = shown(offers, known(*range(1, 7), market=True), now=day(6))
    assert found == {
        "min": [(1, 6, 1.0)],
        "median": [(1, 4, 2.0), (4, 6, 3.0)],  # the mean of 2 and 4
        "max": [(1, 6, 9.0)],
    }


def test_an_announced_price_is_marked_until_a_run_has_seen_it() -> None:
    now_and_then = [*listed(1, "2", 1, 20).stretches, *listed(1, "3", 20).stretches]
    offers = [Listed(1, 1, now_and_then)]
    (line,) = lines_of(offers, known(1, 2, 3), now=day(4))
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


def test_an_offer_alone_has_the_line_that_it_has_beside_one_that_never_stands() -> None:
    steps = [("2", 1, 3), ("2", 3, 4), ("3", 4, 6), ("1", 8, None)]
    prices = [each for usd, starts, ends in steps for each in listed(1, usd, starts, ends).stretches]
    other = listed(2, "9", 1, min_gpus=64)
    read = known(*range(1, 7), *range(8, 10))
    # Read daily but on the 7th; what stands on the 6th holds until the 8th, when nothing is listed any more.
    wanted = {"price": [(1, 4, 2.0), (4, 6, 3.0), (8, 9, 1.0)]}
    assert shown([Listed(1, 1, prices[::-1])], read, now=day(9)) == wanted
    beside = [Listed(1, 1, prices), listed(2, "9", 1, 6, min_gpus=64), listed(3, "9", 8, min_gpus=64)]
    assert shown(beside, read, now=day(9)) == wanted
    assert shown([Listed(1, 1, prices), other], read, now=day(9)) == {
        "price": [(1, 4, 2.0), (4, 6, 3.0), (6, 8, 9.0), (8, 9, 1.0)]
    }
