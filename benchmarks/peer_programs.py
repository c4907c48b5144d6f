"""Installs the programs we are measured beside, each into an environment of its own, and runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benchmarks.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PINS: Final = {"gpuhunt": "0.1.34", "skypilot": "0.14.1", "datasette": "0.65.5"}
FOLDER: Final = ROOT / ".venv-bench"
INSTALL_WITHIN_S: Final = 240


class PeerError(RuntimeError):
    """A program we are measured beside could not be installed or run; the message says why."""


class Timed(NamedTuple):
    """What one side needed for each question, and the first SKU of each answer."""

    seconds: list[float]
    first: list[str]


def install(name: str) -> Path:
    """Return the folder of a peer's programs, installing its pinned version when it is not there yet."""
    folder = FOLDER / f"{name}-{PINS[name]}"
    stamp, programs = folder / "installed.stamp", folder / "bin"
    if not stamp.exists():
        print(f"installing {name} {PINS[name]} into {folder.relative_to(ROOT)}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        pip = (str(programs / "python"), "-m", "pip", "--disable-pip-version-check")
        _run([*pip, "install", "--quiet", f"{name}=={PINS[name]}"], name=name)
        stamp.touch()
    return programs


def _run(command: Sequence[str], *, name: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - pip, with a name and a version of ours
            command, capture_output=True, text=True, check=False, timeout=INSTALL_WITHIN_S
        )
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"{name} was not installed within {INSTALL_WITHIN_S} s") from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise PeerError(f"{name} could not be installed: {(said or ['pip failed'])[-1]}")


class Asked:
    """A running script of `benchmarks/peers`, to be asked some questions at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, start: int, count: int) -> Timed:
        """Return what the questions from the `start`-th on took."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{start} {count}\n")
        self._process.stdin.flush()
        return Timed(**json.loads(self._line()))

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"{self._process.args!r} ended: {self._process.wait()}")
        return line

    def wait_until_ready(self) -> None:
        """Return when the script has read the offers; what a program prints before is passed over."""
        while self._line().strip() != "ready":
            pass


@contextmanager
def asking(name: str, task: dict[str, Any], *, folder: Path) -> Iterator[Asked]:
    """Run the script that asks a peer, until the end of the block. Raises PeerError when it cannot."""
    programs = install(name)
    written = folder / f"{name}.json"
    written.write_text(json.dumps(task), encoding="utf-8")
    script = ROOT / "benchmarks" / "peers" / f"ask_{name}.py"
    process = subprocess.Popen(  # noqa: S603 - a script of ours
        [programs / "python", script, written],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # A home of its own: what a peer keeps of itself is nothing of the user's.
        env={**os.environ, "HOME": str(folder), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
    )
    try:
        asked = Asked(process)
        asked.wait_until_ready()
        yield asked
    finally:
        process.terminate()
        process.wait(timeout=10)
