"""DeepInfra: the table of GPUs for private deployments, and the page of instances, in dollars per hour."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.amounts import read_amount
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from scrapers.blocks import SIDE_TITLES, Vocabulary, known_names
from scrapers.labelled import read_labelled
from scrapers.offering import Known, know, memory_in, name_findings, once, shown

if TYPE_CHECKING:
    from decimal import Decimal

    from scrapers.records import Record

PROVIDER: Final = "deepinfra"

# The words table. The token tables of the same page have other titles, and no figure of theirs has a unit.
MEMORY: Final = "memory"
PRICE: Final = "price"
DEPLOYMENT_UNITS: Final = {
    "/gpu-hour": PriceBasis.GPU_HOUR, "/gpu hour": PriceBasis.GPU_HOUR, "per gpu-hour": PriceBasis.GPU_HOUR,
    "per gpu hour": PriceBasis.GPU_HOUR,
}  # fmt: skip
DEPLOYMENT_WORDS: Final = Vocabulary(
    titles=frozenset({MEMORY, PRICE}), name_titles=frozenset({"gpu"}), names=known_names(PROVIDER)
)
INSTANCES_PATH: Final = "/gpu-instances"
INSTANCE_UNITS: Final = {
    "/hour": PriceBasis.INSTANCE_HOUR, "/hr": PriceBasis.INSTANCE_HOUR, "per hour": PriceBasis.INSTANCE_HOUR,
}  # fmt: skip
INSTANCE_COUNTS: Final = (1, 2, 4, 8)
INSTANCE_WORDS: Final = Vocabulary(
    titles=frozenset({PRICE}),
    name_titles=frozenset({"instance", "configuration"}),
    names=frozenset(f"{count}x {name}" for count in INSTANCE_COUNTS for name in known_names(PROVIDER)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """What a record is for: so many GPUs of one name and memory, as a deployment or as an instance."""

    sku: str
    name: str
    count: int = 1
    memory_gb: Decimal | None = None
    is_deployment: bool = False


DEPLOYMENT_NOTE: Final = "A private deployment of a language model, paid for every hour a GPU is up."

_COUNTED: Final = re.compile(r"([1-9][0-9]?)x (.+)")


def parse(page: Page) -> Parsed:
    """Return the offers of the page: GPUs of private deployments, or instances where its address says so.

    Raises ParseError when the table is missing, or a figure in it is not for one GPU (one instance) an hour.
    """
    if urlsplit(page.url).path.rstrip("/") == INSTANCES_PATH:
        return _parse_instances(page)
    records, findings = shown(read_labelled(page.body, DEPLOYMENT_WORDS, wanted=_is_deployment))
    known = {_sku(one): know(one.name, provider=PROVIDER, memory_gb=_memory(one)) for one in records}
    offers = once(_deployment(one, known[_sku(one)], page.url) for one in records)
    return Parsed(offers=tuple(offers), findings=(*findings, *name_findings(known)))


def _is_deployment(record: Record) -> bool:
    """Tell the GPU table's rows by their titles: no other table has a memory and a price."""
    return record.name_title == "gpu" or {MEMORY, PRICE} <= record.keys


def _sku(record: Record) -> str:
    return f"{record.name} {record.text(MEMORY)}"


def _memory(record: Record) -> Decimal:
    size = memory_in(record.text(MEMORY))
    if size is None:
        raise ParseError("unreadable_number", f"{record.place} has no memory size.", text=record.text(MEMORY))
    return size


def _deployment(record: Record, known: Known, url: str) -> Offer:
    record.check({MEMORY, PRICE}, side=SIDE_TITLES)
    thing = Thing(sku=_sku(record), name=record.name, memory_gb=_memory(record), is_deployment=True)
    return _offer(record, known, url, thing=thing)


def _parse_instances(page: Page) -> Parsed:
    records, findings = shown(
        read_labelled(page.body, INSTANCE_WORDS, wanted=lambda record: bool(_COUNTED.fullmatch(record.name)))
    )
    parts = {record.name: _counted(record.name) for record in records}
    known = {label: know(name, provider=PROVIDER, gpu_count=count) for label, (count, name) in parts.items()}
    offers = once(_instance(one, known[one.name], page.url) for one in records)
    return Parsed(offers=tuple(offers), findings=(*findings, *name_findings(known)))


def _counted(label: str) -> tuple[int, str]:
    """Split `8x NVIDIA B200` into the number of GPUs and the name of one."""
    found = _COUNTED.fullmatch(label)
    if found is None or int(found[1]) not in INSTANCE_COUNTS:
        raise ParseError("odd_count", "An instance has a number of GPUs nobody sells.", text=label)
    return int(found[1]), found[2]


def _instance(record: Record, known: Known, url: str) -> Offer:
    count, name = _counted(record.name)
    return _offer(record, known, url, thing=Thing(sku=record.name, name=name, count=count))


def _offer(record: Record, known: Known, url: str, *, thing: Thing) -> Offer:
    prices = [cell for cell in record.cells if cell.key in {PRICE, ""} and cell.text]
    if len(prices) != 1:
        raise ParseError("price_unclear", f"{record.place} has no price or several.", name=record.name)
    amount = read_amount(
        prices[0], record.place, units=DEPLOYMENT_UNITS if thing.is_deployment else INSTANCE_UNITS
    )
    if amount.usd is None or amount.basis is None:
        raise ParseError("no_price", f"{record.place} has no price.", text=amount.text)
    return Offer(
        provider=PROVIDER,
        sku=thing.sku,
        accelerator_as_written=thing.name,
        accelerator=known.named.accelerator,
        family=known.named.family,
        slice_of=known.named.slice_of,
        variant_assumed=bool(known.because),
        assumptions=(*known.assumptions, *((DEPLOYMENT_NOTE,) if thing.is_deployment else ())),
        gpu_count=thing.count,
        min_gpus=thing.count,
        list_price=amount.usd,
        price_basis=amount.basis,
        pricing_model=PricingModel.ON_DEMAND,
        service_kind=ServiceKind.DEDICATED_DEPLOYMENT if thing.is_deployment else ServiceKind.INSTANCE,
        memory_gb_as_written=thing.memory_gb,
        is_floor=amount.is_floor,
        source_url=url,
        fragment=f"{record.place} > {PRICE}: {amount.text}",
    )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    # The page of instances is read when it is given, and not asked for: nobody has stored its layout yet.
    requests=(Request(url="https://deepinfra.com/pricing"),),
    parse=parse,
    # 4 GPUs were there in 2025-12, 5 in 2026-09.
    expect=Expect(min_offers=4, anchors=("h100-sxm", "h200-sxm", "b200-sxm")),
)
