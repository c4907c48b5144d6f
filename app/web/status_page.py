"""The status page and its JSON: how old each source is, how its runs ended, and what waits for somebody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.exc import SQLAlchemyError

from app.store.session import reading
from app.web import words
from app.web.answers import respond_made
from app.web.boards import NoBoardError
from app.web.kept import base_of, csv_of_objects, json_of, page_of, take_nothing
from app.web.source_status import FRESHNESS, counted, sources_status

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from starlette.requests import Request
    from starlette.responses import Response

    from app.store.records import Run
    from app.web.shared import Shared
    from app.web.source_status import SourceStatus

CSV_COLUMNS: Final = (
    *("provider", "name", "has_source", "is_on", "why", "never_met_live", "freshness", "age_s"),
    *("last_good_run_read_at", "last_good_run_offers", "last_run_started_at", "last_run_outcome"),
    *("last_run_sentence", "next_run_at", "offers", "finding_codes", "held_runs", "unmapped_names"),
    *("pricing_url", "terms_note", "terms_as_of"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusPage:
    """What the status template shows."""

    now: datetime
    sources: tuple[SourceStatus, ...]
    counted: str
    held: int
    outage: bool


def status(request: Request) -> Response:
    """Answer the status page."""
    take_nothing(request)
    page = load_status(request.app.state.shared)
    html = page_of("status.html", page=page, freshness=FRESHNESS, ago=ago, base=base_of(request))
    return respond_made(request, html)


def status_json(request: Request) -> Response:
    """Answer the same facts as JSON."""
    take_nothing(request)
    return respond_made(request, json_of(status_document(load_status(request.app.state.shared))))


def status_csv(request: Request) -> Response:
    """Answer the same facts as CSV, a line a source."""
    take_nothing(request)
    lines = (
        {
            **_plain(each),
            "finding_codes": [finding.code for finding in each.findings],
            "held_runs": len(each.held),
            "unmapped_names": [one.name for one in each.unmapped],
        }
        for each in load_status(request.app.state.shared).sources
    )
    return respond_made(request, csv_of_objects("status", lines, columns=CSV_COLUMNS))


def load_status(shared: Shared) -> StatusPage:
    """Read how all sources are; raises NoBoardError when the database is away."""
    served = shared.keeper.current()
    now = shared.clock()
    try:
        with reading(shared.engine) as connection:
            found = sources_status(connection, served, now=now, enabled=shared.enabled_sources)
    except SQLAlchemyError as error:
        raise NoBoardError("the database cannot be read") from error
    return StatusPage(
        now=now,
        sources=found,
        counted=counted(each.freshness for each in found),
        held=sum(len(each.held) for each in found),
        outage=served.outage,
    )


def ago(age: timedelta | None) -> str:
    """Return an age in the largest unit that fits twice, else in minutes; empty when it is not known."""
    if age is None:
        return ""
    minutes = max(0, int(age.total_seconds() // 60))
    for unit, size in (("days", 1440), ("h", 60)):
        if minutes >= 2 * size:
            return f"{minutes // size} {unit}"
    return f"{minutes} min"


def status_document(page: StatusPage) -> dict[str, Any]:
    """Return the page as one document for programs; numbers have their unit in the key."""
    return {
        "as_of": words.utc(page.now),
        "held_runs": page.held,
        "database_away": page.outage,
        "sources": [_plain(each) for each in page.sources],
    }


def _plain(each: SourceStatus) -> dict[str, Any]:
    facts = each.facts
    return {
        "provider": each.provider,
        "name": each.name,
        "home_url": facts.home_url if facts else None,
        "pricing_url": facts.pricing_url if facts else None,
        "terms_note": facts.terms_note if facts else None,
        "terms_as_of": facts.as_of.isoformat() if facts else None,
        "has_source": each.has_source,
        "is_on": each.is_on,
        "why": each.why or None,
        "never_met_live": each.never_met_live,
        "freshness": each.freshness.value,
        "age_s": int(each.age.total_seconds()) if each.age is not None else None,
        "last_good_run": _plain_run(each.good),
        "last_run": _plain_run(each.last),
        "next_run_at": words.utc(each.next_at) if each.next_at else None,
        "offers": each.offers,
        "findings": [
            {
                "level": finding.level.value,
                "code": finding.code,
                "sentence": finding.sentence,
                "evidence": dict(finding.evidence),
            }
            for finding in each.findings
        ],
        "held": [
            {
                "number": run.quarantine_id,
                "held_at": words.utc(run.held_at),
                "offers": run.offers_count,
                "why": run.sentence,
                "agreeing_runs": run.agreeing_runs,
            }
            for run in each.held
        ],
        "unmapped": [{"name": one.name, "family": one.family, "offers": one.offers} for one in each.unmapped],
    }


def _plain_run(run: Run | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "source": run.source,
        "started_at": words.utc(run.started_at),
        "read_at": words.utc(run.observed_at) if run.observed_at else None,
        "outcome": run.outcome.value if run.outcome else None,
        "sentence": run.sentence,
        "offers": run.offers_count,
    }
