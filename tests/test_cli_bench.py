"""`inferprice bench read` as people use it: files beside bounds and logs, several results in one file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from tests.domain.serving import results

Read = Callable[..., Result]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Give a function that reads results and a log, each written to a file, with these options."""

    def read(content: bytes, *words: str, log: str | None = None) -> Result:
        path, logged = tmp_path / "results.json", tmp_path / "server.log"
        path.write_bytes(content)
        if log is not None:
            logged.write_text(log, encoding="utf-8")
            words = (*words, "--log", str(logged))
        environment = {"INFERPRICE_HOME": str(tmp_path / "home")}
        return CliRunner().invoke(main, ["bench", "read", str(path), *words], env=environment)

    return read


def found(result: Result) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


FOUR = b"\n".join(results.as_bytes(results.vllm(rate)) for rate in (820, 821, 819, 820))
PLACED = ("--card", "h100-sxm", "--weights", "bf16")
WITHOUT_A_CARD = "No bound: fill in the card and the format of the weights, which the file does not tell."
"""What `tests/web/tools/test_bench.py` expects of the page."""


def test_pretty_results_one_after_another_are_repetitions(read: Read) -> None:
    (one,) = found(read(FOUR, "--format", "json"))["configurations"]
    assert one["files"] == ["results.json", "results.json 2", "results.json 3", "results.json 4"]
    assert (one["tokens_per_s"]["median"], one["beside"]) == (820, None)
    assert one["bound"] == WITHOUT_A_CARD
    assert "No bound" not in read(FOUR).stdout


def test_the_model_that_a_file_names_is_placed_without_naming_it(read: Read) -> None:
    """Eight streams read 15,306,680,320 B a pass, of which 8 x 512 x 41,472 B are the cache, at 3.35 TB/s.

    That makes 1,750.9 tokens/s, of which 820 are 46.8 %.
    """
    (one,) = found(read(FOUR, *PLACED, "--format", "json"))["configurations"]
    beside = one["beside"]
    assert (beside["llm"], beside["batch"], beside["bound_by"]) == ("Qwen/Qwen3-8B", 8, "memory")
    assert beside["batch_bound_tokens_per_s"] == pytest.approx(8 * 3.35e12 / 15_306_680_320)
    assert beside["share_of_batch_bound"] == pytest.approx(820 * 15_306_680_320 / 8 / 3.35e12)
    assert beside["measured"] == "820|h100-sxm|bf16||8|512"
    assert beside["arithmetic"][1].endswith("= 1,750.9 tokens/s; 820.0 / 1,750.9 = 46.8 %")
    assert (
        "Bound of a batch of 8: (15,136,811,008 B of weights + 169,869,312 B of cache)"
        in read(FOUR, *PLACED).stdout
    )
    unknown = results.as_bytes(results.vllm(model_id="mine"))
    assert (
        "No bound: the file names mine, which is not among the models here." in read(unknown, *PLACED).stdout
    )
    assert read(FOUR, "--llm", "Qwen/Qwen3-8B").exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--card", "h100", "--weights", "bf16"), "--card: 'h100' is not right: did you mean h100-nvl"),
        (("--card", "h100-sxm", "--weights", "q4_k_m"), "--weights: 'q4_k_m' is not right: it is a mix"),
        ((*PLACED, "--kv", "fp7"), "--kv: 'fp7' is not right: did you mean fp8?"),
        (
            (*PLACED, "--llm", "Qwen3-8"),
            "--llm: 'Qwen3-8' is neither a known model nor a file: use Qwen/Qwen3-8B",
        ),
    ],
)
def test_a_wrong_option_is_named_as_it_is_typed(read: Read, words: tuple[str, ...], said: str) -> None:
    result = read(FOUR, *words)
    assert result.exit_code == 2
    assert f"Error: {said}" in result.stderr
    assert "|" not in result.stderr


def test_what_counts_is_said_and_a_common_spelling_is_taken(read: Read) -> None:
    data = results.as_bytes(results.sglang(server_info={"model_path": "Qwen/Qwen3-8B", "tp_size": 2}))
    (one,) = found(read(data, "--card", "h100-sxm", "--weights", "fp16", "--format", "json"))[
        "configurations"
    ]
    assert (one["mean_prompt_tokens"], one["mean_output_tokens"]) == (1024, 256)
    assert (one["beside"]["gpus"], one["beside"]["weights"], one["beside"]["context_tokens"]) == (
        2,
        "bf16",
        1024,
    )
    assert one["beside"]["counted"][0] == "The file says tp_size 2, so 2 GPUs count."
    assert one["beside"]["weights_basis"].startswith("estimate: parameters x 16 bits")
    (typed,) = found(read(data, *PLACED, "--gpus", "1", "--format", "json"))["configurations"]
    assert "and 1 GPU was given" in typed["bound"]


def test_prompts_that_were_read_stand_beside_the_bound_of_prefill(read: Read) -> None:
    """Qwen3-8B on a 4090, 512 tokens: 48,369.9 tokens/s at most, as `test_prefilled` works out by hand."""
    prompt = results.llama_bench(n_prompt=512, n_gen=0, samples=(4990.0, 5000.0, 5010.0, 5000.0))
    on = ("--llm", "Qwen/Qwen3-8B", "--card", "rtx-4090", "--weights", "gguf-q4-k")
    data = results.as_bytes(prompt, results.llama_bench(n_prompt=512, samples=(900.0,) * 4))
    alone, both = found(read(data, *on, "--format", "json"))["configurations"]
    beside = alone["beside_prefill"]
    assert (alone["phase"], alone["beside"], beside["llm"]) == ("prefill", None, "Qwen/Qwen3-8B")
    assert beside["bound_tokens_per_s"] == pytest.approx(660.6e12 / 13_657_253_148)
    assert beside["share_of_bound"] == pytest.approx(5000 * 13_657_253_148 / 660.6e12)
    assert (beside["prompt_tokens"], beside["depth_tokens"], beside["is_above_a_bound"]) == (512, 0, False)
    assert (both["beside"], both["beside_prefill"]) == (None, None)
    said = read(data, *on).stdout
    assert f"\n{alone['bound']}\n" in said
    assert f"\n{beside['arithmetic'][1]}.\n" in said
    assert "10.3 % of the bound of prefill, at the dense int8 rate" in alone["bound"]
    assert both["bound"].startswith("No bound: prompt and generated tokens were timed together")
    assert f"\n{both['bound']}\n" in said


def test_the_mean_time_to_a_first_token_stands_beside_the_least(read: Read) -> None:
    """512 tokens of 13,657,253,148 operations at 989.4 TFLOPS take 7.067 ms, and 9.9 ms were measured."""
    (one,) = found(read(FOUR, *PLACED, "--format", "json"))["configurations"]
    token = one["beside_first_token"]
    assert (token["mean_ttft_ms"], token["prompt_tokens"], token["precision"]) == (9.9, 512, "bf16")
    assert token["least_ms"] == pytest.approx(1000 * 512 * 13_657_253_148 / 989.4e12)
    assert token["times_least"] == pytest.approx(9.9 * 989.4e9 / 512 / 13_657_253_148)
    assert token["is_below_the_least"] is False
    assert one["bound"].endswith(
        "1.40 times the least that reading 512 tokens takes at the dense bf16 rate, 7.067 ms."
    )
    assert f"\n{one['bound']}\n" in read(FOUR, *PLACED).stdout
    (bare,) = found(read(FOUR, "--format", "json"))["configurations"]
    assert (bare["beside_first_token"], bare["beside_prefill"]) == (None, None)


def test_a_log_is_held_against_what_the_files_had_in_flight(read: Read) -> None:
    log = "Running: 40 reqs, Waiting: 0 reqs\n"
    refused = read(FOUR, log=log)
    assert refused.exit_code == 3
    assert "foreign_load: The log shows 40 requests at once where the measurement sent 8." in refused.stdout
    assert read(FOUR, "--sent", "64", log=log).exit_code == 0
    document = found(read(FOUR, "--format", "json", log=log))
    assert document["refusals"][0]["code"] == "foreign_load"
    assert document["unchecked"]
