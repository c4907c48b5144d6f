"""Small result files in the formats of four benchmarks, of our own making: no real machine gave them."""

import json
from itertools import count
from typing import Any

_RUNS = count(1)
"""Each result that is made here ran at a time of its own, as no two runs of a server are one."""


def vllm(output_throughput: float = 820.0, **other: Any) -> dict[str, Any]:
    """As `vllm bench serve --save-result` writes it: 16,400 tokens, in 20 s at 820 a second."""
    result: dict[str, Any] = {
        "date": f"20261101-{next(_RUNS):06}",
        "backend": "openai",
        "label": None,
        "model_id": "Qwen/Qwen3-8B",
        "tokenizer_id": "Qwen/Qwen3-8B",
        "num_prompts": 128,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 8,
        "duration": 16400 / output_throughput,
        "completed": 128,
        "failed": 0,
        "total_input_tokens": 65536,
        "total_output_tokens": 16400,
        "request_throughput": 6.4,
        "request_goodput": None,
        "output_throughput": output_throughput,
        "total_token_throughput": output_throughput + 3276.8,
        "max_output_tokens_per_s": 901.0,
        "max_concurrent_requests": 11,
    }
    for name in ("ttft", "tpot", "itl"):
        result |= {
            f"mean_{name}_ms": 9.9,
            f"median_{name}_ms": 9.5,
            f"std_{name}_ms": 0.4,
            f"p99_{name}_ms": 12.1,
        }
    return result | other


def sglang(output_throughput: float = 640.0, **other: Any) -> dict[str, Any]:
    """As `python -m sglang.bench_serving` appends it: an endless request rate is the bare word Infinity."""
    result: dict[str, Any] = {
        "tag": None,
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": float("inf"),
        "max_concurrency": 16,
        "sharegpt_output_len": None,
        "random_input_len": 1024,
        "random_output_len": 256,
        "random_range_ratio": 1.0,
        "server_info": {"model_path": "Qwen/Qwen3-8B", "version": "0.5.20"},
        "duration": 6400 / output_throughput,
        "completed": 25,
        "total_input_tokens": 25600,
        "total_output_tokens": 6400,
        "total_output_tokens_retokenized": 6391,
        "request_throughput": 2.5,
        "input_throughput": 2560.0,
        "output_throughput": output_throughput,
        "mean_e2e_latency_ms": 3100.0,
        "median_e2e_latency_ms": 3050.0,
        "median_ttft_ms": 84.0,
        "median_itl_ms": 11.5,
        "concurrency": 7.9,
        "accept_length": None,
    }
    return result | other


def llama_bench(
    *, n_prompt: int = 0, n_gen: int = 128, samples: tuple[float, ...], **other: Any
) -> dict[str, Any]:
    """As one test of `llama-bench -o json`."""
    result: dict[str, Any] = {
        "build_commit": "d6cf9ac",
        "build_number": 11480,
        "cpu_info": "a processor",
        "gpu_info": "Tesla T4",
        "backends": "CUDA",
        "model_filename": "qwen3-30b-a3b-q4_k_m.gguf",
        "model_type": "qwen3moe 30B.A3B Q4_K - Medium",
        "model_size": 18556686912,
        "model_n_params": 30532122624,
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_threads": 2,
        "type_k": "f16",
        "type_v": "f16",
        "n_gpu_layers": 99,
        "n_prompt": n_prompt,
        "n_gen": n_gen,
        "n_depth": 0,
        "test_time": f"2026-11-01T10:15:00.{next(_RUNS):06}Z",
        "avg_ns": 2961481481,
        "stddev_ns": 13_000_000,
        "avg_ts": sum(samples) / len(samples),
        "stddev_ts": 0.2,
        "samples_ns": [round(128e9 / one) for one in samples],
        "samples_ts": list(samples),
    }
    return result | other


def distribution(mean: float, median: float) -> dict[str, Any]:
    """One metric of GuideLLM, of what succeeded."""
    return {"successful": {"mean": mean, "median": median, "std_dev": 1.5, "count": 60}}


def guidellm(*rates: float, **other: Any) -> dict[str, Any]:
    """As the benchmarks.json of `guidellm benchmark`: one benchmark for each number of streams."""
    benchmarks = [
        {
            "type_": "generative_benchmark",
            "config": {"strategy": {"type_": "concurrent", "streams": streams}},
            "metrics": {
                "request_totals": {"successful": 60, "errored": 2, "incomplete": 4, "total": 66},
                "output_tokens_per_second": distribution(rate, rate - 1),
                "time_to_first_token_ms": distribution(90.5, 88.0),
                "inter_token_latency_ms": distribution(0, 0),
            },
        }
        for streams, rate in enumerate(rates, start=1)
    ]
    result: dict[str, Any] = {
        "metadata": {"version": 1, "guidellm_version": "0.6.0"},
        "args": {"target": "http://localhost:8000", "model": "Qwen/Qwen3-8B"},
        "benchmarks": benchmarks,
    }
    return result | other


SAID = "what a person wrote"
"""Stands wherever a result file holds prompts, answers or errors."""

SECRET = "sk-of-the-server"  # noqa: S105 - no password, a text to look for


def vllm_detailed(output_throughput: float = 820.0, **other: Any) -> dict[str, Any]:
    """As `--save-detailed` writes it with drafts, at commit 009e6d4 of vLLM."""
    detail: dict[str, Any] = {
        "endpoint_type": "openai",
        "input_lens": [512, 512],
        "output_lens": [128, 128],
        "ttfts": [0.0095, 0.0096],
        "itls": [[0.0095] * 127] * 2,
        "latencies": [1.2, 1.3],
        "start_times": [0.0, 0.1],
        "queue_times": [0.0, 0.0],
        "generated_texts": [SAID, SAID],
        "errors": ["", SAID],
        "rtfx": 0.0,
        "spec_decode_acceptance_rate": 70.5,
        "spec_decode_acceptance_length": 2.41,
        "spec_decode_num_drafts": 100,
        "spec_decode_per_position_acceptance_rates": [0.8, 0.6],
        "system_prompt": SAID,
        "api_key": SECRET,
    }
    return vllm(output_throughput) | detail | other


def sglang_detailed(output_throughput: float = 640.0, **other: Any) -> dict[str, Any]:
    """As SGLang 0.5.23 writes it with `--output-details`, of one server for prompts and one for decoding."""
    server = {
        "model_path": "Qwen/Qwen3-8B",
        "version": "0.5.23",
        "tp_size": 2,
        "quantization": "fp8",
        "api_key": SECRET,
        "launch_command": f"--api-key {SECRET}",
        "internal_states": [{"avg_spec_accept_length": 2.8}],
    }
    detail: dict[str, Any] = {
        "server_info": {"prefill": [{"model_path": "another"}], "decode": [server]},
        "total_input_text_tokens": 25600,
        "total_throughput": output_throughput + 2560,
        "accept_length": 2.8,
        "max_output_tokens_per_s": 700.0,
        "max_concurrent_requests": 9,
        "ttfts": [0.084],
        "itls": [[0.0115]],
        "generated_texts": [SAID],
        "errors": [SAID],
    }
    return sglang(output_throughput) | detail | other


def llama_bench_now(**other: Any) -> dict[str, Any]:
    """As llama-bench writes it at commit 0104b15, and with two settings of builds with a cache of experts."""
    more = {"cpu_mask": "0x0", "poll": 50, "flash_attn": -1, "devices": "auto", "load_mode": "mmap"}
    cache = {"moe_cache": "off", "n_gen_warmup": 0}
    named = {"model_filename": "/srv/somebody/model.gguf"}
    return llama_bench(samples=(43.2, 43.1, 43.4, 43.3)) | more | cache | named | other


def guidellm_now(*rates: float) -> dict[str, Any]:
    """As GuideLLM 0.8.1 writes it, with its arguments below `config` and requests in full."""
    report = guidellm(*rates)
    del report["args"]
    for one in report["benchmarks"]:
        one["requests"] = {"successful": [{"request_args": SAID, "output": SAID}], "errored": []}
        one["metrics"]["output_tokens_per_second"]["errored"] = None
        one["config"]["backend"] = {"target": "http://localhost:8000", "api_key": SECRET}
        one["config"]["strategy"] |= {"worker_count": None, "max_concurrency": None, "rampup_duration": 0.0}
    report["config"] = {
        "metadata": {"labels": {"build": "new"}},
        "spec": {
            "backend": {"kind": "openai_http", "model": "Qwen/Qwen3-8B", "api_key": SECRET},
            "data": [{"kind": "synthetic_text", "prompt_tokens": 512, "output_tokens": 128}],
        },
    }
    return report


def as_bytes(*documents: Any, lines: bool = False) -> bytes:
    """Write documents as a tool does: one as it stands, several in an array or one a line."""
    if lines:
        return "".join(f"{json.dumps(one)}\n" for one in documents).encode()
    return json.dumps(documents[0] if len(documents) == 1 else list(documents), indent=2).encode()
