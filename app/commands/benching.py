"""`inferprice bench`: what the result files of serving benchmarks hold, and which traps they spring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from app.commands.checking_shared import (
    FILE,
    SHAPE,
    print_json,
    read_file,
    saying,
    summary_cells,
    summary_heads,
    trap_lines,
)
from app.commands.shared import REFUSED_EXIT, text_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from app.domain.serving.benchmarked import Configuration
    from app.domain.serving.beside import Bench, Placed
    from app.domain.serving.ran_on import On
    from app.settings import Settings

_NEEDED: Final = ("card", "weights")


@click.group()
def bench() -> None:
    """Results of serving benchmarks."""


@bench.command()
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--log", type=FILE, default=None, help="The server's log of that time.")
@click.option("--sent", type=click.IntRange(1), default=None, help="Requests that were kept in flight.")
@click.option("--flag", "flags", multiple=True, help="A flag that was on; the log may say otherwise.")
@click.option("--llm", default=None, metavar="ID|CONFIG.JSON", help="The model, to set speeds beside bounds.")
@click.option("--card", default=None, help="The card it ran on: h100-sxm.")
@click.option(
    "--weights",
    default=None,
    help="The format of its weights: bf16, fp8, int4-g128, nvfp4, mxfp4, gguf-q4-k, gguf-q8-0 and others.",
)
@click.option(
    "--gpus",
    type=click.IntRange(1, 100_000),
    default=None,
    help="How many hold the model together; what the files say by default, else 1.",
)
@click.option(
    "--context",
    type=click.IntRange(0, 100_000_000),
    default=None,
    help="Tokens of each request's context; the mean prompt of the files by default.",
)
@click.option("--kv", default="", help="The format of the cache: bf16, fp8, q8-0, q4-0.")
@SHAPE
@click.pass_obj
@saying
def read(
    settings: Settings,
    /,
    files: tuple[Path, ...],
    *,
    log: Path | None,
    sent: int | None,
    flags: tuple[str, ...],
    shape: str,
    **ran: Any,
) -> None:
    """Read results of vLLM's and SGLang's serving benchmarks, llama-bench and GuideLLM, and check them.

    Files with the same settings, and lengths as a seed draws them, repeat one configuration. With --card and
    --weights each stands beside the bounds of the model that its file names, or of --llm: those of decoding,
    or that of prefill where only prompts were read. Exit code 3: a trap forbids a finding.
    """
    from app.domain.serving.benches import read_runs  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.benchmarked import configurations  # noqa: PLC0415 - same
    from app.domain.serving.beside import bench_of  # noqa: PLC0415 - same
    from app.domain.serving.documents import bench_document  # noqa: PLC0415 - same
    from app.domain.serving.reading import read_text  # noqa: PLC0415 - same

    each = configurations([run for path in files for run in read_runs(read_file(path), path.name)])
    logged = read_text(read_file(log), log.name) if log else ""
    found = bench_of(each, _places(settings, each, ran=ran), sent=sent, log=logged, flags=flags)
    if shape == "json":
        print_json(bench_document(found))
    else:
        click.echo(_text(found, is_placed=bool(_named(ran))))
    if found.trap_count:
        raise SystemExit(REFUSED_EXIT)


def _places(settings: Settings, found: Sequence[Configuration], *, ran: Mapping[str, Any]) -> list[Placed]:
    """Return for each configuration where it lies beside its bounds, or what lacks for one."""
    from app.commands.llms import known_llms, subject, subject_profile  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.beside import placed, placed_by_name  # noqa: PLC0415 - same

    named = _named(ran)
    if named and not {*_NEEDED} <= {*named}:
        raise click.UsageError(
            f"A bound needs {', '.join(f'--{name}' for name in ('llm', *_NEEDED))}, the first only where the "
            f"file names no model; only {', '.join(f'--{name}' for name in named)} is there."
        )
    on = _on(ran)
    if ran["llm"]:
        subject(settings, ran["llm"], name="--llm")
    llm, profile = subject_profile(settings, ran["llm"], beside=None) if ran["llm"] else ("", None)
    if profile is not None and not llm:
        return [placed(one, on, profile=profile, llm=llm) for one in found]
    llms = known_llms(settings)
    return [placed_by_name(one, on, llm=llm, llms=llms) for one in found]


def _named(ran: Mapping[str, Any]) -> list[str]:
    """Return which options are there that a bound is asked for by."""
    return [name for name in ("llm", *_NEEDED) if ran[name] is not None]


def _on(ran: Mapping[str, Any]) -> On:
    """Return what it ran on; raises QueryError by the name of the option that is wrong."""
    from app.domain.query_error import QueryError  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.ran_on import On, checked  # noqa: PLC0415 - same

    try:
        typed = {name: ran[name] for name in ("gpus", "context", "kv")}
        return checked(On(card=ran["card"] or "", weights=ran["weights"] or "", **typed))
    except QueryError as error:
        raise QueryError(f"--{error.field}", error.value, error.expected) from None


def _text(found: Bench, *, is_placed: bool) -> str:
    from app.domain.serving.documents import understood  # noqa: PLC0415 - keeps --help quick

    each = found.configurations
    rows = [[str(at), one.title, *summary_cells(one.summary)] for at, one in enumerate(each, start=1)]
    lines = [text_table([("", True), ("What", False), *summary_heads("tokens/s")], rows)]
    for at, (one, place) in enumerate(found.pairs, start=1):
        lines.append(f"{at}: {one.told or 'no settings stated'}")
        lines += (
            []
            if place is None or not is_placed
            else [place.said, *(f"{what}: {sum_}." for what, sum_ in place.sums)]
        )
        lines += [*trap_lines(one.traps), *one.remarks]
    lines += [*trap_lines(found.traps), *found.unchecked]
    tools = dict.fromkeys(one.runs[0].tool for one in each)
    lines += [f"{tool} is read as: {understood(tool)}." for tool in tools]
    return "\n".join(lines)
