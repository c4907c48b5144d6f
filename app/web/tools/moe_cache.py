"""The tool on llama.cpp's cache of experts: what a budget buys of a model's, group by group."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from app.domain.llms.facts import load_llms
from app.domain.serving.documents import plan_document
from app.domain.serving.expert_cache import MOST_MIB, plan_cache
from app.domain.serving.expert_curve import budget_curve
from app.domain.serving.expert_mix import MIX_NAMES, experts_of_mix, read_mix
from app.web.tools.fields import Field
from app.web.tools.moe_cache_chart import cache_figure
from app.web.tools.moe_cache_found import Found
from app.web.tools.moe_cache_shape import LEFT_OUT, figures_of, mix_for, shape_of, shape_of_pasted
from app.web.tools.tool import Example, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.llms.profile import LlmProfile
    from app.web.charts import Figure
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

_MIX: Final = "q4_k_m"

FIELDS: Final = (
    Field(
        name="llm",
        label="Model",
        about="Id of a model of this site that has routed experts, as Qwen/Qwen3-30B-A3B.",
        suggested=tuple(
            each.id
            for each in load_llms().values()
            if each.profile.experts and mix_for(each.profile) is not None
        ),
    ),
    Field(
        name="config",
        label="Or its config.json",
        about="Pasted whole. The link that it leads to holds the figures below instead.",
        rows=5,
    ),
    Field(
        name="columns",
        label="Hidden size, values",
        about="What an expert reads: hidden_size in a config.",
        is_number=True,
    ),
    Field(
        name="expert_columns",
        label="Width of an expert, values",
        about="moe_intermediate_size in a config.",
        is_number=True,
    ),
    Field(
        name="per_layer",
        label="Experts of a layer",
        about="Routed ones alone: num_experts or n_routed_experts in a config.",
        is_number=True,
    ),
    Field(
        name="used",
        label="Experts of a token",
        about="In a layer: num_experts_per_tok in a config.",
        is_number=True,
    ),
    Field(
        name="layers",
        label="Layers with experts",
        about="How many, as 48 for 0 to 47, or which, as 3-60 or 1,3,5.",
    ),
    Field(
        name="blocks",
        label="Layers of the file",
        about="All of them, which a mix goes by; up to the last with experts when left empty.",
        is_number=True,
    ),
    Field(
        name="gate",
        label="Gate of an expert",
        about="How the file holds it; fused is ffn_gate_up_exps.",
        choices=(
            ("split", "apart: gate, up and down"),
            ("fused", "in one with up: gate_up and down"),
            ("none", "none: up and down"),
        ),
    ),
    Field(
        name="mtp_layers",
        label="Layers that predict further tokens",
        about=f"How many of the last do; {LEFT_OUT}, where the converter leaves them out; empty for none.",
    ),
    Field(
        name="kept",
        label="Experts in the checkpoint",
        about="A type that the converter takes over as it is.",
        choices=(
            ("", "unpacked: the mix decides"),
            ("MXFP4", "MXFP4, taken over"),
            ("NVFP4", "NVFP4, taken over"),
            ("mixed precision", "of mixed precision, taken over"),
        ),
    ),
    Field(
        name="architecture",
        label="Architecture",
        about="Its name in a GGUF, as qwen3moe; it is only shown.",
    ),
    Field(
        name="mix",
        label="Mix of types",
        about="A file type of llama-quantize, or the types written out: down=q6_k:24,q4_k;gate=q4_k;up=q4_k.",
        default=_MIX,
        suggested=MIX_NAMES,
    ),
    Field(
        name="mib",
        label="Budget, MiB",
        about="What --moe-cache-mib is given; a tenth of all experts when left empty.",
        is_number=True,
    ),
    Field(
        name="n_cpu_moe",
        label="Layers in host memory",
        about="What --n-cpu-moe is given: the first so many; all, as with --cpu-moe, when left empty.",
        is_number=True,
    ),
)


def find(typed: Typed, llms: Llms) -> Found | None:
    """Return what the budget buys; None where no model, config or shape is typed."""
    mix = read_mix(typed.text("mix"))
    budget_mib = typed.whole("mib", low=1, high=MOST_MIB)
    n_cpu_moe = typed.whole("n_cpu_moe", low=1, high=MOST_MIB)
    shape = shape_of(typed, llms)
    if shape is None:
        return None
    mixed = experts_of_mix(shape, mix)
    return Found(plan=plan_cache(mixed.experts, budget_mib=budget_mib, n_cpu_moe=n_cpu_moe), mixed=mixed)


def kept(typed: Typed) -> Mapping[str, str]:
    """Return what was typed with the figures of its shape in place of a pasted config."""
    if not typed.text("config").strip():
        return {**typed.texts, "config": ""}
    return {**typed.texts, "config": "", **figures_of(shape_of_pasted(typed.text("config")))}


def figure(found: Found) -> Figure:
    """Return the share of each group by budget, with the marks."""
    return cache_figure(
        budget_curve(found.plan.experts, found.plan.n_cpu_moe), planned_mib=found.plan.budget_mib
    )


def document(found: Found) -> dict[str, Any]:
    """Return what was found as JSON, as the command line does."""
    return plan_document(found.plan, found.mixed)


def rows(found: Found) -> Iterator[Sequence[object]]:
    """Yield a line for each group."""
    for number, group in enumerate(found.plan.groups, start=1):
        yield (
            f"group {number}",
            len(group.layers),
            group.types_told,
            group.experts,
            group.expert_bytes,
            group.slots,
            group.slots_percent,
            group.largest_batch_tokens,
            group.cache_bytes,
            group.floor_bytes,
            group.whole_token_bytes,
        )


def command(typed: Typed) -> str:
    """Return the line that does the same in a terminal, and the one that reads a GGUF."""
    plan = [
        f"--{name.replace('_', '-')} {shlex.quote(typed.text(name).replace(',', '').strip())}"
        for name in ("mib", "n_cpu_moe")
        if typed.text(name).strip()
    ]
    llm = typed.text("llm").strip()
    mix = shlex.quote("".join(typed.text("mix").split()))
    config = shlex.quote(llm) if llm else "config.json"
    return "\n".join(
        [
            " ".join([f"inferprice moe-cache --config {config} --mix {mix}", *plan]),
            " ".join(["inferprice moe-cache model.gguf", *plan]),
        ]
    )


def link_to(llm_id: str, profile: LlmProfile) -> str:
    """Return the address of the plan of a known model, empty where there is none."""
    mix = mix_for(profile) if profile.experts else None
    if mix is None:
        return ""
    return f"{TOOL.path}?{urlencode([('llm', llm_id), *([('mix', mix)] if mix else [])])}"


_QWEN: Final = "Qwen/Qwen3-30B-A3B"

TOOL: Final = Tool(
    name="moe-cache",
    title="Cache of experts",
    about="What a budget for llama.cpp's cache of experts buys: slots, share, largest batch, and the floor.",
    fields=FIELDS,
    find=find,
    document=document,
    columns=(
        "group",
        "layers",
        "types",
        "experts",
        "expert_bytes",
        "slots",
        "slots_percent",
        "largest_batch_tokens",
        "cache_bytes",
        "floor_bytes",
        "whole_token_bytes",
    ),
    rows=rows,
    command=command,
    kept=kept,
    is_pasted=True,
    figure=figure,
    examples=(
        Example(label="Qwen3-30B-A3B with 10,000 MiB", texts={"llm": _QWEN, "mib": "10000"}),
        Example(label="the same at its floor", texts={"llm": _QWEN, "mib": "50"}),
        Example(
            label="32 of its layers in host memory", texts={"llm": _QWEN, "mib": "10000", "n_cpu_moe": "32"}
        ),
        Example(
            label="figures of a shape",
            texts={
                "columns": "2048",
                "expert_columns": "768",
                "per_layer": "128",
                "used": "8",
                "layers": "48",
                "mib": "1674",
            },
        ),
    ),
)
