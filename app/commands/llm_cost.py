"""`inferprice llm cost`: what a model comes to at each offer, with the numbers of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from app.commands.llms import BESIDE, subject_profile
from app.commands.shared import Refusal, database, now, prepare, text_table
from app.domain.query_error import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from app.domain.llms.profile import LlmProfile
    from app.settings import Settings
    from app.web.llm_found import Found
    from app.web.llm_view import OfferLine

_LISTS: Final = ("gpu", "provider", "pricing", "service", "quote", "own")
_ONCE: Final = (
    *("format", "kv", "context", "batch", "cards", "utilisation", "engine", "memory_share", "overhead_gb"),
    *("attention", "weights_gb", "api", "ratio", "as_of", "spec", "sort"),
    *("draft_depth", "draft_tokens", "draft_counts", "draft_share"),
    *("host_experts_share", "host_gb_s"),
)
"""The parameters of a link to a model's page that are options here, but for its pages."""


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for name in reversed((*_ONCE, *_LISTS)):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, multiple=name in _LISTS, help=f"As in a link: {name}.")(command)
    return command


@click.command()
@click.argument("what", metavar="ID|CONFIG.JSON")
@BESIDE
@_options
@click.option("--as", "shape", type=click.Choice(["table", "csv", "json"]), default="table")
@click.pass_obj
def cost(settings: Settings, /, what: str, beside: Path | None, shape: str, **asked: Any) -> None:
    """Print what a million tokens of a model cost at least at each offer, and what does not fit."""
    from app.web import llm_exports  # noqa: PLC0415 - keeps --help quick
    from app.web.exports import json_bytes  # noqa: PLC0415 - same
    from app.web.kept import csv_of_objects  # noqa: PLC0415 - same

    llm_id, profile = subject_profile(settings, what, beside=beside)
    found = _found(settings, llm_id, profile=profile, asked=asked)
    if shape == "json":
        click.echo(json_bytes(llm_exports.document(found)).decode())
    elif shape == "csv":
        answer = csv_of_objects("llm", llm_exports.csv_lines(found), columns=llm_exports.COLUMNS)
        click.echo(answer.body.decode(), nl=False)
    else:
        click.echo(_table(found))


def _found(settings: Settings, llm_id: str, *, profile: LlmProfile, asked: dict[str, Any]) -> Found:
    from app.domain.accelerators import load_catalogue  # noqa: PLC0415 - keeps --help quick
    from app.domain.llms.cost_query import parse_cost  # noqa: PLC0415 - same
    from app.web.boards import BoardKeeper, NoBoardError, board_for  # noqa: PLC0415 - same
    from app.web.llm_found import find  # noqa: PLC0415 - same
    from app.web.llm_view import Subject  # noqa: PLC0415 - same

    pairs = list(_pairs(asked))
    with database(settings) as engine:
        prepare(engine, settings)
        try:
            served = board_for(BoardKeeper(engine, load_catalogue(), now), pairs, today=now().date())
            query = parse_cost(pairs, served.words)
        except QueryError as error:
            raise click.UsageError(str(error)) from error
        except NoBoardError as error:
            raise (error.__cause__ or Refusal(str(error))) from error
    subject = Subject(id=llm_id, name=llm_id or profile.family, profile=profile, facts=())
    return find(served, subject, query=query)


def _pairs(asked: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in asked.items():
        if isinstance(value, tuple):
            yield from ((name, item) for item in value)
        elif value is not None:
            yield name, value


def _table(found: Found) -> str:
    """Return what holds for all figures, then a line for each offer with a column for each batch."""
    from app.web import llm_words  # noqa: PLC0415 - keeps --help quick
    from app.web.llm_view import offer_line  # noqa: PLC0415 - same

    stated = "\n".join(f"{name}: {text}" for name, text in llm_words.stated(found.serving, found.query))
    lines = [offer_line(cost, found.subject, query=found.query) for cost in found.costs]
    heads = [("GPU", False), ("Provider", False), ("Terms", False), ("$/GPU-h", True)]
    for batch in found.query.batch:
        heads += [(f"$/M output at {batch}", True), ("tok/s", True), ("On", False)]
    return f"{stated}\n\n{text_table(heads, [list(_cells(line)) for line in lines])}"


def _cells(line: OfferLine) -> Iterator[str]:
    yield from (line.gpu, line.provider, line.terms, line.usd or "-")
    for cell in line.cells:
        yield from (cell.usd or "-", cell.rate or "-", cell.lacks or cell.gpus or cell.why)
