"""All real configs at hand (../shared/models): parameters against the files' elements, part by part."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.llms.configs import read_config
from app.domain.llms.facts import load_llms
from app.domain.llms.profile import LlmProfile
from app.domain.query_error import QueryError
from tests.conftest import Tell

MODELS = Path(__file__).resolve().parents[4] / "shared" / "models"
pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="not run: ../shared is not here")


def rows() -> list[dict[str, str]]:
    with (MODELS / "models.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def document(file_name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((MODELS / "configs" / file_name).read_text(encoding="utf-8"))
    return read


def profile_of(row: dict[str, str]) -> LlmProfile:
    beside = row["config_file"].replace(".json", ".hf_quant_config.json")
    there = (MODELS / "configs" / beside).is_file()
    return read_config(document(row["config_file"]), quantization=document(beside) if there else None)


def scales(*tensors: tuple[int, int, int]) -> int:
    """Count the scales of 128 x 128 blocks, of (how many, rows, columns)."""
    return sum(count * -(-high // 128) * -(-wide // 128) for count, high, wide in tensors)


def qwen3_scales(layers: int, *, hidden: int, heads: tuple[int, int], mlps: int, width: int) -> int:
    """Count the scales of a Qwen3 whose attention and MLPs, one a layer or one an expert, are FP8."""
    q, kv = heads[0] * 128, heads[1] * 128
    attention = (2 * layers, q, hidden), (2 * layers, kv, hidden)
    return scales(*attention, (3 * layers * mlps, width, hidden))


DEEPSEEK_SCALES = 62 * scales(
    *[(1, 1536, 7168), (1, 24576, 1536), (1, 576, 7168), (1, 32768, 512), (1, 7168, 16384)]
) + scales((9, 18432, 7168), (59 * 257 * 3, 2048, 7168))

# 34 layers of 1,408 with an MLP of 5,632 on images of 336 in patches of 14, an adapter of 4,096.
LLAMA4_LAYER = 4 * (1408**2 + 1408) + 2 * 1408 * 5632 + 5632 + 1408 + 4 * 1408
LLAMA4_TOWER = (
    34 * LLAMA4_LAYER + 3 * 14**2 * 1408 + (24**2 + 2) * 1408 + 4 * 1408 + 5632 * 4096 + 4096**2 + 4096 * 5120
)

QWEN_NEXT_ATTENTION = 2048 * (2 * 16 * 256 + 2 * 2 * 256) + 16 * 256 * 2048 + 512
QWEN_NEXT_EXPERTS = 513 * 3 * 2048 * 512 + 512 * 2048 + 2048
QWEN_NEXT_MTP = QWEN_NEXT_ATTENTION + QWEN_NEXT_EXPERTS + 2 * 2048**2 + 5 * 2048

BEYOND = {
    "Qwen/Qwen3-0.6B": ("tied head stored twice", 151936 * 1024),
    "Qwen/Qwen3-1.7B": ("tied head stored twice", 151936 * 2048),
    "Qwen/Qwen3-32B-FP8": ("scales", qwen3_scales(64, hidden=5120, heads=(64, 8), mlps=1, width=25600)),
    "Qwen/Qwen3-30B-A3B-FP8": ("scales", qwen3_scales(48, hidden=2048, heads=(32, 4), mlps=128, width=768)),
    "Qwen/Qwen3-235B-A22B-FP8": (
        "scales",
        qwen3_scales(94, hidden=4096, heads=(64, 4), mlps=128, width=1536),
    ),
    "MiniMaxAI/MiniMax-M2.5": ("scales", qwen3_scales(62, hidden=3072, heads=(48, 8), mlps=256, width=1536)),
    "deepseek-ai/DeepSeek-V3": ("scales", DEEPSEEK_SCALES),
    "nvidia/DeepSeek-V3.1-NVFP4": ("scales", DEEPSEEK_SCALES),
    "mistralai/Devstral-Small-2-24B-Instruct-2512": ("two scales a projection", 2 * 7 * 40),
    "mistralai/Mixtral-8x22B-v0.1": ("768 more rows in two tables", 2 * 768 * 6144),
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": ("vision tower", LLAMA4_TOWER),
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": ("vision tower", LLAMA4_TOWER),
    "Qwen/Qwen3-Next-80B-A3B-Instruct": ("MTP layer", QWEN_NEXT_MTP),
    "moonshotai/Kimi-K2-Instruct": ("56 values a layer, as rotary frequencies", 61 * 56),
}
"""What the files hold beyond the parts of the profile, counted here from the published shapes."""

NOT_EXPLAINED = {
    "moonshotai/Kimi-K3",
    "MiniMaxAI/MiniMax-M3",
    "stepfun-ai/Step-3.7-Flash",
    "XiaomiMiMo/MiMo-V2-Flash",
}


def test_parameters_are_exact_where_files_and_config_agree(tell: Tell) -> None:
    agreeing = [row for row in rows() if row["params_total"] == row["params_computed_text_backbone"] != ""]
    for row in agreeing:
        assert profile_of(row).params_text == int(row["params_total"]), row["model_id"]
    assert len(agreeing) == 17
    names = ", ".join(row["model_id"].partition("/")[2] for row in agreeing)
    tell(f"parameters exact: {len(agreeing)} of {len(agreeing)} ({names})")


def test_the_rest_is_explained_part_by_part(tell: Tell) -> None:
    lines, explained = [], 0
    for row in rows():
        total = int(row["params_total"] or 0)
        if not total or total == int(row["params_computed_text_backbone"] or 0):
            continue
        profile, name = profile_of(row), row["model_id"]
        aside = {part.name: part.params for part in profile.parts if part.read == "not_decoding"}
        if name in BEYOND:
            aside.update([BEYOND[name]])
        left = total - profile.params_text - sum(aside.values())
        explained += not left
        assert (left == 0) == (name not in NOT_EXPLAINED) or row["params_total"] == "675000000000", name
        shown = " + ".join(f"{part} {params:,}" for part, params in aside.items())
        lines.append(
            f"{name}: {total:,} = text {profile.params_text:,} + {shown or 'nothing'}; left {left:,}"
        )
    assert explained >= 10
    tell("\n".join([*lines, f"differences explained to the last parameter: {explained} of {len(lines)}"]))


def test_text_and_active_parameters_of_the_table(tell: Tell) -> None:
    checked = 0
    for row in rows():
        if row["params_computed_text_backbone"]:
            profile = profile_of(row)
            assert profile.params_text == int(row["params_computed_text_backbone"]), row["model_id"]
            assert profile.params_active == int(row["params_active_computed"]), row["model_id"]
            checked += 1
    assert checked == 51
    tell(f"models.csv, text and active parameters: {checked} of {checked} rows")


def test_caches_and_states_of_the_table(tell: Tell) -> None:
    """Two bytes a value; DeepSeek V4 has a layout of its own."""
    checked = 0
    for row in rows():
        profile = profile_of(row)
        if row["family"] == "DeepSeek" and "V4" in row["model_id"]:
            continue
        growing = windowed = 0
        for group in profile.attention:
            latent = group.kv_lora_rank + group.rope_head_dim
            values = latent if group.kind == "mla" else group.kv_heads * (group.head_dim_k + group.head_dim_v)
            growing += 2 * group.layers * values * (group.window is None)
            windowed += 2 * group.layers * values * (group.window is not None)
        assert growing == int(row["kv_bytes_per_token_16bit_growing"]), row["model_id"]
        assert windowed == int(row["kv_bytes_per_token_16bit_windowed"]), row["model_id"]
        state = sum(group.layers * group.state_bytes for group in profile.recurrent)
        assert state == int(row["state_bytes_per_sequence"]), row["model_id"]
        assert {group.window for group in profile.attention if group.window} == {
            int(tokens) for tokens in [row["window"]] if tokens
        }
        assert str(profile.max_context) == row["max_context"]
        checked += 1
    assert checked == 61
    tell(f"models.csv, cache, window, state and context: {checked} of {checked} rows")


def test_every_config_is_read_or_refused_by_name(tell: Tell) -> None:
    paths = sorted((MODELS / "configs").glob("*.json"))
    names = [path.name for path in paths if not path.name.endswith(".hf_quant_config.json")]
    lines = []
    for name in names:
        try:
            profile = read_config(document(name))
        except QueryError as error:
            lines.append(f"{name.removesuffix('.json')}: refused: {error}")
        else:
            active = f"{profile.params_text:,} parameters, {profile.params_active:,} for a token"
            lines.append(f"{name.removesuffix('.json')}: {profile.family}: {active}")
    assert len(names) == 100
    refused = [line for line in lines if "refused" in line]
    read = f"configs read: {len(lines) - len(refused)} of {len(names)}; refused: {len(refused)}"
    tell("\n".join([*lines, read]))
    assert not refused


def test_each_packaged_row_is_what_its_config_says(tell: Tell) -> None:
    llms = load_llms()
    for row in rows():
        llm = llms[row["model_id"]]
        assert llm.profile == profile_of(row)
        assert llm.licence == row["license"]
        counted = int(row["params_total"] or 0)
        assert llm.params_in_files == (counted or None) or (
            llm.params_in_files is None and not counted % 10**9
        )
    tell(f"llms.csv, rows as their configs: {len(rows())} of {len(rows())}")


def test_the_layers_that_predict_further_tokens_are_counted_when_a_config_names_them() -> None:
    row = next(row for row in rows() if row["model_id"] == "Qwen/Qwen3-Next-80B-A3B-Instruct")
    named = read_config({**document(row["config_file"]), "mtp_num_hidden_layers": 1})
    assert replace(named, parts=()).layers == 48
    assert sum(part.params for part in named.parts) == int(row["params_total"])
