"""`inferprice llm` as a person uses it: known models, a config at hand, rows of one's own, and refusals."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.domain.llms.facts import load_llms

Run = Callable[..., Result]

# Three layers of width 8: 160 in each table, 4 projections of 24 or 12 rows, an MLP of 10, norms of 8.
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8,
    "intermediate_size": 10,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
    "vocab_size": 20,
    "max_position_embeddings": 512,
    "torch_dtype": "bfloat16",
}
PARAMS = 160 + 3 * (2 * 24 * 8 + 2 * 12 * 8 + 3 * 10 * 8 + 16) + 8 + 160


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Give a function that runs `inferprice` with these words in a home of its own."""
    environment = {"INFERPRICE_HOME": str(tmp_path / "home")}

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, words, env=environment, catch_exceptions=False)

    return run


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write(tmp_path / "config.json", CONFIG)


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_known_model_with_its_parts_and_layers(run: Run) -> None:
    result = run("llm", "show", "deepseek-ai/DeepSeek-V3")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "params_text 671,026,419,200" in lines
    assert "params_in_files 684,531,386,000" in lines
    assert "experts 8 of 256 in 58 layers" in lines
    assert "MTP layers 13,463,426,304 not decoding" in lines
    assert "mla 61 128 1 192 128 - 576 - - -" in lines


def test_the_same_as_json(run: Run) -> None:
    shown = json.loads(run("llm", "show", "Qwen/Qwen3.5-27B", "--format", "json").stdout)
    assert shown["params_text"] == 26_895_998_464
    assert shown["recurrent"] == [{"layers": 48, "state_bytes": 153_944_064 // 48}]
    assert sum(part["params"] for part in shown["parts"]) == shown["params_in_files"]
    assert (shown["params_not_in_parts"], shown["difference"]) == (0, "none")


def test_a_config_at_hand(run: Run, config: Path) -> None:
    shown = json.loads(run("llm", "show", str(config), "--format", "json").stdout)
    assert (shown["family"], shown["params_text"]) == ("Llama", PARAMS)
    assert f"params_text    {PARAMS:,}" in run("llm", "show", str(config)).stdout


def test_a_repack_with_the_file_beside_its_config(run: Run, config: Path, tmp_path: Path) -> None:
    beside = write(tmp_path / "hf_quant_config.json", {"quantization": {"quant_algo": "NVFP4"}})
    shown = run("llm", "show", str(config), "--quantization", str(beside), "--format", "json")
    assert json.loads(shown.stdout)["quant_method"] == "NVFP4"


def test_a_row_of_ones_own_is_read_beside_the_table(run: Run, config: Path, tmp_path: Path) -> None:
    own = tmp_path / "home" / "llms.csv"
    for name in ("made/Tiny-1", "made/Tiny-2"):
        result = run("llm", "add", str(config), "--id", name, "--source", "made here, 2026-11-29")
        assert result.exit_code == 0
        assert result.stdout == f"{name} (Llama, {PARAMS:,} parameters) is now in {own}.\n"
    assert len(own.read_text(encoding="utf-8").splitlines()) == 3
    assert [path.name for path in own.parent.glob("llms*")] == ["llms.csv"]
    shown = json.loads(run("llm", "show", "made/Tiny-2", "--format", "json").stdout)
    assert (shown["name"], shown["config_source"]) == ("Tiny-2", "made here, 2026-11-29")
    assert (shown["params_in_files"], shown["licence"]) == (None, None)
    known = load_llms(own)
    assert known["made/Tiny-1"].profile == known["made/Tiny-2"].profile
    assert known["made/Tiny-1"].profile.params_text == PARAMS
    assert len(known) == len(load_llms()) + 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--id", "Tiny", "--source", "here"), "use ORG/NAME"),
        (("--id", "openai/gpt-oss-20b", "--source", "here"), "is in the table already"),
        (("--id", "made/Tiny", "--source", " "), "config_source"),
        (("--id", "made/Tiny", "--source", "one\ntwo"), "one line"),
        (("--id", "made/Tiny"), "--source"),
    ],
)
def test_a_row_that_cannot_be_is_not_written(
    run: Run, config: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    result = run("llm", "add", str(config), *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "home" / "llms.csv").exists()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "config.json: '{' is not right: JSON"),
        ("[]", "a JSON object"),
        ("[" * 100_000, "nested so deep"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "JSON ("),
        (json.dumps({**CONFIG, "hidden_size": None}), "hidden_size: 'None' is not right: a whole number"),
        (json.dumps({**CONFIG, "architectures": ["MambaForCausalLM"]}), "no reader knows this family"),
    ],
)
def test_a_config_that_cannot_be_read_ends_in_a_sentence(
    run: Run, tmp_path: Path, document: str, said: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(document, encoding="utf-8")
    result = run("llm", "show", str(path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("gpt-oss", "use openai/gpt-oss-20b or openai/gpt-oss-120b"),
        ("deepseek-ai/DeepSeek-V8", "use deepseek-ai/DeepSeek-V"),
        ("?", "use an id of the table"),
        ("x" * 5000, "neither a known model nor a file"),
    ],
)
def test_an_unknown_model_is_answered_with_those_near_it(run: Run, what: str, said: str) -> None:
    result = run("llm", "show", what)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_broken_table_of_ones_own_is_named(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "home" / "llms.csv"
    own.parent.mkdir()
    own.write_text("id,name\nTiny,Tiny\n", encoding="utf-8")
    result = run("llm", "show", "openai/gpt-oss-20b")
    assert result.exit_code == 2
    assert "llms.csv, line 2, column id: 'Tiny'" in result.stderr
