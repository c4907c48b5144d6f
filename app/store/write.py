"""Publish what one provider asks for: in the caller's transaction, all of it, and only what changed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, case, delete, func, insert, literal, or_, select, type_coerce, update

from app.domain.offers import offer_key
from app.store.diff import ALWAYS, NOTHING, Asked, Stored, price_steps
from app.store.rows import WORDS, offer_row, price_row, words_of, words_row
from app.store.snapshots import sealed_until
from app.store.tables import data_version, offer, price
from app.store.types import BIG_INTEGER, UtcSeconds, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Table
    from sqlalchemy.sql.dml import UpdateBase

    from app.domain.offers import Offer
    from app.store.diff import Added


class PublishError(ValueError):
    """These offers cannot be published; the message is a sentence that says why."""


class OlderRunError(PublishError):
    """The page was read before the provider's last good run: publishing it would turn the clock back."""


class DuplicateOfferError(PublishError):
    """The same thing is offered twice from the same date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishResult:
    """How many of a provider's offers are new or back, changed in price, gone, or as they were."""

    new: int
    changed: int
    closed: int
    unchanged: int


class _Known(NamedTuple):
    """A stored offer, with those of its words that may change while its key stays."""

    offer_id: int
    last_seen_at: int
    closed_at: int | None
    words: tuple[Any, ...]


@dataclass(slots=True)  # it is filled while offers are compared
class _Changes:
    """What one publish does to the tables, noted before it is written; a list is one statement's rows.

    `read_at` is when the pages were read, `seen_at` since when the board shows it (Unix seconds).
    """

    run_id: int
    read_at: int
    seen_at: int
    next_offer_id: int
    next_price_id: int
    offers: list[tuple[Any, ...]] = field(default_factory=list)
    words: list[tuple[Any, ...]] = field(default_factory=list)
    reopened: list[tuple[None, int]] = field(default_factory=list)
    closed: list[tuple[int, int]] = field(default_factory=list)
    prices: list[tuple[Any, ...]] = field(default_factory=list)
    ended: list[tuple[int | None, int]] = field(default_factory=list)
    confirmed: list[tuple[int, int]] = field(default_factory=list)
    withdrawn: list[tuple[int]] = field(default_factory=list)


def publish(
    connection: Connection,
    *,
    provider: str,
    offers: Sequence[Offer],
    observed_at: datetime,
    run_id: int,
    capture_sha256: str | Sequence[str],
    not_before: datetime | None = None,
) -> PublishResult:
    """Make these the offers of a provider from `observed_at` on; what it no longer lists is closed then.

    `observed_at` is when the pages were read, aware. `capture_sha256` names the bytes the offers are from:
    one hash for all, or one for each offer in the same order. With `not_before` nothing changes before that
    time, though the pages were read earlier: a decision of today leaves the days that are over as they were.
    A day that is sealed (`app.store.snapshots`) is left as it was in any case. Nothing is stored until the
    caller commits.

    Raises OlderRunError when the provider was read well later than this, DuplicateOfferError when one thing
    comes twice from the same date, and PublishError for an offer of another provider.
    """
    read_at = to_seconds(observed_at)
    seen_at = read_at if not_before is None else max(read_at, to_seconds(not_before))
    wanted = _by_key(offers, capture_sha256, provider=provider)
    _lock(connection, seen_at)
    known = _known_offers(connection, provider)
    _refuse_older(known.values(), provider=provider, read_at=read_at)
    seen_at = _not_sealed(connection, known, seen_at=seen_at)
    stored = _stored_prices(connection, provider, seen_at=seen_at)
    changes = _Changes(run_id, read_at, seen_at, _next_id(connection, offer), _next_id(connection, price))
    result = _compare(changes, wanted, known=known, stored=stored)
    _write(connection, changes)
    if known:
        _mark_seen(connection, provider, from_seconds(read_at))
    return result


def _by_key(
    offers: Sequence[Offer], capture_sha256: str | Sequence[str], *, provider: str
) -> Mapping[str, list[Asked]]:
    """Return the prices asked for, by the key of what they are for."""
    hashes = [capture_sha256] * len(offers) if isinstance(capture_sha256, str) else capture_sha256
    by_key: defaultdict[str, list[Asked]] = defaultdict(list)
    for each, sha256 in zip(offers, hashes, strict=True):
        if each.provider != provider:
            raise PublishError(f"An offer of {each.provider} came with a run of {provider}.")
        asked = by_key[offer_key(each)]
        asked.append(Asked(_starts_at(each), each, sha256))
        if len(asked) > 1:
            _refuse_duplicate(asked)
    return by_key


def _starts_at(each: Offer) -> int:
    """Return the printed start date at 00:00 UTC in Unix seconds, `ALWAYS` when none is printed."""
    if each.valid_from is None:
        return ALWAYS
    return to_seconds(datetime.combine(each.valid_from, time(), UTC))


def _refuse_duplicate(asked: Sequence[Asked]) -> None:
    """Raise when the last of these prices starts when an earlier one does."""
    last = asked[-1]
    if any(each.starts_at == last.starts_at for each in asked[:-1]):
        start = last.offer.valid_from or "now"
        raise DuplicateOfferError(f"{offer_key(last.offer)} is offered twice from {start}.")


def _lock(connection: Connection, seen_at: int) -> None:
    """Count the data version up, which is also the lock: on either database a second publish waits here."""
    now = literal(from_seconds(seen_at), UtcSeconds())
    connection.execute(
        update(data_version).values(
            version=data_version.c.version + 1,
            changed_at=case((data_version.c.changed_at > now, data_version.c.changed_at), else_=now),
        )
    )


def _known_offers(connection: Connection, provider: str) -> Mapping[str, _Known]:
    """Return every offer the provider has ever had, by key."""
    query = select(
        offer.c.key,
        offer.c.id,
        type_coerce(offer.c.last_seen_at, BIG_INTEGER),
        type_coerce(offer.c.closed_at, BIG_INTEGER),
        *(offer.c[name] for name in WORDS),
    ).where(offer.c.provider == provider)
    return {
        key: _Known(offer_id, last_seen_at, closed_at, tuple(words))
        for key, offer_id, last_seen_at, closed_at, *words in connection.execute(query)
    }


def _stored_prices(connection: Connection, provider: str, *, seen_at: int) -> Mapping[int, list[Stored]]:
    """Return the provider's prices that hold now or will, by offer id, oldest first."""
    query = (
        select(
            price.c.id,
            price.c.offer_id,
            type_coerce(price.c.valid_from, BIG_INTEGER),
            type_coerce(price.c.valid_to, BIG_INTEGER),
            price.c.announced,
            type_coerce(price.c.confirmed_at, BIG_INTEGER),
            price.c.list_price,
            price.c.currency,
            price.c.price_basis,
            price.c.is_floor,
        )
        .select_from(price.join(offer, offer.c.id == price.c.offer_id))
        .where(offer.c.provider == provider)
        .where(or_(price.c.valid_to.is_(None), price.c.valid_to > from_seconds(seen_at)))
        .order_by(price.c.offer_id, price.c.valid_from)
    )
    by_offer: defaultdict[int, list[Stored]] = defaultdict(list)
    for row in connection.execute(query):
        by_offer[row[1]].append(Stored(*row))
    return by_offer


def _refuse_older(known: Iterable[_Known], *, provider: str, read_at: int) -> None:
    """Raise when the provider was read well after this: every good run leaves its time on each offer."""
    last = max((each.closed_at or each.last_seen_at for each in known), default=read_at)
    if read_at < last:
        raise OlderRunError(
            f"{provider} was read at {from_seconds(read_at):%Y-%m-%d %H:%M} UTC, before its last good run at "
            f"{from_seconds(last):%Y-%m-%d %H:%M} UTC; nothing was changed."
        )


def _not_sealed(connection: Connection, known: Mapping[str, _Known], *, seen_at: int) -> int:
    """Return this time, or the first moment after the days whose hash covers these offers if later."""
    until = sealed_until(connection, [each.offer_id for each in known.values()])
    return seen_at if until is None else max(seen_at, to_seconds(until))


def _next_id(connection: Connection, table: Table) -> int:
    """Return the first free id; nobody else hands one out while this transaction holds the lock."""
    highest: int | None = connection.execute(select(func.max(table.c.id))).scalar_one()
    return (highest or 0) + 1


def _compare(
    changes: _Changes,
    wanted: Mapping[str, list[Asked]],
    *,
    known: Mapping[str, _Known],
    stored: Mapping[int, list[Stored]],
) -> PublishResult:
    """Note what has to change for every offer, and count."""
    new = changed = 0
    for key, asked in wanted.items():
        before = known.get(key)
        if before is None:
            _note_new(changes, key, asked)
            new += 1
            continue
        is_back = _note_words(changes, before, asked[0].offer)
        is_change = _note_prices(changes, before.offer_id, asked, stored=stored.get(before.offer_id, ()))
        new += is_back
        changed += is_change and not is_back
    gone = [each for key, each in known.items() if each.closed_at is None and key not in wanted]
    for each in gone:
        changes.closed.append((changes.seen_at, each.offer_id))
        _note_prices(changes, each.offer_id, (), stored=stored.get(each.offer_id, ()))
    return PublishResult(new=new, changed=changed, closed=len(gone), unchanged=len(wanted) - new - changed)


def _note_new(changes: _Changes, key: str, asked: Sequence[Asked]) -> None:
    """Note an offer that was never seen before, and its prices."""
    offer_id = changes.next_offer_id
    changes.next_offer_id += 1
    changes.offers.append(offer_row(offer_id, key, each=asked[0].offer, seen_at=changes.seen_at))
    for added in price_steps((), asked, seen_at=changes.seen_at).added:
        _note_price(changes, offer_id, added)


def _note_words(changes: _Changes, before: _Known, each: Offer) -> bool:
    """Note words that changed, and tell whether the offer was closed and is back."""
    words = words_of(each)
    if words != before.words:
        changes.words.append((*words_row(words), before.offer_id))
    if before.closed_at is None:
        return False
    changes.reopened.append((None, before.offer_id))
    return True


def _note_prices(
    changes: _Changes, offer_id: int, asked: Sequence[Asked], *, stored: Sequence[Stored]
) -> bool:
    """Note what has to happen to one offer's prices, and tell whether any of them is another one."""
    steps = price_steps(stored, asked, seen_at=changes.seen_at)
    if steps is NOTHING:
        return False
    for added in steps.added:
        _note_price(changes, offer_id, added)
    changes.ended += steps.ended
    changes.withdrawn += [(price_id,) for price_id in steps.withdrawn]
    changes.confirmed += [(changes.seen_at, price_id) for price_id in steps.confirmed]
    return steps.is_change


def _note_price(changes: _Changes, offer_id: int, added: Added) -> None:
    """Note a new price under the next free id."""
    # A board of the past shows what was announced by then: what is decided on later is not among it.
    read_at = changes.seen_at if added.announced else changes.read_at
    row = price_row(changes.next_price_id, offer_id, added=added, run_id=changes.run_id, read_at=read_at)
    changes.next_price_id += 1
    changes.prices.append(row)


def _write(connection: Connection, changes: _Changes) -> None:
    """Write what was noted: old prices make way first, since an offer may have one open price only."""
    the_price = price.c.id == bindparam("row_id")
    the_offer = offer.c.id == bindparam("row_id")
    _run(connection, delete(price).where(the_price), changes.withdrawn)
    _run(connection, update(price).where(the_price).values(valid_to=bindparam("at")), changes.ended)
    _run(connection, update(price).where(the_price).values(confirmed_at=bindparam("at")), changes.confirmed)
    closing = update(offer).where(the_offer).values(closed_at=bindparam("at"))
    _run(connection, closing, [*changes.closed, *changes.reopened])
    words = update(offer).where(the_offer).ordered_values(*((name, bindparam(name)) for name in WORDS))
    _run(connection, words, changes.words)
    _run(connection, insert(offer), changes.offers)
    _run(connection, insert(price), changes.prices)


def _mark_seen(connection: Connection, provider: str, seen_at: datetime) -> None:
    """Move the time on every offer the provider lists; new ones have it already."""
    connection.execute(
        update(offer)
        .where(offer.c.provider == provider, offer.c.closed_at.is_(None), offer.c.last_seen_at != seen_at)
        .values(last_seen_at=seen_at)
    )


def _run(connection: Connection, statement: UpdateBase, rows: Sequence[tuple[Any, ...]]) -> None:
    """Run one statement for many rows, which hold what the driver takes in the order of its parameters.

    The driver gets the rows as they are: a pass of each value through the column types takes three times as
    long as the rest.
    """
    if rows:
        connection.exec_driver_sql(str(statement.compile(dialect=connection.dialect)), list(rows))
