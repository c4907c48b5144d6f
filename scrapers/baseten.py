"""Baseten: the table of GPU instances in its documentation, dollars a minute for the whole instance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.amounts import Amount, read_amount
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from scrapers.blocks import SIDE_TITLES, Vocabulary, undoubled
from scrapers.embedded import flight_rows, objects
from scrapers.grid import read_document
from scrapers.labelled import read_labelled
from scrapers.offering import Known, know, memory_in, name_findings, once, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapers.records import Record

PROVIDER: Final = "baseten"

# The words table. The table of machines without GPUs has the same unit and two titles fewer.
GPU_INSTANCES: Final = "gpu instances"
OTHER_HEADINGS: Final = frozenset({"cpu-only instances", "cpu instances"})
INSTANCE: Final = "instance"
GPU: Final = "gpu"
VRAM: Final = "vram"
PRICES: Final = {
    "$/min": PriceBasis.INSTANCE_MINUTE,
    "$ / min": PriceBasis.INSTANCE_MINUTE,
    "price per minute": PriceBasis.INSTANCE_MINUTE,
    "$/hour": PriceBasis.INSTANCE_HOUR,
    "price per hour": PriceBasis.INSTANCE_HOUR,
}
HOST: Final = frozenset({"vcpu", "ram"})
WORDS: Final = Vocabulary(
    titles=frozenset({*PRICES, *HOST, GPU, VRAM}),
    name_titles=frozenset({INSTANCE}),
    headings=frozenset({GPU_INSTANCES, *OTHER_HEADINGS}),
)
UNITS: Final = {"/min": PriceBasis.INSTANCE_MINUTE, "/hour": PriceBasis.INSTANCE_HOUR}
NOTE: Final = "vCPU and RAM of the instance are in the price."
FRACTION: Final = "Fractional"

_GPUS: Final = re.compile(rf"(?:([1-9][0-9]?) |{FRACTION} )?([A-Z].+)")
_NAMED_COUNT: Final = re.compile(r".+?:([1-9][0-9]?)(?:x[0-9]+x[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """The GPU cell: how many, the name of one as the alias table has it, and whether it is a part of one."""

    count: int
    name: str
    is_part: bool


def parse(page: Page) -> Parsed:
    """Return one offer for each GPU instance; the price is for the whole instance with CPU and RAM.

    Raises ParseError when the table is missing, its price is for another time, or a row contradicts itself.
    """
    records, findings = shown(read_labelled(page.body, WORDS, wanted=_is_gpu_instance))
    known: dict[str, Known] = {}
    offers = tuple(once(_offer(one, page.url, known=known) for one in records))
    return Parsed(offers=offers, findings=(*findings, *name_findings(known)))


def _is_gpu_instance(record: Record) -> bool:
    return record.section == GPU_INSTANCES or {GPU, VRAM} <= record.keys


def _offer(record: Record, url: str, *, known: dict[str, Known]) -> Offer:
    record.check({*PRICES, *HOST, GPU, VRAM}, side=SIDE_TITLES)
    gpus = _gpus(record)
    amount, title = _price(record)
    memory_gb = _memory(record, gpus)
    one = know(gpus.name, provider=PROVIDER, memory_gb=memory_gb, gpu_count=gpus.count)
    known.setdefault(f"{gpus.name} {memory_gb}", one)
    return _as_offer(
        one, amount, url, sku=record.name, gpus=gpus, memory_gb=memory_gb,
        fragment=f"{record.place} > {title}: {amount.text}",
    )  # fmt: skip


def _gpus(record: Record) -> Gpus:
    """Read the GPU cell, and refuse a row whose instance name tells another number of GPUs."""
    text = undoubled(record.text(GPU))
    found = _GPUS.fullmatch(text)
    if found is None:
        raise ParseError("unreadable_gpu", f"{record.place} names no GPU.", text=text)
    count = int(found[1] or 1)
    named = _NAMED_COUNT.fullmatch(record.name)
    if count != int(named[1] if named else 1):
        raise ParseError("counts_disagree", f"{record.place} has two numbers of GPUs.", text=text)
    name = found[2].removesuffix("s") if count > 1 else found[2]
    is_part = text.startswith(FRACTION)
    return Gpus(count=count, name=f"{FRACTION} {name}" if is_part else name, is_part=is_part)


def _price(record: Record) -> tuple[Amount, str]:
    prices = [cell for cell in record.cells if cell.key in PRICES]
    if len(prices) != 1:
        raise ParseError("price_unclear", f"{record.place} has no price or several.", name=record.name)
    amount = read_amount(prices[0], record.place, units=UNITS, titled=PRICES[prices[0].key])
    return amount, prices[0].titles[-1]


def _memory(record: Record, gpus: Gpus) -> Decimal:
    """Return the memory of one GPU; the column has the sum over all of them."""
    total = memory_in(record.text(VRAM))
    if total is None:
        raise ParseError("unreadable_number", f"{record.place} has no memory size.", text=record.text(VRAM))
    return total / gpus.count


def _as_offer(
    known: Known, amount: Amount, url: str, *, sku: str, gpus: Gpus, memory_gb: Decimal | None, fragment: str
) -> Offer:
    if amount.usd is None or amount.basis is None:
        raise ParseError("no_price", f"{sku} has no price.", text=amount.text)
    return Offer(
        provider=PROVIDER,
        sku=sku,
        accelerator_as_written=gpus.name,
        accelerator=known.named.accelerator,
        family=known.named.family,
        slice_of=known.named.slice_of,
        variant_assumed=bool(known.because),
        assumptions=(*known.assumptions, NOTE),
        gpu_count=gpus.count,
        min_gpus=gpus.count,
        list_price=amount.usd,
        price_basis=amount.basis,
        pricing_model=PricingModel.ON_DEMAND,
        service_kind=ServiceKind.DEDICATED_DEPLOYMENT,
        memory_gb_as_written=memory_gb,
        is_floor=amount.is_floor,
        source_url=url,
        fragment=fragment,
    )


# The marketing page: its data has the price for an hour, while the text beside it is for a minute.
RECORD_KEYS: Final = frozenset({"instanceType", "name", "specs", "pricePerHour"})


def parse_page(page: Page) -> Parsed:
    """Return the offers in the data of the marketing page, which lists fewer GPUs than the documentation."""
    rows = flight_rows(read_document(page.body))
    found = [one for row in rows.values() for one in objects(row) if set(one) >= RECORD_KEYS]
    records = [one for one in found if one["instanceType"] == "gpu"]
    if not records:
        raise ParseError("missing_table", "The page's data holds no GPU instance.", records=str(len(found)))
    known = {str(one["name"]): _know_record(one) for one in records}
    offers = tuple(once(_from_record(one, known[str(one["name"])], page.url) for one in records))
    return Parsed(offers=offers, findings=name_findings(known))


def _know_record(record: Mapping[str, Any]) -> Known:
    return know(
        str(record["name"]), provider=PROVIDER, memory_gb=memory_in(str(record["specs"])), gpu_count=1
    )


def _from_record(record: Mapping[str, Any], known: Known, url: str) -> Offer:
    price = record["pricePerHour"]
    if isinstance(price, bool) or not isinstance(price, int | Decimal) or price <= 0:
        raise ParseError(
            "wrong_kind", "A price is no number above zero.", name=str(record), value=repr(price)
        )
    name = str(record["name"])
    amount = Amount(text=str(price), usd=Decimal(price), basis=PriceBasis.INSTANCE_HOUR)
    return _as_offer(
        known, amount, url, sku=name, gpus=Gpus(count=1, name=name, is_part=known.named.slice_of is not None),
        memory_gb=memory_in(str(record["specs"])), fragment=f"gpu > {name} > pricePerHour: {price}",
    )  # fmt: skip


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(Request(url="https://docs.baseten.co/deployment/resources.md"),),
    parse=parse,
    # 26 instances were there in an undated copy before the H200 and B200 came.
    expect=Expect(min_offers=20, anchors=("t4", "l4", "a10g")),
)
PAGE: Final = Scraper(
    provider=PROVIDER,
    requests=(Request(url="https://www.baseten.co/pricing/"),),
    parse=parse_page,
    # 7 GPUs were there in 2026-09.
    expect=Expect(min_offers=5, anchors=("t4", "l4", "b200-sxm")),
)
