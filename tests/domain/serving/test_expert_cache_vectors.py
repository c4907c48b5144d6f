"""Every row of the test vectors for the expert cache, which another program worked out or a server logged."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.domain.llms.checkpoint.gguf import read_gguf
from app.domain.serving.expert_cache import MIB, Experts, experts_of, plan_cache
from app.domain.serving.expert_cache_measured import LOOKUPS, MEASURED
from tests.conftest import Tell
from tests.domain.llms.headers import hollow

SHARED = Path(__file__).resolve().parents[4] / "shared"
EXPECTED = SHARED / "expected"
HEADER = SHARED / "models" / "headers" / "synthetic-qwen3-30b-a3b-q4_k_m.header"
pytestmark = pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")

Line = dict[str, str]


def lines(name: str) -> list[Line]:
    with (EXPECTED / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def qwen() -> Experts:
    about = json.loads(HEADER.with_suffix(".header.json").read_text(encoding="utf-8"))
    body = HEADER.with_suffix(".header.gguf").read_bytes()
    return experts_of([read_gguf(hollow(body, about["file_bytes"], name="qwen.gguf"))])


def plans() -> list[bool]:
    experts = qwen()
    return [agrees(line, experts) for line in lines("moe_cache_plan.csv")]


def agrees(line: Line, experts: Experts) -> bool:
    layers = int(line["n_cpu_moe"]) if line["n_cpu_moe"] else None
    plan = plan_cache(experts, budget_mib=int(line["budget_mib"]), n_cpu_moe=layers)
    group = plan.groups[int(line["group"]) - 1]
    told = {
        "host_expert_bytes": str(plan.host_bytes),
        "host_expert_mib": f"{plan.host_bytes / MIB:.1f}",
        "total_expert_gib": f"{experts.total_bytes / 2**30:.4f}",
        "layers": str(len(group.layers)),
        "bytes_per_expert": str(group.expert_bytes),
        "slots": str(group.slots),
        "slots_pct_1dp": f"{group.slots_percent:.1f}",
        "max_cached_batch": str(group.largest_batch_tokens),
        "min_budget_bytes": str(group.floor_bytes),
        "min_budget_mib_ceil": str(group.floor_mib),
        "cache_bytes_all_groups": str(plan.cache_bytes),
        "cache_mib_2dp": f"{plan.cache_bytes / MIB:.2f}",
    }
    return told == {name: line[name] for name in told}


def measured() -> list[bool]:
    return [
        (
            str(each.decode_tokens_per_s),
            str(each.prompt_tokens_per_s or ""),
            "" if each.hit_percent is None else str(each.hit_percent),
        )
        == (line["decode_tok_s"], line["prompt_tok_s"], line["hit_rate_pct"])
        for each, line in zip(MEASURED, lines("moe_cache_measured.csv"), strict=True)
    ]


def lookups() -> list[bool]:
    return [
        (f"{each.hit_percent:.2f}", f"{each.mib_per_miss:.4f}", str(each.hits), str(each.misses))
        == (line["hit_rate_pct_2dp"], line["mib_per_miss"], line["hits"], line["misses"])
        for each, line in zip(LOOKUPS, lines("moe_cache_hit_rates.csv"), strict=True)
    ]


@pytest.mark.parametrize(
    ("name", "check", "rows"),
    [
        ("moe_cache_plan.csv", plans, 9),
        ("moe_cache_measured.csv", measured, 6),
        ("moe_cache_hit_rates.csv", lookups, 2),
    ],
)
def test_the_rows_of_the_file(name: str, check: Callable[[], list[bool]], rows: int, tell: Tell) -> None:
    passed = check()
    tell(f"vectors {name}: {sum(passed)} of {len(passed)} rows")
    assert passed == [True] * rows


def test_the_second_group_which_the_file_leaves_out() -> None:
    """Figures of design/models.md, 2.12, for layers at 2,654,208 bytes an expert."""
    experts = qwen()
    first, second = plan_cache(experts, budget_mib=10_000, n_cpu_moe=32).groups
    assert [(len(each.layers), each.slots, each.floor_mib) for each in (first, second)] == [
        (14, 1_619, 56),
        (18, 2_081, 44),
    ]
    both = plan_cache(experts, budget_mib=10_000).groups
    assert [(len(each.layers), each.expert_bytes, each.slots) for each in both] == [
        (24, 3_059_712, 1_834),
        (24, 2_654_208, 1_834),
    ]
    assert plan_cache(experts).budget_mib == 1_674


def test_what_a_miss_uploaded_is_one_expert() -> None:
    """The server's own log: between the smaller and the larger expert of the model."""
    sizes = [group.expert_bytes / MIB for group in plan_cache(qwen()).groups]
    assert all(min(sizes) < each.mib_per_miss < max(sizes) for each in LOOKUPS)
