"""`inferprice moe-cache` as a person uses it, on files that are here and on a server of this machine."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.ingest import checkpoints
from app.ingest.fetched import Limits
from tests.domain.llms.headers import Spec, gguf
from tests.domain.serving.experts import SAID, TINY
from tests.ingest.hub import HubHandler, Sent, part
from tests.ingest.server import serving

Run = Callable[..., Result]
DENSE: list[Spec] = [("blk.0.ffn_up.weight", "Q4_K", (256, 1024))]
# The sizes of the files of `TINY`, and its two kinds of layers one after the other.
MADE = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 256,
    "moe_intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "head_dim": 64,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 1000,
}
HEADER = (
    Path(__file__).resolve().parents[2]
    / "shared"
    / "models"
    / "headers"
    / "synthetic-qwen3-30b-a3b-q4_k_m.header.gguf"
)


def halves() -> dict[str, tuple[bytes, int]]:
    """Give the two parts of one model, each with its number."""
    return {
        f"tiny-0000{number + 1}-of-00002.gguf": gguf(
            tensors, {**said, "split.no": ("u16", number), "split.count": ("u16", 2)}
        )
        for number, (tensors, said) in enumerate(((TINY[:6], SAID), (TINY[6:], {})))
    }


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs `inferprice moe-cache` where models lie, a whole one and several others."""
    put(tmp_path / "tiny.gguf", gguf(TINY, SAID))
    put(tmp_path / "short.gguf", gguf(TINY, SAID), lacks=32)
    put(tmp_path / "dense.gguf", gguf(DENSE, {"general.architecture": ("text", "llama")}))
    for name, file in halves().items():
        put(tmp_path / name, file)
    (tmp_path / "made.json").write_text(json.dumps(MADE), encoding="utf-8")
    (tmp_path / "hollow.json").write_text(json.dumps({**MADE, "hidden_size": None}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    environment = {"INFERPRICE_HOME": str(tmp_path / "home")}

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["moe-cache", *words], env=environment, catch_exceptions=False)

    return run


def put(path: Path, file: tuple[bytes, int], *, lacks: int = 0) -> None:
    head, file_bytes = file
    with path.open("wb") as opened:
        opened.write(head)
        opened.truncate(file_bytes - lacks)


# 2 layers of 4 experts of 509,952 bytes and 2 of 442,368 are 7,618,560 bytes, of which the first two have
# 83 of 155 parts: 4 MiB x 83 / 155 = 2,245,982.1 bytes, 4.4 experts.
SHARE = "share = 4 x 1,048,576 x 4,079,616 / 7,618,560 = 2,245,982 bytes"
SLOTS = "slots = floor(2,245,982 / 509,952) - 1 spare = 3"
HOST = "experts in host memory = 2 layers x 4 x 509,952 + 2 layers x 4 x 442,368 = 7,618,560 bytes, 0.01 GiB"


def test_how_its_figures_are_worked_out_stands_behind_a_flag(run: Run) -> None:
    plain, worked = run("tiny.gguf", "--mib", "4"), run("tiny.gguf", "--mib", "4", "--working")
    assert worked.exit_code == 0
    lines = worked.stdout.splitlines()
    assert lines[5:9] == ["", HOST, "left over = 4 - 3.63 MiB of slots = 0.37 MiB", "Group 1:"]
    assert lines[10:12] == [f"  {SHARE}", f"  {SLOTS}"]
    assert lines[16] == "Group 2:"
    assert lines[24] == ""
    assert [*lines[:5], *lines[25:]] == plain.stdout.splitlines()


def test_the_json_always_says_how_its_figures_are_worked_out(run: Run) -> None:
    plain, worked = (
        run("tiny.gguf", "--mib", "4", "--format", "json", *more) for more in ((), ("--working",))
    )
    assert plain.stdout == worked.stdout
    document = json.loads(plain.stdout)
    assert document["arithmetic"] == [HOST, "left over = 4 - 3.63 MiB of slots = 0.37 MiB"]
    first, second = document["groups"]
    assert first["arithmetic"][1:3] == [SHARE, SLOTS]
    assert len(first["arithmetic"]) == len(second["arithmetic"]) == 7


def test_a_plan_with_its_cautions_and_what_was_measured(run: Run) -> None:
    result = run("tiny.gguf", "--mib", "4")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    # By hand in tests/domain/serving/test_expert_cache.py.
    assert lines[0] == "tiny: 4 MoE layers of 4 experts, of which a token uses 2; 0.01 GiB of experts."
    assert lines[1] == (
        "--moe-cache-mib 4: 3.63 MiB of slots, 0.37 MiB left over; every group is cached from 3 MiB."
    )
    assert " ".join(lines[3].split()) == "1 2 down Q6_K, gate Q4_K, up Q4_K 509,952 3 37.5 1 3"
    assert " ".join(lines[4].split()) == "2 2 down Q4_K, gate Q4_K, up Q4_K 442,368 3 37.5 1 3"
    assert lines[5].startswith("Group 1: one token uses 2 experts in each of 2 layers, and 3 slots")
    assert "They fit from 5 MiB." in lines[5]
    assert "Past 32 tokens a step does not use the slots" in result.stdout
    rows = [line.split() for line in lines if line.startswith("--cpu-moe")]
    assert rows[:3] == [
        ["--cpu-moe", "9.6", "150", "-"],
        ["--cpu-moe", "--moe-cache-mib", "50", "3.8", "152", "0.0"],
        ["--cpu-moe", "--moe-cache-mib", "10000", "43.2", "382", "95.7"],
    ]
    assert lines[-1].startswith("Rules of llama.cpp b11712 and measurements: inferprice.pages.dev, ")


def test_the_same_as_json(run: Run) -> None:
    answer = json.loads(run("tiny.gguf", "--mib", "6", "--n-cpu-moe", "3", "--format", "json").stdout)
    assert (answer["architecture"], answer["moe_layers"], answer["expert_bytes"]) == ("tiny", 4, 7_618_560)
    assert (answer["starts"], answer["starts_from_mib"], answer["every_group_from_mib"]) == (True, 3, 5)
    assert [(group["layers"], group["floor_mib"]) for group in answer["groups"]] == [([0, 2], 3), ([1], 5)]
    assert answer["groups"][0]["types"] == {"down": "Q6_K", "gate": "Q4_K", "up": "Q4_K"}
    assert answer["leftover_bytes"] + answer["cache_bytes"] == 6 * 2**20
    assert [each["level"] for each in answer["warnings"] if each["code"] == "concurrency"] == ["info"]
    assert answer["measured"]["rows"][4]["decode_tokens_per_s"] == 43.2
    assert answer["measured"]["rows"][2]["hit_percent"] is None


@pytest.mark.parametrize("named", [(0,), (1,), (0, 1), (1, 0)])
def test_all_parts_of_a_model_are_read_however_many_are_named(run: Run, named: tuple[int, ...]) -> None:
    names = list(halves())
    words = ("--mib", "4", "--format", "json")
    assert run(*(names[at] for at in named), *words).stdout == run("tiny.gguf", *words).stdout


def test_a_model_at_an_address_is_planned_from_its_headers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(
        user_agent="InferPrice/test", delay_s=0, timeout_s=5, max_body_bytes=2_000_000, schemes=("http",)
    )
    monkeypatch.setattr(checkpoints, "limits_of", lambda _: limits)
    sent = Sent()
    with serving(HubHandler) as host:
        addresses = [host.answer(f"/m/{name}", part(file, sent)) for name, file in halves().items()]
        remote = run(addresses[0], "--mib", "4", "--format", "json")
        both = run(*addresses, "--mib", "4", "--format", "json")
    assert remote.exit_code == both.exit_code == 0
    assert remote.stdout == both.stdout == run("tiny.gguf", "--mib", "4", "--format", "json").stdout
    assert sent.body_bytes < 100_000


def test_a_budget_with_which_the_server_does_not_start(run: Run) -> None:
    result = run("tiny.gguf", "--mib", "2")
    assert result.exit_code == 3
    assert "At 2 MiB no group holds the experts of one token, and the server does not start" in result.stdout
    assert "it does from 3 MiB." in result.stdout


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dense.gguf", "dense.gguf: it has no stacked expert tensors; the MoE cache holds experts"),
        ("short.gguf", "short.gguf: its tensors end at byte 7618560 of the data, which has 7618528;"),
        ("cut.gguf", "cut.gguf: it ends at byte 300 within "),
        ("page.gguf", "page.gguf: it begins with "),
        ("huge.gguf", "huge.gguf: it claims 9223372036854775808 tensors"),
        ("lone-00001-of-00002.gguf", "lone-00002-of-00002.gguf cannot be read: No such file or directory."),
    ],
)
def test_a_file_without_a_plan_ends_in_a_sentence(run: Run, name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(gguf(TINY, SAID)[0][:300])
    (tmp_path / "page.gguf").write_bytes(b"<!doctype html>")
    (tmp_path / "huge.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0))
    put(tmp_path / "lone-00001-of-00002.gguf", halves()["tiny-00001-of-00002.gguf"])
    result = run(name, "--mib", "4")
    assert (result.exit_code, result.stdout) == (3, "")
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("tiny.gguf", "--mib", "0"), "mib: '0' is not right"),
        (("tiny.gguf", "--mib", "-1"), "mib: '-1' is not right"),
        (("tiny.gguf", "--mib", "9223372036854775808"), "mib: '9223372036854775808' is not right"),
        (("tiny.gguf", "--mib", "nan"), "'nan' is not a valid integer"),
        (("tiny.gguf",), "mib: 'a tenth of the experts' is not right"),
        (("tiny.gguf", "--mib", "4", "--n-cpu-moe", "0"), "n_cpu_moe: '0' is not right"),
        (("tiny.gguf", "dense.gguf"), "SOURCE: 'dense.gguf' is not right: give parts of the same model"),
        (("nothing.gguf",), "SOURCE: 'nothing.gguf' is not right"),
        ((), "Missing argument 'FILE...': give a GGUF, or --config with --mix."),
        (("tiny.gguf", "--config", "made.json", "--mix", "q8_0"), "give FILE..., or --config with --mix"),
        (("tiny.gguf", "--mix", "q8_0"), "A GGUF says its own types"),
        (("--config", "made.json"), "Missing option '--mix': --config goes with it"),
        (("--mix", "q8_0"), "Missing option '--config': --mix goes with it"),
        (("--config", "made.json", "--mix", ""), "mix: '' is not right: give a file type such as q4_k_m"),
        (("--config", "made.json", "--mix", "nan"), "mix: 'nan' is not right"),
        (("--config", "made.json", "--mix", "down=q8_0:1000000"), "give 1 to 4,096 layers"),
        (("--config", "made.json", "--mix", "q8_0", "--mib", "0"), "mib: '0' is not right"),
        (("--config", "made.json", "--mix", "q8_0", "--mib", str(2**63)), "mib: '9223372036854775808' is"),
        (("--config", "made.json", "--mix", "q8_0", "--n-cpu-moe", "-1"), "n_cpu_moe: '-1' is not right"),
        (("--config", "", "--mix", "q8_0"), "--config: '' is neither a known model nor a file"),
        (("--config", "Qwen/Qwen3-30B", "--mix", "q8_0"), "nor a file: use Qwen/Qwen3-30B-A3B or "),
        (("--config", "Qwen/Qwen3-8B", "--mix", "q8_0"), "it has no experts: the MoE cache holds experts"),
        (("--config", "XiaomiMiMo/MiMo-V2-Flash", "--mix", "q8_0"), "not settled here; give a GGUF"),
        (("--config", "openai/gpt-oss-20b", "--mix", "q4_k_m"), "give down=mxfp4;gate=mxfp4;up=mxfp4"),
        (("--config", "tiny.gguf", "--mix", "q8_0"), "tiny.gguf: 'GGUF"),
        (("--config", "hollow.json", "--mix", "q8_0"), "hidden_size: 'None' is not right"),
    ],
)
def test_wrong_words_are_refused(run: Run, words: tuple[str, ...], sentence: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_a_config_and_a_mix_plan_what_the_gguf_of_that_mix_does(run: Run) -> None:
    mix = "down=q6_k:1,q4_k:1,q6_k:1,q4_k;gate=q4_k;up=q4_k"
    words = ("--mib", "6", "--n-cpu-moe", "3", "--format", "json")
    planned = json.loads(run("--config", "made.json", "--mix", mix, *words).stdout)
    read = json.loads(run("tiny.gguf", *words).stdout)
    assert (planned.pop("architecture"), read.pop("architecture")) == ("qwen3moe", "tiny")
    assert (planned.pop("mix"), read.pop("mix")) == (mix, None)
    (note,) = planned.pop("notes")
    assert (
        note.endswith("is an estimate of what a quantiser writes; the header of a GGUF is exact."),
        read.pop("notes"),
    ) == (True, [])
    assert planned == read


def test_a_known_model_is_planned_by_its_id(run: Run) -> None:
    """Figures that a server logged for this model and file type."""
    result = run("--config", "Qwen/Qwen3-30B-A3B", "--mix", "Q4_K_M", "--mib", "10000")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].endswith("48 MoE layers of 128 experts, of which a token uses 8; 16.35 GiB of experts.")
    assert lines[1].endswith("every group is cached from 50 MiB.")
    assert lines[2].startswith("A plan from a config and a mix is an estimate")
    assert [line.split()[-4:] for line in lines[4:6]] == [["1,834", "59.7", "32", "50"]] * 2
    assert run("--config", "Qwen/Qwen3-30B-A3B", "--mix", "q4_k_m", "--mib", "49").exit_code == 3


def test_what_a_plan_from_a_config_leaves_to_know_is_said(run: Run) -> None:
    text = run("--config", "zai-org/GLM-4.5-Air", "--mix", "q4_k_m", "--mib", "10000").stdout
    assert "llama.cpp's converter writes layer 46 to predict further tokens, counted here" in text
    assert "Rows of ffn_down_exps have 1,408 values, no multiple of 256: Q6_K becomes Q8_0." in text
    assert "Layers that predict further tokens are counted here and may not be loaded: 46." in text


def test_a_folder_with_several_models_asks_for_a_file(run: Run, tmp_path: Path) -> None:
    result = run(".")
    assert result.exit_code == 3
    assert (
        f"{tmp_path.name} holds several GGUF models (dense, short, tiny, tiny): name a file" in result.stderr
    )
    (tmp_path / "empty").mkdir()
    assert "empty holds no GGUF" in run("empty").stderr


@pytest.mark.skipif(not HEADER.is_file(), reason="not run: ../shared is not here")
def test_a_header_at_the_length_of_its_file(run: Run, tmp_path: Path) -> None:
    """The layout of Qwen3-30B-A3B Q4_K_M as a sparse file; the figures are those of the server's own log."""
    put(tmp_path / "qwen.gguf", (HEADER.read_bytes(), 18_550_753_504))
    result = run("qwen.gguf", "--mib", "10000")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].endswith("48 MoE layers of 128 experts, of which a token uses 8; 16.35 GiB of experts.")
    assert "9,999.32 MiB of slots" in lines[1]
    assert lines[1].endswith("every group is cached from 50 MiB.")
    assert [line.split()[-4:] for line in lines[3:5]] == [["1,834", "59.7", "32", "50"]] * 2
    assert run("qwen.gguf", "--mib", "49").exit_code == 3
    assert run(str(HEADER)).exit_code == 3
