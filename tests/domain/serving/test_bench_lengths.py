"""Which runs repeat one configuration: the same workload by its lengths and its data, and no other."""

from itertools import permutations
from typing import Any

import pytest

from app.domain.serving.bench_kept import kept_results
from app.domain.serving.benches import Run, read_runs
from app.domain.serving.benchmarked import configurations, grouped
from tests.domain.serving import results


def only(document: dict[str, Any]) -> Run:
    (run,) = read_runs(results.as_bytes(document), "r")
    return run


def test_other_seeds_repeat_one_configuration() -> None:
    tokens = (204_512, 204_498, 204_530, 204_507)
    runs = [only(results.vllm(820 + at, total_input_tokens=each)) for at, each in enumerate(tokens)]
    (one,) = configurations(runs)
    assert (one.summary.count, one.traps) == (4, ())
    # 204,511.75 tokens of 128 prompts are 1,597.7 each, 16,400 of answers 128.1.
    assert one.told.endswith("mean tokens of a prompt 1,597.7, mean tokens of an answer 128.1")
    assert "total_input_tokens" not in one.told


@pytest.mark.parametrize("make", [results.vllm, results.sglang])
def test_other_lengths_of_answers_or_prompts_are_other_configurations(make: Any) -> None:
    documents = [
        make(rate, total_output_tokens=answer, duration=answer / rate, total_input_tokens=prompt)
        for rate, answer, prompt in ((300, 12_800, 50_000), (301, 12_900, 50_100), (520, 102_400, 50_000))
    ]
    assert [one.summary.count for one in configurations(map(only, documents))] == [2, 1]
    longer = only(make(300, total_output_tokens=12_800, duration=12_800 / 300, total_input_tokens=60_000))
    assert [len(group) for group in grouped([longer, *map(only, documents)])] == [1, 2, 1]


def test_how_runs_are_put_together_does_not_depend_on_their_order() -> None:
    """Of 2,500 requests 5 / 50 is a tenth: of 100, 109, 110 and 118 the last is further from the least."""
    runs = [
        only(results.vllm(completed=2500, num_prompts=2500, total_input_tokens=n * 2500))
        for n in (100, 109, 110, 118)
    ]
    for order in permutations(runs):
        found = {frozenset(run.mean_prompt_tokens for run in group) for group in grouped(order)}
        assert found == {frozenset((100, 109, 110)), frozenset((118,))}
        assert [group[0] for group in grouped(order)] == sorted(
            (group[0] for group in grouped(order)), key=order.index
        )


def of_means(*means: float, requests: int = 200) -> list[Run]:
    """Return runs with these mean tokens of a prompt."""
    made = [results.vllm(completed=requests, total_input_tokens=round(mean * requests)) for mean in means]
    return [only(each) for each in made]


def sizes(runs: list[Run]) -> list[int]:
    return [len(group) for group in grouped(runs)]


def test_means_that_a_seed_may_draw_repeat_one_configuration() -> None:
    """Of 200 requests 5 / sqrt(200) = 0.3536: 470 x 1.3536 = 636.2. Of 1,000 0.1581: 470 x 1.1581 = 544.3."""
    assert sizes(of_means(470, 492.5, 512, 544.5)) == [4]
    assert sizes(of_means(470, 512, 544.5, 636, 637)) == [4, 1]
    assert sizes(of_means(637, 544.5, 470, 636, 512)) == [1, 4]
    assert sizes(of_means(470, 512, 544, 545, requests=1000)) == [3, 1]


def test_fixed_lengths_stray_by_no_draw() -> None:
    """Means that are next to equal were not drawn: 1,000 and 1,100 lie within a tenth, and 1,101 does not."""
    assert sizes(of_means(1000, 1000, 1001, 1000, 1101, 1101, 1102, 1101)) == [4, 4]
    assert sizes(of_means(1000, 1000, 1000, 1101)) == [3, 1]
    assert sizes(of_means(1000, 1000, 1000, 1100)) == [4]


@pytest.mark.parametrize("requests", [1, 10, 200, 100_000])
def test_workloads_of_half_as_much_again_are_two_however_few_requests_there_were(requests: int) -> None:
    assert sizes(of_means(128, 1024, requests=requests)) == [1, 1]
    assert sizes(of_means(200, 302, requests=requests)) == [1, 1]


def test_a_file_that_tells_no_lengths_stands_apart() -> None:
    runs = [only(results.vllm(total_input_tokens=tokens)) for tokens in (65_536, None, 65_537)]
    assert [len(group) for group in grouped(runs)] == [2, 1]


def report(data: Any, rate: float = 40.0) -> dict[str, Any]:
    document = results.guidellm(rate)
    document["args"]["data"] = data
    return document


SYNTHETIC = (
    ["prompt_tokens=256,output_tokens=128"],
    "prompt_tokens=256,output_tokens=128",
    ['{"prompt_tokens": 256, "output_tokens": 128}'],
    ["{'prompt_tokens': 256, 'output_tokens': 128, 'prompt_tokens_stdev': None}"],
    [{"prompt_tokens": 256, "output_tokens": 128, "kind": "synthetic_text", "prompt_tokens_min": None}],
)


@pytest.mark.parametrize("data", SYNTHETIC)
def test_a_synthetic_data_set_however_it_is_written(data: Any) -> None:
    told = dict(only(report(data)).settings)
    assert (told["prompt_tokens"], told["output_tokens"]) == ("256", "128")
    assert "data_sha256" not in told
    other = only(report(["prompt_tokens=16384,output_tokens=128"]))
    assert len(configurations([only(report(data)), other])) == 2


def test_data_that_is_a_path_or_a_text_stands_as_a_digest_alone() -> None:
    texts = [
        "/srv/somebody/prompts.jsonl",
        f"{results.SAID} {results.SECRET}",
        "org/set",
        "prompt_tokens=9,source=/srv/x",
    ]
    runs = [only(report([text])) for text in texts]
    assert len(configurations(runs)) == len(texts)
    for text, run in zip(texts, runs, strict=True):
        kept = kept_results(results.as_bytes(report([text])), "r")
        assert len(dict(run.settings)["data_sha256"]) == 12
        assert read_runs(kept.encode(), "r") == [run]
        for hidden in ("somebody", results.SAID, results.SECRET, "org/set", "/srv"):
            assert hidden not in f"{kept}{run.settings}"
    assert only(report(["org/set"])) == runs[2]


def test_several_data_sets_are_told_from_the_first_of_them_alone() -> None:
    one, two = (["prompt_tokens=256,output_tokens=128", *more] for more in ([], ["prompt_tokens=9"]))
    assert len(configurations([only(report(one)), only(report(two))])) == 2
    assert only(report(None)).settings == only(results.guidellm(40.0)).settings
    assert only(report([])).settings == only(results.guidellm(40.0)).settings


def test_the_tokens_that_guidellm_counted_tell_workloads_apart() -> None:
    def counted(answer: float) -> Run:
        document = results.guidellm(40.0)
        document["benchmarks"][0]["metrics"]["output_token_count"] = results.distribution(answer, answer)
        kept = kept_results(results.as_bytes(document), "r")
        assert read_runs(kept.encode(), "r") == read_runs(results.as_bytes(document), "r")
        return only(document)

    assert [len(group) for group in grouped([counted(128.0), counted(1024.0), counted(130.0)])] == [2, 1]
