"""A market of our own making: a few weeks of runs with every warning in them, and what must show on a day.

`shown_at` works out what each day must show from the runs themselves, without the store.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

from sqlalchemy import Engine, text

from app.domain.accelerators import load_catalogue
from app.domain.listing import NextPrice, StoredOffer
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.store.migrate import upgrade
from app.store.session import make_engine
from tests.domain import plain
from tests.make import make_offer, publish_offers

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
TODAY = NOW.date()
DAYS = (date(2026, 10, 1), date(2026, 11, 5), date(2026, 11, 14), TODAY)
"""Days to ask for: before the first price, in the first weeks, after prices changed, today."""

REGIONS = ("us-east", "US-East", "eu, north", "ap&south", "50% off+zone", "r\u00e9gion d\u2019\u00e9t\u00e9")
CARDS = {
    "h100-sxm": "2.99",
    "h100-pcie": "2.49",
    "h200-sxm": "4.29",
    "b200-sxm": "7.15",
    "a100-sxm-80": "1.49",
    "rtx-pro-6000-server": "1.79",
}

Run = tuple[str, datetime, list[Offer]]


def at(day: int, hour: int = 6) -> datetime:
    return datetime(2026, 11, day, hour, tzinfo=UTC)


def offer(provider: str, sku: str, card: str | None, price: str, **fields: Any) -> Offer:
    """Make an offer of a market; within a provider each has a SKU of its own."""
    found = load_catalogue().get(card) if card else None
    name = found.name if found else sku
    defaults = {
        "provider": provider,
        "sku": sku,
        "accelerator": card,
        "accelerator_as_written": name,
        "family": found.family if found else None,
        "list_price": price,
        "source_url": f"https://{provider}.example/pricing",
        "fragment": f"{name} | {price}",
    }
    return make_offer(**{**defaults, **fields})


def acme(factor: str = "1") -> Iterator[Offer]:
    """Yield the large provider's offers: each card in each region, in two sizes, three ways to pay."""
    ways = ((PricingModel.ON_DEMAND, "1"), (PricingModel.SPOT, "0.5"), (PricingModel.RESERVED, "0.7"))
    for (card, price), region, count in product(CARDS.items(), REGIONS, (1, 8)):
        for model, share in ways if region == REGIONS[0] else ways[:1]:
            whole = Decimal(price) * Decimal(share) * count * (Decimal(factor) if card == "h200-sxm" else 1)
            yield offer(
                "acme",
                f"{card}.{count}.{model}.{region}",
                card,
                str(whole),
                gpu_count=count,
                region=region,
                price_basis=PriceBasis.INSTANCE_HOUR,
                pricing_model=model,
                term_days_min=91 if model is PricingModel.RESERVED else None,
                term_days_max=180 if model is PricingModel.RESERVED else None,
                memory_gb_as_written=Decimal(80) if card.startswith("h100") else None,
            )


def runpod() -> list[Offer]:
    """Return the article's trap in two tiers, and a price by the second that is nearly a tie."""
    pod = {"service_kind": ServiceKind.POD}
    secure = {"h100-sxm": "3.99", "h100-pcie": "2.89", "h200-sxm": "5.29", "b200-sxm": "7.99"}
    found = [
        offer("runpod", f"{card} secure", card, usd, tier="secure", **pod) for card, usd in secure.items()
    ]
    found.append(offer("runpod", "H100 community", "h100-sxm", "3.39", tier="community", **pod))
    found.append(
        offer(
            "runpod",
            "H100 flex",
            "h100-sxm",
            "0.00116",
            service_kind=ServiceKind.SERVERLESS,
            price_basis=PriceBasis.GPU_SECOND,
        )
    )
    return found


def odd() -> list[Offer]:
    """Return what has to be warned of: floors, slices, strangers, assumptions, another currency."""
    because = ("Sold as 80 GB only: SXM is assumed.",)
    assumed = {"variant_assumed": True, "assumptions": because}
    managed = {"service_kind": ServiceKind.DEDICATED_DEPLOYMENT}
    return [
        offer("odd", "floor", "b200-sxm", "4.00", is_floor=True, fragment="from $4.00"),
        offer("odd", "slice", None, "0.60", slice_of="h100-sxm", accelerator_as_written="H100 1g.10gb"),
        offer("odd", "family", None, "2.10", family="h100", accelerator_as_written="H100"),
        offer("odd", "stranger", None, "0.10", accelerator_as_written="Voodoo 2"),
        offer("odd", "assumed", "h100-sxm", "2.90", **assumed, **managed),
        offer("odd", "minimum", "h100-sxm", "2.20", gpu_count=8, min_gpus=64, provider_term="cluster"),
        offer("odd", "euro", "h200-sxm", "3.10", currency="EUR", region="eu, north"),
        offer("odd", "month", "a100-sxm-80", "1022", price_basis=PriceBasis.GPU_MONTH),
        offer("odd", "market", "rtx-pro-6000-server", "0.85", service_kind=ServiceKind.MARKETPLACE),
        offer("odd", "next year", "rubin", "19.50"),
    ]


def announced(day: date, *, new: str = "3.50") -> list[Offer]:
    """Return an offer with two price columns: what holds now, and what holds from a day on."""
    now = offer(
        "nebius", "gpu-h100-sxm", "h100-sxm", "2.95", region="us-east", fragment="H100 | $2.95 | $3.50"
    )
    return [now, replace(now, list_price=Decimal(new), valid_from=day)]


def runs() -> list[Run]:
    """Return every run, oldest first."""
    later = offer("nebius", "gpu-b200", "b200-sxm", "5.50", region="us-east")
    coming = [later, replace(later, list_price=Decimal("6.10"), valid_from=date(2026, 12, 1))]
    without_last = odd()[:-1]
    return [
        ("ancient", at(2, 0), [offer("ancient", "H100", "h100-sxm", "2.49")]),
        ("acme", at(2), list(acme("1.1"))),
        ("runpod", at(2), runpod()),
        ("odd", at(3), without_last),
        ("nebius", at(4), [*announced(date(2026, 11, 20)), *coming]),
        (
            "oldhost",
            at(5),
            [offer("oldhost", "H100", "h100-sxm", "1.99"), offer("oldhost", "X", "b200-sxm", "6")],
        ),
        ("acme", at(12), list(acme())[: -len(REGIONS)]),
        ("runpod", at(13), [replace(each, list_price=each.list_price + 1) for each in runpod()]),
        ("oldhost", at(15), [offer("oldhost", "H100", "h100-sxm", "1.99")]),
        ("nebius", at(19), [*announced(date(2026, 11, 20)), *coming]),
        ("acme", at(20), list(acme())),
        ("runpod", at(20), runpod()),
        ("odd", at(20), odd()),
    ]


def fill(database_url: str, *, market: Sequence[Run] | None = None) -> None:
    """Publish the runs into an empty database."""
    engine = make_engine(database_url)
    upgrade(engine)
    for provider, read_at, offers in market or runs():
        publish_offers(engine, offers, observed_at=read_at, provider=provider)
    engine.dispose()


def offer_ids(engine: Engine) -> Mapping[tuple[str, str], int]:
    """Return the number each offer got, by provider and SKU."""
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT provider, sku, id FROM offer")).all()
    return {(provider, sku): number for provider, sku, number in rows}


# ---------------------------------------------------------------- what a day must show


@dataclass(slots=True)
class Step:
    """One price of an offer from a time on; `seen` once a run has listed it as the current one.

    `read_at` is when a page first said so.
    """

    begins: datetime
    read_at: datetime
    offer: Offer
    announced: bool
    seen: bool


def shown_at(instant: datetime, ids: Mapping[tuple[str, str], int]) -> list[StoredOffer]:
    """Return what must show at an instant, from the runs read by then."""
    steps: dict[tuple[str, str], list[Step]] = {}
    first: dict[tuple[str, str], datetime] = {}
    last: dict[str, datetime] = {}
    for provider, read_at, offers in runs():
        if read_at > instant:
            continue
        last[provider] = read_at
        keys = list(dict.fromkeys((each.provider, each.sku) for each in offers))
        for key in [key for key in steps if key[0] == provider and key not in keys]:
            del steps[key]
        for key in keys:
            first.setdefault(key, read_at)
            asked = [each for each in offers if (each.provider, each.sku) == key]
            steps[key] = _next_steps(steps.get(key, []), asked, read_at=read_at)
    return [
        _stored(key, plan, instant=instant, number=ids[key], first=first[key], last=last[key[0]])
        for key, plan in steps.items()
    ]


def _next_steps(before: list[Step], asked: list[Offer], *, read_at: datetime) -> list[Step]:
    """Return the prices of one offer after a run: the one that holds, then those announced."""
    begun = [each for each in asked if each.valid_from is None or _midnight(each.valid_from) <= read_at]
    coming = [each for each in asked if each not in begun]
    held = [step for step in before if step.begins <= read_at]
    same = bool(held) and held[-1].offer.list_price == begun[-1].list_price
    begins, first = (held[-1].begins, held[-1].read_at) if same else (read_at, read_at)
    now = Step(begins, first, begun[-1], announced=same and held[-1].announced, seen=True)
    said = {(step.begins, step.offer.list_price): step.read_at for step in before}
    return [now, *(_announced(each, said, read_at=read_at) for each in coming)]


def _announced(
    offer_: Offer, said: Mapping[tuple[datetime, Decimal], datetime], *, read_at: datetime
) -> Step:
    begins = _midnight(offer_.valid_from)
    first = said.get((begins, offer_.list_price), read_at)
    return Step(begins, first, offer_, announced=True, seen=False)


def _midnight(day: date | None) -> datetime:
    assert day is not None
    return datetime.combine(day, time(), UTC)


def _stored(
    key: tuple[str, str],
    plan: list[Step],
    *,
    instant: datetime,
    number: int,
    first: datetime,
    last: datetime,
) -> StoredOffer:
    held = [step for step in plan if step.begins <= instant][-1]
    later = [step for step in plan if step.begins > instant]
    usd = plain.gpu_usd(held.offer)
    del key
    return StoredOffer(
        offer=replace(held.offer, valid_from=None),
        offer_id=number,
        usd_micros_per_gpu_hour=None if usd is None else int(usd * 1_000_000),
        price_valid_from=held.begins,
        announced_since_page=held.announced and not held.seen,
        first_seen_at=first,
        last_seen_at=last,
        observed_at=held.read_at,
        capture_sha256="0" * 64,
        next_price=_coming(later[0]) if later else None,
    )


def _coming(step: Step) -> NextPrice:
    return NextPrice(
        list_price=step.offer.list_price,
        currency=step.offer.currency,
        price_basis=step.offer.price_basis,
        usd_micros_per_gpu_hour=None,
        valid_from=step.begins,
    )


def last_second(day: date) -> datetime:
    """Return the instant that stands for a day: now for today, its last second for a past one."""
    return NOW if day == TODAY else _midnight(day) + timedelta(days=1, seconds=-1)
