"""One query, three answers: page, CSV and JSON hold the same rows in the same order, and the right ones."""

import json
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from app.domain.columns import COLUMNS, EXPORT_FACTS, FACTS
from app.domain.metrics import METRICS
from app.domain.offers import Offer
from app.domain.query import OfferQuery
from app.domain.rows import FLAG_MEANINGS
from tests.domain import made, plain
from tests.web import market
from tests.web.conftest import Market
from tests.web.reading import address, choices, get, read_csv, read_table

QUERIES = made.queries(
    providers=("acme", "runpod", "odd", "nebius", "oldhost"),
    regions=market.REGIONS,
    days=(None, None, *market.DAYS),
    most_per_page=100,
)
STANDS = ("baseline", "precision", "weights_gb", "spec", "as_of")
JOINED = {"flags": " ", "assumptions": "; "}
"""Lists of a row, with what joins them in a CSV."""
MANY = settings(
    max_examples=150,
    deadline=None,
    # The market is filled once and only read, so it need not be new for each example.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def offer_of(line: dict[str, str]) -> tuple[str, str]:
    return line["provider"], line["sku"]


def same(value: object, text: str) -> bool:
    """Tell whether a JSON value and the text of a CSV cell say the same."""
    if value is None:
        return text == ""
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if isinstance(value, int | float):
        return float(text) == value
    return text.removeprefix("'") == value


@given(query=QUERIES)
@MANY
def test_page_csv_and_json_hold_the_right_rows_in_the_right_order(served: Market, query: OfferQuery) -> None:
    table = read_table(get(served.client, address("/", query)))
    lines = read_csv(get(served.client, address("/offers.csv", query)))
    document = json.loads(get(served.client, address("/offers.json", query)))

    instant = market.last_second(query.as_of or market.TODAY)
    stored = market.shown_at(instant, served.ids)
    expected = plain.answer(stored, query, instant=instant)
    page = expected.page(query.page, query.per_page)
    assert table.ids == page
    assert tuple(row["offer_id"] for row in document["rows"]) == page
    assert tuple(served.ids[offer_of(line)] for line in lines) == page
    assert document["total"] == len(expected.ids)
    total = table.tree.css_first(".summary strong").text()
    assert total == f"{len(expected.ids):,} of {len(stored):,} offers"
    for line, row in zip(lines, document["rows"], strict=True):
        said = row | {key: document[key] for key in STANDS}
        assert all(same(said[key], text) for key, text in line.items() if key not in JOINED)
        assert {key: line[key] for key in JOINED} == {key: sep.join(row[key]) for key, sep in JOINED.items()}


@given(query=QUERIES)
@MANY
def test_the_menus_count_what_each_choice_would_show_and_tick_what_is_chosen(
    served: Market, query: OfferQuery
) -> None:
    tree = read_table(get(served.client, address("/", query))).tree
    instant = market.last_second(query.as_of or market.TODAY)
    facets = plain.answer(market.shown_at(instant, served.ids), query, instant=instant).facets
    for name in ("provider", "pricing", "service", "form_factor", "region"):
        chosen = getattr(query, name)
        expected = {str(value): count for value, count in facets[name].items()}
        expected = dict.fromkeys(chosen, 0) | expected
        assert choices(tree, name) == {value: (count, value in chosen) for value, count in expected.items()}
    shown = choices(tree, "gpu")
    counts = {str(value): count for value, count in (facets["variant"] | facets["family"]).items()}
    assert {value: count for value, (count, _) in shown.items() if count} == {
        value: count for value, count in counts.items() if count
    }
    assert {value for value, (_, ticked) in shown.items() if ticked} == set(query.gpu)


@given(query=QUERIES)
@MANY
def test_the_figures_are_the_right_ones_wherever_they_stand(served: Market, query: OfferQuery) -> None:
    document = json.loads(get(served.client, address("/offers.json", query)))
    table = read_table(get(served.client, address("/", query)))
    instant = market.last_second(query.as_of or market.TODAY)
    stored = {each.offer_id: each for each in market.shown_at(instant, served.ids)}
    everything = list(stored.values())
    baselines = plain.baseline_prices([each.offer for each in everything], query.baseline)
    for row, cells in zip(document["rows"], table.cells, strict=True):
        each = stored[row["offer_id"]]
        figures = plain.figures(each.offer, query, baselines=baselines)
        for key in [key for key in row if key in METRICS]:
            value = figures[key]
            assert (row[key] is None) == (value is None) == (key in row["unknown"]), key
            assert value is None or row[key] == pytest.approx(float(value), rel=1e-14)
        weights_gb = Fraction(query.weights_gb)
        assert row["flags"] == plain.flags(each, everything, instant=instant, weights_gb=weights_gb)
        for key, cell in zip(query.columns, cells, strict=True):
            if key in METRICS:
                shown = plain.in_units(figures, key, query)
                assert cell == "\N{EN DASH}" if shown is None else near(float(cell), shown)


def near(found: float, expected: Fraction) -> bool:
    """Tell whether a printed number is the exact one, to the digits of a double."""
    return found == pytest.approx(float(expected), rel=1e-14)


def test_without_a_page_an_export_holds_every_row_and_the_page_its_first(served: Market) -> None:
    table = read_table(get(served.client, "/?sort=-usd_per_gpu_hour"))
    lines = read_csv(get(served.client, "/offers.csv?sort=-usd_per_gpu_hour"))
    document = json.loads(get(served.client, "/offers.json?sort=-usd_per_gpu_hour"))
    assert document["next"] is None
    ids = tuple(served.ids[offer_of(line)] for line in lines)
    assert len(ids) == document["total"] > 100
    assert tuple(row["offer_id"] for row in document["rows"]) == ids
    assert table.ids == ids[:100]


def test_following_next_gives_every_row_once(served: Market) -> None:
    seen: list[int] = []
    address_ = "/offers.json?per_page=37&sort=region&gpu=h100"
    while address_:
        document = json.loads(get(served.client, address_))
        seen += [row["offer_id"] for row in document["rows"]]
        address_ = document["next"]
    whole = json.loads(get(served.client, "/offers.json?sort=region&gpu=h100"))
    assert seen == [row["offer_id"] for row in whole["rows"]]
    assert len(seen) == whole["total"] > 37


@pytest.mark.parametrize("sort", [sign + key for key in COLUMNS for sign in ("", "-")])
def test_every_column_sorts_every_answer(served: Market, sort: str) -> None:
    query = OfferQuery(sort=sort, baseline="h100-sxm", per_page=1000)
    stored = market.shown_at(market.NOW, served.ids)
    expected = plain.answer(stored, query, instant=market.NOW).ids
    assert read_table(get(served.client, address("/", query))).ids == expected
    lines = read_csv(get(served.client, address("/offers.csv", query)))
    assert tuple(served.ids[offer_of(line)] for line in lines) == expected


def test_an_export_has_the_facts_then_the_chosen_figures_then_what_it_is_found_by(served: Market) -> None:
    lines = read_csv(get(served.client, "/offers.csv?columns=tdp_w,provider,usd_per_tbs_hour"))
    ends = ("offer_id", "family", "observed_at", "last_seen_at", "assumptions", "gpus_for_weights")
    columns = (*EXPORT_FACTS, "tdp_w", "usd_per_tbs_hour", *ends)
    assert tuple(lines[0]) == (*columns, "baseline", "precision", "weights_gb", "spec", "as_of")
    document = json.loads(get(served.client, "/offers.json?columns=tdp_w,provider,usd_per_tbs_hour"))
    assert tuple(column["key"] for column in document["columns"]) == columns
    assert all(column["unit"] for column in document["columns"] if column["key"] in METRICS)
    assert "unit" in document["columns"][0]


def test_an_export_says_what_the_page_says(served: Market) -> None:
    """The columns of issue 2, read from the run's own offers rather than from the store."""
    lines = {offer_of(line): line for line in read_csv(get(served.client, "/offers.csv?gpu=h100&gpu=rubin"))}
    each = next(one for one in market.acme() if one.accelerator == "h100-sxm" and one.gpu_count == 8)
    line = lines[each.provider, each.sku]
    usual = {
        "accelerator": "h100-sxm",
        "accelerator_as_written": "H100 SXM 80 GB",
        "gpu_count": "8",
        "min_gpus": "1",
        "list_price": "23.92",
        "currency": "USD",
        "price_basis": "instance_hour",
        "usd_per_gpu_hour": "2.99",
        "usd_per_instance_hour": "23.92",
        "pricing_model": "on_demand",
        "service_kind": "instance",
        "tier": "",
        "term_days_min": "",
        "region": "us-east",
        "form_factor": "sxm",
        "form_factor_assumed": "false",
        "is_floor": "false",
        "memory_gb_as_written": "80",
        "valid_from": "2026-11-02",
        "flags": "disputed_order",  # the H200 at 4.29 / 4.8 is dearer per TB/s, at 4.29 / 4.89 cheaper
        "source_url": "https://acme.example/pricing",
        "family": "h100",
        "observed_at": "2026-11-02T06:00:00Z",
        "last_seen_at": "2026-11-20T06:00:00Z",
        "assumptions": "",
    }
    assert {key: line[key] for key in usual} == usual
    assert lines["odd", "minimum"]["flags"] == "min_quantity"
    assert lines["odd", "assumed"]["flags"] == "assumed managed"
    assert lines["oldhost", "H100"]["flags"] == "stale"
    assert lines["nebius", "gpu-h100-sxm"]["flags"] == "announced"
    assert lines["nebius", "gpu-h100-sxm"]["list_price"] == "3.5"
    assert lines["odd", "assumed"]["assumptions"] == "Sold as 80 GB only: SXM is assumed."
    assert line["offer_id"] == str(served.ids["acme", each.sku])
    # Nobody has read it since the fifteenth: what a program that comes each morning has to know.
    assert lines["oldhost", "H100"]["last_seen_at"] == "2026-11-15T06:00:00Z"


def test_the_market_shows_every_warning(served: Market) -> None:
    stored = market.shown_at(market.NOW, served.ids)
    shown = {flag for each in stored for flag in plain.flags(each, stored, instant=market.NOW)}
    # Rates and aggregators have tests of their own in test_rates_shown.py, the reader's own in test_own.py,
    # weights that are too large in test_weights.py.
    assert shown == set(FLAG_MEANINGS) - {"converted", "aggregator", "own", "over_memory"}
    lines = read_csv(get(served.client, "/offers.csv?gpu=rubin"))
    lines += read_csv(get(served.client, "/offers.csv"))
    assert {flag for line in lines for flag in line["flags"].split()} == shown


def test_a_past_day_shows_what_was_known_then(served: Market) -> None:
    def price(day: str, sku: str) -> str:
        lines = read_csv(get(served.client, f"/offers.csv?as_of={day}&provider=runpod"))
        return {line["sku"]: line["list_price"] for line in lines}.get(sku, "")

    assert price("2026-11-01", "H100 community") == ""
    assert price("2026-11-02", "H100 community") == "3.39"
    assert price("2026-11-14", "H100 community") == "4.39"
    assert price("2026-11-19", "H100 community") == "4.39"
    assert price("2026-11-20", "H100 community") == "3.39"
    document = json.loads(get(served.client, "/offers.json?as_of=2026-11-14"))
    assert document["as_of"] == "2026-11-14T23:59:59Z"
    now = json.loads(get(served.client, "/offers.json"))
    assert datetime.fromisoformat(now["as_of"]).astimezone(UTC) == market.NOW


def test_the_facts_of_the_columns_are_all_compared() -> None:
    """`plain.facts` and `plain.figures` know each column, so that no sort key goes unchecked."""
    each = made.store(Offer(**_fields()), 1)
    known: dict[str, Any] = dict(plain.facts(each, [each], instant=market.NOW))
    assert set(known) == set(FACTS)


def _fields() -> dict[str, Any]:
    offer = next(market.acme())
    return {name: getattr(offer, name) for name in Offer.__dataclass_fields__}
