"""Measured speeds beside one stream's ceiling, their own batch's bound and that of any batch."""

import csv
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.llms.benchmarked import BENCHMARKED, LLAMA_2_70B, profile_of
from app.domain.llms.beside_bounds import (
    NO_BATCH,
    NO_FORMAT,
    NO_PROFILE,
    NOT_NAMED,
    TIMED,
    Beside,
    OneStream,
    beside_bounds,
)
from app.domain.llms.bounds import DecodeBound
from app.domain.llms.facts import load_llms
from app.domain.llms.measurements import Measurement, load_measurements
from app.domain.llms.unknown import Unknown
from tests.domain.llms.shapes import LLAMA_70B, QWEN3_30B_A3B

EXPECTED = Path(__file__).resolve().parents[4] / "shared" / "expected"
CARDS = load_catalogue().by_id

MADE = Measurement(
    id="made",
    kind="sweep",
    benchmark="made",
    llm="made/llama-70b",
    llm_as_written="llama-70b",
    accelerator="h200-sxm",
    gpus=1,
    engine="vLLM",
    engine_version="",
    weights="fp8",
    weights_as_written="fp8",
    kv="fp8",
    weights_gb=None,
    batch=32,
    context_in=4096,
    context_out=128,
    metric="tokens_per_s",
    value=Decimal(800),
    source="made",
    source_url="",
    licence="none",
    as_of=date(2026, 11, 1),
    note="",
)


def known(value: Decimal | Unknown) -> Decimal:
    assert isinstance(value, Decimal), value
    return value


def beside(measurement: Measurement) -> Beside:
    return beside_bounds(measurement, CARDS[measurement.accelerator], profile=LLAMA_70B)


def packaged() -> list[Beside]:
    return [
        beside_bounds(each, CARDS[each.accelerator], profile=profile_of(each.llm, load_llms()))
        for each in load_measurements()
    ]


# ---------------------------------------------------------------- worked out by hand


def test_a_stated_batch_is_set_beside_its_own_bound() -> None:
    """69,503,033,344 B of weights and 32 x 4,096 x 163,840 B of cache at 4.8 TB/s take 18.95372 ms."""
    found = beside(MADE)
    assert isinstance(found.batch_bound, DecodeBound)
    assert float(found.batch_bound.tokens_per_s) == pytest.approx(32 / 0.0189537228800, rel=1e-9)
    assert float(known(found.share_of_batch_bound)) == pytest.approx(800 / 1688.3227, rel=1e-6)
    assert not found.is_above_a_bound


def test_one_stream_reads_all_weights_for_each_token_without_any_cache() -> None:
    found = beside(MADE)
    assert isinstance(found.one_stream, OneStream)
    assert found.one_stream.bytes_per_token == 69_503_033_344
    assert float(known(found.times_one_stream)) == pytest.approx(800 * 69_503_033_344 / 4.8e12, rel=1e-12)


def test_the_speed_of_several_cards_counts_per_card() -> None:
    one, four = beside(MADE), beside(replace(MADE, gpus=4, value=Decimal(3200)))
    assert four.times_one_stream == one.times_one_stream
    assert four.any_batch_tokens_per_s_per_gpu == one.any_batch_tokens_per_s_per_gpu


def test_no_batch_passes_the_dense_rate() -> None:
    """1,979 TFLOPS of FP8 over two operations for each of 69,503,033,344 parameters: 14,236.8 tokens/s."""
    found = beside(MADE)
    assert float(known(found.any_batch_tokens_per_s_per_gpu)) == pytest.approx(14_236.788, rel=1e-6)
    assert float(known(found.share_of_any_batch)) == pytest.approx(800 / 14_236.788, rel=1e-6)
    assert beside(replace(MADE, value=Decimal(15_000))).is_above_a_bound


def test_a_speed_above_the_bound_of_its_own_batch_is_noticed() -> None:
    assert beside(replace(MADE, value=Decimal(1689))).is_above_a_bound
    assert not beside(replace(MADE, value=Decimal(1688))).is_above_a_bound


def test_a_mixture_reads_the_experts_of_one_token_for_one_stream() -> None:
    """1,229,928,448 always, and 8 of 128 experts of 48 layers of 4,718,592: 3,041,867,776 B at 8 bits."""
    found = beside_bounds(MADE, CARDS["h200-sxm"], profile=QWEN3_30B_A3B)
    assert isinstance(found.one_stream, OneStream)
    assert found.one_stream.bytes_per_token == 1_229_928_448 + 48 * 8 * 4_718_592


def test_a_size_that_a_convention_names_replaces_the_models_own() -> None:
    found = beside(replace(MADE, weights_gb=Decimal(70)))
    assert isinstance(found.one_stream, OneStream)
    assert round(found.one_stream.tokens_per_s_per_gpu, 3) == Decimal("68.571")


def test_without_a_cache_format_or_context_the_bound_is_wider() -> None:
    stated = beside(MADE)
    for less in (replace(MADE, kv=""), replace(MADE, context_in=None)):
        wider = beside(less)
        assert isinstance(wider.batch_bound, DecodeBound)
        assert isinstance(stated.batch_bound, DecodeBound)
        assert wider.batch_bound.step.cache_bytes == 0
        assert wider.batch_bound.tokens_per_s > stated.batch_bound.tokens_per_s


# ---------------------------------------------------------------- what is unknown stays unknown


def test_each_thing_not_stated_is_named() -> None:
    assert beside(replace(MADE, batch=None)).share_of_batch_bound == NO_BATCH
    assert beside(replace(MADE, weights="")).times_one_stream == NO_FORMAT
    assert beside(replace(MADE, llm="")).share_of_any_batch == NOT_NAMED
    assert beside(replace(MADE, metric="ms_per_pass")).times_one_stream == TIMED
    nobody = beside_bounds(MADE, CARDS["h200-sxm"], profile=None)
    assert (nobody.times_one_stream, nobody.share_of_batch_bound) == (NO_PROFILE, NO_PROFILE)
    assert not nobody.is_above_a_bound


def test_a_card_without_a_published_rate_has_no_bound_on_any_batch() -> None:
    found = beside_bounds(replace(MADE, weights="gguf-q4-k"), CARDS["rx-7900-xt"], profile=LLAMA_70B)
    assert isinstance(found.share_of_any_batch, Unknown)
    assert "no dense int8 rate" in found.share_of_any_batch.why
    assert isinstance(found.times_one_stream, Decimal)


# ---------------------------------------------------------------- the packaged measurements


def test_llama_2_70b_has_its_published_parameters() -> None:
    assert BENCHMARKED[LLAMA_2_70B].params_text == 68_976_648_192


# 3.35, 4.8 and 8.0 TB/s over 70 GB, and MLPerf's tokens/s of a system over its GPUs and that.
@pytest.mark.parametrize(
    ("card", "ceiling", "times"),
    [
        ("h100-sxm", "47.857", 124_879 / 32 / (3350 / 70)),
        ("h200-sxm", "68.571", 35_316.7 / 8 / (4800 / 70)),
        ("b200-sxm", "114.286", 102_909 / 8 / (8000 / 70)),
    ],
)
def test_mlperf_reaches_many_times_one_streams_ceiling(card: str, ceiling: str, times: float) -> None:
    found = mlperf(card)
    assert isinstance(found.one_stream, OneStream)
    assert round(found.one_stream.tokens_per_s_per_gpu, 3) == Decimal(ceiling)
    assert float(known(found.times_one_stream)) == pytest.approx(times, rel=1e-12)
    # Its batch is not stated, so the bound of any batch stands in: 2 x 68,714,504,192 operations a token.
    assert found.share_of_batch_bound == NO_BATCH
    assert known(found.share_of_any_batch) < 1


def mlperf(card: str) -> Beside:
    (found,) = [
        each
        for each in packaged()
        if each.measurement.llm_as_written == "llama2-70b-99" and each.card.id == card
    ]
    return found


def test_the_dense_rate_bounds_llama_2_70b_on_an_h100() -> None:
    found = known(mlperf("h100-sxm").any_batch_tokens_per_s_per_gpu)
    assert float(found) == pytest.approx(1979e12 / (2 * 68_714_504_192), rel=1e-12)


def test_no_measurement_lies_above_a_bound() -> None:
    found = packaged()
    shares = [each.share_of_batch_bound for each in found]
    stated = [share for share in shares if isinstance(share, Decimal)]
    assert len(stated) == sum(each.measurement.batch is not None for each in found) == 54
    assert max(stated) < 1
    assert [each.measurement.id for each in found if each.is_above_a_bound] == []


def test_every_measurement_but_the_one_without_a_name_has_a_ceiling_of_one_stream() -> None:
    without = [each.measurement.id for each in packaged() if isinstance(each.one_stream, Unknown)]
    assert without == ["default-moves-local-27b-pass"]


@pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")
def test_the_measured_results_of_the_test_vectors() -> None:
    cards = {"H100-SXM-80GB": "h100-sxm", "H200-SXM-141GB": "h200-sxm", "B200-SXM-180GB": "b200-sxm"}
    with (EXPECTED / "measured_vs_batch1_ceiling.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 3
    for line in lines:
        found = mlperf(cards[line["card"]])
        measured = known(found.measurement.tokens_per_s_per_gpu or Decimal(0))
        assert round(measured, 1) == Decimal(line["measured_tok_s_per_gpu"])
        assert isinstance(found.one_stream, OneStream)
        assert round(found.one_stream.tokens_per_s_per_gpu, 3) == Decimal(line["batch1_ceiling_tok_s"])
        assert round(known(found.times_one_stream), 2) == Decimal(line["ratio"])
