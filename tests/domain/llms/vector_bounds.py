"""Checks of one row each: ceilings on decode, prefill and speculation, and where they change."""

from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

from app.domain.llms.bounds import (
    DecodeBound,
    Load,
    PrefillBound,
    crossover_batch_dense,
    decode_bound,
    prefill_bound,
    ridge_ops_per_byte,
)
from app.domain.llms.fit import ENGINES, Demand, Fits, Memory, fit
from app.domain.llms.kv import (
    KV_FORMATS,
    kv_cache,
)
from app.domain.llms.money import usd_per_mtok
from app.domain.llms.parallel import Link, Spread, all_reduce_bytes
from app.domain.llms.speculation import Draft, accepted_drafts, dense_speedup, routed_speedup, tokens_per_pass
from app.domain.llms.touched import expected_distinct_experts
from tests.domain.llms.vectors import (
    BANDWIDTH_TB_S,
    DENSE_TFLOPS,
    LLAMA_70B,
    MEMORY_GB,
    USD_PER_GPU_HOUR,
    Line,
    all_read,
    at,
    differing,
    load_of,
    peaks,
    profile,
    whole,
)

VLLM = ENGINES["vllm"]


def known(value: object) -> Decimal:
    assert isinstance(value, Decimal)
    return value


def decode_roofline(line: Line) -> list[str]:
    card, compute = line["card"], line["compute"]
    batch, context, gpus = whole(line, "batch", "context", "gpus")
    model = load_of(
        line["model"],
        weights="bf16" if line["weight_bytes_per_param"] == "2" else "fp8",
        kv="bf16" if line["kv_scale_vs_16bit"] == "1" else "fp8",
        gpus=gpus,
    )
    peak = peaks(BANDWIDTH_TB_S[card], DENSE_TFLOPS[compute][card])
    bound = decode_bound(model, peak, batch=batch, context=context)
    assert isinstance(bound, DecodeBound)
    memory = Memory(usable_bytes=MEMORY_GB[card] * 10**9, basis="label")
    held = fit(model, memory, engine=VLLM, demand=Demand(batch=batch, context=context))
    usd = usd_per_mtok(Decimal(USD_PER_GPU_HOUR[card]) * gpus, tokens_per_s=bound.tokens_per_s)
    wrong = [] if bound.bound_by == line["bound"] else ["bound"]
    wrong += [] if isinstance(held, Fits) == (line["fits_memory_at_90pct"] == "True") else ["fits"]
    return wrong + differing(
        {
            "read": (
                bound.step.weight_bytes * gpus / Decimal(line["weight_bytes_per_param"]),
                line["params_read"],
            ),
            "weights": (bound.step.weight_bytes * gpus, line["weight_bytes"]),
            "cache": (bound.step.cache_bytes * gpus, line["kv_and_state_bytes"]),
            "ops": (bound.step.ops * gpus, line["ops"]),
            "memory ms": (bound.memory_s * 1000, line["t_bandwidth_ms"]),
            "compute ms": (bound.compute_s * 1000, line["t_compute_ms"]),
            "tok/s": (bound.tokens_per_s, line["tokens_per_s"]),
            "per stream": (bound.tokens_per_s_per_stream, line["tokens_per_s_per_stream"]),
            "ops a byte": (bound.ops_per_byte, line["ops_per_byte"]),
            "usd": (usd, line["usd_per_m_output"]),
        },
        {"tok/s": 4, "per stream": 4, "ops a byte": 4},
    )


def roofline_crossover(line: Line) -> list[str]:
    peak = peaks(Decimal(line["gb_per_s"]) / 1000, line["tflops"])
    batch = crossover_batch_dense(peak, bytes_per_param=Decimal(line["bytes_per_param"]))
    return differing(
        {
            "ridge": (known(ridge_ops_per_byte(peak)), line["ops_per_byte_of_card"]),
            "batch": (known(batch), line["crossover_batch_dense_no_kv"]),
        },
        {"ridge": 4, "batch": 4},
    )


def prefill_ceiling(line: Line) -> list[str]:
    model = load_of(line["model"], weights="fp8", kv="fp8", gpus=1)
    peak = peaks(BANDWIDTH_TB_S[line["card"]], line["dense_fp8_tflops"])
    bound = prefill_bound(model, peak, prompt_tokens=int(line["prompt_tokens"]))
    assert isinstance(bound, PrefillBound)
    price, rate = Decimal(line["usd_per_gpu_hour"]), bound.tokens_per_s
    at_40 = usd_per_mtok(price, tokens_per_s=rate, utilisation=Decimal("0.4"))
    return differing(
        {
            "ops": (bound.ops_per_token, line["ops_per_token"]),
            "attention": (bound.attention_ops_per_token, line["attention_ops_per_token"]),
            "tok/s": (rate, line["tokens_per_s_per_gpu"]),
            "usd": (usd_per_mtok(price, tokens_per_s=rate), line["usd_per_m_input"]),
            "usd at 40 %": (at_40, line["usd_per_m_input_at_40pct_mfu"]),
        },
        {"tok/s": 3},
    )


def tp_scaling(line: Line) -> list[str]:
    """All weights are read, and an all-reduce goes over 450 GB/s each way, which the row does not print."""
    read = profile(LLAMA_70B)
    gpus = int(line["gpus"])
    latency = Decimal(line["allreduce_latency_us_assumed_each"]) / 10**6
    link = Link(latency_s=latency, bytes_per_s=Decimal(450 * 10**9))
    model = Load(
        profile=read,
        weights=all_read(Decimal(read.params_text)),
        kv=kv_cache(read, KV_FORMATS["fp8"]),
        spread=Spread(gpus=gpus),
    )
    peak = peaks("3.35", "1979")
    bound = decode_bound(model, peak, batch=1, context=0, link=link)
    alone = decode_bound(replace(model, spread=Spread()), peak, batch=1, context=0)
    assert isinstance(bound, DecodeBound)
    assert isinstance(alone, DecodeBound)
    speedup = alone.step_s / bound.step_s
    sent = all_reduce_bytes(read, Spread(gpus=gpus), tokens=1)
    return differing(
        {
            "ideal": (bound.memory_s * 1000, line["ideal_ms"]),
            "sent": (sent, line["allreduce_bytes_per_gpu_per_token"]),
            "total": (bound.step_s * 1000, line["total_ms"]),
            "speedup": (speedup, line["speedup"]),
            "efficiency": (speedup / gpus, line["efficiency"]),
        },
        {"speedup": 4, "efficiency": 4},
    )


ROUTED = {"DeepSeek-V3 shape": "deepseek-ai/DeepSeek-V3", "Qwen3-30B shape": "Qwen/Qwen3-30B-A3B"}


def speculative_ceiling(line: Line) -> list[str]:
    draft = Draft(
        depth=int(line["depth"]),
        tokens_per_pass=Decimal(line["tokens_per_pass_incl_bonus"]),
        step_share=Decimal(line["draft_cost_share_of_pass_per_step"]),
    )
    speedup = dense_speedup(draft)
    for start, model in ROUTED.items():
        if line["case"].startswith(start):
            read = profile(model)
            speedup = routed_speedup(draft, experts=read.experts, experts_per_token=read.experts_per_token)
    return differing({"speedup": (speedup, line["speedup_dense_memory_bound"])}, {"speedup": 4})


def mtp_acceptance(line: Line) -> list[str]:
    accepted = accepted_drafts(Decimal(line["acceptance_rate"]), depth=int(line["depth"]))
    given = tokens_per_pass(accepted, counting="drafts only")
    wrong = [] if at(accepted, 2) == line["published_length"] else ["published length"]
    return wrong + differing(
        {
            "accepted": (accepted, line["mean_accepted_draft_tokens"]),
            "given": (given, line["tokens_per_pass_incl_bonus"]),
        },
        {},
    )


def moe_distinct_experts(line: Line) -> list[str]:
    experts, each, batch = whole(line, "n_experts", "k", "batch")
    distinct = expected_distinct_experts(experts, experts_per_token=each, tokens=batch)
    naive = min(batch * each, experts)
    wrong = [] if str(naive) == line["naive_min_bk_n"] and distinct <= naive else ["more than drawn"]
    return wrong + differing(
        {
            "distinct": (distinct, line["expected_distinct_experts"]),
            "share": (distinct / experts, line["share"]),
        },
        {"distinct": 4},
    )


def one_stream(card: str, weights_gb: Decimal) -> DecodeBound:
    read = profile(LLAMA_70B)
    model = Load(profile=read, weights=all_read(weights_gb * 10**9), kv=kv_cache(read, KV_FORMATS["fp8"]))
    bound = decode_bound(model, peaks(BANDWIDTH_TB_S[card], DENSE_TFLOPS["fp8"][card]), batch=1, context=0)
    assert isinstance(bound, DecodeBound)
    return bound


def token_ceilings(line: Line) -> list[str]:
    rate = one_stream(line["gpu"], Decimal(line["weights_gb"])).tokens_per_s
    usd = usd_per_mtok(Decimal(line["usd_per_gpu_hour"]), tokens_per_s=rate)
    bandwidth = Decimal(BANDWIDTH_TB_S[line["gpu"]])
    return differing(
        {
            "TB/s": (bandwidth, line["peak_mem_tb_per_s"]),
            "tok/s": (rate, line["tokens_per_s"]),
            "usd": (usd, line["usd_per_m_tokens"]),
        },
        {},
    )


def ops_per_byte(line: Line) -> list[str]:
    ridge = known(ridge_ops_per_byte(peaks(line["peak_mem_tb_per_s"], line["dense_fp8_tflops"])))
    wrong = [] if at(ridge, 0) == line["python_format_0dp"] == line["published"] else ["half to even"]
    half_up = str(ridge.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    wrong += [] if half_up == line["half_up_0dp"] else ["half up"]
    return wrong + differing({"ridge": (ridge, line["ops_per_byte"])}, {})
