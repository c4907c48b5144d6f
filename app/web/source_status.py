"""What is known of each source: whether it is read, how that went, how old it is, what is wrong with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.cadence import Freshness, freshness, next_run, read_every
from app.domain.findings import Level
from app.domain.providers import is_on, load_providers
from app.domain.rows import Flag
from app.store import runs, status, switches
from app.store.records import Outcome
from app.web import words
from scrapers import SCRAPERS, ecb, inferprice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime, timedelta

    from sqlalchemy import Connection

    from app.domain.findings import Finding
    from app.domain.providers import ProviderFacts
    from app.store.records import Run, Switch
    from app.store.status import HeldRun
    from app.web.boards import Served

OUTCOME: Final = {
    Outcome.PUBLISHED: "published",
    Outcome.UNCHANGED: "nothing changed",
    Outcome.QUARANTINED: "held for review",
    Outcome.REFUSED: "refused",
    Outcome.FAILED: "failed",
    None: "under way",
}

FRESHNESS: Final = {
    Freshness.FRESH: "fresh",
    Freshness.STALE: "stale",
    Freshness.VERY_STALE: "very stale",
    Freshness.NEVER_READ: "never read",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmapped:
    """A name that stands for no variant we know, with the offers under it; the family may be known."""

    name: str
    family: str | None
    offers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """One provider: whether it is read, how that went, and what is on the board from it.

    `has_source` is False where prices only came from a table. `good` is the run its offers are from, `last`
    the latest one, `findings` are that one's. `next_at` is None for what is not read.
    """

    provider: str
    name: str
    facts: ProviderFacts | None
    has_source: bool
    is_on: bool
    why: str
    good: Run | None
    last: Run | None
    age: timedelta | None
    freshness: Freshness
    next_at: datetime | None
    offers: int
    findings: tuple[Finding, ...]
    held: tuple[HeldRun, ...]
    never_met_live: bool
    unmapped: tuple[Unmapped, ...]

    @property
    def good_from(self) -> str:
        """Say in words what the last good run read."""
        if self.good is None:
            return ""
        if self.good.source == inferprice.PROVIDER:
            return "the bundled table"
        return "its page" if self.has_source and self.good.source == self.provider else "a table"

    @property
    def outcome(self) -> str:
        """Say in words how the last run ended."""
        return OUTCOME[self.last.outcome] if self.last else "never tried"

    @property
    def levels(self) -> str:
        """Say how many findings of each level the last run had, the gravest first."""
        counts = Counter(finding.level for finding in self.findings)
        return ", ".join(f"{counts[level]} {level}" for level in reversed(Level) if counts[level])


def sources_status(
    connection: Connection, served: Served, *, now: datetime, enabled: Sequence[str]
) -> tuple[SourceStatus, ...]:
    """Return every provider that has a source or prices, in the order of `providers.csv`, then by name."""
    last = runs.last_runs(connection)
    known = _Known(
        now=now,
        enabled=enabled,
        last=last,
        good={name: run for name in last if (run := runs.last_good_run(connection, name))},
        findings=status.findings_by_run(connection, [run.run_id for run in last.values()]),
        held=status.held_runs(connection),
        switches=switches.switches(connection),
        read_well=status.sources_read_well(connection),
        offers=Counter(row.offer.provider for row in served.board.rows),
        unmapped=_unmapped(served),
    )
    names = dict.fromkeys([*load_providers(), *SCRAPERS, *sorted({*known.offers, *last})])
    shown = (name for name in names if name in SCRAPERS or name in known.offers or name in last)
    return tuple(_source_status(name, known) for name in shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What was read once for all providers, by provider but for `findings` (by run) and `held` (all)."""

    now: datetime
    enabled: Sequence[str]
    last: Mapping[str, Run]
    good: Mapping[str, Run]
    findings: Mapping[int, list[Finding]]
    held: Sequence[HeldRun]
    switches: Mapping[str, Switch]
    read_well: frozenset[str]
    offers: Mapping[str, int]
    unmapped: Mapping[str, tuple[Unmapped, ...]]


def _source_status(provider: str, known: _Known) -> SourceStatus:
    facts, scraper = load_providers().get(provider), SCRAPERS.get(provider)
    last, good = known.last.get(provider), known.good.get(provider)
    is_on, why = _switched(provider, known)
    age = known.now - good.observed_at if good and good.observed_at else None
    return SourceStatus(
        provider=provider,
        name=words.provider_name(provider),
        facts=facts,
        has_source=scraper is not None or provider == ecb.PROVIDER,
        is_on=is_on,
        why=why,
        good=good,
        last=last,
        age=age,
        freshness=freshness(age, every=read_every(provider)),
        next_at=next_run(provider, known.now) if is_on else None,
        offers=known.offers.get(provider, 0),
        findings=tuple(known.findings.get(last.run_id, ())) if last else (),
        held=tuple(run for run in known.held if run.provider == provider),
        never_met_live=scraper is not None and scraper.never_met_live and provider not in known.read_well,
        unmapped=known.unmapped.get(provider, ()),
    )


def _switched(provider: str, known: _Known) -> tuple[bool, str]:
    """Tell whether a source is on, by the one rule of the domain, and why where there is something to say."""
    if provider == ecb.PROVIDER:
        return True, "The exchange rates, read while a price is in another currency."
    if provider not in SCRAPERS:
        return False, "It has no source of its own: its prices were imported."
    switch, facts = known.switches.get(provider), load_providers()[provider]
    on = is_on(facts, switched=switch.is_on if switch else None, enabled=known.enabled)
    if provider in known.enabled:
        return on, "The settings of this site turn it on."
    if switch is not None:
        turned = f"Turned {'on' if on else 'off'} on {switch.changed_at.date()}"
        return on, f"{turned}: {switch.because}" if switch.because else f"{turned}."
    off = (
        "Off by default because of its terms. Whoever runs this site and has read them may turn it on: "
        f"inferprice sources enable {provider}."
    )
    return on, "" if on else off


def board_freshness(served: Served, as_of: date | None) -> str:
    """Return how many providers of the current board are how fresh, in words; empty for a past board.

    The reader's own figures are nobody's reading, and no provider's.
    """
    if as_of is not None and as_of < served.words.today:
        return ""
    seen: dict[str, datetime] = {}
    for row in served.board.rows:
        if row.offer.is_own:
            continue
        provider, at = row.offer.provider, row.stored.last_seen_at
        seen[provider] = max(seen.get(provider, at), at)
    instant = served.board.instant
    return counted(freshness(instant - at, every=read_every(provider)) for provider, at in seen.items())


def counted(states: Iterable[Freshness]) -> str:
    """Return how many sources are how fresh, in words; empty without any."""
    counts = Counter(states)
    return ", ".join(f"{counts[kind]} {FRESHNESS[kind]}" for kind in Freshness if counts[kind])


def _unmapped(served: Served) -> Mapping[str, tuple[Unmapped, ...]]:
    """Return the names on the board that stand for no variant we know, by provider, the commonest first."""
    counts = Counter(
        (row.offer.provider, row.offer.accelerator_as_written, row.offer.family)
        for row in served.board.rows
        if Flag.UNKNOWN_ACCELERATOR in row.flags
    )
    found: dict[str, tuple[Unmapped, ...]] = {}
    for (provider, name, family), offers in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0][1])):
        found[provider] = (*found.get(provider, ()), Unmapped(name=name, family=family, offers=offers))
    return found
