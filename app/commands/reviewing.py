"""`inferprice quarantine`: look at runs that were held for review, and decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.shared import Refusal, minute, now, prepared, print_findings, print_outcomes, text_table

if TYPE_CHECKING:
    from app.settings import Settings


@click.group()
def quarantine() -> None:
    """Look at runs that were held for review, and decide."""


@quarantine.command(name="list")
@click.pass_obj
def list_held(settings: Settings) -> None:
    """Print the runs that wait for a decision."""
    from app.store import held as held_store  # noqa: PLC0415 - keeps --help quick
    from app.store.session import reading  # noqa: PLC0415 - same

    with prepared(settings) as engine, reading(engine) as connection:
        held = held_store.quarantined(connection)
    heads = [("Number", True), ("Provider", False), ("Offers", True), ("Held", False), ("Why", False)]
    rows = [
        [str(h.quarantine_id), h.provider, str(len(h.offers)), minute(h.run.started_at), h.run.sentence]
        for h in held
    ]
    click.echo(text_table(heads, rows) if rows else "No run waits for a decision.")


@quarantine.command()
@click.argument("number", type=int)
@click.pass_obj
def show(settings: Settings, number: int) -> None:
    """Print a held run: its findings, then its offers as CSV."""
    from app.store import held as held_store  # noqa: PLC0415 - keeps --help quick
    from app.store import runs  # noqa: PLC0415 - same
    from app.store.session import reading  # noqa: PLC0415 - same
    from app.web.exports import parsed_text  # noqa: PLC0415 - same

    with prepared(settings) as engine, reading(engine) as connection:
        held = held_store.quarantine_by_id(connection, number)
        findings = runs.findings_of(connection, held.run.run_id) if held else []
    if held is None:
        raise Refusal(f"There is no held run {number}; `inferprice quarantine list` names them.")
    print_findings(findings)
    read_at = held.run.observed_at or held.run.started_at
    click.echo(parsed_text(held.offers, fetched_at=read_at, shape="csv"), nl=False)


def _decide(settings: Settings, number: int, *, because: str, approve: bool) -> None:
    from app.ingest import quarantine as held  # noqa: PLC0415 - keeps --help quick

    with prepared(settings) as engine:
        try:
            decide = held.approve if approve else held.reject
            print_outcomes([decide(engine, number, because=because, now=now())])
        except held.QuarantineError as error:
            raise Refusal(str(error)) from error


_BECAUSE = click.option("--because", required=True, help="Why, in a sentence; it is kept.")


@quarantine.command(name="approve")
@click.argument("number", type=int)
@_BECAUSE
@click.pass_obj
def approve_held(settings: Settings, number: int, because: str) -> None:
    """Publish a held run."""
    _decide(settings, number, because=because, approve=True)


@quarantine.command(name="reject")
@click.argument("number", type=int)
@_BECAUSE
@click.pass_obj
def reject_held(settings: Settings, number: int, because: str) -> None:
    """Put a held run aside; the last good offers stay."""
    _decide(settings, number, because=because, approve=False)
