"""Pages over HTTP: ours beside the same bytes from memory, and our JSON beside datasette's."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks import load, processes
from benchmarks.datasette_side import DATASETTE, datasette, datasette_path, first_sku
from benchmarks.made_offers import publish
from benchmarks.peer_programs import PeerError
from benchmarks.questions import gpu_sets, unseen_questions
from benchmarks.results import Row, WrongAnswerError, compare, limit, not_measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from app.domain.offers import Offer
    from benchmarks.processes import Server

ROUNDS: Final = 5
WARM_UP_S: Final = 3.0
SECONDS: Final = 2.0
MOST_A_SECOND: Final = 8_000
"""Paths kept ready for a second of load: more than any server here can answer."""

SAME_HEADERS: Final = ("content-type", "etag", "cache-control", "vary")


class Side(NamedTuple):
    """One thing to measure: a server, its path or paths that come once only, and the request's headers."""

    server: Server
    paths: str | Iterator[str]
    headers: Mapping[str, str] = {}

    def requests_per_s(self, seconds: float) -> float:
        """Return how many requests a second the side answers."""
        port, paths = self.server.port, self.paths
        if isinstance(paths, str):
            return load.measure(port, [paths], seconds=seconds, headers=self.headers).requests_per_s
        listed = list(islice(paths, round(MOST_A_SECOND * seconds)))
        measured = load.measure(port, listed, seconds=seconds, headers=self.headers)
        if measured.requests > len(listed):
            raise load.LoadError(f"only {len(listed)} paths were ready for {measured.requests} requests")
        return measured.requests_per_s


class Servers(NamedTuple):
    """What runs while pages are measured: 5,000 and 50,000 offers, the bytes from memory, datasette."""

    few: Server
    many: Server
    memory: Server
    datasette: Server | None


def measure(
    few_url: str, many_url: str, *, offers: Sequence[Offer], folder: Path
) -> tuple[list[Row], list[str]]:
    """Return the rows of the pages and what is said below the table. `offers` are those of `many_url`."""
    with ExitStack() as running:
        few = running.enter_context(processes.board(few_url))
        many = running.enter_context(processes.board(many_url))
        _keep_bytes(few, folder)
        memory = running.enter_context(processes.same_bytes(folder))
        why = ""
        try:
            other = running.enter_context(datasette(few_url))
        except (PeerError, processes.ServerError) as error:
            other, why = None, str(error).splitlines()[0]
        servers = Servers(few, many, memory, other)
        _check(servers)
        rates = _rates(servers)
        return [*_rows(rates, why), _memory_row(many, many_url, offers=offers)], _notes(rates)


def _keep_bytes(server: Server, folder: Path) -> None:
    """Write what the first page is, for the server that answers it from memory."""
    page = server.get("/")
    headers = {name: page.headers[name] for name in SAME_HEADERS}
    (folder / "body").write_bytes(page.body)
    (folder / "headers.json").write_text(json.dumps(headers), encoding="utf-8")


def _check(servers: Servers) -> None:
    """Raise when a side answers something else than it should, before anything is timed."""
    page = servers.few.get("/")
    if servers.memory.get("/").body != page.body or servers.memory.get("/loop").body != page.body:
        raise WrongAnswerError("the bytes from memory are not those of the page")
    if servers.few.get("/", {"if-none-match": page.headers["etag"]}).status != 304:
        raise WrongAnswerError("the page's own ETag is not answered 304")
    for question in islice(unseen_questions(), 3):
        for server in (servers.few, servers.many):
            rows = server.get(f"/?{question}").body.count(b'<tr id="o')
            if rows != 100:
                raise WrongAnswerError(f"the page of {question} has {rows} rows")
    if servers.datasette is not None:
        for gpus in islice(gpu_sets(5), 3):
            ours = json.loads(servers.few.get(_json_path(gpus)).body)["rows"]
            if len(ours) != 100 or ours[0]["sku"] != first_sku(servers.datasette, gpus):
                raise WrongAnswerError(f"datasette and we rank different offers first for {gpus}")


def _json_path(gpus: Sequence[str]) -> str:
    return f"/offers.json?{'&'.join(f'gpu={gpu}' for gpu in gpus)}&per_page=100"


def _rates(servers: Servers) -> dict[str, float]:
    """Return the median requests a second of each side; the sides take turns in every round."""
    unseen = [(f"/?{question}" for question in islice(unseen_questions(), 10 + n, None, 3)) for n in range(3)]
    ours, theirs = islice(gpu_sets(5), 10, None), islice(gpu_sets(5), 10, None)
    sides = {
        "bytes": Side(servers.memory, "/"),
        "bytes on the loop": Side(servers.memory, "/loop"),
        "cached": Side(servers.few, "/"),
        "few": Side(servers.few, unseen[0]),
        "many": Side(servers.many, unseen[1]),
        "few, compressed": Side(servers.few, unseen[2], {"accept-encoding": "br"}),
        "json": Side(servers.few, map(_json_path, ours)),
    }
    if servers.datasette is not None:
        sides["datasette"] = Side(servers.datasette, map(datasette_path, theirs))
    found: dict[str, list[float]] = {name: [] for name in (*sides, "304")}
    for number in range(ROUNDS + 1):
        # The tag is asked for each time: it changes with the hour.
        tag = {"if-none-match": servers.few.get("/").headers["etag"]}
        for name, side in (sides | {"304": Side(servers.few, "/", tag)}).items():
            rate = side.requests_per_s(SECONDS if number else WARM_UP_S)
            found[name] += [rate] if number else []
    return {name: median(rates) for name, rates in found.items()}


def _rows(rates: Mapping[str, float], why: str) -> list[Row]:
    def pages(work: str, name: str, *, at_least: float) -> Row:
        return compare(work, rates[name], rates["bytes"], unit="req/s", at_least=at_least)

    return [
        pages("cached page of 100 rows, against the same bytes from memory", "cached", at_least=0.85),
        pages("If-None-Match answered 304, against the same", "304", at_least=1.0),
        pages("first view of an unseen filter and sort, 5,000 offers, the same", "few", at_least=0.5),
        pages("first view of an unseen filter and sort, 50,000 offers, the same", "many", at_least=0.25),
        not_measured(DATASETTE, why, wanted="10")
        if why
        else compare(DATASETTE, rates["json"], rates["datasette"], unit="req/s", at_least=10),
    ]


def _notes(rates: Mapping[str, float]) -> list[str]:
    """Return what a reader has to know to judge the figures."""
    on_loop, compressed = rates["bytes on the loop"], rates["few, compressed"]
    return [
        f"""The bytes from memory come from a plain sync endpoint. An async one returns them {on_loop:,.0f}
  times a second: ours, too, answers on the event loop when it need not wait.""",
        """Every unseen page is another set of 4 to 10 GPUs, pricing, size and order, which the server has not
  answered before. The board's own orders and rendered rows are warm, as they are after some minutes.""",
        f"""Asked for brotli, as browsers ask, unseen pages of 5,000 offers come {compressed:,.0f}
  times a second: compressing takes longer than all the rest and has a thread of its own.""",
        "JSON: every request asks for five GPUs that were not asked for together before, on either side.",
    ]


def _memory_row(server: Server, url: str, *, offers: Sequence[Offer]) -> Row:
    """Return the row of the memory after the load, or after the next publish where that is more.

    A publish makes the server build the next board while the last one still serves.
    """
    after_load = server.memory_mb()
    before = server.get("/").headers["etag"]
    mine = [offer for offer in offers if offer.provider == offers[0].provider]
    dearer = [replace(offer, list_price=offer.list_price * 2) for offer in mine]
    publish(url, dearer, read_at=datetime.now(UTC).replace(microsecond=0))
    time.sleep(1.5)
    for _ in range(20):
        if server.get("/").headers["etag"] != before:
            break
        time.sleep(0.5)
    else:
        raise WrongAnswerError("a publish did not show within ten seconds")
    most = max(after_load, server.memory_mb())
    return limit(
        f"memory with {len(offers):,} current offers, after load and a publish", most, unit="MB", below=400
    )
