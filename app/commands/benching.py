"""`inferprice bench`: what the result files of serving benchmarks hold, and which traps they spring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from app.commands.checking_shared import (
    FILE,
    SHAPE,
    print_json,
    read_file,
    saying,
    summary_cells,
    summary_fields,
    summary_heads,
    trap_fields,
    trap_lines,
)
from app.commands.shared import REFUSED_EXIT, text_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from app.domain.serving.benchmarked import Configuration
    from app.domain.serving.traps import Trap


@click.group()
def bench() -> None:
    """Results of serving benchmarks."""


@bench.command()
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--log", type=FILE, default=None, help="The server's log of that time.")
@click.option("--sent", type=click.IntRange(1), default=None, help="Requests that were kept in flight.")
@click.option("--flag", "flags", multiple=True, help="A flag that was on; the log may say otherwise.")
@SHAPE
@saying
def read(
    files: tuple[Path, ...], *, log: Path | None, sent: int | None, flags: tuple[str, ...], shape: str
) -> None:
    """Read results of vLLM's and SGLang's serving benchmarks, llama-bench and GuideLLM, and check them.

    Files with the same settings repeat one configuration. Exit code 3: a trap forbids a finding.
    """
    from app.domain.serving.benches import READERS, read_runs  # noqa: PLC0415 - keeps --help quick
    from app.domain.serving.benchmarked import configurations, traps_of_all  # noqa: PLC0415 - same
    from app.domain.serving.reading import read_text  # noqa: PLC0415 - same
    from app.domain.serving.traps import Evidence  # noqa: PLC0415 - same

    found = configurations([run for path in files for run in read_runs(read_file(path), path.name)])
    evidence = Evidence(sent=sent, log=read_text(read_file(log), log.name) if log else "", flags=flags)
    beside = traps_of_all(found, evidence)
    understood = {one.tool: one.understands for one in READERS}
    if shape == "json":
        print_json(
            {
                "configurations": [
                    {**_configuration_fields(one), "understands": understood[one.runs[0].tool]}
                    for one in found
                ],
                "refusals": trap_fields(beside),
            }
        )
    else:
        click.echo(_configurations_text(found, beside=beside, understood=understood))
    if beside or any(one.traps for one in found):
        raise SystemExit(REFUSED_EXIT)


def _configuration_fields(one: Configuration) -> dict[str, Any]:
    run = one.runs[0]
    return {
        "tool": run.tool,
        "model": run.model,
        "phase": run.phase,
        "settings": dict(run.settings),
        "files": [each.place for each in one.runs],
        "tokens_per_s": summary_fields(one.summary),
        "requests_in_flight": run.sent,
        "ttft_ms": [each.ttft_ms for each in one.runs],
        "itl_ms": [each.itl_ms for each in one.runs],
        "completed": [each.completed for each in one.runs],
        "failed": [each.failed for each in one.runs],
        "refusals": trap_fields(one.traps),
        "remarks": list(one.remarks),
    }


def _configurations_text(
    found: Sequence[Configuration], *, beside: Sequence[Trap], understood: Mapping[str, str]
) -> str:
    rows = [[str(at), one.title, *summary_cells(one.summary)] for at, one in enumerate(found, start=1)]
    lines = [text_table([("", True), ("What", False), *summary_heads("tokens/s")], rows)]
    for at, one in enumerate(found, start=1):
        settings = ", ".join(f"{name} {value}" for name, value in one.runs[0].settings)
        lines.append(f"{at}: {settings or 'no settings stated'}")
        lines += [*trap_lines(one.traps), *one.remarks]
    lines += trap_lines(beside)
    lines += [
        f"{tool} is read as: {understood[tool]}." for tool in dict.fromkeys(one.runs[0].tool for one in found)
    ]
    return "\n".join(lines)
