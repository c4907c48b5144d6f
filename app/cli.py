"""The command line: what `inferprice` can be told to do; larger commands stand in `app.commands`."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app import __version__
from app.commands import (
    benching,
    checking,
    checkpoints,
    dumping,
    importing,
    keeping,
    llm_cost,
    llms,
    moe_cache,
    reviewing,
    scraping,
)
from app.commands.shared import (
    REFUSED_EXIT,
    Refusal,
    UnusableSetting,
    database,
    minute,
    moment,
    now,
    prepare,
    print_findings,
    text_table,
)
from app.domain.query import REPEATED, SINGLE, WHERE, QueryError, parse_query
from app.settings import Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from app.domain.board import Selection


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
    # A retry is no news; what comes of the last one is logged by us.
    logging.getLogger("stamina").setLevel(logging.ERROR)
    for name in ("app", "scrapers"):
        logging.getLogger(name).setLevel(context.obj.log_level.upper())


@main.command()
@click.option("--host", default=None, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=None, help="Port to listen on.")
@click.pass_obj
def serve(settings: Settings, host: str | None, port: int | None) -> None:
    """Serve the dashboard; on its first start an embedded database is made and filled, and kept from then."""
    import uvicorn  # noqa: PLC0415 - keeps other commands quick

    from app.ingest.duties import Operator  # noqa: PLC0415 - same
    from app.ingest.schedule import beside_server  # noqa: PLC0415 - same
    from app.web.main import collect_seldom, create_app  # noqa: PLC0415 - same

    llms.known_llms(settings)
    with database(settings) as engine:
        prepare(engine, settings)
    address, number = host or settings.host, port or settings.port
    click.echo(f"InferPrice {__version__} is at http://{address}:{number}/ (Ctrl-C ends it)", err=True)
    settings = settings.model_copy(update={"host": address})
    beside = beside_server(settings) if settings.serve_reads_sources else nullcontext()
    with beside, Operator(settings, now) as operator:
        application = create_app(settings, duties=operator)
        collect_seldom()
        uvicorn.run(application, host=address, port=number, log_level=settings.log_level, access_log=False)


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
    command = click.option(
        "--where", "where", multiple=True, help="As in a link without its dot: usd_per_gpu_hour=<2."
    )(command)
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
    from app.web.boards import BoardKeeper, NoBoardError, board_for  # noqa: PLC0415 - same

    with database(settings) as engine:
        prepare(engine, settings)
        keeper = BoardKeeper(engine, load_catalogue(), now)
        try:
            pairs = list(_pairs(asked))
            served = board_for(keeper, pairs, today=now().date())
            query = parse_query(pairs, served.words)
        except QueryError as error:
            raise click.UsageError(str(error)) from error
        except NoBoardError as error:
            raise (error.__cause__ or Refusal(str(error))) from error
    paged = bool(asked["page"] or asked["per_page"])
    selection = served.board.select(query, everything=not paged)
    rows = [served.board.rows[number] for number in selection.rows]
    _print_rows(rows, selection, shape=shape, instant=served.board.instant)


def _pairs(asked: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in asked.items():
        if name == "where":
            yield from (_condition(each) for each in value)
        elif isinstance(value, tuple):
            yield from ((name, item) for item in value)
        elif value is not None:
            yield name, value


def _condition(text: str) -> tuple[str, str]:
    """Return `usd_per_gpu_hour=<2` as the pair of a link."""
    column, _, condition = text.partition("=")
    if not condition.strip():
        raise QueryError("where", text, "give COLUMN=CONDITION, as in usd_per_gpu_hour=<2")
    return f"{WHERE}{column}", condition


def _print_rows(rows: Sequence[Any], selection: Selection, *, shape: str, instant: datetime) -> None:
    from app.domain.columns import export_columns  # noqa: PLC0415 - keeps --help quick
    from app.domain.fit import shown_flags  # noqa: PLC0415 - same
    from app.domain.metrics import Metric  # noqa: PLC0415 - same
    from app.web.exports import csv_text, json_bytes, json_row  # noqa: PLC0415 - same
    from app.web.render import cell, unit  # noqa: PLC0415 - same
    from app.web.stands import in_json, with_baseline  # noqa: PLC0415 - same

    view, query = selection.view, selection.query
    columns = export_columns(query.columns)
    said = with_baseline(query, instant=instant, baseline=query.baseline)
    if shape == "csv":
        click.echo(csv_text(rows, view, columns=columns, stands=said), nl=False)
    elif shape == "json":
        made = [json_row(row, view, columns=columns, stands=in_json(said)) for row in rows]
        click.echo(json_bytes(made).decode())
    else:
        shown = selection.columns
        heads = [
            (f"{column.label} {unit(column, query)}".rstrip(), isinstance(column, Metric) or column.numeric)
            for column in shown
        ]
        lines = [[cell(column, row, view=view).text for column in shown] for row in rows]
        click.echo(
            text_table(
                [*heads, ("Notes", False)],
                [
                    [*c, " ".join(shown_flags(r, view, columns=shown))]
                    for c, r in zip(lines, rows, strict=True)
                ],
            )
        )


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
    read_at = moment(fetched_at, "--fetched-at")
    address = url or (scraper.requests[0].url if scraper.requests else file.name)
    reading = inspect_page(scraper, file.read_bytes(), url=address, fetched_at=read_at)
    print_findings(reading.findings)
    if not reading.refused:
        click.echo(parsed_text(reading.offers, fetched_at=read_at, shape=shape), nl=False)
    if reading.refused or reading.held:
        click.echo(f"{'Refused' if reading.refused else 'Held for review'}: not published.", err=True)
        raise SystemExit(REFUSED_EXIT)


@main.command()
@click.pass_obj
def schedule(settings: Settings) -> None:
    """Read every source that is on when its time comes, until stopped; any number of these may run."""
    from app.ingest.schedule import run_scheduler  # noqa: PLC0415 - keeps --help quick

    with database(settings) as engine:
        prepare(engine, settings)
    run_scheduler(settings)


@main.command()
@click.pass_obj
def status(settings: Settings) -> None:
    """Print, for each source, whether it is on and how its last run ended."""
    from app.ingest.sources import sources_now  # noqa: PLC0415 - keeps --help quick
    from app.store import queries, runs  # noqa: PLC0415 - same
    from app.store.session import reading  # noqa: PLC0415 - same

    with database(settings) as engine:
        prepare(engine, settings)
        with reading(engine) as connection:
            good, last = queries.last_good_runs(connection), runs.last_runs(connection)
        every = sources_now(engine, settings)
    heads = [(name, False) for name in ("Source", "On", "Last good run", "Last run", "What happened")]
    rows = []
    for source in every:
        run, seen = last.get(source.facts.id), good.get(source.facts.id)
        rows.append(
            [
                source.facts.id,
                "yes" if source.is_on else f"no: {source.why}",
                minute(seen),
                f"{minute(run.started_at)} {run.outcome or 'under way'}" if run else "never",
                run.sentence if run else "",
            ]
        )
    click.echo(text_table(heads, rows))


for command in (scraping.scrape, scraping.sources, scraping.reparse, scraping.archive):
    main.add_command(command)
main.add_command(reviewing.quarantine)
main.add_command(importing.import_command)
main.add_command(keeping.snapshot)
main.add_command(keeping.verify)
main.add_command(dumping.dump)
main.add_command(checkpoints.checkpoint)
llms.llm.add_command(llm_cost.cost)
main.add_command(llms.llm)
main.add_command(checking.check)
main.add_command(benching.bench)
main.add_command(moe_cache.moe_cache)
