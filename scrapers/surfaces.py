"""Several surfaces of one provider: read together in one run, or compared with each other."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from app.domain.findings import Finding, Level
from app.domain.offers import usd_per_gpu_hour
from scrapers.base import Expect, Scraper

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from app.domain.offers import Offer
    from scrapers.base import Page, Parsed

SAME_SHARE: Final = Decimal("0.01")
"""Two figures this near are one price that was rounded for another unit: 0.134 a minute and 8.00 an hour."""

_Thing = tuple[str, int, str, str, str, int | None, int | None, str]


def merged(first: Scraper, second: Scraper) -> Scraper:
    """Return one source of two surfaces that offer different things: both are read in every run.

    Which parser reads a page is told by the host it came from; a page from elsewhere is the first one's.
    """
    hosts = {urlsplit(request.url).hostname for request in second.requests}

    def parse(page: Page) -> Parsed:
        chosen = second if urlsplit(page.url).hostname in hosts else first
        return chosen.parse(page)

    return Scraper(
        provider=first.provider,
        requests=(*first.requests, *second.requests),
        parse=parse,
        expect=Expect(
            min_offers=first.expect.min_offers + second.expect.min_offers,
            anchors=tuple(dict.fromkeys((*first.expect.anchors, *second.expect.anchors))),
        ),
        never_met_live=first.never_met_live or second.never_met_live,
    )


def disagreements(offers: Iterable[Offer], others: Iterable[Offer]) -> Iterator[Finding]:
    """Yield a finding for each thing that two surfaces of a provider offer at different prices.

    Things are matched by accelerator, number of GPUs and terms, because surfaces do not name them alike; what
    has no accelerator or no price in dollars, or stands more than once at several prices, is not compared.
    """
    here, there = _prices(offers), _prices(others)
    for thing in here.keys() & there.keys():
        one, other = here[thing], there[thing]
        if len(one) == len(other) == 1 and not _is_same(min(one), min(other)):
            yield Finding(
                code="surfaces_disagree",
                level=Level.WARNING,
                sentence="Two surfaces of one provider give different prices for one thing.",
                evidence={
                    "accelerator": thing[0],
                    "gpus": str(thing[1]),
                    "here": f"{min(one):f} USD per GPU-hour",
                    "there": f"{min(other):f} USD per GPU-hour",
                },
            )


def _is_same(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) <= SAME_SHARE * max(one, other)


def _prices(offers: Iterable[Offer]) -> dict[_Thing, set[Decimal]]:
    prices: defaultdict[_Thing, set[Decimal]] = defaultdict(set)
    for offer in offers:
        price = usd_per_gpu_hour(offer)
        if offer.accelerator is not None and price is not None and offer.valid_from is None:
            prices[_thing(offer, offer.accelerator)].add(price)
    return dict(prices)


def _thing(offer: Offer, accelerator: str) -> _Thing:
    return (
        accelerator, offer.gpu_count, offer.service_kind.value, offer.pricing_model.value, offer.tier,
        offer.term_days_min, offer.term_days_max, offer.region,
    )  # fmt: skip
