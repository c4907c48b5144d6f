"""A model's page shows the reader's own measurements beside its bounds, and keeps them in links alone."""

from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from tests.web.reading import get

LLAMA = "/llms/meta-llama/Meta-Llama-3.1-8B"
HALE = "41.5|h200-sxm|fp8||1|4096|bf16|Hale"
OWN = "measured=41.5%7Ch200-sxm%7Cfp8%7C%7C1%7C4096%7Cbf16%7CHale"
"""41.5 tokens/s on one H200, weights in FP8, one stream of 4,096 tokens with a 16-bit cache."""

SECOND = "measured=900%7Ch100-sxm%7Cbf16%7C2"


def tree(client: TestClient, path: str) -> LexborHTMLParser:
    return LexborHTMLParser(get(client, path))


def first_cells(page: LexborHTMLParser) -> list[str]:
    return [" ".join(cell.text().split()) for cell in page.css("#own-1 > *")]


def test_the_reader_s_own_stand_first_beside_the_bounds_of_the_model(client: TestClient) -> None:
    """8,030,261,248 parameters less 525,336,576 of the embedding are read for a token, a byte each.

    The cache adds 4,096 x 131,072 B. The card moves 4,800 GB/s.
    """
    weights_bytes = 8_030_261_248 - 525_336_576
    stream, batch = 4.8e12 / weights_bytes, 4.8e12 / (weights_bytes + 4096 * 131_072)
    page = tree(client, f"{LLAMA}?{OWN}&{SECOND}")
    gpus, engine, weights, *numbers, whose = first_cells(page)
    assert (gpus, weights) == ("1 \N{MULTIPLICATION SIGN} H200 SXM 141 GB", "fp8")
    assert engine == "\N{EN DASH}"
    assert numbers[:2] == ["1", "4,096"]
    raw = [float(cell.attributes["data-value"] or "") for cell in page.css("#own-1 [data-value]")]
    assert raw == [41.5, *map(pytest.approx, (stream, batch, 41.5 / batch * 100))]
    assert whose.split() == ["yours", "Hale", "take", "away"]
    assert "450.0" in page.css_first("#own-2").text()  # for each of two GPUs
    assert page.css_first("#own-2 td.unknown abbr") is not None  # its batch is not stated


def test_what_the_tool_on_benchmarks_leads_to_holds_its_run_beside_the_bound(client: TestClient) -> None:
    """As `/tools/bench` reckons it: with 1,207,959,552 B of cache, 820 of 1,639.7 tokens/s are 50.01 %."""
    own = "measured=820%7Ch100-sxm%7Cbf16%7C%7C8%7C1024%7Cbf16"
    page = tree(client, f"/llms/Qwen/Qwen3-8B?format=bf16&context=1024&batch=8&{own}")
    *_, bound, share = [cell.attributes["data-value"] or "" for cell in page.css("#own-1 [data-value]")]
    assert (round(float(bound), 1), round(float(share), 2)) == (1639.7, 50.01)


def test_what_others_measured_stands_below_and_without_own_ones_all_is_as_before(client: TestClient) -> None:
    path = "/llms/openai/gpt-oss-20b"

    def others(page: LexborHTMLParser) -> list[str]:
        rows = page.css("section[aria-labelledby=measured] tbody tr")
        return [row.text() for row in rows if "id" not in row.attributes]

    with_own = tree(client, f"{path}?measured=1000%7Ch200-sxm%7Cmxfp4")
    assert others(with_own) == others(tree(client, path)) != []
    first = with_own.css_first("section[aria-labelledby=measured] tbody tr")
    assert first.attributes["id"] == "own-1"


def test_its_links_keep_it_and_one_takes_it_away(client: TestClient) -> None:
    page = tree(client, f"{LLAMA}?{OWN}&{SECOND}&context=4096")
    hrefs = [link.attributes["href"] or "" for link in page.css("main a")]
    of_the_page = [each for each in hrefs if each.startswith(LLAMA) and "take" not in each]
    assert len(of_the_page) > 10
    away = [link.attributes["href"] or "" for link in page.css("section[aria-labelledby=measured] tbody a")]
    for each in set(of_the_page) - set(away):
        assert parse_qs(urlsplit(each).query)["measured"] == [HALE, "900|h100-sxm|bf16|2"], each
    assert [parse_qs(urlsplit(each).query)["measured"] for each in away] == [["900|h100-sxm|bf16|2"], [HALE]]
    assert f"/measured?llm=meta-llama/Meta-Llama-3.1-8B&{OWN}&{SECOND}" in hrefs
    quote = next(each for each in hrefs if each.startswith("/quote?"))
    assert parse_qs(urlsplit(quote).query)["measured"] == [HALE, "900|h100-sxm|bf16|2"]


def test_a_form_adds_one_and_keeps_the_rest_of_the_question(client: TestClient) -> None:
    page = tree(client, f"{LLAMA}?{OWN}&batch=4")
    form = page.css_first('form[aria-label="Add a measurement of your own"]')
    hidden = [(each.attributes["name"], each.attributes["value"]) for each in form.css("[type=hidden]")]
    assert hidden == [("batch", "4"), ("measured", HALE)]
    serving = page.css('form[aria-label="How it is served"] input[type=hidden][name=measured]')
    assert [each.attributes["value"] for each in serving] == [HALE]
    tidied = client.get(f"{LLAMA}?batch=4&{OWN}&measured=", follow_redirects=False)
    assert tidied.status_code == 303
    assert parse_qsl(urlsplit(tidied.headers["location"]).query) == [("batch", "4"), ("measured", HALE)]
    eight = "&".join([OWN] * 8)
    assert tree(client, f"{LLAMA}?{eight}").css_first('form[aria-label^="Add a measurement"]') is None


def test_the_json_has_it_as_the_page_of_measured_speeds_has(client: TestClient) -> None:
    answer = client.get(f"{LLAMA}.json?{OWN}")
    (own, *_) = answer.json()["measured"]
    there = client.get(f"/measured.json?llm=meta-llama/Meta-Llama-3.1-8B&{OWN}").json()["measurements"]
    assert own == there[0]
    assert (own["id"], own["kind"], own["value"]) == ("Hale", "own", 41.5)
    without = client.get("/llms/openai/gpt-oss-20b.json").json()["measured"]
    listed = client.get("/measured.json?llm=openai/gpt-oss-20b").json()["measurements"]
    assert sorted(each["id"] for each in without) == sorted(each["id"] for each in listed)


@pytest.mark.parametrize("path", [LLAMA, f"{LLAMA}.json", f"{LLAMA}.csv", f"/figures{LLAMA}/cost.json"])
def test_the_answer_is_private(client: TestClient, path: str) -> None:
    for text in (OWN, OWN.replace("measured", "measure%64"), f"batch=1&{OWN}"):
        answer = client.get(f"{path}?{text}")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-store")
        assert not {"etag", "last-modified"} & set(answer.headers)
    assert "no-store" not in client.get(path).headers["cache-control"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("measured=41%7Ch200-sxm", "it has 2 of the parts"),
        ("measured=41%7Ch200%7Cfp8", "accelerator: 'h200' is none"),
        ("&".join(["measured=41%7Ch200-sxm%7Cfp8"] * 9), "give at most 8"),
    ],
)
def test_a_wrong_one_is_refused(client: TestClient, query: str, said: str) -> None:
    answer = client.get(f"{LLAMA}.json?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, "measured")
    assert said in answer.json()["detail"]
    assert client.get(f"{LLAMA}?{query}").status_code == 422
