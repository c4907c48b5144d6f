"""Fifty thousand broken headers of both formats: each is read or refused, none crashes, none takes memory."""

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import Tell

ROOT = Path(__file__).resolve().parents[3]


def test_no_broken_header_crashes_or_takes_memory(tell: Tell) -> None:
    command = [sys.executable, "-m", "tests.domain.llms.fuzzing", "20261129"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    ended = told["ended"]
    grew = f"memory grew by {told['growth_bytes'] / 1e6:.1f} MB"
    tell(f"{sum(ended.values()):,} broken headers: {ended}; {grew}")
    assert sum(ended.values()) == 50_000
    assert told["growth_bytes"] < 64_000_000
    # The cases reach all of the readers: some headers are still good, and there are dozens of ways to be bad.
    kinds = ("safetensors", "gguf", "index")
    assert all(ended[f"{kind} {how}"] > 50 for kind in kinds for how in ("read", "refused"))
    assert told["said"] > 30
