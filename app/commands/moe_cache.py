"""`inferprice moe-cache`: what a budget for llama.cpp's cache of experts buys, from a GGUF or a config."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.checking_shared import print_json, saying
from app.commands.llms import read_document, subject
from app.commands.shared import REFUSED_EXIT, text_table

if TYPE_CHECKING:
    from app.domain.serving.expert_cache import Experts, Plan
    from app.domain.serving.expert_mix import MixedExperts
    from app.settings import Settings


@click.command(name="moe-cache")
@click.argument("source", nargs=-1, metavar="[FILE...]")
@click.option("--config", metavar="CONFIG.JSON|ORG/NAME", help="Plan from a config or a known model instead.")
@click.option("--mix", metavar="MIX", help="Its types: q4_k_m, or written out as down=q6_k:24,q4_k;gate=...")
@click.option("--mib", type=int, default=None, help="--moe-cache-mib; a tenth of the experts by default.")
@click.option("--n-cpu-moe", type=int, default=None, help="Layers in host memory; all of them by default.")
@click.option("--working", is_flag=True, help="Print how each figure is worked out; the JSON always has it.")
@click.option("--format", "shape", type=click.Choice(["table", "json"]), default="table")
@click.pass_obj
@saying
def moe_cache(  # noqa: PLR0913 - one keyword for each option
    settings: Settings,
    source: tuple[str, ...],
    *,
    config: str | None,
    mix: str | None,
    mib: int | None,
    n_cpu_moe: int | None,
    working: bool,
    shape: str,
) -> None:
    """Say what --moe-cache-mib of llama.cpp buys for a GGUF: slots, share, largest batch, floor, leftover.

    FILE is one part of it, here or at an https address, or ORG/NAME on the Hugging Face Hub; no weights are
    read. With --config and --mix no GGUF is needed: the types are those that llama-quantize would write, an
    estimate. Exit code 2: an option is wrong, or a config has no such plan; 3: the file has no experts or
    cannot be read, or the server would not start with this budget.
    """
    from app.domain.serving.documents import plan_document  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.expert_cache import plan_cache  # noqa: PLC0415 - same

    _check_sources(source, config, mix=mix)
    mixed = _mixed(settings, config, mix=mix) if config is not None and mix is not None else None
    experts = mixed.experts if mixed else _read(settings, source)
    plan = plan_cache(experts, budget_mib=mib, n_cpu_moe=n_cpu_moe)
    if shape == "json":
        print_json(plan_document(plan, mixed))
    else:
        click.echo(_text(plan, mixed.notes if mixed else (), working=working))
    if not plan.starts:
        raise SystemExit(REFUSED_EXIT)


def _check_sources(source: tuple[str, ...], config: str | None, *, mix: str | None) -> None:
    """Ask for a GGUF, or for a config and a mix."""
    if source and (config is not None or mix is not None):
        raise click.UsageError("A GGUF says its own types: give FILE..., or --config with --mix, not both.")
    if not source and config is None and mix is None:
        raise click.UsageError("Missing argument 'FILE...': give a GGUF, or --config with --mix.")
    if not source and (config is None or mix is None):
        lacking, given = ("--config", "--mix") if config is None else ("--mix", "--config")
        raise click.UsageError(f"Missing option '{lacking}': {given} goes with it, as in --mix q4_k_m.")


def _read(settings: Settings, source: tuple[str, ...]) -> Experts:
    from app.domain.llms.checkpoint.header import HeaderError  # noqa: PLC0415 - keeps --help quick
    from app.ingest import checkpoints  # noqa: PLC0415 - same
    from app.ingest.fetched import FetchError  # noqa: PLC0415 - same

    try:
        with checkpoints.fetcher_for(settings) as fetcher:
            return checkpoints.read_experts(source, fetcher)
    except (HeaderError, FetchError) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(REFUSED_EXIT) from None


def _mixed(settings: Settings, config: str, *, mix: str) -> MixedExperts:
    """Return the experts of a known model, or of the one a config.json describes, in the types of a mix."""
    from app.domain.serving.expert_mix import experts_of_mix, read_mix  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.expert_shape import shape_of_config, shape_of_profile  # noqa: PLC0415 - same

    read = read_mix(mix)
    found = subject(settings, config, name="--config")
    if isinstance(found, Path):
        return experts_of_mix(shape_of_config(read_document(found)), read)
    return experts_of_mix(shape_of_profile(found.profile), read)


def _text(plan: Plan, notes: tuple[str, ...], *, working: bool) -> str:
    from app.domain.serving.expert_cache import SOURCE, VERSION  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.expert_cache_cautions import cautions  # noqa: PLC0415 - same
    from app.domain.serving.expert_cache_measured import CONDITIONS  # noqa: PLC0415 - same

    lines = [*_about(plan), *notes, _groups_table(plan)]
    lines += [*(_working(plan) if working else ()), *(each.sentence for each in cautions(plan))]
    lines += ["", f"Measured: {CONDITIONS}.", _measured_table()]
    return "\n".join([*lines, f"Rules of {VERSION} and measurements: {SOURCE}."])


def _working(plan: Plan) -> list[str]:
    """Return how the plan's figures are worked out, then those of each group below its number."""
    from app.domain.serving.expert_cache_arithmetic import (  # noqa: PLC0415 - keeps --help quick
        group_arithmetic,
        plan_arithmetic,
    )

    lines = ["", *plan_arithmetic(plan)]
    for number, group in enumerate(plan.groups, start=1):
        lines += [f"Group {number}:", *(f"  {line}" for line in group_arithmetic(plan, group))]
    return [*lines, ""]


def _about(plan: Plan) -> list[str]:
    """Return what the model has and what the budget comes to, in two lines."""
    from app.domain.serving.expert_cache_arithmetic import gib, mib  # noqa: PLC0415 - keeps --help quick

    experts = plan.experts
    model = (
        f"{experts.architecture}: {len(experts.layers)} MoE layers of {experts.per_layer} experts, of which a"
        f" token uses {experts.used}; {gib(experts.total_bytes)} GiB of experts"
    )
    if plan.n_cpu_moe is not None:
        model += f", {gib(plan.host_bytes)} GiB of them in host memory (--n-cpu-moe {plan.n_cpu_moe})"
    budget = f"--moe-cache-mib {plan.budget_mib}{' (a tenth of the experts)' if plan.is_default else ''}:"
    used, left = mib(plan.cache_bytes), mib(plan.leftover_bytes)
    floor = f"every group is cached from {plan.floor_mib:,} MiB"
    return [f"{model}.", f"{budget} {used} MiB of slots, {left} MiB left over; {floor}."]


def _groups_table(plan: Plan) -> str:
    heads = [
        *(("Group", True), ("Layers", True), ("Types", False), ("Bytes an expert", True), ("Slots", True)),
        *(("Of its experts %", True), ("Largest cached batch, tokens", True), ("Cached from MiB", True)),
    ]
    rows = [
        [
            str(number),
            str(len(group.layers)),
            group.types_told,
            f"{group.expert_bytes:,}",
            f"{group.slots:,}",
            group.slots_told,
            str(group.largest_batch_tokens),
            f"{group.floor_mib:,}",
        ]
        for number, group in enumerate(plan.groups, start=1)
    ]
    return text_table(heads, rows)


def _measured_table() -> str:
    from app.domain.serving.expert_cache_measured import MEASURED  # noqa: PLC0415 - keeps --help quick

    heads = [("Configuration", False), ("Decode tokens/s", True), ("Prompt tokens/s", True), ("Hits %", True)]
    rows = [
        [
            each.configuration,
            str(each.decode_tokens_per_s),
            "-" if each.prompt_tokens_per_s is None else str(each.prompt_tokens_per_s),
            "-" if each.hit_percent is None else str(each.hit_percent),
        ]
        for each in MEASURED
    ]
    return text_table(heads, rows)
