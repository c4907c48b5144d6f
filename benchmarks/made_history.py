"""Makes the history that is measured on: 50 providers of one card, read daily for 400 days, at new prices."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, Final

from app.domain.offers import PriceBasis, PricingModel, ServiceKind
from app.store import migrate
from app.store.records import Outcome
from app.store.session import make_engine, writing
from app.store.tables import offer, price, scrape_run
from benchmarks.made_offers import CAPTURE, SEED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CARD: Final = "h100-sxm"
SERIES: Final = 50
DAYS: Final = 400
GAP_EVERY: Final = 60
"""Days from one outage of a provider to its next."""
GAP_DAYS: Final = 5

Values = dict[str, Any]


def fill_history(path: Path, *, series: int = SERIES, days: int = DAYS) -> str:
    """Write the offers, runs and prices into a new SQLite file and return its URL.

    Every price moves at every reading, which is the most that a line can turn.
    """
    url = f"sqlite:///{path}"
    engine = make_engine(url)
    migrate.upgrade(engine)
    random = Random(SEED)  # noqa: S311 - the same prices each time, no secret
    today = datetime.combine(datetime.now(UTC).date(), time(), UTC)
    with writing(engine) as connection:
        run_id = 0
        for number in range(1, series + 1):
            read_at = list(_readings(number, today, days))
            runs = [_run(run_id + at, number, moment) for at, moment in enumerate(read_at, start=1)]
            connection.execute(scrape_run.insert(), runs)
            connection.execute(offer.insert(), _offer(number, read_at))
            connection.execute(price.insert(), list(_prices(number, read_at, random, run_id=run_id)))
            run_id += len(runs)
    engine.dispose()
    return url


def _readings(number: int, today: datetime, days: int) -> Iterator[datetime]:
    """Yield when a provider was read: daily at a minute of its own, but for its outages."""
    for day in range(days):
        if (day + number) % GAP_EVERY >= GAP_DAYS:
            yield today - timedelta(days=days - 1 - day, minutes=number)


def _provider(number: int) -> str:
    return f"made-up-{number:02}"


def _run(run_id: int, number: int, read_at: datetime) -> Values:
    return {
        "id": run_id,
        "source": _provider(number),
        "slot": read_at.date().isoformat(),
        "provider": _provider(number),
        "started_at": read_at,
        "finished_at": read_at,
        "outcome": Outcome.PUBLISHED.value,
        "sentence": "made for measuring",
        "offers_count": 1,
        "observed_at": read_at,
    }


def _offer(number: int, read_at: Sequence[datetime]) -> Values:
    return {
        "id": number,
        "key": f"{_provider(number)} {CARD}",
        "provider": _provider(number),
        "sku": CARD,
        "accelerator": CARD,
        "family": "h100",
        "accelerator_as_written": "H100 SXM",
        "slice_of": None,
        "variant_assumed": False,
        "gpu_count": 1,
        "min_gpus": 1,
        "service_kind": ServiceKind.INSTANCE.value,
        "pricing_model": PricingModel.ON_DEMAND.value,
        "provider_term": "",
        "tier": "",
        "region": "",
        "assumptions": (),
        "first_seen_at": read_at[0],
        "last_seen_at": read_at[-1],
    }


def _prices(number: int, read_at: Sequence[datetime], random: Random, *, run_id: int) -> Iterator[Values]:
    """Yield one price from each reading to the next, no two that follow each other alike."""
    cents = random.randint(150, 450)
    for at, (this, following) in enumerate(pairwise([*read_at, None]), start=1):
        assert this is not None
        cents = max(100, cents + random.choice((-3, -2, -1, 1, 2, 3)))
        yield {
            "id": run_id + at,
            "offer_id": number,
            "valid_from": this,
            "valid_to": following,
            "list_price": Decimal(cents).scaleb(-2),
            "currency": "USD",
            "price_basis": PriceBasis.GPU_HOUR.value,
            "usd_micros_per_gpu_hour": cents * 10_000,
            "is_floor": False,
            "announced": False,
            "source_url": f"https://{_provider(number)}.example/prices",
            "fragment": "H100 SXM",
            "capture_sha256": CAPTURE,
            "run_id": run_id + at,
            "observed_at": this,
        }
