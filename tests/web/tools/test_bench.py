"""The tool on benchmark results: the command's findings as a page, links without a prompt, bounds by hand."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.llms.facts import LLM_COLUMNS, LLMS_FILE, llm_cells, load_llms
from app.domain.serving.benches import READERS
from app.domain.serving.traps import ADVICE
from app.settings import Settings
from app.web.main import create_app
from app.web.tools.bench import MOST_CONFIGURATIONS, MOST_SHOWN
from app.web.words import DASH
from tests.domain.serving import results
from tests.web.reading import read_csv

PATH = "/tools/bench"
FOUR = "\n".join(results.as_bytes(results.vllm(rate)).decode() for rate in (820, 821, 819, 820))
PLACED = {"card": "h100-sxm", "weights": "bf16"}


def ask(tools: TestClient, **typed: str) -> LexborHTMLParser:
    answer = tools.post(PATH, data=typed, follow_redirects=True)
    assert answer.status_code == 200
    return LexborHTMLParser(answer.text)


def found(tools: TestClient, **typed: str) -> dict[str, Any]:
    answer = tools.post(PATH, data=typed)
    assert answer.status_code == 303
    target = answer.headers["location"].replace(PATH, f"{PATH}.json", 1)
    document: dict[str, Any] = tools.get(target).json()["found"]
    return document


def test_four_runs_beside_the_bound_of_their_model(tools: TestClient) -> None:
    """Eight streams read 15,136,811,008 B a pass and 8 x 512 x 41,472 B of cache: 15,306,680,320 B.

    At 3.35 TB/s that is 4.5692 ms for eight tokens: 1,750.9 tokens/s, of which 820 are 46.8 %.
    Any batch: 989.4 x 10^12 / (2 x 7,568,405,504) = 65,363.8, 1.3 %. One stream: 221.3, 3.71 times.
    """
    page = ask(tools, results=FOUR, **PLACED)
    assert page.css_first("#configurations").text() == "1 configuration, no trap sprung"
    cells = [cell.text() for cell in page.css("#found table tbody tr th, #found table tbody tr td")]
    assert cells == [
        *("1", "vLLM decode", "Qwen/Qwen3-8B", "4", "820.0", "819.8 to 820.3", "819.0 to 821.0", "0.1"),
        *("8", "9.5", "9.5", "46.8", "1.3", "3.71"),
    ]
    assert page.css_first("p.verdict").text().startswith("Beside H100 SXM 80 GB: 46.8 % of the bound")
    sums = {
        dt.text(): dd.text() for dt, dd in zip(page.css("dl.sums dt"), page.css("dl.sums dd"), strict=True)
    }
    assert sums["Bound of a batch of 8"].startswith(
        "(15,136,811,008 B of weights + 169,869,312 B of cache) / 3.35 TB/s"
    )
    assert sums["Bound of any batch"].endswith("= 65,363.8 tokens/s; 820.0 / 65,363.8 = 1.3 %")
    assert "leaves out what the cache reads" in page.css_first("#found").text()
    (one,) = found(tools, results=FOUR, **PLACED)["configurations"]
    assert one["beside"]["share_of_batch_bound"] == pytest.approx(820 * 15_306_680_320 / 8 / 3.35e12)


def test_its_links_show_the_speed_beside_what_others_measured(tools: TestClient) -> None:
    page = ask(tools, results=FOUR, context="1024", kv="bf16", **PLACED)
    links = [a.attributes["href"] or "" for a in page.css("#found section p.summary a")]
    # How it was served is asked of the model's page, too; the cache is bf16 there anyhow.
    own = "measured=820%7Ch100-sxm%7Cbf16%7C%7C8%7C1024%7Cbf16"
    assert links == [
        f"/llms/Qwen/Qwen3-8B?format=bf16&context=1024&batch=8&{own}#measured",
        f"/measured?llm=Qwen/Qwen3-8B&{own}",
    ]
    # With 1,207,959,552 B of cache the pass takes 4.879 ms, and 8 / 4.879 ms are 1,639.7 tokens/s: 50.01 %.
    assert "50.01" in LexborHTMLParser(tools.get(links[1]).text).css_first("#own-1").text()
    assert "leaves out what the cache reads" not in page.css_first("#found").text()


READ = results.llama_bench(
    n_prompt=512, n_gen=0, samples=(4990.0, 5000.0, 5010.0, 5000.0), model_n_params=8_190_735_360
)
BOTH = results.llama_bench(n_prompt=512, samples=(900.0, 901.0, 899.0, 900.0))
ON_4090 = {"llm": "Qwen/Qwen3-8B", "card": "rtx-4090", "weights": "gguf-q4-k"}


def test_a_prompt_that_was_read_beside_the_bound_of_prefill(tools: TestClient) -> None:
    """660.6 x 10^12 / (2 x 6,753,129,102 + 150,994,944) are 48,369.9 tokens/s, of which 5,000 are 10.3 %."""
    text = json.dumps([READ, BOTH, results.llama_bench(samples=(138.4, 138.9, 138.1, 138.6))])
    page = ask(tools, results=text, **ON_4090)
    assert page.css("#found thead th")[-1].text() == "Prefill% of bound"
    rows = [[cell.text() for cell in row.css("td")] for row in page.css("#found tbody tr")]
    assert [row[-1] for row in rows] == ["10.3", DASH, DASH]
    assert [row[-4:-1] for row in rows[:2]] == [[DASH] * 3] * 2
    verdicts = [each.text() for each in page.css("p.verdict")]
    assert verdicts[0] == (
        "Beside RTX 4090 24 GB: 10.3 % of the bound of prefill, at the dense int8 rate; llama.cpp multiplies "
        "such weights no faster."
    )
    assert verdicts[1].startswith("No bound: prompt and generated tokens were timed together")
    prompt = page.css_first("#configuration-1").parent
    assert prompt is not None
    assert [dt.text() for dt in prompt.css("dl.sums dt")] == [
        "Parameters for each token of a prompt",
        "Bound of prefill",
    ]
    assert prompt.css("dl.sums dd")[1].text().endswith("= 48,369.9 tokens/s; 5,000.0 / 48,369.9 = 10.3 %")
    assert prompt.css("p.summary a") == []
    each = found(tools, results=text, **ON_4090)["configurations"]
    assert [one["bound"] for one in each] == verdicts
    assert each[0]["beside_prefill"]["share_of_bound"] == pytest.approx(5000 * 13_657_253_148 / 660.6e12)
    assert [one["beside_prefill"] for one in each[1:]] == [None, None]
    lines = read_csv(tools.get(f"{PATH}.csv", params={"results": text, **ON_4090}).text)
    assert float(lines[0]["prefill_bound_percent"]) == pytest.approx(100 * 5000 * 13_657_253_148 / 660.6e12)
    assert [one["prefill_bound_percent"] for one in lines[1:]] == ["", ""]
    assert (lines[0]["batch_bound_percent"], lines[0]["bound"]) == ("", verdicts[0])


def test_the_first_token_beside_the_least_time_to_it(tools: TestClient) -> None:
    """512 tokens of 13,657,253,148 operations at 989.4 TFLOPS take 7.067 ms, and 9.9 ms were measured."""
    page = ask(tools, results=FOUR, **PLACED)
    verdict = page.css_first("p.verdict").text()
    assert verdict.endswith(
        "is 1.40 times the least that reading 512 tokens takes at the dense bf16 rate, 7.067 ms."
    )
    assert page.css("dl.sums dt")[-1].text() == "Least time to a first token"
    assert page.css("dl.sums dd")[-1].text().endswith("= 7.067 ms; 9.900 / 7.067 = 1.40 times")
    (one,) = found(tools, results=FOUR, **PLACED)["configurations"]
    (line,) = read_csv(tools.get(f"{PATH}.csv", params={"results": FOUR, **PLACED}).text)
    assert one["bound"] == line["bound"] == verdict
    assert one["beside_first_token"]["is_below_the_least"] is False
    assert (float(line["mean_ttft_s"]), float(line["least_ttft_s"])) == pytest.approx(
        (0.0099, 0.00706740), rel=1e-5
    )


def test_too_few_runs_with_what_to_do_and_what_to_fill_in(tools: TestClient) -> None:
    page = ask(tools, results=json.dumps(results.vllm(820)))
    assert page.css_first("#configurations").text() == "1 configuration, 1 trap sprung"
    section = page.css_first("#found section:nth-of-type(2)")
    assert section.css_first("dt").text() == "too_few_repetitions"
    seen, advice = (dd.text() for dd in section.css("dd")[:2])
    assert seen == "results: 1 of at least 4 repetitions."
    assert advice == ADVICE["too_few_repetitions"]
    assert section.css_first("p.verdict").text() == (
        "No bound: fill in the card and the format of the weights, which the file does not tell."
    )
    assert "Without the server's log" in page.css_first("#found").text()


def test_the_log_and_the_flags(tools: TestClient) -> None:
    log = (
        "user asked: a secret question\nRunning: 40 reqs, Waiting: 2 reqs\n"
        "mamba_cache_mode 'all' is not supported, falling back to 'align'\n"
    )
    typed = {"results": FOUR, "log": log, "flags": "--mamba-cache-mode all --enable-x"}
    refusals = found(tools, **typed)["refusals"]
    assert [one["code"] for one in refusals] == ["foreign_load", "flag_ignored"]
    assert refusals[0]["sentence"] == "The log shows 42 requests at once where the measurement sent 8."
    assert [one["code"] for one in found(tools, sent="64", **typed)["refusals"]] == ["flag_ignored"]
    page = ask(tools, **typed)
    assert [dt.text() for dt in page.css("section[aria-labelledby=all] dt")] == [
        "foreign_load",
        "flag_ignored",
    ]
    target = tools.post(PATH, data=typed).headers["location"]
    kept = dict(parse_qsl(urlsplit(target).query))
    assert kept["flags"] == "--mamba-cache-mode, --enable-x"
    assert "secret" not in target
    assert page.css_first("pre.command").text().strip() == (
        "inferprice bench read results.json --flag=--mamba-cache-mode --flag=--enable-x --log server.log"
    )


DETAILED = {
    "vllm": results.vllm_detailed(),
    "sglang": results.sglang_detailed(mean_ttft_ms=91.5),
    "llama-bench": results.llama_bench_now(),
    "llama-bench of a prompt": results.llama_bench_now(n_prompt=512, n_gen=0, n_depth=4096),
    "guidellm": results.guidellm_now(40.0, 76.5),
    "guidellm of a path": results.guidellm(
        40.0, args={"model": "Qwen/Qwen3-8B", "data": [f"/srv/somebody/{results.SAID}", results.SECRET]}
    ),
    "sglang of two servers": results.sglang(
        server_info={
            "decode": [{"model_path": "Qwen/Qwen3-8B", "tp_size": 4}, {"tp_size": 4, "x": results.SAID}]
        }
    ),
    "llama-bench on four cards": results.llama_bench_now(
        gpu_info=", ".join(["NVIDIA GeForce RTX 4090"] * 4), split_mode="layer"
    ),
}


@pytest.mark.parametrize("document", DETAILED.values(), ids=DETAILED)
def test_a_link_holds_no_prompt_and_finds_the_same(tools: TestClient, document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=2)
    answer = tools.post(PATH, data={"results": text, "log": "", **PLACED})
    target = answer.headers["location"]
    assert len(target) < 2000
    for hidden in (results.SAID, results.SECRET, "somebody", "itls", "generated"):
        assert hidden not in dict(parse_qsl(urlsplit(target).query))["results"]
    whole = tools.post(PATH, data={"results": f"{text}{' ' * 9000}", **PLACED})
    assert whole.headers["location"] == target
    from_link = tools.get(target.replace(PATH, f"{PATH}.json", 1)).json()["found"]
    raw = tools.get(f"{PATH}.json", params={"results": json.dumps(document), **PLACED})
    assert raw.json()["found"] == from_link


def test_what_the_file_tells_counts_and_what_is_typed_otherwise_is_told(tools: TestClient) -> None:
    """Of 2 GPUs each reads 7,568,405,504 B, and 16 x 1,024 x 41,472 / 2 B of cache: 339,738,624."""
    text = json.dumps(results.sglang(server_info={"model_path": "Qwen/Qwen3-8B", "tp_size": 2}))
    (told,) = found(tools, results=text, **PLACED)["configurations"]
    assert told["beside"]["gpus"] == 2
    assert told["beside"]["batch_bound_tokens_per_s"] == pytest.approx(16 * 3.35e12 / 7_908_144_128)
    page = ask(tools, results=text, gpus="1", **PLACED)
    assert "which is 2 GPUs, and 1 GPU was given" in page.css_first("p.verdict").text()
    assert "--gpus 1" in page.css_first("pre.command").text()
    assert page.css("dl.sums dt")[0].text() == "Weights"
    assert "mean tokens of a prompt 1,024.0" in page.css_first("#found details").text()


def test_what_does_not_fit_has_no_share(tools: TestClient) -> None:
    big = json.dumps(results.vllm(model_id="meta-llama/Meta-Llama-3.1-70B"))
    page = ask(tools, results=big, **PLACED)
    assert (
        page.css_first("p.verdict")
        .text()
        .startswith("No bound: weights of 141.11 GB do not fit in the 85.47 GB of memory on one GPU")
    )
    assert [cell.text() for cell in page.css("#found tbody td")][-3:] == [DASH] * 3


def test_several_results_of_several_tools(tools: TestClient) -> None:
    tests = [results.llama_bench(samples=(43.2, 43.1, 43.4, 43.3)) for _ in range(4)]
    llama = "\n".join(results.as_bytes(*two).decode() for two in (tests[:2], tests[2:]))
    text = f"{FOUR}\n{llama}\n{json.dumps(results.sglang())}\n{json.dumps(results.guidellm(40.0))}"
    each = found(tools, results=text)["configurations"]
    assert [one["tool"] for one in each] == ["vLLM", "llama-bench", "SGLang", "GuideLLM"]
    assert each[1]["files"] == [f"results {n} entry {m}" for n in (5, 6) for m in (1, 2)]
    assert [one["tokens_per_s"]["count"] for one in each] == [4, 16, 1, 1]


def test_the_lines_of_the_csv(tools: TestClient) -> None:
    answer = tools.get(
        f"{PATH}.csv", params={"results": json.dumps(results.vllm(820)), "llm": "Qwen/Qwen3-8B", **PLACED}
    )
    (line,) = read_csv(answer.text)
    assert (line["timed_runs"], line["median_tokens_per_s"], line["batch"]) == ("1", "820", "8")
    assert (line["ttft_s"], line["refusals"]) == ("0.0095", "too_few_repetitions")
    assert float(line["batch_bound_percent"]) == pytest.approx(46.834, abs=0.001)
    bare = read_csv(tools.get(f"{PATH}.csv", params={"results": FOUR}).text)
    assert [one["batch_bound_percent"] for one in bare] == [""]


WRONG: dict[str, tuple[dict[str, str], str, str]] = {
    "no JSON": ({"results": "tokens/s: 820"}, "results", "give JSON"),
    "the second is none": ({"results": f"{FOUR}\nthen"}, "results", "give JSON"),
    "another tool": ({"results": '{"name": "BM_memcpy"}'}, "results", "give a result of one of"),
    "nothing in it": ({"results": "[]"}, "results", "holds no result"),
    "no rate": (
        {"results": json.dumps(results.vllm() | {"output_throughput": 0})},
        "results",
        "give a number",
    ),
    "an unknown model": ({"results": FOUR, "llm": "Qwen/Qwen3-8"}, "llm", "did you mean Qwen/Qwen3-8B"),
    "a long model": ({"results": FOUR, "llm": "q" * 300}, "llm", "at most 200 characters"),
    "no GPU": ({"results": FOUR, "gpus": "0"}, "gpus", "from 1 to 100000"),
    "no context": ({"results": FOUR, "context": "-1"}, "context", "from 0 to 100000000"),
    "none sent": ({"results": FOUR, "sent": "0"}, "sent", "from 1 to 1000000"),
    "a long flag": ({"results": FOUR, "flags": "f" * 200}, "flags", "at most 20 flags"),
}


@pytest.mark.parametrize(("typed", "wrong", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_field_is_marked_and_nothing_is_lost(
    tools: TestClient, typed: dict[str, str], wrong: str, words: str
) -> None:
    answer = tools.post(PATH, data=typed)
    assert answer.status_code == 422
    tree = LexborHTMLParser(answer.text)
    assert [each.attributes["id"] for each in tree.css("[aria-invalid]")] == [wrong]
    assert words in tree.css_first(f"#{wrong}-error").text()
    assert tree.css_first("#results").text() == typed["results"]


def test_a_model_without_an_id_here_is_told_from_the_one_that_is_typed(tools: TestClient) -> None:
    other = found(tools, results=FOUR, llm="openai/gpt-oss-20b", **PLACED)["configurations"][0]
    assert other["bound"].startswith(
        "No bound: the file is of Qwen/Qwen3-8B, and openai/gpt-oss-20b is given"
    )
    mine = json.dumps(results.vllm(model_id="mine"))
    assert found(tools, results=mine, llm="qwen/qwen3-8b", **PLACED)["configurations"][0]["beside"]


def many(count: int) -> str:
    return "".join(json.dumps(results.llama_bench(n_gen=n, samples=(40.0,))) for n in range(1, count + 1))


def test_more_than_a_page_shows(tools: TestClient) -> None:
    answer = tools.post(PATH, data={"results": many(MOST_SHOWN + 2)})
    assert answer.status_code == 200
    tree = LexborHTMLParser(answer.text)
    assert len(tree.css("#found table tbody tr")) == MOST_SHOWN
    assert "and 2 more" in tree.css_first("#found").text()
    assert "too long for a link" in tree.css_first("p.out").text()
    refused = tools.post(PATH, data={"results": many(MOST_CONFIGURATIONS + 1)})
    assert refused.status_code == 422
    assert "501 configurations" in refused.text


def test_markup_in_a_file_is_shown_as_text(tools: TestClient) -> None:
    mark = "<script>alert(1)</script>"
    document = results.vllm(model_id=mark, label=mark, endpoint=mark) | {mark: mark}
    answer = tools.post(PATH, data={"results": json.dumps(document)}, follow_redirects=True)
    assert mark not in answer.text
    assert answer.text.count("&lt;script&gt;") > 4


def test_the_page_names_the_versions_that_are_read(tools: TestClient) -> None:
    rules = LexborHTMLParser(tools.get(PATH).text).css_first("section[aria-labelledby=rules]").text()
    for reader, version in zip(READERS, ("0.5.23", "009e6d4", "0104b15", "0.8.1"), strict=True):
        assert version in reader.understands
        assert reader.tool in rules
        assert version in rules


def test_models_are_suggested(tools: TestClient) -> None:
    tree = LexborHTMLParser(tools.get(PATH).text)
    assert tree.css_first("#llm").attributes["list"] == "llm-suggested"
    assert tree.css_first('#llm-suggested option[value="Qwen/Qwen3-8B"]') is not None


def test_a_model_of_the_operators_own_leads_to_its_own_page_alone(tmp_path: Path) -> None:
    made = replace(load_llms()["Qwen/Qwen3-8B"], id="acme/House-8B", name="House-8B")
    with (tmp_path / LLMS_FILE).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, LLM_COLUMNS)
        writer.writeheader()
        writer.writerow(llm_cells(made))
    own = Settings(DATABASE_URL="sqlite://", home=tmp_path)
    with TestClient(create_app(own), follow_redirects=False) as client:
        page = ask(client, results=FOUR.replace("Qwen/Qwen3-8B", made.id), **PLACED)
        (link,) = page.css("#found section p.summary a")
        assert (link.attributes["href"] or "").startswith(
            "/llms/acme/House-8B?format=bf16&context=512&batch=8&measured=820"
        )


def test_without_a_card_the_json_says_what_lacks_for_a_bound(tools: TestClient) -> None:
    """The command's says the same, by `tests/test_cli_bench.py`."""
    (one,) = found(tools, results=FOUR)["configurations"]
    assert one["bound"] == (
        "No bound: fill in the card and the format of the weights, which the file does not tell."
    )
