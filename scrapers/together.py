"""Together AI: GPU clusters on demand, reserved and preemptible, and dedicated inference, per GPU-hour."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from app.domain.findings import Finding, Level
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.amounts import Amount, read_amount
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from scrapers.blocks import NEUTRAL_TITLES, SIDE_TITLES, Vocabulary, known_names
from scrapers.labelled import read_labelled
from scrapers.offering import Known, contact_only, know, name_findings, once
from scrapers.reading import NoPrice, title_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from scrapers.records import Cell, Record

PROVIDER: Final = "together"


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product of the page: what kind it is, the GPUs it comes in, and what is to be said of it."""

    service_kind: ServiceKind
    gpu_count: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """How a price column binds; `contact` is a column that may only say whom to ask."""

    pricing_model: PricingModel
    term: str
    days: tuple[int, int] | None = None
    contact: bool = False


# The words table. The two products have the same row names, so the heading decides which one a row is of.
CLUSTERS: Final = Product(
    service_kind=ServiceKind.INSTANCE,
    gpu_count=8,
    note="Clusters come in multiples of 8 GPUs, by Together's documentation of 2026-08.",
)
DEDICATED: Final = Product(
    service_kind=ServiceKind.DEDICATED_DEPLOYMENT,
    gpu_count=1,
    note="A managed endpoint, paid for while it runs; not a cluster.",
)
PRODUCTS: Final = {
    "gpu clusters": CLUSTERS,
    "reserve gpu capacity": CLUSTERS,
    "dedicated inference": DEDICATED,
    "dedicated endpoints": DEDICATED,
}
OTHER_HEADINGS: Final = frozenset(
    {"sandbox", "code sandbox", "fine-tuning", "serverless inference", "storage"}
)
ON_DEMAND: Final = Column(pricing_model=PricingModel.ON_DEMAND, term="On-demand")
SPOT: Final = Column(pricing_model=PricingModel.SPOT, term="Preemptible Compute")
ASK: Final = Column(pricing_model=PricingModel.RESERVED, term="Reserved", contact=True)
COLUMNS: Final = {
    "on-demand": ON_DEMAND,
    "hourly": ON_DEMAND,
    "pay as you go": ON_DEMAND,
    "preemptible compute": SPOT,
    "preemptible": SPOT,
    "reserved": ASK,
    "181+ days": Column(pricing_model=PricingModel.RESERVED, term="181+ days", contact=True),
}
DAYS: Final = re.compile("([1-9][0-9]{0,2}) ?[-\u2013] ?([1-9][0-9]{0,2}) days")
UNITS: Final = {"/hour": PriceBasis.GPU_HOUR, "/hr": PriceBasis.GPU_HOUR, "/gpu/hr": PriceBasis.GPU_HOUR}
WORDS: Final = Vocabulary(
    titles=frozenset(COLUMNS),
    title_patterns=(DAYS,),
    name_titles=frozenset({"hardware"}),
    headings=frozenset({*PRODUCTS, *OTHER_HEADINGS}),
    names=known_names(PROVIDER),
)


def parse(page: Page) -> Parsed:
    """Return the offers of both products: each price column of a row is one offer.

    The preemptible column counts whether it is shown or hidden, always as preemptible. A price that stands in
    several tables is one offer; two prices for one thing refuse the page, as does a price without a term.
    """
    records = read_labelled(page.body, WORDS, wanted=lambda record: record.section in PRODUCTS)
    names = {one.name: _name(one.name) for one in records}
    known = {name: know(name, provider=PROVIDER) for name in names.values()}
    noticed: list[Finding] = list(name_findings(known))
    offers = once(
        offer for one in records
        for offer in _offers(one, names[one.name], known[names[one.name]], url=page.url, noticed=noticed)
    )  # fmt: skip
    taken = tuple(offers)
    return Parsed(offers=taken, findings=(*_each_once(noticed), *_dear_terms(taken)))


def _each_once(noticed: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings without those that another table of the page repeats."""
    return tuple(one for place, one in enumerate(noticed) if one not in noticed[:place])


def _dear_terms(offers: tuple[Offer, ...]) -> Iterator[Finding]:
    """Hold the run when a longer commitment costs more than a shorter one: two columns may have slipped."""
    terms: defaultdict[str, list[tuple[int, Decimal]]] = defaultdict(list)
    for offer in offers:
        if offer.term_days_min is not None:
            terms[offer.sku].append((offer.term_days_min, offer.list_price))
    for sku, prices in terms.items():
        for shorter, longer in pairwise(sorted(prices)):
            if longer[1] > shorter[1]:
                evidence = {"name": sku, "shorter": str(shorter[1]), "longer": str(longer[1])}
                sentence = "A longer commitment costs more than a shorter one."
                yield Finding(code="dear_term", level=Level.HOLD, sentence=sentence, evidence=evidence)


def _name(text: str) -> str:
    """Return the name; the page has printed HGX twice in it."""
    return text.replace("HGX HGX", "HGX")


def _offers(record: Record, name: str, known: Known, *, url: str, noticed: list[Finding]) -> Iterator[Offer]:
    product = PRODUCTS[record.section]
    priced = [cell for cell in record.cells if cell.text and cell.key not in SIDE_TITLES - {""}]
    if not priced:
        raise ParseError("no_price", f"{record.place} has no price.", name=record.name)
    for cell in priced:
        column = _column(cell, record)
        if cell.is_hidden and column.pricing_model is not PricingModel.SPOT:
            continue
        place = f"{record.place} > {column.term}"
        amount = read_amount(cell, place, units=UNITS, titled=PriceBasis.GPU_HOUR)
        if amount.no_price is NoPrice.CONTACT:
            noticed.append(contact_only(name, amount.text, place=place))
        elif amount.usd is not None and column.contact:
            raise ParseError(
                "unknown_term", f"{place} has a price, and no term is known for it.", text=amount.text
            )
        elif amount.usd is not None:
            yield _offer(name, known, product, column=column, amount=amount, place=place, url=url)


def _column(cell: Cell, record: Record) -> Column:
    """Return what a cell's title says; a headless table says it in the heading above.

    Titles above one another must agree, and a price on demand must not stand under a heading of other terms.
    """
    section = next(place for place, text in enumerate(record.path) if title_key(text) == record.section)
    headings = [text for text in record.path[section + 1 :] if title_key(text) in COLUMNS]
    titles = [title for title in cell.titles if title_key(title) not in NEUTRAL_TITLES] or headings[-1:]
    models = {_titled(title, record.place).pricing_model for title in titles}
    column = _titled(titles[-1] if titles else "", record.place)
    if column is ON_DEMAND:
        models |= {_titled(heading, record.place).pricing_model for heading in headings}
    if len(models) > 1:
        text = " > ".join((*headings, *titles))
        raise ParseError("terms_disagree", f"{record.place} says two things about its terms.", titles=text)
    return column


def _titled(title: str, place: str) -> Column:
    key = title_key(title)
    found = DAYS.fullmatch(key)
    if found is None:
        if key not in COLUMNS:
            raise ParseError("unknown_column", f"{place} has a title nobody has met.", column=title)
        return COLUMNS[key]
    first, last = int(found[1]), int(found[2])
    if first >= last:
        raise ParseError("unknown_column", f"{place} has a term that ends before it begins.", column=title)
    return Column(pricing_model=PricingModel.RESERVED, term=title, days=(first, last))


def _offer(
    name: str, known: Known, product: Product, *, column: Column, amount: Amount, place: str, url: str
) -> Offer:
    if amount.usd is None or amount.basis is None:
        raise ParseError("no_price", f"{place} has no price.", text=amount.text)
    return Offer(
        provider=PROVIDER,
        sku=name,
        accelerator_as_written=name,
        accelerator=known.named.accelerator,
        family=known.named.family,
        slice_of=known.named.slice_of,
        variant_assumed=bool(known.because),
        assumptions=(*known.assumptions, product.note),
        gpu_count=product.gpu_count,
        min_gpus=product.gpu_count,
        list_price=amount.usd,
        price_basis=amount.basis,
        pricing_model=column.pricing_model,
        service_kind=product.service_kind,
        provider_term=column.term,
        term_days_min=column.days[0] if column.days else None,
        term_days_max=column.days[1] if column.days else None,
        is_floor=amount.is_floor,
        source_url=url,
        fragment=f"{place}: {amount.text}",
    )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(Request(url="https://www.together.ai/pricing"),),
    parse=parse,
    # 14 offers were there in 2026-09 (clusters on demand and reserved, two of dedicated inference).
    expect=Expect(min_offers=12, anchors=("h100-sxm", "h200-sxm", "b200-sxm")),
)
