"""Which settings tell two configurations apart: all of each, however little of it is shown."""

import json
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest

from app.domain.serving.bench_kept import kept_results
from app.domain.serving.bench_run import whole
from app.domain.serving.benches import Run, read_runs
from app.domain.serving.benchmarked import configurations
from app.domain.serving.paired import compared_timed, read_timed
from app.domain.serving.reading import InputError
from tests.domain.serving import results


def runs_of(*documents: dict[str, Any]) -> list[Run]:
    """Read what a file says, which is what the link says as well."""
    data = results.as_bytes(*documents)
    kept = kept_results(data, "r")
    assert read_runs(kept.encode(), "r") == read_runs(data, "r")
    assert kept_results(kept.encode(), "r") == kept
    return read_runs(data, "r")


def counts(*documents: dict[str, Any]) -> list[int]:
    return [one.summary.count for one in configurations(runs_of(*documents))]


EXPERTS = r"blk\.(1[0-9]|2[0-9]|3[0-9]|4[0-7])\.ffn_(up|gate|down)_exps=CPU;output="
FOLDER = "/mnt/nfs/llm-serving/checkpoints/quantised-experiments/2026-11/qwen3-8b-"
ENGINE = "vllm serve flags: --max-num-seqs 256 --enable-prefix-caching --max-num-batched-tokens "


def test_texts_that_differ_after_what_is_shown_are_two_configurations() -> None:
    """The three texts are the same for 70 characters, and a line shows 60 of a setting."""
    llama = [
        results.llama_bench(samples=(rate, rate + 1), tensor_buft_overrides=EXPERTS + to)
        for rate, to in ((41.0, "CUDA0"), (30.0, "CPU"), (44.0, "CUDA0"))
    ]
    assert counts(*llama) == [4, 2]
    paths = [
        results.vllm(820.0 + at, model_id=FOLDER + end) for at, end in enumerate(("fp8", "nvfp4", "fp8"))
    ]
    assert counts(*paths) == [2, 1]
    servers = [results.sglang(server_info={"model_path": FOLDER * 4 + end}) for end in ("fp8", "nvfp4")]
    assert counts(*servers) == [1, 1]
    metadata = [results.vllm(820.0 + at, engine_args=ENGINE + at * "0") for at in (1, 2)]
    assert counts(*metadata) == [1, 1]
    reports = [results.guidellm(40.0, args={"metadata": {"labels": {"of": ENGINE + end}}}) for end in "12"]
    assert counts(*reports) == [1, 1]


def test_of_a_long_text_its_start_is_shown_only_where_the_field_is_known() -> None:
    (run,) = runs_of(results.vllm(label="a" * 70, engine_args=ENGINE, model_id=FOLDER))
    told = dict(run.settings)
    assert told["label"] == f"{'a' * 37}... sha256 {sha256(b'a' * 70).hexdigest()[:12]}"
    assert told["engine_args"] == f"sha256 {sha256(ENGINE.encode()).hexdigest()[:12]}"
    assert (run.model, "model_id" in told) == (FOLDER, False)


def test_a_secret_or_a_prompt_stands_not_even_as_a_digest() -> None:
    long = f"{results.SECRET} {results.SAID} " * 9
    (run,) = runs_of(
        results.vllm(system_prompt=long, api_key=long, user=results.SAID, token=long[:8], password=1234)
    )
    (plain,) = runs_of(results.vllm())
    assert run.settings == plain.settings


def test_a_count_of_tokens_is_no_text_that_somebody_wrote() -> None:
    told = [results.vllm(820.0 + at, max_num_batched_tokens=text) for at, text in enumerate(("2048", "8192"))]
    assert counts(*told) == [1, 1]


@pytest.mark.parametrize("value", ["x" * 61, "a\nb", "\ud800", [*range(9)], {"a": "x" * 99}, 10**55, "", 1])
def test_what_stands_for_a_value_stands_for_itself(value: Any) -> None:
    text = whole(value)
    assert len(text) <= 60
    assert whole(text) == text
    assert text.isprintable()


def test_values_that_look_alike_have_texts_of_their_own() -> None:
    alike = ("a\nb", "a\tb", "x" * 61, "x" * 62, [*range(9)], [*range(8), 9], 10**55, 10**55 + 10**20)
    assert len({whole(value) for value in alike}) == len(alike)


def test_what_a_sweep_of_vllm_varied_tells_configurations_apart() -> None:
    """`vllm bench sweep serve` updates each result with its parameters, of whatever type they are."""
    for one, other in (
        (32, 256),
        (0.9, 0.95),
        (True, False),
        (None, 8),
        ({"method": "ngram"}, {}),
        ([1], [2]),
    ):
        swept = [
            results.vllm(rate + at, run_number=at, parameter=value, e2el=None)
            for rate, value in ((820.0, one), (850.0, other))
            for at in range(4)
        ]
        assert counts(*swept) == [4, 4]
        medians = [one.summary.median for one in configurations(runs_of(*swept))]
        assert medians == [Decimal("821.5"), Decimal("851.5")]


def test_nothing_that_a_run_of_vllm_measured_tells_configurations_apart() -> None:
    """Each number of a detailed result is another one in the second run, but for what was asked for."""
    asked = {"num_prompts", "max_concurrency", "burstiness"}
    probes: dict[str, Any] = {
        "probe_completed": 9,
        "probe_p99_e2el_ms": 1.5,
        "request_goodput": 2.0,
        "request_goodput:": 2.0,
    }
    more: dict[str, Any] = {
        "mean_client_queue_time_ms": 1.5,
        "p99.9_e2el_ms": 9.5,
        "diffusion_steps_per_canvas": 2.5,
    }
    lists: dict[str, Any] = {
        "anew_of_each_request": [0.5] * 65,
        "rps_change_events": [{"rps": 1, "timestamp": "2026"}],
    }
    first = results.vllm_detailed(**probes, **more, **lists, run_number=1, seed=7)
    second = {
        name: value * 1.001 if isinstance(value, int | float) and name not in asked else value
        for name, value in first.items()
    }
    second |= {"date": "20261101-111500", "completed": 128, "failed": 0, "anew_of_each_request": [0.25] * 65}
    second |= {"itls": [[0.1]], "rps_change_events": [], "total_output_tokens": 16416}
    assert counts(first, second) == [2]


def test_an_object_of_a_sweep_is_not_shown() -> None:
    (run,) = runs_of(results.vllm(speculative_config={"method": "ngram", "model": results.SAID}))
    assert dict(run.settings)["speculative_config"].startswith("sha256 ")


def test_runs_with_drafts_repeat_none_without() -> None:
    plain = [results.vllm(820.0 + at) for at in range(4)]
    drafted = [results.vllm(860.0 + at, spec_decode_acceptance_length=2.4) for at in range(4)]
    assert counts(*plain, *drafted) == [4, 4]
    assert counts(results.sglang(640.0), results.sglang(660.0, accept_length=2.8)) == [1, 1]


def test_drafts_that_are_the_change_are_what_two_sides_are_compared_for() -> None:
    before, after = (
        read_timed([(results.as_bytes(*side), "r")], unit="tokens/s")
        for side in (
            [results.vllm(820.0 + at) for at in range(4)],
            [results.vllm(860.0 + at, spec_decode_acceptance_length=2.4) for at in range(4)],
        )
    )
    (pair,) = compared_timed(before, after, unit="tokens/s").pairs
    assert (pair.comparison.before.count, pair.comparison.after.count) == (4, 4)


def test_one_result_given_twice_counts_once() -> None:
    """Of 820, 830 and both again the median is 825 of two, too few for a finding."""
    both = [results.vllm(820.0, run_number=0), results.vllm(830.0, run_number=1)]
    files = (("run=0.json", both[:1]), ("run=1.json", both[1:]), ("summary.json", both))
    found = configurations(
        run for name, documents in files for run in read_runs(results.as_bytes(*documents), name)
    )
    (one,) = found
    assert (one.summary.count, one.summary.median) == (2, Decimal(825))
    assert [trap.code for trap in one.traps] == ["too_few_repetitions"]
    assert one.remarks[0] == (
        "run=0.json: the same result was given 2 times, also as summary.json entry 1; it counts once."
    )
    many = configurations(runs_of(*both[:1] * 6))[0]
    assert many.remarks[0].endswith(
        "6 times, also as r entry 2, r entry 3, r entry 4 and 2 more; it counts once."
    )


def test_results_of_another_time_are_others_though_their_figures_are_the_same() -> None:
    assert counts(results.vllm(), results.vllm()) == [2]
    assert counts(results.llama_bench(samples=(43.0,)), results.llama_bench(samples=(43.0,))) == [2]
    reports = [results.guidellm(40.0) for _ in range(3)]
    for report, start in zip(reports, (1762000000.5, 1762000060.5, 1762000000.5), strict=True):
        report["benchmarks"][0]["start_time"] = start
    assert counts(*reports) == [2]
    assert counts(results.llama_bench(samples=(43.0, 43.0, 43.0))) == [3]


def test_of_two_sides_each_counts_a_result_of_both_once() -> None:
    """One file before and after is four repetitions on each side, and on one side twice still four."""
    data = results.as_bytes(*[results.vllm(820.0 + at) for at in range(4)])
    once, twice = (read_timed([(data, "r")] * times, unit="tokens/s") for times in (1, 2))
    for before in (once, twice):
        (pair,) = compared_timed(before, once, unit="tokens/s").pairs
        sides = pair.comparison.before.count, pair.comparison.after.count
        assert (sides, pair.comparison.outcome) == ((4, 4), "same")


def test_the_model_of_a_report_of_guidellm_that_only_its_benchmarks_name() -> None:
    report = results.guidellm(40.0, 41.0, args={"model": None})
    named = ("Qwen/Qwen3-8B", "Qwen/Qwen3-32B")
    for benchmark, model in zip(report["benchmarks"], named, strict=True):
        benchmark["config"]["backend"] = {"model": model, "api_key": results.SECRET}
    assert tuple(run.model for run in runs_of(report)) == named
    assert results.SECRET not in kept_results(results.as_bytes(report), "r")
    report["args"]["model"] = "Qwen/Qwen3-4B"
    assert {run.model for run in runs_of(report)} == {"Qwen/Qwen3-4B"}


def test_a_setting_that_is_nested_too_deep_is_refused_by_name() -> None:
    """Somewhere in between it can be read, and not be written."""
    said = []
    for depth in range(800, 1200):
        text = json.dumps(results.vllm())[:-1] + f', "x": {"[" * depth}1{"]" * depth}}}'
        try:
            read_runs(text.encode(), "r")
        except InputError as error:
            said.append(error.expected)
    assert set(said) == {"give JSON that is not nested so deep"}
