"""The table of models: what it says of well-known ones, how a row is spelled, and what is refused."""

from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.llms.facts import LLM_COLUMNS, Llm, is_llm_id, llm_cells, load_llms, parse_llms
from app.domain.llms.profile import Attention, Recurrent

LINE = {
    "id": "made/Tiny-1",
    "name": "Tiny 1",
    "family": "Llama",
    "hidden": "8",
    "vocab": "20",
    "layers": "6",
    "attention": "full:2x4q2kv6 | window:1x4q4kv6/5 window=16",
    "recurrent": "3x384",
    "parts": "embedding=160 | attention=1152 | routed experts=840 | head=160 | MTP layers=99",
    "experts": "5",
    "experts_per_token": "2",
    "moe_layers": "1",
    "max_context": "512",
    "native_dtype": "bfloat16",
    "quant_method": "",
    "tied_head": "no",
    "notes": "one | two",
    "params_in_files": "2420",
    "params_source": "counted by hand",
    "difference": "nine scales",
    "licence": "mit",
    "config_source": "made here",
    "as_of": "2026-11-29",
}


def table(**changed: str) -> list[str]:
    cells = {**LINE, **changed}
    quoted = (f'"{cells[column]}"' for column in LLM_COLUMNS)
    return [",".join(LLM_COLUMNS), ",".join(quoted)]


def one(**changed: str) -> Llm:
    (llm,) = parse_llms(table(**changed)).values()
    return llm


def test_a_row_is_a_model() -> None:
    llm = one()
    assert llm.profile.attention == (
        Attention(kind="full", layers=2, q_heads=4, kv_heads=2, head_dim_k=6, head_dim_v=6),
        Attention(kind="window", layers=1, q_heads=4, kv_heads=4, head_dim_k=6, head_dim_v=5, window=16),
    )
    assert llm.profile.recurrent == (Recurrent(layers=3, state_bytes=384),)
    assert (llm.profile.params_text, llm.profile.params_active) == (2312, 1152 + 160 + 336)
    assert llm.profile.notes == ("one", "two")
    assert llm.params_unexplained == 2420 - 2411


def test_cells_are_written_as_they_are_read() -> None:
    assert llm_cells(one()) == LINE
    for llm in load_llms().values():
        cells = llm_cells(llm)
        assert cells["id"] == llm.id
        line = ",".join(f'"{cells[column]}"' for column in LLM_COLUMNS)
        assert list(parse_llms([",".join(LLM_COLUMNS), line]).values()) == [llm]


def test_what_nobody_counted_stays_unknown() -> None:
    llm = one(params_in_files="", params_source="", max_context="", licence="")
    assert (llm.params_in_files, llm.params_unexplained, llm.profile.max_context) == (None, None, None)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", ""),
        ("id", "Tiny-1"),
        ("id", "made/../Tiny"),
        ("hidden", "0"),
        ("hidden", "8.5"),
        ("layers", "-6"),
        ("attention", "full:2x4q2kv"),
        ("attention", "half:2x4q2kv6"),
        ("attention", "full:2x4q2kv6 window"),
        ("attention", "full:2x4q2kv6 size=4"),
        ("attention", "window:2x4q2kv6 window=4 window=5"),
        ("attention", "full:2x4q2kv6  window=4"),
        ("attention", "full:٢x4q2kv6"),
        ("recurrent", "3*384"),
        ("parts", ""),
        ("parts", "embedding=160 | brain=3"),
        ("parts", "embedding=160 | embedding=160"),
        ("parts", "embedding=-160"),
        ("parts", "embedding=" + "9" * 5000),
        ("experts", "0"),
        ("experts_per_token", "6"),
        ("tied_head", "perhaps"),
        ("params_source", ""),
        ("config_source", ""),
        ("as_of", "yesterday"),
    ],
)
def test_a_cell_that_cannot_be_is_refused_with_its_place(column: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"llms\.csv, line 2, column ") as caught:
        one(**{column: value})
    assert f"column {column}:" in str(caught.value) or column == "experts_per_token"


def test_a_model_stands_once() -> None:
    with pytest.raises(ValueError, match="stands twice"):
        parse_llms([*table(), table()[1]])


def test_an_operators_rows_go_before_ours_and_ours_stay(tmp_path: Path) -> None:
    own = tmp_path / "llms.csv"
    assert load_llms(own) == load_llms()
    own.write_text("\n".join(table(id="openai/gpt-oss-20b")), encoding="utf-8")
    assert load_llms(own)["openai/gpt-oss-20b"].name == "Tiny 1"
    assert load_llms()["openai/gpt-oss-20b"].name == "gpt-oss-20b"
    assert len(load_llms(own)) == len(load_llms())


def test_the_figures_of_well_known_models() -> None:
    """Counts of their makers or of the public files; the widths of caches as papers and configs have them."""
    llms = load_llms()
    assert len(llms) >= 63
    llama = llms["meta-llama/Meta-Llama-3.1-70B"].profile
    assert (llama.params_text, llama.attention[0].kv_heads) == (70_553_706_496, 8)
    deepseek = llms["deepseek-ai/DeepSeek-V3"].profile
    assert (deepseek.attention[0].kv_lora_rank, deepseek.attention[0].rope_head_dim) == (512, 64)
    assert round(Decimal(deepseek.params_text) / 10**9) == 671
    assert (deepseek.experts, deepseek.experts_per_token, deepseek.moe_layers) == (256, 8, 58)
    gemma = llms["google/gemma-3-27b-it"].profile
    assert [(group.layers, group.window) for group in gemma.attention] == [(10, None), (52, 1024)]
    assert llms["openai/gpt-oss-120b"].profile.params_text == 116_829_156_672


def test_every_model_says_where_it_was_read_and_what_its_files_hold_beyond_it() -> None:
    for llm in load_llms().values():
        assert llm.config_source
        assert llm.profile.params_routed == 0 or llm.profile.moe_layers > 0
        assert bool(llm.params_unexplained) == bool(llm.difference), llm.id


@pytest.mark.parametrize(
    ("text", "right"),
    [("Qwen/Qwen3-8B", True), ("a/b", True), ("a", False), ("a/b/c", False), ("a/.b", False), ("é/b", False)],
)
def test_an_id_is_an_organisation_and_a_name(text: str, *, right: bool) -> None:
    assert is_llm_id(text) is right
