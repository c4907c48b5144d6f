"""What is refused: families without a reader, keys that are missing or wrong, files of another kind."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.domain.llms.configs import (
    FAMILIES,
    ConfigError,
    UnknownFamilyError,
    read_config,
    read_quantization,
)
from tests.domain.llms.tiny import EACH_KIND, LATENT, of


def without(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}


@pytest.mark.parametrize(
    "names",
    [
        {"architectures": ["MambaForCausalLM"], "model_type": "mamba"},
        {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama"},
        {"architectures": ["LlamaForSequenceClassification"], "model_type": "llama"},
        {"model_type": "mamba"},
        {},
    ],
)
def test_a_family_without_a_reader_is_refused_by_name(names: dict[str, Any]) -> None:
    document = {**without(without(LATENT, "architectures"), "model_type"), **names}
    with pytest.raises(UnknownFamilyError) as caught:
        read_config(document)
    said = str(caught.value)
    assert str(names.get("model_type", "(absent)")) in said
    assert all(name in said for name in names.get("architectures", ["(absent)"]))
    assert "Llama 4" in said
    assert "GLM-5" in said


def test_a_config_without_architectures_goes_by_its_type() -> None:
    document = without(of("LlamaForCausalLM", "llama"), "architectures")
    assert read_config(document) == read_config(of("LlamaForCausalLM", "llama"))


def test_one_architecture_may_serve_two_families() -> None:
    assert read_config(LATENT).family == "DeepSeek V3"
    assert read_config({**LATENT, "model_type": "kimi_k2"}).family == "Kimi K2"
    assert read_config({**LATENT, "model_type": "something_new"}).family == "DeepSeek V3"


def test_each_family_stands_once() -> None:
    pairs = [(family.architecture, family.model_type) for family in FAMILIES]
    assert len(pairs) == len(set(pairs)) > 30


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", None),
        ("hidden_size", "4096"),
        ("hidden_size", 4096.0),
        ("hidden_size", True),
        ("hidden_size", 0),
        ("hidden_size", -8),
        ("hidden_size", 10**400),
        ("num_hidden_layers", 10**9),
        ("vocab_size", [20]),
        ("num_attention_heads", None),
        ("intermediate_size", {}),
        ("tie_word_embeddings", "yes"),
        ("torch_dtype", 16),
        ("quantization_config", "fp8"),
        ("attention_bias", 1),
        ("mlp_bias", True),
        ("architectures", "LlamaForCausalLM"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_key(key: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config({**of("LlamaForCausalLM", "llama"), key: value})
    assert caught.value.field == key
    assert caught.value.expected
    assert len(str(caught.value)) < 300


def test_a_missing_key_is_named_where_it_stands() -> None:
    text = without(of("Gemma3ForConditionalGeneration", "gemma3"), "head_dim")
    document = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": text,
    }
    with pytest.raises(
        ConfigError, match=r"text_config\.head_dim: '\(absent\)' is not right: a whole number"
    ):
        read_config(document)


@pytest.mark.parametrize(
    "keys",
    [
        {"layer_types": ["full_attention"], "sliding_window": 16},
        {"layer_types": ["full_attention", "half_attention", "full_attention"]},
        {"layer_types": "full_attention"},
        {"layer_types": ["sliding_attention"] * 3},
    ],
)
def test_layers_that_do_not_add_up_are_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        read_config(of("Olmo3ForCausalLM", "olmo3", **keys))


@pytest.mark.parametrize(
    ("architecture", "model_type", "keys", "field"),
    [
        ("NemotronHForCausalLM", "nemotron_h", {"hybrid_override_pattern": "MXM"}, "hybrid_override_pattern"),
        ("NemotronHForCausalLM", "nemotron_h", {"hybrid_override_pattern": "M*"}, "num_hidden_layers"),
        ("NemotronHForCausalLM", "nemotron_h", {}, "layers_block_type"),
        ("DeepseekV4ForCausalLM", "deepseek_v4", {"compress_ratios": [4, 128]}, "compress_ratios"),
        ("MiMoV2FlashForCausalLM", "mimo_v2_flash", {}, "hybrid_layer_pattern"),
        (
            "Qwen3MoeForCausalLM",
            "qwen3_moe",
            {"num_experts": 4, "num_experts_per_tok": 5},
            "num_experts_per_tok",
        ),
        ("LlamaForCausalLM", "llama", {"head_dim": None, "num_attention_heads": 3}, "head_dim"),
        ("KimiLinearForCausalLM", "kimi_linear", {"linear_attn_config": []}, "linear_attn_config"),
    ],
)
def test_what_a_family_needs_is_asked_for(
    architecture: str, model_type: str, keys: dict[str, Any], field: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(of(architecture, model_type, **keys))
    assert caught.value.field == field


ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**33, 10**30, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "a\nb"),
    *([], [1], [None], ["a"], [[]], [{}], {}, {"a": 1}),
]


@pytest.mark.parametrize("document", EACH_KIND, ids=lambda document: document["model_type"])
def test_no_value_of_any_key_ends_in_another_error(document: dict[str, Any]) -> None:
    """Each key of each object takes each odd value, or goes: a profile with real parts, or a refusal."""
    refused = 0
    for changed in changed_documents(document):
        try:
            profile = read_config(changed)
        except (ConfigError, UnknownFamilyError):
            refused += 1
        else:
            assert all(part.params > 0 for part in profile.parts)
            assert 0 < profile.params_active <= profile.params_text
    assert refused > len(ODD)


def changed_documents(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the document with one key of it, or of an object in it, changed or gone."""
    for key, value in document.items():
        yield without(document, key)
        yield from ({**document, key: odd} for odd in ODD)
        if isinstance(value, dict):
            yield from ({**document, key: inner} for inner in changed_documents(value))


def test_a_repack_says_in_a_file_of_its_own_how_it_was_quantised() -> None:
    beside = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "group_size": 16}}
    assert read_quantization(beside) == "modelopt NVFP4"
    document = of("LlamaForCausalLM", "llama")
    assert read_config(document, quantization=beside).quant_method == "modelopt NVFP4"
    with pytest.raises(ConfigError, match="quantization"):
        read_quantization({"quantization": "NVFP4"})
