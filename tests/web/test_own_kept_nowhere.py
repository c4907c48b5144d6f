"""What a reader writes of their own is in no log, no file, no table and no memory once it is answered."""

import asyncio
import gc
import os
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from sqlalchemy import MetaData
from starlette.types import ASGIApp, Message

from app.store.migrate import upgrade
from app.store.session import make_engine
from app.web.main import create_app
from app.web.tools.registry import TOOLS
from tests.test_services import PATIENCE_S, ROOT, free_port
from tests.web import market
from tests.web.conftest import Market, settings_for
from tests.web.server import listening

PLACES = (
    *("/", "/compare", "/compare.json", "/compare.csv", "/charts/scatter", "/charts/bars", "/quote"),
    *("/gpus/h100-sxm", "/gpus/h100-sxm.csv", "/charts/scatter.json", "/charts/bars.csv"),
    *("/figures/scatter.json", "/figures/bars.json", "/figures/history.json"),
    *("/history", "/history.json", "/history.csv"),
    *("/offers.csv", "/offers.json", "/offers.ndjson", "/offers/-1", "/offers/-2.json", "/offers/-1.csv"),
    *("/view.csv", "/view.tsv", "/view.json", "/view.md", "/view.xlsx", "/view.parquet"),
)
OTHERS = ("/changes", "/changes.atom", "/status", "/gpus", "/providers/own:{}", "/nothing")
"""Pages that take no such figures, or that do not exist: they refuse, and may not remember either."""
FAULT = """
from app.cli import main
from app.web import pages

whole = pages.render_evidence

def broken(served, row, **given):
    if given["query"].density == "compact":
        raise RuntimeError(f"cannot show {row} for {given}") from ValueError(repr(given))
    return whole(served, row, **given)

pages.render_evidence = broken
main()
"""


def addresses(marker: str) -> dict[str, int]:
    """Return addresses with the marker in each place where a reader may write, and how each is answered."""
    both = {"quote": f"{marker}|h100-sxm|2.10|8x", "own": f"{marker}|h200-sxm|40000|4|1200|0.12|60%"}
    typed = {"quote_name": marker, "quote_accelerator": "h100-sxm", "quote_usd_per_gpu_hour": "2.10"}
    found = {f"{path}?{urlencode(both)}": 200 for path in PLACES}
    found |= {f"{path.format(marker)}?{urlencode(both)}": 0 for path in OTHERS}
    past = {"as_of": "2026-11-14", "spec": "alt", "sort": "-provider", "baseline": "h100-sxm"}
    found |= {
        f"/?{urlencode({**both, **past})}": 200,
        f"/?{urlencode({**both, 'q': ''})}": 303,
        f"/?quot%65={marker}%7Ch100-sxm%7C2": 200,
        f"/compare?{urlencode({**both, 'baseline': ''})}": 303,
        f"/history?{urlencode({**both, 'from': ''})}": 303,
        f"/history?{urlencode({**both, 'gpu': 'h200-sxm', 'metric': 'usd_per_tbs_hour'})}": 200,
        f"/history.json?quote={marker}": 422,
        f"/?quote={marker}%7Cno-such-card%7C2": 422,
        f"/?own={marker}%7Ch100-sxm%7C2": 422,
        f"/offers.json?quote={marker}": 422,
        f"/compare?quote={marker}&quote={marker}": 422,
        f"/quote?{urlencode({**both, **typed})}": 303,
        f"/quote?{urlencode({**typed, 'quote_terms': marker})}": 422,
        f"/quote?{urlencode({'own_name': marker})}": 422,
        f"/quote?{urlencode({'back': marker})}": 422,
        f"/offers/-1?{urlencode({**both, 'density': 'compact'})}": 500,
    }
    measured = {"llm": "openai/gpt-oss-20b", "measured": f"41.5|h100-sxm|mxfp4|1|1|4096|bf16|{marker}"}
    found |= {
        f"{path}?{urlencode(measured)}": 200 for path in ("/measured", "/measured.json", "/measured.csv")
    }
    found |= {
        f"/measured?{urlencode({**measured, 'gpu': ''})}": 303,
        f"/measured?measured={marker}": 422,
        **of_a_model(measured),
        f"/measured.json?llm={marker}&measured={marker}": 422,
    }
    found |= {f"{path}{kind}?{text}": 0 for path, text in typed_into_tools(marker) for kind in ("", ".json")}
    return found


def of_a_model(measured: Mapping[str, str]) -> dict[str, int]:
    """Return the addresses that take the query of a model's page, with a measurement of one's own."""
    path, own = f"/llms/{measured['llm']}", {"measured": measured["measured"]}
    found = {f"{path}{kind}?{urlencode(own)}": 200 for kind in ("", ".json", ".csv")}
    found |= {
        f"/figures{path}/{name}.json?{urlencode(own)}": 200 for name in ("cost", "throughput", "roofline")
    }
    found |= {f"{path}/offers/1{kind}?{urlencode(own)}": 200 for kind in ("", ".json", ".csv")}
    both = {**own, "quote": "mine|h100-sxm|2.10", "sort": "-tokens_per_s", "gpu": "h100"}
    return found | {
        f"{path}?{urlencode(both)}": 200,
        f"{path}?{urlencode({**own, 'format': ''})}": 303,
        f"{path}?measure%64={own['measured'].replace('|', '%7C')}": 200,
        f"{path}.json?{urlencode({'measured': own['measured'] + '|too|many'})}": 422,
        f"/quote?{urlencode({'back': path, **own})}": 200,
        f"/llms?{urlencode(own)}": 0,
        f"/?{urlencode(own)}": 0,
    }


def typed_into_tools(marker: str) -> Iterator[tuple[str, str]]:
    """Yield each tool with its example, the marker in one field: alone, and beside what is right there."""
    for tool in TOOLS:
        texts = tool.examples[0].texts
        for field in tool.fields:
            beside = texts.get(field.name, "")
            for text in (marker, f"{beside}\n{marker}", f"{marker}\n{beside}"):
                yield tool.path, urlencode({**texts, field.name: text})


HEADERS: tuple[Mapping[str, str], ...] = ({}, {"hx-request": "true"}, {"accept-encoding": "br"})

# ---------------------------------------------------------------- a process with its log and its files


@contextmanager
def serving(home: Path, log: Path, port: int) -> Iterator[str]:
    """Give the address of a server in a process of its own that says all it can, to a file."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "INFERPRICE_HOME": str(home),
        "INFERPRICE_LOG_LEVEL": "debug",
        "INFERPRICE_SCHEDULER": "off",
        "TMPDIR": str(home / "temporary"),
    }
    environment.pop("DATABASE_URL", None)
    words = [sys.executable, "-c", FAULT, "serve", "--port", str(port)]
    with log.open("w") as said:
        process = subprocess.Popen(words, cwd=home, env=environment, stdout=said, stderr=said)
        try:
            wait_for(f"http://127.0.0.1:{port}/healthz")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def wait_for(address: str) -> None:
    ends_at = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urlopen(address, timeout=PATIENCE_S):  # noqa: S310 - our own loopback address
                return
        except URLError:
            assert time.monotonic() < ends_at
            time.sleep(0.05)


def status_of(address: str, headers: Mapping[str, str], *, body: str | None = None) -> int:
    # urllib would follow a redirect; what it leads to is asked for anyway.
    asked = Request(address, data=body.encode() if body else None, headers=dict(headers))  # noqa: S310 - same
    try:
        with urlopen(asked, timeout=PATIENCE_S) as answer:  # noqa: S310 - same
            answer.read()
            return int(answer.status)
    except HTTPError as refused:
        with closing(refused):
            refused.read()
            return refused.code


def test_a_server_that_logs_all_it_can_writes_a_readers_figures_nowhere(tmp_path: Path) -> None:
    home, log, marker = tmp_path / "home", tmp_path / "log", f"Zq{secrets.token_hex(6)}"
    (home / "temporary").mkdir(parents=True)
    with serving(home, log, free_port()) as base:
        for place, status in addresses(marker).items():
            for headers in HEADERS:
                got = status_of(base + place, {**headers, "referer": base + place})
                assert got in ({200, 404, 422} if status == 0 else {200 if status == 303 else status}), place
        for path, text in typed_into_tools(marker):
            assert status_of(base + path, {}, body=text) in {200, 422}, path
    said = log.read_text(encoding="utf-8")
    # The log was on, and tells of a fault all but its words.
    assert "WithheldError: RuntimeError, whose words are withheld" in said
    assert "in broken" in said
    assert marker not in said
    assert marker.casefold() not in said.casefold()
    files = [path for path in home.rglob("*") if path.is_file()]
    assert "inferprice.db" in {path.name for path in files}
    assert [path for path in files if marker.encode() in path.read_bytes()] == []
    assert list(home.rglob(f"*{marker}*")) == []
    with closing(sqlite3.connect(home / "inferprice.db")) as database:
        assert marker not in "\n".join(database.iterdump())


def test_a_fault_over_a_link_without_own_figures_keeps_its_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(url := f"sqlite:///{tmp_path}/market.db")
    upgrade(engine)
    engine.dispose()
    market.fill(url)

    def broken(*_given: object, **_named: object) -> str:
        raise RuntimeError("the very words")

    monkeypatch.setattr("app.web.pages.render_evidence", broken)
    with listening(create_app(settings_for(url), clock=lambda: market.NOW)) as base:
        assert status_of(f"{base}/offers/1?precision=bf16", {}) == 500
    assert "RuntimeError: the very words" in capfd.readouterr().err


# ---------------------------------------------------------------- the database and the memory of one process


def test_no_table_of_the_database_holds_a_readers_figures(served: Market) -> None:
    marker = f"Zq{secrets.token_hex(6)}"
    for place, status in addresses(marker).items():
        answer = served.client.get(place)
        assert status in {0, 500} or answer.status_code == status, place
    engine = served.client.app.state.shared.engine  # type: ignore[attr-defined]  # a FastAPI application
    tables = MetaData()
    tables.reflect(engine)
    assert "offer" in tables.tables
    with engine.connect() as connection:
        held = {
            name: [row for row in connection.execute(table.select()) if marker in repr(row)]
            for name, table in tables.tables.items()
        }
    assert held == {name: [] for name in tables.tables}


async def ask(app: ASGIApp, place: str, headers: Mapping[str, str], *, body: str = "") -> int:
    """Ask the application itself, without a client that remembers addresses, and return the status.

    What has a body is sent with POST.
    """
    path, _, text = place.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST" if body else "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": text.encode(),
        "headers": [
            (b"host", b"here"),
            *((name.encode(), value.encode()) for name, value in headers.items()),
        ],
        "server": ("here", 80),
        "client": ("there", 1),
    }
    statuses: list[int] = []
    asked: list[str] = []
    ended = asyncio.Event()

    async def receive() -> Message:
        if asked:
            await ended.wait()  # nobody goes away before the answer is there
            return {"type": "http.disconnect"}
        asked.append(place)
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        elif not message.get("more_body", False):
            ended.set()

    await app(scope, receive, send)
    return statuses[0]


def ask_all(app: ASGIApp, marker: str) -> None:
    async def all_of_them() -> None:
        for place, status in addresses(marker).items():
            for headers in HEADERS:
                got = await ask(app, place, headers)
                assert status in {0, 500} or got in {status, 200 if status == 303 else status}, (place, got)
        for path, text in typed_into_tools(marker):
            assert await ask(app, path, {}, body=text) in {200, 303, 422}, path

    asyncio.run(all_of_them())


def holders(marker: str) -> list[str]:
    """Return what in this process holds a text with the marker: what kind of thing, and the text's beginning.

    Texts themselves are not tracked; whatever refers to one is, or is referred to by what is.
    """
    gc.collect()
    found: list[str] = []
    todo: list[Any] = gc.get_objects()
    seen = {id(each) for each in todo} | {id(todo)}
    while todo:
        holder = todo.pop()
        for each in gc.get_referents(holder):
            if isinstance(each, str | bytes):
                if each is not marker and (marker if isinstance(each, str) else marker.encode()) in each:
                    found.append(f"{type(holder).__name__}: {each[:80]!r}")
            elif not gc.is_tracked(each) and id(each) not in seen and gc.get_referents(each):
                seen.add(id(each))
                todo.append(each)
    return found


def test_nothing_in_memory_holds_a_readers_figures(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/market.db"
    market.fill(url)
    app = create_app(settings_for(url), clock=lambda: market.NOW)
    marker = f"Zq{secrets.token_hex(6)}"
    ask_all(app, marker)
    assert holders(marker) == []
    # The check of the check: a search, which may be answered from memory, is found in both kinds of memory.
    other = f"Zq{secrets.token_hex(6)}"
    asyncio.run(ask(app, f"/?q={other}", {}))
    found = holders(other)
    assert any(each.startswith("tuple: ") and f"/?q={other}" in each for each in found)
    assert any("lru_cache_wrapper" in each for each in found), found


def test_a_workbook_with_a_quote_is_written_to_no_file(
    served: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    whole = tempfile.mkstemp
    monkeypatch.setattr(
        tempfile, "mkstemp", lambda *given, **named: made.append("file") or whole(*given, **named)
    )
    assert served.client.get("/view.xlsx?quote=Hale%7Ch100-sxm%7C2.1").status_code == 200
    assert made == []
    assert served.client.get("/view.xlsx?gpu=h100-sxm&sort=-provider").status_code == 200
    assert made != []
