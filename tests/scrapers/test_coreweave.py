"""CoreWeave's page: what its two sets of figures guard against, and what is left out."""

import pytest

from app.domain.findings import holds
from scrapers import SCRAPERS, Parsed, ParseError
from tests.scrapers.truth import our_page, page

parse = SCRAPERS["coreweave"].parse
TEXT = our_page("coreweave").body.decode()


def changed(*changes: tuple[str, str], times: int = -1) -> Parsed:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, times)
    return parse(page("coreweave", text.encode()))


def code_of(*changes: tuple[str, str], times: int = -1) -> str:
    with pytest.raises(ParseError) as refusal:
        changed(*changes, times=times)
    return refusal.value.code


def test_offers_on_request_are_findings_with_their_region() -> None:
    found = {
        (one.evidence["name"], one.evidence["region"])
        for one in changed().findings
        if one.code == "contact_only"
    }
    assert found == {("NVIDIA HGX B300", "NORTH AMERICA"), ("NVIDIA HGX B300", "EUROPE")}


def test_machines_without_gpus_are_left_out_by_their_titles() -> None:
    assert [one.code for one in changed().findings if one.code == "left_out"] == ["left_out"]
    assert not [one for one in changed().offers if "AMD" in one.sku]


def test_a_footnote_at_the_count_is_no_digit_and_is_told_in_the_fragment() -> None:
    (offer,) = [one for one in changed().offers if "GB200" in one.sku and one.region == "Europe"]
    assert offer.gpu_count == 4
    assert "4 GPUs (footnote 1)" in offer.fragment


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("<p>$41.50</p>", "<p>$14.50</p>", "blocks_disagree"),
        ("<b>$17.36</b>", "<b>$71.36</b>", "blocks_disagree"),
        ("<b>$17.36</b>", "<b>N/A</b>", "blocks_disagree"),
        ("<p>8</p><p>GPU Count</p>", "<p>4</p><p>GPU Count</p>", "blocks_disagree"),
        ("$41.50", "$51.50", "total_disagrees"),
        ("$5.19", "$5.20", "total_disagrees"),
        ("$17.36", "$47.36", "spot_above_on_demand"),
        ("4^1", "41", "odd_count"),
        ("$41.50", "€41.50", "other_currency"),
        ("$41.50", "", "unreadable_price"),
        ("$41.50", "41.50", "unreadable_price"),
        ("$41.50", "C$41.50", "unreadable_price"),
        ("Contact sales", "Sold out", "unreadable_price"),
        ("On-Demand Price (Per Hour)", "On-Demand Price (Per Month)", "unknown_column"),
        ("Spot Price (Per Hour)", "Reserved Price (Per Hour)", "unknown_column"),
        ("/ Hour", "/ Month", "unknown_label"),
        ("Spot Price:", "Reserved Price:", "unknown_label"),
        ("REGION: EUROPE", "REGION: NORTH AMERICA", "region_unclear"),
        ("REGION: EUROPE", "Europe", "region_unclear"),
        ('role="listitem"', "", "rows_unclear"),
        ("GPU Model", "GPU", "missing_table"),
        ("Two boards of two GPUs each.", "Prices are in EUR.", "other_currency"),
        ("<p>$41.50</p>", "<p><s>$45.00</s> $41.50</p>", "struck_or_hidden"),
        ('<div role="listitem">', '<div role="listitem" hidden>', "struck_or_hidden"),
        ('class="wide name"', 'class="wide w-condition-invisible"', "struck_or_hidden"),
        ("</html>", "", "broken_off"),
        ('<div class="narrow right">', '<div class="narrow right"><p>soon</p>', "unknown_label"),
        ("<h3>NVIDIA L40S</h3>", "<h3>NVIDIA HGX H100</h3>", "duplicate_row"),
    ],
)  # fmt: skip
def test_a_page_that_contradicts_itself_or_uses_new_words_is_refused(old: str, new: str, code: str) -> None:
    assert code_of((old, new)) == code


def test_another_count_in_one_region_is_refused() -> None:
    europe = TEXT.index("REGION: EUROPE")
    text = TEXT[:europe] + TEXT[europe:].replace("<p>8</p>", "<p>4</p>")
    with pytest.raises(ParseError) as refusal:
        parse(page("coreweave", text.encode()))
    assert refusal.value.code == "regions_disagree"


def test_a_new_region_holds_the_run() -> None:
    parsed = changed(("REGION: EUROPE", "REGION: ASIA"))
    assert "unknown_region" in {one.code for one in parsed.findings}
    assert holds(parsed.findings)


def test_memory_of_another_card_holds_the_run() -> None:
    parsed = changed(("<p>80</p>", "<p>141</p>"))
    assert "memory_mismatch" in {one.code for one in parsed.findings}
    assert holds(parsed.findings)


def test_a_price_below_another_name_is_kept_as_unknown() -> None:
    parsed = changed(("NVIDIA L40S", "NVIDIA L40S Ultra"))
    assert {one.accelerator for one in parsed.offers if one.sku == "NVIDIA L40S Ultra"} == {None}
    assert "unknown_accelerator" in {one.code for one in parsed.findings}


def test_a_new_footnote_is_reported_and_the_value_kept() -> None:
    parsed = changed(("$17.36", "$17.36^7"))
    assert "unknown_footnote" in {one.code for one in parsed.findings}
    assert parsed.offers[7].list_price == changed().offers[7].list_price


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (' class="', ' data-x="'),
        ("<section>", "<article>"),
        ("$41.50", "$<!-- -->41.50"),
        ("$41.50", "\u00a0$ 41.50\n"),
        ("<div", "\n<div"),
        ("4^1", "4<sup>1</sup>"),
        ("REGION: EUROPE", "REGION: Europe"),
    ],
)
def test_a_change_of_dress_changes_nothing(old: str, new: str) -> None:
    assert [str(one.list_price) for one in changed((old, new)).offers] == [
        str(one.list_price) for one in changed().offers
    ]
