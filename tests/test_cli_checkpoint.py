"""`inferprice checkpoint` as a person uses it, on files that are here and on a server of this machine."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.domain.llms.checkpoint.screening import kinds
from app.ingest import checkpoints
from app.ingest.fetched import Limits
from tests.domain.llms.headers import Spec, safetensors
from tests.ingest.hub import HubHandler, part
from tests.ingest.server import endless, serving

Run = Callable[..., Result]
PLAIN: list[Spec] = [
    ("model.embed_tokens.weight", "BF16", (1024, 512)),
    ("lm_head.weight", "BF16", (1024, 512)),
]
WITH_MTP: list[Spec] = [
    *PLAIN,
    ("model.layers.0.mlp.experts.0.up_proj.weight", "U8", (64, 16)),
    ("model.layers.0.mlp.experts.0.up_proj.weight_scale", "F8_E4M3", (64, 2)),
    ("mtp.fc.weight", "BF16", (512, 1024)),
    ("ngram_embedding.shard_0", "F8_E4M3", (2048, 512)),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs `inferprice checkpoint` where two checkpoints and a broken one lie."""
    for name, tensors in (("plain", PLAIN), ("mtp", WITH_MTP)):
        put(tmp_path / f"{name}.safetensors", tensors)
    put(tmp_path / "short.safetensors", PLAIN, lacks=1)
    monkeypatch.chdir(tmp_path)
    environment = {"INFERPRICE_HOME": str(tmp_path / "home")}

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["checkpoint", *words], env=environment, catch_exceptions=False)

    return run


def put(path: Path, tensors: list[Spec], *, lacks: int = 0) -> None:
    head, file_bytes = safetensors(tensors)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(file_bytes - lacks)


def names(result: Result) -> list[str]:
    return [row["checkpoint"] for row in csv.DictReader(io.StringIO(result.stdout))]


def test_several_stand_in_one_table(run: Run) -> None:
    result = run("plain.safetensors", "mtp.safetensors", "--tp", "2")
    assert result.exit_code == 0
    head, plain, mtp = result.stdout.splitlines()
    assert head.split()[:4] == ["Checkpoint", "Format", "Files", "Size"]
    assert head.endswith("GiB on each of 2")
    # Two tables of 1,024 x 512 values of two bytes: 2,097,152 bytes, half of which is 0.00098 GiB.
    assert plain.split()[:6] == ["plain.safetensors", "safetensors", "1", "2.10", "MB", "1,048,576"]
    assert plain.endswith("0.00098")
    assert "experts: 2 in each U8" in mtp
    assert "BF16 1.05 MB" in mtp
    assert "F8_E4M3 1.05 MB" in mtp
    assert result.stderr.startswith("Read ")
    assert " bytes of " in result.stderr


def test_one_alone_is_shown_part_by_part(run: Run, tmp_path: Path) -> None:
    config = {
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}
    }
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    text = run("mtp.safetensors").stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["routed", "experts", "1.15", "kB", "2,048", "U8"] in lines
    assert ["multi-token", "prediction", "1.05", "MB", "524,288", "BF16"] in lines
    assert ["multi-token", "prediction", "nvfp4", "BF16", "1"] in lines
    assert ["output", "head", "not", "quantised", "BF16", "1"] in lines


def test_a_filter_chooses(run: Run) -> None:
    every = ("plain.safetensors", "mtp.safetensors", "--format", "csv")
    assert names(run(*every)) == ["plain.safetensors", "mtp.safetensors"]
    assert names(run(*every, "--where", "mtp and ple_dtype == 'F8_E4M3'")) == ["mtp.safetensors"]
    assert names(run(*every, "--where", "tensor_bytes < 3MB")) == ["plain.safetensors"]
    assert names(run(*every, "--tp", "4", "--where", "weights_per_gpu_bytes < 600KB")) == [
        "plain.safetensors"
    ]
    unknown = run(*every, "--where", "context_tokens > 8192")
    assert (names(unknown), unknown.exit_code) == ([], 0)
    assert "mtp.safetensors: left out, as a fact that --where needs is not known." in unknown.stderr
    none = run("plain.safetensors", "--where", "mtp")
    assert none.stdout == ""
    assert none.stderr.startswith("No checkpoint to show.")


def test_csv_and_json_hold_every_fact(run: Run) -> None:
    (row,) = csv.DictReader(io.StringIO(run("mtp.safetensors", "--format", "csv").stdout))
    assert list(row) == ["checkpoint", *kinds(gpus=None), "read_bytes"]
    assert (row["mtp"], row["mtp_bytes"], row["dtypes"], row["context_tokens"]) == (
        "true",
        "1048576",
        "BF16 F8_E4M3 U8",
        "",
    )
    (held,) = json.loads(run("mtp.safetensors", "--format", "json").stdout)["checkpoints"]
    assert (held["mtp"], held["ple_bytes"], held["context_tokens"], held["packed"]) == (
        True,
        1_048_576,
        None,
        True,
    )
    assert held["detail"]["packed"] == [
        {"part": "experts", "dtype": "U8", "modules": 1, "size_bytes": 1024, "values_per_element": 2}
    ]
    assert "stored_elements" not in held


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.gguf",), "SOURCE: 'nothing.gguf' is not right: give a file or folder that is here"),
        (("http://127.0.0.1/x.gguf",), "addresses begin with https://"),
        (("plain.safetensors", "--where", "mpt"), "where: 'mpt' is not right: did you mean mtp"),
        (
            ("plain.safetensors", "--where", "weights_per_gpu_bytes < 1GB"),
            "'weights_per_gpu_bytes' is not right",
        ),
        (("plain.safetensors", "--tp", "0"), "--tp"),
        (("plain.safetensors", "--identical"), "give two or more to compare"),
        ((), "REPO|URL|FILE"),
    ],
)
def test_wrong_input_ends_with_exit_code_2(run: Run, words: tuple[str, ...], said: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_one_that_is_broken_ends_with_exit_code_3_and_the_others_show(run: Run) -> None:
    result = run("short.safetensors", "plain.safetensors", "--format", "csv")
    assert result.exit_code == 3
    assert names(result) == ["plain.safetensors"]
    assert (
        "short.safetensors: 'lm_head.weight' ends at byte 2097152 of the data, which has 2097151"
        in result.stderr
    )


def test_two_are_told_to_be_the_same_or_not(run: Run) -> None:
    same = run("plain.safetensors", "plain.safetensors", "--identical")
    assert same.exit_code == 0
    assert same.stdout.rstrip().endswith("same checkpoint")
    told = json.loads(run("plain.safetensors", "mtp.safetensors", "--identical", "--format", "json").stdout)
    assert [each["verdict"] for each in told["identities"]] == ["not comparable"]


def test_a_server_that_gives_parts_and_one_that_does_not(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(
        user_agent="InferPrice/0",
        delay_s=0,
        timeout_s=5,
        max_body_bytes=99_999,
        first_wait_s=0.01,
        schemes=("http",),
    )
    monkeypatch.setattr(checkpoints, "limits_of", lambda _settings: limits)
    with serving(HubHandler) as host:
        good = host.answer("/good.safetensors", part(safetensors(WITH_MTP)))
        bad = host.answer("/bad.safetensors", endless(b"x" * 65_536))
        result = run(good, bad, "--format", "csv")
    assert result.exit_code == 3
    assert names(result) == ["good.safetensors"]
    assert "/bad.safetensors would send the whole file, not the part asked for." in result.stderr
    assert "in 2 requests." in result.stderr
