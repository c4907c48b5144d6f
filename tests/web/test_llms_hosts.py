"""With experts in host memory, the arithmetic of an offer says what then fits, and how fast it could be."""

import json

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from tests.web.reading import get
from tests.web.test_llms import DEEPSEEK, LLAMA
from tests.web.test_llms import table as table

ONE = "context=0&batch=1&cards=1&gpu=h200-sxm&host_experts_share=0.9"


def arithmetic(table: TestClient, model: str, query: str) -> dict[str, list[str]]:
    """Return the arithmetic of the first offer: value and working by figure, the same in page and JSON."""
    page = LexborHTMLParser(get(table, f"{model}?{query}"))
    href = page.css_first("table.costs td.open a").attributes["href"] or ""
    of_page = {
        row.css_first("th").text(): [cell.text().strip() for cell in row.css("td")]
        for row in LexborHTMLParser(get(table, href)).css(".worked tbody tr")
    }
    path, _, asked = href.partition("?")
    [worked] = json.loads(get(table, f"{path}.json?{asked}"))["worked"]
    of_json = {each["label"]: each["value"] for each in worked["steps"]}
    assert of_json == {label: value for label, (value, _) in of_page.items()}
    return of_page


def test_what_fits_no_card_fits_with_most_experts_in_the_host_and_waits_for_it(table: TestClient) -> None:
    """DeepSeek-V3 in fp8: 17.118 GB and a tenth of 653.909 of experts are 82.51 GB on one H200.

    A token touches 8 of 256 experts, 20.435 GB, of which the host sends 18.391: 287.36 ms at 64 GB/s.
    """
    rows = arithmetic(table, DEEPSEEK, f"{ONE}&host_gb_s=64")
    assert rows["On 1 GPU"][0] == "does not fit"
    assert rows["With experts in the host"] == ["fits on 1 GPU", "82.51 GB of weights on each GPU"]
    sent, how = rows["Experts sent by the host"]
    assert sent == "18.391 GB"
    assert how.startswith("653.91 \N{MULTIPLICATION SIGN} 0.9 \N{MULTIPLICATION SIGN} 3.13 %")
    assert rows["Time to send them"][0] == "287.3623 ms"
    ceiling, how = rows["Ceiling with the host"]
    assert ceiling == "3.480 tokens/s"
    assert "host-bound" in how


def test_a_host_that_is_fast_enough_leaves_the_cards_own_bound(table: TestClient) -> None:
    """16.191 GB and a tenth of 20.435 at 4.8 TB/s: 3.7988 ms."""
    ceiling, how = arithmetic(table, DEEPSEEK, f"{ONE}&host_gb_s=10000")["Ceiling with the host"]
    assert ceiling == "263.2 tokens/s"
    assert "memory-bound" in how


def test_too_much_left_for_the_card_still_does_not_fit(table: TestClient) -> None:
    rows = arithmetic(table, DEEPSEEK, f"{ONE}&host_gb_s=64".replace("0.9", "0.5"))
    assert rows["With experts in the host"][0] == "\N{EN DASH}"
    assert "Ceiling with the host" not in rows


def test_a_dense_model_has_nothing_to_give(table: TestClient) -> None:
    rows = arithmetic(table, LLAMA, f"{ONE}&host_gb_s=64")
    assert rows["With experts in the host"] == ["\N{EN DASH}", "the model has no routed experts"]


def test_the_page_says_it_and_its_table_is_as_without(table: TestClient) -> None:
    query = f"{ONE.replace('cards=1', 'cards=8')}&host_gb_s=64"
    assert "90 % of the routed experts, sent to the GPUs at 64 GB/s" in get(table, f"{DEEPSEEK}?{query}")
    with_it = json.loads(get(table, f"{DEEPSEEK}.json?{query}"))
    plain = json.loads(get(table, f"{DEEPSEEK}.json?context=0&batch=1&cards=8&gpu=h200-sxm"))
    assert with_it["offers"] == plain["offers"]
    assert "Experts in host memory" not in plain["stated"]
    assert "Experts in host memory" in with_it["stated"]


@pytest.mark.parametrize(
    ("asked", "field", "hint"),
    [
        ("host_gb_s=64", "host_experts_share", "give host_experts_share too"),
        ("host_experts_share=0.5", "host_gb_s", "give host_gb_s too"),
        ("host_experts_share=1.1&host_gb_s=64", "host_experts_share", "to 1"),
        ("host_experts_share=0.5&host_gb_s=0", "host_gb_s", "0.0001"),
    ],
)
def test_half_of_it_says_what_is_missing(table: TestClient, asked: str, field: str, hint: str) -> None:
    answer = table.get(f"{DEEPSEEK}.json?{asked}")
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert hint in answer.json()["expected"]
