"""A draft's ceiling stands beside the plain one on page, arithmetic and JSON, and says where it loses."""

import json
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from tests.web.reading import get
from tests.web.test_llms import DEEPSEEK, LLAMA
from tests.web.test_llms import table as table
from tests.web.test_llms_config import SMALL, paste

LENGTH = "draft_depth=3&draft_tokens=2.49&draft_counts=with_bonus"
ONE = f"context=0&batch=1&cards=8&gpu=h200-sxm&{LENGTH}"


def speculation(table: TestClient, model: str, query: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(get(table, f"{model}.json?{query}"))["speculation"]
    return found


def drafted(html: str) -> list[list[str]]:
    lines = LexborHTMLParser(html).css("#drafted tbody tr")
    return [[cell.text() for cell in line.css("th, td")] for line in lines]


def test_a_mixture_of_experts_loses_at_one_request(table: TestClient) -> None:
    """DeepSeek-V3 in fp8 on eight H200, 38.4 TB/s: 16.191 GB and 8/256 of 653.909 take 0.9538 ms.

    Four tokens touch 1 - (31/32)^4 = 11.926 % of the experts, 3.816 times 8/256: 2.4525 ms for 2.49 tokens.
    """
    found = speculation(table, DEEPSEEK, ONE)
    [bound] = found["bounds"]
    assert (found["tokens_per_pass"], found["draft_share"]) == (2.49, 0)
    assert (bound["accelerator"], bound["batch"], bound["gpus"]) == ("h200-sxm", 1, 8)
    assert bound["tokens_per_s"] == pytest.approx(1048.447, rel=1e-5)
    assert bound["tokens_per_s_with_draft"] == pytest.approx(1015.27, rel=1e-5)
    assert bound["routed_bytes_times"] == pytest.approx(3.81638, rel=1e-5)
    assert bound["times"] == pytest.approx(0.96836, rel=1e-5)
    assert bound["loses"] is True
    # What the routed part alone would come to: the 0.65 of the published shape.
    assert 2.49 / bound["routed_bytes_times"] == pytest.approx(0.6525, abs=5e-5)
    assert drafted(get(table, f"{DEEPSEEK}?{ONE}")) == [
        [
            "8 \N{MULTIPLICATION SIGN} H200 SXM 141 GB",
            *("1", "2.49", "1,048.4", "1,015.3", "0.968"),
            (
                "loses: a pass gives 2.49 tokens a request and takes 2.57 times as long as a plain "
                "step; it reads 3.82 times the bytes of routed experts; memory-bound"
            ),
        ]
    ]


def test_a_dense_model_gains_all_tokens_alone_and_loses_in_a_large_batch(table: TestClient) -> None:
    """At 512 requests operations bind with and without: 3.02 tokens for five times as many, 0.604."""
    query = "context=0&batch=1,512&gpu=h200-sxm&draft_depth=4&draft_tokens=3.02&draft_counts=with_bonus"
    alone, many = speculation(table, LLAMA, query)["bounds"]
    assert alone["times"] == pytest.approx(3.02)
    assert (alone["loses"], alone["routed_bytes_times"], alone["bound_by"]) == (False, None, "memory")
    assert many["times"] == pytest.approx(0.604)
    assert (many["loses"], many["bound_by"]) == (True, "compute")
    said = [line[-1] for line in drafted(get(table, f"{LLAMA}?{query}"))]
    assert [each.replace("a pass gives 3.02 tokens a request and takes ", "") for each in said] == [
        "gains: 1.00 times as long as a plain step; memory-bound",
        "loses: 5.00 times as long as a plain step; compute-bound",
    ]


@pytest.mark.parametrize(("share", "times"), [("0.02", 2.7963), ("0.05", 2.5167), ("0.127", 2.0027)])
def test_drafting_takes_the_time_that_is_stated(table: TestClient, share: str, times: float) -> None:
    """3.02 over 1 + 4 x share."""
    query = "context=0&batch=1&gpu=h200-sxm&draft_depth=4&draft_tokens=3.02&draft_counts=with_bonus"
    query += f"&draft_share={share}"
    [bound] = speculation(table, LLAMA, query)["bounds"]
    assert bound["times"] == pytest.approx(times, abs=5e-5)
    assert f"drafting a token takes {share} of a plain step" in get(table, f"{LLAMA}?{query}")


def test_both_countings_of_one_length_are_one_ceiling_and_are_named(table: TestClient) -> None:
    without = ONE.replace("2.49", "1.49").replace("with_bonus", "without_bonus")
    assert speculation(table, DEEPSEEK, ONE)["bounds"] == speculation(table, DEEPSEEK, without)["bounds"]
    page = get(table, f"{DEEPSEEK}?{without}")
    assert "3 tokens deep; 1.49 accepted without the bonus token, so with it 2.49 tokens a pass" in page
    assert "drafting a token takes no time, as nobody stated one" in page
    form = LexborHTMLParser(page)
    assert form.css_first("[name=draft_counts] [selected]").attributes["value"] == "without_bonus"
    assert form.css_first("[name=draft_depth]").attributes["value"] == "3"
    assert form.css_first("[name=draft_tokens]").attributes["value"] == "1.49"
    with_it = get(table, f"{DEEPSEEK}?{ONE}")
    assert "2.49 tokens a pass, the bonus token, the model&#39;s own that each pass gives, among" in with_it


def test_the_arithmetic_has_the_pass_and_money_is_as_without(table: TestClient) -> None:
    page = LexborHTMLParser(get(table, f"{DEEPSEEK}?{ONE}"))
    href = page.css_first("table.costs td.open a").attributes["href"] or ""
    assert LENGTH in href
    rows = {
        row.css_first("th").text(): [cell.text().strip() for cell in row.css("td")]
        for row in LexborHTMLParser(get(table, href)).css(".worked tbody tr")
    }
    # (16.190969 + 653.908771 x 0.119261742) / 8 GB at 4.8 TB/s.
    value, how = rows["Weights read by a pass of the draft, each GPU"]
    assert value == "11.77 GB"
    assert how.startswith("(16.19 + 653.91 \N{MULTIPLICATION SIGN} 11.93 %) \N{DIVISION SIGN} 8")
    assert rows["Time to verify"][0] == rows["Time of a pass"][0] == "2.4525 ms"
    value, how = rows["Ceiling with the draft"]
    assert value == "1,015.3 tokens/s"
    assert how.startswith("1 \N{MULTIPLICATION SIGN} 2.49 \N{DIVISION SIGN} 2.4525 ms loses: ")
    plain = json.loads(get(table, f"{DEEPSEEK}.json?{ONE.removesuffix('&' + LENGTH)}"))
    assert plain["speculation"] is None
    assert plain["offers"] == json.loads(get(table, f"{DEEPSEEK}.json?{ONE}"))["offers"]


def test_what_does_not_fit_has_no_ceiling_with_a_draft_either(table: TestClient) -> None:
    query = f"kv=fp8&context=4096&batch=128&cards=1&gpu=h200-sxm&{LENGTH}"
    [bound] = speculation(table, LLAMA, query)["bounds"]
    figures = {key: bound[key] for key in bound if key not in {"accelerator", "batch", "why"}}
    assert set(figures.values()) == {None}
    assert bound["why"]
    assert drafted(get(table, f"{LLAMA}?{query}")) == [
        ["H200 SXM 141 GB", "128", "does not fit 1 GPU: 23.78 GB too much"]
    ]


def test_without_a_draft_there_is_no_section(table: TestClient) -> None:
    assert drafted(get(table, f"{LLAMA}?batch=1")) == []
    assert "Speculative decoding, against" not in get(table, LLAMA)


def test_a_pasted_config_has_it_too(table: TestClient) -> None:
    fields = {"context": "0", "batch": "1", "gpu": "h200-sxm", "draft_depth": "4", "draft_tokens": "3.02"}
    [line] = drafted(paste(table, SMALL, draft_counts="with_bonus", **fields).text)
    assert (line[2], line[5]) == ("3.02", "3.020")
    assert paste(table, SMALL, **fields).status_code == 422


@pytest.mark.parametrize(
    ("asked", "field", "hint"),
    [
        ("draft_depth=3", "draft_tokens", "give draft_tokens and draft_counts too"),
        ("draft_depth=3&draft_tokens=2.49", "draft_counts", "give draft_counts too"),
        ("draft_tokens=2.49&draft_counts=with_bonus", "draft_depth", "give draft_depth too"),
        ("draft_share=0.1", "draft_depth", "give draft_depth and draft_tokens and draft_counts too"),
        ("draft_depth=17&draft_tokens=2&draft_counts=with_bonus", "draft_depth", "16"),
        ("draft_depth=3&draft_tokens=4.1&draft_counts=with_bonus", "draft_tokens", "from 1 to 4"),
        ("draft_depth=3&draft_tokens=0.9&draft_counts=with_bonus", "draft_tokens", "from 1 to 4"),
        ("draft_depth=3&draft_tokens=3.1&draft_counts=without_bonus", "draft_tokens", "from 0 to 3"),
        ("draft_depth=3&draft_tokens=2&draft_counts=bonus", "draft_counts", "with_bonus"),
    ],
)
def test_half_a_draft_says_what_is_missing(table: TestClient, asked: str, field: str, hint: str) -> None:
    answer = table.get(f"{LLAMA}.json?{asked}")
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert hint in answer.json()["expected"]
