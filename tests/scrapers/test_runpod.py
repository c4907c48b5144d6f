"""RunPod's answer: what counts as a price, and what is refused."""

import json
from typing import Any

import pytest

from app.domain.findings import Level, holds
from scrapers import SCRAPERS, Parsed, ParseError
from tests.scrapers.truth import our_page, page

parse = SCRAPERS["runpod"].parse


def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(our_page("runpod").body)["data"]["gpuTypes"]
    return found


def answer(gpu_types: list[dict[str, Any]]) -> Parsed:
    return parse(page("runpod", json.dumps({"data": {"gpuTypes": gpu_types}}).encode()))


def changed(**fields: Any) -> Parsed:
    """Parse an answer whose first entry, the H100 SXM, has other fields."""
    return answer([entries()[0] | fields, *entries()[1:]])


def codes(parsed: Parsed) -> set[str]:
    return {finding.code for finding in parsed.findings}


def test_the_query_asks_for_every_field_that_is_read() -> None:
    request = SCRAPERS["runpod"].requests[0]
    query = json.loads(request.body)["query"]
    for key in entries()[0]:
        assert f" {key} " in query
    assert request.method == "POST"


def test_a_cloud_that_does_not_sell_leaves_no_offer_and_a_finding() -> None:
    left = [one for one in parse(our_page("runpod")).findings if one.code == "leftover_price"]
    assert {(one.evidence["id"], one.evidence["communityPrice"]) for one in left} == {
        ("NVIDIA H200", "0.5"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb", "0.5"),
    }
    assert {one.level for one in left} == {Level.INFO}


def test_a_placeholder_is_reported() -> None:
    assert [
        one.evidence["id"] for one in parse(our_page("runpod")).findings if one.code == "placeholder"
    ] == ["unknown"]


def test_an_unknown_gpu_is_kept_and_reported() -> None:
    found = [one for one in parse(our_page("runpod")).findings if one.code == "unknown_accelerator"]
    assert [(one.level, one.evidence["name"]) for one in found] == [
        (Level.WARNING, "NVIDIA Rubin Test Board")
    ]


def test_a_sold_gpu_without_a_price_is_reported() -> None:
    parsed = changed(securePrice=0)
    assert "sold_without_price" in codes(parsed)
    assert not [one for one in parsed.offers if one.sku == "NVIDIA H100 80GB HBM3" and one.tier == "secure"]


def test_memory_of_another_card_takes_the_accelerator_away_and_holds_the_run() -> None:
    parsed = changed(memoryInGb=96)
    assert "memory_mismatch" in codes(parsed)
    assert holds(parsed.findings)
    assert {one.accelerator for one in parsed.offers if one.sku == "NVIDIA H100 80GB HBM3"} == {None}


@pytest.mark.parametrize("name", ["H200 SXM", "H100 PCIe", "GH100 SXM"])
def test_a_display_name_of_another_gpu_holds_the_run(name: str) -> None:
    parsed = changed(displayName=name)
    assert "names_disagree" in codes(parsed)
    assert holds(parsed.findings)


def test_clouds_the_wrong_way_round_hold_the_run() -> None:
    swapped = [
        one | {"securePrice": one["communityPrice"], "communityPrice": one["securePrice"]}
        for one in entries()
    ]
    assert "clouds_swapped" in codes(answer(swapped))


def test_a_slice_dearer_than_its_card_holds_the_run() -> None:
    dear = [one | {"securePrice": 55.0} if "MIG" in one["id"] else one for one in entries()]
    assert holds(answer(dear).findings)


def test_an_unread_field_is_a_finding_unless_it_is_on_the_ignore_list() -> None:
    assert "unread_field" in codes(changed(priceInRubles=300))
    assert "unread_field" not in codes(changed(secureSpotPrice=1.2))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"securePrice": "3.05"}, "wrong_kind"),
        ({"securePrice": None}, "wrong_kind"),
        ({"securePrice": -1}, "wrong_kind"),
        ({"securePrice": True}, "wrong_kind"),
        ({"memoryInGb": "80"}, "wrong_kind"),
        ({"secureCloud": "true"}, "wrong_kind"),
        ({"secureCloud": 1}, "wrong_kind"),
        ({"id": None}, "wrong_kind"),
        ({"displayName": ""}, "wrong_kind"),
        ({"id": "NVIDIA B200"}, "duplicate_row"),
    ],
)
def test_a_value_of_another_kind_is_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(ParseError) as refusal:
        changed(**fields)
    assert refusal.value.code == code


@pytest.mark.parametrize("flag", ["secureCloud", "communityCloud"])
def test_an_answer_without_the_flags_is_refused_and_says_what_to_ask_for(flag: str) -> None:
    with pytest.raises(ParseError, match="ask for secureCloud and communityCloud") as refusal:
        answer([{key: value for key, value in one.items() if key != flag} for one in entries()])
    assert refusal.value.code == "missing_cloud_flags"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"errors": [{"message": "rate limited"}], "data": null}', "graphql_error"),
        (b'{"data": {"gpuTypes": []}}', "no_gpu_types"),
        (b'{"data": {"gpuTypes": [1]}}', "no_gpu_types"),
        (b'{"data": {}}', "no_gpu_types"),
        (b'{"gpuTypes": []}', "not_graphql"),
        (b'{"data": {"gpuTypes": [{"id": "a", "id": "b"}]}}', "not_json"),
        (b'{"data": NaN}', "not_json"),
        (b"[" * 100_000, "not_json"),
    ],
)
def test_what_is_no_good_answer_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(ParseError) as refusal:
        parse(page("runpod", body))
    assert refusal.value.code == code
