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
from app.commands.shared import REFUSED_EXIT, now, text_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from app.domain.serving.benchmarked import Configuration
    from app.domain.serving.traps import Trap
    from app.settings import Settings

_NEEDED: Final = ("--llm", "--card", "--weights")


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
@click.option("--weights", default=None, help="The format of its weights: fp8.")
@click.option("--gpus", type=click.IntRange(1), default=1, show_default=True)
@click.option("--context", type=click.IntRange(0), default=None, help="Tokens of each request's context.")
@click.option("--kv", default="", help="The format of the cache: bf16, fp8.")
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

    Files with the same settings repeat one configuration. With --llm, --card and --weights each stands beside
    the bounds of its model. Exit code 3: a trap forbids a finding.
    """
    from app.domain.serving.benches import read_runs  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.benchmarked import configurations, traps_of_all  # noqa: PLC0415 - same
    from app.domain.serving.documents import configuration_document, traps_document  # noqa: PLC0415 - same
    from app.domain.serving.reading import read_text  # noqa: PLC0415 - same
    from app.domain.serving.traps import Evidence  # noqa: PLC0415 - same

    found = configurations([run for path in files for run in read_runs(read_file(path), path.name)])
    evidence = Evidence(sent=sent, log=read_text(read_file(log), log.name) if log else "", flags=flags)
    traps, bounds = traps_of_all(found, evidence), _bounds(settings, found, ran=ran)
    if shape == "json":
        each = [
            {**configuration_document(one), "bound": bound} for one, bound in zip(found, bounds, strict=True)
        ]
        print_json({"configurations": each, "refusals": traps_document(traps)})
    else:
        click.echo(_configurations_text(found, traps=traps, bounds=bounds))
    if traps or any(one.traps for one in found):
        raise SystemExit(REFUSED_EXIT)


def _bounds(
    settings: Settings, found: Sequence[Configuration], *, ran: Mapping[str, Any]
) -> list[str | None]:
    """Return for each configuration how near to its bounds it lies, None when the model is not named."""
    from app.commands.llms import subject_profile  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.beside import On, beside, sentence  # noqa: PLC0415 - same

    named = [name for name in ("llm", "card", "weights") if ran[name] is not None]
    if not named:
        return [None] * len(found)
    if len(named) < len(_NEEDED):
        raise click.UsageError(
            f"A bound needs {', '.join(_NEEDED)}; only {', '.join(f'--{name}' for name in named)} is there."
        )
    llm, profile = subject_profile(settings, ran["llm"], beside=None)
    on = On(**{name: ran[name] for name in ("card", "weights", "gpus", "context", "kv")})
    day = now().date()
    return [sentence(beside(one, on, profile=profile, llm=llm, day=day)) for one in found]


def _configurations_text(
    found: Sequence[Configuration], *, traps: Sequence[Trap], bounds: Sequence[str | None]
) -> str:
    from app.domain.serving.documents import understood  # noqa: PLC0415 - keeps --help quick

    rows = [[str(at), one.title, *summary_cells(one.summary)] for at, one in enumerate(found, start=1)]
    lines = [text_table([("", True), ("What", False), *summary_heads("tokens/s")], rows)]
    for at, (one, bound) in enumerate(zip(found, bounds, strict=True), start=1):
        settings = ", ".join(f"{name} {value}" for name, value in one.runs[0].settings)
        lines.append(f"{at}: {settings or 'no settings stated'}")
        lines += [*([bound] if bound else []), *trap_lines(one.traps), *one.remarks]
    lines += trap_lines(traps)
    tools = dict.fromkeys(one.runs[0].tool for one in found)
    lines += [f"{tool} is read as: {understood(tool)}." for tool in tools]
    return "\n".join(lines)
