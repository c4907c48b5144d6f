"""Experts in host memory: the bytes the host gives, what it bounds, and what then fits on the GPU."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.domain.llms.fit import ENGINES, Demand, Fits, Memory, TooBig, fit
from app.domain.llms.offload import Host, OffloadBound, offload_bound, on_gpu_load
from app.domain.llms.unknown import Unknown
from tests.domain.llms.shapes import H100, LLAMA_70B, QWEN3_30B_A3B, load, peaks

ONE_STREAM = Demand(batch=1, context=0)
PCIE = Decimal(16 * 10**9)
ROUTED_A_TOKEN = 48 * 8 * 4_718_592


def bound(host: Host, *, batch: int = 1) -> OffloadBound:
    found = offload_bound(load(QWEN3_30B_A3B), H100, demand=Demand(batch=batch, context=0), host=host)
    assert isinstance(found, OffloadBound)
    return found


def test_all_experts_in_the_host_are_sent_for_every_token() -> None:
    """1.812 GB a token over 16 GB/s is 113 ms: 8.83 tokens a second against 1,101 from the card's memory."""
    found = bound(Host(expert_share=Decimal(1), bytes_per_s=PCIE))
    assert found.host_bytes == ROUTED_A_TOKEN
    assert found.bound_by == "host"
    assert round(found.tokens_per_s, 2) == Decimal("8.83")
    assert found.on_gpu.step.weight_bytes == 3_041_867_776 - ROUTED_A_TOKEN


def test_a_cache_that_mostly_hits_sends_little() -> None:
    half = Host(expert_share=Decimal("0.5"), bytes_per_s=PCIE)
    cached = replace(half, miss_share=Decimal("0.04"))
    assert bound(half).host_bytes == ROUTED_A_TOKEN // 2
    assert bound(cached).host_bytes == ROUTED_A_TOKEN * Decimal("0.04")
    assert round(bound(cached).tokens_per_s / bound(half).tokens_per_s, 6) == Decimal("12.5")


def test_nothing_in_the_host_is_the_plain_ceiling() -> None:
    found = bound(Host(expert_share=Decimal(0), bytes_per_s=PCIE))
    assert (found.host_bytes, found.bound_by) == (0, "memory")
    assert round(found.tokens_per_s, 3) == Decimal("1101.297")


@pytest.mark.parametrize(("share", "outcome"), [("0", TooBig), ("0.5", Fits)])
def test_what_the_host_holds_need_not_fit_on_the_card(share: str, outcome: type) -> None:
    """30.5 GB in fp8 and half of the 28.99 of experts: 16.04 GB on a card of 24."""
    host = Host(expert_share=Decimal(share), bytes_per_s=PCIE)
    memory = Memory(usable_bytes=24 * 10**9, basis="label")
    found = fit(on_gpu_load(load(QWEN3_30B_A3B), host), memory, engine=ENGINES["vllm"], demand=ONE_STREAM)
    assert isinstance(found, outcome)


def test_a_dense_model_has_nothing_to_give_and_an_unknown_rate_stays_unknown() -> None:
    host = Host(expert_share=Decimal(1), bytes_per_s=PCIE)
    dense = offload_bound(load(LLAMA_70B), H100, demand=ONE_STREAM, host=host)
    assert isinstance(dense, OffloadBound)
    assert dense.host_bytes == 0
    card = replace(peaks("1", "1"), rate=Unknown(why="no rate"))
    assert offload_bound(load(LLAMA_70B), card, demand=ONE_STREAM, host=host) == Unknown(why="no rate")
