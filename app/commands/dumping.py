"""`inferprice dump`: the board of each past day and every price ever stored, as Parquet with a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.shared import Refusal, now, prepared, text_table

if TYPE_CHECKING:
    from datetime import datetime

    from app.settings import Settings

DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Folder to write into; the one that `serve` offers by default.",
)
@click.option("--from", "first", type=DAY, default=None, help="First day in UTC; the first one by default.")
@click.option("--to", "last", type=DAY, default=None, help="Last day in UTC; yesterday by default.")
@click.pass_obj
def dump(settings: Settings, *, out: Path | None, first: datetime | None, last: datetime | None) -> None:
    """Write each past day's board and all prices as Parquet. Days not asked for stay as they are.

    A file that would be the same is left alone. A scheduler adds each day once it is past.
    """
    from app.ingest.dumps import write_dumps  # noqa: PLC0415 - keeps --help quick

    today = now().date()
    if last is not None and last.date() >= today:
        raise click.UsageError(f"--to: '{last.date()}' is not over: use a day before {today}")
    if first is not None and first.date() > (last.date() if last else today):
        raise click.UsageError(f"--from: '{first.date()}' is after the last day")
    folder = out or settings.dumps_folder
    try:
        with prepared(settings) as engine:
            written = write_dumps(
                engine,
                folder,
                now=now(),
                first=first.date() if first else None,
                last=last.date() if last else None,
            )
    except OSError as error:
        raise Refusal(f"The folder {folder} cannot be written into: {error.strerror or error}.") from error
    heads = [("File", False), ("Rows", True), ("Bytes", True), ("SHA-256", False), ("", False)]
    rows = [
        [
            each.name,
            str(each.rows),
            str(each.bytes),
            each.sha256,
            "written" if each.name in written.made else "",
        ]
        for each in written.dumps
    ]
    click.echo(text_table(heads, rows))
