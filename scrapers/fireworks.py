"""Fireworks: the table of on-demand deployments, dollars for one GPU for an hour or a minute by its title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.amounts import Amount, read_amount
from scrapers.base import Expect, Page, Parsed, ParseError, Request, Scraper
from scrapers.blocks import NEUTRAL_TITLES, SIDE_TITLES, Vocabulary, known_names
from scrapers.dated import dated_titles, split_date
from scrapers.labelled import read_labelled
from scrapers.offering import Known, contact_only, know, left_out, memory_in, name_findings, once, shown
from scrapers.reading import NoPrice, title_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from app.domain.findings import Finding
    from scrapers.dated import Dated
    from scrapers.records import Cell, Record

PROVIDER: Final = "fireworks"

# The words table. Other tables of the page are for tokens, images, audio and training; none has a GPU type.
GPU_TYPE: Final = "gpu type"
HEADINGS: Final = frozenset({
    "on demand deployments", "on-demand deployments", "on-demand pricing", "on demand pricing",
})  # fmt: skip
TITLES: Final = {
    "$ / hour (billed per second)": PriceBasis.GPU_HOUR,
    "$ / hour": PriceBasis.GPU_HOUR,
    "price ($) per hour": PriceBasis.GPU_HOUR,
    "price per hour": PriceBasis.GPU_HOUR,
    "$ / minute": PriceBasis.GPU_MINUTE,
    "price ($) per minute": PriceBasis.GPU_MINUTE,
    "price per minute": PriceBasis.GPU_MINUTE,
}
"""Price titles without their dates, with the time they state; the page turned from hours to minutes once."""
UNITS: Final = {
    "/hour": PriceBasis.GPU_HOUR, "/hr": PriceBasis.GPU_HOUR, "per hour": PriceBasis.GPU_HOUR,
    "/minute": PriceBasis.GPU_MINUTE, "/min": PriceBasis.GPU_MINUTE, "per minute": PriceBasis.GPU_MINUTE,
}  # fmt: skip
WORDS: Final = Vocabulary(
    titles=frozenset(TITLES),
    title_patterns=dated_titles(TITLES),
    name_titles=frozenset({GPU_TYPE}),
    headings=HEADINGS,
    names=known_names(PROVIDER),
)
MINUTE_NOTE: Final = (
    "Printed per minute and rounded to a tenth of a cent, so 60 times the figure may be up to 3 cents an hour"
    " off the price it was rounded from."
)


def parse(page: Page) -> Parsed:
    """Return one offer for each GPU and price column that holds on the day the page was read, or later.

    A column until a day that has passed is left out; a column from a day gives that day as the offer's start.
    Raises ParseError when the table is missing or the time a price is for is not stated.
    """
    records, findings = shown(read_labelled(page.body, WORDS, wanted=_is_deployment))
    known = {one.name: know(one.name, provider=PROVIDER, memory_gb=memory_in(one.name)) for one in records}
    noticed: list[Finding] = [*findings, *name_findings(known)]
    offers = once(offer for one in records for offer in _offers(one, known[one.name], page, noticed=noticed))
    return Parsed(offers=tuple(offers), findings=tuple(noticed))


def _is_deployment(record: Record) -> bool:
    return record.name_title == GPU_TYPE or record.section in HEADINGS


def _offers(record: Record, known: Known, page: Page, *, noticed: list[Finding]) -> Iterator[Offer]:
    read_on = page.fetched_at.date()
    cells = [cell for cell in record.cells if cell.key not in SIDE_TITLES - {""}]
    if not cells:
        raise ParseError("no_price", f"{record.place} has no price.", name=record.name)
    for cell in cells:
        titled, dated = _column(cell, record.place, read_on)
        amount = read_amount(cell, f"{record.place} > {dated.title}", units=UNITS, titled=titled)
        if amount.no_price is NoPrice.CONTACT:
            noticed.append(contact_only(record.name, amount.text, place=record.place))
        elif dated.last_day is not None and dated.last_day < read_on:
            noticed.append(
                left_out(record.name, "A price held until a day that has passed.", place=cell.titles[-1])
            )
        elif amount.usd is not None:
            yield _offer(
                record, known, page.url, amount=amount, title=cell.titles, valid_from=dated.valid_from
            )


def _column(cell: Cell, place: str, near: date) -> tuple[PriceBasis | None, Dated]:
    """Return the basis the titles over a cell state, and their dates."""
    parts = [
        split_date(title_key(title), near) for title in cell.titles if title_key(title) not in NEUTRAL_TITLES
    ]
    bases = [part.title for part in parts if part.title]
    strange = [title for title in bases if title not in TITLES]
    if strange or len({TITLES[title] for title in bases}) > 1:
        raise ParseError(
            "unknown_column", f"{place} has a title nobody has met.", column=" > ".join(cell.titles)
        )
    dated = [part for part in parts if part.valid_from or part.last_day]
    if len(dated) > 1:
        raise ParseError(
            "unknown_column", f"{place} has a title with two dates.", column=" > ".join(cell.titles)
        )
    return (TITLES[bases[0]] if bases else None), (dated or parts or [split_date("", near)])[0]


def _offer(
    record: Record, known: Known, url: str, *, amount: Amount, title: tuple[str, ...], valid_from: date | None
) -> Offer:
    if amount.usd is None or amount.basis is None:
        raise ParseError("no_price", f"{record.place} has no price.", text=amount.text)
    notes = (MINUTE_NOTE,) if amount.basis is PriceBasis.GPU_MINUTE else ()
    return Offer(
        provider=PROVIDER,
        sku=record.name,
        accelerator_as_written=record.name,
        accelerator=known.named.accelerator,
        family=known.named.family,
        slice_of=known.named.slice_of,
        variant_assumed=bool(known.because),
        assumptions=(*known.assumptions, *notes),
        gpu_count=1,
        min_gpus=1,
        list_price=amount.usd,
        price_basis=amount.basis,
        pricing_model=PricingModel.ON_DEMAND,
        service_kind=ServiceKind.DEDICATED_DEPLOYMENT,
        provider_term="On-demand",
        memory_gb_as_written=memory_in(record.name),
        is_floor=amount.is_floor,
        valid_from=valid_from,
        source_url=url,
        fragment=" > ".join((record.place, *title)) + f": {amount.text}",
    )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(Request(url="https://fireworks.ai/pricing"),),
    parse=parse,
    # 4 GPUs were there in 2025-12, 5 in 2026-09.
    expect=Expect(min_offers=4, anchors=("h100-sxm", "h200-sxm", "b200-sxm")),
)
