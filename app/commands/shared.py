"""What the commands share: the database they open, how they refuse, and how they lay out a table."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Engine

    from app.domain.findings import Finding
    from app.settings import Settings

REFUSED_EXIT = 3
"""Exit code of a run or a page that was refused or held for review."""


class Refusal(click.ClickException):
    """An answer that is no fault of the program: said in one sentence, exit code 1."""


class UnusableSetting(Refusal):
    """A setting that cannot be used: exit code 2, as for a wrong option."""

    exit_code = 2


def now() -> datetime:
    """Return the time now, aware and UTC, to the second that the store keeps."""
    return datetime.now(UTC).replace(microsecond=0)


@contextmanager
def database(settings: Settings) -> Iterator[Engine]:
    """Give an engine for the settings; a database that cannot be used ends in one sentence."""
    from sqlalchemy.exc import OperationalError, ProgrammingError  # noqa: PLC0415 - keeps --help quick

    from app.store.session import make_engine  # noqa: PLC0415 - same

    engine = make_engine(settings.database_url)
    try:
        yield engine
    except (OperationalError, ProgrammingError) as error:
        reason = str(error.orig).strip().splitlines()[0] if error.orig else str(error)
        raise Refusal(
            f"The database cannot be used: {reason}. Is it running, and has `inferprice migrate` been run?"
        ) from error
    finally:
        engine.dispose()


def prepare(engine: Engine, settings: Settings) -> None:
    """Bring the embedded database up to date and fill an empty one with the bundled table.

    A PostgreSQL database is brought up to date by `inferprice migrate` alone, so that one process does it.
    """
    from app.ingest.imports import import_when_empty  # noqa: PLC0415 - keeps --help quick
    from app.store import migrate  # noqa: PLC0415 - same

    if engine.dialect.name == "sqlite":
        migrate.upgrade(engine)
        import_when_empty(engine, settings.home, now=now())
    else:
        differences = migrate.check(engine)
        if differences:
            raise Refusal(f"{differences[0]} Run `inferprice migrate` first.")


@contextmanager
def prepared(settings: Settings) -> Iterator[Engine]:
    """Give an engine on a database that is up to date."""
    with database(settings) as engine:
        prepare(engine, settings)
        yield engine


def text_table(heads: Sequence[tuple[str, bool]], lines: Sequence[Sequence[str]]) -> str:
    """Return lines in columns under their heads; a head's second part says to align right, as numbers do."""
    titles = [head for head, _ in heads]
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]

    def laid(cells: Iterable[str]) -> str:
        each = zip(cells, widths, heads, strict=True)
        return "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, (_, right) in each).rstrip()

    return "\n".join([laid(titles), *(laid(line) for line in lines)])


def moment(text: str | None, option: str) -> datetime:
    """Return the time an option gives, UTC unless it says otherwise; now without one."""
    if text is None:
        return now()
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.UsageError(
            f"{option}: '{text}' is not a time like 2026-10-30T00:00:00Z or a day like 2026-10-30"
        ) from error
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def minute(when: datetime | None) -> str:
    """Return a time to the minute, "never" for none."""
    return f"{when:%Y-%m-%d %H:%M}" if when else "never"


def print_findings(findings: Iterable[Finding], *, to_stderr: bool = True) -> None:
    """Print each finding on a line: level, code, sentence, evidence."""
    for finding in findings:
        evidence = ", ".join(f"{name}={value}" for name, value in finding.evidence.items())
        click.echo(
            f"{finding.level} {finding.code}: {finding.sentence}{f' ({evidence})' if evidence else ''}",
            err=to_stderr,
        )


def print_outcomes(outcomes: Iterable[Any]) -> None:
    """Print how each run ended; exit code 3 when one was refused, held or broke."""
    from app.store.records import Outcome  # noqa: PLC0415 - keeps --help quick

    ended = list(outcomes)
    heads = [("Provider", False), ("Outcome", False), ("Offers", True), ("Findings", True)]
    rows = [
        [
            each.provider,
            each.outcome or "not run",
            str(each.offers_count or "-"),
            str(len(each.findings)),
            each.sentence,
        ]
        for each in ended
    ]
    click.echo(text_table([*heads, ("What happened", False)], rows))
    bad = {Outcome.REFUSED, Outcome.FAILED, Outcome.QUARANTINED}
    if any(each.outcome in bad for each in ended):
        raise SystemExit(REFUSED_EXIT)
