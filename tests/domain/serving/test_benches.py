"""Result files of four benchmarks, read to the figures that were written into them, and refused by name."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from app.domain.llms.beside_bounds import Beside
from app.domain.llms.facts import load_llms
from app.domain.query_error import QueryError
from app.domain.serving.benches import READERS, Run, read_runs
from app.domain.serving.benchmarked import configurations, evidence_of, traps_of_all
from app.domain.serving.beside import (
    On,
    beside,
    placed,
    placed_by_name,
    sentence,
)
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
    del document["failed"], document["median_itl_ms"], document["max_concurrent_requests"]
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
        results.llama_bench(n_prompt=128, samples=(50.0, 51.0)),
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


def test_results_as_the_tools_write_them_now() -> None:
    vllm, sglang = only(results.vllm_detailed()), only(results.sglang_detailed())
    assert (vllm.sent, vllm.per_pass, vllm.tokens_per_s) == (8, Decimal("2.41"), (Decimal(820),))
    assert (sglang.model, sglang.per_pass, sglang.sent) == ("Qwen/Qwen3-8B", Decimal("2.8"), 16)
    assert {("version", "0.5.23"), ("tp_size", "2"), ("quantization", "fp8")} <= set(sglang.settings)
    llama = only(results.llama_bench_now())
    assert {("moe_cache", "off"), ("load_mode", "mmap"), ("poll", "50")} <= set(llama.settings)
    (one,) = read_runs(results.as_bytes(results.guidellm_now(40.0)), "g.json")
    assert (one.model, one.sent) == ("Qwen/Qwen3-8B", 1)
    assert {("prompt_tokens", "512"), ("build", "new"), ("worker_count", "none")} <= set(one.settings)
    for run in (vllm, sglang, llama, one):
        assert not {results.SAID, results.SECRET, "/srv/somebody/model.gguf"} & {
            text for _, text in run.settings
        }


def test_a_setting_that_a_later_build_adds_tells_two_conditions_apart() -> None:
    runs = [only(results.llama_bench_now(moe_cache=cache)) for cache in ("off", "4096", "off")]
    assert [one.summary.count for one in configurations(runs)] == [8, 4]
    servers = [only(results.sglang(server_info={"kv_cache_dtype": kind})) for kind in ("auto", "fp8_e5m2")]
    assert len(configurations(servers)) == 2


@pytest.mark.parametrize(
    ("strategy", "sent"),
    [
        ({"type_": "synchronous"}, 1),
        ({"type_": "concurrent", "streams": 16}, 16),
        ({"type_": "throughput", "max_concurrency": 512}, 512),
        ({"type_": "throughput", "max_concurrency": None}, None),
        ({"type_": "constant", "rate": 5.0, "streams": [1]}, None),
        ({"type_": "concurrent", "streams": True}, None),
        ({"type_": "concurrent", "streams": 10**9}, None),
    ],
)
def test_how_many_a_strategy_keeps_in_flight(strategy: dict[str, Any], sent: int | None) -> None:
    document = results.guidellm(40.0)
    document["benchmarks"][0]["config"]["strategy"] = strategy
    document["benchmarks"][0]["metrics"]["request_totals"]["total"] = 1000
    assert read_runs(results.as_bytes(document), "g")[0].sent == sent


def test_how_many_were_in_flight_without_a_limit() -> None:
    assert only(results.vllm(max_concurrency=None)).sent == 11
    assert only(results.vllm(max_concurrency=0)).sent == 11
    (one,) = configurations([*runs_of(820, max_concurrency=None, max_concurrent_requests=9), *runs_of(821)])[
        :1
    ]
    assert one.in_flight == 9
    rates = [only(results.sglang(max_concurrency=None, max_concurrent_requests=n)) for n in (9, 12)]
    assert configurations(rates)[0].in_flight == 12
    unknown = only(results.sglang(max_concurrency=None))
    assert configurations([*rates, unknown])[0].in_flight is None


def test_no_result_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="it holds no result"):
        read_runs(b"[]", "r")


def test_every_reader_says_whose_result_it_understands() -> None:
    assert [reader.tool for reader in READERS] == ["SGLang", "vLLM", "llama-bench", "GuideLLM"]
    assert all(any(digit in reader.understands for digit in "0123456789") for reader in READERS)


def test_settings_however_nested_are_shown_short() -> None:
    deep: Any = 5
    for _ in range(900):
        deep = [deep]
    document = results.guidellm(40.0)
    document["benchmarks"][0]["config"] = {"profile": {"kind": "concurrent", "streams": deep, "rate": None}}
    (run,) = read_runs(json.dumps(document).encode(), "g.json")
    assert run.settings[0] == ("kind", "concurrent")
    assert run.settings[2] == ("rate", "none")
    assert len(run.settings[1][1]) < 70


def test_a_rate_that_does_not_follow_from_its_tokens_and_seconds_is_remarked() -> None:
    assert only(results.vllm(total_output_tokens=9000)).remarks == (
        "output_throughput does not follow: 9,000 tokens in 20.00 s are 450.00 a second, and it says 820.00.",
    )
    assert only(results.vllm(total_output_tokens=16300)).remarks == ()
    assert only(results.vllm(total_output_tokens=16200)).remarks != ()
    assert only(results.llama_bench(samples=(43.0, 44.0), avg_ts=43.9)).remarks == ()
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


def test_a_label_or_metadata_tells_two_conditions_apart() -> None:
    runs = [*runs_of(820, 821), *runs_of(830, 831, label="new"), *runs_of(840, version="0.31.0")]
    assert [one.summary.count for one in configurations(runs)] == [2, 2, 1]
    assert len(configurations(runs_of(820, 821, date="20261102-000000"))) == 1


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


def test_the_limit_that_the_files_state_is_what_was_sent() -> None:
    log = "Running: 40 reqs, Waiting: 0 reqs"
    found = configurations([*runs_of(820, 821), *runs_of(900, max_concurrency=32)])
    assert evidence_of(found, sent=None, log=log, flags=()).sent == 32
    assert evidence_of(found, sent=64, log=log, flags=()).sent == 64
    (trap,) = traps_of_all(found, evidence_of(found, sent=None, log=log, flags=()))
    assert trap.sentence == "The log shows 40 requests at once where the measurement sent 32."
    unlimited = configurations(runs_of(5, max_concurrency=None, max_concurrent_requests=None))
    assert evidence_of([*found, *unlimited], sent=None, log=log, flags=()).sent is None


def test_the_medians_of_a_configuration_are_those_of_its_runs() -> None:
    (one,) = configurations([only(results.vllm(median_ttft_ms=ms)) for ms in (80, 90, 130)])
    assert (one.ttft_ms, one.itl_ms, one.per_pass) == (90, Decimal("9.5"), None)
    (llama,) = configurations([only(results.llama_bench(samples=(40.0,)))])
    assert (llama.ttft_ms, llama.in_flight) == (None, 1)


def test_failed_requests_are_remarked() -> None:
    (one,) = configurations(runs_of(820, failed=3))
    assert one.remarks == ("result.json: 3 requests failed; those that did not may have had it easier.",)


def test_a_speed_beside_the_bounds_of_its_model() -> None:
    """A token reads 7,568,405,504 bytes of layers and head, at 3.35 TB/s: 442.63 tokens/s for one stream.

    Four streams read 4 x 512 tokens x 73,728 values x 4.5 bits = 84,934,656 bytes of cache besides.
    1,979 dense TFLOPS over two operations for each of 7,568,405,504 parameters are 130,741 tokens/s.
    """
    (one,) = configurations(runs_of(820, 821, 819, 820, max_concurrency=4))
    profile = load_llms()["Qwen/Qwen3-8B"].profile
    on, day = On(card="h100-sxm", weights="fp8"), date(2026, 11, 29)
    found = beside(one, on, profile=profile, llm="Qwen/Qwen3-8B", day=day)
    assert isinstance(found, Beside)
    assert float(str(found.times_one_stream)) == pytest.approx(820 * 7_568_405_504 / 3.35e12)
    assert float(str(found.share_of_batch_bound)) == pytest.approx(820 * 7_653_340_160 / 3.35e12 / 4)
    assert float(str(found.share_of_any_batch)) == pytest.approx(820 / (1979e12 / 2 / 7_568_405_504))
    assert sentence(found) == (
        "Beside H100 SXM 80 GB: 46.8 % of the bound of its batch, 0.6 % of that of any batch, "
        "185.3 % of the ceiling of one stream."
    )


def test_a_speed_without_a_bound_and_one_above_it() -> None:
    profile = load_llms()["Qwen/Qwen3-8B"].profile
    on, day = On(card="h100-sxm", weights="fp8"), date(2026, 11, 29)
    (endless,) = configurations(runs_of(820, max_concurrency=None, max_concurrent_requests=None))
    said = sentence(beside(endless, on, profile=profile, llm="", day=day))
    assert "Not known, of the bound of its batch: the source states no batch." in said
    (lone,) = configurations(runs_of(820, max_concurrency=1))
    above = sentence(beside(lone, on, profile=profile, llm="", day=day))
    assert above.endswith(
        "It lies above a bound, so something it says of itself cannot be so, long prompts got shorter "
        "answers than others, or drafts were verified of which the file tells nothing."
    )
    # Beyond 1,979 dense TFLOPS / (2 x 7.57 billion parameters) = 130,755 tokens/s no draft helps.
    (beyond,) = configurations(runs_of(200_000, max_concurrency=1))
    said = sentence(beside(beyond, on, profile=profile, llm="", day=day))
    assert said.endswith("It lies above a bound, so something it says of itself cannot be so.")
    (slow,) = configurations(runs_of(10, max_concurrency=1))
    # 10 / 130,755 = 0.00765 %, which is not none.
    assert "0.00765 % of that of any batch" in sentence(beside(slow, on, profile=profile, llm="", day=day))
    with pytest.raises(QueryError, match="card: 'h999'"):
        beside(lone, On(card="h999", weights="fp8"), profile=profile, llm="", day=day)


def test_drafts_leave_only_the_bound_of_any_batch() -> None:
    profile, on = load_llms()["Qwen/Qwen3-8B"].profile, On(card="h100-sxm", weights="fp8")
    (one,) = configurations([only(results.vllm_detailed(max_concurrency=1))])
    assert one.remarks == ("result.json: drafts gave a stream 2.41 tokens a pass; a bound counts one.",)
    found = placed(one, on, profile=profile, llm="Qwen/Qwen3-8B")
    assert sentence(found.found) == (
        "Beside H100 SXM 80 GB: 0.6 % of that of any batch. Not known, of the bound of its batch: drafts "
        "gave 2.41 tokens a pass, and this bound counts one; of the ceiling of one stream: drafts gave 2.41 "
        "tokens a pass, and this bound counts one."
    )
    assert [what for what, _ in found.sums] == [
        "Bound of any batch",
        "Parameters for each token of a prompt",
        "Least time to a first token",
    ]
    assert found.measured == "820|h100-sxm|fp8|||512"


def test_the_sums_behind_a_bound() -> None:
    """Qwen3-8B in bf16: a pass reads 7,568,405,504 parameters, and the cache of each of 8 streams.

    (2 x 7,568,405,504 B of weights + 8 x 1,024 x 147,456 B of cache) / 3.35 TB/s are 4.8790 ms; so 8 tokens
    take no less, 1,639.7 tokens/s, of which 820 are 50.0 %. Over two cards all of it halves but the rate.
    """
    profile = load_llms()["Qwen/Qwen3-8B"].profile
    on = On(card="h100-sxm", weights="bf16", context=1024, kv="bf16")
    (one,) = configurations(runs_of(820, 821, 819, 820))
    found = dict(placed(one, on, profile=profile, llm="Qwen/Qwen3-8B").sums)
    assert found["Bound of a batch of 8"] == (
        "(15,136,811,008 B of weights + 1,207,959,552 B of cache) / 3.35 TB/s = 4.8790 ms to read; "
        "0.1259 x 10^12 operations / 989.4 TFLOPS = 0.1273 ms to compute; reading takes longer: 8 tokens / "
        "4.8790 ms = 1,639.7 tokens/s; 820.0 / 1,639.7 = 50.0 %"
    )
    assert found["Bound of any batch"] == (
        "989.4 dense bf16 TFLOPS / (2 x 7,568,405,504 parameters a token) = 65,363.8 tokens/s; "
        "820.0 / 65,363.8 = 1.3 %"
    )
    assert found["Ceiling of one stream, not of many"].endswith(
        "= 221.3 tokens/s; 820.0 / 221.3 = 3.71 times"
    )
    two = dict(placed(one, replace(on, gpus=2), profile=profile, llm="").sums)
    assert "603,979,776 B of cache on each GPU" in two["Bound of a batch of 8"]
    assert two["Bound of any batch"].endswith("x 2 GPUs = 130,727.7 tokens/s; 820.0 / 130,727.7 = 0.6 %")


@pytest.mark.parametrize(
    ("model", "llm", "on", "why"),
    [
        (
            None,
            "",
            On(card="", weights=""),
            "fill in the model, the card and the format of the weights, which",
        ),
        (
            "mine",
            "",
            On(card="h100-sxm", weights="bf16"),
            "the file names mine, which is not among the models here",
        ),
        ("qwen/qwen3-8b", "", On(card="h100-sxm", weights=""), "fill in the format of the weights, which"),
        (
            *("Qwen/Qwen3-8B", "openai/gpt-oss-20b", On(card="h100-sxm", weights="bf16")),
            "the file is of Qwen/Qwen3-8B, and openai/gpt-oss-20b is given",
        ),
    ],
)
def test_why_there_is_no_bound(model: str | None, llm: str, on: On, why: str) -> None:
    (one,) = configurations(runs_of(820, model_id=model))
    found = placed_by_name(one, on, llm=llm, llms=load_llms())
    assert sentence(found.found).startswith(f"No bound: {why}")
    assert (found.measured, found.sums) == ("", ())


def test_the_model_that_a_file_names_is_enough() -> None:
    on = On(card="h100-sxm", weights="bf16")
    (one,) = configurations(runs_of(820, model_id="qwen/qwen3-8b"))
    assert placed_by_name(one, on, llm="", llms=load_llms()).llm == "Qwen/Qwen3-8B"
    (mine,) = configurations(runs_of(820, model_id="mine"))
    assert placed_by_name(mine, on, llm="Qwen/Qwen3-8B", llms=load_llms()).llm == "Qwen/Qwen3-8B"
    (slow,) = configurations([only(results.llama_bench(samples=(0.0004,)))])
    why = sentence(placed_by_name(slow, on, llm="Qwen/Qwen3-8B", llms=load_llms()).found)
    assert why == "No bound: the median is none of 0.001 to 1,000,000,000 tokens/s."


def test_no_more_requests_are_in_flight_than_there_are_prompts() -> None:
    (run,) = runs_of(820, max_concurrency=256, num_prompts=100, completed=100)
    assert run.sent == 100
    (run,) = runs_of(820, max_concurrency=8, num_prompts=100, completed=100)
    assert run.sent == 8
    report = results.guidellm(40.0)
    (benchmark,) = report["benchmarks"]
    benchmark["config"]["strategy"] = {"type_": "throughput", "max_concurrency": 512}
    benchmark["metrics"]["request_totals"] |= {"total": 60}
    assert only(report).sent == 60
    benchmark["metrics"]["request_totals"] |= {"total": 1000}
    assert only(report).sent == 512


def test_prompts_that_did_not_complete_are_told_where_the_file_counts_no_failures() -> None:
    (run,) = runs_of(820, num_prompts=100, completed=60, failed=None)
    assert run.remarks == ("40 of 100 prompts did not complete, and it does not say why.",)
    (run,) = runs_of(820, num_prompts=100, completed=60, failed=40)
    assert (run.failed, run.remarks) == (40, ())


def test_a_latency_of_0_was_not_timed() -> None:
    (run,) = runs_of(820, median_itl_ms=0, median_ttft_ms=0.0)
    assert (run.itl_ms, run.ttft_ms) == (None, None)


def test_the_depth_of_llama_bench_goes_before_a_context_that_is_given() -> None:
    def context(**said: object) -> int | None:
        data = results.as_bytes(results.llama_bench(samples=(43.2, 43.1, 43.4, 43.3), **said))
        (found,) = configurations(read_runs(data, "r"))
        on = On(card="rtx-4090", weights="gguf-q4-k", context=4096, kv="bf16")
        place = placed(found, on, profile=load_llms()["Qwen/Qwen3-8B"].profile, llm="Qwen/Qwen3-8B")
        assert isinstance(place.found, Beside)
        return place.found.measurement.context_in

    assert (context(n_depth=8192), context(n_depth=0)) == (8192, 0)
    assert context(n_depth=None) == 4096


def test_prompts_in_common_are_named_where_they_may_be_why_a_bound_is_beaten() -> None:
    """48 streams of 8,500 tokens of 131,072 B are at 213 % of the bound, and one stream shares nothing."""
    profile = load_llms()["meta-llama/Meta-Llama-3.1-8B"].profile
    on = On(card="h100-sxm", weights="bf16", kv="bf16")
    shared = {"num_prompts": 480, "completed": 480, "total_input_tokens": 480 * 8500}
    for most, is_named in ((48, True), (1, False)):
        (one,) = configurations(runs_of(5000, max_concurrency=most, **shared))
        said = sentence(beside(one, on, profile=profile, llm="", day=date(2026, 11, 29)))
        assert "It lies above a bound" in said
        assert ("prompts had a prefix in common that is read once" in said) == is_named
