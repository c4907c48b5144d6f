"""The program as it is installed, in its own process: over TLS, by way of a proxy to the replay server."""

import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Engine

from app.store import runs
from app.store.queries import offers_as_of
from app.store.session import reading
from scrapers import SCRAPERS
from tests.ingest.replay import Replay, replaying
from tests.ingest.server import Handler
from tests.make import utc

# Our own small pages of these fulfil what a full run has to hold.
PROVIDERS = ("nebius", "together", "deepinfra", "fireworks", "lambda")
REQUESTS = [request for scraper in SCRAPERS.values() for request in scraper.requests]
HOSTS = sorted({urlsplit(request.url).hostname or "" for request in REQUESTS})

needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="not run: there is no openssl to make a certificate with"
)


class Proxy(Handler):
    """A forward proxy that is itself whoever is asked for: it ends the TLS of every host."""

    context: ClassVar[ssl.SSLContext]
    hostname = ""

    def do_CONNECT(self) -> None:  # noqa: N802 - http.server's name
        self.hostname = self.path.partition(":")[0]
        self.send_response(200)
        self.end_headers()
        try:
            self.connection = self.context.wrap_socket(self.connection, server_side=True)
        except ssl.SSLError:
            # A client that does not trust us hangs up, as it should.
            self.close_connection = True
            return
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    def finish(self) -> None:
        super().finish()
        # The server closes the socket it accepted; the one inside TLS is ours.
        self.connection.close()

    def do_GET(self) -> None:  # noqa: N802 - same
        self.path = f"/{self.hostname}{self.path}"
        super().do_GET()

    do_POST = do_GET  # noqa: N815 - http.server's name


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for every provider's host, good for two days and trusted by nobody."""
    folder = tmp_path_factory.mktemp("certificate")
    names = ",".join(f"DNS:{host}" for host in HOSTS)
    options = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=replay", "-addext"]
    command = ["openssl", "req", "-x509", *options, f"subjectAltName={names}"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([*command, *files], check=True, capture_output=True)
    return folder


@pytest.fixture
def proxy(certificate: Path) -> Iterator[Replay]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    with replaying(kind=type("TrustedProxy", (Proxy,), {"context": context})) as replay:
        yield replay


def scrape(
    proxy: Replay, database_url: str, home: Path, *providers: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the real command in a process of its own, which knows of the proxy by its environment alone."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
        "HTTPS_PROXY": proxy.host.url,
        "DATABASE_URL": database_url,
        "INFERPRICE_HOME": str(home),
        "INFERPRICE_FETCH_DELAY_S": "0",
        **more,
    }
    command = [sys.executable, "-m", "app", "scrape", *providers]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@needs_openssl
def test_the_real_command_fills_a_board_over_tls(
    engine: Engine, database_url: str, tmp_path: Path, proxy: Replay, certificate: Path
) -> None:
    trusted = {"SSL_CERT_FILE": str(certificate / "certificate.pem")}
    ended = scrape(proxy, database_url, tmp_path, *PROVIDERS, **trusted)
    assert (ended.returncode, [line.split()[:2] for line in ended.stdout.splitlines()[1:]]) == (
        0,
        [[provider, "published"] for provider in PROVIDERS],
    ), ended.stderr
    with reading(engine) as connection:
        shown = {each.offer.provider for each in offers_as_of(connection, utc(1, year=2100))}
    assert set(PROVIDERS) <= shown
    assert {headers["user-agent"].partition("/")[0] for headers in proxy.host.headers} == {"InferPrice"}


@needs_openssl
def test_a_host_that_cannot_prove_who_it_is_is_not_read(
    engine: Engine, database_url: str, tmp_path: Path, proxy: Replay
) -> None:
    ended = scrape(proxy, database_url, tmp_path, "nebius")
    assert ended.returncode == 3
    assert (
        "https://nebius.com/robots.txt cannot prove who it is: [SSL: CERTIFICATE_VERIFY_FAILED]"
        in ended.stdout
    )
    assert "Traceback" not in ended.stderr
    assert proxy.host.seen == []
    with reading(engine) as connection:
        run = runs.last_runs(connection)["nebius"]
        assert [each.code for each in runs.findings_of(connection, run.run_id)] == ["untrusted"]
