"""`inferprice moe-cache`: what a budget for llama.cpp's cache of experts buys, from the header of a GGUF."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import click

from app.commands.checking_shared import print_json, saying
from app.commands.shared import REFUSED_EXIT, text_table

if TYPE_CHECKING:
    from app.domain.serving.expert_cache import Plan
    from app.settings import Settings


@click.command(name="moe-cache")
@click.argument("source", nargs=-1, required=True, metavar="FILE...")
@click.option("--mib", type=int, default=None, help="--moe-cache-mib; a tenth of the experts by default.")
@click.option("--n-cpu-moe", type=int, default=None, help="Layers in host memory; all of them by default.")
@click.option("--format", "shape", type=click.Choice(["table", "json"]), default="table")
@click.pass_obj
@saying
def moe_cache(
    settings: Settings, source: tuple[str, ...], *, mib: int | None, n_cpu_moe: int | None, shape: str
) -> None:
    """Say what --moe-cache-mib of llama.cpp buys for a GGUF: slots, share, largest batch, floor, leftover.

    FILE is one part of it, here or at an https address, or ORG/NAME on the Hugging Face Hub; no weights are
    read. Exit code 2: an option is wrong; 3: the file has no experts or cannot be read, or the server would
    not start with this budget.
    """
    from app.domain.llms.checkpoint.header import HeaderError  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.documents import plan_document  # noqa: PLC0415 - same
    from app.domain.serving.expert_cache import plan_cache  # noqa: PLC0415 - same
    from app.ingest import checkpoints  # noqa: PLC0415 - same
    from app.ingest.fetched import FetchError  # noqa: PLC0415 - same

    try:
        with checkpoints.fetcher_for(settings) as fetcher:
            experts = checkpoints.read_experts(source, fetcher)
    except (HeaderError, FetchError) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(REFUSED_EXIT) from None
    plan = plan_cache(experts, budget_mib=mib, n_cpu_moe=n_cpu_moe)
    if shape == "json":
        print_json(plan_document(plan))
    else:
        click.echo(_text(plan))
    if not plan.starts:
        raise SystemExit(REFUSED_EXIT)


def _text(plan: Plan) -> str:
    from app.domain.serving.expert_cache import SOURCE, VERSION  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.expert_cache_cautions import cautions  # noqa: PLC0415 - same
    from app.domain.serving.expert_cache_measured import CONDITIONS  # noqa: PLC0415 - same

    lines = [*_about(plan), _groups_table(plan), *(each.sentence for each in cautions(plan))]
    lines += ["", f"Measured: {CONDITIONS}.", _measured_table()]
    return "\n".join([*lines, f"Rules of {VERSION} and measurements: {SOURCE}."])


def _about(plan: Plan) -> list[str]:
    """Return what the model has and what the budget comes to, in two lines."""
    from app.domain.serving.expert_cache import MIB  # noqa: PLC0415 - keeps --help quick

    experts = plan.experts
    model = (
        f"{experts.architecture}: {len(experts.layers)} MoE layers of {experts.per_layer} experts, of which a"
        f" token uses {experts.used}; {_gib(experts.total_bytes)} GiB of experts"
    )
    if plan.n_cpu_moe is not None:
        model += f", {_gib(plan.host_bytes)} GiB of them in host memory (--n-cpu-moe {plan.n_cpu_moe})"
    budget = f"--moe-cache-mib {plan.budget_mib}{' (a tenth of the experts)' if plan.is_default else ''}:"
    used, left = (Decimal(size) / MIB for size in (plan.cache_bytes, plan.leftover_bytes))
    floor = f"every group is cached from {plan.floor_mib:,} MiB"
    return [f"{model}.", f"{budget} {used:,.2f} MiB of slots, {left:,.2f} MiB left over; {floor}."]


def _gib(size_bytes: int) -> str:
    return f"{Decimal(size_bytes) / 2**30:,.2f}"


def _groups_table(plan: Plan) -> str:
    heads = [
        *(("Group", True), ("Layers", True), ("Types", False), ("Bytes an expert", True), ("Slots", True)),
        *(("Of its experts %", True), ("Largest cached batch, tokens", True), ("Cached from MiB", True)),
    ]
    rows = [
        [
            str(number),
            str(len(group.layers)),
            ", ".join(f"{bank.kind} {bank.dtype}" for bank in group.banks),
            f"{group.expert_bytes:,}",
            f"{group.slots:,}",
            f"{group.slots_percent:.1f}",
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
