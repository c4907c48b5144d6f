"""The page of measured speeds: what it shows, the same in its twins, what it refuses, and where it leads."""

from collections.abc import Iterator
from decimal import Decimal
from urllib.parse import urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode
from starlette.testclient import TestClient

from app.domain.llms.measurements import load_measurements
from tests.databases import empty_sqlite
from tests.web.conftest import serve
from tests.web.reading import get, read_csv


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of an application without any offers: the page needs none."""
    with serve(empty_sqlite(tmp_path_factory.mktemp("bare"))) as client:
        yield client


def tree(client: TestClient, address: str) -> LexborHTMLParser:
    return LexborHTMLParser(get(client, address))


def row(page: LexborHTMLParser, row_id: str) -> LexborNode:
    found = page.css_first(f'tr[id="{row_id}"]')
    assert found is not None, row_id
    return found


def cells(page: LexborHTMLParser, row_id: str) -> list[str]:
    return [" ".join(cell.text().split()) for cell in row(page, row_id).css("td.n")]


# Tokens/s for each GPU: MLPerf's figure of the system over its GPUs; TB/s over 70 GB; their ratio.
@pytest.mark.parametrize(
    ("row_id", "shown"),
    [
        ("mlperf-5.1-0016-llama2-70b-99-h100-sxm", ["3,902.5", "47.857", "81.54"]),
        ("mlperf-5.1-0026-llama2-70b-99-h200-sxm", ["4,414.6", "68.571", "64.38"]),
        ("mlperf-5.1-0061-llama2-70b-99-b200-sxm", ["12,863.6", "114.286", "112.56"]),
    ],
)
def test_mlperf_stands_beside_the_ceiling_of_one_stream(
    bare: TestClient, row_id: str, shown: list[str]
) -> None:
    page = tree(bare, "/measured")
    batch, prompt, *rest = cells(page, row_id)
    assert (batch, prompt) == ("\N{EN DASH}", "\N{EN DASH}")
    assert rest[:3] == shown
    # Its batch is not stated, so no bound of it is shown; the bound of any batch is above.
    assert rest[3:5] == ["\N{EN DASH}", "\N{EN DASH}"]
    assert float(rest[6]) < 100
    why = row(page, row_id).css("td.unknown abbr")[2].attributes["title"]
    assert why == "the source states no batch"


def test_where_the_batch_is_stated_the_measurement_lies_below_its_bound(bare: TestClient) -> None:
    lines = bare.get("/measured.json").json()["measurements"]
    stated = [line for line in lines if line["batch"] is not None]
    assert len(stated) == 54
    for line in stated:
        assert line["per_gpu_tokens_per_s"] < line["batch_bound_per_gpu_tokens_per_s"], line["id"]
        share = line["per_gpu_tokens_per_s"] / line["batch_bound_per_gpu_tokens_per_s"]
        assert line["share_of_batch_bound_percent"] == pytest.approx(100 * share)


def test_a_line_opens_its_arithmetic_with_the_numbers_in_it(bare: TestClient) -> None:
    page = tree(bare, "/measured")
    said = " ".join(
        row(page, "mlperf-5.1-0016-llama2-70b-99-h100-sxm").css_first("details dl").text().split()
    )
    assert "124879 tokens/s / 32 = 3,902.5 tokens/s" in said
    assert "3350 GB/s / 70.000 GB a token = 47.857 tokens/s" in said
    # 1,979 dense FP8 TFLOPS over 2 x 68,714,504,192 parameters.
    assert "1979 dense FP8 TFLOPS" in said
    assert "= 14,400.2 tokens/s" in said
    swept = row(page, "inferencex-qwen3.5-397b-tp8-in1024-c16").css_first("details dl").text()
    assert "Bound of 16 streams" in swept


def test_the_worked_case_shows_both_factors_with_their_sums(bare: TestClient) -> None:
    page = tree(bare, "/measured")
    shown = {
        key: [" ".join(cell.text().split()) for cell in row(page, key).css("td")]
        for key in ("factor", "factor_as_published", "link_share", "left_ms")
    }
    assert shown["factor"] == ["46.65 ms / 10.57 ms", "4.41", "times"]
    assert shown["factor_as_published"] == ["46.65 ms / 8.71 ms", "5.4", "times"]
    assert shown["link_share"][1:] == ["88", "%"]
    assert shown["left_ms"][1:] == ["30.16", "ms"]


def test_what_does_not_follow_from_its_neighbours_is_nowhere(bare: TestClient) -> None:
    for address in ("/measured", "/measured.json", "/measured.csv"):
        text = get(bare, address) if "json" not in address else bare.get(address).text
        assert "46.8 %" not in text
        assert "4.8 times" not in text


# ---------------------------------------------------------------- filters


def test_a_model_and_a_card_or_a_family_narrow_it_down(bare: TestClient) -> None:
    def ids(query: str) -> set[str]:
        return {line["accelerator"] for line in bare.get(f"/measured.json?{query}").json()["measurements"]}

    assert ids("llm=openai/gpt-oss-20b") == {"rx-7900-xt"}
    assert ids("gpu=h200") == {"h200-sxm", "h200-nvl"}
    assert ids("gpu=h200-nvl") == {"h200-nvl"}
    assert ids("llm=OPENAI/GPT-OSS-20B&gpu=RX-7900-XT") == {"rx-7900-xt"}


def test_the_page_its_twins_and_its_form_take_the_same_query(bare: TestClient) -> None:
    query = "llm=meta-llama/Meta-Llama-3.1-8B&gpu=h200"
    page = tree(bare, f"/measured?{query}")
    shown = [each.attributes["id"] for each in page.css("section tbody tr") if each.css_first("details")]
    document = bare.get(f"/measured.json?{query}").json()
    lines = read_csv(get(bare, f"/measured.csv?{query}"))
    assert len(shown) == 2
    assert [line["id"] for line in document["measurements"]] == shown
    assert [line["id"] for line in lines if line["section"] == "measurement"] == shown
    hrefs = {link.attributes["href"] or "" for link in page.css('link[rel="alternate"]')}
    assert {urlsplit(href).query for href in hrefs} == {query}
    chosen = [each.attributes["value"] for each in page.css("option[selected]")]
    assert chosen == ["meta-llama/Meta-Llama-3.1-8B", "h200"]


def test_a_model_nobody_measured_says_so(bare: TestClient) -> None:
    page = tree(bare, "/measured?llm=moonshotai/Kimi-K3")
    assert "Nobody we read has measured moonshotai/Kimi-K3." in page.css_first("p.empty").text()
    assert page.css_first("p.summary strong").text() == f"0 of {len(load_measurements())}"


@pytest.mark.parametrize(
    ("query", "field", "said"),
    [
        ("llm=nobody/none", "llm", "use one of"),
        ("llm=openai/gpt-oss-21b", "llm", "did you mean openai/gpt-oss-20b"),
        ("gpu=h201", "gpu", "did you mean"),
        ("gpu=h100&gpu=h200", "gpu", "give it once"),
        ("batch=8", "parameter", "use one of llm, gpu"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_would_be_right(
    bare: TestClient, query: str, field: str, said: str
) -> None:
    assert bare.get(f"/measured?{query}").status_code == 422
    for kind in ("json", "csv"):
        answer = bare.get(f"/measured.{kind}?{query}")
        assert answer.status_code == 422
        assert answer.json()["field"] == field
        assert said in answer.json()["detail"]


def test_an_empty_field_is_tidied_away_from_the_page_and_ignored_by_its_twins(bare: TestClient) -> None:
    answer = bare.get("/measured?llm=&gpu=h200")
    assert (answer.status_code, answer.headers["location"]) == (303, "/measured?gpu=h200")
    assert bare.get("/measured.json?llm=&gpu=").content == bare.get("/measured.json").content


# ---------------------------------------------------------------- the same numbers


def test_the_numbers_of_the_page_are_those_of_its_twins(bare: TestClient) -> None:
    page = tree(bare, "/measured")
    document = bare.get("/measured.json").json()
    lines = {line["id"]: line for line in read_csv(get(bare, "/measured.csv"))}
    keys = (
        "per_gpu_tokens_per_s",
        "one_stream_per_gpu_tokens_per_s",
        "times_one_stream_ceiling",
        "batch_bound_per_gpu_tokens_per_s",
        "share_of_batch_bound_percent",
        "any_batch_per_gpu_tokens_per_s",
        "share_of_any_batch_percent",
    )
    for line in document["measurements"]:
        if line["metric"] == "ms_per_pass":
            continue
        shown = [node.attributes["data-value"] or "" for node in row(page, line["id"]).css("[data-value]")]
        known = [line[key] for key in keys if line[key] is not None]
        assert [float(each) for each in shown] == known
        assert [float(lines[line["id"]][key]) for key in keys if lines[line["id"]][key]] == known
    figures = [figure for part in document["worked_case"].values() for figure in part]
    assert len(figures) == 18
    for figure in figures:
        raw = row(page, figure["id"]).css_first("[data-value]").attributes["data-value"] or ""
        assert float(raw) == pytest.approx(figure["value"])
        assert Decimal(lines[figure["id"]]["value"]) == Decimal(str(figure["value"]))


def test_each_line_leads_to_its_source_and_its_card(bare: TestClient) -> None:
    page = tree(bare, "/measured")
    one = row(page, "mlperf-5.1-0061-llama2-70b-99-b200-sxm")
    hrefs = [link.attributes["href"] for link in one.css("a")]
    assert "/gpus/b200-sxm" in hrefs
    assert "https://github.com/mlcommons/inference_results_v5.1" in hrefs
    assert "5.1-0061" in one.text()


# ---------------------------------------------------------------- the reader's own measurement

OWN = "measured=41.5%7Ch200-sxm%7Cfp8%7C%7C1%7C4096%7Cbf16%7CHale"
"""41.5 tokens/s on one H200, weights in FP8, one stream of 4,096 tokens with a 16-bit cache."""


def test_the_reader_s_own_measurement_stands_first_beside_its_bounds(bare: TestClient) -> None:
    """8,030,261,248 parameters less 525,336,576 of the embedding: 7.505 GB; 4,800 / 7.505 = 639.58."""
    page = tree(bare, f"/measured?llm=meta-llama/Meta-Llama-3.1-8B&{OWN}")
    first = page.css_first("section tbody tr")
    assert first.attributes["id"] == "own-1"
    shown = [" ".join(cell.text().split()) for cell in first.css("td.n")]
    assert shown[:5] == ["1", "4,096", "41.500", "639.580", "0.06"]
    # The cache adds 4,096 x 131,072 B: 8.042 GB a token, 596.89 tokens/s, of which 41.5 are 6.95 %.
    assert shown[5:7] == ["596.9", "6.95"]
    assert "Hale" in first.text()


def test_it_is_the_same_in_the_twins_and_kept_by_nobody(bare: TestClient) -> None:
    query = f"llm=meta-llama/Meta-Llama-3.1-8B&{OWN}"
    line = bare.get(f"/measured.json?{query}").json()["measurements"][0]
    assert (line["id"], line["kind"], line["value"], line["licence"]) == ("Hale", "own", 41.5, None)
    assert line["share_of_batch_bound_percent"] == pytest.approx(100 * 41.5 / 596.89, rel=1e-4)
    (written, *_) = read_csv(get(bare, f"/measured.csv?{query}"))
    assert (written["id"], written["kind"], written["value"]) == ("Hale", "own", "41.5")
    for path in ("/measured", "/measured.json", "/measured.csv"):
        answer = bare.get(f"{path}?{query}")
        assert answer.headers["cache-control"] == "private, no-store", path
        assert "etag" not in answer.headers
        assert "no-store" not in bare.get(path).headers.get("cache-control", "")
    tidied = bare.get(f"/measured?{query}&measured=&gpu=")
    assert (tidied.status_code, tidied.headers["cache-control"]) == (303, "private, no-store")
    assert tidied.headers["location"] == f"/measured?llm=meta-llama/Meta-Llama-3.1-8B&{OWN}"


def test_the_page_s_canonical_address_leaves_it_out_and_its_form_keeps_it(bare: TestClient) -> None:
    page = tree(bare, f"/measured?llm=meta-llama/Meta-Llama-3.1-8B&{OWN}")
    assert page.css_first('link[rel="canonical"]').attributes["href"] == (
        "/measured?llm=meta-llama/Meta-Llama-3.1-8B"
    )
    kept = [each.attributes["value"] for each in page.css('input[type="hidden"][name="measured"]')]
    assert kept == ["41.5|h200-sxm|fp8||1|4096|bf16|Hale"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (OWN, "say of which model it is"),
        ("llm=openai/gpt-oss-20b&measured=41%7Ch200-sxm", "it has 2 of the parts"),
        ("llm=openai/gpt-oss-20b&measured=41%7Ch200%7Cfp8", "accelerator: 'h200' is none"),
        ("llm=openai/gpt-oss-20b" + "&measured=41%7Ch200-sxm%7Cfp8" * 9, "give at most 8"),
    ],
)
def test_a_wrong_measurement_is_refused_with_what_would_be_right(
    bare: TestClient, query: str, said: str
) -> None:
    assert bare.get(f"/measured?{query}").status_code == 422
    answer = bare.get(f"/measured.json?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, "measured")
    assert said in answer.json()["detail"]
