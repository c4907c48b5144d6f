"""Lambda: four tables of instances behind tabs, dollars per GPU-hour; and its API, cents per instance-hour.

The module has an underscore after the provider's id because the id is a word of Python.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from app.domain.findings import Finding, Level
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.amounts import Amount, read_amount
from scrapers.base import Expect, Key, Page, Parsed, ParseError, Request, Scraper
from scrapers.blocks import SIDE_TITLES, Vocabulary, known_names
from scrapers.dated import dated_titles, split_date
from scrapers.embedded import load_json
from scrapers.labelled import read_labelled
from scrapers.naming import Named, name_accelerator
from scrapers.offering import (
    Known,
    contact_only,
    know,
    left_out,
    memory_in,
    name_findings,
    once,
    refuse_other_terms,
)
from scrapers.reading import NoPrice, title_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from scrapers.records import Record

PROVIDER: Final = "lambda"

# The words table. The number of GPUs stands only in the tab; the price is for one of them.
TAB: Final = re.compile("([1248])x")
CLUSTERS: Final = re.compile("1-click clusters.*")
VRAM: Final = "vram/gpu"
VCPUS: Final = "vcpus"
HOST: Final = frozenset({VCPUS, "ram", "storage"})
PRICE: Final = "price/gpu/hr"
PRICE_TITLES: Final = (PRICE, f"{PRICE}*")
"""The asterisk stands for a footnote on taxes; before a date it is inside the title."""
CLUSTER_SIZE: Final = re.compile(r"([1-9][0-9]{1,3})\+? gpus")
CLUSTER_TERM: Final = re.compile("2 weeks (?:to|[-\u2013]) 1 year")
CLUSTER_DAYS: Final = (14, 365)
UNITS: Final = {"/gpu/hr": PriceBasis.GPU_HOUR, "/gpu/hour": PriceBasis.GPU_HOUR}
WORDS: Final = Vocabulary(
    titles=frozenset({VRAM, PRICE, *HOST}),
    title_patterns=(*dated_titles(PRICE_TITLES), CLUSTER_SIZE),
    name_titles=frozenset({"plan"}),
    heading_patterns=(TAB, CLUSTERS),
    names=known_names(PROVIDER),
)
TAX_NOTE: Final = "Sales tax may come on top, by the footnote at the price."


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One price of a record: its cell and title, the GPUs it is for, its start, and whether it commits."""

    amount: Amount
    title: str
    count: int
    valid_from: date | None = None
    is_commitment: bool = False


def parse(page: Page) -> Parsed:
    """Return the on-demand offers behind each tab, and what the page says of clusters as commitments.

    A price that is announced for a day starts on it; one that held until a day that has passed is left out.
    Raises ParseError when the tables cannot be told apart by their tabs.
    """
    records = read_labelled(page.body, WORDS, wanted=lambda one: _is_cluster(one) or _is_instance(one))
    _compare_tabs(records)
    refuse_other_terms(one for one in records if not _is_cluster(one))
    known = {_sku(one): know(one.name, provider=PROVIDER, memory_gb=_memory(one)) for one in records}
    noticed: list[Finding] = [*name_findings(known)]
    offers = once(offer for one in records for offer in _offers(one, known[_sku(one)], page, noticed=noticed))
    return Parsed(offers=tuple(offers), findings=tuple(noticed))


def _compare_tabs(records: tuple[Record, ...]) -> None:
    """Refuse the page when a plan has no more CPUs with more GPUs: tables stand behind each other's tabs."""
    sizes: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for record in records:
        tab, vcpus = TAB.fullmatch(record.section), record.text(VCPUS)
        if tab is not None and vcpus.isdigit():
            sizes[_sku(record)].add((int(tab[1]), int(vcpus)))
    for sku, of_plan in sizes.items():
        for fewer, more in pairwise(sorted(of_plan)):
            if fewer[1] >= more[1]:
                text = f"{fewer[0]}x: {fewer[1]}, {more[0]}x: {more[1]}"
                raise ParseError("tabs_disagree", f"{sku} has fewer CPUs with more GPUs.", vcpus=text)


def _is_cluster(record: Record) -> bool:
    return CLUSTERS.fullmatch(record.section) is not None


def _is_instance(record: Record) -> bool:
    return VRAM in record.keys or any(key.startswith(PRICE) for key in record.keys)


def _sku(record: Record) -> str:
    """Return the plan with its memory, which is what tells two plans of one name apart."""
    memory = record.text(VRAM)
    return f"{record.name} {memory}" if memory else record.name


def _memory(record: Record) -> Decimal | None:
    size = memory_in(record.text(VRAM))
    if size is None and not _is_cluster(record):
        raise ParseError("unreadable_number", f"{record.place} has no memory size.", text=record.text(VRAM))
    return size


def _offers(record: Record, known: Known, page: Page, *, noticed: list[Finding]) -> Iterator[Offer]:
    if _is_cluster(record):
        yield from _commitments(record, known, page.url, noticed=noticed)
        return
    tab = TAB.fullmatch(record.section)
    if tab is None:
        raise ParseError(
            "no_gpu_count", "A table stands behind no tab that tells its GPUs.", row=record.place
        )
    read_on = page.fetched_at.date()
    for cell in record.cells:
        if cell.key in {*HOST, VRAM, *SIDE_TITLES}:
            continue
        dated = split_date(title_key(cell.titles[-1]), read_on)
        if dated.title not in PRICE_TITLES:
            raise ParseError(
                "unknown_column", f"{record.place} has a title nobody has met.", column=cell.titles[-1]
            )
        amount = read_amount(cell, record.place, units=UNITS, titled=PriceBasis.GPU_HOUR)
        if amount.no_price is NoPrice.CONTACT:
            noticed.append(contact_only(record.name, amount.text, place=record.place))
        elif dated.last_day is not None and dated.last_day < read_on:
            noticed.append(
                left_out(_sku(record), "A price held until a day that has passed.", place=record.place)
            )
        elif amount.usd is not None:
            price = Price(
                amount=amount, title=cell.titles[-1], count=int(tab[1]), valid_from=dated.valid_from
            )
            yield _offer(record, known, page.url, price=price)


def _commitments(record: Record, known: Known, url: str, *, noticed: list[Finding]) -> Iterator[Offer]:
    """Yield cluster prices with their term; without a term in the headings they are left out."""
    term = next(filter(None, map(CLUSTER_TERM.search, map(title_key, record.path))), None)
    for cell in record.cells:
        size = CLUSTER_SIZE.fullmatch(cell.key)
        if term is None or size is None:
            noticed.append(
                left_out(record.name, "A commitment without a term that can be read.", place=record.place)
            )
            return
        amount = read_amount(cell, record.place, units=UNITS, titled=PriceBasis.GPU_HOUR)
        if amount.usd is not None:
            price = Price(amount=amount, title=cell.titles[-1], count=int(size[1]), is_commitment=True)
            yield _offer(record, known, url, price=price)


def _offer(record: Record, known: Known, url: str, *, price: Price) -> Offer:
    amount = price.amount
    if amount.usd is None or amount.basis is None:
        raise ParseError("no_price", f"{record.place} has no price.", text=amount.text)
    return Offer(
        provider=PROVIDER,
        sku=_sku(record),
        accelerator_as_written=record.name,
        accelerator=known.named.accelerator,
        family=known.named.family,
        slice_of=known.named.slice_of,
        variant_assumed=bool(known.because),
        assumptions=(*known.assumptions, TAX_NOTE),
        gpu_count=price.count,
        min_gpus=price.count,
        list_price=amount.usd,
        price_basis=amount.basis,
        pricing_model=PricingModel.RESERVED if price.is_commitment else PricingModel.ON_DEMAND,
        service_kind=ServiceKind.INSTANCE,
        provider_term="1-Click Clusters" if price.is_commitment else "On-demand",
        tier="1-Click Clusters" if price.is_commitment else "",
        term_days_min=CLUSTER_DAYS[0] if price.is_commitment else None,
        term_days_max=CLUSTER_DAYS[1] if price.is_commitment else None,
        memory_gb_as_written=memory_in(record.text(VRAM)),
        is_floor=amount.is_floor,
        valid_from=price.valid_from,
        source_url=url,
        fragment=f"{record.place} > {price.title}: {amount.text}",
    )


# The API: an object of instance types, each with its price in cents for the whole instance.
API_NAMES: Final = "lambda-instance-type"
TYPE_KEYS: Final = frozenset({"name", "price_cents_per_hour", "specs"})


def parse_api(page: Page) -> Parsed:
    """Return one offer for each instance type; the price is in whole cents for all its GPUs.

    The regions with capacity change by the minute and have one price, so they are told and not offered apart.
    """
    answer = load_json(page.body, "The answer")
    types = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(types, dict) or not types:
        raise ParseError("no_instance_types", "The answer holds no instance types.", text=str(answer)[:120])
    read = [_instance_type(key, entry, page.url) for key, entry in types.items()]
    offers = tuple(offer for offer, _ in read)
    return Parsed(offers=tuple(once(offers)), findings=tuple(one for _, found in read for one in found))


def _instance_type(key: str, entry: Any, url: str) -> tuple[Offer, tuple[Finding, ...]]:
    kind = entry.get("instance_type") if isinstance(entry, dict) else None
    if not isinstance(kind, dict) or not set(kind) >= TYPE_KEYS or kind["name"] != key:
        raise ParseError("wrong_kind", "An instance type lacks its name, price or sizes.", name=key)
    cents, count = kind["price_cents_per_hour"], kind["specs"].get("gpus")
    for what, value in (("price_cents_per_hour", cents), ("gpus", count)):
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise ParseError(
                "wrong_kind", f"{what} is not a whole number above 0.", name=key, value=repr(value)
            )
    described = str(kind.get("gpu_description") or kind.get("description") or "")
    memory_gb = memory_in(described)
    named = name_accelerator(key, provider=API_NAMES, memory_gb=memory_gb, gpu_count=count)
    regions = [str(one.get("name")) for one in entry.get("regions_with_capacity_available", [])]
    usd = Decimal(cents) / 100
    offer = _type_offer(kind, named, url, usd=usd, memory_gb=memory_gb, described=described)
    return offer, (*named.findings, *_named_otherwise(key, described, named), *_no_capacity(key, regions))


def _named_otherwise(key: str, described: str, named: Named) -> Iterator[Finding]:
    """Hold the run when the description has no word for the family we take the type's name for."""
    shown = set(re.findall("[a-z0-9]+", described.casefold()))
    if described and named.family is not None and not set(named.family.split("-")) <= shown | {"rtx"}:
        evidence = {"name": key, "description": described, "family": named.family}
        sentence = "The name and the description of an instance type do not name one GPU."
        yield Finding(code="names_disagree", level=Level.HOLD, sentence=sentence, evidence=evidence)


def _no_capacity(key: str, regions: list[str]) -> Iterator[Finding]:
    if not regions:
        sentence = "An instance type has a list price, and no region had one free."
        yield Finding(code="no_capacity", level=Level.INFO, sentence=sentence, evidence={"name": key})


def _type_offer(
    kind: Mapping[str, Any],
    named: Named,
    url: str,
    *,
    usd: Decimal,
    memory_gb: Decimal | None,
    described: str,
) -> Offer:
    return Offer(
        provider=PROVIDER,
        sku=str(kind["name"]),
        accelerator_as_written=described or str(kind["name"]),
        accelerator=named.accelerator,
        family=named.family,
        slice_of=named.slice_of,
        gpu_count=kind["specs"]["gpus"],
        min_gpus=kind["specs"]["gpus"],
        list_price=usd,
        price_basis=PriceBasis.INSTANCE_HOUR,
        pricing_model=PricingModel.ON_DEMAND,
        service_kind=ServiceKind.INSTANCE,
        memory_gb_as_written=memory_gb,
        source_url=url,
        fragment=f"data > {kind['name']} > price_cents_per_hour: {kind['price_cents_per_hour']} ({usd} USD)",
    )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(Request(url="https://lambda.ai/pricing"),),
    parse=parse,
    # 21 rows were there in 2026-07; 11 have been read since.
    expect=Expect(min_offers=10, anchors=("h100-sxm", "b200-sxm")),
)
API: Final = Scraper(
    provider=PROVIDER,
    requests=(
        Request(url="https://cloud.lambda.ai/api/v1/instance-types", key=Key(setting="lambda_api_key")),
    ),
    parse=parse_api,
    expect=Expect(min_offers=10, anchors=("a10",)),
)
