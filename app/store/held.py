"""Offers that wait for somebody's decision: kept whole, compared with later runs, decided on once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from app.store.plain import offer_from_plain, offer_to_plain
from app.store.records import HeldOffers, State
from app.store.runs import RUN_COLUMNS, run_of_row
from app.store.tables import quarantine, scrape_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping, Select

    from app.domain.offers import Offer


def hold_offers(
    connection: Connection, run_id: int, *, provider: str, offers: Sequence[Offer], captures: Sequence[str]
) -> int:
    """Keep the offers of a run for review; return the id under which they are approved or rejected.

    `captures` holds one hash per offer, in the same order.
    """
    payload = {"offers": [offer_to_plain(each) for each in offers], "captures": list(captures)}
    held = insert(quarantine).values(
        run_id=run_id, provider=provider, payload=payload, state=State.HELD.value, because="", agreeing_runs=0
    )
    return int(connection.execute(held.returning(quarantine.c.id)).scalar_one())


def decide(connection: Connection, quarantine_id: int, *, state: State, because: str, now: datetime) -> None:
    """Note what became of held offers, and why."""
    connection.execute(
        update(quarantine)
        .where(quarantine.c.id == quarantine_id)
        .values(state=state.value, because=because, decided_at=now)
    )


def quarantined(
    connection: Connection, *, state: State = State.HELD, provider: str | None = None
) -> list[HeldOffers]:
    """Return the held offers of every run in this state, of one provider or of all, newest first."""
    query = _held().where(quarantine.c.state == state.value).order_by(quarantine.c.id.desc())
    if provider is not None:
        query = query.where(quarantine.c.provider == provider)
    return [_held_offers(row) for row in connection.execute(query).mappings()]


def quarantine_by_id(connection: Connection, quarantine_id: int) -> HeldOffers | None:
    """Return the held offers of one run, or None for an id that is not there."""
    row = connection.execute(_held().where(quarantine.c.id == quarantine_id)).mappings().one_or_none()
    return None if row is None else _held_offers(row)


def _held() -> Select[Any]:
    """Return the query for held offers with their run."""
    return select(
        *RUN_COLUMNS,
        quarantine.c.id.label("quarantine_id"),
        quarantine.c.payload,
        quarantine.c.state,
        quarantine.c.decided_at,
        quarantine.c.because,
        quarantine.c.agreeing_runs,
        quarantine.c.agreed_at,
    ).join_from(quarantine, scrape_run)


def _held_offers(row: RowMapping) -> HeldOffers:
    """Return held offers from a row of `_held`."""
    return HeldOffers(
        quarantine_id=row["quarantine_id"],
        run=run_of_row(row),
        provider=row["provider"],
        offers=tuple(offer_from_plain(each) for each in row["payload"]["offers"]),
        captures=tuple(row["payload"]["captures"]),
        state=State(row["state"]),
        decided_at=row["decided_at"],
        because=row["because"],
        agreeing_runs=row["agreeing_runs"],
        agreed_at=row["agreed_at"],
    )


def note_agreement(connection: Connection, quarantine_id: int, *, now: datetime) -> None:
    """Note that one more run read the same offers and was held as well."""
    connection.execute(
        update(quarantine)
        .where(quarantine.c.id == quarantine_id)
        .values(agreeing_runs=quarantine.c.agreeing_runs + 1, agreed_at=now)
    )


def supersede(
    connection: Connection, provider: str, *, read_by: datetime, because: str, now: datetime
) -> int:
    """Put aside what was read of a provider up to a time and still waits; return how many runs that is."""
    overtaken = select(scrape_run.c.id).where(
        scrape_run.c.provider == provider, scrape_run.c.observed_at <= read_by
    )
    changed = connection.execute(
        update(quarantine)
        .where(quarantine.c.state == State.HELD.value, quarantine.c.run_id.in_(overtaken))
        .values(state=State.SUPERSEDED.value, because=because, decided_at=now)
    )
    return changed.rowcount
