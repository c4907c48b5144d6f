"""Vast.ai: a marketplace, published as the lowest and the median ask of each kind with their number."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from statistics import median, median_low
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from app.domain.accelerators import load_catalogue
from app.domain.findings import Finding, Level
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from scrapers.base import Expect, Key, Page, Parsed, ParseError, Request, Scraper
from scrapers.embedded import load_json
from scrapers.naming import Named, name_accelerator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROVIDER: Final = "vast"

# The words table: the keys read. `dph_total` is for all GPUs of an offer, `gpu_ram` is MiB of one of them.
NAME: Final = "gpu_name"
RAM: Final = "gpu_ram"
COUNT: Final = "num_gpus"
TOTAL: Final = "dph_total"
RENTABLE: Final = "rentable"

FEWEST_ASKS: Final = 5
"""A kind with fewer offers has no price: one seller's ask is not a market."""
MOST_SHOWN: Final = 40
"""Asks written out beside a statistic."""
WORDS: Final = {"min": "lowest", "median": "median"}
LEAST_RAM_MIB: Final = 1024
"""A smaller figure is not in MiB: no card with less than a GiB is rented out."""
TOTAL_NOTE: Final = "For all GPUs of the offer, with the disk the marketplace adds by default."
MIB_PER_GIB: Final = 1024
QUERY: Final = {
    "verified": {"eq": True}, "rentable": {"eq": True}, "external": {"eq": False}, "type": "on-demand",
    "order": [["dph_total", "asc"]], "limit": 10_000,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One seller's offer: the GPU's name, the GiB of one to a tenth, their number, and dollars for all."""

    name: str
    memory_gib: Decimal
    count: int
    total_usd: Decimal


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """What asks must share to be compared: the sku, what it stands for, and the number of GPUs."""

    sku: str
    accelerator: str
    count: int


def parse(page: Page) -> Parsed:
    """Return the lowest and the middle ask of each kind with at least five offers.

    Prices are on-demand asks for the whole offer. Kinds with fewer offers are findings with their asks.
    Raises ParseError when the answer holds no offers or a value is of another kind than expected.
    """
    entries = _entries(page.body)
    for entry in entries:
        _check_entry(entry)
    asks = [_ask(entry) for entry in entries if entry[COUNT] and entry.get(RENTABLE) is not False]
    named = {
        (ask.name, ask.memory_gib): name_accelerator(ask.name, provider=PROVIDER, memory_gb=ask.memory_gib)
        for ask in asks
    }
    kinds: defaultdict[Kind, list[Ask]] = defaultdict(list)
    for ask in asks:
        accelerator = named[ask.name, ask.memory_gib].accelerator
        kinds[Kind(_sku(ask, accelerator), accelerator or "", ask.count)].append(ask)
    offers = (
        offer for kind, found in sorted(kinds.items()) if len(found) >= FEWEST_ASKS
        for offer in _offers(kind, found, named[found[0].name, found[0].memory_gib], url=page.url)
    )  # fmt: skip
    thin = (_thin(kind, found) for kind, found in sorted(kinds.items()) if len(found) < FEWEST_ASKS)
    none = (_no_gpus(entry) for entry in entries if not entry[COUNT])
    return Parsed(offers=tuple(offers), findings=(*_name_findings(named), *none, *thin))


def _entries(body: bytes) -> list[dict[str, Any]]:
    """Return the offers of an answer, each id once; a bare list is an answer without its envelope."""
    answer = load_json(body, "The answer")
    entries = answer.get("offers") if isinstance(answer, dict) else answer
    if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
        raise ParseError("no_offers", "The answer holds no list of offers.", text=str(answer)[:120])
    by_id = {str(one.get("id", f"place {place}")): one for place, one in enumerate(entries)}
    return list(by_id.values())


def _check_entry(entry: Mapping[str, Any]) -> None:
    """Refuse an offer without a key we read or with a value of another kind."""
    where = str(entry.get("id", entry.get(NAME)))
    if not isinstance(entry.get(NAME), str) or not entry[NAME].strip():
        raise ParseError("wrong_kind", f"{NAME} is not a text.", id=where, value=repr(entry.get(NAME)))
    for key, lowest in ((RAM, LEAST_RAM_MIB), (COUNT, 0)):
        value = entry.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
            raise ParseError(
                "wrong_kind", f"{key} is not a number of at least {lowest}.", id=where, value=repr(value)
            )
    total = entry.get(TOTAL)
    if isinstance(total, bool) or not isinstance(total, int | Decimal) or total < 0:
        raise ParseError("wrong_kind", f"{TOTAL} is not a number.", id=where, value=repr(total))
    if total == 0:
        raise ParseError("zero_price", f"{TOTAL} is zero.", id=where, name=entry[NAME])


def _ask(entry: Mapping[str, Any]) -> Ask:
    gib = (Decimal(entry[RAM]) / MIB_PER_GIB).quantize(Decimal("0.1"))
    return Ask(name=entry[NAME], memory_gib=gib, count=entry[COUNT], total_usd=Decimal(entry[TOTAL]))


def _sku(ask: Ask, accelerator: str | None) -> str:
    """Return the name with the memory of the variant, else with the memory as answered."""
    card = load_catalogue().get(accelerator or "")
    return f"{ask.name} {ask.memory_gib if card is None else card.memory_gb} GB"


def _offers(kind: Kind, asks: list[Ask], named: Named, *, url: str) -> Iterator[Offer]:
    totals = sorted(ask.total_usd for ask in asks)
    for statistic, price in (("min", totals[0]), ("median", median(totals))):
        shown = ", ".join(map(str, totals[:MOST_SHOWN])) + (", ..." if len(totals) > MOST_SHOWN else "")
        yield Offer(
            provider=PROVIDER,
            sku=kind.sku,
            accelerator_as_written=asks[0].name,
            accelerator=named.accelerator,
            family=named.family,
            slice_of=named.slice_of,
            assumptions=(
                f"The {WORDS[statistic]} of {len(totals)} asks of hosts, not a list price.",
                TOTAL_NOTE,
            ),
            gpu_count=kind.count,
            min_gpus=kind.count,
            list_price=price,
            price_basis=PriceBasis.INSTANCE_HOUR,
            pricing_model=PricingModel.ON_DEMAND,
            service_kind=ServiceKind.MARKETPLACE,
            provider_term="On-demand",
            tier=statistic,
            memory_gb_as_written=median_low(ask.memory_gib for ask in asks),
            source_url=url,
            fragment=(
                f"offers > {kind.sku} > {kind.count} GPUs > {TOTAL}: {statistic} {price} of {len(totals)}"
                f" ({shown})"
            ),
        )


def _name_findings(named: Mapping[tuple[str, Decimal], Named]) -> Iterator[Finding]:
    for one in named.values():
        yield from one.findings


def _thin(kind: Kind, asks: list[Ask]) -> Finding:
    """Report a kind with too few offers for a price, with its asks."""
    return Finding(
        code="too_few_asks",
        level=Level.INFO,
        sentence=f"Fewer than {FEWEST_ASKS} offers are no market; they are kept here and not published.",
        evidence={
            "name": kind.sku,
            "gpus": str(kind.count),
            "asks": ", ".join(str(total) for total in sorted(ask.total_usd for ask in asks)),
        },
    )


def _no_gpus(entry: Mapping[str, Any]) -> Finding:
    return Finding(
        code="gpu_count_zero",
        level=Level.WARNING,
        sentence="An offer names a GPU and has none; it is left out.",
        evidence={"name": entry[NAME], "total": str(entry[TOTAL])},
    )


SCRAPER: Final = Scraper(
    provider=PROVIDER,
    requests=(
        Request(
            url="https://console.vast.ai/api/v0/bundles/?q=" + quote(json.dumps(QUERY)),
            key=Key(setting="vast_api_key", is_required=False),
        ),
    ),
    parse=parse,
    # 138 asks of nine GPUs made 14 kinds, so 28 rows, in 2026-09.
    expect=Expect(min_offers=14, anchors=("h100-sxm", "a100-sxm-80")),
)
