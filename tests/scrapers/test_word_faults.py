"""Faults that happened to readers of these pages, and what must come of each: refused, held, or right."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from app.domain.findings import holds
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind, usd_per_gpu_hour
from app.ingest.checks import check_offers
from scrapers import SCRAPERS, Parsed, ParseError
from scrapers.surfaces import disagreements
from tests.scrapers.surfaces import changed, our_text, read


def refused(name: str, *changes: tuple[str, str], times: int = -1) -> str:
    with pytest.raises(ParseError) as refusal:
        changed(name, *changes, times=times)
    return refusal.value.code


def is_held(provider: str, parsed: Parsed) -> bool:
    expect = replace(SCRAPERS[provider].expect, min_offers=1, anchors=())
    return holds((*parsed.findings, *check_offers(parsed.offers, expect)))


def codes(parsed: Parsed) -> set[str]:
    return {finding.code for finding in parsed.findings}


def prices(parsed: Parsed, sku: str) -> set[str]:
    return {f"{usd_per_gpu_hour(one):f}" for one in parsed.offers if one.sku == sku}


def only(parsed: Parsed, sku: str) -> Offer:
    found = [one for one in parsed.offers if one.sku == sku]
    assert len(found) == 1
    return found[0]


# ---------------------------------------------------------------- units


def test_modals_figure_for_a_second_under_the_word_hour_is_refused() -> None:
    assert refused("modal", ("/ sec</span></p><!--]-->", "/ hr</span></p><!--]-->")) == "odd_decimals"


def test_modals_figure_for_an_hour_under_the_word_second_is_refused() -> None:
    assert refused("modal", ("$0.001812", "$6.52")) == "odd_decimals"
    assert is_held("modal", changed("modal", ("$0.001812", "$6.52320")))


def test_modals_page_switched_to_hours_gives_the_same_prices() -> None:
    hours = [('$0.000231 <span class="s1">/ sec', '$0.83 <span class="s1">/ hour')]
    offer = only(changed("modal", *hours), "Nvidia L4")
    assert (offer.price_basis, offer.list_price) == (PriceBasis.GPU_HOUR, Decimal("0.83"))


@pytest.mark.parametrize("unit", ["/ min", "/ day", "/ month", "/ core / sec", "/ GiB / sec", "", "each"])
def test_modals_price_with_another_unit_is_refused(unit: str) -> None:
    assert refused("modal", ("/ sec</span></p><!--]-->", f"{unit}</span></p><!--]-->")) == "unknown_unit"


@pytest.mark.parametrize("name", ["modal", "together", "deepinfra", "fireworks", "baseten", "lambda"])
@pytest.mark.parametrize(
    "form", ["€{}", "{} EUR", "{}¢", "was ${}", "${} ${}", "~${}", "up to ${}", "TBD", "${}+", "-${}"]
)
def test_a_price_in_another_form_is_refused(name: str, form: str) -> None:
    sign, figure = {
        "modal": ("$", "0.001812"), "together": ("$", "3.59"), "deepinfra": ("$", "2.12"),
        "fireworks": ("$", "7.10"), "baseten": ("\\$", "0.10765"), "lambda": ("$", "6.59"),
    }[name]  # fmt: skip
    assert refused(name, (sign + figure, form.replace("$", sign).format(figure, figure)))


@pytest.mark.parametrize(
    ("name", "price", "zero"),
    [
        ("modal", "$0.001812", "$0.000000"), ("together", "$3.59", "$0.00"), ("deepinfra", "$2.12", "$0.00"),
        ("fireworks", "$7.10", "$0.00"), ("baseten", "0.10765", "0.00000"), ("lambda", "$6.59", "$0.00"),
        ("runpod-serverless", "$0.00151", "$0.00000"), ("vast", '"dph_total": 0.28,', '"dph_total": 0,'),
    ],
)  # fmt: skip
def test_a_price_fallen_to_zero_is_refused(name: str, price: str, zero: str) -> None:
    assert refused(name, (price, zero)) == "zero_price"


def test_lambdas_cents_are_never_dollars() -> None:
    api = read("lambda-api", our_text("lambda-api"))
    assert only(api, "gpu_8x_h100_sxm5").list_price == Decimal("31.12")
    assert prices(api, "gpu_8x_h100_sxm5") == {"3.89"}
    assert (
        refused("lambda-api", ('"price_cents_per_hour": 3112', '"price_cents_per_hour": 31.12'))
        == "wrong_kind"
    )
    assert (
        refused("lambda-api", ('"price_cents_per_hour": 3112', '"price_cents_per_hour": 0')) == "wrong_kind"
    )
    assert refused("lambda-api", ('"price_cents_per_hour": 3112', '"price_per_hour": 31.12')) == "wrong_kind"


@pytest.mark.parametrize("name", ["together", "lambda", "deepinfra"])
def test_a_figure_in_cents_on_a_page_in_dollars_is_refused(name: str) -> None:
    price = {"together": "$3.59", "lambda": "$6.59", "deepinfra": "$2.12"}[name]
    assert refused(name, (price, price.replace(".", ""))) == "odd_decimals"


# ---------------------------------------------------------------- Fireworks


def minutes(*figures: str) -> str:
    head = "<tr><th>GPU Type</th><th>Price ($) per minute</th></tr>"
    names = ("H100 80 GB GPU", "B200 180 GB GPU")
    rows = "".join(
        f"<tr><td>{name}</td><td>${figure}</td></tr>" for name, figure in zip(names, figures, strict=True)
    )
    return f"<html><body><h2>On demand deployments</h2><table>{head}{rows}</table></body></html>"


def hours(*figures: str) -> str:
    return minutes(*figures).replace("Price ($) per minute", "$ / hour (billed per second)")


def test_fireworks_title_turning_to_minutes_keeps_the_price() -> None:
    per_minute, per_hour = (
        read("fireworks", minutes("0.134", "0.217")),
        read("fireworks", hours("8.00", "13.00")),
    )
    assert {one.price_basis for one in per_minute.offers} == {PriceBasis.GPU_MINUTE}
    assert prices(per_minute, "H100 80 GB GPU") == {"8.04"}
    assert prices(per_minute, "B200 180 GB GPU") == {"13.02"}
    assert prices(per_hour, "H100 80 GB GPU") == {"8"}
    assert list(disagreements(per_minute.offers, per_hour.offers)) == []
    assert all("rounded" in " ".join(one.assumptions) for one in per_minute.offers)
    expect = replace(SCRAPERS["fireworks"].expect, min_offers=1, anchors=())
    assert check_offers(per_minute.offers, expect, previous=per_hour.offers) == ()


def test_fireworks_figures_and_title_of_different_units_are_refused() -> None:
    for page in (minutes("8.00", "13.00"), hours("0.134", "0.217")):
        with pytest.raises(ParseError) as refusal:
            read("fireworks", page)
        assert refusal.value.code == "odd_decimals"


@pytest.mark.parametrize("title", ["Price ($) per second", "Price", "$ / day", "Price (€) per hour"])
def test_fireworks_title_without_a_known_unit_is_refused(title: str) -> None:
    with pytest.raises(ParseError) as refusal:
        read("fireworks", hours("8.00", "13.00").replace("$ / hour (billed per second)", title))
    assert refusal.value.code in {"unknown_column", "unknown_unit", "other_currency"}


@pytest.mark.parametrize(
    ("day", "starts"),
    [
        (date(2026, 11, 30), {None: "7.1", date(2026, 12, 1): "8.2"}),
        (date(2026, 12, 1), {date(2026, 12, 1): "8.2"}),
        (date(2027, 1, 15), {date(2026, 12, 1): "8.2"}),
    ],
)
def test_fireworks_column_until_a_day_ends_with_it(day: date, starts: dict[date | None, str]) -> None:
    at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    parsed = read("fireworks", our_text("fireworks"), at=at)
    found = {
        one.valid_from: f"{usd_per_gpu_hour(one):f}" for one in parsed.offers if one.sku == "H100 80 GB GPU"
    }
    assert found == starts
    assert ("left_out" in codes(parsed)) is (None not in starts)


# ---------------------------------------------------------------- Together AI


def test_togethers_hidden_column_is_preemptible_and_never_the_price_on_demand() -> None:
    shown = changed("together", (' class="hide"', ""))
    hidden = changed("together")
    assert [replace(one, fragment="") for one in shown.offers] == [
        replace(one, fragment="") for one in hidden.offers
    ]
    spot = {f"{one.list_price}" for one in hidden.offers if one.pricing_model is PricingModel.SPOT}
    assert spot == {"1.89", "2.89", "4.19"}
    on_demand = {f"{one.list_price}" for one in hidden.offers if one.pricing_model is PricingModel.ON_DEMAND}
    assert not spot & on_demand


def test_togethers_preemptible_table_without_titles_is_read_by_its_heading() -> None:
    table = "<h3>Preemptible Compute</h3><table><tr><td>NVIDIA HGX H100</td><td>$1.89</td></tr></table>"
    block = f'<div class="hide">{table}</div>'
    same = changed("together", ("<h2>Sandbox</h2>", f"{block}<h2>Sandbox</h2>"))
    assert len(same.offers) == len(changed("together").offers)
    other = block.replace("$1.89", "$1.79")
    assert refused("together", ("<h2>Sandbox</h2>", f"{other}<h2>Sandbox</h2>")) == "says_two_things"


def test_togethers_two_products_keep_their_own_price_under_one_name() -> None:
    found = {
        (one.service_kind, one.gpu_count): one.list_price
        for one in changed("together").offers
        if one.sku == "NVIDIA HGX H100" and one.pricing_model is PricingModel.ON_DEMAND
    }
    assert found == {
        (ServiceKind.DEDICATED_DEPLOYMENT, 1): Decimal("5.29"),
        (ServiceKind.INSTANCE, 8): Decimal("3.89"),
    }


def test_togethers_price_on_demand_under_a_heading_of_other_terms_is_refused() -> None:
    for heading in ("Preemptible Compute", "Reserved"):
        assert refused("together", ("<h3>On-demand</h3>", f"<h3>{heading}</h3>")) == "terms_disagree"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("7-30 days", "7-30 weeks", "unknown_column"),
        ("7-30 days", "30-7 days", "unknown_column"),
        ("<th>Hourly</th>", "<th>Monthly</th>", "unknown_column"),
        ("<td>Contact us</td></tr>\n</tbody>", "<td>$2.49</td></tr>\n</tbody>", "unknown_term"),
        ("<td>Contact sales</td>", "<td>$4.49</td>", "unknown_term"),
        ("<td>$3.59</td>", "<td>Soon</td>", "unreadable_price"),
        ("<td>$3.59</td>", "", "wrong_cell_count"),
        ("<td>$3.89</td><td>$3.59</td>", "<td>$3.99</td><td>$3.59</td>", "says_two_things"),
        ("<td>$3.89</td><td>$3.59</td>", "<td><s>$3.89</s> $3.49</td><td>$3.59</td>", "struck_or_hidden"),
        ("<h2>Dedicated Inference</h2>", "<h2>Dedicated Inference (EUR)</h2>", ""),
    ],
)
def test_togethers_words_nobody_has_met_are_refused(old: str, new: str, code: str) -> None:
    if code:
        assert refused("together", (old, new)) == code
        return
    kinds = {one.service_kind for one in changed("together", (old, new)).offers}
    assert kinds == {ServiceKind.INSTANCE}


def test_togethers_offers_without_a_price_are_findings() -> None:
    found = {one.evidence["name"] for one in changed("together").findings if one.code == "contact_only"}
    assert {"NVIDIA GB200 NVL72", "NVIDIA HGX H100"} <= found


# ---------------------------------------------------------------- Baseten


def test_basetens_old_h100_price_is_not_taken_for_its_b200() -> None:
    parsed = changed("baseten", ("0.10765", "0.16540"))
    assert prices(parsed, "H100") == {"9.924"}
    assert prices(parsed, "B200") == {"9.9258"}
    assert {one.sku: one.family for one in parsed.offers if one.sku in {"H100", "B200"}} == {
        "H100": "h100",
        "B200": "b200",
    }


def test_basetens_slice_is_no_h100() -> None:
    offer = only(changed("baseten"), "H100MIG")
    assert (offer.accelerator, offer.slice_of) == (None, "h100-sxm")
    assert not offer.variant_assumed


def test_basetens_machines_without_gpus_are_no_offers() -> None:
    assert not {one.sku for one in changed("baseten").offers} & {"1x2", "4x16"}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("| \\$/min    | vCPU | RAM     |", "| \\$/month  | vCPU | RAM     |", "unknown_column"),
        ("8 NVIDIA H100s", "4 NVIDIA H100s", "counts_disagree"),
        ("2 NVIDIA L4s", "NVIDIA L4", "counts_disagree"),
        ("640 GiB", "lots", "unreadable_number"),
        ("0.86120", "0.86", "odd_decimals"),
        ("## GPU Instances", "## GPU Instances (prices in EUR)", "other_currency"),
    ],
)
def test_basetens_rows_that_contradict_themselves_are_refused(old: str, new: str, code: str) -> None:
    assert refused("baseten", (old, new)) == code


def test_basetens_name_with_the_memory_of_another_card_is_held() -> None:
    parsed = changed("baseten", ("1 NVIDIA B200          | 180 GiB", "1 NVIDIA B200          | 96 GiB"))
    assert only(parsed, "B200").accelerator is None
    assert is_held("baseten", parsed)


# ---------------------------------------------------------------- DeepInfra


def test_deepinfras_figure_is_a_gpu_price_in_one_table_and_a_token_price_in_another() -> None:
    text = our_text("deepinfra").replace("$0.92", "$0.89")
    assert text.count("$0.89") == 3
    parsed = read("deepinfra", text)
    assert [one.sku for one in parsed.offers if one.list_price == Decimal("0.89")] == ["A100 80GB"]
    assert {one.family for one in parsed.offers} == {"a100", "h100", "h200", "b200"}


@pytest.mark.parametrize("unit", ["", "/ GPU-minute", "/ 1M tokens", "/ hour", "/ month"])
def test_deepinfras_price_without_the_unit_is_refused(unit: str) -> None:
    assert refused("deepinfra", ("/ GPU-hour", unit)) == "unknown_unit"


def test_deepinfras_page_without_the_gpu_table_is_refused() -> None:
    assert (
        refused("deepinfra", ("<th>GPU</th><th>Memory</th>", "<th>Model</th><th>Context</th>"))
        == "missing_table"
    )


@pytest.mark.parametrize("memory", ["96GB", "480GB"])
def test_a_gh200_under_the_name_h200_is_held(memory: str) -> None:
    parsed = changed("deepinfra", ("<td>141GB</td>", f"<td>{memory}</td>"))
    offer = only(parsed, f"H200 {memory}")
    assert (offer.accelerator, offer.variant_assumed) == (None, False)
    assert "memory_mismatch" in codes(parsed)
    assert is_held("deepinfra", parsed)


def test_a_gh200_under_the_name_h200_at_lambda_is_nobodys_h200() -> None:
    parsed = changed("lambda", ("<th>NVIDIA GH200</th>", "<th>NVIDIA H200</th>"))
    assert only(parsed, "NVIDIA H200 96 GB").accelerator is None
    assert "unknown_accelerator" in codes(parsed)
    swapped = changed("lambda-api", ("gpu_1x_gh200", "gpu_1x_h200"))
    assert only(swapped, "gpu_1x_h200").accelerator is None
    assert "names_disagree" in codes(changed("lambda-api", ("GH200 (96 GB)", "H200 (96 GB)")))


# ---------------------------------------------------------------- Lambda


def test_lambdas_number_of_gpus_is_taken_from_the_tab() -> None:
    counts = {
        one.gpu_count for one in changed("lambda").offers if one.pricing_model is PricingModel.ON_DEMAND
    }
    assert counts == {8, 4, 2, 1}
    assert prices(changed("lambda"), "NVIDIA H100 SXM 80 GB") == {"3.89", "3.99", "4.09", "4.19"}


def test_lambdas_tables_behind_each_others_tabs_are_refused() -> None:
    assert refused("lambda", (">4x<", ">9<"), (">2x<", ">4x<"), (">9<", ">2x<")) == "tabs_disagree"


def test_togethers_longer_term_that_costs_more_is_held() -> None:
    swapped = changed("together", ("$3.59", "$X"), ("$3.35", "$3.59"), ("$X", "$3.35"))
    assert "dear_term" in codes(swapped)
    assert is_held("together", swapped)


FIFTH_TABLE = (
    "<table><tr><th>Plan</th><th>VRAM/GPU</th><th>PRICE/GPU/HR*</th></tr>"
    "<tr><td>NVIDIA A10</td><td>24 GB</td><td>$1.09</td></tr></table>"
)


@pytest.mark.parametrize(
    "change",
    [
        ('<button id="tab-a">8x</button>', ""),
        (">8x<", ">Large<"),
        (">8x<", ">8x</button><button>16x<"),
        ("<h2>1-Click", f"{FIFTH_TABLE}<h2>1-Click"),
    ],
)
def test_lambdas_tables_that_no_tab_tells_apart_are_refused(change: tuple[str, str]) -> None:
    assert refused("lambda", change) == "no_gpu_count"


def test_lambdas_two_plans_of_one_name_are_told_by_their_memory() -> None:
    found = {one.accelerator: one.list_price for one in changed("lambda").offers if "A100" in one.sku}
    assert found == {"a100-sxm-80": Decimal("2.69"), "a100-sxm-40": Decimal("1.89")}


def test_lambdas_clusters_are_commitments_and_never_on_demand() -> None:
    clusters = [one for one in changed("lambda").offers if one.tier]
    assert {(one.min_gpus, one.term_days_min, one.term_days_max) for one in clusters} == {
        (16, 14, 365), (64, 14, 365), (256, 14, 365),
    }  # fmt: skip
    assert {one.pricing_model for one in clusters} == {PricingModel.RESERVED}
    without_term = changed("lambda", ("(2 weeks to 1 year)", ""))
    assert not [one for one in without_term.offers if one.tier]
    assert "left_out" in codes(without_term)


def test_lambdas_announced_prices_start_on_their_day() -> None:
    old = "<th>PRICE/GPU/HR*</th>"
    new = "<th>PRICE/GPU/HR* (until November 30)</th><th>PRICE/GPU/HR* (from December 1)</th>"
    text = our_text("lambda").replace(old, new)
    first, second, rest = text.partition("<h2>1-Click")
    lines = [line.replace("</td></tr>", "</td><td>$9.99</td></tr>") for line in first.splitlines()]
    parsed = read("lambda", "\n".join(lines) + second + rest)
    starts = {one.valid_from for one in parsed.offers if one.list_price == Decimal("9.99")}
    assert starts == {date(2026, 12, 1)}
    assert {one.valid_from for one in parsed.offers if one.list_price == Decimal("6.59")} == {None}


# ---------------------------------------------------------------- RunPod serverless and Vast.ai


def test_runpods_row_of_several_gpus_has_no_accelerator() -> None:
    parsed = changed("runpod-serverless")
    pool = only(parsed, "L4, A5000, 3090")
    assert (pool.accelerator, pool.family) == (None, None)
    assert any("pool" in note for note in pool.assumptions)
    assert refused("runpod-serverless", ("Cost per second", "Cost per hour")) == "unknown_column"


def test_vasts_price_is_for_all_gpus_of_an_offer() -> None:
    found = {one.tier: usd_per_gpu_hour(one) for one in changed("vast").offers if one.gpu_count == 2}
    assert found == {"min": Decimal("0.55"), "median": Decimal("0.75")}


def test_vasts_kinds_with_fewer_than_five_offers_are_kept_as_findings() -> None:
    parsed = changed("vast")
    assert not [one for one in parsed.offers if one.family == "h200"]
    thin = [one.evidence for one in parsed.findings if one.code == "too_few_asks"]
    assert thin == [{"name": "H200 141 GB", "gpus": "1", "asks": "2.61, 4.8"}]


def test_vasts_offer_without_gpus_is_left_out_and_named() -> None:
    parsed = changed("vast")
    assert "gpu_count_zero" in codes(parsed)
    assert not [one for one in parsed.offers if one.family == "h100"]


def test_vasts_statistics_say_which_they_are_and_of_how_many() -> None:
    for offer in changed("vast").offers:
        assert f"{offer.tier} {offer.list_price} of " in offer.fragment
        assert any(" asks of hosts" in note for note in offer.assumptions)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"gpu_ram": 24564', '"gpu_ram": 24', "wrong_kind"),
        ('"gpu_ram": 24564', '"gpu_ram": "24564"', "wrong_kind"),
        ('"num_gpus": 2', '"num_gpus": 1.5', "wrong_kind"),
        ('"dph_total": 0.28', '"dph_total": "0.28"', "wrong_kind"),
        ('"dph_total": 0.28', '"dph": 0.28', "wrong_kind"),
        ('"gpu_name": "RTX 4090"', '"gpu_name": null', "wrong_kind"),
        ('{"offers": [', '{"asks": [', "no_offers"),
    ],
)
def test_vasts_answer_of_another_kind_is_refused(old: str, new: str, code: str) -> None:
    assert refused("vast", (old, new)) == code


def test_vasts_offer_that_comes_twice_counts_once() -> None:
    first = '{"id": 1000, "gpu_name": "A100 SXM4", "gpu_ram": 39936, "num_gpus": 2, "dph_total": 1.1'
    again = changed("vast", ('{"offers": [', '{"offers": [' + first + "},"))
    assert [replace(one, fragment="") for one in again.offers] == [
        replace(one, fragment="") for one in changed("vast").offers
    ]


# ---------------------------------------------------------------- assumed variants


def test_a_variant_is_assumed_only_where_the_provider_gives_a_reason() -> None:
    assumed = only(changed("deepinfra"), "H100 80GB")
    assert assumed.variant_assumed
    assert any("form factor" in note for note in assumed.assumptions)
    assert not only(changed("baseten"), "H100").variant_assumed
    named = only(changed("modal"), "Nvidia H100 SXM5")
    assert (named.accelerator, named.variant_assumed) == ("h100-sxm", False)


def test_a_94_gb_h100_is_not_assumed_to_be_the_sxm_of_80() -> None:
    offer = only(
        changed("deepinfra", ("<td>H100</td><td>80GB</td>", "<td>H100</td><td>94GB</td>")), "H100 94GB"
    )
    assert (offer.accelerator, offer.variant_assumed) == ("h100-nvl", False)


def test_an_unknown_name_is_kept_as_unknown_and_named() -> None:
    parsed = changed("modal", ("Nvidia L40S", "Nvidia Q9"))
    assert only(parsed, "Nvidia Q9").accelerator is None
    assert "unknown_accelerator" in codes(parsed)
    assert not holds(parsed.findings)
