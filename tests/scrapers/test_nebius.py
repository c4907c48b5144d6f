"""Nebius's page: tables by heading, announced prices, floors, and what is refused."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from app.domain.findings import holds
from scrapers import SCRAPERS, Page, Parsed, ParseError
from tests.scrapers.truth import our_page, page

parse = SCRAPERS["nebius"].parse
TEXT = our_page("nebius").body.decode()


NEW_TABLE = "<div><b>GPU</b><b>Memory</b><b>Price per hour</b></div>"


def changed(old: str = "", new: str = "", times: int = -1) -> Parsed:
    assert old in TEXT
    return parse(page("nebius", (TEXT.replace(old, new, times) if old else TEXT).encode()))


def codes(parsed: Parsed) -> list[str]:
    return [finding.code for finding in parsed.findings]


def test_an_announced_price_starts_on_its_date() -> None:
    prices = {(one.valid_from, one.list_price) for one in changed().offers if one.sku == "NVIDIA HGX B300"}
    assert prices == {(None, Decimal("7.10")), (date(2027, 3, 15), Decimal("8.40"))}


def test_a_date_that_has_come_is_reported() -> None:
    assert "announced_date_passed" not in codes(changed())
    late = Page(
        url="https://nebius.com/prices", body=TEXT.encode(), fetched_at=datetime(2027, 3, 15, tzinfo=UTC)
    )
    assert "announced_date_passed" in codes(parse(late))


def test_a_price_from_is_a_floor_and_preemptible_is_spot() -> None:
    floors = [one for one in changed().offers if one.is_floor]
    assert len(floors) == 6
    assert {one.pricing_model.value for one in floors} == {"on_demand", "spot"}
    assert {one.provider_term for one in floors} == {"On-demand", "Preemptible"}


def test_the_memory_of_the_host_is_no_memory_of_the_gpu() -> None:
    assert {one.memory_gb_as_written for one in changed().offers} == {None}


def test_an_assumed_variant_says_so() -> None:
    assumed = {one.sku: one.assumptions for one in changed().offers if one.variant_assumed}
    assert set(assumed) == {"NVIDIA RTX PRO 6000"}
    assert all(assumed.values())


def test_tables_of_other_things_are_left_out_and_named() -> None:
    left = [one.evidence["heading"] for one in changed().findings if one.code == "left_out"]
    assert left == ["CPU-only instances", "Storage"]
    assert "unknown_table" in codes(changed("Storage", "Archive"))


def test_prices_outside_the_tables_are_reported() -> None:
    assert "unread_prices" in codes(changed('<div id="app">', '<div id="app"><p>From $1.10 an hour</p>'))


def test_rows_that_slipped_hold_the_run() -> None:
    slipped = TEXT.replace("NVIDIA HGX B200", "X", 1).replace("NVIDIA HGX H200", "NVIDIA HGX B200", 1)
    parsed = parse(page("nebius", slipped.replace(">X<", ">NVIDIA HGX H200<").encode()))
    assert "tables_disagree" in codes(parsed)
    assert holds(parsed.findings)


def test_a_preemptible_gpu_without_an_on_demand_row_is_reported() -> None:
    assert "spot_only" in codes(changed("NVIDIA HGX H100", "NVIDIA HGX H100 SXM", 1))


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("On-demand, GPU-hour", "On-demand, GPU-month", "unknown_column"),
        ("On-demand, GPU-hour", "GPU-hour", "unknown_column"),
        ("Spot price, GPU-hour*", "Spot price, instance-hour*", "unknown_column"),
        ("RAM, GB", "RAM, TB", "unknown_column"),
        ("(Effective March 15, 2027)", "(Effective soon)", "unreadable_date"),
        ("On-demand, GPU-hour", "GPU-hour (Effective March 16, 2027)", "double_column"),
        ("NVIDIA GPU Instances", "GPU Instances", "unknown_gpu_table"),
        ("Preemptible NVIDIA GPU Instances", "NVIDIA GPU Instances", "double_table"),
        ("Preemptible NVIDIA GPU Instances", "Storage", "unknown_gpu_table"),
        ("<h2><span>Preemptible NVIDIA GPU Instances</span></h2>", "", "heading_unclear"),
        ("$7.10", "€7.10", "other_currency"),
        ("$7.10", "$7.101", "unreadable_price"),
        ("$7.10", "up to $7.10", "unreadable_price"),
        ("Contact us", "Soon", "unreadable_price"),
        ("from $1.10", "from $11.10", "spot_above_on_demand"),
        ("346", "$3.46", "unreadable_number"),
        ("8-40", "8 to 40", "unreadable_number"),
        ("NVIDIA HGX B300", "", "no_name"),
        ("NVIDIA HGX B300", "NVIDIA HGX B200", "rows_unclear"),
        ('<div class="cell"><div><p>24</p></div></div>', "", "wrong_cell_count"),
        ("Preemptible NVIDIA", "Preemptible (in euros) NVIDIA", "unknown_gpu_table"),
        ('<div class="body">', '<div class="body"><p>Prices in EUR</p>', "other_currency"),
        ('<div class="body">', '<div class="body" style="display:none">', "struck_or_hidden"),
        ("</html>", "</htm", "broken_off"),
        ('<div class="block">', f'{NEW_TABLE}<div class="block">', "unknown_gpu_table"),
    ],
)  # fmt: skip
def test_a_page_with_new_words_or_a_new_form_is_refused(old: str, new: str, code: str) -> None:
    with pytest.raises(ParseError) as refusal:
        changed(old, new)
    assert refusal.value.code == code


def test_a_page_without_an_announced_column_is_read() -> None:
    rows = TEXT
    for cell in ("GPU-hour (Effective March 15, 2027)", "$8.40", "$7.20", "$4.80", "$1.60", "from $1.50"):
        rows = rows.replace(f'<div class="cell"><div><p>{cell}</p></div></div>', "", 1)
    contact = '<div class="cell"><div><p><a href="#form">Contact us</a></p></div></div>'
    rows = rows.replace(contact * 2, contact).replace(
        '<div class="cell"><div><p>$3.35</p></div></div>' * 2,
        '<div class="cell"><div><p>$3.35</p></div></div>',
    )
    offers = parse(page("nebius", rows.encode())).offers
    assert {one.valid_from for one in offers} == {None}
    assert len(offers) == 10
