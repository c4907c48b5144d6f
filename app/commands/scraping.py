"""`inferprice scrape` and its kin: which sources are read, and what reading them again would say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

import click

from app.commands.shared import (
    REFUSED_EXIT,
    minute,
    moment,
    now,
    prepared,
    print_findings,
    print_outcomes,
    text_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.ingest.reparse import Change, Reread
    from app.ingest.run import RunOutcome
    from app.settings import Settings
    from scrapers import Scraper

Result = TypeVar("Result")

MOST_LISTED = 40
"""Changes of one run that are written out."""


@click.command()
@click.argument("provider", nargs=-1)
@click.pass_obj
def scrape(settings: Settings, provider: tuple[str, ...]) -> None:
    """Fetch and read the sources that are on, or those named, and publish what passes the checks.

    Exit code 0: every source ended well; 3: one was refused, held for review, or could not be read.
    """
    from app.ingest import sources as source_list  # noqa: PLC0415 - keeps --help quick

    began_s: dict[str, float] = {}

    def progress(name: str, ended: RunOutcome | None) -> None:
        if ended is None:
            began_s[name] = time.monotonic()
            click.echo(f"{name} ... ", nl=False, err=True)
        else:
            took_s = time.monotonic() - began_s[name]
            click.echo(f"{ended.outcome or 'not run'} in {took_s:.1f} s", err=True)

    with prepared(settings) as engine:
        try:
            ended = source_list.scrape(engine, settings, providers=provider, clock=now, progress=progress)
        except source_list.SourceError as error:
            raise click.UsageError(str(error)) from error
    print_outcomes(ended)


@click.group()
def sources() -> None:
    """See which sources are read, and turn one on or off."""


@sources.command(name="list")
@click.pass_obj
def list_sources(settings: Settings) -> None:
    """Print every source with its switch and what is known of its terms."""
    from app.ingest.sources import sources_now  # noqa: PLC0415 - keeps --help quick

    with prepared(settings) as engine:
        every = sources_now(engine, settings)
    heads = [(name, False) for name in ("Source", "On", "Since", "Pages", "Terms")]
    rows = [
        [
            each.facts.id,
            "yes" if each.is_on else "no",
            f"{each.switch.changed_at:%Y-%m-%d}" if each.switch else "by default",
            " ".join(request.url.partition("?")[0] for request in each.scraper.requests),
            f"{each.facts.terms_note} {each.facts.terms_url}".strip(),
        ]
        for each in every
    ]
    click.echo(text_table(heads, rows))


_SOURCE = click.argument("provider")
_BECAUSE = click.option("--because", default="", help="Why, in a sentence; it is kept.")


@sources.command()
@_SOURCE
@_BECAUSE
@click.option("--i-have-read-the-terms", "has_read", is_flag=True, help="Do not ask whether you have.")
@click.pass_obj
def enable(settings: Settings, provider: str, because: str, *, has_read: bool) -> None:
    """Read PROVIDER from now on, in every process on this database.

    Where the terms are said to forbid automated collection, it asks whether you have read them.
    """
    from app.ingest.sources import source  # noqa: PLC0415 - keeps --help quick

    facts = _known(lambda: source(provider, settings)).facts
    if not facts.enabled_by_default and not has_read:
        click.echo(f"{facts.terms_note}\n{facts.terms_url}".rstrip(), err=True)
        click.confirm(f"Have you read the terms of {facts.name}, and may you do this?", abort=True, err=True)
    reason = because or ("Its terms were read." if not facts.enabled_by_default else "Turned on.")
    _switch(settings, provider, because=reason, is_on=True)
    click.echo(f"{facts.name} is read from now on.")


@sources.command()
@_SOURCE
@_BECAUSE
@click.pass_obj
def disable(settings: Settings, provider: str, because: str) -> None:
    """Read PROVIDER no more; its last good offers stay, with their age shown."""
    _switch(settings, provider, because=because or "Turned off.", is_on=False)
    more = ""
    if provider in settings.enabled_sources:
        more = " It is still on here: INFERPRICE_ENABLED_SOURCES names it."
    click.echo(f"{provider} is read no more.{more}")


def _switch(settings: Settings, provider: str, *, because: str, is_on: bool) -> None:
    from app.ingest.sources import switch_source  # noqa: PLC0415 - keeps --help quick

    with prepared(settings) as engine:
        _known(lambda: switch_source(engine, provider, is_on=is_on, because=because, now=now()))


def _known(ask: Callable[[], Result]) -> Result:
    """Return what `ask` does; a source that is not there ends in a sentence with those that are."""
    from app.ingest.sources import SourceError  # noqa: PLC0415 - keeps --help quick

    try:
        return ask()
    except SourceError as error:
        raise click.UsageError(f"PROVIDER: {error}") from error


@click.command()
@click.argument("provider")
@click.option("--since", required=True, help="First day or time whose pages are read again, UTC.")
@click.option("--publish", is_flag=True, help="Publish the newest of them, if it passes the checks.")
@click.pass_obj
def reparse(settings: Settings, provider: str, since: str, *, publish: bool) -> None:
    """Read PROVIDER's archived pages again with today's parser and print what would change, run by run.

    Nothing is written without --publish. With it the newest run is published as of when its pages were read:
    never over a later good run, through the same checks, and without a change to days that are over.
    """
    from app.ingest import reparse as again  # noqa: PLC0415 - keeps --help quick

    scraper = _scraper(provider)
    begin = moment(since, "--since")
    with prepared(settings) as engine:
        rereads = again.reread(engine, settings.archive, scraper=scraper, since=begin)
        if not rereads:
            click.echo(f"The archive has no page of {provider} since {minute(begin)} UTC.")
            return
        for each in rereads:
            _print_reread(each)
        newest = again.newest_readable(rereads)
        if publish and newest is not None:
            print_outcomes([again.publish_reread(engine, newest, provider=provider, now=now())])
    if newest is None:
        click.echo("None of them can be read with today's parser.", err=True)
        raise SystemExit(REFUSED_EXIT)


def _scraper(provider: str) -> Scraper:
    from scrapers import SCRAPERS  # noqa: PLC0415 - keeps --help quick

    if provider not in SCRAPERS:
        known = ", ".join(sorted(SCRAPERS))
        raise click.UsageError(f"PROVIDER: '{provider}' is not right: use one of {known}")
    return SCRAPERS[provider]


def _print_reread(each: Reread) -> None:
    title = f"Run {each.run.run_id}, read at {minute(each.observed_at)} UTC, {each.run.outcome or 'killed'}"
    if each.missing:
        click.echo(f"{title}: {each.missing}")
        return
    if each.reading.refused:
        click.echo(f"{title}: today's parser refuses it.")
    elif not each.changes:
        click.echo(f"{title}: nothing would change.")
    else:
        counts = [
            f"{sum(each_is(change) for change in each.changes)} {word}"
            for word, each_is in (("added", _is_added), ("gone", _is_gone), ("changed", _is_changed))
        ]
        click.echo(f"{title}: {', '.join(counts)}{'; it would be held' if each.reading.held else ''}")
        print_changes(each.changes)
    print_findings((f for f in each.reading.findings if f.level == "hold"), to_stderr=False)


def _is_added(change: Change) -> bool:
    return change.was is None


def _is_gone(change: Change) -> bool:
    return change.now is None


def _is_changed(change: Change) -> bool:
    return change.was is not None and change.now is not None


def print_changes(changes: Sequence[Change]) -> None:
    """Print offers that differ side by side: what was, what is, how they differ, the place on the page."""
    from app.ingest.side_by_side import rows_of  # noqa: PLC0415 - keeps --help quick

    heads = [
        ("", False),
        ("Offer", False),
        ("Last good", True),
        ("Held", True),
        ("Difference", True),
        ("Place on the page", False),
    ]
    click.echo(text_table(heads, rows_of(changes[:MOST_LISTED])))
    if len(changes) > MOST_LISTED:
        click.echo(f"... and {len(changes) - MOST_LISTED} more.")


@click.group()
def archive() -> None:
    """Look after the pages that were kept."""


@archive.command(name="prune")
@click.option("--days", type=click.IntRange(1), default=None, help="INFERPRICE_ARCHIVE_RETENTION_DAYS else.")
@click.pass_obj
def prune_archive(settings: Settings, days: int | None) -> None:
    """Remove pages older than so many days that no price cites and nobody has to decide on."""
    from app.ingest.retention import let_go  # noqa: PLC0415 - keeps --help quick

    kept_days = days or settings.archive_retention_days
    with prepared(settings) as engine:
        pruned = let_go(engine, settings.archive, days=kept_days, now=now())
    click.echo(f"{pruned.gone} pages went ({pruned.freed_bytes} bytes), {pruned.stay} stay.")
