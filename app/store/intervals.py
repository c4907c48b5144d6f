"""Reads every price that was ever stored, with the time it held: the whole history, a part at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from app.store.tables import offer, price

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, RowMapping

PART_ROWS: Final = 10_000
"""Prices that are in memory at a time."""

_COLUMNS: Final = (
    offer.c.provider,
    offer.c.sku,
    offer.c.accelerator,
    offer.c.accelerator_as_written,
    offer.c.gpu_count,
    offer.c.min_gpus,
    offer.c.pricing_model,
    offer.c.service_kind,
    offer.c.tier,
    offer.c.term_days_min,
    offer.c.term_days_max,
    offer.c.region,
    offer.c.family,
    offer.c.slice_of,
    offer.c.variant_assumed,
    price.c.offer_id,
    price.c.list_price,
    price.c.currency,
    price.c.price_basis,
    price.c.is_floor,
    price.c.usd_micros_per_gpu_hour,
    price.c.valid_from,
    price.c.valid_to,
    price.c.announced,
    price.c.observed_at,
    price.c.source_url,
    price.c.capture_sha256,
)


def price_intervals(connection: Connection, *, part_rows: int = PART_ROWS) -> Iterator[Sequence[RowMapping]]:
    """Yield every stored price in parts, by offer and the time it began; `valid_to` is not in it any more."""
    query: Any = (
        select(*_COLUMNS)
        .select_from(price.join(offer, offer.c.id == price.c.offer_id))
        .order_by(price.c.offer_id, price.c.valid_from, price.c.id)
        .execution_options(yield_per=part_rows)
    )
    yield from connection.execute(query).mappings().partitions()
