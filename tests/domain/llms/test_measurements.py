"""Measurements are facts with a source; a table that cannot be read says where and why."""

from collections import Counter
from decimal import Decimal

import pytest

from app.domain.cells import packaged_lines
from app.domain.llms.measurements import KINDS, load_measurements, parse_measurements

LINES = packaged_lines("measurements.csv")
TITLES, FIRST = LINES[0], LINES[1]


def changed(**cells: str) -> list[str]:
    """Return a table of one line that is the first of the real one with other cells."""
    names = TITLES.split(",")
    made = {
        **dict.fromkeys(names, ""),
        "id": "x",
        "kind": "sweep",
        "benchmark": "b",
        "llm_as_written": "m",
        "accelerator": "h100-sxm",
        "gpus": "8",
        "engine": "vLLM",
        "metric": "tokens_per_s",
        "value": "12.5",
        "unit": "tokens/s",
        "source": "s",
        "licence": "MIT",
        "as_of": "2026-01-02",
        **cells,
    }
    return [TITLES, ",".join(made[name] for name in names)]


def test_what_was_taken_of_each_collection_is_what_the_module_says() -> None:
    found = Counter(each.benchmark.split(",")[0] for each in load_measurements())
    assert found == {
        "MLPerf Inference v5.1": 26,
        "InferenceX experimental decode sweep": 42,
        "llmfit benchmark cache": 12,
        "llmfit community runs": 23,
        "an article": 1,
    }


def test_every_measurement_names_its_source_and_what_it_states() -> None:
    for each in load_measurements():
        assert each.source
        assert each.licence
        assert (each.source_url.startswith("https://github.com/")) == (each.benchmark != "an article")
        assert each.value > 0
        assert each.llm or each.benchmark == "an article"
        # The sweep states its batches, the benchmark none.
        assert each.kind != "sweep" or (each.batch and each.context_in)
        assert each.kind != "benchmark" or each.batch is None
    assert {each.kind for each in load_measurements()} == set(KINDS) - {"own"}


# MLCommons, inference_results_v5.1, summary_results.json of 2025-09-09: whole systems, as printed there.
@pytest.mark.parametrize(
    ("card", "entry", "gpus", "tokens_per_s", "per_gpu"),
    [
        ("h100-sxm", "5.1-0016", 32, "124879", "3902.5"),
        ("h200-sxm", "5.1-0026", 8, "35316.7", "4414.6"),
        ("b200-sxm", "5.1-0061", 8, "102909", "12863.6"),
    ],
)
def test_the_best_closed_results_of_llama2_70b(
    card: str, entry: str, gpus: int, tokens_per_s: str, per_gpu: str
) -> None:
    (found,) = [
        each
        for each in load_measurements()
        if each.llm_as_written == "llama2-70b-99" and each.accelerator == card
    ]
    assert (found.gpus, found.value, found.unit) == (gpus, Decimal(tokens_per_s), "tokens/s")
    assert entry in found.source
    assert found.tokens_per_s_per_gpu is not None
    assert round(found.tokens_per_s_per_gpu, 1) == Decimal(per_gpu)


def test_what_is_not_stated_is_unknown() -> None:
    (found,) = parse_measurements(changed())
    assert (found.batch, found.context_in, found.weights_gb, found.llm, found.kv) == (
        None,
        None,
        None,
        "",
        "",
    )
    assert found.tokens_per_s_per_gpu == Decimal("1.5625")  # 12.5 / 8
    (timed,) = parse_measurements(changed(metric="ms_per_pass", unit="ms"))
    assert timed.tokens_per_s_per_gpu is None


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("kind", "rumour", "is none of benchmark"),
        ("kind", "own", "is none of benchmark"),
        ("accelerator", "h100", "is none of"),
        ("gpus", "0", "is not above zero"),
        ("gpus", "two", "is not a whole number"),
        ("batch", "0", "is not above zero"),
        ("weights", "fp9", "is none of"),
        ("kv", "fp9", "is none of"),
        ("metric", "fps", "is none of tokens_per_s"),
        ("unit", "ms", "is none of tokens/s"),
        ("value", "0", "is not above zero"),
        ("value", "NaN", "is not above zero"),
        ("as_of", "lately", "is not a date"),
        ("source", "", "must not be empty"),
        ("licence", "", "must not be empty"),
    ],
)
def test_a_wrong_cell_is_named_by_file_line_and_column(column: str, value: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^t.csv, line 2, column {column}: '{value}' {problem}"):
        parse_measurements(changed(**{column: value}), file_name="t.csv")


def test_an_id_that_stands_twice_or_a_missing_column_is_refused() -> None:
    titles, line = changed()
    with pytest.raises(ValueError, match="line 3, column id: 'x' stands twice"):
        parse_measurements([titles, line, line])
    with pytest.raises(ValueError, match="column metric: None is missing"):
        parse_measurements(["id,kind", "x,sweep"])
