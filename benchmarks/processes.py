"""Starts servers for the time of a measurement, waits until they answer, and ends them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

ROOT: Final = Path(__file__).parent.parent
STARTS_WITHIN_S: Final = 60.0
READS_WITHIN_S: Final = 600.0
"""Seconds that a large board may take to be built and sorted on a machine that has other things to do."""

WATCHED_BYTES: Final = 250_000
"""Bytes after which a server's memory is looked at again."""


class ServerError(RuntimeError):
    """A server ended or answered something else before it could be measured; what it said follows."""


class Answer(NamedTuple):
    """One answer: its status, its headers by lower-case name, its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Server(NamedTuple):
    """A running server: its port, its process id, and how long it took to its first answer."""

    port: int
    pid: int
    started_in_s: float

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to one request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=STARTS_WITHIN_S)
        try:
            connection.request("GET", path, headers=dict(headers or {}))
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read())
        finally:
            connection.close()

    def read_watched(self, path: str) -> tuple[bytes, float]:
        """Return the body of an answer, and the most memory in MB that the server held while it was read."""
        connection, parts, most = HTTPConnection("127.0.0.1", self.port, timeout=READS_WITHIN_S), [], 0.0
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            if answer.status != 200:
                raise ServerError(f"{path} was answered {answer.status}")
            while part := answer.read(WATCHED_BYTES):
                parts.append(part)
                most = max(most, self.memory_mb())
        finally:
            connection.close()
        return b"".join(parts), most

    def memory_mb(self) -> float:
        """Return the memory that the process holds now in MB (10^6 bytes): its resident set, as `ps` says."""
        done = subprocess.run(  # noqa: S603 - a number of our own
            ["ps", "-o", "rss=", "-p", str(self.pid)],  # noqa: S607 - wherever the system has it
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout) * 1024 / 1e6


@contextmanager
def serving(
    command: Sequence[str], *, first_path: str = "/", environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Run a server whose command takes its port last, from its first good answer to the end of the block."""
    port = free_port()
    with TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - commands of this package
            [*command, str(port)],
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdout=said,
            stderr=said,
        )
        server = Server(port, process.pid, 0.0)
        try:
            _wait(server, process, first_path=first_path)
            yield server._replace(started_in_s=time.perf_counter() - began)
        except ServerError as error:
            said.seek(0)
            raise ServerError(f"{error}\n{said.read().decode(errors='replace')}") from error
        finally:
            process.terminate()
            process.wait(timeout=STARTS_WITHIN_S)


def board(url: str) -> AbstractContextManager[Server]:
    """Run the application over a database."""
    return serving([sys.executable, "-m", "benchmarks.serve", "board"], environment={"DATABASE_URL": url})


def same_bytes(folder: Path) -> AbstractContextManager[Server]:
    """Run a server of the body and the headers that stand in a folder."""
    command = [sys.executable, "-m", "benchmarks.serve", "bytes", str(folder)]
    return serving(command, environment={"DATABASE_URL": "sqlite://"})


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(server: Server, process: subprocess.Popen[bytes], *, first_path: str) -> None:
    until = time.perf_counter() + STARTS_WITHIN_S
    while True:
        if process.poll() is not None:
            raise ServerError(f"{process.args!r} ended with {process.returncode} before it answered")
        try:
            answer = server.get(first_path)
        except OSError:
            if time.perf_counter() > until:
                raise
            time.sleep(0.005)
            continue
        if answer.status != 200:
            raise ServerError(f"{process.args!r} answered {answer.status} to {first_path}")
        return
