"""Shapes of models that benchmarks run on and the table of models does not hold."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.configs import read_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.llms.facts import Llm
    from app.domain.llms.profile import LlmProfile

LLAMA_2_70B: Final = "meta-llama/Llama-2-70b-chat-hf"

BENCHMARKED: Final[Mapping[str, LlmProfile]] = MappingProxyType(
    {
        LLAMA_2_70B: read_config(
            {
                "architectures": ["LlamaForCausalLM"],
                "model_type": "llama",
                "hidden_size": 8192,
                "intermediate_size": 28_672,
                "num_hidden_layers": 80,
                "num_attention_heads": 64,
                "num_key_value_heads": 8,
                "vocab_size": 32_000,
                "max_position_embeddings": 4096,
                "torch_dtype": "float16",
                "tie_word_embeddings": False,
            }
        )
    }
)
"""By id. Llama 2 70B: Touvron et al. 2023, arXiv 2307.09288; the sizes give its 68,976,648,192 parameters."""


def profile_of(llm: str, llms: Mapping[str, Llm]) -> LlmProfile | None:
    """Return the profile of a model that is among the known ones or here, None for another."""
    known = llms.get(llm)
    return known.profile if known is not None else BENCHMARKED.get(llm)
