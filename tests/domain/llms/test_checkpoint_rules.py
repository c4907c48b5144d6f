"""Context under YaRN, weights on each GPU, and whether two repositories are the same files."""

from decimal import Decimal
from typing import Any

import pytest

from app.domain.llms.checkpoint.identity import compare
from app.domain.llms.checkpoint.sharding import weights_per_gpu_bytes
from app.domain.llms.checkpoint.yarn import context_of, context_of_gguf, yarn_context

YARN = {"rope_type": "yarn", "factor": 64.0, "original_max_position_embeddings": 4096}


@pytest.mark.parametrize(
    ("config", "tokens", "why"),
    [
        # Devstral 2 states the product already, Qwen's advice to stretch states the original.
        ({"max_position_embeddings": 262144, "rope_scaling": YARN}, 262144, "YaRN: 4096 x 64"),
        ({"max_position_embeddings": 4096, "rope_scaling": YARN}, 262144, "YaRN: 4096 x 64"),
        (
            {"text_config": {"max_position_embeddings": 262144, "rope_parameters": YARN}},
            262144,
            "YaRN: 4096 x 64",
        ),
        (
            {"max_position_embeddings": 8192, "rope_scaling": {**YARN, "rope_type": None, "type": "yarn"}},
            262144,
            "YaRN: 4096 x 64; max_position_embeddings says 8192",
        ),
        ({"max_position_embeddings": 8192}, 8192, "max_position_embeddings"),
        ({"max_position_embeddings": 8192, "rope_scaling": {"rope_type": "llama3", "factor": 8}}, 8192, None),
        ({}, None, "the config states no max_position_embeddings"),
        ({"max_position_embeddings": True}, None, None),
        (
            {"rope_scaling": {"type": "yarn", "factor": 4}},
            None,
            "its YaRN states no original_max_position_embeddings",
        ),
        ({"rope_scaling": {**YARN, "factor": None}}, None, "its YaRN states no factor"),
        ({"rope_scaling": {**YARN, "factor": float("nan")}}, None, "its YaRN states no factor"),
        ({"rope_scaling": {**YARN, "factor": 10**400}}, None, "its YaRN states no factor"),
        ({"max_position_embeddings": 8192, "rope_scaling": ["yarn"]}, 8192, None),
    ],
)
def test_the_context_that_a_config_promises(
    config: dict[str, Any], tokens: int | None, why: str | None
) -> None:
    found = context_of(config)
    assert found.tokens == tokens
    assert why is None or found.why == why


def test_the_context_that_a_gguf_promises() -> None:
    plain = {"general.architecture": "llama", "llama.context_length": 8192}
    assert context_of_gguf(plain).tokens == 8192
    stretched = {
        **plain,
        "llama.context_length": 131072,
        "llama.rope.scaling.type": "yarn",
        "llama.rope.scaling.factor": 4.0,
        "llama.rope.scaling.original_context_length": 32768,
    }
    found = context_of_gguf(stretched)
    assert (found.tokens, found.is_stretched) == (131072, True)
    assert context_of_gguf({}).tokens is None


def test_a_factor_that_is_no_whole_number() -> None:
    assert yarn_context(32768, Decimal("2.5")) == 81920


def test_weights_on_each_gpu_are_all_of_them_over_the_gpus() -> None:
    """A measured run: 125.87 GiB on two GPUs, 62.12 GiB found on each; the rule is 0.82 GiB off."""
    gib = 2**30
    total_bytes = int(Decimal("125.87") * gib)
    each = weights_per_gpu_bytes(total_bytes, 2) / gib
    assert each.quantize(Decimal("0.001")) == Decimal("62.935")
    assert abs(each - Decimal("62.12")) < Decimal("0.82")
    # Other rules for the same run: the MTP head left out, the tables left out, and those over two GPUs.
    for other in ("60.51", "78.12", "39.06"):
        assert abs(Decimal(other) - Decimal("62.12")) > abs(each - Decimal("62.12"))
    assert weights_per_gpu_bytes(7, 1) == 7
    with pytest.raises(ValueError, match="give a number from 1"):
        weights_per_gpu_bytes(7, 0)


def repo(*shards: int, **files: str | None) -> dict[str, str | None]:
    return {**{f"model-{n}.safetensors": f"sha-{n}" for n in shards}, **files}


@pytest.mark.parametrize(
    ("a", "b", "counts", "verdict"),
    [
        (repo(1, 2), repo(1, 2), (2, 0, 0, 0, 0), "same checkpoint"),
        (repo(1, 2), {**repo(1), "model-2.safetensors": "x"}, (1, 1, 0, 0, 0), "different"),
        (repo(1, README="r"), repo(1), (1, 0, 1, 0, 0), "same weights, other files differ"),
        (repo(1, config="r"), repo(1, config="s"), (1, 1, 0, 0, 0), "same weights, other files differ"),
        (repo(1, 2), repo(1), (1, 0, 1, 0, 0), "different"),
        (repo(1), repo(2), (0, 0, 1, 1, 0), "not comparable"),
        (repo(), repo(), (0, 0, 0, 0, 0), "not comparable"),
        (repo(1, config=None), repo(1, config="s"), (1, 0, 0, 0, 1), "not known"),
        ({"m.gguf": None}, {"m.gguf": None}, (0, 0, 0, 0, 1), "not known"),
        ({"README": "r", "a": "1"}, {"README": "r"}, (1, 0, 1, 0, 0), "different"),
    ],
)
def test_two_listings_compare(a: Any, b: Any, counts: tuple[int, ...], verdict: str) -> None:
    found = compare(a, b)
    assert (found.identical, found.different, found.only_in_a, found.only_in_b, found.not_known) == counts
    assert (found.files_a, found.files_b, found.verdict) == (len(a), len(b), verdict)
