"""The case of 46.65 ms against 10.57 ms: each figure from its inputs, and none that does not follow."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.llms.worked_case import Figure, gap, left, load_case, ruled_out, speeds

EXPECTED = Path(__file__).resolve().parents[4] / "shared" / "expected"
CASE = load_case()
FIGURES: dict[str, Figure] = {
    each.key: each for part in (gap, speeds, ruled_out, left) for each in part(CASE)
}


# Each worked out with a pocket calculator from the article's 46.65, 10.57, 554, 0.505 x 4, 205, 55.5 and
# 12.7 %, and from the 672 GB/s that NVIDIA publishes for the RTX PRO 4000.
@pytest.mark.parametrize(
    ("key", "shown", "unit"),
    [
        ("factor", "4.41", "times"),
        ("share_of_bandwidth", "22.7", "%"),
        ("gb_per_gpu", "5.856", "GB"),
        ("gib_per_gpu", "5.45", "GiB"),
        ("computed_ms_as_published", "8.71", "ms"),
        ("factor_as_published", "5.4", "times"),
        ("tokens_per_pass", "3.02", "tokens"),
        ("tokens_per_s", "64.7", "tokens/s"),
        ("ceiling_tokens_per_s", "285.7", "tokens/s"),
        ("most_tokens_per_s", "107.2", "tokens/s"),
        ("longest_ms", "24.4", "ms"),
        ("link_share", "88", "%"),
        ("head_ms", "5.92", "ms"),
        ("factor_without_head", "3.85", "times"),
        ("left_ms", "30.16", "ms"),
        ("ms_per_linear_layer", "0.63", "ms"),
        ("ms_of_bytes_per_layer", "0.17", "ms"),
        ("us_per_message", "236", "\N{MICRO SIGN}s"),
    ],
)
def test_a_figure_follows_from_its_inputs(key: str, shown: str, unit: str) -> None:
    figure = FIGURES[key]
    assert (str(round(figure.value, figure.decimals or None)), figure.unit) == (shown, unit)


def test_there_is_no_other_figure() -> None:
    assert len(FIGURES) == 18


@pytest.mark.parametrize(
    ("key", "arithmetic"),
    [
        ("factor", "46.65 ms / 10.57 ms"),
        ("gb_per_gpu", "10.57 ms \N{MULTIPLICATION SIGN} 554 GB/s"),
        ("computed_ms_as_published", "5.856 GB / 672 GB/s"),
        ("factor_as_published", "46.65 ms / 8.71 ms"),
        ("most_tokens_per_s", "5 tokens / 46.65 ms"),
    ],
)
def test_a_figure_says_how_it_is_worked_out(key: str, arithmetic: str) -> None:
    assert FIGURES[key].arithmetic == arithmetic


def test_what_does_not_follow_is_not_there() -> None:
    """The article also prints a gain of 46.8 % and a factor of 4.8, which the numbers beside them deny."""
    text = " ".join(f"{each.arithmetic} {each.value}" for each in FIGURES.values())
    assert [each for each in ("46.8", "4.8 ", "613", "972", "1.23", "4.65 ") if each in text] == []


@pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")
def test_the_case_of_the_test_vectors() -> None:
    with (EXPECTED / "measured_vs_roofline.csv").open(encoding="utf-8") as file:
        lines = {line["quantity"]: Decimal(line["value"]) for line in csv.DictReader(file)}
    ours = {
        "measured_ms_per_pass": CASE.measured_ms,
        "computed_ms_per_pass": CASE.printed.computed_ms,
        "factor": FIGURES["factor"].value,
        "share_of_roofline": FIGURES["share_of_bandwidth"].value / 100,
        "implied_bytes_per_rank_at_554_GB_s": CASE.bytes_per_gpu,
        "implied_gib_per_rank": FIGURES["gib_per_gpu"].value,
        "ms_per_pass_from_5.45_GiB": Decimal("5.45") * 2**30 / (554 * 10**9) * 1000,
        "passes_per_s_measured": 1000 / CASE.measured_ms,
        "passes_per_s_ceiling": 1000 / CASE.printed.computed_ms,
        "tok_s_ceiling_depth4_accept_0.505": FIGURES["ceiling_tokens_per_s"].value,
        "tok_s_at_measured_pass_depth4_accept_0.505": FIGURES["tokens_per_s"].value,
        "tok_s_max_at_measured_pass_depth4_all_accepted": FIGURES["most_tokens_per_s"].value,
        "pass_ms_needed_for_205_tok_s_at_5_tokens": FIGURES["longest_ms"].value,
    }
    assert set(ours) == set(lines)
    for quantity, value in ours.items():
        assert float(value) == pytest.approx(float(lines[quantity]), rel=1e-5), quantity
