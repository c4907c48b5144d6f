"""A small model with experts, as the tensors and the metadata of its GGUF; nothing of it exists elsewhere."""

from typing import Any

from tests.domain.llms.headers import Spec


def expert_layer(number: int, *, down: str, count: int = 4) -> list[Spec]:
    """Give the expert tensors of a layer: 256 wide, 1,024 inside."""
    return [
        (f"blk.{number}.ffn_gate_exps.weight", "Q4_K", (256, 1024, count)),
        (f"blk.{number}.ffn_up_exps.weight", "Q4_K", (256, 1024, count)),
        (f"blk.{number}.ffn_down_exps.weight", down, (1024, 256, count)),
    ]


TINY: list[Spec] = [
    *expert_layer(0, down="Q6_K"),
    *expert_layer(1, down="Q4_K"),
    *expert_layer(2, down="Q6_K"),
    *expert_layer(3, down="Q4_K"),
]
SAID: dict[str, tuple[str, Any]] = {
    "general.architecture": ("text", "tiny"),
    "tiny.expert_count": ("u32", 4),
    "tiny.expert_used_count": ("u32", 2),
}
