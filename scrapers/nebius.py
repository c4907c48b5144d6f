"""Nebius: one price page whose GPU tables are found by their headings, dollars per GPU-hour."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.findings import Finding, Level
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from scrapers.grid import (
    Grid,
    check_titles,
    children,
    climb,
    column_cells,
    find_grids,
    read_document,
    refuse_other_currency,
    words,
)
from scrapers.leftovers import check_leftovers
from scrapers.naming import Named, name_accelerator
from scrapers.reading import NOT_SOLD_WORDS, NoPrice, PriceCell, read_date, read_number, read_price, title_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from selectolax.lexbor import LexborNode

PROVIDER: Final = "nebius"

# The words table: headings, column titles, and what stands in a price cell.
ON_DEMAND_HEADING: Final = "nvidia gpu instances"
SPOT_HEADING: Final = "preemptible nvidia gpu instances"
OTHER_HEADINGS: Final = frozenset({"cpu-only instances", "storage"})

NAME: Final = "item"
VCPUS: Final = "vcpus"
RAM: Final = "ram, gb"
ON_DEMAND: Final = "on-demand, gpu-hour"
SPOT: Final = "spot price, gpu-hour"
DATED: Final = re.compile(r"gpu-hour \(effective (.+)\)")
"""A price announced for a date, in a column beside the one that holds now."""

ASSUMED: Final = {
    "NVIDIA RTX PRO 6000": "Nebius names no edition; its API names the server platform (gpuhunt).",
}
"""Names whose variant is not on the page, with the reason for ours (the alias table holds the variant)."""
NO_PRICE: Final = {"contact us": NoPrice.CONTACT} | dict.fromkeys(NOT_SOLD_WORDS, NoPrice.NOT_SOLD)
FLOORS: Final = frozenset({"from"})
KNOWN_MARKS: Final = frozenset({"*", "**"})

_HEADINGS: Final = "h1, h2, h3, h4, h5, h6"
_RANGE: Final = re.compile("(\\S+?) ?[-\u2013] ?(\\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A price column: its key, how its prices bind, Nebius's word for that, and a start date if printed."""

    key: str
    pricing_model: PricingModel
    term: str
    valid_from: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the page: its heading as written, the part of the page it fills, its titles and rows."""

    heading: str
    block: LexborNode
    grid: Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One GPU of one table: its name, the CPUs and memory of the host, and its price cells."""

    heading: str
    name: str
    host: tuple[str, str]
    prices: tuple[tuple[Column, PriceCell], ...]


def parse(page: Page) -> Parsed:
    """Return the on-demand, announced and preemptible offers of the two GPU tables.

    Prices are for one GPU for one hour. The column with a date in its title gives announced prices, which
    start on that date. Raises ParseError when a table, a title or a cell is not what it was.
    """
    root = read_document(page.body)
    tables, findings = _tables(root)
    read = [part for table in tables.values() for part in (table.grid.header, table.grid.body)]
    findings.extend(check_leftovers(root, read))
    on_demand = _read_rows(tables[ON_DEMAND_HEADING])
    spot = _read_rows(tables[SPOT_HEADING])
    findings.extend(_compare(on_demand, spot))
    findings.extend(_passed_dates(on_demand, page))
    rows = [*on_demand, *spot]
    names = {row.name: name_accelerator(row.name, provider=PROVIDER) for row in rows}
    findings.extend(finding for named in names.values() for finding in named.findings)
    findings.extend(finding for row in rows for finding in _row_findings(row))
    offers = tuple(offer for row in rows for offer in _offers(row, names[row.name], page.url))
    return Parsed(offers=offers, findings=tuple(findings))


def _tables(root: LexborNode) -> tuple[dict[str, Table], list[Finding]]:
    """Return the known tables under their heading keys, and a finding for each other one."""
    tables: dict[str, Table] = {}
    findings: list[Finding] = []
    for grid in find_grids(root, {NAME}):
        table = _with_heading(grid)
        key = title_key(table.heading)
        if key in tables:
            raise ParseError("double_table", "A heading stands over two tables.", heading=table.heading)
        tables[key] = table
        if key not in {ON_DEMAND_HEADING, SPOT_HEADING}:
            findings.append(_not_ours(table, known=key in OTHER_HEADINGS))
    for key in (ON_DEMAND_HEADING, SPOT_HEADING):
        if key not in tables:
            raise ParseError("missing_table", "A GPU table is missing.", heading=key)
    return tables, findings


def _with_heading(grid: Grid) -> Table:
    """Return the table with the one heading of the smallest part of the page that has any."""
    block = climb(grid.header, lambda node: bool(node.css(_HEADINGS)))
    headings = [words(heading) for heading in block.css(_HEADINGS)]
    if len(headings) != 1:
        raise ParseError(
            "heading_unclear", "A table has no heading of its own.", headings=" | ".join(headings)[:200]
        )
    return Table(heading=headings[0], block=block, grid=grid)


def _not_ours(table: Table, *, known: bool) -> Finding:
    """Report a table that is left out; refuse the page when it may be about GPUs."""
    text = " | ".join((table.heading, *table.grid.titles))
    if "gpu" in text.casefold():
        raise ParseError("unknown_gpu_table", "A table about GPUs has a heading nobody has met.", text=text)
    return Finding(
        code="left_out" if known else "unknown_table",
        level=Level.INFO,
        sentence="A table is not about GPUs and is left out.",
        evidence={"heading": table.heading},
    )


def _columns(table: Table) -> dict[str, Column]:
    """Return the price columns by title key; refuse titles nobody has met."""
    is_spot = title_key(table.heading) == SPOT_HEADING
    columns = {
        key: Column(
            key=key, pricing_model=PricingModel.ON_DEMAND, term="On-demand",
            valid_from=read_date(found[1], table.heading),
        )
        for key in table.grid.keys
        if not is_spot and (found := DATED.fullmatch(key))
    }  # fmt: skip
    if len(columns) > 1:
        raise ParseError("double_column", "Two columns announce prices.", columns=" | ".join(columns))
    if is_spot:
        columns[SPOT] = Column(key=SPOT, pricing_model=PricingModel.SPOT, term="Preemptible")
    else:
        columns[ON_DEMAND] = Column(key=ON_DEMAND, pricing_model=PricingModel.ON_DEMAND, term="On-demand")
    required = (NAME, VCPUS, RAM, SPOT if is_spot else ON_DEMAND)
    check_titles(table.grid, required=required, known={*required, *columns}, place=table.heading)
    return columns


def _read_rows(table: Table) -> list[Row]:
    """Return the rows of a GPU table, each name once."""
    refuse_other_currency(table.block, table.heading)
    columns = _columns(table)
    cells = [[words(cell) for cell in children(row)] for row in children(table.grid.body)]
    rows = [_read_row(table, columns, row) for row in cells]
    names = [row.name for row in rows]
    if not rows or len(set(names)) != len(names):
        text = " | ".join(names)[:200]
        raise ParseError("rows_unclear", f"{table.heading} has no rows or one twice.", names=text)
    return rows


def _read_row(table: Table, columns: Mapping[str, Column], cells: list[str]) -> Row:
    by_key = column_cells(table.grid, cells, place=table.heading)
    name = by_key.pop(NAME)
    if not name:
        raise ParseError("no_name", f"A row of {table.heading} has no name.", row=" | ".join(cells))
    place = f"{table.heading} > {name}"
    host = (_host_size(by_key.pop(VCPUS), place), _host_size(by_key.pop(RAM), place))
    prices = tuple(
        (columns[key], read_price(text, f"{place} > {key}", no_price=NO_PRICE, floors=FLOORS))
        for key, text in by_key.items()
    )
    return Row(heading=table.heading, name=name, host=host, prices=prices)


def _host_size(text: str, place: str) -> str:
    """Return vCPUs or gigabytes of the host as written, one number or a range; refuse anything else."""
    ends = _RANGE.fullmatch(text)
    for number in ends.groups() if ends else (text,):
        read_number(number, place)
    return text


def _compare(on_demand: list[Row], spot: list[Row]) -> Iterator[Finding]:
    """Use what the page says twice: the same GPU has the same host in both tables, and spot costs no more."""
    by_name = {row.name: row for row in on_demand}
    for row in spot:
        other = by_name.get(row.name)
        evidence = {"name": row.name, "spot": row.prices[0][1].text}
        if other is None:
            sentence = "A preemptible GPU is not in the on-demand table."
            yield Finding(code="spot_only", level=Level.WARNING, sentence=sentence, evidence=evidence)
            continue
        if other.host != row.host:
            evidence |= {"host": " / ".join(row.host), "on_demand_host": " / ".join(other.host)}
            sentence = "The two GPU tables give one GPU different hosts, so a row may have slipped."
            yield Finding(code="tables_disagree", level=Level.HOLD, sentence=sentence, evidence=evidence)
        for column, cell in other.prices:
            usd = row.prices[0][1].usd
            if usd is not None and cell.usd is not None and usd > cell.usd:
                raise ParseError(
                    "spot_above_on_demand", "A preemptible price is above the on-demand price.",
                    name=row.name, spot=row.prices[0][1].text, on_demand=cell.text, column=column.key,
                )  # fmt: skip


def _passed_dates(rows: list[Row], page: Page) -> Iterator[Finding]:
    """Report that an announced date had come when the page was read: the column beside it no longer holds."""
    read_on = page.fetched_at.date()
    dates = {column.valid_from for row in rows for column, _ in row.prices if column.valid_from is not None}
    for start in sorted(dates):
        if start <= read_on:
            yield Finding(
                code="announced_date_passed",
                level=Level.WARNING,
                sentence="A price column's date has come; the column without a date is out of date.",
                evidence={"valid_from": start.isoformat(), "read_on": read_on.isoformat()},
            )


def _row_findings(row: Row) -> Iterator[Finding]:
    """Report a row without a price, and footnote marks nobody has met."""
    for column, cell in row.prices:
        evidence = {"name": row.name, "region": "", "column": column.key, "text": cell.text}
        if cell.no_price is NoPrice.CONTACT:
            sentence = "A GPU is offered without a price."
            yield Finding(code="contact_only", level=Level.INFO, sentence=sentence, evidence=evidence)
        if set(cell.marks) - KNOWN_MARKS:
            sentence = "A price has a footnote mark nobody has met."
            yield Finding(code="unknown_footnote", level=Level.WARNING, sentence=sentence, evidence=evidence)


def _offers(row: Row, named: Named, url: str) -> Iterator[Offer]:
    for column, cell in row.prices:
        if cell.usd is None:
            continue
        yield Offer(
            provider=PROVIDER,
            sku=row.name,
            accelerator_as_written=row.name,
            accelerator=named.accelerator,
            family=named.family,
            slice_of=named.slice_of,
            variant_assumed=row.name in ASSUMED and named.accelerator is not None,
            assumptions=(ASSUMED[row.name],) if row.name in ASSUMED else (),
            gpu_count=1,
            min_gpus=1,
            list_price=cell.usd,
            price_basis=PriceBasis.GPU_HOUR,
            pricing_model=column.pricing_model,
            service_kind=ServiceKind.INSTANCE,
            provider_term=column.term,
            is_floor=cell.is_floor,
            valid_from=column.valid_from,
            source_url=url,
            fragment=f"{row.heading} > {row.name} > {column.key}: {cell.text}",
        )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(Request(url="https://nebius.com/prices"),),
    parse=parse,
    # 21 offers were there in 2026-09.
    expect=Expect(min_offers=16, anchors=("h100-sxm", "h200-sxm", "b200-sxm")),
)
