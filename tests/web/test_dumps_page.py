"""The daily dumps over HTTP: true hashes, tags, dates, parts of a file, and what is said without one."""

import hashlib
import io
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path

import pandas as pd
import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.ingest.dumps import write_dumps
from app.settings import Settings
from app.store.session import make_engine
from app.web.main import create_app
from tests.web import market
from tests.web.reading import get

DAY = "/dumps/offers-2026-11-14.parquet"
HISTORY = "/dumps/history.parquet"
PROBLEM = "application/problem+json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "dumps"


@pytest.fixture
def client(sqlite_database_url: str, folder: Path) -> Iterator[TestClient]:
    """An application whose folder of dumps is empty at first."""
    market.fill(sqlite_database_url)
    settings = Settings(DATABASE_URL=sqlite_database_url, dumps=folder)
    with TestClient(create_app(settings, clock=lambda: market.NOW)) as served:
        yield served


def write(sqlite_database_url: str, folder: Path) -> None:
    engine = make_engine(sqlite_database_url)
    write_dumps(engine, folder, now=market.NOW)
    engine.dispose()


@pytest.fixture
def dumped(client: TestClient, sqlite_database_url: str, folder: Path) -> TestClient:
    """The application with dumps, written while it runs."""
    write(sqlite_database_url, folder)
    return client


def test_every_file_of_the_manifest_can_be_had_with_its_hash(dumped: TestClient) -> None:
    files = dumped.get("/dumps/manifest.json").json()["files"]
    assert len(files) == 19
    for each in files:
        answer = dumped.get(f"/dumps/{each['name']}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/vnd.apache.parquet"
        assert hashlib.sha256(answer.content).hexdigest() == each["sha256"]
        assert len(answer.content) == each["bytes"] == int(answer.headers["content-length"])
        assert answer.headers["etag"] == f'"{each["sha256"]}"'
    table = pd.read_parquet(io.BytesIO(dumped.get(DAY).content))
    assert len(table) == dumped.get("/offers.json?as_of=2026-11-14").json()["total"]


@pytest.mark.parametrize("address", [DAY, HISTORY, "/dumps/manifest.json"])
def test_what_is_known_is_not_sent_again(dumped: TestClient, address: str) -> None:
    answer = dumped.get(address)
    assert answer.headers["cache-control"] == "no-cache"
    assert parsedate_to_datetime(answer.headers["last-modified"])
    for known in (
        {"if-none-match": answer.headers["etag"]},
        {"if-modified-since": answer.headers["last-modified"]},
    ):
        again = dumped.get(address, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == answer.headers["etag"]
    assert dumped.get(address, headers={"if-none-match": '"other"'}).status_code == 200
    headed = dumped.head(address)
    assert (headed.status_code, headed.content) == (200, b"")
    for name in ("etag", "last-modified", "content-type", "content-length", "cache-control"):
        assert headed.headers[name] == answer.headers[name], name


def test_a_past_day_asked_for_by_its_hash_may_be_kept_for_ever(dumped: TestClient) -> None:
    tags = {address: dumped.get(address).headers["etag"].strip('"') for address in (DAY, HISTORY)}
    kept = dumped.get(f"{DAY}?v={tags[DAY]}")
    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    # The history is another file tomorrow, under the same name.
    assert dumped.get(f"{HISTORY}?v={tags[HISTORY]}").headers["cache-control"] == "no-cache"
    other = dumped.get(f"{DAY}?v={'0' * 64}")
    assert other.status_code == 404
    assert tags[DAY] in other.json()["detail"]


def test_a_part_of_a_file_can_be_had(dumped: TestClient) -> None:
    whole = dumped.get(DAY)
    part = dumped.get(DAY, headers={"range": "bytes=-8"})
    assert part.status_code == 206
    assert part.content == whole.content[-8:]
    assert part.content.endswith(b"PAR1")
    assert part.headers["etag"] == whole.headers["etag"]
    changed = dumped.get(DAY, headers={"range": "bytes=-8", "if-range": '"other"'})
    assert (changed.status_code, changed.content) == (200, whole.content)


@pytest.mark.parametrize(
    "address",
    [
        "/dumps/manifest.json",
        DAY,
        HISTORY,
        "/dumps/offers-2026-11-20.parquet",  # today is not over
        "/dumps/offers-2026-02-30.parquet",
        "/dumps/nothing.parquet",
        "/dumps/.half-history.parquet",
        "/dumps/..%2Finferprice.parquet",
    ],
)
def test_what_is_not_there_says_how_it_is_made(
    client: TestClient, sqlite_database_url: str, folder: Path, address: str
) -> None:
    before = client.get(address)
    assert before.status_code == 404
    assert before.headers["content-type"] == PROBLEM
    if "%2F" not in address:
        assert "No dump has been written here yet" in before.json()["detail"]
        assert "`inferprice dump`" in before.json()["detail"]
    write(sqlite_database_url, folder)
    if address not in {"/dumps/manifest.json", DAY, HISTORY}:
        after = client.get(address)
        assert (after.status_code, after.headers["content-type"]) == (404, PROBLEM)
        assert "%2F" in address or "/dumps/manifest.json lists" in after.json()["detail"]


def test_a_file_that_is_not_listed_is_not_served(dumped: TestClient, folder: Path) -> None:
    (folder / "secret.parquet").write_bytes(b"mine")
    assert dumped.get("/dumps/secret.parquet").status_code == 404
    (folder / "offers-2026-11-14.parquet").unlink()
    assert dumped.get(DAY).status_code == 404


@pytest.mark.parametrize(
    ("address", "field"),
    [(f"{DAY}?v=abc", "v"), (f"{DAY}?gpu=h100", "parameter"), ("/dumps/manifest.json?v=1", "parameter")],
)
def test_a_wrong_parameter_is_named(dumped: TestClient, address: str, field: str) -> None:
    answer = dumped.get(address)
    assert (answer.status_code, answer.headers["content-type"]) == (422, PROBLEM)
    assert answer.json()["field"] == field


def test_the_page_about_the_data_links_what_is_there(
    client: TestClient, sqlite_database_url: str, folder: Path
) -> None:
    page = get(client, "/about-data")
    assert "None has been written here yet" in page
    assert "/dumps/" not in page
    write(sqlite_database_url, folder)
    tree = LexborHTMLParser(get(client, "/about-data"))
    links = [each.attributes["href"] or "" for each in tree.css("a[href^='/dumps/']")]
    assert links == ["/dumps/manifest.json", HISTORY, "/dumps/offers-2026-11-19.parquet"]
    assert {client.get(link).status_code for link in links} == {200}
    assert "from 2026-11-02 to 2026-11-19" in tree.css_first("#board").text()
