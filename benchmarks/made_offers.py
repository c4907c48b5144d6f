"""Makes the offers that are measured on, the same ones each time, and the database that holds them."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Final

from app.domain.accelerators import load_catalogue
from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.domain.providers import load_providers
from app.store import migrate, runs, write
from app.store.records import Outcome
from app.store.session import make_engine, writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from app.domain.accelerators import Accelerator

SEED: Final = 20261129
PLACES: Final = (
    "us-east",
    "us-west",
    "us-central",
    "eu-north",
    "eu-west",
    "eu-central",
    "ap-south",
    "ap-east",
)
REGIONS: Final = tuple(f"{place}-{number}" for number in range(1, 5) for place in PLACES)[:30]
GPU_COUNTS: Final = (1, 2, 4, 8)
PRICING: Final = (PricingModel.ON_DEMAND, PricingModel.SPOT, PricingModel.RESERVED)
CAPTURE: Final = "ab" * 32


def cards() -> tuple[Accelerator, ...]:
    """Return the 40 accelerators that are offered: the first of the catalogue that can be rented."""
    rented = [card for card in load_catalogue().accelerators if not card.is_announced]
    return tuple(rented[:40])


def make_offers(count: int) -> list[Offer]:
    """Return so many offers of 15 providers in 30 regions, no two of them at one figure per TB/s."""
    random = Random(SEED)  # noqa: S311 - the same offers each time, no secret
    known, listed = sorted(load_providers())[:10], cards()
    providers = [*known, *(f"made-up-{number}" for number in range(len(known), 15))]
    return [_offer(number, random, providers, listed) for number in range(count)]


def _offer(number: int, random: Random, providers: Sequence[str], listed: Sequence[Accelerator]) -> Offer:
    """Return one offer: between 0.60 and 3.00 dollars per TB/s-hour, dearer on demand than bound."""
    card = random.choice(listed)
    pricing = random.choices(PRICING, weights=(60, 20, 20))[0]
    share = {PricingModel.ON_DEMAND: 1.0, PricingModel.SPOT: 0.5, PricingModel.RESERVED: 0.7}[pricing]
    micros = round(float(card.bandwidth_tb_s) * random.uniform(1.2, 3.0) * share * 1_000_000)
    count = random.choice(GPU_COUNTS)
    term = 365 if pricing is PricingModel.RESERVED else None
    provider = random.choice(providers)
    return Offer(
        provider=provider,
        sku=f"{card.id}-{count}x-{number}",
        accelerator_as_written=card.name,
        accelerator=card.id,
        family=card.family,
        gpu_count=count,
        min_gpus=1,
        list_price=Decimal(micros).scaleb(-6),
        price_basis=PriceBasis.GPU_HOUR,
        pricing_model=pricing,
        service_kind=random.choice((ServiceKind.INSTANCE, ServiceKind.POD)),
        source_url=f"https://{provider}.example/prices",
        fragment=f"{card.name} | {count} | ${Decimal(micros).scaleb(-6)}",
        term_days_min=term,
        term_days_max=term,
        region=random.choice(REGIONS),
        variant_assumed=random.random() < 0.05,
    )


def of_one_provider(offers: Sequence[Offer]) -> list[Offer]:
    """Return the same offers as one provider's page would list them."""
    return [replace(offer, provider=offers[0].provider) for offer in offers]


def fill_database(path: Path, offers: Sequence[Offer]) -> str:
    """Publish the offers as so many providers' runs into a new SQLite file and return its URL."""
    url = f"sqlite:///{path}"
    engine = make_engine(url)
    migrate.upgrade(engine)
    read_at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
    for provider in sorted({offer.provider for offer in offers}):
        publish(url, [offer for offer in offers if offer.provider == provider], read_at=read_at)
    engine.dispose()
    return url


def publish(url: str, offers: Sequence[Offer], *, read_at: datetime) -> float:
    """Publish one provider's offers the way a run does, in one transaction; return the seconds it took."""
    engine, provider = make_engine(url), offers[0].provider
    with engine.connect():
        began = time.perf_counter()
    with writing(engine) as connection:
        run_id = runs.claim_slot(
            connection, source=provider, slot=read_at.isoformat(), provider=provider, now=read_at
        )
        assert run_id is not None
        write.publish(
            connection,
            provider=provider,
            offers=offers,
            observed_at=read_at,
            run_id=run_id,
            capture_sha256=CAPTURE,
        )
        runs.finish_run(
            connection,
            run_id,
            outcome=Outcome.PUBLISHED,
            sentence="made for measuring",
            now=read_at,
            observed_at=read_at,
            offers_count=len(offers),
        )
    seconds = time.perf_counter() - began
    engine.dispose()
    return seconds
