"""`inferprice check` and `inferprice bench` as people use them: answers, exit codes and refusals."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.domain.serving.sampler_rules import RULES
from tests.domain.serving import results

Run = Callable[..., Result]

QWEN3 = {"temperature": 0.6, "top_p": 0.95, "top_k": 20}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Give a function that runs `inferprice` with these words, paths among them."""
    environment = {"INFERPRICE_HOME": str(tmp_path / "home")}

    def run(*words: object) -> Result:
        return CliRunner().invoke(
            main, [str(word) for word in words], env=environment, catch_exceptions=False
        )

    return run


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes a file of this name and content."""

    def file(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return file


def test_a_plain_chat_request_to_a_qwen3_model(run: Run, file: Callable[..., Path]) -> None:
    requests = file("r.jsonl", b'{"model": "q", "messages": []}\n{"top_k": -1, "top_p": 1.0}\n')
    words = ("check", "sampler", requests, "--generation-config", file("g.json", QWEN3), "--endpoint", "chat")
    result = run(*words)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "filtered: a request filters by top_k, top_p or min_p, so all of the batch takes the slow path.",
        RULES.means["filtered"],
        "Rules of SGLang 0.5.20 (94602c9c).",
        "r.jsonl line 1: top_k 20 from generation_config.json.",
        "r.jsonl line 1: top_p 0.95 from generation_config.json.",
        RULES.drains,
        RULES.granted,
        "To the fast path:",
        (
            "1. State top_k -1 and top_p 1 in r.jsonl line 1. "
            "Or serve those from another server: the other request is on the gumbel path then."
        ),
        "   Then top_k 20 becomes -1 (none) in 1 request, top_p 0.95 becomes 1 in 1 request.",
        "2. Start the server with --sampling-defaults openai.",
        (
            "   Then temperature 0.6 becomes 1 in 2 requests, top_k 20 becomes -1 (none) in 1 request, "
            "top_p 0.95 becomes 1 in 1 request."
        ),
    ]
    assert "the running batch is on this path until it has drained" in RULES.drains
    answer = json.loads(run(*words, "--format", "json").stdout)
    assert (answer["path"], answer["is_fast_path"], answer["version"]) == ("filtered", False, "SGLang 0.5.20")
    assert [(one["request"], one["field"], one["value"]) for one in answer["reasons"]] == [
        ("r.jsonl line 1", "top_k", 20),
        ("r.jsonl line 1", "top_p", 0.95),
    ]
    assert answer["running"][1]["top_k"] == 2**30
    assert [(one["start_server"], one["path"]) for one in answer["ways_back"]] == [
        ([], "gumbel"),
        (["with --sampling-defaults openai"], "gumbel"),
    ]
    assert answer["ways_back"][0]["state"] == [
        {"values": {"top_k": -1, "top_p": 1}, "requests": ["r.jsonl line 1"]}
    ]


def test_how_the_server_was_started(run: Run, file: Callable[..., Path]) -> None:
    plain, config = file("r.json", {}), file("g.json", QWEN3)
    words = ("check", "sampler", plain, "--generation-config", config)
    assert run(*words, "--sampling-defaults", "openai").stdout.startswith("gumbel: the fast path")
    assert run(*words, "--endpoint", "completions").stdout.startswith("gumbel")
    assert run("check", "sampler", plain, "--deterministic").stdout.startswith("deterministic")
    preferred = file("p.json", {"top_k": 40})
    generate = ("check", "sampler", plain, "--preferred", preferred, "--endpoint", "generate")
    assert "top_k 40 from the preferred sampling parameters." in run(*generate).stdout


def test_requests_that_have_ended(run: Run, file: Callable[..., Path]) -> None:
    requests = file("r.json", [{}, {"top_p": 0.95}])
    kept = run("check", "sampler", requests, "--ended", 2)
    assert "None of the requests still running asks for this: one that has ended does." in kept.stdout
    drained = run("check", "sampler", requests, "--ended", 1, "--ended", 2)
    assert drained.stdout.startswith("No request is left")
    assert run("check", "sampler", requests, "--ended", 3).exit_code == 2


def test_many_reasons_are_counted_and_not_all_printed(run: Run, file: Callable[..., Path]) -> None:
    result = run("check", "sampler", file("r.jsonl", b'{"top_k": 5, "top_p": 0.5}\n' * 30))
    assert "and 40 more; in all top_k in 30, top_p in 30." in result.stdout
    assert len(result.stdout.splitlines()) == 29


def test_what_a_claim_implies_and_its_reverse(run: Run) -> None:
    claim = run("check", "claim", "speedup", "--saved-ms", "0.109", "--gain-percent", "+75")
    assert claim.stdout.startswith("+75 % from 0.109 ms saved means a 0.254 ms step, about 3,900 tokens/s")
    reverse = run(
        *("check", "claim", "speedup", "--saved-ms", "0.109", "--old-step-ms", "20", "--format", "json")
    )
    assert json.loads(reverse.stdout)["gain_percent"] == pytest.approx(0.54799, abs=1e-5)
    assert run("check", "claim", "speedup", "--saved-ms", "0.109").exit_code == 2


@pytest.mark.parametrize(
    ("before", "after", "stated", "form", "code"),
    [
        ("613", "972", "46.8", "percent", 3),
        ("613", "972", "58.6", "percent", 0),
        ("1.23", "4.65", "4.8", "times", 3),
        ("1.23", "4.65", "3.78", "times", 0),
    ],
)
def test_figures_that_follow_and_do_not(
    run: Run, before: str, after: str, stated: str, form: str, code: int
) -> None:
    words = (
        "check",
        "claim",
        "figure",
        "--before",
        before,
        "--after",
        after,
        "--stated",
        stated,
        "--as",
        form,
    )
    result = run(*words)
    assert result.exit_code == code
    assert ("inconsistent" in result.stdout) is (code == 3)
    assert json.loads(run(*words, "--format", "json").stdout)["agrees"] is (code == 0)


def test_figures_are_given_as_they_are_printed(run: Run) -> None:
    """170.6 less 61.9 is 108.7, which a saving prints without its minus."""
    claim = run("check", "claim", "speedup", "--saved-ms", "109 us", "--gain-percent", "+75 %")
    assert claim.stdout.startswith("+75 % from 0.109 ms saved means a 0.254 ms step, about 3,900 tokens/s")
    words = ("check", "claim", "figure", "--before", "170.6 us", "--after", "61.9 us", "--as", "difference")
    saved = run(*words, "--stated", "108.7 us")
    assert (saved.exit_code, "is -108.7 (-108.8 to -108.6 as rounded)" in saved.stdout) == (0, True)
    assert "agrees but for its sign" in saved.stdout
    assert run(*words, "--stated", "+108.7 us").exit_code == 3
    for wrong in (
        ("check", "claim", "speedup", "--saved-ms", "0.109 tok/s", "--gain-percent", "75"),
        ("check", "claim", "speedup", "--saved-ms", "0.109", "--gain-percent", "1.75x"),
        (*words, "--stated", "108.7 ms"),
        (*words, "--stated", "108.7 furlongs"),
    ):
        result = run(*wrong)
        assert (result.exit_code, result.stdout) == (2, "")
        assert any(unit in result.stderr for unit in ("tokens/s", "times", "ms", "furlongs"))


def test_two_files_of_identical_runs(run: Run, file: Callable[..., Path]) -> None:
    one, other = (file(name, b"100\n101\n99\n100\n") for name in ("a.txt", "b.txt"))
    result = run("check", "claim", "timings", "--before", one, "--after", other)
    assert result.exit_code == 0
    assert "These look like the same configuration" in result.stdout
    assert [line.split()[:3] for line in result.stdout.splitlines()[1:3]] == [
        ["before", "4", "100"],
        ["after", "4", "100"],
    ]


def test_two_result_files_of_identical_runs(run: Run, file: Callable[..., Path]) -> None:
    samples = (43.2, 43.1, 43.4, 43.3)
    one, other = (file(name, [results.llama_bench(samples=samples)]) for name in ("a.json", "b.json"))
    result = run("check", "claim", "timings", "--before", one, "--after", other)
    assert (result.exit_code, "the same configuration" in result.stdout) == (0, True)
    assert run("check", "claim", "timings", "--before", one, "--after", other, "--unit", "ms").exit_code == 2


def test_load_that_the_log_shows_is_judged_by_what_the_files_sent(
    run: Run, file: Callable[..., Path]
) -> None:
    """Both commands find of the same files and log: 60 + 4 at once where 8 were sent."""
    one, other = (
        file(f"{label}.json", [results.vllm(rate + each, label=label) for each in range(4)])
        for label, rate in (("old", 820), ("new", 920))
    )
    log = file("serve.log", b"INFO Engine 000: Running: 60 reqs, Waiting: 4 reqs\n")
    words = ("check", "claim", "timings", "--before", one, "--after", other, "--log", log)
    said = "foreign_load: The log shows 64 requests at once where the measurement sent 8."
    for each in (words, ("bench", "read", one, "--log", log)):
        result = run(*each)
        assert (result.exit_code, said in result.stdout.splitlines()) == (3, True)
    lines = run(*words).stdout.splitlines()
    assert "Changed: label: old before, new after." in lines
    assert "Range tokens/s" in lines[0]
    answer = json.loads(run(*words, "--format", "json").stdout)
    assert answer["changed"] == [{"name": "label", "before": "old", "after": "new"}]


def test_results_of_several_configurations_are_compared_one_by_one(
    run: Run, file: Callable[..., Path]
) -> None:
    """Medians 150.2 and 180.2: 180.2 / 150.2 - 1 = 19.97 %; the prompts are read as fast before as after."""
    decode = {"old": (150.1, 150.4, 150.2, 150.3, 150.0), "new": (180.1, 180.4, 180.2, 180.3, 180.0)}
    prompt = results.llama_bench(n_prompt=512, n_gen=0, samples=(9890.0, 9891.0, 9889.0, 9890.0))
    one, other = (
        file(f"{name}.json", [prompt, results.llama_bench(samples=samples)])
        for name, samples in decode.items()
    )
    words = ("check", "claim", "timings", "--before", one, "--after", other)
    result = run(*words)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines.index("prefill, n_prompt 512, n_gen 0") < lines.index("decode, n_prompt 0, n_gen 128")
    assert "They differ: +20 % in speed, and their ranges do not meet." in lines
    assert "each compared by itself: 1 with a difference, 1 alike. Were nothing changed" in lines[-1]
    answer = json.loads(run(*words, "--format", "json").stdout)
    assert [each["outcome"] for each in answer["comparisons"]] == ["same", "different"]
    assert answer["comparisons"][1]["speedup_percent"] == pytest.approx(19.973, abs=0.001)
    # 2 / C(8, 4) of the prompts and 2 / C(10, 5) of the replies: 2 / 70 + 2 / 252 = 0.0365.
    assert answer["differences_by_chance_at_most"] == pytest.approx(0.036508, abs=1e-6)
    alone = run("check", "claim", "timings", "--before", one, "--after", file("d.json", [prompt]))
    assert "Timed before alone, and compared with nothing: decode, n_prompt 0, n_gen 128" in alone.stdout


def test_a_finding_and_what_forbids_it(run: Run, file: Callable[..., Path]) -> None:
    slow, fast = file("a.json", [6, 100, 101, 99, 100]), file("b.txt", b"5\n150\n151\n152\n150\n")
    log = file("serve.log", b"Running: 9 reqs, Waiting: 2 reqs\n--fast-path is not supported, falling back\n")
    words = ("check", "claim", "timings", "--before", slow, "--after", fast)
    warm = run(*words)
    assert (warm.exit_code, warm.stdout.count("warm_up_included: ")) == (3, 2)
    found = run(*words, "--warm-up", 1)
    assert found.exit_code == 0
    assert found.stdout.splitlines()[-1] == "They differ: +50.5 % in speed, and their ranges do not meet."
    traps = run(
        *words, "--warm-up", 1, "--log", log, "--sent", 8, "--flag", "--fast-path", "--format", "json"
    )
    assert traps.exit_code == 3
    answer = json.loads(traps.stdout)
    (only,) = answer["comparisons"]
    assert (only["outcome"], [one["code"] for one in only["refusals"]]) == (
        "refused",
        ["foreign_load", "flag_ignored"],
    )


def test_the_timed_case_of_a_cold_prefix(run: Run) -> None:
    words = ("check", "prefix-cache", "--cold-s", "4.65", "--warm-s", "1.23")
    lines = run(*words).stdout.splitlines()
    assert lines[0] == "First token: 4.65 s cold, 1.23 s warm, 3.78 times."
    assert run(*words[:2]).stdout.splitlines() == lines
    assert [line.split()[2:5] for line in lines[2:]] == [
        ["20.0", "1.91", "3.42"],
        ["20.0", "1.91", "3.41"],
        ["10.0", "1.57", "0.00"],
    ]
    answer = json.loads(run(*words, "--keeps", "last", "--format", "json").stdout)
    assert [one["cold_share"] for one in answer["routings"]] == [1.0, 0.55, 0.1]


def test_a_cold_prefix_from_its_context(run: Run) -> None:
    words = ("check", "prefix-cache", "--context", "10,000", "--prefill", "2500", "--rest-s", "0.5")
    first = run(*words, "--hit-share", "0.93").stdout.splitlines()[0]
    assert first == "First token: 4.5 s cold, 0.78 s warm, 5.77 times."
    odd = ("--cold-s", "2", "--warm-s", "1", "--hit-share", "0.5")
    for wrong in (("--cold-s", "1"), ("--cold-s", "1", "--warm-s", "2"), (*words[2:], "--cold-s", "1"), odd):
        assert run("check", "prefix-cache", *wrong).exit_code == 2


def test_results_of_all_four_benchmarks_beside_each_other(run: Run, file: Callable[..., Path]) -> None:
    files = (
        *(file(f"v{rate}.json", results.vllm(rate)) for rate in (820, 822, 819, 821)),
        file("s.jsonl", results.as_bytes(*map(results.sglang, (640, 644, 641, 642)), lines=True)),
        file("l.json", [results.llama_bench(samples=(43.2, 43.1, 43.4, 43.3))]),
        file("g.json", results.guidellm(40.0)),
    )
    result = run("bench", "read", *files)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[1:5] == [
        "1 vLLM, Qwen/Qwen3-8B, decode 4 820.5 819.75 to 821.25 819 to 822 0.2",
        "2 SGLang, Qwen/Qwen3-8B, decode 4 641.5 640.75 to 642.5 640 to 644 0.3",
        "3 llama-bench, qwen3moe 30B.A3B Q4_K - Medium, decode 4 43.25 43.175 to 43.325 43.1 to 43.4 0.3",
        "4 GuideLLM, Qwen/Qwen3-8B, decode 1 40 40 to 40 40 to 40 0.0",
    ]
    assert "too_few_repetitions: g.json: benchmark 1: 1 of at least 4 repetitions." in lines
    assert "g.json: benchmark 1: 2 requests failed; those that did not may have had it easier." in lines
    assert result.exit_code == 3
    assert run("bench", "read", *files[:5]).exit_code == 0
    answer = json.loads(run("bench", "read", *files[:5], "--format", "json").stdout)
    assert [one["tokens_per_s"]["median"] for one in answer["configurations"]] == [820.5, 641.5]
    assert "vllm bench serve" in answer["configurations"][0]["understands"]
    assert answer["refusals"] == []


def test_results_beside_the_bounds_of_their_model(run: Run, file: Callable[..., Path]) -> None:
    """A fourth of 820 takes 46.8 % of its time to read, as tests/domain/serving/test_benches.py works out."""
    files = [file(f"{rate}.json", results.vllm(rate, max_concurrency=4)) for rate in (820, 821, 819, 820.0)]
    words = ("bench", "read", *files, "--llm", "Qwen/Qwen3-8B", "--card", "h100-sxm", "--weights", "fp8")
    result = run(*words)
    assert result.exit_code == 0
    assert "Beside H100 SXM 80 GB: 46.8 % of the bound of its batch, " in result.stdout
    (one,) = json.loads(run(*words, "--format", "json").stdout)["configurations"]
    assert one["bound"].startswith("Beside H100 SXM 80 GB: 46.8 %")
    assert "A bound needs --llm, --card, --weights" in run(*words[:-2]).stderr
    for wrong in (("--card", "h9"), ("--weights", "fp9"), ("--kv", "x"), ("--llm", "x"), ("--gpus", 2**63)):
        assert run(*words, *wrong).exit_code == 2


HOSTILE = {
    "empty": b"",
    "no JSON": b"hello",
    "nested": b"[" * 1_000_000,
    "nested objects": b'{"temperature":' * 200_000,
    "nested, but not too deep to parse": b'{"temperature": ' + b"[" * 900 + b"]" * 900 + b"}",
    "NaN": b'{"temperature": NaN, "top_k": NaN}',
    "Infinity": b'{"temperature": Infinity}',
    "negative": b'{"temperature": -1}',
    "2^63": b'{"top_k": 9223372036854775808}',
    "a long number": b'{"top_k": ' + b"9" * 100_000 + b"}",
    "a huge exponent": b'{"temperature": 1e999999999999}',
    "UTF-16": '{"top_k": 1}'.encode("utf-16"),
    "Latin-1": b'{"user": "\xe9"}',
    "NUL": b"{}\x00",
    "a picture": b"\x89PNG\r\n\x1a\n\x00",
    "no object": b"[1, 2, 3]",
    "a lone surrogate": b'{"top_k": "\\ud800\x1b[31m"}',
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_input_ends_in_a_sentence_and_exit_code_2(
    run: Run, file: Callable[..., Path], content: bytes
) -> None:
    bad, good = file("bad", content), file("good", b"{}")
    answers = [
        run("check", "sampler", bad),
        run("check", "sampler", good, "--generation-config", bad),
        run("check", "sampler", good, "--preferred", bad),
        run("bench", "read", bad),
        run("check", "claim", "timings", "--before", bad, "--after", bad),
    ]
    for result in answers if content != HOSTILE["no object"] else answers[:4]:
        assert result.exit_code == 2
        said = result.stderr.splitlines()[-1]
        assert said.startswith("Error: ")
        assert len(said) < 400


def test_a_body_of_100_mb_is_not_read_to_its_end(run: Run, tmp_path: Path) -> None:
    large = tmp_path / "large.jsonl"
    with large.open("wb") as file:
        file.truncate(100_000_000)
    for words in (
        ("check", "sampler"),
        ("bench", "read"),
        ("check", "claim", "timings", "--after", large, "--before"),
    ):
        result = run(*words, large)
        assert result.exit_code == 2
        assert result.stderr.splitlines()[-1] == (
            "Error: large.jsonl: 'more than 32,000,000 bytes' is not right: give at most 32 MB"
        )


@pytest.mark.parametrize(
    "number", ["NaN", "inf", "-Infinity", "1e400", "9223372036854775808", "", "0x10", "-1"]
)
def test_numbers_that_are_none_and_numbers_out_of_range(run: Run, number: str) -> None:
    for words in (
        ("check", "claim", "speedup", "--old-step-ms", number, "--gain-percent", "75"),
        ("check", "claim", "figure", "--before", number, "--after", "1", "--stated", "1", "--as", "times"),
        ("check", "prefix-cache", "--cold-s", number, "--warm-s", "0.1"),
        ("check", "prefix-cache", "--cold-s", "1", "--warm-s", "0.1", "--instances", number),
    ):
        result = run(*words)
        assert result.exit_code == 2
        assert "Error: " in result.stderr


def test_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    assert run("check", "sampler", tmp_path / "none.jsonl").exit_code == 2
    assert run("bench", "read").exit_code == 2
