"""Modal: one price page, a block of GPU tasks, dollars per second for one GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.amounts import read_amount
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from scrapers.blocks import SIDE_TITLES, Vocabulary, known_names
from scrapers.labelled import read_labelled
from scrapers.offering import Known, know, memory_in, name_findings, once, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapers.records import Record

PROVIDER: Final = "modal"

# The words table: the block's heading, those of the blocks after it, column titles, and units.
GPU_TASKS: Final = "gpu tasks"
OTHER_HEADINGS: Final = frozenset({
    "cpu", "memory", "volumes", "volume storage", "storage", "sandboxes", "sandboxes & notebooks",
    "compute costs", "resource costs",
})  # fmt: skip
TITLES: Final[Mapping[str, PriceBasis | None]] = {
    "": None,
    "price": None,
    "cost": None,
    "price / sec": PriceBasis.GPU_SECOND,
    "price per second": PriceBasis.GPU_SECOND,
    "cost per second": PriceBasis.GPU_SECOND,
    "price per hour": PriceBasis.GPU_HOUR,
}
"""Titles over a price, with the basis they state; without one the figure must say it."""
UNITS: Final = {
    "/sec": PriceBasis.GPU_SECOND, "/s": PriceBasis.GPU_SECOND, "per second": PriceBasis.GPU_SECOND,
    "/hr": PriceBasis.GPU_HOUR, "/hour": PriceBasis.GPU_HOUR, "per hour": PriceBasis.GPU_HOUR,
}  # fmt: skip
WORDS: Final = Vocabulary(
    titles=frozenset(TITLES) - {""},
    name_titles=frozenset({"gpu", "gpu type"}),
    headings=frozenset({GPU_TASKS, *OTHER_HEADINGS}),
    names=known_names(PROVIDER),
)
ASSUMPTIONS: Final = (
    (
        "Base rate: in any region, and the work may be stopped. By its documentation of 2026-06 Modal asks"
        " 1.5 to 1.75 times as much in a chosen region, and 3 times for work that may not be stopped."
    ),
    "CPU and memory are billed on top.",
)


def parse(page: Page) -> Parsed:
    """Return one offer for each GPU of the block of GPU tasks.

    Raises ParseError when the block is missing or one of its prices is not for one GPU for a known time.
    """
    records, findings = shown(
        read_labelled(page.body, WORDS, wanted=lambda record: record.section == GPU_TASKS)
    )
    known = {
        record.name: know(record.name, provider=PROVIDER, memory_gb=memory_in(record.name))
        for record in records
    }
    offers = once(_offer(record, known[record.name], page.url) for record in records)
    return Parsed(offers=tuple(offers), findings=(*findings, *name_findings(known)))


def _offer(record: Record, known: Known, url: str) -> Offer:
    cells = [cell for cell in record.cells if cell.key not in SIDE_TITLES - {""}]
    if len(cells) != 1 or cells[0].key not in TITLES:
        titles = " | ".join(cell.key for cell in cells)
        raise ParseError("unknown_column", f"{record.place} has other titles than its price.", titles=titles)
    amount = read_amount(cells[0], record.place, units=UNITS, titled=TITLES[cells[0].key])
    if amount.usd is None or amount.basis is None:
        raise ParseError("no_price", f"{record.place} has no price.", text=amount.text)
    return Offer(
        provider=PROVIDER,
        sku=record.name,
        accelerator_as_written=record.name,
        accelerator=known.named.accelerator,
        family=known.named.family,
        slice_of=known.named.slice_of,
        variant_assumed=bool(known.because),
        assumptions=(*known.assumptions, *ASSUMPTIONS),
        gpu_count=1,
        min_gpus=1,
        list_price=amount.usd,
        price_basis=amount.basis,
        pricing_model=PricingModel.ON_DEMAND,
        service_kind=ServiceKind.SERVERLESS,
        memory_gb_as_written=memory_in(record.name),
        is_floor=amount.is_floor,
        source_url=url,
        fragment=f"{record.place}: {amount.text}",
    )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(Request(url="https://modal.com/pricing"),),
    parse=parse,
    # 10 GPUs were there in 2026-08, 11 in 2026-09.
    expect=Expect(min_offers=8, anchors=("h100-sxm", "h200-sxm", "b200-sxm", "l4")),
)
