"""The headers and test vectors of ../shared: what another program read from the same bytes."""

import csv
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from app.domain.llms.checkpoint.facts import CheckpointFacts, Tally, facts_of
from app.domain.llms.checkpoint.gguf import read_gguf
from app.domain.llms.checkpoint.header import Header
from app.domain.llms.checkpoint.identity import compare
from app.domain.llms.checkpoint.quantisation import quantisation_of
from app.domain.llms.checkpoint.safetensors import read_safetensors
from app.domain.llms.checkpoint.sharding import weights_per_gpu_bytes
from app.domain.llms.checkpoint.yarn import context_of, yarn_context
from tests.conftest import Tell
from tests.domain.llms.headers import hollow

SHARED = Path(__file__).resolve().parents[4] / "shared"
HEADERS = SHARED / "models" / "headers"
CONFIGS = SHARED / "models" / "configs"
pytestmark = pytest.mark.skipif(not HEADERS.is_dir(), reason="not run: ../shared is not here")


def lines(name: str) -> list[dict[str, str]]:
    with (SHARED / "expected" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def counted(header: Header) -> CheckpointFacts:
    tally = Tally()
    tally.add(header)
    return facts_of(tally)


def test_every_row_of_checkpoint_screen(tell: Tell) -> None:
    wanted = {row["quantity"]: int(row["value"]) for row in lines("checkpoint_screen.csv")}
    body = (HEADERS / "synthetic-nvfp4-moe-mtp-ple.header.safetensors").read_bytes()
    facts = counted(read_safetensors(hollow(body, wanted["file_bytes"])))
    got = {
        "header_bytes_incl_length_prefix": facts.header_bytes,
        "data_bytes": facts.tensor_bytes,
        "file_bytes": facts.file_bytes,
        **{f"bytes_{dtype}": size for dtype, size in facts.bytes_by_dtype.items()},
        "bytes_mtp": facts.bytes_by_part["mtp"],
        "bytes_ngram_embedding": facts.bytes_by_part["ple"],
        "bytes_experts": facts.bytes_by_part["experts"],
        "experts_per_layer": facts.experts_per_layer[0],
        "moe_layers": facts.moe_layers,
        "has_mtp": int("mtp" in facts.bytes_by_part),
        "mtp_dtype_is_bf16": int(facts.dtype_by_part["mtp"] == "BF16"),
        "ple_dtype_is_fp8": int(facts.dtype_by_part["ple"] == "F8_E4M3"),
        "safetensors_element_count": facts.stored_elements,
        "true_parameter_count_after_unpacking": facts.parameters,
    }
    assert got == wanted
    tell(f"vectors checkpoint_screen.csv: {len(wanted)} of {len(wanted)} rows")


def test_every_row_of_checkpoint_identity(tell: Tell) -> None:
    rows = lines("checkpoint_identity.csv")
    for row in rows:
        same, different = int(row["identical_sha256"]), int(row["different"])
        both = {f"{n}.safetensors": "same" for n in range(same)}
        a = both | {f"d{n}.safetensors": "a" for n in range(different)}
        b = both | {f"d{n}.safetensors": "b" for n in range(different)}
        a |= {f"README-a{n}": "a" for n in range(int(row["only_in_a"]))}
        b |= {f"README-b{n}": "b" for n in range(int(row["only_in_b"]))}
        found = compare(a, b)
        got = (
            found.files_a,
            found.files_b,
            found.identical,
            found.different,
            found.only_in_a,
            found.only_in_b,
        )
        names = ("files_a", "files_b", "identical_sha256", "different", "only_in_a", "only_in_b")
        assert got == tuple(int(row[name]) for name in names), row
        assert found.verdict == row["verdict"]
    tell(f"vectors checkpoint_identity.csv: {len(rows)} of {len(rows)} rows")


def test_every_row_of_yarn_context(tell: Tell) -> None:
    rows = lines("yarn_context.csv")
    for row in rows:
        extended = yarn_context(int(row["original"]), Decimal(row["factor"]))
        assert extended == int(row["extended"])
        assert str(int(row["max_model_len"]) <= extended) == row["ok"]
    tell(f"vectors yarn_context.csv: {len(rows)} of {len(rows)} rows")


def test_the_rule_for_weights_on_each_gpu_is_the_best_ranked_one() -> None:
    rows = {row["formula"]: row for row in lines("tensor_parallel_weight_formulas.csv")}
    total_bytes = int(Decimal("125.87") * 2**30)
    assert round(weights_per_gpu_bytes(total_bytes, 2) / 2**30, 3) == Decimal(
        rows["total/2"]["result_gib_per_gpu"]
    )
    deltas = {
        name: Decimal(row["delta_to_measured"]) for name, row in rows.items() if row["delta_to_measured"]
    }
    assert min(deltas, key=lambda name: deltas[name]) == "total/2"


def test_a_real_gguf_header_against_what_its_own_library_read(tell: Tell) -> None:
    name = "SmolLM2-135M-Instruct.Q4_1.header"
    wanted = json.loads((HEADERS / f"{name}.json").read_text(encoding="utf-8"))
    header = read_gguf(hollow((HEADERS / f"{name}.gguf").read_bytes(), wanted["file_bytes"]))
    assert (header.header_bytes, header.file_bytes) == (wanted["data_start"], 98_362_432)
    types = {0: "F32", 3: "Q4_1", 8: "Q8_0"}
    assert [(t.name, list(t.shape), t.dtype, t.begin) for t in header.tensors] == [
        (each["name"], each["dims"], types[each["ggml_type"]], each["offset"]) for each in wanted["tensors"]
    ]
    kept = {
        key: value for key, value in wanted["metadata"].items() if isinstance(value, (str, int, float, bool))
    }
    kept.pop("tokenizer.chat_template")
    assert {key: header.metadata[key] for key in kept} == kept
    facts = counted(header)
    # The tensors fill the file to its end, so every size follows from the offsets alone as well.
    assert facts.tensor_bytes == header.data_bytes
    assert facts.parameters == 134_515_008
    tell(f"headers {name}.gguf: {len(header.tensors)} of {len(wanted['tensors'])} tensors")


def test_the_experts_of_a_gguf_as_the_moe_cache_plan_has_them() -> None:
    about = json.loads((HEADERS / "synthetic-qwen3-30b-a3b-q4_k_m.header.json").read_text(encoding="utf-8"))
    body = (HEADERS / "synthetic-qwen3-30b-a3b-q4_k_m.header.gguf").read_bytes()
    facts = counted(read_gguf(hollow(body, about["file_bytes"])))
    assert (facts.header_bytes, facts.tensor_bytes) == (about["header_bytes"], about["data_bytes"])
    # 24 layers at 2,654,208 bytes an expert and 24 at 3,059,712, 128 experts each (design/models.md, 2.12).
    assert facts.bytes_by_part["experts"] == 24 * 128 * (2_654_208 + 3_059_712) == 17_553_162_240
    assert (facts.experts_per_layer, facts.moe_layers, facts.parameters) == ((128,), 48, 30_532_122_624)


def test_every_config_says_how_it_is_quantised_and_how_far_it_reaches(
    tell: Tell,
) -> None:
    """No pattern of any real config goes unread, and each YaRN says what its maximum already says."""
    quantised, stretched = 0, 0
    for path in sorted(CONFIGS.glob("*.json")):
        if path.name.endswith(".hf_quant_config.json"):
            continue
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        side = path.with_name(path.name.replace(".json", ".hf_quant_config.json"))
        found = quantisation_of(
            config, json.loads(side.read_text(encoding="utf-8")) if side.exists() else None
        )
        if found is not None:
            quantised += 1
            assert found.kept.unread == (), path.name
            assert found.scheme or found.special, path.name
        context = context_of(config)
        if context.is_stretched:
            stretched += 1
            assert context.tokens == (config.get("text_config") or config)["max_position_embeddings"], (
                path.name
            )
    assert stretched > 15
    tell(f"configs: {quantised} say how they are quantised, {stretched} stretch by YaRN")
