"""RunPod's serverless workers: the table of its documentation, dollars a second for one GPU of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.amounts import read_amount
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from scrapers.blocks import SIDE_TITLES, Vocabulary
from scrapers.labelled import read_labelled
from scrapers.naming import Named, name_accelerator
from scrapers.offering import memory_in, once, shown
from scrapers.reading import title_key

if TYPE_CHECKING:
    from scrapers.records import Record

PROVIDER: Final = "runpod"
NAMES: Final = "runpod-serverless"
"""The alias table's context: a row names a pool, which may be several GPUs under one price."""

# The words table.
GPU_TYPES: Final = title_key("GPU type(s)")
MEMORY: Final = "memory"
PRICES: Final = {"cost per second": PriceBasis.GPU_SECOND, "price per second": PriceBasis.GPU_SECOND}
DESCRIPTION: Final = "description"
UNITS: Final = {"/s": PriceBasis.GPU_SECOND, "/sec": PriceBasis.GPU_SECOND}
WORDS: Final = Vocabulary(
    titles=frozenset({MEMORY, DESCRIPTION, *PRICES}), name_titles=frozenset({GPU_TYPES})
)
POOL_NOTE: Final = "One price for a pool of several GPUs: which of them runs the work is not said."


def parse(page: Page) -> Parsed:
    """Return one offer for each pool; a pool of several GPUs has no accelerator of its own."""
    records, findings = shown(
        read_labelled(page.body, WORDS, wanted=lambda record: record.name_title == GPU_TYPES)
    )
    named = {
        one.name: name_accelerator(
            one.name, provider=NAMES, memory_gb=memory_in(one.text(MEMORY)), gpu_count=1
        )
        for one in records
    }
    offers = once(_offer(one, named[one.name], page.url) for one in records)
    noticed = (finding for one in named.values() for finding in one.findings)
    return Parsed(offers=tuple(offers), findings=(*findings, *noticed))


def _offer(record: Record, named: Named, url: str) -> Offer:
    record.check({MEMORY, DESCRIPTION, *PRICES}, side=SIDE_TITLES)
    prices = [cell for cell in record.cells if cell.key in PRICES]
    memory_gb = memory_in(record.text(MEMORY))
    if len(prices) != 1 or memory_gb is None:
        raise ParseError("price_unclear", f"{record.place} lacks its price or memory.", name=record.name)
    title = prices[0].titles[-1]
    amount = read_amount(prices[0], record.place, units=UNITS, titled=PRICES[prices[0].key])
    if amount.usd is None or amount.basis is None:
        raise ParseError("no_price", f"{record.place} has no price.", text=amount.text)
    return Offer(
        provider=PROVIDER,
        sku=record.name,
        accelerator_as_written=record.name,
        accelerator=named.accelerator,
        family=named.family,
        slice_of=named.slice_of,
        assumptions=(POOL_NOTE,) if "," in record.name else (),
        gpu_count=1,
        min_gpus=1,
        list_price=amount.usd,
        price_basis=amount.basis,
        pricing_model=PricingModel.ON_DEMAND,
        service_kind=ServiceKind.SERVERLESS,
        provider_term="Serverless",
        memory_gb_as_written=memory_gb,
        is_floor=amount.is_floor,
        source_url=url,
        fragment=f"{record.place} > {title}: {amount.text}",
    )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(
        Request(
            url="https://raw.githubusercontent.com/runpod/docs/main/snippets/serverless-gpu-pricing-table.mdx"
        ),
    ),
    parse=parse,
    # 10 pools were there in 2026-08.
    expect=Expect(min_offers=8, anchors=("h200-sxm", "b200-sxm")),
)
