"""API prices are facts with a day and a caution; a table that cannot be read says where and why."""

import csv
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.llms.api_prices import CAUTION, SOURCE, load_api_prices, parse_api_prices, prices_of
from app.domain.llms.money import blended_usd_per_mtok, break_even

EXPECTED = Path(__file__).resolve().parents[4] / "shared" / "expected"
NEEDS_VECTORS = pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")

TITLES = (
    "llm,match,provider,name_there,usd_per_mtok_input,usd_per_mtok_output,usd_per_mtok_cached_input,"
    "retires_on,names_source,as_of"
)
LINE = "a/b,model,deepinfra,deepinfra/a/b,0.1,0.32,,,,2026-11-29"


def usd(provider: str, name: str) -> tuple[Decimal, Decimal]:
    (found,) = [
        each
        for each in load_api_prices()
        if each.provider == provider and each.name_there.endswith(f"/{name}")
    ]
    return found.usd_per_mtok_input, found.usd_per_mtok_output


def test_the_entries_are_those_of_the_price_map() -> None:
    # litellm 1.110.2: input_cost_per_token 3.7e-08 and output_cost_per_token 1.7e-07, and so on.
    assert usd("deepinfra", "gpt-oss-120b") == (Decimal("0.037"), Decimal("0.17"))
    assert usd("deepinfra", "Llama-3.3-70B-Instruct-Turbo") == (Decimal("0.1"), Decimal("0.32"))
    assert usd("deepinfra", "DeepSeek-V3.1") == (Decimal("0.25"), Decimal("0.95"))
    assert len(load_api_prices()) == 203


def test_an_entry_that_has_ended_is_not_offered() -> None:
    # The map says that Fireworks ends gpt-oss-120b on 2026-11-07.
    before = {price.provider for price in prices_of("openai/gpt-oss-120b", day=date(2026, 11, 6))}
    after = {price.provider for price in prices_of("openai/gpt-oss-120b", day=date(2026, 11, 7))}
    assert before - after == {"fireworks"}
    assert after == {"baseten", "deepinfra", "nebius", "together"}


def test_the_cheapest_output_comes_first() -> None:
    found = prices_of("openai/gpt-oss-120b", day=date(2026, 11, 29))
    assert [price.usd_per_mtok_output for price in found] == [
        Decimal(each) for each in ("0.17", "0.5", "0.6", "0.6")
    ]
    assert prices_of("no/such", day=date(2026, 11, 29)) == ()


def test_a_model_of_the_same_shape_says_so() -> None:
    found = {price.match for price in load_api_prices() if "Llama-3.3-70B" in price.name_there}
    assert found == {"shape"}


def test_the_source_is_named_with_a_caution() -> None:
    assert "litellm 1.110.2" in SOURCE
    assert "aggregator" in CAUTION


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("model", "nearly", "column match: 'nearly' is none of model, shape"),
        ("deepinfra,", "nobody,", "column provider: 'nobody' is none of"),
        ("0.32", "0", "column usd_per_mtok_output: '0' is not above zero"),
        ("0.1", "", "column usd_per_mtok_input: '' must not be empty"),
        ("2026-11-29", "today", "column as_of: 'today' is not a date"),
        ("a/b,model", ",model", "column llm: '' must not be empty"),
    ],
)
def test_a_wrong_cell_is_named_by_file_line_and_column(old: str, new: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^t.csv, line 2, {problem}"):
        parse_api_prices([TITLES, LINE.replace(old, new, 1)], file_name="t.csv")


def test_an_entry_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="line 3, column name_there: 'deepinfra/a/b' stands twice"):
        parse_api_prices([TITLES, LINE, LINE])


# ---------------------------------------------------------------- the test vectors

NAMES = {
    "gpt-oss-120b": "gpt-oss-120b",
    "Llama-3.3-70B Turbo": "Llama-3.3-70B-Instruct-Turbo",
    "Llama-3.3-70B": "Llama-3.3-70B-Instruct",
    "DeepSeek-V3.1": "DeepSeek-V3.1",
}


@NEEDS_VECTORS
def test_the_blended_prices_of_the_test_vectors() -> None:
    checked = 0
    with (EXPECTED / "api_blended_price.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            provider, _, name = line["api"].partition(" ")
            prices = usd(provider, NAMES[name])
            assert prices == (Decimal(line["usd_per_m_input"]), Decimal(line["usd_per_m_output"])), line[
                "api"
            ]
            blended = blended_usd_per_mtok(*prices, input_per_output=Decimal(line["input_to_output_ratio"]))
            assert round(blended, 6) == Decimal(line["blended_usd_per_m"]), line["api"]
            checked += 1
    assert checked == 24


@NEEDS_VECTORS
def test_the_break_even_of_the_test_vectors_at_the_prices_kept_here() -> None:
    names = {"Llama-70B": "Llama-3.3-70B-Instruct-Turbo", "DeepSeek-V3": "DeepSeek-V3.1"}
    checked = 0
    with (EXPECTED / "api_break_even.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            api = usd("deepinfra", names[line["case"].split(" ")[0]])[1]
            assert api == Decimal(line["api_usd_per_m_output"])
            found = break_even(
                Decimal(line["usd_per_gpu_hour"]) * int(line["gpus"]),
                tokens_per_s=Decimal(line["ceiling_tokens_per_s"]),
                api_usd_per_mtok=api,
            )
            assert float(found.utilisation) == pytest.approx(float(line["break_even_utilisation"]), rel=1e-5)
            assert float(found.tokens_per_s_needed) == pytest.approx(float(line["tokens_per_s_needed"]))
            assert found.can_pay == (line["reachable"] == "True")
            checked += 1
    assert checked == 2
