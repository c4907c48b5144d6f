"""Reads a config.json into a profile by a reader of its family; a family without a reader is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from app.domain.llms.configs.assemble import quantization_words
from app.domain.llms.configs.deepseek_v4 import read_deepseek_v4
from app.domain.llms.configs.errors import ConfigError, UnknownFamilyError
from app.domain.llms.configs.gemma import read_gemma3, read_gemma4
from app.domain.llms.configs.latent import read_deepseek_v3, read_kimi_linear
from app.domain.llms.configs.nemotron import read_nemotron_h, read_nemotron_nas
from app.domain.llms.configs.plain import Style, read_plain
from app.domain.llms.configs.qwen_hybrid import read_qwen_hybrid
from app.domain.llms.configs.reading import Config
from app.domain.llms.configs.windowed import read_gpt_oss, read_llama4, read_mimo_v2

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from app.domain.llms.profile import LlmProfile

    class Reader(Protocol):
        """Reads the config of one family, whose name it is given."""

        def __call__(self, document: Config, family: str) -> LlmProfile: ...


__all__ = ["FAMILIES", "ConfigError", "Family", "UnknownFamilyError", "read_config", "read_quantization"]


@dataclass(frozen=True, slots=True)
class Family:
    """A family: its name, the architecture and the model type its configs carry, and its reader."""

    name: str
    architecture: str
    model_type: str
    read: Reader


def _plain(**style: Any) -> Reader:
    return partial(read_plain, style=Style(**style))


_QWEN3 = _plain(qk_norm="per_head", window_by_switch=True, head_dim_stated=True)
_M3_NOTES = (
    "the index of its sparse attention, parameters and cache, is not counted",
    "the files hold further elements that the config does not describe",
)
_STEP_NOTES = ("the files hold 3 % more elements than the config describes, which are not counted",)

FAMILIES: Final[tuple[Family, ...]] = (
    Family("Llama", "LlamaForCausalLM", "llama", _plain()),
    Family("Llama 4", "Llama4ForConditionalGeneration", "llama4", read_llama4),
    Family(
        "Qwen2", "Qwen2ForCausalLM", "qwen2", _plain(qkv_bias=True, out_bias=False, window_by_switch=True)
    ),
    Family("Qwen3", "Qwen3ForCausalLM", "qwen3", _QWEN3),
    Family("Qwen3", "Qwen3MoeForCausalLM", "qwen3_moe", _QWEN3),
    Family("Qwen3-VL", "Qwen3VLForConditionalGeneration", "qwen3_vl", _QWEN3),
    Family("Qwen3-VL", "Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe", _QWEN3),
    Family("Qwen3-Next", "Qwen3NextForCausalLM", "qwen3_next", read_qwen_hybrid),
    Family("Qwen3.5", "Qwen3_5ForConditionalGeneration", "qwen3_5", read_qwen_hybrid),
    Family("Qwen3.5", "Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", read_qwen_hybrid),
    Family("DeepSeek V3", "DeepseekV3ForCausalLM", "deepseek_v3", read_deepseek_v3),
    Family("DeepSeek V3.2", "DeepseekV32ForCausalLM", "deepseek_v32", read_deepseek_v3),
    Family("DeepSeek V4", "DeepseekV4ForCausalLM", "deepseek_v4", read_deepseek_v4),
    Family("Kimi K2", "DeepseekV3ForCausalLM", "kimi_k2", read_deepseek_v3),
    Family("Kimi K2.5", "KimiK25ForConditionalGeneration", "kimi_k25", read_deepseek_v3),
    Family("Kimi K3", "KimiK3ForConditionalGeneration", "kimi_k3", read_kimi_linear),
    Family("Kimi Linear", "KimiLinearForCausalLM", "kimi_linear", read_kimi_linear),
    Family("Mistral Large 3", "MistralLarge3ForCausalLM", "mistral_large3", read_deepseek_v3),
    Family("GLM-5", "GlmMoeDsaForCausalLM", "glm_moe_dsa", partial(read_deepseek_v3, mtp="layers")),
    Family(
        "GLM-4.5",
        "Glm4MoeForCausalLM",
        "glm4_moe",
        _plain(out_bias=False, router_bias=True, mtp="with tables"),
    ),
    Family("gpt-oss", "GptOssForCausalLM", "gpt_oss", read_gpt_oss),
    Family("Mixtral", "MixtralForCausalLM", "mixtral", _plain()),
    Family("Mistral", "MistralForCausalLM", "mistral", _plain()),
    Family("Mistral", "Ministral3ForCausalLM", "ministral3", _plain()),
    Family("Mistral", "Mistral3ForConditionalGeneration", "mistral3", _plain()),
    Family("Gemma 3", "Gemma3ForConditionalGeneration", "gemma3", read_gemma3),
    Family("Gemma 3", "Gemma3ForCausalLM", "gemma3_text", read_gemma3),
    Family("Gemma 4", "Gemma4ForConditionalGeneration", "gemma4", read_gemma4),
    Family("MiniMax M2", "MiniMaxM2ForCausalLM", "minimax_m2", _plain(qk_norm="per_layer", router_bias=True)),
    Family(
        "MiniMax M3",
        "MiniMaxM3ForCausalLM",
        "minimax_m3",
        _plain(qk_norm="per_head", router_bias=True, notes=_M3_NOTES),
    ),
    Family("Nemotron-H", "NemotronHForCausalLM", "nemotron_h", read_nemotron_h),
    Family("Nemotron NAS", "DeciLMForCausalLM", "nemotron-nas", read_nemotron_nas),
    Family("Phi-3", "Phi3ForCausalLM", "phi3", _plain()),
    Family("OLMo 3", "Olmo3ForCausalLM", "olmo3", _plain(qk_norm="per_layer")),
    Family("Step 3.7", "Step3p7FlashForCausalLM", "step3p7", _plain(router_bias=True, notes=_STEP_NOTES)),
    Family("MiMo", "MiMoForCausalLM", "mimo", _plain(out_bias=False, window_by_switch=True, mtp="layers")),
    Family("MiMo-V2", "MiMoV2FlashForCausalLM", "mimo_v2_flash", read_mimo_v2),
)
"""The families that have a reader."""


def read_config(document: Mapping[str, Any], *, quantization: Mapping[str, Any] | None = None) -> LlmProfile:
    """Return the profile of the model that a config.json describes.

    `quantization` is what NVIDIA's repacks keep beside it in hf_quant_config.json; it goes first.

    Raises:
        UnknownFamilyError: no reader knows the architecture; it is not approximated.
        ConfigError: a key is missing or cannot be used; the error names it.
    """
    config = Config(document)
    family = _family(config)
    profile = family.read(config, family.name)
    words = read_quantization(quantization) if quantization is not None else ""
    return replace(profile, quant_method=words) if words else profile


def read_quantization(document: Mapping[str, Any]) -> str:
    """Return how a hf_quant_config.json says the weights were quantised, empty when it does not.

    Raises:
        ConfigError: the document is no such file.
    """
    config = Config(document)
    producer = config.section("producer").text("name") if config.has("producer") else ""
    return " ".join(filter(None, (producer, quantization_words(config.section("quantization")))))


def _family(config: Config) -> Family:
    """Return the family by architecture, and among those of one architecture by model type."""
    model_type = config.text("model_type")
    architectures = config.values.get("architectures") or []
    if not isinstance(architectures, list) or not all(
        isinstance(each, str) and each.isprintable() for each in architectures
    ):
        raise config.error("architectures", "a list of names")
    known = [each for each in FAMILIES if not architectures or each.architecture in architectures]
    fitting = [each for each in known if each.model_type == model_type] or (known if architectures else [])
    if not fitting:
        names = ", ".join(dict.fromkeys(each.name for each in FAMILIES))
        said = (
            f"model_type {model_type or '(absent)'}, architectures {', '.join(architectures) or '(absent)'}"
        )
        raise UnknownFamilyError("config.json", said, f"no reader knows this family; known are {names}")
    return fitting[0]
