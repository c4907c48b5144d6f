"""The command line: serve, migrate, offers, parse, scrape, schedule, import, status, quarantine."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app import __version__
from app.domain.query import REPEATED, SINGLE, QueryError, parse_query
from app.settings import Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Engine

    from app.domain.columns import Fact
    from app.domain.findings import Finding
    from app.domain.metrics import Metric

REFUSED_EXIT = 3
"""Exit code of a run or a page that was refused or held for review."""


class Refusal(click.ClickException):
    """An answer that is no fault of the program: said in one sentence, exit code 1."""


class UnusableSetting(Refusal):
    """A setting that cannot be used: exit code 2, as for a wrong option."""

    exit_code = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="inferprice")
@click.pass_context
def main(context: click.Context) -> None:
    """GPU prices per TB/s-hour and per dense PFLOP-hour, each with the place it was read from."""
    try:
        context.obj = load_settings()
    except SettingsError as error:
        raise UnusableSetting(str(error)) from error
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for name in ("app", "scrapers"):
        logging.getLogger(name).setLevel(context.obj.log_level.upper())


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


@main.command()
@click.option("--host", default=None, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=None, help="Port to listen on.")
@click.pass_obj
def serve(settings: Settings, host: str | None, port: int | None) -> None:
    """Serve the dashboard; an embedded database is made and filled on the first start."""
    import uvicorn  # noqa: PLC0415 - keeps other commands quick

    from app.web.main import create_app  # noqa: PLC0415 - same

    with database(settings) as engine:
        prepare(engine, settings)
    address, number = host or settings.host, port or settings.port
    click.echo(f"InferPrice {__version__} is at http://{address}:{number}/ (Ctrl-C ends it)", err=True)
    uvicorn.run(
        create_app(settings), host=address, port=number, log_level=settings.log_level, access_log=False
    )


@main.command(name="migrate")
@click.option("--check", is_flag=True, help="Change nothing; exit 1 when tables and database differ.")
@click.pass_obj
def migrate_command(settings: Settings, *, check: bool) -> None:
    """Bring the database to the tables this version expects, and fill an empty one with the bundled table."""
    from app.ingest.imports import import_when_empty  # noqa: PLC0415 - keeps --help quick
    from app.store import migrate  # noqa: PLC0415 - same

    with database(settings) as engine:
        if check:
            differences = migrate.check(engine)
            if differences:
                raise Refusal("\n".join(differences))
            click.echo(f"The {engine.dialect.name} database and the tables agree.")
            return
        migrate.upgrade(engine)
        import_when_empty(engine, settings.home, now=now())
        click.echo(f"The {engine.dialect.name} database is up to date.")


def query_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every query parameter of the board as an option."""
    for name in reversed([*REPEATED, *SINGLE]):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, multiple=name in REPEATED, help=f"As in a link: {name}.")(
            command
        )
    return command


@main.command()
@query_options
@click.option("--format", "shape", type=click.Choice(["table", "csv", "json"]), default="table")
@click.pass_obj
def offers(settings: Settings, /, shape: str, **asked: Any) -> None:
    """Print the rows that a link to the board would show, all of them unless a page is asked for."""
    from app.domain.accelerators import load_catalogue  # noqa: PLC0415 - keeps --help quick
    from app.web.boards import BoardKeeper, NoBoardError  # noqa: PLC0415 - same

    with database(settings) as engine:
        prepare(engine, settings)
        keeper = BoardKeeper(engine, load_catalogue(), now)
        try:
            served = keeper.current()
            query = parse_query(_pairs(asked), served.words)
            if query.as_of is not None:
                served = keeper.as_of(query.as_of)
        except QueryError as error:
            raise click.UsageError(str(error)) from error
        except NoBoardError as error:
            raise (error.__cause__ or Refusal(str(error))) from error
    paged = bool(asked["page"] or asked["per_page"])
    selection = served.board.select(query, everything=not paged)
    rows = [served.board.rows[number] for number in selection.rows]
    _print_rows(rows, selection.view, query=query, shape=shape)


def _pairs(asked: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in asked.items():
        if isinstance(value, tuple):
            yield from ((name, item) for item in value)
        elif value is not None:
            yield name, value


def _print_rows(rows: Sequence[Any], view: Any, *, query: Any, shape: str) -> None:
    from app.domain.columns import COLUMNS, export_columns  # noqa: PLC0415 - keeps --help quick
    from app.domain.metrics import Metric  # noqa: PLC0415 - same
    from app.web.exports import csv_text, json_bytes, json_row  # noqa: PLC0415 - same
    from app.web.render import cell  # noqa: PLC0415 - same

    columns = export_columns(query.columns)
    if shape == "csv":
        click.echo(csv_text(rows, view, columns=columns), nl=False)
    elif shape == "json":
        click.echo(json_bytes([json_row(row, view, columns=columns) for row in rows]).decode())
    else:
        shown = [COLUMNS[key] for key in query.columns]
        heads = [(_head(column), isinstance(column, Metric) or column.numeric) for column in shown]
        lines = [[cell(COLUMNS[key], row, view=view).text for key in query.columns] for row in rows]
        click.echo(
            text_table(
                [*heads, ("Notes", False)],
                [[*c, " ".join(r.flags)] for c, r in zip(lines, rows, strict=True)],
            )
        )


def _head(column: Fact | Metric) -> str:
    return f"{column.label} {column.unit}".rstrip()


def text_table(heads: Sequence[tuple[str, bool]], lines: Sequence[Sequence[str]]) -> str:
    """Return lines in columns under their heads; a head's second part says to align right, as numbers do."""
    titles = [head for head, _ in heads]
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]

    def laid(cells: Iterable[str]) -> str:
        each = zip(cells, widths, heads, strict=True)
        return "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, (_, right) in each).rstrip()

    return "\n".join([laid(titles), *(laid(line) for line in lines)])


@main.command()
@click.argument("provider")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--url", default=None, help="Where the page came from; the source's own address by default.")
@click.option("--fetched-at", default=None, help="When, as YYYY-MM-DDTHH:MM:SSZ; now by default.")
@click.option("--format", "shape", type=click.Choice(["csv", "json"]), default="csv")
def parse(provider: str, file: Path, *, url: str | None, fetched_at: str | None, shape: str) -> None:
    """Read a stored page of PROVIDER as a scrape would, and print its offers; nothing is written.

    Findings go to standard error. Exit code 0: it would be published; 3: it is refused or held for review.
    """
    from app.ingest.sources import inspect_page  # noqa: PLC0415 - keeps --help quick
    from app.web.exports import parsed_text  # noqa: PLC0415 - same
    from scrapers import BUNDLED, SCRAPERS  # noqa: PLC0415 - same

    scraper = {**SCRAPERS, **BUNDLED}.get(provider)
    if scraper is None:
        known = ", ".join(sorted([*SCRAPERS, *BUNDLED]))
        raise click.UsageError(f"PROVIDER: '{provider}' is not right: use one of {known}")
    moment = _moment(fetched_at)
    address = url or (scraper.requests[0].url if scraper.requests else file.name)
    reading = inspect_page(scraper, file.read_bytes(), url=address, fetched_at=moment)
    _print_findings(reading.findings)
    if not reading.refused:
        click.echo(parsed_text(reading.offers, fetched_at=moment, shape=shape), nl=False)
    if reading.refused or reading.held:
        click.echo(f"{'Refused' if reading.refused else 'Held for review'}: not published.", err=True)
        raise SystemExit(REFUSED_EXIT)


def _moment(text: str | None) -> datetime:
    if text is None:
        return now()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.UsageError(f"--fetched-at: '{text}' is not a time like 2026-10-30T00:00:00Z") from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _print_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        evidence = ", ".join(f"{name}={value}" for name, value in finding.evidence.items())
        click.echo(
            f"{finding.level} {finding.code}: {finding.sentence}{f' ({evidence})' if evidence else ''}",
            err=True,
        )


def _print_outcomes(outcomes: Iterable[Any]) -> None:
    """Print how each run ended; exit code 3 when one was refused, held or broke, or could not be tried."""
    from app.store.records import Outcome  # noqa: PLC0415 - keeps --help quick

    ended = list(outcomes)
    rows = [[each.provider, each.outcome or "not run", each.sentence] for each in ended]
    click.echo(text_table([("Provider", False), ("Outcome", False), ("What happened", False)], rows))
    bad = {Outcome.REFUSED, Outcome.FAILED, Outcome.QUARANTINED}
    if any(each.outcome in bad for each in ended):
        raise SystemExit(REFUSED_EXIT)


@main.command()
@click.argument("provider", nargs=-1)
@click.pass_obj
def scrape(settings: Settings, provider: tuple[str, ...]) -> None:
    """Fetch and read the sources that are on, or those named, and publish what passes the checks."""
    from app.ingest import sources as source_list  # noqa: PLC0415 - keeps --help quick

    with database(settings) as engine:
        prepare(engine, settings)
        try:
            _print_outcomes(source_list.scrape(engine, settings, providers=provider, clock=now))
        except source_list.SourceError as error:
            raise click.UsageError(str(error)) from error


@main.command()
@click.pass_obj
def schedule(settings: Settings) -> None:
    """Read every source that is on once a day, until stopped; any number of these may run."""
    from app.ingest.schedule import run_scheduler  # noqa: PLC0415 - keeps --help quick

    with database(settings) as engine:
        prepare(engine, settings)
    run_scheduler(settings)


@main.command(name="import")
@click.pass_obj
def import_command(settings: Settings) -> None:
    """Import the bundled table of 2026-10-30; providers that were read since keep what they have."""
    from app.ingest.imports import import_table  # noqa: PLC0415 - keeps --help quick

    with database(settings) as engine:
        prepare(engine, settings)
        _print_outcomes(import_table(engine, settings.home, now=now()))


@main.command()
@click.pass_obj
def status(settings: Settings) -> None:
    """Print, for each source, whether it is on and how its last run ended."""
    from app.ingest.sources import sources  # noqa: PLC0415 - keeps --help quick
    from app.store import queries, runs  # noqa: PLC0415 - same
    from app.store.session import reading  # noqa: PLC0415 - same

    with database(settings) as engine:
        prepare(engine, settings)
        with reading(engine) as connection:
            good, last = queries.last_good_runs(connection), runs.last_runs(connection)
    heads = [(name, False) for name in ("Source", "On", "Last good run", "Last run", "What happened")]
    rows = []
    for source in sources(settings):
        run, seen = last.get(source.facts.id), good.get(source.facts.id)
        rows.append(
            [
                source.facts.id,
                "yes" if source.is_on else f"no: {source.why}",
                _minute(seen) if seen else "never",
                f"{_minute(run.started_at)} {run.outcome or 'under way'}" if run else "never",
                run.sentence if run else "",
            ]
        )
    click.echo(text_table(heads, rows))


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


@main.group()
def quarantine() -> None:
    """Look at runs that were held for review, and decide."""


@quarantine.command(name="list")
@click.pass_obj
def list_held(settings: Settings) -> None:
    """Print the runs that wait for a decision."""
    from app.store import runs  # noqa: PLC0415 - keeps --help quick
    from app.store.session import reading  # noqa: PLC0415 - same

    with database(settings) as engine:
        prepare(engine, settings)
        with reading(engine) as connection:
            held = runs.quarantined(connection)
    heads = [("Number", True), ("Provider", False), ("Offers", True), ("Held", False), ("Why", False)]
    rows = [
        [
            str(h.quarantine_id),
            h.provider,
            str(len(h.offers)),
            f"{h.run.started_at:%Y-%m-%d %H:%M}",
            h.run.sentence,
        ]
        for h in held
    ]
    click.echo(text_table(heads, rows) if rows else "No run waits for a decision.")


@quarantine.command()
@click.argument("number", type=int)
@click.pass_obj
def show(settings: Settings, number: int) -> None:
    """Print a held run: its findings, then its offers as CSV."""
    from app.store import runs  # noqa: PLC0415 - keeps --help quick
    from app.store.session import reading  # noqa: PLC0415 - same
    from app.web.exports import parsed_text  # noqa: PLC0415 - same

    with database(settings) as engine:
        prepare(engine, settings)
        with reading(engine) as connection:
            held = runs.quarantine_by_id(connection, number)
            findings = runs.findings_of(connection, held.run.run_id) if held else []
    if held is None:
        raise Refusal(f"There is no held run {number}; `inferprice quarantine list` names them.")
    _print_findings(findings)
    moment = held.run.observed_at or held.run.started_at
    click.echo(parsed_text(held.offers, fetched_at=moment, shape="csv"), nl=False)


def _decide(settings: Settings, number: int, *, because: str, approve: bool) -> None:
    from app.ingest import quarantine as held  # noqa: PLC0415 - keeps --help quick

    with database(settings) as engine:
        prepare(engine, settings)
        try:
            decide = held.approve if approve else held.reject
            _print_outcomes([decide(engine, number, because=because, now=now())])
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
