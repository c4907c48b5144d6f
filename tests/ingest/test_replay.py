"""`inferprice scrape` against a server that stands for every provider: good days and every fault."""

import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import stamina
from click.testing import CliRunner, Result
from sqlalchemy import Engine, func, select
from sqlalchemy.engine import make_url

from app import cli
from app.commands import reviewing, scraping, shared
from app.ingest import sources
from app.ingest.archive import read_body
from app.ingest.fetch import fetching
from app.store import runs
from app.store.migrate import upgrade
from app.store.queries import last_good_runs, offers_as_of
from app.store.session import make_engine, reading
from app.store.tables import capture, metadata, price
from scrapers import ALTERNATIVES, SCRAPERS
from tests.conftest import Tell
from tests.ingest.faults import FAULTS, LIMIT_BYTES, TIMEOUT_S, Fault, repriced
from tests.ingest.replay import SHARED, SHARED_FILES, Replay, ToLoopback, replaying, small_scrapers
from tests.ingest.server import status
from tests.make import utc

MARKER = "marker-of-"
KEY = f"{MARKER}a-key"
KEYS = {f"INFERPRICE_{name}_API_KEY": f"{KEY}-{name.lower()}" for name in ("LAMBDA", "RUNPOD", "VAST")}
OFF_BY_DEFAULT = ("runpod", "vast")
FAULTY = {"nebius": "https://nebius.com/prices", "runpod": "https://api.runpod.io/graphql"}


@dataclass
class Board:
    """A dashboard on one database: its commands, its clock, and what is in it."""

    engine: Engine
    environment: dict[str, str]
    now: datetime = field(default_factory=lambda: utc(20))
    said: list[str] = field(default_factory=list)

    def clock(self) -> datetime:
        return self.now

    def run(self, *words: str) -> Result:
        """Run `inferprice` with these words, an hour after the command before it."""
        self.now += timedelta(hours=1)
        result = CliRunner().invoke(cli.main, words, env=self.environment, catch_exceptions=False)
        self.said.append(result.output)
        return result

    def scrape(self, *providers: str) -> Result:
        return self.run("scrape", *providers)

    def outcomes(self) -> dict[str, str]:
        with reading(self.engine) as connection:
            return {provider: str(run.outcome) for provider, run in runs.last_runs(connection).items()}

    def sentence(self, provider: str) -> str:
        with reading(self.engine) as connection:
            return runs.last_runs(connection)[provider].sentence

    def prices(self) -> dict[str, list[tuple[str, ...]]]:
        """What the board shows now of each provider."""
        shown: dict[str, list[tuple[str, ...]]] = {}
        with reading(self.engine) as connection:
            for each in offers_as_of(connection, self.now):
                row = (each.offer.sku, each.offer.tier, each.offer.region, str(each.offer.list_price))
                shown.setdefault(each.offer.provider, []).append(row)
        return {provider: sorted(rows) for provider, rows in shown.items()}

    def price_rows(self) -> int:
        with reading(self.engine) as connection:
            return int(connection.execute(select(func.count()).select_from(price)).scalar_one())

    def last_seen(self, provider: str) -> datetime:
        with reading(self.engine) as connection:
            return last_good_runs(connection)[provider]


@pytest.fixture
def replay() -> Iterator[Replay]:
    with replaying() as running:
        yield running


@pytest.fixture
def make_board(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Board]]:
    """Give a function that makes an empty board whose fetcher reaches the replay server."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(stamina.set_testing(testing=True, attempts=3, cap=True))

        def make(replay: Replay, *, whole: bool = False, **environment: str) -> Board:
            engine = make_engine(database_url)
            stack.callback(engine.dispose)
            upgrade(engine)
            board = Board(
                engine=engine,
                environment={
                    "INFERPRICE_HOME": str(tmp_path / "home"),
                    "DATABASE_URL": database_url,
                    "INFERPRICE_FETCH_DELAY_S": "0",
                    "INFERPRICE_FETCH_TIMEOUT_S": str(TIMEOUT_S),
                    "INFERPRICE_MAX_BODY_BYTES": str(LIMIT_BYTES),
                    "INFERPRICE_LOG_LEVEL": "debug",
                    **environment,
                },
            )
            carried = partial(fetching, transport=ToLoopback(replay.host.url))
            monkeypatch.setattr(sources, "fetching", carried)
            if not whole:
                monkeypatch.setattr(sources, "SCRAPERS", small_scrapers())
            for module in (scraping, reviewing, shared, cli):
                monkeypatch.setattr(module, "now", board.clock)
            for provider in OFF_BY_DEFAULT:
                assert board.run("sources", "enable", provider, "--i-have-read-the-terms").exit_code == 0
            return board

        yield make


def test_an_empty_board_fills_and_a_second_run_changes_nothing(
    make_board: Callable[..., Board], replay: Replay
) -> None:
    board = make_board(replay)
    first = board.scrape()
    assert first.exit_code == 0, first.output
    assert board.outcomes() == dict.fromkeys(SCRAPERS, "published")
    shown, rows = board.prices(), board.price_rows()
    assert set(shown) == set(SCRAPERS)
    second = board.scrape()
    assert second.exit_code == 0
    assert {board.outcomes()[provider] for provider in SCRAPERS} == {"unchanged"}
    assert (board.prices(), board.price_rows()) == (shown, rows)
    with reading(board.engine) as connection:
        columns = (capture.c.url, capture.c.method, capture.c.status, capture.c.sha256)
        query = select(*columns).where(capture.c.url.startswith("https:")).order_by(capture.c.id)
        kept = connection.execute(query).all()
    by_url: dict[str, list[tuple[str, int, str]]] = {}
    for url, method, code, sha256 in kept:
        by_url.setdefault(url, []).append((method, code, sha256))
    asked = [request for each in (*SCRAPERS.values(), *ALTERNATIVES.values()) for request in each.requests]
    assert set(by_url) == {r.url for r in asked if r.key is None or not r.key.is_required}
    for url, (before, after) in by_url.items():
        assert before[2] == after[2], url
        assert (before[1], after[1]) == (200, 304 if after[0] == "GET" else 200), url


def test_progress_is_shown_and_a_table_ends_it(make_board: Callable[..., Board], replay: Replay) -> None:
    board = make_board(replay)
    replay.answer(FAULTY["nebius"], status(403))
    result = board.scrape("nebius", "modal")
    assert result.exit_code == 3
    progress = result.stderr.splitlines()
    assert [line.split(" in ")[0] for line in progress] == ["nebius ... failed", "modal ... published"]
    heads, *lines = result.stdout.splitlines()
    assert heads.split() == ["Provider", "Outcome", "Offers", "Findings", "What", "happened"]
    assert lines[0].split()[:4] == ["nebius", "failed", "-", "1"]
    assert lines[1].split()[:3] == ["modal", "published", "7"]
    replay.restore(FAULTY["nebius"])
    assert board.scrape("nebius", "modal").exit_code == 0


def test_a_source_whose_key_is_not_set_is_read_from_its_public_page(
    make_board: Callable[..., Board], replay: Replay
) -> None:
    api = ALTERNATIVES["lambda"].requests[0].url
    board = make_board(replay)
    board.scrape("lambda")
    assert (board.outcomes()["lambda"], replay.asked(api)) == ("published", 0)
    with_key = {**board.environment, **KEYS}
    board.environment = with_key
    board.scrape("lambda")
    assert (board.outcomes()["lambda"], replay.asked(api)) == ("unchanged", 1)
    keys = {h.get("authorization") for h in replay.host.headers}
    assert keys == {None, f"Bearer {KEY}-lambda"}


def test_two_surfaces_that_disagree_are_a_finding(make_board: Callable[..., Board], replay: Replay) -> None:
    other = ALTERNATIVES["baseten"].requests[0].url
    board = make_board(replay)
    board.scrape("baseten")
    dearer = replay.pages[other].replace(b"9.9258", b"11.9258")
    replay.answer(other, status(200, dearer, content_type="text/html"))
    board.scrape("baseten")
    assert board.outcomes()["baseten"] == "unchanged"
    assert "surfaces_disagree" in findings(board, "baseten")
    replay.answer(other, status(403))
    board.scrape("baseten")
    assert board.outcomes()["baseten"] == "unchanged"
    assert findings(board, "baseten").count("surface_failed") == 1


def findings(board: Board, provider: str) -> list[str]:
    with reading(board.engine) as connection:
        run = runs.last_runs(connection)[provider]
        return [each.code for each in runs.findings_of(connection, run.run_id)]


WHOLE = {"runpod": 69 + 10, "coreweave": 34, "nebius": 14}
"""Rows of the golden files; 7 of Nebius's 21 are the column that ended with September."""


@pytest.mark.skipif(not SHARED.is_dir(), reason="not run: ../shared is not here")
def test_whole_stored_pages_pass_the_real_expectations(make_board: Callable[..., Board]) -> None:
    with replaying(whole=True) as replay:
        board = make_board(replay, whole=True)
        result = board.scrape(*SHARED_FILES)
        assert result.exit_code == 0, result.output
        counts = {provider: len(rows) for provider, rows in board.prices().items()}
        assert {provider: counts[provider] for provider in SHARED_FILES} == WHOLE
        assert board.scrape(*SHARED_FILES).exit_code == 0
        assert {board.outcomes()[provider] for provider in SHARED_FILES} == {"unchanged"}


def test_what_cannot_be_read_for_days_is_marked(make_board: Callable[..., Board], replay: Replay) -> None:
    board = make_board(replay)
    board.scrape("nebius", "modal")
    replay.answer(FAULTY["nebius"], status(403))
    for days in (1, 2):
        board.now += timedelta(days=days)
        board.scrape("nebius", "modal")
    rows = json.loads(board.run("offers", "--format", "json").stdout)
    marked = {(row["provider"], "stale" in row["flags"]) for row in rows}
    assert {("nebius", True), ("modal", False)} <= marked
    assert {("nebius", False), ("modal", True)}.isdisjoint(marked)


# Every fault, at one provider whose page is HTML and at one that answers JSON to a POST with our key.


def stage(board: Board, replay: Replay, provider: str, *, fault: Fault) -> None:
    """Have the provider's page answer with the fault; last year's page is first replaced by a newer one."""
    url = FAULTY[provider]
    good = replay.pages[url]
    replies = fault.replies(good)
    if "read before" in fault.name:
        newer = repriced(good, "1.10", first=1)
        replay.serve(url, newer)
        board.scrape(provider)
        assert board.outcomes()[provider] == "published"
        replay.pages[url] = newer
    replay.answer(robots_of(url) if fault.is_of_robots else url, *replies)


def robots_of(url: str) -> str:
    return f"https://{urlsplit(url).hostname}/robots.txt"


def test_every_fault_leaves_the_board_as_it_was(
    make_board: Callable[..., Board],
    replay: Replay,
    tell: Tell,
    caplog: pytest.LogCaptureFixture,
    database_url: str,
    tmp_path: Path,
) -> None:
    caplog.set_level(logging.DEBUG, logger="app")
    board = make_board(replay, **KEYS, **marked_settings(database_url, tmp_path))
    assert board.scrape().exit_code == 0
    lines = []
    for provider in FAULTY:
        for fault in FAULTS:
            if "our key" in fault.name and provider != "runpod":
                continue
            lines.append(faulted(board, replay, provider, fault=fault))
    tell(shared.text_table(HEADS, lines))
    assert_no_marker(board, caplog)


def marked_settings(database_url: str, tmp_path: Path) -> dict[str, str]:
    """Return every other setting that takes a text of ours, with a marker in it."""
    url = make_url(database_url)
    if url.get_backend_name() == "postgresql":
        url = url.set(password=f"{MARKER}a-password")
    return {
        "INFERPRICE_HOME": str(tmp_path / f"{MARKER}a-home"),
        "INFERPRICE_USER_AGENT": f"{MARKER}an-agent/1 (+https://inferprice.example)",
        "DATABASE_URL": url.render_as_string(hide_password=False),
    }


HEADS = [
    (head, False) for head in ("Provider", "Fault", "Outcome", "Its offers", "The others", "Status says")
]


def faulted(board: Board, replay: Replay, provider: str, *, fault: Fault) -> list[str]:
    """Scrape everything with one fault, assert what came of it, and return the row of the table."""
    stage(board, replay, provider, fault=fault)
    shown, rows, seen = board.prices(), board.price_rows(), board.last_seen(provider)
    result = board.scrape()
    where = f"{provider}: {fault.name}: {board.sentence(provider)}"
    expected = fault.outcome_of(replay.pages[FAULTY[provider]])
    is_good = expected == "unchanged"
    assert board.outcomes()[provider] == expected, where
    assert fault.said in board.sentence(provider), where
    assert result.exit_code == (0 if is_good else 3), where
    # The last good offers stay, and their age shows that they were not seen again.
    assert (board.prices(), board.price_rows()) == (shown, rows), where
    assert (board.last_seen(provider) > seen) is is_good, where
    others = {board.outcomes()[name] for name in SCRAPERS if name != provider}
    assert others == {"unchanged"}, where
    status_text = board.run("status").stdout
    assert board.sentence(provider) in status_text
    replay.restore(FAULTY[provider])
    replay.answer(robots_of(FAULTY[provider]), status(404))
    board.scrape(provider)
    assert board.outcomes()[provider] == "unchanged", where
    return [provider, fault.name, expected, "stay", "unchanged", board_sentence(status_text, provider)]


def board_sentence(status_text: str, provider: str) -> str:
    """Give the last words of a provider's line of `inferprice status`, after the outcome."""
    line = next(line for line in status_text.splitlines() if line.startswith(f"{provider} "))
    return line.split("  ")[-1][:150]


def assert_no_marker(board: Board, caplog: pytest.LogCaptureFixture) -> None:
    """Look for what the settings held wherever the program writes: output, log, tables, archive."""
    home = Path(board.environment["INFERPRICE_HOME"])
    assert MARKER not in caplog.text
    assert MARKER not in "".join(board.said)
    with reading(board.engine) as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(select(table)):
                assert MARKER not in repr(tuple(row)), table.name
    bodies = list((home / "archive").glob("??/*.gz"))
    assert len(bodies) > len(SCRAPERS)
    for path in bodies:
        assert MARKER.encode() not in read_body(home / "archive", path.name.removesuffix(".gz"))
