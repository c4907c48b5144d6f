"""The article's figures against test vectors that another program worked out (../shared/expected)."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.query import OfferQuery
from app.domain.rows import Row
from tests.domain.article import ARTICLE, known, row_of

EXPECTED = Path(__file__).resolve().parents[3] / "shared" / "expected"
pytestmark = pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")

NAMES = {"Together AI": "together"}
GPUS = {"H100 PCIe": "h100-pcie", "H100 SXM": "h100-sxm", "H200": "h200-sxm", "B200": "b200-sxm"}


def lines(name: str) -> list[dict[str, str]]:
    with (EXPECTED / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def place(line: dict[str, str], gpu: str = "gpu") -> Row:
    return row_of(NAMES.get(line["provider"], line["provider"].lower()), GPUS[line[gpu]])


def close(value: Decimal, text: str) -> bool:
    """Tell whether a figure is what a test vector prints, which has six places."""
    return abs(value - Decimal(text)) <= Decimal("0.0000005")


def test_the_22_rows_of_the_test_vectors_in_their_order() -> None:
    rows = [place(line) for line in lines("price_table_22.csv")]
    assert len(rows) == 22
    for row, line in zip(rows, lines("price_table_22.csv"), strict=True):
        assert close(known("usd_per_tbs_hour", row), line["usd_per_tb_s_hour"])
        pflop = line["usd_per_dense_fp8_pflop_hour_if_pcie_1513"]
        assert close(known("usd_per_pflop_hour", row), pflop)
        assert close(known("decode_ceiling_tokens_per_s", row), line["tokens_per_s_at_70gb"])
        assert close(known("usd_per_mtok_at_ceiling", row), line["usd_per_m_tokens_at_70gb"])
    chosen = ARTICLE.select(OfferQuery(sort="usd_per_tbs_hour"))
    assert [ARTICLE.rows[number] for number in chosen.rows] == rows


def test_the_pflop_ranking_of_the_test_vectors() -> None:
    """Rows of one price stand in the vectors as they came; here GPU by GPU. So prices, then rows of each."""
    wanted = [(line["usd_per_dense_fp8_pflop_hour"], place(line)) for line in lines("pflop_ranking_22.csv")]
    chosen = ARTICLE.select(OfferQuery(sort="usd_per_pflop_hour"))
    got = [ARTICLE.rows[number] for number in chosen.rows]
    prices = [f"{known('usd_per_pflop_hour', row):.6f}" for row in got]
    assert prices == [f"{Decimal(price):.6f}" for price, _ in wanted]
    by_price: dict[str, set[int]] = {}
    for price, row in wanted:
        by_price.setdefault(f"{Decimal(price):.6f}", set()).add(row.stored.offer_id)
    assert all(row.stored.offer_id in by_price[price] for price, row in zip(prices, got, strict=True))


def test_the_21_cells_of_the_test_vectors() -> None:
    columns = {"h100_tb": "h100-sxm", "h200_tb": "h200-sxm", "b200_tb": "b200-sxm"}
    for line in lines("h100_h200_b200_by_provider.csv"):
        provider = NAMES.get(line["provider"], line["provider"].lower())
        for column, card in columns.items():
            assert close(known("usd_per_tbs_hour", row_of(provider, card)), line[column])
        multiple_there = known("price_multiple", row_of(provider, "h200-sxm"), baseline="h100-sxm")
        assert close(multiple_there, line["price_ratio_h200_over_h100"])


def test_the_break_even_ratios_of_the_test_vectors() -> None:
    checked = 0
    for line in lines("break_even_ratios.csv"):
        if line["basis"] == "peak bandwidth":
            row = row_of("runpod", GPUS[line["card_b"]])
            value = known("breakeven_multiple", row, baseline=GPUS[line["card_a"]])
            assert close(value, line["break_even_price_ratio_b_over_a"])
            checked += 1
    assert checked == 5


def test_the_token_ceilings_of_the_test_vectors() -> None:
    for line in lines("token_ceilings.csv"):
        row, weights = row_of("runpod", GPUS[line["gpu"]]), Decimal(line["weights_gb"])
        value = known("decode_ceiling_tokens_per_s", row, weights_gb=weights)
        assert close(value, line["tokens_per_s"])
        assert close(known("usd_per_mtok_at_ceiling", row, weights_gb=weights), line["usd_per_m_tokens"])
