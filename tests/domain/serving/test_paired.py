"""Result files of several configurations, each compared with its like, and what has none."""

import json
from typing import Any

import pytest

from app.domain.serving.paired import Paired, Timed, compared_timed, read_timed
from app.domain.serving.reading import InputError
from app.domain.serving.traps import Evidence
from tests.domain.serving import results

STEADY = (100.0, 101.0, 99.0, 100.0)


def timed(*documents: dict[str, Any]) -> Timed:
    return read_timed([(json.dumps(documents).encode(), "a.json")], unit="tokens/s")


def sweep(*rates: float, **other: Any) -> list[dict[str, Any]]:
    """Four runs of vLLM each at 1, 2, 4 requests at once and so on, near these rates."""
    return [
        results.vllm(rate + each / 10, max_concurrency=2**at, **other)
        for at, rate in enumerate(rates)
        for each in range(4)
    ]


def told(found: Paired) -> list[tuple[str, str, int]]:
    return [
        (pair.title, pair.comparison.outcome, round(pair.comparison.speedup_percent)) for pair in found.pairs
    ]


def test_prompts_and_replies_are_not_pooled() -> None:
    """Medians 100 and 120: +20 %. All eight values of each file would have medians of 2,550 and 2,560.

    C(8, 4) = 70 orders of four and four, of which 2 set them apart: 2 x 2 / 70 = 0.0571.
    """
    prompt = results.llama_bench(n_prompt=512, n_gen=0, samples=(5000.0, 5001.0, 4999.0, 5000.0))
    faster = tuple(rate * 1.2 for rate in STEADY)
    before = timed(prompt, results.llama_bench(samples=STEADY))
    after = timed(prompt, results.llama_bench(samples=faster))
    found = compared_timed(before, after, unit="tokens/s")
    assert told(found) == [
        ("prefill, n_prompt 512, n_gen 0", "same", 0),
        ("decode, n_prompt 0, n_gen 128", "different", 20),
    ]
    assert (found.is_one, found.only_before, found.only_after) == (False, (), ())
    assert found.sentence == (
        "2 configurations were timed before and after, each compared by itself: 1 with a difference, "
        "1 alike. Were nothing changed, up to 0.0571 of the 2 with 4 repetitions or more would come out with "
        "a difference by chance, on average."
    )


def test_the_order_of_tests_in_a_file_does_not_matter() -> None:
    tests = [
        results.llama_bench(samples=STEADY),
        results.llama_bench(n_gen=64, samples=(50.0, 51.0, 50.0, 50.0)),
    ]
    found = compared_timed(timed(*tests), timed(*tests[::-1]), unit="tokens/s")
    assert told(found) == [("decode, n_gen 128", "same", 0), ("decode, n_gen 64", "same", 0)]


def test_a_sweep_is_compared_step_by_step_and_what_was_changed_between_files_does_not_count() -> None:
    """At 2 at once 200 a second become 300, half as much again; the rest is as it was, and 8 is new."""
    before = timed(*sweep(100, 200, 400, label="old"))
    after = timed(*sweep(100, 300, 400, 800, label="new", model_id="Qwen/Qwen3-8B-FP8"))
    found = compared_timed(before, after, unit="tokens/s")
    assert told(found) == [
        ("decode, max_concurrency 1", "same", 0),
        ("decode, max_concurrency 2", "different", 50),
        ("decode, max_concurrency 4", "same", 0),
    ]
    assert (found.only_before, found.only_after) == ((), ("decode, max_concurrency 8",))


def test_a_sweep_of_guidellm_is_not_pooled() -> None:
    """Two benchmarks of a file, of 1 and 2 streams: single runs, of which nothing is found."""
    before, after = timed(results.guidellm(40, 80)), timed(results.guidellm(40, 120))
    found = compared_timed(before, after, unit="tokens/s")
    assert told(found) == [
        ("decode, streams 1", "refused", 0),
        ("decode, streams 2", "refused", 50),
    ]
    assert {trap.code for trap in found.traps} == {"too_few_repetitions", "identical_under_every_condition"}


def test_one_configuration_in_each_file_is_compared_whatever_differs() -> None:
    before = timed(*sweep(100, label="old"))
    after = timed(*sweep(150, label="new", request_rate="4", backend="vllm"))
    found = compared_timed(before, after, unit="tokens/s")
    assert (found.is_one, told(found)) == (True, [("", "different", 50)])
    assert found.sentence == "They differ: +49.9 % in speed, and their ranges do not meet."


def test_reading_prompts_is_not_compared_with_generating() -> None:
    prefill = timed(results.llama_bench(n_prompt=512, n_gen=0, samples=STEADY))
    decode = timed(results.llama_bench(samples=STEADY))
    with pytest.raises(InputError, match=r"timed before, too: prefill; it holds decode$") as refused:
        compared_timed(prefill, decode, unit="tokens/s")
    assert refused.value.field == "after"


def test_a_setting_that_somebody_named_as_the_tool_is_none_of_ours() -> None:
    both = timed(*sweep(100, tool="a"), *sweep(200, tool="b"))
    found = compared_timed(both, both, unit="tokens/s")
    assert told(found) == [("decode, tool as set a", "same", 0), ("decode, tool as set b", "same", 0)]


def test_bare_numbers_stand_beside_one_configuration_alone() -> None:
    numbers = read_timed([(b"100 101 99 100", "a.txt"), (b"[100]", "b.txt")], unit="tokens/s")
    assert numbers.values == (100, 101, 99, 100, 100)
    assert compared_timed(numbers, timed(*sweep(150)), unit="tokens/s").is_one
    for name, before, after in (
        ("after", numbers, timed(*sweep(1, 2))),
        ("before", timed(*sweep(1, 2)), numbers),
    ):
        with pytest.raises(
            InputError, match=r"it holds decode, max_concurrency 1; decode, max_concurrency 2$"
        ) as no:
            compared_timed(before, after, unit="tokens/s")
        assert no.value.field == name
    mixed = Timed(numbers=numbers.numbers, runs=timed(*sweep(1)).runs)
    with pytest.raises(InputError, match="it holds numbers alone; decode"):
        compared_timed(mixed, numbers, unit="tokens/s")


def test_more_configurations_than_a_sentence_names_are_counted() -> None:
    many = timed(*sweep(1, 2, 3, 4, 5))
    with pytest.raises(InputError, match=r"max_concurrency 4; and 2 more$"):
        compared_timed(many, read_timed([(b"1 2", "x")], unit="tokens/s"), unit="tokens/s")


def test_a_warm_up_is_left_out_of_each_configuration() -> None:
    """Without the first value of each: 100 and 200, so as fast after as before."""
    tests = [
        results.llama_bench(n_gen=each, samples=(1.0, rate, rate + 1, rate, rate - 1))
        for each, rate in ((128, 100.0), (64, 200.0))
    ]
    found = compared_timed(timed(*tests), timed(*tests), unit="tokens/s", warm_up=1)
    assert [pair.comparison.before.median for pair in found.pairs] == [100, 200]
    assert found.traps == ()
    with pytest.raises(InputError, match="leave at least one of the 5 of before"):
        compared_timed(timed(*tests), timed(*tests), unit="tokens/s", warm_up=5)


def test_what_is_known_beside_the_timings_holds_for_each_configuration() -> None:
    both = timed(*sweep(100, 200))
    found = compared_timed(both, both, unit="tokens/s", evidence=Evidence(foreign_requests=2))
    assert [[trap.code for trap in pair.comparison.traps] for pair in found.pairs] == [["foreign_load"]] * 2
    assert all("Without the server's log" in pair.comparison.unchecked[0] for pair in found.pairs)


def test_results_are_of_tokens_a_second_alone() -> None:
    with pytest.raises(InputError, match=r"a\.json holds tokens/s"):
        read_timed([(json.dumps(results.vllm()).encode(), "a.json")], unit="ms")


LOG = "INFO Engine 000: Running: 60 reqs, Waiting: 4 reqs"


def loads(found: Paired) -> list[list[str]]:
    return [
        [trap.sentence for trap in pair.comparison.traps if trap.code == "foreign_load"]
        for pair in found.pairs
    ]


def test_how_many_were_in_flight_is_what_the_files_say_where_nobody_else_does() -> None:
    """A log of 60 + 4 = 64 at once is of others where the files kept 8 in flight, and of ours where 64."""
    said = "The log shows 64 requests at once where the measurement sent 8."
    known = Evidence(log=LOG)
    before, after = (timed(*(results.vllm(rate + more) for rate in STEADY)) for more in (0, 50))
    found = compared_timed(before, after, unit="tokens/s", evidence=known)
    assert (found.sentence, loads(found)) == ("No finding: foreign_load.", [[said]])
    assert not any("say how many" in each for each in found.pairs[0].comparison.unchecked)
    typed = compared_timed(before, after, unit="tokens/s", evidence=Evidence(log=LOG, sent=64))
    assert loads(typed) == [[]]
    more = timed(*(results.vllm(rate, max_concurrency=64) for rate in STEADY))
    assert loads(compared_timed(before, more, unit="tokens/s", evidence=known)) == [[]]
    both = timed(*sweep(100, 200, 300, 400))
    assert loads(compared_timed(both, both, unit="tokens/s", evidence=known)) == [[said]] * 4


def test_what_one_side_does_not_say_of_its_load_is_asked_for() -> None:
    """A server without a limit, and bare numbers, may themselves have sent the 64 of the log."""
    before = timed(*(results.vllm(rate) for rate in STEADY))
    endless = {"max_concurrency": None, "max_concurrent_requests": None}
    for after in (
        timed(*(results.vllm(rate, **endless) for rate in STEADY)),
        read_timed([(b"100 101 99 100", "a.txt")], unit="tokens/s"),
    ):
        found = compared_timed(before, after, unit="tokens/s", evidence=Evidence(log=LOG))
        assert loads(found) == [[]]
        assert "up to 64 requests at once; say how many" in found.pairs[0].comparison.unchecked[0]


def test_how_many_differences_chance_would_make() -> None:
    """Four and four: 2 of 8! / (4! 4!) = 70 orders; four and six: 2 of 10! / (4! 6!) = 210.

    Twenty of the first come to 20 x 2 / 70 = 0.5714. Of 2 / 70 and 2 / 210 the sum is 8 / 210 = 0.0381; one
    of three repetitions is refused whatever they are. For U = 0 of four and four, tables of Mann and
    Whitney's test have a two-sided 0.029.
    """
    many = [100.0 * each for each in range(1, 21)]
    found = compared_timed(timed(*sweep(*many)), timed(*sweep(500.0, *many[1:])), unit="tokens/s")
    assert [pair.comparison.outcome for pair in found.pairs].count("different") == 1
    assert str(found.by_chance)[:6] == "0.5714"
    assert "up to 0.571 of the 20 with 4 repetitions or more" in found.sentence
    tests = (
        (128, STEADY, (150.0, 151.0, 152.0, 150.0, 151.0, 152.0)),
        (64, STEADY, STEADY),
        (32, (9, 9, 9), (9, 9, 9)),
    )
    before, after = (
        timed(*(results.llama_bench(n_gen=each[0], samples=each[side]) for each in tests)) for side in (1, 2)
    )
    found = compared_timed(before, after, unit="tokens/s")
    assert str(found.by_chance)[:7] == "0.03809"
    assert "up to 0.0381 of the 2 with" in found.sentence


def test_of_no_difference_and_of_one_pair_chance_is_not_spoken() -> None:
    both = timed(*sweep(100, 200))
    one = compared_timed(timed(*sweep(100)), timed(*sweep(150)), unit="tokens/s")
    for found in (compared_timed(both, both, unit="tokens/s"), one):
        assert (found.by_chance, "chance" in found.sentence) == (None, False)


def test_the_settings_that_differ_between_the_files_are_named() -> None:
    """Both sides are one configuration, whose label and rate differ; what a sweep varies is no change."""
    before, after = (
        timed(*sweep(100, 200, label=name, request_rate=rate)) for name, rate in (("old", "4"), ("new", "8"))
    )
    found = compared_timed(before, after, unit="tokens/s")
    assert [each.sentence for each in found.changed] == [
        "label: old before, new after",
        "request_rate: 4 before, 8 after",
    ]
    numbers = read_timed([(b"100 101 99 100", "a.txt")], unit="tokens/s")
    assert compared_timed(numbers, timed(*sweep(100)), unit="tokens/s").changed == ()
    more = compared_timed(timed(*sweep(100)), timed(*sweep(100, my_own="x")), unit="tokens/s")
    assert [each.sentence for each in more.changed] == ["my_own: not stated before, x after"]
