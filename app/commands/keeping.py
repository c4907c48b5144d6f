"""`inferprice snapshot` and `verify`: seal the days that are past, and hold them against their hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.shared import REFUSED_EXIT, now, prepared, text_table

if TYPE_CHECKING:
    from app.settings import Settings


@click.command()
@click.pass_obj
def snapshot(settings: Settings) -> None:
    """Hash the board of every past day that has no hash yet, and keep it; a scheduler does this by itself."""
    from app.ingest.snapshots import seal_past_days  # noqa: PLC0415 - keeps --help quick

    with prepared(settings) as engine:
        made = seal_past_days(engine, now=now())
    heads = [("Day", False), ("Offers", True), ("SHA-256", False)]
    rows = [[each.day.isoformat(), str(each.offers_count), each.sha256] for each in made]
    click.echo(text_table(heads, rows) if rows else "Every past day is sealed already.")


@click.command()
@click.pass_obj
def verify(settings: Settings) -> None:
    """Hash every sealed day again. Exit code 3 when one is no longer what it was; each such day is named."""
    from app.ingest import snapshots  # noqa: PLC0415 - keeps --help quick

    with prepared(settings) as engine:
        checked = snapshots.verify(engine)
    wrong = [each for each in checked if not each.is_same]
    for each in wrong:
        sealed, found = each.snapshot, each.now
        click.echo(
            f"{sealed.day} is not as it was sealed at {sealed.made_at:%Y-%m-%d %H:%M} UTC: "
            f"{sealed.offers_count} offers then, {found.offers_count} now; "
            f"SHA-256 {sealed.sha256} then, {found.sha256} now."
        )
    if wrong:
        click.echo(f"{len(wrong)} of {len(checked)} sealed days differ.", err=True)
        raise SystemExit(REFUSED_EXIT)
    if not checked:
        click.echo("No day is sealed yet.")
        return
    first, last = checked[0].snapshot.day, checked[-1].snapshot.day
    click.echo(f"All {len(checked)} sealed days from {first} to {last} are as they were.")
