"""Checks of one row each: bytes of weights and caches, what fits, what lies on each GPU."""

from dataclasses import replace
from decimal import Decimal

from app.domain.llms.fit import ENGINES, Demand, Fits, Memory, TooBig, fewest_gpus
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
from app.domain.llms.parallel import Spread, weights_per_gpu_bytes
from tests.domain.llms.vectors import GIB, HYBRID_27B, Line, all_read, at, differing, load_of, profile, whole

VLLM = ENGINES["vllm"]


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
