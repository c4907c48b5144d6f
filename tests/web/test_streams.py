"""Long tables are sent while they are made: the same bytes, flat memory, no more than a reader takes."""

import csv
import io
import json
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from app.web import api
from app.web.main import create_app
from app.web.streams import BATCH_ROWS, STREAMED_ROWS, batches, csv_chunks, line_chunks, stream
from benchmarks import processes
from benchmarks.made_offers import fill_database, make_offers
from tests.conftest import Tell
from tests.web.conftest import settings_for
from tests.web.reading import get
from tests.web.server import listening

MANY = 100_000
SOME = STREAMED_ROWS + 321
READ_AT_A_TIME = 65_536
MOST_GROWTH_MB = 16
NDJSON = "application/x-ndjson"


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A board with a few more offers than are made whole."""
    url = fill_database(tmp_path_factory.mktemp("streams") / "some.db", make_offers(SOME))
    with TestClient(create_app(settings_for(url))) as client:
        yield client


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# ---------------------------------------------------------------- flat memory


def test_a_hundred_thousand_rows_are_read_while_the_server_s_memory_stays_flat(
    tmp_path: Path, tell: Tell
) -> None:
    offers = make_offers(MANY)
    url = fill_database(tmp_path / "many.db", offers)
    command = [sys.executable, "-m", "benchmarks.serve", "board"]
    with processes.serving(command, first_path="/healthz", environment={"DATABASE_URL": url}) as server:
        server.read_watched("/offers.csv?page=1")
        before = server.memory_mb()
        text, most = server.read_watched("/offers.csv")
    growth, size = most - before, len(text) / 1e6
    tell(f"{MANY:,} rows of CSV, {size:.1f} MB, streamed while memory grew by {growth:.1f} MB")
    rows = list(csv.DictReader(io.StringIO(text.decode(), newline="")))
    assert {row["sku"] for row in rows} == {offer.sku for offer in offers}
    assert len(rows) == MANY
    assert size > 25
    assert growth < MOST_GROWTH_MB


# ---------------------------------------------------------------- the same bytes


def test_a_long_table_is_the_pages_one_after_the_other(some: TestClient) -> None:
    """Pages are made whole, so they are another way to the same rows."""
    whole = some.get("/offers.csv?sort=-usd_per_gpu_hour")
    assert "content-length" not in whole.headers
    pages = [
        some.get(f"/offers.csv?sort=-usd_per_gpu_hour&per_page=1000&page={page}") for page in range(1, 7)
    ]
    assert all("content-length" in page.headers for page in pages)
    head, _, first = pages[0].text.partition("\r\n")
    rest = [page.text.removeprefix(f"{head}\r\n") for page in pages[1:]]
    assert whole.text == "".join([head, "\r\n", first, *rest])
    assert whole.text.count("\r\n") == SOME + 1


def test_it_has_the_bytes_of_the_same_table_made_whole(
    some: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    streamed = some.get("/offers.csv?columns=tdp_w,ops_per_byte")
    monkeypatch.setattr(api, "STREAMED_ROWS", SOME)
    whole = some.get("/offers.csv?columns=tdp_w,ops_per_byte")
    assert "content-length" in whole.headers
    assert "content-length" not in streamed.headers
    assert streamed.content == whole.content
    for name in ("etag", "last-modified", "cache-control", "vary", "content-type", "content-disposition"):
        assert streamed.headers[name] == whole.headers[name]


@pytest.mark.parametrize("count", [0, 1, BATCH_ROWS - 1, BATCH_ROWS, BATCH_ROWS + 1, 5 * BATCH_ROWS])
def test_no_row_is_lost_between_two_batches(count: int) -> None:
    assert [row for batch in batches(range(count)) for row in batch] == list(range(count))
    assert all(len(batch) <= BATCH_ROWS for batch in batches(range(count)))
    table = "".join(["number\r\n", *(f"{row}\r\n" for row in range(count))])
    made = csv_chunks(range(count), lambda rows: "".join(["number\r\n", *(f"{row}\r\n" for row in rows)]))
    assert b"".join(made).decode() == table
    lines = b"".join(line_chunks(range(count), lambda row: str(row).encode()))
    assert lines.decode() == "".join(f"{row}\n" for row in range(count))


# ---------------------------------------------------------------- an object a line


def rows_that_say(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the JSON, each with what its head says that the figures stand for."""
    said = {key: document[key] for key in ("baseline", "precision", "weights_gb", "spec", "as_of")}
    return [row | said for row in document["rows"]]


@pytest.mark.parametrize(
    "query",
    ["", "gpu=h100&sort=-tdp_w", "page=2&per_page=7", "as_of=2026-11-14&precision=bf16", "q=nothing+like+it"],
)
def test_a_line_is_a_row_of_the_json(client: TestClient, query: str) -> None:
    """And says what its figures stand for, which the JSON says once."""
    lines = objects(get(client, f"/offers.ndjson?{query}"))
    assert lines == rows_that_say(client.get(f"/offers.json?{query}").json())


def test_every_row_of_a_long_board_has_its_line(some: TestClient) -> None:
    answer = some.get("/offers.ndjson")
    assert answer.headers["content-type"] == NDJSON
    assert answer.text.count("\n") == SOME
    assert objects(answer.text) == rows_that_say(some.get("/offers.json").json())


def test_lines_have_a_tag_and_a_date_and_take_the_same_query(client: TestClient) -> None:
    answer = client.get("/offers.ndjson?gpu=h100")
    tag, date = answer.headers["etag"], answer.headers["last-modified"]
    for known in ({"if-none-match": tag}, {"if-modified-since": date}):
        again = client.get("/offers.ndjson?gpu=h100", headers=known)
        assert (again.status_code, again.content) == (304, b"")
    assert client.get("/offers.ndjson?gpu=h200", headers={"if-none-match": tag}).status_code == 200
    headed = client.head("/offers.ndjson?gpu=h100")
    assert (headed.status_code, headed.content) == (200, b"")
    assert headed.headers["etag"] == tag
    assert headed.headers["content-type"] == answer.headers["content-type"]
    wrong = client.get("/offers.ndjson?gpu=x")
    assert wrong.status_code == 422
    assert wrong.headers["content-type"] == "application/problem+json"
    assert wrong.json()["field"] == "gpu"


@pytest.mark.parametrize("address", ["/offers.ndjson", "/offers.csv"])
def test_what_holds_the_reader_s_own_figures_is_kept_by_nobody(
    client: TestClient, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "STREAMED_ROWS", 0)
    answer = client.get(f"{address}?gpu=h100&quote=mine|h100-sxm|1.50")
    assert "own:mine" in answer.text
    assert "no-store" in answer.headers["cache-control"]
    assert not {"etag", "last-modified", "content-length"} & set(answer.headers)


# ---------------------------------------------------------------- readers and faults


class Source:
    """An endless body that counts what is taken and notes when it is closed."""

    def __init__(self, *, breaks: bool = False) -> None:
        self.taken = 0
        self.closed = threading.Event()
        self._breaks = breaks

    def chunks(self) -> Iterator[bytes]:
        try:
            while True:
                self.taken += 1
                yield b"x" * READ_AT_A_TIME
                if self._breaks:
                    raise ZeroDivisionError
        finally:
            self.closed.set()

    def endpoint(self, request: Request) -> Response:
        return stream(request, self.chunks(), media_type="text/plain", tag="")


def serving(source: Source) -> Any:
    return listening(Starlette(routes=[Route("/", source.endpoint, methods=["GET"])]))


def test_a_slow_reader_is_waited_for_and_one_who_leaves_ends_it() -> None:
    source = Source()
    with serving(source) as base:
        connection = HTTPConnection(urlsplit(base).netloc, timeout=10)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert len(answer.read(READ_AT_A_TIME)) == READ_AT_A_TIME
        # What lies between the server and this end is a few megabytes of socket buffers at most.
        assert not source.closed.wait(0.5)
        assert source.taken < 500
        answer.close()
        connection.close()
        assert source.closed.wait(10), "the body was still being made"


def test_head_takes_nothing() -> None:
    source = Source()
    with serving(source) as base:
        connection = HTTPConnection(urlsplit(base).netloc, timeout=10)
        connection.request("HEAD", "/")
        assert connection.getresponse().read() == b""
        connection.close()
    assert source.taken == 0


def test_a_fault_half_way_does_not_look_like_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(Source(breaks=True)) as base:
        connection = HTTPConnection(urlsplit(base).netloc, timeout=10)
        connection.request("GET", "/")
        with pytest.raises(IncompleteRead):
            connection.getresponse().read()
        connection.close()
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_without_a_tag_nobody_may_keep_the_answer() -> None:
    request = Request({"type": "http", "method": "GET", "headers": []})
    answer = stream(request, [b"mine"], media_type="text/csv", tag="")
    assert answer.headers["cache-control"] == "private, no-store"
    assert "etag" not in answer.headers
