"""Result files of four benchmarks, read to the figures that were written into them, and refused by name."""

from decimal import Decimal
from typing import Any

import pytest

from app.domain.serving.benches import READERS, Run, read_runs
from app.domain.serving.benchmarked import configurations, traps_of_all
from app.domain.serving.reading import InputError
from app.domain.serving.traps import Evidence
from tests.domain.serving import results


def only(document: dict[str, Any]) -> Run:
    (run,) = read_runs(results.as_bytes(document), "result.json")
    return run


def test_a_result_of_vllm() -> None:
    run = only(results.vllm())
    assert (run.tool, run.model, run.phase, run.sent) == ("vLLM", "Qwen/Qwen3-8B", "decode", 8)
    assert (run.tokens_per_s, run.ttft_ms, run.itl_ms) == ((Decimal(820),), Decimal("9.5"), Decimal("9.5"))
    assert (run.completed, run.failed, run.remarks) == (128, 0, ())
    assert ("request_rate", "inf") in run.settings


def test_a_result_of_vllm_before_it_counted_failures_and_without_a_limit() -> None:
    document = results.vllm(max_concurrency=None)
    del document["failed"], document["median_itl_ms"]
    run = only(document)
    assert (run.failed, run.sent, run.itl_ms) == (None, None, None)


def test_results_of_sglang_one_a_line() -> None:
    data = results.as_bytes(results.sglang(), results.sglang(644.0), lines=True)
    one, other = read_runs(data, "out.jsonl")
    assert (one.tool, one.model, one.sent) == ("SGLang", "Qwen/Qwen3-8B", 16)
    assert (one.tokens_per_s, other.tokens_per_s) == ((Decimal(640),), (Decimal(644),))
    assert other.place == "out.jsonl line 2"
    assert ("request_rate", "inf") in one.settings
    assert only(results.sglang(server_info=None)).model is None


def test_tests_of_llama_bench_with_their_repetitions() -> None:
    tests = (
        results.llama_bench(n_prompt=512, n_gen=0, samples=(900.0, 905.0, 903.0, 901.0)),
        results.llama_bench(samples=(43.2, 43.1, 43.4, 43.3)),
        results.llama_bench(n_prompt=512, samples=(50.0, 51.0)),
    )
    for lines in (False, True):
        prefill, decode, both = read_runs(results.as_bytes(*tests, lines=lines), "bench.json")
        assert [run.phase for run in (prefill, decode, both)] == ["prefill", "decode", "prefill and decode"]
        assert decode.tokens_per_s == tuple(map(Decimal, ("43.2", "43.1", "43.4", "43.3")))
        assert (decode.tool, decode.model) == ("llama-bench", "qwen3moe 30B.A3B Q4_K - Medium")


def test_a_report_of_guidellm_has_a_run_for_each_benchmark() -> None:
    one, two = read_runs(results.as_bytes(results.guidellm(40.0, 76.5)), "benchmarks.json")
    assert (one.tool, one.model) == ("GuideLLM", "Qwen/Qwen3-8B")
    assert (one.tokens_per_s, two.tokens_per_s) == ((Decimal(40),), (Decimal("76.5"),))
    assert (two.settings, two.completed, two.failed) == (
        (("type_", "concurrent"), ("streams", "2")),
        60,
        2,
    )
    assert (one.ttft_ms, one.itl_ms) == (Decimal(88), None)


def test_every_reader_says_whose_result_it_understands() -> None:
    assert [reader.tool for reader in READERS] == ["SGLang", "vLLM", "llama-bench", "GuideLLM"]
    assert all(any(digit in reader.understands for digit in "0123456789") for reader in READERS)


def test_a_rate_that_does_not_follow_from_its_tokens_and_seconds_is_remarked() -> None:
    assert only(results.vllm(total_output_tokens=9000)).remarks == (
        "output_throughput does not follow: 9,000 tokens in 20.00 s are 450.00 a second, and it says 820.00.",
    )
    (remark,) = only(results.llama_bench(samples=(43.0, 44.0), avg_ts=60.0)).remarks
    assert remark == "avg_ts does not follow: its samples average 43.50, and it says 60.00."


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"mean": 5}, "give a result of one of SGLang, vLLM, llama-bench, GuideLLM"),
        ({}, "give a result of one of"),
        ({"context": {}, "benchmarks": [{"name": "BM_memcpy", "real_time": 5}]}, "it lacks metrics"),
        ({"benchmarks": []}, "at least one"),
        ({"benchmarks": [{"metrics": {"request_totals": {}}}]}, "it lacks output_tokens_per_second"),
        ({"build_commit": "x", "model_type": "y", "avg_ts": 5}, "it lacks n_gen, n_prompt, samples_ts"),
        (results.vllm(output_throughput=820.0, duration=0), "duration"),
        (results.vllm(duration=-20), "duration"),
        (results.vllm(duration="20"), "duration"),
        (results.vllm(completed=2**63), "completed"),
        (results.vllm(completed=1.5), "whole number"),
        (results.vllm() | {"output_throughput": float("nan")}, "output_throughput"),
        (results.vllm() | {"output_throughput": float("inf")}, "output_throughput"),
        (results.vllm() | {"median_ttft_ms": [1]}, "median_ttft_ms"),
        (results.llama_bench(samples=(1.0,)) | {"samples_ts": []}, "samples_ts"),
        (results.llama_bench(samples=(1.0,)) | {"samples_ts": [True]}, "samples_ts"),
        (results.llama_bench(n_gen=0, samples=(1.0,)), "n_prompt and n_gen"),
    ],
)
def test_a_file_is_refused_by_what_it_lacks(document: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refused:
        read_runs(results.as_bytes(document), "result.json")
    assert words in str(refused.value)


def runs_of(*rates: float, **other: Any) -> list[Run]:
    return [only(results.vllm(rate, **other)) for rate in rates]


def test_files_with_the_same_settings_repeat_one_configuration() -> None:
    runs = [*runs_of(820, 822, 819, 821), *runs_of(980, 982, 979, 981, max_concurrency=32)]
    eight, more = configurations(runs)
    assert (eight.summary.count, eight.summary.median, eight.traps) == (4, Decimal("820.5"), ())
    assert more.summary.median == Decimal("980.5")
    assert eight.title == "vLLM, Qwen/Qwen3-8B, decode"
    assert traps_of_all([eight, more]) == []


def test_the_traps_that_result_files_spring() -> None:
    (single,) = configurations(runs_of(820))
    assert [trap.code for trap in single.traps] == ["too_few_repetitions"]
    (warm,) = configurations(runs_of(6.5, 820, 822, 819, 821))
    assert [trap.code for trap in warm.traps] == ["warm_up_included"]
    (wide,) = configurations(runs_of(600, 700, 900, 1000))
    assert [trap.code for trap in wide.traps] == ["spread_too_wide"]
    same = configurations([*runs_of(35, 35, 35, 35), *runs_of(35, 35, 35, 35, max_concurrency=1)])
    assert [trap.code for trap in traps_of_all(same)] == ["identical_under_every_condition"]
    log = (
        "Running: 40 reqs, Waiting: 0 reqs\n--mamba-cache-mode all is not supported, falling back to align\n"
    )
    known = Evidence(sent=8, log=log, flags=("mamba_cache_mode",))
    assert [trap.code for trap in traps_of_all(same[:1], known)] == ["foreign_load", "flag_ignored"]


def test_failed_requests_are_remarked() -> None:
    (one,) = configurations(runs_of(820, failed=3))
    assert one.remarks == ("result.json: 3 requests failed; those that did not may have had it easier.",)
