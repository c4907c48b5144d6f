"""Figures in the units a reader chose: by the month, of an instance, in euros; several columns sorted by."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from app.domain.accelerators import load_catalogue, with_other_figures
from app.domain.board import build_board, with_catalogue, with_offers
from app.domain.columns import COLUMNS, Fact
from app.domain.metrics import METRICS, Metric
from app.domain.offers import PriceBasis
from app.domain.query import OfferQuery, QueryError, parse_query, query_pairs
from app.domain.quotes import to_stored
from app.domain.rates import Rate
from app.domain.shown import PERIODS, Units, shown_column
from tests.domain import made
from tests.domain.bundled import BUNDLED
from tests.make import make_offer

EURO = Rate(day=date(2026, 11, 19), currency="EUR", usd_per_unit=Decimal("1.25"), source_url="https://bank")
OFFERS = (
    made.store(make_offer(sku="eight", gpu_count=8, list_price="3.99", price_basis=PriceBasis.GPU_HOUR), 1),
    made.store(make_offer(sku="one", gpu_count=1, list_price="4.50", price_basis=PriceBasis.GPU_HOUR), 2),
    made.store(make_offer(sku="two", gpu_count=2, list_price="3.99", price_basis=PriceBasis.GPU_HOUR), 3),
)
BOARD = build_board(OFFERS, load_catalogue(), instant=made.NOW, rates={"EUR": EURO})


def figure(key: str, units: Units, *, sku: str = "eight") -> tuple[str, str, Decimal | None]:
    """A column's key and unit as shown, and its figure for an offer, to nine decimals."""
    column = shown_column(key, units)
    assert isinstance(column, Metric)
    row = next(each for each in BOARD.rows if each.offer.sku == sku)
    value = column.value(row, BOARD.view(OfferQuery()))
    return column.key, column.unit, None if value is None else round(value, 9)


def test_prices_by_the_day_the_month_and_the_year() -> None:
    # 3.99 x 24, x 730, x 8,760; an H100 SXM has 3.35 TB/s and 1.9790 dense PFLOP/s in FP8.
    assert figure("usd_per_gpu_hour", Units(period="day")) == (
        "usd_per_gpu_day",
        "$/GPU-day",
        Decimal("95.76"),
    )
    assert figure("usd_per_gpu_hour", Units(period="month")) == (
        "usd_per_gpu_month",
        "$/GPU-month",
        Decimal("2912.7"),
    )
    assert figure("usd_per_gpu_hour", Units(period="year")) == (
        "usd_per_gpu_year",
        "$/GPU-year",
        Decimal("34952.4"),
    )
    key, unit, value = figure("usd_per_tbs_hour", Units(period="month"))
    assert (key, unit, value) == (
        "usd_per_tbs_month",
        "$/TB/s-month",
        round(Decimal("2912.7") / Decimal("3.35"), 9),
    )


def test_the_price_of_an_instance_in_euros() -> None:
    # 8 x 3.99 = 31.92 dollars; a euro is 1.25 dollars, so 25.536 euros an hour and 612.864 a day.
    units = Units(period="day", per="instance", rate=EURO)
    assert figure("usd_per_gpu_hour", units) == (
        "eur_per_instance_day",
        "EUR/instance-day",
        Decimal("612.864"),
    )
    assert figure("usd_per_mtok_at_ceiling", units)[:2] == ("eur_per_mtok_at_ceiling", "EUR/Mtok")


@pytest.mark.parametrize("period", list(PERIODS))
def test_what_is_no_price_is_the_same_in_all_units(period: str) -> None:
    units = Units(period=period, per="instance", rate=EURO)
    for key, column in COLUMNS.items():
        if isinstance(column, Fact) or not column.unit.startswith("$"):
            assert shown_column(key, units) is column


def test_every_price_names_its_unit_in_key_and_heading() -> None:
    for key, metric in METRICS.items():
        if metric.unit.startswith("$") and key.endswith("_hour"):
            shown = shown_column(key, Units(period="month", rate=EURO))
            assert shown.key == key.replace("usd_", "eur_").replace("_hour", "_month")
            assert shown.unit == metric.unit.replace("$", "EUR").replace("-h", "-month")


def skus(text: str) -> list[str]:
    query = asked(text)
    return [BOARD.rows[number].offer.sku for number in BOARD.select(query).rows]


def asked(text: str) -> OfferQuery:
    words = made.make_vocabulary(
        load_catalogue(), providers=["runpod"], regions=[], currencies=["EUR"], today=made.TODAY
    )
    return parse_query([tuple(pair.split("=", 1)) for pair in text.split("&")], words)  # type: ignore[misc]  # two parts


def test_several_columns_the_first_deciding() -> None:
    assert skus("sort=usd_per_gpu_hour,gpu_count") == ["two", "eight", "one"]
    assert skus("sort=usd_per_gpu_hour,-gpu_count") == ["eight", "two", "one"]
    assert skus("sort=usd_per_gpu_hour&sort=-gpu_count") == ["eight", "two", "one"]
    assert skus("sort=usd_per_gpu_hour,-usd_per_gpu_hour,-gpu_count") == ["eight", "two", "one"]


def test_of_an_instance_the_order_is_that_of_instances() -> None:
    # 4.50, 7.98 and 31.92 dollars an instance.
    assert skus("sort=usd_per_gpu_hour&per=instance") == ["one", "two", "eight"]


def test_a_condition_is_on_the_figure_that_shows() -> None:
    assert skus("where.usd_per_gpu_hour=<4") == ["two", "eight"]
    assert skus("where.usd_per_gpu_hour=<4&period=month") == []
    assert skus("where.usd_per_gpu_hour=>3000&period=month") == ["one"]
    assert skus("where.usd_per_gpu_hour=3.60&currency=EUR") == ["one"]  # 4.50 / 1.25
    assert skus("where.usd_per_gpu_hour=>7&per=instance&where.gpu_count=!8") == ["two"]


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("sort=provider,region,tier,sku,currency", "sort", "at most 4"),
        ("where.price=>2", "where.price", "did you mean"),
        ("where.gpu_count=two", "where.gpu_count", "is no number"),
        ("where.gpu_count=1&where.gpu_count=2", "where.gpu_count", "give it once"),
        ("period=week", "period", "use one of day, hour, month, year"),
        ("per=rack", "per", "use one of gpu, instance"),
        ("currency=GBP", "currency", "use one of EUR, USD"),
        ("spec=best", "spec", "use one of alt, main"),
        ("density=airy", "density", "use one of compact, normal"),
        ("quote=Acme|h100-sxm|0", "quote", "usd_per_gpu_hour"),
        ("own=Lab|h100-sxm|1", "own", "lifetime_years"),
    ],
)
def test_what_is_not_right_is_named(text: str, field: str, expected: str) -> None:
    with pytest.raises(QueryError) as caught:
        asked(text)
    assert caught.value.field == field
    assert expected in str(caught.value)


def test_a_link_spells_it_all_and_reads_it_back() -> None:
    text = (
        "where.usd_per_gpu_hour=>2 <900&period=day&per=instance&currency=EUR&spec=alt&density=compact"
        "&sort=-gpu_count,provider&quote=Acme|h200-sxm|2.90|8x&own=Lab|h100-sxm|30000|4|700|0.12|60%"
    )
    query = asked(text)
    assert dict(query_pairs(query)) == {
        "where.usd_per_gpu_hour": ">2 <900",
        "period": "day",
        "per": "instance",
        "currency": "EUR",
        "spec": "alt",
        "density": "compact",
        "sort": "-gpu_count,provider",
        "quote": "Acme|h200-sxm|2.9|8x",
        "own": "Lab|h100-sxm|30000|4|700|0.12|0.6",
    }
    assert asked("&".join(f"{name}={value}" for name, value in query_pairs(query))) == query


def own_board(**query: Any) -> list[tuple[str, Decimal | None]]:
    """Providers and $/TB/s-h in order, with two figures of the reader's on the table of 2026-10-30."""
    figures = asked("quote=Acme|h200-sxm|2.50|8x&own=Lab|h100-sxm|30000|4|700|0.12|60%")
    own = to_stored((*figures.quote, *figures.own), instant=BUNDLED.instant, catalogue=load_catalogue())
    board = with_offers(BUNDLED, own)
    selection = board.select(OfferQuery(**query))
    metric = METRICS["usd_per_tbs_hour"]
    rows = [board.rows[number] for number in selection.rows]
    return [(row.offer.provider, metric.value(row, selection.view)) for row in rows]


def test_own_figures_rank_with_all_the_rest() -> None:
    ranked = own_board(per_page=3)
    # 1.510941 / 3.35 and 2.50 / 4.8, then the best of the table: DeepInfra's B200, 4.89 / 8.
    assert [(who, round(usd, 6)) for who, usd in ranked if usd] == [
        ("own:Lab", Decimal("0.451027")),
        ("own:Acme", Decimal("0.520833")),
        ("deepinfra", Decimal("0.611250")),
    ]


def test_own_figures_stay_with_any_provider_and_obey_the_other_filters() -> None:
    only = {who for who, _ in own_board(provider=("runpod",))}
    assert only == {"own:Acme", "own:Lab", "runpod"}
    assert "own:Lab" not in {who for who, _ in own_board(min_gpus=8)}
    assert "own:Acme" in {who for who, _ in own_board(min_gpus=8)}
    assert not {who for who, _ in own_board(pricing=("spot",))}


def test_the_other_published_figures_for_all_of_the_board() -> None:
    # The B200 is also given 7.7 TB/s: 13.00 / 7.7 at Fireworks, where 13.00 / 8 stands else.
    board = with_catalogue(BUNDLED, with_other_figures(load_catalogue()))
    found = {
        (row.offer.provider, row.offer.accelerator): METRICS["usd_per_tbs_hour"].value(
            row, board.view(OfferQuery())
        )
        for row in board.rows
    }
    assert found["fireworks", "b200-sxm"] == Decimal(13) / Decimal("7.7")
    assert found["fireworks", "h100-sxm"] == Decimal(8) / Decimal("3.35")
