"""Every row of the test vectors for fit, ceilings and cost, which another program worked out."""

import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from app.domain.accelerators import load_catalogue
from app.domain.llms.bounds import (
    DecodeBound,
    Load,
    PrefillBound,
    crossover_batch_dense,
    decode_bound,
    prefill_bound,
    ridge_ops_per_byte,
)
from app.domain.llms.fit import ENGINES, Demand, Fits, Memory, TooBig, fewest_gpus, fit
from app.domain.llms.formats import FORMATS
from app.domain.llms.kv import (
    KV_FORMATS,
    KvCache,
    KvLayers,
    concurrency,
    derived_pool_tokens,
    kv_cache,
    longest_context,
)
from app.domain.llms.measured import bytes_in_pass, longest_pass_s, times_ceiling, times_least_pass
from app.domain.llms.money import (
    blended_usd_per_mtok,
    break_even,
    break_even_price_ratio,
    usd_per_mtok,
)
from app.domain.llms.parallel import Link, Spread, all_reduce_bytes, weights_per_gpu_bytes
from app.domain.llms.speculation import (
    Draft,
    accepted_drafts,
    dense_speedup,
    routed_speedup,
    tokens_per_pass,
)
from app.domain.llms.touched import expected_distinct_experts
from tests.domain.llms.vectors import (
    BANDWIDTH_TB_S,
    DENSE_TFLOPS,
    EXPECTED,
    GIB,
    MEMORY_GB,
    NOT_RUN,
    USD_PER_GPU_HOUR,
    Line,
    all_read,
    at,
    differing,
    lines,
    load_of,
    peaks,
    profile,
)

pytestmark = pytest.mark.skipif(not EXPECTED.is_dir(), reason=NOT_RUN)

VLLM = ENGINES["vllm"]
LLAMA_70B = "meta-llama/Meta-Llama-3.1-70B"
HYBRID_27B = "Qwen/Qwen3.5-27B"


def known(value: object) -> Decimal:
    assert isinstance(value, Decimal)
    return value


def whole(line: Line, *columns: str) -> list[int]:
    return [int(line[column]) for column in columns]


def kv_bytes_per_token(line: Line) -> list[str]:
    """The rows leave indexes out, and beside the compressed entries of one family its window."""
    read = profile(line["model"])
    kv = kv_cache(read, KV_FORMATS["bf16"])
    if any(attention.kind == "compressed" for attention in read.attention):
        kept = tuple(replace(one, window=0) if one.window is not None else one for one in kv.layers)
        growing, windowed, index = (
            kv.growing_bytes_per_token + kv.index_bytes_per_token,
            Decimal(0),
            Decimal(0),
        )
    else:
        growing, windowed = kv.growing_bytes_per_token, kv.windowed_bytes_per_token
        kept, index = kv.layers, kv.index_bytes_per_token
    found = {
        "growing": (growing, line["growing_16bit"]),
        "windowed": (windowed, line["windowed_16bit"]),
        "state": (kv.fixed_bytes, line["state_bytes"]),
    }
    for context in (4096, 32_768, 131_072):
        size = replace(kv, layers=kept).sequence_bytes(context) - index * context
        found[str(context)] = (size, line[f"bytes_at_{context}"])
    windows = {one.window for one in kept if one.window}
    wrong = [] if {int(line["window"] or 0)} == (windows or {0}) else [f"windows {windows}"]
    return wrong + differing(found, {})


def kv_context_limits(line: Line) -> list[str]:
    free, needed = (Decimal(line[name]) for name in ("free_gib_for_kv", "gib_needed_at_full_context"))
    full = int(line["full_context_tokens"])
    kv = made_cache(needed * GIB / full)
    return differing(
        {
            "tokens": (longest_context(kv, free * GIB) or 0, line["max_context_tokens"]),
            "missing": (needed - free, line["missing_gib"]),
            "share": ((needed - free) / Decimal("62.12"), line["missing_share_of_weights_per_gpu"]),
        },
        {"share": 4},
    )


def made_cache(
    growing: Decimal, *, windowed: Decimal = Decimal(0), window: int = 0, fixed: int = 0
) -> KvCache:
    kept = KvLayers(kv_heads=1, kv_bytes_per_token=growing)
    some = KvLayers(kv_heads=1, kv_bytes_per_token=windowed, window=window)
    return KvCache(layers=(kept, some), fixed_bytes=fixed, fmt=KV_FORMATS["bf16"])


def kv_pool_concurrency(line: Line) -> list[str]:
    """The hybrid of 27 B on four GPUs; one more layer for further tokens is a seventeenth of 17."""
    kv = kv_cache(profile(HYBRID_27B), KV_FORMATS["fp8" if line["kv_dtype_bytes"] == "1" else "bf16"])
    tokens, context = whole(line, "pool_tokens", "context_tokens")
    each = replace(kv, fixed_bytes=0).sequence_bytes(1, spread=Spread(gpus=4))
    held = concurrency(tokens * each, request_bytes=context * each)
    printed = {line["concurrency_2dp"], line["published"] or line["concurrency_2dp"]}
    wrong = [] if printed == {at(held, 2)} else [f"{at(held, 2)} is not {printed}"]
    return wrong + differing(
        {
            "concurrency": (held, line["concurrency"]),
            "all": (kv.growing_bytes_per_token, line["kv_bytes_per_token_all_gpus"]),
            "each": (each, line["kv_bytes_per_token_per_gpu_tp4"]),
            "pool": (tokens * each / GIB, line["pool_gib_per_gpu_tp4"]),
            "with one more": (tokens * each * 17 / 16 / GIB, line["pool_gib_per_gpu_tp4_with_mtp_layer"]),
        },
        {"pool": 4, "with one more": 4},
    )


def kv_two_parameter(line: Line) -> list[str]:
    names = (
        "growing_bytes_per_token_per_gpu",
        "fixed_state_bytes_per_sequence_per_gpu",
        "max_model_len",
    )
    growing, fixed, longest = whole(line, *names)
    pool = Decimal(line["pool_gib_per_gpu"]) * GIB
    request = made_cache(Decimal(growing), fixed=fixed).sequence_bytes(longest)
    tokens = derived_pool_tokens(pool, request_bytes=request, max_model_len=longest)
    return differing(
        {
            "concurrency": (concurrency(pool, request_bytes=request), line["concurrency"]),
            "tokens": (tokens, line["derived_pool_tokens"]),
            "bytes": (request / longest, line["derived_bytes_per_token"]),
        },
        {"concurrency": 4, "bytes": 2},
    )


def kv_window_reservation(line: Line) -> list[str]:
    is_gemma = line["case"].startswith(("Gemma-4-31B", "same"))
    model = "nvidia/Gemma-4-31B-IT-NVFP4" if is_gemma else "openai/gpt-oss-120b"
    kv = kv_cache(profile(model), KV_FORMATS["bf16"])
    batched, longest = whole(line, "max_num_batched_tokens", "max_model_len")
    request = kv.reserved_bytes(longest, max_num_batched_tokens=batched)
    windows = [one for one in kv.layers if one.window]
    return differing(
        {
            "growing": (kv.growing_bytes_per_token, line["growing_bytes_per_token"]),
            "windowed": (kv.windowed_bytes_per_token, line["windowed_bytes_per_token"]),
            "window": (windows[0].window or 0, line["window"]),
            "reserved": (windows[0].reserved_tokens(longest, batched), line["window_tokens_reserved"]),
            "request": (request, line["bytes_per_request"]),
            "KiB": (request / longest / 1024, line["kib_per_derived_token"]),
        },
        {"KiB": 3},
    )


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


STORED = {"nvfp4 all tensors": "nvfp4", "mxfp4 all tensors": "mxfp4"}


def fit_min_gpus(line: Line) -> list[str]:
    model = load_of(line["model"], weights=STORED.get(line["weights"], line["weights"]), kv="bf16", gpus=1)
    model = replace(model, spread=Spread())
    engine = replace(
        VLLM,
        memory_share=Decimal(line["usable_share"]),
        overhead_bytes=int(line["overhead_bytes_per_gpu"]),
    )
    context = int(line["context"])
    memory = Memory(usable_bytes=int(line["card_gb_decimal"]) * 10**9, basis="label")
    found = fewest_gpus(model, memory, engine=engine, demand=Demand(batch=1, context=context))
    figures = {
        "weights": (Decimal(model.weights.total_bytes), line["weight_bytes"]),
        "cache": (model.kv.sequence_bytes(context), line["kv_bytes_one_sequence_16bit"]),
    }
    if isinstance(found, Fits):
        wanted = (line["min_gpus_power_of_two"], line["max_concurrency_at_min_gpus"])
        return differing(figures, {}) + (
            [] if (str(found.gpus), str(found.max_concurrency)) == wanted else [str(found)]
        )
    assert isinstance(found, TooBig)
    return differing(figures, {}) + ([] if not line["min_gpus_power_of_two"] else [found.why])


# Of the checkpoint that the calibration was read on, in GiB: whole, its table of n-grams, its extra head.
TOTAL, TABLE, EXPERTS, REST, HEAD = (Decimal(size) for size in ("125.87", "47.75", "63.72", "9.55", "4.86"))
FORMULAS = {
    "total/2": (TOTAL, 2),
    "(MoE+rest)/2 + PLE/2": (EXPERTS + REST + TABLE, 2),
    "total - PLE": (TOTAL - TABLE, 1),
    "(total - PLE)/2": (TOTAL - TABLE, 2),
    "sum of parts": (EXPERTS + REST + TABLE + HEAD, 1),
}


def tensor_parallel_weight_formulas(line: Line) -> list[str]:
    size, gpus = FORMULAS[line["formula"]]
    each = weights_per_gpu_bytes(all_read(size * GIB), Spread(gpus=gpus)) / GIB
    figures: dict[str, tuple[Decimal | int, str]] = {"GiB": (each, line["result_gib_per_gpu"])}
    if line["delta_to_measured"]:
        figures["off"] = (abs(each - Decimal("62.12")), line["delta_to_measured"])
    return differing(figures, {})


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


def api_blended_price(line: Line) -> list[str]:
    names = ("usd_per_m_input", "usd_per_m_output", "input_to_output_ratio")
    usd_input, usd_output, ratio = (Decimal(line[name]) for name in names)
    blend = blended_usd_per_mtok(usd_input, usd_output, input_per_output=ratio)
    return differing({"blend": (blend, line["blended_usd_per_m"])}, {})


def api_break_even(line: Line) -> list[str]:
    """The ceilings are those of the case, worked out anew: the row prints four places of them."""
    model, batch, context = (
        (LLAMA_70B, 1, 0) if line["case"].startswith("Llama") else ("deepseek-ai/DeepSeek-V3", 512, 4096)
    )
    gpus, price = int(line["gpus"]), Decimal(line["usd_per_gpu_hour"])
    kv = "fp8" if model == LLAMA_70B else "bf16"
    load = load_of(model, weights="fp8", kv=kv, gpus=gpus)
    bound = decode_bound(load, peaks("4.8", "1979"), batch=batch, context=context)
    assert isinstance(bound, DecodeBound)
    api = Decimal(line["api_usd_per_m_output"])
    found = break_even(price * gpus, tokens_per_s=bound.tokens_per_s, api_usd_per_mtok=api)
    wrong = [] if str(found.can_pay) == line["reachable"] else ["reachable"]
    return wrong + differing(
        {
            "ceiling": (bound.tokens_per_s, line["ceiling_tokens_per_s"]),
            "usd": (found.usd_per_mtok_at_ceiling, line["usd_per_m_at_full_use"]),
            "use": (found.utilisation, line["break_even_utilisation"]),
            "needed": (found.tokens_per_s_needed, line["tokens_per_s_needed"]),
        },
        {"ceiling": 4, "needed": 3},
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


SCHEMES = {
    "fp32": "fp32",
    "bf16/fp16": "bf16",
    "fp8 per-tensor scale": "fp8",
    "fp8 block 128x128, fp32 scale": "fp8-block",
    "int8 per-channel": "int8",
    "mxfp8 (32, e8m0 scale)": "mxfp8",
    "int4 group 128 (GPTQ/AWQ, fp16 scale + int4 zero)": "int4-g128",
    "int4 group 32 (fp16 scale, symmetric)": "int4-g32",
    "mxfp4 (32, e8m0 scale)": "mxfp4",
    "nvfp4 (16, fp8 e4m3 scale)": "nvfp4",
}


def bits_per_weight(line: Line) -> list[str]:
    scheme = line["scheme"]
    gguf = scheme.removeprefix("gguf ").lower().replace("_", "-")
    fmt = FORMATS[SCHEMES.get(scheme, f"gguf-{gguf}")]
    number = "" if fmt.ggml_type_id is None else str(fmt.ggml_type_id)
    wrong = [] if number == line["ggml_type_id"] else ["type"]
    return wrong + differing(
        {
            "values": (fmt.block_elements, line["block_elements"]),
            "bytes": (fmt.block_bytes, line["block_bytes"]),
            "bits": (fmt.bits_per_weight, line["bits_per_weight"]),
        },
        {},
    )


def measured_vs_batch1_ceiling(line: Line) -> list[str]:
    card = {"H100-SXM-80GB": "H100 SXM", "H200-SXM-141GB": "H200", "B200-SXM-180GB": "B200"}[line["card"]]
    ceiling = one_stream(card, Decimal(line["weights_gb_assumed"])).tokens_per_s
    times = times_ceiling(Decimal(line["measured_tok_s_per_gpu"]), ceiling_tokens_per_s=ceiling)
    wrong = [] if at(times, 2) == line["ratio"] else ["ratio"]
    return wrong + differing({"ceiling": (ceiling, line["batch1_ceiling_tok_s"])}, {"ceiling": 3})


def one_stream(card: str, weights_gb: Decimal) -> DecodeBound:
    read = profile(LLAMA_70B)
    model = Load(profile=read, weights=all_read(weights_gb * 10**9), kv=kv_cache(read, KV_FORMATS["fp8"]))
    bound = decode_bound(model, peaks(BANDWIDTH_TB_S[card], DENSE_TFLOPS["fp8"][card]), batch=1, context=0)
    assert isinstance(bound, DecodeBound)
    return bound


def passes() -> dict[str, tuple[Decimal, int]]:
    """What one measured pass of 46.65 ms against 10.57 worked out implies: figures and their places."""
    measured_s, least_s = Decimal("0.04665"), Decimal("0.01057")
    bandwidth = Decimal(554 * 10**9)
    drafted = tokens_per_pass(accepted_drafts(Decimal("0.505"), depth=4), counting="drafts only")
    moved = bytes_in_pass(least_s, bytes_per_s=bandwidth)
    return {
        "measured_ms_per_pass": (measured_s * 1000, 6),
        "computed_ms_per_pass": (least_s * 1000, 6),
        "factor": (times_least_pass(measured_s, least_pass_s=least_s), 6),
        "share_of_roofline": (times_least_pass(least_s, least_pass_s=measured_s), 6),
        "implied_bytes_per_rank_at_554_GB_s": (moved, 0),
        "implied_gib_per_rank": (moved / GIB, 4),
        "ms_per_pass_from_5.45_GiB": (Decimal("5.45") * GIB / bandwidth * 1000, 3),
        "passes_per_s_measured": (1 / measured_s, 4),
        "passes_per_s_ceiling": (1 / least_s, 4),
        "tok_s_ceiling_depth4_accept_0.505": (drafted / least_s, 3),
        "tok_s_at_measured_pass_depth4_accept_0.505": (drafted / measured_s, 3),
        "tok_s_max_at_measured_pass_depth4_all_accepted": (5 / measured_s, 3),
        "pass_ms_needed_for_205_tok_s_at_5_tokens": (
            longest_pass_s(Decimal(205), tokens_per_pass=Decimal(5)) * 1000,
            4,
        ),
    }


def measured_vs_roofline(line: Line) -> list[str]:
    value, places = passes()[line["quantity"]]
    return differing({line["quantity"]: (value, line["value"])}, {line["quantity"]: places})


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


CARDS = {"H100 PCIe": "h100-pcie", "H100 SXM": "h100-sxm", "H200": "h200-sxm", "B200": "b200-sxm"}


def break_even_ratios(line: Line) -> list[str]:
    """The bundled cards' bandwidth or fp8 rate, or two prices that the row names."""
    first, second = (load_catalogue().by_id[CARDS[line[card]]] for card in ("card_a", "card_b"))
    if "actual ratio" in line["basis"]:
        dearer, cheaper = line["basis"].rpartition(" ")[2].split("/")
        ratio = break_even_price_ratio(Decimal(dearer), baseline=Decimal(cheaper))
    elif line["basis"] == "peak bandwidth":
        ratio = break_even_price_ratio(second.bandwidth_tb_s, baseline=first.bandwidth_tb_s)
    else:
        ratio = break_even_price_ratio(second.dense_tflops["fp8"], baseline=first.dense_tflops["fp8"])
    wrong = [] if at(ratio, 2) == line["two_dp"] else [f"{at(ratio, 2)} is not {line['two_dp']}"]
    return wrong + differing({"ratio": (ratio, line["break_even_price_ratio_b_over_a"])}, {})


def ops_per_byte(line: Line) -> list[str]:
    ridge = known(ridge_ops_per_byte(peaks(line["peak_mem_tb_per_s"], line["dense_fp8_tflops"])))
    wrong = [] if at(ridge, 0) == line["python_format_0dp"] == line["published"] else ["half to even"]
    half_up = str(ridge.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    wrong += [] if half_up == line["half_up_0dp"] else ["half up"]
    return wrong + differing({"ridge": (ridge, line["ops_per_byte"])}, {})


CHECKS: dict[str, tuple[Callable[[Line], list[str]], int]] = {
    "kv_bytes_per_token.csv": (kv_bytes_per_token, 32),
    "kv_context_limits.csv": (kv_context_limits, 1),
    "kv_pool_concurrency.csv": (kv_pool_concurrency, 5),
    "kv_two_parameter.csv": (kv_two_parameter, 4),
    "kv_window_reservation.csv": (kv_window_reservation, 4),
    "decode_roofline.csv": (decode_roofline, 60),
    "roofline_crossover.csv": (roofline_crossover, 17),
    "prefill_ceiling.csv": (prefill_ceiling, 16),
    "fit_min_gpus.csv": (fit_min_gpus, 45),
    "tensor_parallel_weight_formulas.csv": (tensor_parallel_weight_formulas, 5),
    "tp_scaling_llama70b_fp8_h100.csv": (tp_scaling, 4),
    "speculative_ceiling.csv": (speculative_ceiling, 22),
    "mtp_acceptance.csv": (mtp_acceptance, 2),
    "api_blended_price.csv": (api_blended_price, 24),
    "api_break_even.csv": (api_break_even, 2),
    "moe_distinct_experts.csv": (moe_distinct_experts, 41),
    "bits_per_weight.csv": (bits_per_weight, 44),
    "measured_vs_batch1_ceiling.csv": (measured_vs_batch1_ceiling, 3),
    "measured_vs_roofline.csv": (measured_vs_roofline, 13),
    "token_ceilings.csv": (token_ceilings, 6),
    "break_even_ratios.csv": (break_even_ratios, 11),
    "ops_per_byte.csv": (ops_per_byte, 3),
}


@pytest.mark.parametrize("name", CHECKS)
def test_every_row_of_the_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check, rows = CHECKS[name]
    wrong = {number: found for number, line in enumerate(lines(name), 2) if (found := check(line))}
    with capsys.disabled():
        sys.stdout.write(f"\nvectors {name}: {len(lines(name)) - len(wrong)} of {len(lines(name))} rows\n")
    assert wrong == {}
    assert len(lines(name)) == rows


def test_the_two_figures_that_do_not_follow_are_nowhere_in_the_program() -> None:
    """972 over 613 is 58.6 % more and not 46.8; 4.65 s over 1.23 is 3.78 times and not 4.8."""
    marked = [line["published"] for line in lines("seed_arithmetic.csv") if line["agrees"] == "False"]
    assert marked == ["+46.8 %", "factor 4.8"]
    program = [path.read_text(encoding="utf-8") for path in (Path(__file__).parents[3] / "app").rglob("*.py")]
    assert len(program) > 100
    assert not any(words in text for text in program for words in ("46.8", "factor 4.8", "4.8 times"))
