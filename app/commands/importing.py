"""`inferprice import`: the bundled table, or the days of an aggregator from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.shared import REFUSED_EXIT, Refusal, now, prepared, print_outcomes, text_table

if TYPE_CHECKING:
    from app.ingest.gpurentalprices import Imported
    from app.settings import Settings


@click.command(name="import")
@click.option(
    "--from", "source", type=click.Choice(["gpurentalprices"]), help="The aggregator FOLDER is from."
)
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.pass_obj
def import_command(settings: Settings, source: str | None, folder: Path | None) -> None:
    """Import the bundled table of 2026-10-30; providers that were read since keep what they have.

    With --from, import the days of an aggregator in FOLDER (2026-07-05.json and so on), oldest first. Their
    rows stand under providers of their own, name the aggregator and its licence, and close none of ours.
    """
    if (source is None) != (folder is None):
        raise click.UsageError("--from and FOLDER go together: import --from gpurentalprices FOLDER")
    with prepared(settings) as engine:
        if folder is None:
            from app.ingest.imports import import_table  # noqa: PLC0415 - keeps --help quick

            print_outcomes(import_table(engine, settings.home, now=now()))
            return
        from app.ingest import gpurentalprices  # noqa: PLC0415 - same

        try:
            done = gpurentalprices.import_folder(engine, settings.archive, folder=folder, now=now())
        except gpurentalprices.ImportRefusedError as error:
            raise Refusal(str(error)) from error
    _print_imported(done)


def _print_imported(done: Imported) -> None:
    """Print what moved, provider by provider, and the totals; exit code 3 when something was left out."""
    counts = (done.offers, done.moves, done.rate_moves, done.unclear)
    heads = ["Provider", "Offers", "Price moves", "Moves of the rate only", "Price or rate unclear"]
    rows = [[name, *(str(count[name]) for count in counts)] for name in sorted(done.offers)]
    rows.append(["all", *(str(count.total()) for count in counts)])
    click.echo(text_table([(head, number > 0) for number, head in enumerate(heads)], rows))
    click.echo(f"{done.days} days read, {done.price_rows} prices stored, {done.moves.total()} price moves.")
    for each in done.left_out:
        click.echo(f"Left out: {each}", err=True)
    if done.left_out:
        raise SystemExit(REFUSED_EXIT)
