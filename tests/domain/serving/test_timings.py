"""Two sets of timings to a verdict, and each trap sprung by what it is named for."""

from decimal import Decimal

import pytest

from app.domain.serving.reading import InputError
from app.domain.serving.timings import Comparison, Outcome, Unit, compared, summarised
from app.domain.serving.traps import (
    Evidence,
    ignoring_lines,
    in_evidence,
    lines_that_matter,
    most_requests,
    unchecked,
)

STEADY = "100 101 99 100"


def sets(before: str, after: str, *, unit: Unit = "tokens/s", **known: object) -> Comparison:
    one, other = ([Decimal(text) for text in texts.split()] for texts in (before, after))
    return compared(one, other, unit=unit, evidence=Evidence(**known))  # type: ignore[arg-type]  # by name


def codes(found: Comparison) -> list[str]:
    return [trap.code for trap in found.traps]


def test_median_and_quartiles_by_hand() -> None:
    """Of 1 2 3 4 5 6 7 8: median 4.5; inclusive quartiles lie at places 1.75 and 5.25 from 0: 2.75, 6.25."""
    found = summarised([Decimal(text) for text in "81726354"], "x")
    assert (found.median, found.low_quartile, found.high_quartile) == (
        Decimal("4.5"),
        Decimal("2.75"),
        Decimal("6.25"),
    )
    assert round(found.spread_percent, 4) == Decimal("77.7778")


def test_identical_runs_are_the_same_configuration() -> None:
    found = sets(STEADY, STEADY)
    assert (found.outcome, found.traps) == ("same", ())
    assert found.sentence.startswith("These look like the same configuration: value for value")
    assert (found.change_percent, found.overlap_percent) == (0, 100)


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (STEADY, "100 102 99 101", "same"),
        (STEADY, "150 151 152 150", "different"),
        ("100 100 100 104", "103 103 103 103", "undecided"),
        ("100 102 104 106", "105 108 109 110", "undecided"),
        ("100 102 104 106", "103 104 105 107", "same"),
    ],
)
def test_verdicts(before: str, after: str, outcome: Outcome) -> None:
    assert sets(before, after).outcome == outcome


def test_how_much_faster_depends_on_the_unit() -> None:
    assert round(sets(STEADY, "150 150 151 150").speedup_percent, 1) == 50
    assert round(sets("150 150 151 150", STEADY, unit="ms").speedup_percent, 1) == 50
    assert round(sets("150 150 151 150", STEADY, unit="ms").change_percent, 1) == Decimal("-33.3")


def test_overlap_of_ranges() -> None:
    """100 to 106 and 104 to 110 share 2 of 10."""
    assert sets("100 102 104 106", "104 106 108 110").overlap_percent == 20
    assert sets(STEADY, "150 151 152 150").overlap_percent == 0


def test_too_few_repetitions_forbid_a_finding() -> None:
    found = sets("100 100 100", "150 150 150 150")
    assert (found.outcome, codes(found)) == ("refused", ["too_few_repetitions"])
    assert found.sentence == "No finding: too_few_repetitions."


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        # Medians 144.5 and 160.5; the middle halves 130.25 to 158.25 by 146.75 to 173 lie well over 10 %.
        ("128 162 131 158", "149 176 140 172", ["spread_too_wide"]),
        ("100 160", "150 105", ["too_few_repetitions", "spread_too_wide"]),
        ("100 160", "100 160", ["too_few_repetitions", "spread_too_wide"]),
        ("145", "145", ["too_few_repetitions", "identical_under_every_condition"]),
        ("145", "146", ["too_few_repetitions"]),
        ("100 100 100 100", "100 100 100 100", ["identical_under_every_condition"]),
        ("6.5 145 146 144 145", "145 145 146 144 145", ["warm_up_included"]),
    ],
)
def test_a_trap_forbids_also_that_two_sets_look_alike(before: str, after: str, found: list[str]) -> None:
    told = sets(before, after)
    assert (told.outcome, list(dict.fromkeys(codes(told)))) == ("refused", found)
    assert told.sentence.startswith(f"No finding: {', '.join(found)}.")
    assert "These look like" not in told.sentence
    equal = "Value for value they are equal, as if one file of the same configuration were read twice."
    assert (equal in told.sentence) is (before == after)


def test_what_the_log_says_forbids_also_that_two_sets_look_alike() -> None:
    assert sets(STEADY, STEADY, foreign_requests=3).outcome == "refused"
    assert sets(STEADY, STEADY, sent=32, log=VLLM_LOG).outcome == "refused"
    one = sets(STEADY, STEADY, foreign_requests=1)
    assert one.traps[0].sentence == "1 other request ran during the measurement."


def test_a_wide_spread_forbids_a_near_finding_only() -> None:
    """An article's 13 to 17 on a mean of 145: these lie about 12 % apart in their middle half."""
    wide = "128 139 151 162"
    assert codes(sets(wide, "163 164 165 166")) == ["spread_too_wide"]
    assert sets(wide, "163 164 165 166").outcome == "refused"
    assert codes(sets(wide, "400 401 402 403")) == []


def test_a_first_value_far_off_is_a_warm_up() -> None:
    slow = "6.5 145 146 144 145"
    assert codes(sets(slow, "170 171 170 172 171")) == ["warm_up_included"]
    assert codes(sets("90 10 10 11 10", "5 5 5 5 5", unit="ms")) == ["warm_up_included"]
    assert codes(sets("145 146 6.5 144 145", "170 171 170 172 171")) == []
    assert codes(sets("200 145 146 144 145", "170 171 170 172 171")) == []


def test_the_same_number_under_every_condition_is_suspect() -> None:
    found = sets("35 35 35 35", "35 35 35 35")
    assert (found.outcome, codes(found)) == ("refused", ["identical_under_every_condition"])
    assert codes(sets("35 35 35 35", "36 36 36 36")) == []


VLLM_LOG = """INFO 11-01 10:00:00 Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 8 reqs, Waiting: 0
INFO 11-01 10:00:10 Engine 000: Running: 32 reqs, Waiting: 21 reqs, GPU KV cache usage: 3.1%
WARNING 11-01 09:59:00 mamba_cache_mode='all' is not supported here, falling back to 'align'
"""
SGLANG_LOG = "[2026-11-01 10:00:00] Decode batch. #running-req: 12, #token: 4096, #queue-req: 3\n"


def test_foreign_load_is_what_the_log_shows_beyond_what_was_sent() -> None:
    assert (most_requests(VLLM_LOG), most_requests(SGLANG_LOG), most_requests("nothing")) == (53, 15, None)
    faster = "150 151 152 150"
    assert codes(sets(STEADY, faster, sent=32, log=VLLM_LOG)) == ["foreign_load"]
    assert codes(sets(STEADY, faster, sent=53, log=VLLM_LOG)) == []
    assert codes(sets(STEADY, faster, log=VLLM_LOG)) == []
    assert codes(sets(STEADY, faster, foreign_requests=3)) == ["foreign_load"]


def test_a_flag_that_fell_back_is_found_however_it_is_spelled() -> None:
    found = sets(STEADY, "150 151 152 150", log=VLLM_LOG, flags=("--mamba-cache-mode", "--max-num-seqs"))
    assert (found.outcome, codes(found)) == ("refused", ["flag_ignored"])
    assert "falling back to 'align'" in found.traps[0].sentence
    told = '"gdn_prefill_backend": FlashInfer ignored'
    assert ignoring_lines(told, ["gdn-prefill-backend"]) == {"gdn-prefill-backend": told}
    assert ignoring_lines("mamba_cache_mode=all is in effect", ["--mamba-cache-mode"]) == {}
    assert ignoring_lines("something ignored", ["--"]) == {}


@pytest.mark.parametrize("values", ["", "0 1 2 3", "-1 1 2 3"])
def test_timings_are_above_zero(values: str) -> None:
    with pytest.raises(InputError, match="above 0"):
        sets(values, STEADY)


def test_a_small_difference_is_not_said_to_be_none() -> None:
    # 10,005.5 / 10,001.5 - 1 = 0.04 %.
    found = sets("10000 10001 10002 10003", "10004 10005 10006 10007")
    assert found.sentence == "They differ: +0.04 % in speed, and their ranges do not meet."


def test_ranges_apart_whose_medians_are_close_for_their_spread_are_said_to_be_so() -> None:
    # Medians 105 and 111.25, 6.25 apart; the middle half of the first goes from 100.75 to 109.25, 8.5 wide.
    found = sets("100 101 109 110", "110.5 111 111.5 112")
    assert (found.outcome, found.is_apart, found.traps) == ("undecided", True, ())
    assert found.sentence == (
        "Undecided: the ranges do not meet, but the medians differ by no more than the wider middle half; "
        "repeat more."
    )


def test_lines_of_several_engines_are_not_added_up_and_said_not_to_be() -> None:
    log = "Engine 000: Running: 16 reqs, Waiting: 0 reqs\nEngine 001: Running: 16 reqs, Waiting: 0 reqs\n"
    for each in (log, lines_that_matter(log, ()), log.replace("Engine 00", "DP")):
        evidence = Evidence(sent=16, log=each)
        assert list(in_evidence(evidence)) == []
        assert "several engines" in next(unchecked(evidence))
    assert "several engines" not in " ".join(unchecked(Evidence(sent=16, log=log.partition("\n")[0])))


def test_a_line_that_denies_a_fall_back_is_none() -> None:
    for line in ("mamba_cache_mode: no fallback needed", "not ignoring mamba_cache_mode"):
        assert ignoring_lines(line, ["--mamba-cache-mode"]) == {}
    gone = "FlashInfer GDN prefill backend is not available; using Triton"
    assert ignoring_lines(gone, ["--gdn-prefill-backend"]) == {"--gdn-prefill-backend": gone}


def test_a_flag_that_no_line_names_is_said_to_be_unknown() -> None:
    flags = ("--mamba-cache-mode", "--disable-x-ignore", "--cuda-graph")
    log = "Running: 4 reqs, Waiting: 0 reqs\nargs: mamba_cache_mode='all', disable_x_ignore=True\n"
    for each in (log, lines_that_matter(log, flags)):
        said = list(unchecked(Evidence(sent=4, log=each, flags=flags)))
        assert [one for one in said if one.startswith("No line of the log names --cuda-graph:")] == said
        assert ignoring_lines(each, flags) == {}
    assert "args" not in lines_that_matter(log, flags)
    assert lines_that_matter(lines_that_matter(log, flags), flags) == lines_that_matter(log, flags)
    fell = f"{log}cuda graph is disabled\nmamba_cache_mode falls back to align\n"
    kept = lines_that_matter(fell, flags)
    assert ignoring_lines(kept, flags) == ignoring_lines(fell, flags)
    assert list(unchecked(Evidence(sent=4, log=kept, flags=flags))) == []


def test_the_words_of_a_kept_log_name_no_flag() -> None:
    for log in ("Engine 0: Running: 7 reqs, KV 3 %", "Engine 0: Running: 7\nEngine 1: Running: 9", "x"):
        kept = lines_that_matter(log, ["--reqs", "--waiting", "--a"])
        for each in (log, kept):
            said = list(unchecked(Evidence(log=each, flags=("--waiting", "--a"))))
            assert said[-1].startswith("No line of the log names --waiting, --a:")
