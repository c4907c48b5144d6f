"""Counts how many requests a second a server answers: by wrk where it is installed, else by asyncio."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import time
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

CONNECTIONS: Final = 16

_SCRIPT: Final = """\
local paths, at = {}, 0
for line in io.lines("%s") do paths[#paths + 1] = line end
request = function()
  at = at %% #paths + 1
  return wrk.format("GET", paths[at])
end
done = function(summary)
  local bad = summary.errors
  print("asked " .. summary.requests .. " errors " .. bad.connect + bad.read + bad.write + bad.timeout)
end
"""


class LoadError(RuntimeError):
    """A server did not answer as it should under load."""


class Measured(NamedTuple):
    """One timed run: how many requests a second were answered, and how many in all."""

    requests_per_s: float
    requests: int


def name() -> str:
    """Return what makes the load."""
    return "wrk" if shutil.which("wrk") else "asyncio, in Python: no wrk is here, so fast sides look slower"


def measure(
    port: int, paths: Sequence[str], *, seconds: float, headers: Mapping[str, str] | None = None
) -> Measured:
    """Ask a server on this machine for these paths in turn, over 16 connections kept alive.

    Raises LoadError when an answer is neither 2xx nor 3xx, or does not come.
    """
    run = _wrk if shutil.which("wrk") else _own
    return run(port, paths, seconds=seconds, headers=headers or {})


def _wrk(port: int, paths: Sequence[str], *, seconds: float, headers: Mapping[str, str]) -> Measured:
    with TemporaryDirectory() as folder:
        listed, script = Path(folder, "paths.txt"), Path(folder, "ask.lua")
        listed.write_text("\n".join(paths), encoding="utf-8")
        script.write_text(_SCRIPT % listed, encoding="utf-8")
        options = [part for pair in headers.items() for part in ("-H", "{}: {}".format(*pair))]
        command = [
            "wrk",
            "-t1",
            "--timeout",
            "10s",
            f"-c{CONNECTIONS}",
            f"-d{max(1, round(seconds))}s",
            "-s",
            str(script),
        ]
        done = subprocess.run(  # noqa: S603 - wrk from the path, on loopback
            [*command, *options, f"http://127.0.0.1:{port}/"], capture_output=True, text=True, check=False
        )
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    asked = re.search(r"asked (\d+) errors 0\b", done.stdout)
    if rate is None or asked is None or "Non-2xx" in done.stdout:
        raise LoadError(f"wrk on {paths[0]}: {done.stdout}{done.stderr}")
    return Measured(float(rate[1]), int(asked[1]))


def _own(port: int, paths: Sequence[str], *, seconds: float, headers: Mapping[str, str]) -> Measured:
    more = "".join("{}: {}\r\n".format(*pair) for pair in headers.items())
    asks = (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n".encode() for path in cycle(paths))
    return asyncio.run(_ask_all(port, asks, seconds))


async def _ask_all(port: int, asks: Iterator[bytes], seconds: float) -> Measured:
    started = time.perf_counter()
    until = started + seconds
    counts = await asyncio.gather(*(_ask(port, asks, until) for _ in range(CONNECTIONS)))
    return Measured(sum(counts) / (time.perf_counter() - started), sum(counts))


async def _ask(port: int, asks: Iterable[bytes], until: float) -> int:
    """Ask over one connection until the time is up and return how many answers came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    for ask in asks:
        if time.perf_counter() >= until:
            break
        writer.write(ask)
        head = await reader.readuntil(b"\r\n\r\n")
        if head[9:10] not in {b"2", b"3"}:
            raise LoadError(f"{ask.splitlines()[0]!r} was answered {head.splitlines()[0]!r}")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        if length is not None and head[9:12] != b"304":
            await reader.readexactly(int(length[1]))
        count += 1
    writer.close()
    return count
