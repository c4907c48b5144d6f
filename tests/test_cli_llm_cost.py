"""`inferprice llm cost` as a person uses it: the numbers of the page, a config at hand, what does not fit."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main

Run = Callable[..., Result]

LLAMA = "meta-llama/Meta-Llama-3.1-70B"
AT_RUNPOD = ("--kv", "fp8", "--context", "4096", "--provider", "runpod", "--as-of", "2026-10-30")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Give a function that runs `inferprice llm cost` on a database of its own, filled with the table."""
    environment = {"INFERPRICE_HOME": str(tmp_path / "home")}

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["llm", "cost", *words], env=environment, catch_exceptions=False)

    return run


def rows(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_eight_requests_on_one_h200_are_the_figures_worked_out_by_hand(run: Run) -> None:
    """69.503 GB of weights and 8 x 0.671 GB of cache at 4.8 TB/s, at $5.29."""
    [row] = rows(run(LLAMA, *AT_RUNPOD, "--gpu", "h200-sxm", "--batch", "8", "--as", "csv"))
    step_s = (69_503_033_344 + 8 * 671_088_640) / 4.8e12
    assert float(row["tokens_per_s"]) == pytest.approx(8 / step_s)
    assert float(row["usd_per_mtok_output"]) == pytest.approx(5.29e6 / (8 / step_s * 3600))
    assert (row["gpus"], row["bound_by"]) == ("1", "memory")


def test_what_does_not_fit_is_said_and_has_no_cost(run: Run) -> None:
    result = run(LLAMA, *AT_RUNPOD, "--gpu", "h200-sxm", "--batch", "1,128", "--cards", "1")
    assert result.exit_code == 0
    line = result.stdout.splitlines()[-1]
    assert "does not fit 1 GPU: 23.78 GB too much" in line
    assert line.split("1 GPU", 1)[1].split()[:2] == ["-", "-"]
    assert "never a speed or a forecast" in result.stdout


def test_json_is_the_document_of_the_page(run: Run) -> None:
    result = run(LLAMA, *AT_RUNPOD, "--batch", "1", "--as", "json")
    document = json.loads(result.stdout)
    assert document["model"]["id"] == LLAMA
    assert [each["accelerator"] for each in document["offers"]] == [
        "b200-sxm",
        "h200-sxm",
        "h100-sxm",
        "h100-pcie",
    ]


def test_a_config_at_hand_costs_what_the_same_model_of_the_table_does(run: Run, tmp_path: Path) -> None:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 8192,
        "intermediate_size": 28672,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "torch_dtype": "bfloat16",
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    words = (*AT_RUNPOD, "--batch", "1,8", "--as", "csv", "--api", "0.3")
    assert rows(run(str(path), *words)) == rows(run(LLAMA, *words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((LLAMA, "--format", "fp9"), "did you mean fp8"),
        ((LLAMA, "--batch", "0"), "whole number from 1"),
        ((LLAMA, "--gpu", "h2000"), "did you mean h200"),
        (("meta-llama/Llama-9",), "neither a known model nor a file"),
        ((LLAMA, "--as-of", "2999-01-01"), "up to today"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(run: Run, words: tuple[str, ...], said: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output
