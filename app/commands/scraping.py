"""`inferprice scrape` and its kin: which sources are read, and what reading them again would say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.shared import now, prepared, print_outcomes

if TYPE_CHECKING:
    from app.settings import Settings


@click.command()
@click.argument("provider", nargs=-1)
@click.pass_obj
def scrape(settings: Settings, provider: tuple[str, ...]) -> None:
    """Fetch and read the sources that are on, or those named, and publish what passes the checks."""
    from app.ingest import sources as source_list  # noqa: PLC0415 - keeps --help quick

    with prepared(settings) as engine:
        try:
            print_outcomes(source_list.scrape(engine, settings, providers=provider, clock=now))
        except source_list.SourceError as error:
            raise click.UsageError(str(error)) from error
