"""The accelerator table says what its sources say: dense rates, one variant a row, plausible price bands."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.accelerators import (
    PRECISIONS,
    WITHOUT_BANDWIDTH,
    Accelerator,
    load_catalogue,
    parse_catalogue,
)
from app.domain.cells import packaged_lines

SHARED = Path(__file__).resolve().parents[3] / "shared"
NEEDS_SHARED = pytest.mark.skipif(not SHARED.is_dir(), reason="not run: ../shared is not here")
CATALOGUE = load_catalogue()


def known(accelerator_id: str) -> Accelerator:
    accelerator = CATALOGUE.get(accelerator_id)
    assert accelerator is not None, accelerator_id
    return accelerator


# Figures printed by the article of 2026-11-02 (bandwidth, dense FP8) and by the makers' sheets it cites.
@pytest.mark.parametrize(
    ("accelerator_id", "bandwidth_tb_s", "fp8", "memory_gb"),
    [
        ("h100-pcie", "2.0", "1513", "80"),
        ("h100-sxm", "3.35", "1979", "80"),
        ("h200-sxm", "4.8", "1979", "141"),
        ("b200-sxm", "8.0", "4500", "180"),
    ],
)
def test_the_figures_of_the_published_article(
    accelerator_id: str, bandwidth_tb_s: str, fp8: str, memory_gb: str
) -> None:
    accelerator = known(accelerator_id)
    assert accelerator.bandwidth_tb_s == Decimal(bandwidth_tb_s)
    assert accelerator.dense_tflops["fp8"] == Decimal(fp8)
    assert accelerator.memory_gb == Decimal(memory_gb)


def test_ids_the_ridge_points_of_the_article_follow() -> None:
    # "about 591 operations per byte for an SXM H100, 412 for an H200, 562 for a B200"
    for accelerator_id, printed in (("h100-sxm", 591), ("h200-sxm", 412), ("b200-sxm", 562)):
        accelerator = known(accelerator_id)
        ridge = accelerator.dense_tflops["fp8"] / accelerator.bandwidth_tb_s
        assert abs(ridge - printed) <= Decimal("0.5")


# Dense rates from NVIDIA's and AMD's data sheets; the sparse rate beside each is what must never stand here.
@pytest.mark.parametrize(
    ("accelerator_id", "precision", "dense", "sparse"),
    [
        ("h100-sxm", "bf16", "989.4", "1979"),
        ("h100-sxm", "fp8", "1979", "3958"),
        ("h100-pcie", "bf16", "756.4", "1513"),
        ("a100-sxm-80", "bf16", "312", "624"),
        ("l4", "bf16", "121", "242"),
        ("l40s", "fp8", "733", "1466"),
        ("b200-sxm", "fp4", "9000", "18000"),
        ("gb300", "fp4", "15000", "20000"),
        ("mi300x", "fp8", "2614.9", "5229.8"),
        ("mi355x", "fp8", "5033.2", "10066.3"),
        ("gaudi3-oam", "bf16", "1678", "3356"),
    ],
)
def test_rates_are_dense(accelerator_id: str, precision: str, dense: str, sparse: str) -> None:
    rate = known(accelerator_id).dense_tflops[precision]
    assert rate == Decimal(dense)
    assert rate < Decimal(sparse)


def test_halving_the_precision_doubles_the_rate_on_tensor_cores_since_ada() -> None:
    # One row mixing a dense and a sparse figure would show 1 to 1 or 1 to 4.
    checked = 0
    for accelerator in CATALOGUE.accelerators:
        rates = accelerator.dense_tflops
        if accelerator.vendor in {"NVIDIA", "AMD"} and "bf16" in rates and "fp8" in rates:
            ratio = rates["fp8"] / rates["bf16"]
            expected = (
                Decimal(35) / 8 if accelerator.id == "rubin" else Decimal(2)
            )  # Rubin: 17.5 and 4 PFLOPS
            assert abs(ratio / expected - 1) < Decimal("0.02"), accelerator.id
            checked += 1
    assert checked >= 40


def test_a_precision_the_silicon_lacks_is_unknown() -> None:
    lacks = {
        "fp8": {"Ampere", "Turing", "Volta", "Pascal", "Maxwell", "Kepler", "CDNA1", "CDNA2"},
        "fp4": {"Hopper", "Ada", "Ampere", "Turing", "Volta", "Pascal", "CDNA2", "CDNA3"},
        "bf16": {"Turing", "Volta", "Pascal", "Maxwell", "Kepler"},
    }
    for accelerator in CATALOGUE.accelerators:
        for precision, architectures in lacks.items():
            if accelerator.architecture in architectures:
                assert precision not in accelerator.dense_tflops, (accelerator.id, precision)


def test_older_parts_have_fp16_and_no_bf16() -> None:
    assert known("t4").dense_tflops["fp16"] == Decimal("65.1")
    assert known("v100-sxm-16").dense_tflops["fp16"] == Decimal("125.3")
    assert "bf16" not in known("t4").dense_tflops
    assert "fp16" not in known("tpu-v5e").dense_tflops


def test_variants_of_a_family_differ_in_bandwidth() -> None:
    # FR-32: the A100 40 GB once carried the bandwidth of the 80 GB card.
    assert known("a100-sxm-40").bandwidth_tb_s == Decimal("1.555")
    assert known("a100-sxm-80").bandwidth_tb_s == Decimal("2.039")
    assert known("a100-pcie-80").bandwidth_tb_s == Decimal("1.935")
    assert known("rtx-pro-6000-server").bandwidth_tb_s == Decimal("1.597")
    assert known("rtx-pro-6000-server").bandwidth_alt_tb_s == known("rtx-pro-6000-ws").bandwidth_tb_s
    assert known("a10g").dense_tflops["bf16"] < known("a10").dense_tflops["bf16"]


def test_b300_is_not_slower_than_b200_on_either_published_bandwidth() -> None:
    # FR-30: B200 at 8.0 once ranked above B300 at 7.75.
    b200, b300 = known("b200-sxm"), known("b300-sxm")
    assert b200.bandwidth_alt_tb_s == Decimal("7.7")
    assert b300.bandwidth_alt_tb_s == Decimal("7.75")
    assert b300.bandwidth_tb_s >= b200.bandwidth_tb_s
    assert b300.bandwidth_alt_tb_s >= b200.bandwidth_alt_tb_s


def test_every_alternative_bandwidth_says_whose_it_is() -> None:
    for accelerator in CATALOGUE.accelerators:
        assert bool(accelerator.alt_note) == (accelerator.bandwidth_alt_tb_s is not None), accelerator.id


@pytest.mark.parametrize(
    ("accelerator_id", "family"),
    [
        ("h100-sxm-64", "h100"),
        ("gh200-96", "gh200"),
        ("gb200", "gb200"),
        ("b200-sxm", "b200"),
        ("gb300", "gb300"),
        ("a100x", "a100x"),
        ("a100-pcie-40", "a100"),
        ("a10g", "a10g"),
        ("l4", "l4"),
        ("l40", "l40"),
        ("l40s", "l40s"),
        ("mi250", "mi250"),
        ("mi250x", "mi250x"),
        ("rtx-4090-48", "rtx-4090"),
        ("rtx-4090-d", "rtx-4090-d"),
        ("rtx-3080-ti", "rtx-3080-ti"),
        ("rtx-3080-12", "rtx-3080"),
        ("rtx-pro-6000-maxq", "rtx-pro-6000"),
        ("v100s-pcie-32", "v100s"),
    ],
)
def test_family(accelerator_id: str, family: str) -> None:
    assert known(accelerator_id).family == family


def test_a_family_lists_its_variants() -> None:
    members = [accelerator.id for accelerator in CATALOGUE.family_members("h100")]
    assert members == ["h100-sxm", "h100-pcie", "h100-nvl", "h100-sxm-64", "h100-sxm-96"]
    assert CATALOGUE.family_members("b200") == (known("b200-sxm"),)
    assert CATALOGUE.family_members("h1000") == ()
    assert CATALOGUE.families()[:3] == ("h100", "h200", "h20")
    assert len(CATALOGUE.families()) == len(set(CATALOGUE.families()))


@pytest.mark.parametrize(
    ("accelerator_id", "size", "accepted"),
    [
        ("b200-sxm", "180", True),
        ("b200-sxm", "179.1", True),  # what the driver reports, in GiB
        ("b200-sxm", "192", True),  # another label of the same part
        ("b200-sxm", "224", False),  # FR-26: host memory shown as the GPU's
        ("h100-sxm", "79.6", True),
        ("h100-sxm", "94", False),
        ("h100-sxm", "200", False),
        ("h200-nvl", "143", True),  # as RunPod prints it
        ("h200-sxm", "140", True),  # as Together prints it
        ("l4", "22", True),  # FR-21
        ("a100-sxm-80", "40", False),  # FR-28
        ("b300-sxm", "270", True),  # as CoreWeave prints it
        ("gb300", "279", True),  # the same page
        ("gb200", "186", True),
    ],
)
def test_known_memory_sizes(accelerator_id: str, size: str, *, accepted: bool) -> None:
    assert known(accelerator_id).accepts_memory(Decimal(size)) is accepted


def test_bytes() -> None:
    h100 = known("h100-sxm")
    assert h100.memory_bandwidth_bytes_per_s == 3_350_000_000_000
    assert h100.memory_bytes == 85_469_849_190  # 79.6 GiB: the driver's 81,559 MiB, rounded to a tenth
    assert known("h100-pcie").memory_bytes == 80_000_000_000


def test_announced_parts_say_so() -> None:
    assert known("rubin").is_announced
    assert not known("b200-sxm").is_announced


def test_every_row_has_its_sources_and_date() -> None:
    for accelerator in CATALOGUE.accelerators:
        assert accelerator.sources, accelerator.id
        assert accelerator.as_of.isoformat() == "2026-11-29", accelerator.id
        assert set(accelerator.dense_tflops) <= set(PRECISIONS), accelerator.id


def test_the_price_band_follows_the_stated_rule() -> None:
    for accelerator in CATALOGUE.accelerators:
        old = accelerator.launch_year is not None and accelerator.launch_year < 2020
        hbm = accelerator.memory_type.startswith("HBM")
        desktop = accelerator.form_factor in {"consumer", "workstation"} or accelerator.id == "gb10"
        low = accelerator.bandwidth_tb_s * (Decimal("0.06") if hbm and not old else Decimal("0.03"))
        per_tb_s, least = (4, 2) if desktop else (9, 6)
        high = max(accelerator.bandwidth_tb_s * per_tb_s, Decimal(least))
        assert abs(accelerator.usd_per_gpu_hour_min / low - 1) <= Decimal("0.05"), accelerator.id
        assert abs(accelerator.usd_per_gpu_hour_max / high - 1) <= Decimal("0.05"), accelerator.id


# Prices seen on providers' pages, the lowest and the highest found for each.
@pytest.mark.parametrize(
    ("accelerator_id", "lowest", "highest"),
    [
        ("h100-sxm", "0.79", "12.29"),
        ("h200-sxm", "0.79", "10.60"),
        ("b200-sxm", "0.99", "14.00"),
        ("b300-sxm", "0.99", "15.00"),
        ("gb200", "10.50", "16.00"),
        ("a100-sxm-80", "0.58", "6.144"),
        ("l4", "0.29", "1.2006"),
        ("t4", "0.35", "1.4448"),
        ("rtx-4090", "0.34", "0.74"),
        ("rtx-a2000-6", "0.12", "0.12"),
        ("v100-pcie-16", "0.19", "3.672"),
        ("mi300x", "1.84", "6.00"),
    ],
)
def test_the_price_band_tells_units_apart(accelerator_id: str, lowest: str, highest: str) -> None:
    accelerator = known(accelerator_id)
    low, high = accelerator.usd_per_gpu_hour_min, accelerator.usd_per_gpu_hour_max
    assert low <= Decimal(lowest) <= Decimal(highest) <= high
    assert Decimal(highest) / 3600 < low, "a price per second"
    assert Decimal(lowest) * 100 > high, "a price in cents"
    assert Decimal(lowest) * 730 > high, "a price per month"


def rows_with(column: str, value: str) -> list[str]:
    """Return the packaged file with one cell of its first row replaced."""
    lines = packaged_lines("accelerators.csv")
    row = next(csv.DictReader(lines))
    row[column] = value
    titles = lines[0].split(",")
    return [lines[0], ",".join(f'"{row[title]}"' for title in titles), lines[2]]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("bandwidth_tb_s", ""),
        ("bandwidth_tb_s", "fast"),
        ("fp8_tflops", "0"),
        ("fp8_tflops", "-1"),
        ("fp8_tflops", "NaN"),
        ("memory_gb", "80 GB"),
        ("memory_labels_gb", "179|x"),
        ("status", "sold"),
        ("launch_year", "20x2"),
        ("tdp_w", "62.5"),
        ("as_of", "29.11.2026"),
        ("usd_per_gpu_hour_max", "0.1"),
        ("id", "h100-pcie"),
    ],
)
def test_a_bad_cell_is_named(column: str, value: str) -> None:
    with pytest.raises(ValueError, match=rf"accelerators\.csv, line [23], column {column}: "):
        parse_catalogue(rows_with(column, value))


def test_a_line_with_too_many_cells_is_refused() -> None:
    lines = packaged_lines("accelerators.csv")
    with pytest.raises(ValueError, match=r"accelerators\.csv, line 2: more cells than titles"):
        parse_catalogue([lines[0], lines[1] + ",one more"])


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ValueError, match="column usd_per_gpu_hour_min: None is missing"):
        parse_catalogue(["id,family", "h100-sxm,h100"])


_SAME = [
    "vendor",
    "architecture",
    "status",
    "memory_gb",
    "memory_gib_usable",
    "memory_type",
    "bandwidth_tb_s",
    "bandwidth_alt_tb_s",
    "fp64_tflops",
    "fp64_matrix_tflops",
    "tf32_tflops",
    "fp8_tflops",
    "int8_tops",
    "fp4_tflops",
    "interconnect",
    "interconnect_gb_s",
    "launch_year",
    "sources_agreeing",
]
"""Columns that our file and the reference table share."""


@NEEDS_SHARED
def test_every_figure_equals_the_reference_table() -> None:
    with (SHARED / "specs" / "accelerators.csv").open(encoding="utf-8", newline="") as file:
        reference = {row["slug"]: row for row in csv.DictReader(file)}
    ours = {row["id"]: row for row in csv.DictReader(packaged_lines("accelerators.csv"))}
    assert set(reference) - set(ours) == set(WITHOUT_BANDWIDTH)
    assert set(ours) <= set(reference)
    for accelerator_id, row in ours.items():
        theirs = reference[accelerator_id]
        assert {column: row[column] for column in _SAME} == {column: theirs[column] for column in _SAME}
        half = {row["bf16_tflops"], row["fp16_tflops"]} - {""}
        assert half == {theirs["fp16_bf16_tflops"]} - {""}, accelerator_id
        # A quarter of the A16's 250 W board is no figure of one GPU, so ours is empty.
        assert row["tdp_w"] == ("" if accelerator_id == "a16" else theirs["tdp_w"])
