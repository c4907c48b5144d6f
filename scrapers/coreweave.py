"""CoreWeave: one price page, a GPU table per region, dollars per instance-hour, every value printed twice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
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
    descend,
    find_grids,
    read_document,
    refuse_other_currency,
    text_nodes,
    words,
)
from scrapers.leftovers import check_leftovers
from scrapers.naming import Named, name_accelerator
from scrapers.reading import (
    NOT_SOLD_WORDS,
    NoPrice,
    PriceCell,
    one_line,
    read_count,
    read_number,
    read_price,
    title_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from selectolax.lexbor import LexborNode

PROVIDER: Final = "coreweave"

# The words table: regions, column titles, the labels of the narrow-screen blocks, and price words.
REGION: Final = re.compile(r"REGION: (.+)")
REGIONS: Final = {"NORTH AMERICA": "North America", "EUROPE": "Europe"}
"""Looked up in capitals: the GPU tables print EUROPE, a CPU table of the same page Europe."""

NAME: Final = "gpu model"
CPU_NAME: Final = "cpu model"
COUNT: Final = "gpu count"
MEMORY: Final = "vram (gb)"
VCPUS: Final = "vcpus"
RAM: Final = "system ram (gb)"
STORAGE: Final = "local storage (tb)"
ON_DEMAND: Final = "on-demand price (per hour)"
SPOT: Final = "spot price (per hour)"
INFERENCE: Final = "inference single gpu price (per hour)"
"""For customers of CoreWeave's inference platform only: a check on the on-demand price, never an offer."""

REQUIRED: Final = (NAME, COUNT, MEMORY, VCPUS, RAM, STORAGE, ON_DEMAND, SPOT)
KNOWN: Final = frozenset({*REQUIRED, INFERENCE})

PRICE_LABELS: Final = {
    "on-demand price": ON_DEMAND,
    "spot price": SPOT,
    "inference single gpu price": INFERENCE,
    "inference single cpu price": INFERENCE,  # printed so in 2026-10; the value is the GPU's
}
SIZE_LABELS: Final = {
    "gpu count": COUNT, "vram": MEMORY, "vcpus": VCPUS, "system ram": RAM, "local storage (tb)": STORAGE,
}  # fmt: skip

CONTACT: Final = "contact sales"
NO_PRICE: Final = {CONTACT: NoPrice.CONTACT} | dict.fromkeys(NOT_SOLD_WORDS, NoPrice.NOT_SOLD)
COUNTS: Final = frozenset({1, 2, 4, 8, 16, 72})
"""GPUs per instance that exist; 41 is a 4 with its footnote mark run into it."""
KNOWN_MARKS: Final = frozenset({"1", "2"})
PRICING: Final = (
    (ON_DEMAND, PricingModel.ON_DEMAND, "On-Demand"),
    (SPOT, PricingModel.SPOT, "Spot"),
)

_PER_HOUR: Final = re.compile(r"\s*/\s*Hour\b")
_LABELLED: Final = re.compile(r"([^:]+):\s*(.*)")
_HALF_A_CENT: Final = Decimal("0.005")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One GPU instance in one region: its cells by title key, the count and memory read, its price cells."""

    region: str
    name: str
    count: int
    count_marks: tuple[str, ...]
    memory_gb: Decimal
    sizes: tuple[str, ...]
    prices: Mapping[str, PriceCell]


def parse(page: Page) -> Parsed:
    """Return the on-demand and spot offers of each GPU instance in each region.

    Prices are for the whole instance. Every figure stands twice, in the wide table and in a labelled block
    for narrow screens; where the two differ the page is refused, as it is when the price per GPU is not the
    total over the count, or spot is above on-demand.
    """
    root = read_document(page.body)
    gpu_grids, cpu_grids = find_grids(root, {NAME}), find_grids(root, {CPU_NAME})
    if not gpu_grids:
        raise ParseError("missing_table", "The page holds no GPU table.", title=NAME)
    above = _above_regions(root)
    tables = _by_region(gpu_grids, above)
    rows = [row for region, (grid, block) in tables.items() for row in _read_rows(grid, block, region)]
    _compare_regions(rows)
    read = [part for grid in (*gpu_grids, *cpu_grids) for part in (grid.header, grid.body)]
    findings = [*check_leftovers(root, read), *map(_cpu_left_out, cpu_grids), *_unknown_regions(tables)]
    names = {row.name: _name(row) for row in rows}
    findings.extend(finding for named in names.values() for finding in named.findings)
    findings.extend(finding for row in rows for finding in _row_findings(row))
    offers = tuple(offer for row in rows for offer in _offers(row, names[row.name], page.url))
    return Parsed(offers=offers, findings=tuple(findings))


def _above_regions(root: LexborNode) -> dict[int, list[str]]:
    """Return, for each element with a region's heading somewhere inside, the regions named there."""
    above: dict[int, list[str]] = {}
    for parent, text in text_nodes(root):
        found = REGION.fullmatch(one_line(text))
        here: LexborNode | None = parent if found else None
        while found and here is not None:
            above.setdefault(here.mem_id, []).append(found[1].upper())
            here = here.parent
    return above


def _block(grid: Grid, above: Mapping[int, list[str]]) -> LexborNode:
    """Return the smallest part of the page that holds the table and a region's heading."""
    return climb(grid.header, lambda node: node.mem_id in above)


def _by_region(grids: list[Grid], above: Mapping[int, list[str]]) -> dict[str, tuple[Grid, LexborNode]]:
    """Return each GPU table with its part of the page, under the region in the heading above it."""
    tables: dict[str, tuple[Grid, LexborNode]] = {}
    for grid in grids:
        block = _block(grid, above)
        regions = above[block.mem_id]
        if len(regions) != 1 or regions[0] in tables:
            text = " | ".join(regions)
            raise ParseError("region_unclear", "A GPU table has no region of its own.", regions=text)
        tables[regions[0]] = (grid, block)
    return tables


def _unknown_regions(tables: Mapping[str, object]) -> Iterator[Finding]:
    for region in tables:
        if region not in REGIONS:
            sentence = "A region nobody has met; somebody has to say what it is called with us."
            evidence = {"region": region}
            yield Finding(code="unknown_region", level=Level.HOLD, sentence=sentence, evidence=evidence)


def _read_rows(grid: Grid, block: LexborNode, region: str) -> list[Row]:
    """Return the rows of one region's table, each name once."""
    refuse_other_currency(block, region)
    check_titles(grid, required=REQUIRED, known=KNOWN, place=region)
    items = grid.body.css("[role=listitem]")
    parent = items[0].parent if items else None
    if parent is None or len(children(parent)) != len(items):
        raise ParseError("rows_unclear", f"The rows of {region} are not a list.", items=str(len(items)))
    rows = [_read_row(grid, descend(item), region) for item in items]
    names = [row.name for row in rows]
    if len(set(names)) != len(names):
        raise ParseError("duplicate_row", f"A GPU stands twice in {region}.", names=" | ".join(names)[:300])
    return rows


def _read_row(grid: Grid, row: LexborNode, region: str) -> Row:
    """Read one row: the wide cells by their titles, checked against the labelled blocks."""
    cells: list[str] = []
    price_blocks: list[str] = []
    size_blocks: list[LexborNode] = []
    for child in children(row):
        text = words(child)
        if any(f"{label}:" in text.casefold() for label in PRICE_LABELS):
            price_blocks.append(text)
        elif text.casefold().endswith(tuple(SIZE_LABELS)):
            size_blocks.append(child)
        else:
            cells.append(text)
    wide = column_cells(grid, cells, place=region)
    name = wide[NAME]
    if len(price_blocks) != 1 or len(size_blocks) != 1:
        raise ParseError("missing_block", f"{region} > {name} lacks a block for narrow screens.", name=name)
    place = f"{region} > {name}"
    _compare_sizes(wide, _labelled_sizes(size_blocks[0], place), place)
    prices = {
        key: read_price(text, f"{place} > {key}", no_price=NO_PRICE)
        for key, text in wide.items()
        if key in PRICE_LABELS.values()
    }
    _compare_prices(prices, _labelled_prices(price_blocks[0], name, place), place)
    return _checked(_row(region, wide, prices), place)


def _row(region: str, wide: Mapping[str, str], prices: Mapping[str, PriceCell]) -> Row:
    place = f"{region} > {wide[NAME]}"
    count, marks = read_count(wide[COUNT], f"{place} > {COUNT}")
    sizes = {key: read_number(wide[key], f"{place} > {key}")[0] for key in (MEMORY, VCPUS, RAM, STORAGE)}
    return Row(
        region=region,
        name=wide[NAME],
        count=count,
        count_marks=marks,
        memory_gb=sizes[MEMORY],
        sizes=(wide[COUNT], *(str(size) for size in sizes.values())),
        prices=prices,
    )


def _labelled_sizes(block: LexborNode, place: str) -> dict[str, str]:
    """Return count, memory, vCPUs, RAM and storage from the block whose figures stand above their labels."""
    sizes: dict[str, str] = {}
    for pair in children(descend(block)):
        parts = [words(part) for part in children(pair)]
        key = SIZE_LABELS.get(title_key(parts[-1])) if len(parts) == 2 else None  # noqa: PLR2004 - figure, label
        if key is None or key in sizes:
            raise ParseError("unknown_label", f"{place} labels a figure in an unknown way.", text=words(pair))
        sizes[key] = parts[0]
    return sizes


def _compare_sizes(wide: Mapping[str, str], narrow: Mapping[str, str], place: str) -> None:
    for key in SIZE_LABELS.values():
        if wide[key] != narrow.get(key):
            text = str(narrow.get(key))
            raise ParseError(
                "blocks_disagree", f"{place} says two things about {key}.", wide=wide[key], narrow=text
            )


def _labelled_prices(text: str, name: str, place: str) -> dict[str, str]:
    """Return the prices of `NAME On-Demand Price: $1.00 / Hour Spot Price: N/A / Hour ...` by column key."""
    *labelled, tail = _PER_HOUR.split(text.removeprefix(name))
    prices: dict[str, str] = {}
    for piece in labelled:
        found = _LABELLED.fullmatch(piece.strip())
        key = PRICE_LABELS.get(title_key(found[1])) if found else None
        if found is None or key is None or key in prices:
            raise ParseError("unknown_label", f"{place} labels a price in an unknown way.", text=piece)
        prices[key] = found[2]
    if not text.startswith(name) or tail.strip().casefold() not in {"", CONTACT}:
        raise ParseError("unknown_label", f"{place} has words nobody has met beside its prices.", text=text)
    contact = bool(tail.strip())
    return {key: value or (CONTACT if contact else "") for key, value in prices.items()}


def _compare_prices(wide: Mapping[str, PriceCell], narrow: Mapping[str, str], place: str) -> None:
    """Refuse a row whose two sets of prices differ in a column, a figure or the reason for having none."""
    if set(wide) != set(narrow):
        text = str(dict(narrow))
        raise ParseError("blocks_disagree", f"{place} has other prices in its two blocks.", narrow=text)
    for key, cell in wide.items():
        other = read_price(narrow[key], f"{place} > {key}", no_price=NO_PRICE)
        if (cell.usd, cell.no_price) != (other.usd, other.no_price):
            raise ParseError(
                "blocks_disagree", f"{place} says two things about {key}.", wide=cell.text, narrow=other.text
            )


def _checked(row: Row, place: str) -> Row:
    """Refuse a row that contradicts itself: an odd count, spot above on-demand, a wrong price per GPU."""
    if row.count not in COUNTS:
        raise ParseError("odd_count", f"{place} has a number of GPUs nobody sells.", count=str(row.count))
    on_demand, spot = row.prices[ON_DEMAND], row.prices[SPOT]
    if on_demand.usd is not None and spot.usd is not None and spot.usd > on_demand.usd:
        raise ParseError("spot_above_on_demand", f"{place}: spot is above on-demand.", spot=spot.text)
    inference = row.prices.get(INFERENCE)
    if inference is not None and not _agrees(on_demand, inference, row.count):
        raise ParseError(
            "total_disagrees", f"{place}: the price per GPU is not the total over the count.",
            total=on_demand.text, count=str(row.count), per_gpu=inference.text,
        )  # fmt: skip
    return row


def _agrees(total: PriceCell, per_gpu: PriceCell, count: int) -> bool:
    if total.usd is None or per_gpu.usd is None:
        return total.no_price == per_gpu.no_price
    return abs(total.usd / count - per_gpu.usd) <= _HALF_A_CENT


def _compare_regions(rows: list[Row]) -> None:
    """Refuse the page when one name stands for different machines in two regions."""
    sizes: dict[str, Row] = {}
    for row in rows:
        other = sizes.setdefault(row.name, row)
        if other.sizes != row.sizes:
            raise ParseError(
                "regions_disagree", f"{row.name} is another machine in {row.region} than in {other.region}.",
                here=" / ".join(row.sizes), there=" / ".join(other.sizes),
            )  # fmt: skip


def _name(row: Row) -> Named:
    return name_accelerator(row.name, provider=PROVIDER, memory_gb=row.memory_gb, gpu_count=row.count)


def _cpu_left_out(grid: Grid) -> Finding:
    return Finding(
        code="left_out",
        level=Level.INFO,
        sentence="A table of machines without GPUs is left out.",
        evidence={"first_title": grid.titles[0], "titles": " | ".join(grid.titles)[:200]},
    )


def _row_findings(row: Row) -> Iterator[Finding]:
    """Report an instance offered without a price, and footnote marks nobody has met."""
    if row.prices[ON_DEMAND].no_price is NoPrice.CONTACT:
        sentence = "A GPU is offered without a price."
        evidence = {"name": row.name, "region": row.region, "text": row.prices[ON_DEMAND].text}
        yield Finding(code="contact_only", level=Level.INFO, sentence=sentence, evidence=evidence)
    marks = {*row.count_marks, *(mark for cell in row.prices.values() for mark in cell.marks)}
    if marks - KNOWN_MARKS:
        sentence = "A figure has a footnote mark nobody has met."
        evidence = {"name": row.name, "region": row.region, "marks": " ".join(sorted(marks))}
        yield Finding(code="unknown_footnote", level=Level.WARNING, sentence=sentence, evidence=evidence)


def _offers(row: Row, named: Named, url: str) -> Iterator[Offer]:
    note = f" (footnote {', '.join(row.count_marks)})" if row.count_marks else ""
    for key, pricing_model, term in PRICING:
        cell = row.prices[key]
        if cell.usd is None:
            continue
        yield Offer(
            provider=PROVIDER,
            sku=row.name,
            accelerator_as_written=row.name,
            accelerator=named.accelerator,
            family=named.family,
            slice_of=named.slice_of,
            gpu_count=row.count,
            min_gpus=row.count,
            list_price=cell.usd,
            price_basis=PriceBasis.INSTANCE_HOUR,
            pricing_model=pricing_model,
            service_kind=ServiceKind.INSTANCE,
            provider_term=term,
            region=REGIONS.get(row.region, row.region),
            memory_gb_as_written=row.memory_gb,
            source_url=url,
            fragment=f"REGION: {row.region} > {row.name}, {row.count} GPUs{note} > {key}: {cell.text}",
        )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(Request(url="https://www.coreweave.com/pricing"),),
    parse=parse,
    # 34 offers were there in 2026-10.
    expect=Expect(min_offers=27, anchors=("h100-sxm", "h200-sxm", "b200-sxm")),
)
