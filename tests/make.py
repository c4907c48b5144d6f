"""Makes offers and database contents for tests, so that a test names only what it is about."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Engine

from app.domain.offers import Offer, PriceBasis, PricingModel, ServiceKind
from app.store.records import Outcome
from app.store.runs import claim_slot, finish_run
from app.store.session import writing
from app.store.write import PublishResult, publish

CAPTURE_SHA256 = "0" * 64
DAY = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
"""When a test's first page was read unless the test says otherwise."""


def make_offer(**fields: Any) -> Offer:
    """Return one H100 SXM on demand at 2.99 USD per GPU-hour, with the given fields in place of those."""
    defaults: dict[str, Any] = {
        "provider": "acme",
        "sku": "H100 SXM",
        "accelerator_as_written": "NVIDIA H100 SXM",
        "accelerator": "h100-sxm",
        "family": "h100",
        "gpu_count": 1,
        "min_gpus": 1,
        "list_price": Decimal("2.99"),
        "price_basis": PriceBasis.GPU_HOUR,
        "pricing_model": PricingModel.ON_DEMAND,
        "service_kind": ServiceKind.INSTANCE,
        "source_url": "https://acme.example/pricing",
        "fragment": "NVIDIA H100 SXM $2.99",
    }
    if "list_price" in fields:
        fields["list_price"] = Decimal(fields["list_price"])
    return Offer(**{**defaults, **fields})


def utc(day: int, hour: int = 12, *, month: int = 11, year: int = 2026) -> datetime:
    """Return a time of November 2026, noon unless told otherwise, in UTC."""
    return datetime(year, month, day, hour, tzinfo=UTC)


def publish_offers(
    engine: Engine,
    offers: Sequence[Offer],
    *,
    observed_at: datetime = DAY,
    provider: str = "acme",
    source: str | None = None,
) -> PublishResult:
    """Publish offers of one provider in a run of their own, as a page read at that time would."""
    with writing(engine) as connection:
        slot = observed_at.isoformat()
        run_id = claim_slot(
            connection, source=source or provider, slot=slot, provider=provider, now=observed_at
        )
        assert run_id is not None, f"{provider} was already read at {slot}"
        result = publish(
            connection,
            provider=provider,
            offers=offers,
            observed_at=observed_at,
            run_id=run_id,
            capture_sha256=CAPTURE_SHA256,
        )
        finish_run(
            connection,
            run_id,
            outcome=Outcome.PUBLISHED,
            sentence="Published.",
            now=observed_at,
            observed_at=observed_at,
            offers_count=len(offers),
        )
    return result
