"""What a machine watches: whether this process is ready, and its figures as Prometheus text."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter as Tally
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response

from app.domain.findings import Level
from app.store import migrate, status
from app.store.session import reading
from app.web.boards import NoBoardError
from app.web.source_status import sources_status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client import Metric
    from starlette.requests import Request
    from starlette.types import Scope

    from app.web.shared import Shared
    from app.web.source_status import SourceStatus

log = logging.getLogger(__name__)

BUCKETS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds of the latency histogram in seconds: a page from memory takes a fraction of a millisecond."""

NEVER_KEPT: Final = {"cache-control": "no-store"}

OTHER: Final = "other"
"""Route of a request that no route takes: addresses that do not exist are endless and get no label each."""


class RequestTimes:
    """The times of all requests by route and status, noted by the event loop alone, so without a lock."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, int], _Times] = {}

    def note(self, scope: Scope, *, code: int, seconds: float) -> None:
        """Count one request with the time it took."""
        key = (scope.get("endpoint"), code)
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = _Times(route_of(scope), str(code), [0] * (len(BUCKETS_S) + 1))
        found.counts[bisect_left(BUCKETS_S, seconds)] += 1
        found.seconds += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield the histogram, in which each bucket holds all requests that took up to its bound."""
        made = HistogramMetricFamily(
            "inferprice_http_request_seconds",
            "Time from a request to the end of its answer, by route and status.",
            labels=("route", "status"),
        )
        bounds = [*(str(bound) for bound in BUCKETS_S), "+Inf"]
        for (route, code), counts, seconds in self._by_route():
            made.add_metric([route, code], list(zip(bounds, accumulate(counts), strict=True)), seconds)
        yield made

    def _by_route(self) -> Iterator[tuple[tuple[str, str], list[int], float]]:
        """Yield the times of each route and status once: the same route may have several endpoints."""
        merged: dict[tuple[str, str], tuple[list[int], float]] = {}
        for each in list(self._seen.values()):
            counts, seconds = merged.get((each.route, each.code), ([0] * len(each.counts), 0.0))
            summed = [one + more for one, more in zip(counts, each.counts, strict=True)]
            merged[each.route, each.code] = (summed, seconds + each.seconds)
        for key in sorted(merged):
            yield key, *merged[key]


@dataclass(slots=True)  # it counts
class _Times:
    """The times of one endpoint and status: how many fell between two bounds, and their sum."""

    route: str
    code: str
    counts: list[int]
    seconds: float = 0.0


def route_of(scope: Scope) -> str:
    """Return the path of the route that took a request, with its parameters by name, or a mount's prefix."""
    if "endpoint" not in scope:
        return OTHER
    outer = scope.get("app_root_path", "")
    mounted = str(scope.get("root_path", "")).removeprefix(outer)
    if mounted:
        return mounted
    path = str(scope["path"]).removeprefix(outer)
    for name, value in scope["path_params"].items():
        head, _, tail = path.rpartition(str(value)) if str(value) else (path, "", "")
        path = f"{head}{{{name}}}{tail}"
    return path


class SourceFigures:
    """Reads the figures of the sources when somebody asks; a database that is away is a figure as well."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of all sources; what is not known has no sample, which is not the same as 0."""
        try:
            found = list(self._collect())
        except (SQLAlchemyError, NoBoardError):
            found = []
        up = GaugeMetricFamily("inferprice_database_up", "1 when the database can be read, else 0.")
        up.add_metric([], 1 if found else 0)
        yield up
        yield from found

    def _collect(self) -> Iterator[Metric]:
        shared = self._shared
        served = shared.keeper.current()
        with reading(shared.engine) as connection:
            sources = sources_status(connection, served, now=shared.clock(), enabled=shared.enabled_sources)
            runs = status.runs_by_outcome(connection)
        yield from _source_metrics(sources)
        held = GaugeMetricFamily("inferprice_held_runs", "Runs that wait for somebody's decision.")
        held.add_metric([], sum(len(each.held) for each in sources))
        yield held
        ended = CounterMetricFamily(
            "inferprice_runs", "Runs by source and outcome.", labels=("source", "outcome")
        )
        for (source, outcome), number in sorted(runs.items()):
            ended.add_metric([source, outcome], number)
        yield ended


def _source_metrics(sources: Sequence[SourceStatus]) -> Iterator[Metric]:
    """Yield what is told of each source by a gauge."""
    age = GaugeMetricFamily(
        "inferprice_source_age_seconds", "Time since the last good run of a source.", labels=("source",)
    )
    enabled = GaugeMetricFamily(
        "inferprice_source_enabled", "1 when a source is read, else 0.", labels=("source",)
    )
    offers = GaugeMetricFamily("inferprice_offers", "Offers on the board by provider.", labels=("provider",))
    findings = GaugeMetricFamily(
        "inferprice_findings", "Findings of a source's last run by level.", labels=("source", "level")
    )
    for each in sources:
        if each.age is not None:
            age.add_metric([each.provider], each.age.total_seconds())
        enabled.add_metric([each.provider], int(each.is_on))
        offers.add_metric([each.provider], each.offers)
        counts = Tally(finding.level for finding in each.findings)
        for level in Level if each.last is not None else ():
            findings.add_metric([each.provider, level.value], counts[level])
    yield from (age, enabled, offers, findings)


def metrics(request: Request) -> Response:
    """Answer all figures of this process and its sources as Prometheus text."""
    shared: Shared = request.app.state.shared
    text = generate_latest(shared.registry)
    return Response(text, headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4, **NEVER_KEPT})


def readyz(request: Request) -> Response:
    """Answer 200 when the database is there with this version's tables, and a board is; else 503."""
    why = _why_not_ready(request.app.state.shared)
    text = f"not ready: {why}\n" if why else "ready\n"
    return Response(text, 503 if why else 200, headers=NEVER_KEPT, media_type="text/plain; charset=utf-8")


def _why_not_ready(shared: Shared) -> str:
    try:
        with reading(shared.engine) as connection:
            behind = migrate.behind(connection)
        if behind:
            return behind
        shared.keeper.current()
    except SQLAlchemyError:
        log.exception("The database cannot be read.")
        return "the database cannot be read"
    except NoBoardError as error:
        return str(error)
    return ""
