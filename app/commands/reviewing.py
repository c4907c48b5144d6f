"""`inferprice quarantine`: look at runs that were held for review, and decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.scraping import print_changes
from app.commands.shared import Refusal, minute, now, prepared, print_findings, print_outcomes, text_table

if TYPE_CHECKING:
    from app.domain.findings import Finding
    from app.settings import Settings
    from app.store.records import HeldOffers


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
    heads = [
        ("Number", True),
        ("Provider", False),
        ("Offers", True),
        ("Held", False),
        ("Read again", True),
        ("Why", False),
    ]
    rows = [
        [
            str(each.quarantine_id),
            each.provider,
            str(len(each.offers)),
            minute(each.run.started_at),
            str(each.agreeing_runs),
            each.run.sentence,
        ]
        for each in held
    ]
    click.echo(text_table(heads, rows) if rows else "No run waits for a decision.")


@quarantine.command()
@click.argument("number", type=int)
@click.option("--format", "shape", type=click.Choice(["table", "csv"]), default="table")
@click.pass_obj
def show(settings: Settings, number: int, shape: str) -> None:
    """Print a held run: its findings, then every offer that differs from the last good ones, side by side.

    As CSV it prints all offers of the run.
    """
    from app.ingest.reparse import changes_between  # noqa: PLC0415 - keeps --help quick
    from app.store import held as held_store  # noqa: PLC0415 - same
    from app.store import queries, runs  # noqa: PLC0415 - same
    from app.store.session import reading  # noqa: PLC0415 - same
    from app.web.exports import parsed_text  # noqa: PLC0415 - same

    with prepared(settings) as engine, reading(engine) as connection:
        held = held_store.quarantine_by_id(connection, number)
        if held is None:
            raise Refusal(f"There is no held run {number}; `inferprice quarantine list` names them.")
        findings = runs.findings_of(connection, held.run.run_id)
        good = [each.offer for each in queries.offers_as_of(connection, now(), provider=held.provider)]
    print_findings(sorted(findings, key=_holding_first), to_stderr=shape == "csv")
    if shape == "csv":
        read_at = held.run.observed_at or held.run.started_at
        click.echo(parsed_text(held.offers, fetched_at=read_at, shape="csv"), nl=False)
        return
    click.echo(f"\n{_state(held)}\n")
    changes = changes_between(good, held.offers)
    if changes:
        print_changes(changes)
    click.echo(f"{len(held.offers)} offers were read, {len(good)} are on the board, {len(changes)} differ.")


def _holding_first(finding: Finding) -> bool:
    return finding.level != "hold"


def _state(held: HeldOffers) -> str:
    """Return what is known of a held run beside its offers: when, whether it came again, and the decision."""
    said = f"{held.provider}, read at {minute(held.run.observed_at)} UTC: {held.state.value}"
    if held.decided_at is not None:
        said += f" at {minute(held.decided_at)} UTC: {held.because}"
    if held.agreeing_runs:
        runs = "run" if held.agreeing_runs == 1 else "runs"
        said += (
            f"\n{held.agreeing_runs} later {runs} read the same, the last at {minute(held.agreed_at)} UTC."
        )
    return said


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
