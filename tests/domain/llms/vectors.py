"""Reads the test vectors of ../shared/expected and the configs that their rows name."""

import csv
import json
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from pathlib import Path

from app.domain.llms.bounds import Load, Peaks
from app.domain.llms.configs import read_config
from app.domain.llms.formats import FORMATS, Rate
from app.domain.llms.kv import KV_FORMATS, kv_cache
from app.domain.llms.parallel import Spread
from app.domain.llms.profile import LlmProfile
from app.domain.llms.weights import Weights, estimated_weights

SHARED = Path(__file__).resolve().parents[4] / "shared"
EXPECTED = SHARED / "expected"
NOT_RUN = "not run: ../shared is not here"
GIB = 2**30
LLAMA_70B = "meta-llama/Meta-Llama-3.1-70B"
HYBRID_27B = "Qwen/Qwen3.5-27B"

Line = dict[str, str]

BANDWIDTH_TB_S = {"H100 SXM": "3.35", "H200": "4.8", "B200": "8", "H100 PCIe": "2"}
DENSE_TFLOPS = {
    "bf16": {"H100 SXM": "989.5", "H200": "989.5", "B200": "2250"},
    "fp8": {"H100 SXM": "1979", "H200": "1979", "B200": "4500", "H100 PCIe": "1513"},
}
USD_PER_GPU_HOUR = {"H100 SXM": "3.99", "H200": "5.29", "B200": "7.99"}
MEMORY_GB = {"H100 SXM": 80, "H200": 141, "B200": 180}


def lines(name: str) -> list[Line]:
    with (EXPECTED / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def config_files() -> dict[str, str]:
    with (SHARED / "models" / "models.csv").open(encoding="utf-8") as file:
        return {row["model_id"]: row["config_file"] for row in csv.DictReader(file)}


@cache
def profile(model: str) -> LlmProfile:
    path = SHARED / "models" / "configs" / config_files()[model]
    return read_config(json.loads(path.read_text(encoding="utf-8")))


def load_of(model: str, *, weights: str, kv: str, gpus: int) -> Load:
    """Return a model at work; a latent stands on the GPU of its request alone, as the rows assume."""
    read = profile(model)
    latent = any(attention.kind == "mla" for attention in read.attention)
    return Load(
        profile=read,
        weights=estimated_weights(read, FORMATS[weights]),
        kv=kv_cache(read, KV_FORMATS[kv]),
        spread=Spread(gpus=gpus, attention="data" if latent else "tensor"),
    )


def peaks(tb_s: str | Decimal, tflops: str | Decimal) -> Peaks:
    return Peaks(bandwidth_tb_s=Decimal(tb_s), rate=Rate(precision="any", dense_tflops=Decimal(tflops)))


def all_read(weight_bytes: Decimal) -> Weights:
    """Return weights of this size, all of them read for every token."""
    whole = estimated_weights(replace(profile(LLAMA_70B), parts=()), FORMATS["fp8"])
    return replace(whole, always_bytes=weight_bytes)


def close(value: Decimal | int, text: str, *, places: int = 6) -> bool:
    """Tell whether a figure is the printed one: within a millionth of it, or equal at its decimal places.

    Whole numbers, bytes and operations, agree to the unit however large they are; some are cut, not rounded.
    """
    wanted, step = Decimal(text), Decimal("0.000001")
    allowed = max(abs(wanted) * step, Decimal(10) ** -places / 2)
    if "." not in text:
        allowed = min(allowed, 1 - step)
    return abs(Decimal(value) - wanted) <= allowed


def at(value: Decimal, places: int) -> str:
    """Return a figure as Python's formatting prints it."""
    return str(value.quantize(Decimal(10) ** -places, rounding=ROUND_HALF_EVEN))


def differing(pairs: dict[str, tuple[Decimal | int, str]], places: dict[str, int]) -> list[str]:
    """Return the names of the figures that are not the printed ones."""
    return [
        f"{name}: {value} is not {text}"
        for name, (value, text) in pairs.items()
        if not close(value, text, places=places.get(name, 6))
    ]


def whole(line: Line, *columns: str) -> list[int]:
    return [int(line[column]) for column in columns]
