"""`inferprice checkpoint`: what checkpoints hold, many in one table, read from their headers alone."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import click

from app.commands.shared import REFUSED_EXIT, text_table
from app.domain.query_error import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from app.domain.llms.checkpoint.facts import CheckpointFacts
    from app.domain.llms.checkpoint.identity import Identity
    from app.domain.llms.checkpoint.parts import Part
    from app.domain.llms.checkpoint.where import Value
    from app.ingest.checkpoints import Screened
    from app.settings import Settings

_GIB: Final = Decimal(2**30)
_LEAST_GIB: Final = Decimal("0.01")


@click.command()
@click.argument("source", nargs=-1, required=True, metavar="REPO|URL|FILE...")
@click.option("--where", "text", default=None, help="Only these: mtp and ple_dtype == 'F8_E4M3'.")
@click.option("--tp", "gpus", type=click.IntRange(1, 1024), default=None, help="Weights on each of N GPUs.")
@click.option("--identical", is_flag=True, help="Compare the files of the first with those of each other.")
@click.option("--format", "shape", type=click.Choice(["table", "csv", "json"]), default="table")
@click.pass_obj
def checkpoint(
    settings: Settings,
    source: tuple[str, ...],
    *,
    text: str | None,
    gpus: int | None,
    identical: bool,
    shape: str,
) -> None:
    """Say what checkpoints hold: bytes by type and part, experts, packing, MTP, context; no weights are read.

    A source is ORG/NAME on the Hugging Face Hub, the https address of a file, or a file or folder here. Exit
    code 0: every one was read; 2: a source or option is wrong; 3: one refused, broke, or has a bad header.
    """
    from app.ingest import checkpoints  # noqa: PLC0415 - keeps --help quick

    try:
        with checkpoints.fetcher_for(settings) as fetcher:
            if identical:
                _print_identities(source, checkpoints.identities(_two(source), fetcher), shape=shape)
            else:
                _print_screened(checkpoints.screen(source, fetcher), text=text, gpus=gpus, shape=shape)
    except QueryError as error:
        raise click.UsageError(str(error)) from error


def _two(source: Sequence[str]) -> Sequence[str]:
    if len(source) < 2:  # noqa: PLR2004 - it takes two to compare
        raise QueryError("SOURCE", source[0], "give two or more to compare")
    return source


def _print_screened(screened: Iterable[Screened], *, text: str | None, gpus: int | None, shape: str) -> None:
    """Print the checkpoints that a filter lets through, and on standard error what was left out and why."""
    from app.domain.llms.checkpoint import screening, where  # noqa: PLC0415 - keeps --help quick

    chosen = where.parse(text, screening.kinds(gpus=gpus)) if text is not None else None
    rows: list[tuple[Screened, Mapping[str, Value]]] = []
    read: list[Screened] = []
    for each in screened:
        read.append(each)
        if each.facts is None:
            click.echo(each.error, err=True)
            continue
        values = screening.values(each.facts, gpus=gpus)
        verdict = True if chosen is None else where.holds(chosen, values)
        if verdict is None:
            click.echo(f"{each.name}: left out, as a fact that --where needs is not known.", err=True)
        elif verdict:
            rows.append((each, values))
        for note in each.facts.notes:
            click.echo(f"{each.name}: {note}", err=True)
        if each.facts.parameters is None:
            click.echo(f"{each.name}: parameters are unknown: {each.facts.parameters_why}.", err=True)
    _print_rows(rows, gpus=gpus, shape=shape)
    click.echo(_spent(read), err=True)
    if any(each.facts is None for each in read):
        raise SystemExit(REFUSED_EXIT)


def _spent(read: Sequence[Screened]) -> str:
    """Say how little was read."""
    read_bytes = sum(each.read_bytes for each in read)
    all_bytes = sum(each.facts.file_bytes for each in read if each.facts)
    share = f" of {all_bytes:,} ({100 * read_bytes / all_bytes:.4f} %)" if all_bytes else ""
    requests = sum(each.requests for each in read)
    return f"Read {read_bytes:,} bytes{share}{f' in {requests} requests' if requests else ''}."


def _print_rows(
    rows: Sequence[tuple[Screened, Mapping[str, Value]]], *, gpus: int | None, shape: str
) -> None:
    if shape == "table":
        click.echo(_table(rows, gpus=gpus) if rows else "No checkpoint to show.", err=not rows)
        if len(rows) == 1 and rows[0][0].facts:
            click.echo(f"\n{_parts_table(rows[0][0].facts)}")
        return
    plain = [
        {"checkpoint": each.name, **_plain(values), "read_bytes": each.read_bytes} for each, values in rows
    ]
    if shape == "json":
        for row, (each, _) in zip(plain, rows, strict=True):
            row["detail"] = _detail(each.facts) if each.facts else None
        click.echo(json.dumps({"checkpoints": plain}, indent=1))
        return
    from app.domain.llms.checkpoint import screening  # noqa: PLC0415 - keeps --help quick

    click.echo(_csv(["checkpoint", *screening.kinds(gpus=gpus), "read_bytes"], plain), nl=False)


def _detail(facts: CheckpointFacts) -> dict[str, Any]:
    """Return what has no single value: by type, by part, by packing, by module."""
    return {
        "bytes_by_dtype": dict(facts.bytes_by_dtype),
        "parameters_by_part": dict(facts.parameters_by_part),
        "parameters_unknown_because": facts.parameters_why,
        "experts_per_layer": list(facts.experts_per_layer),
        "packed": [
            {
                "part": each.part,
                "dtype": each.dtype,
                "modules": each.modules,
                "size_bytes": each.size_bytes,
                "values_per_element": each.values_per_element,
            }
            for each in facts.packed
        ],
        "matrices": [
            {"part": part, "config_says": said, "stored_dtype": dtype, "count": count}
            for (part, said, dtype), count in facts.modules.items()
        ],
        "context_because": facts.context.why if facts.context else "there is no config.json",
        "notes": list(facts.notes),
    }


def _csv(names: Sequence[str], plain: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV: empty is unknown, texts have blanks between, yes and no are true and false."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in plain)
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value) if isinstance(value, list) else value


def _plain(values: Mapping[str, Value]) -> dict[str, Any]:
    """Return facts as programs hold them."""
    return {name: _held(value) for name, value in values.items()}


def _held(value: Value) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return float(value) if isinstance(value, Decimal) else value


def _table(rows: Sequence[tuple[Screened, Mapping[str, Value]]], *, gpus: int | None) -> str:
    from app.domain.llms.checkpoint.screening import PER_GPU  # noqa: PLC0415 - keeps --help quick

    heads = [
        *(("Checkpoint", False), ("Format", False), ("Files", True), ("Size", True), ("Parameters", True)),
        *(("Bits each", True), ("Types, share of bytes", False), ("Packed", False), ("Experts", True)),
        *(("MTP", False), ("Tables", False), ("Quantisation", False), ("Context", True)),
    ]
    if gpus is not None:
        heads.append((f"GiB on each of {gpus}", True))
    lines = []
    for each, values in rows:
        if each.facts is not None:
            cells = [each.name, *_cells(each.facts, values)]
            if gpus is not None:
                cells.append(_gib(values[PER_GPU]))
            lines.append(cells)
    return text_table(heads, lines)


def _gib(value: Value) -> str:
    gib = value / _GIB if isinstance(value, Decimal) else Decimal(0)
    return f"{gib:,.2f}" if gib >= _LEAST_GIB else f"{gib:.2g}"


def _cells(facts: CheckpointFacts, values: Mapping[str, Value]) -> list[str]:
    """Return one line of the table after its name; a dash is what is not known or not there."""
    bits = values["bits_per_parameter"]
    return [
        facts.format,
        str(facts.files),
        _size(facts.tensor_bytes),
        "-" if facts.parameters is None else f"{facts.parameters:,}",
        f"{bits:.2f}" if isinstance(bits, Decimal) else "-",
        ", ".join(
            f"{dtype} {100 * size / facts.tensor_bytes:.1f} %"
            for dtype, size in list(facts.bytes_by_dtype.items())[:4]
        ),
        ", ".join(
            f"{each.part}: {each.values_per_element or '?'} in each {each.dtype}" for each in facts.packed
        )
        or "-",
        f"{'/'.join(map(str, facts.experts_per_layer))} in {facts.moe_layers} layers"
        if facts.moe_layers
        else "-",
        _part(facts, "mtp"),
        _part(facts, "ple"),
        _quantised(str(values["quant_method"] or ""), str(values["quant_scheme"] or "")),
        f"{values['context_tokens']:,}" if isinstance(values["context_tokens"], int) else "-",
    ]


def _quantised(method: str, scheme: str) -> str:
    """Return method and scheme, the method once where the scheme begins with it."""
    return (scheme if scheme.startswith(method) else f"{method} {scheme}").strip() or "-"


def _part(facts: CheckpointFacts, part: Part) -> str:
    if part not in facts.bytes_by_part:
        return "-"
    return f"{facts.dtype_by_part.get(part, '?')} {_size(facts.bytes_by_part[part])}"


def _size(size_bytes: int) -> str:
    """Return bytes with a unit of a thousand in which they are at least 1."""
    for unit, of in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= of:
            return f"{Decimal(size_bytes) / of:,.2f} {unit}"
    return f"{size_bytes} B"


def _parts_table(facts: CheckpointFacts) -> str:
    """Return the parts of one checkpoint, and how many matrices of each are stored as what."""
    from app.domain.llms.checkpoint.parts import LABELS  # noqa: PLC0415 - keeps --help quick

    heads = [("Part", False), ("Size", True), ("Parameters", True), ("Most of it stored as", False)]
    lines = []
    for part, size_bytes in facts.bytes_by_part.items():
        parameters = facts.parameters_by_part[part]
        shown = "-" if parameters is None else f"{parameters:,}"
        lines.append([LABELS[part], _size(size_bytes), shown, facts.dtype_by_part.get(part, "-")])
    tables = [text_table(heads, lines)]
    if facts.modules:
        heads = [("Part", False), ("The config says", False), ("Stored as", False), ("Matrices", True)]
        lines = [
            [LABELS[part], said, dtype, f"{count:,}"] for (part, said, dtype), count in facts.modules.items()
        ]
        tables.append(text_table(heads, lines))
    return "\n\n".join(tables)


def _print_identities(
    source: Sequence[str], compared: Iterable[tuple[str, Identity | str]], *, shape: str
) -> None:
    from app.domain.llms.checkpoint.identity import Identity  # noqa: PLC0415 - keeps --help quick

    names = ("files_a", "files_b", "identical", "different", "only_in_a", "only_in_b", "not_known", "verdict")
    plain: list[dict[str, Any]] = []
    broke = False
    for other, found in compared:
        if isinstance(found, Identity):
            plain.append({"a": source[0], "b": other, **{name: getattr(found, name) for name in names}})
        else:
            broke = True
            click.echo(found, err=True)
    if shape == "json":
        click.echo(json.dumps({"identities": plain}, indent=1))
    elif shape == "csv":
        click.echo(_csv(["a", "b", *names], plain), nl=False)
    elif plain:
        heads = [(name.replace("_", " "), name not in {"a", "b", "verdict"}) for name in ("a", "b", *names)]
        click.echo(text_table(heads, [[str(value) for value in row.values()] for row in plain]))
    if broke:
        raise SystemExit(REFUSED_EXIT)
