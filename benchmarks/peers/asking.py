"""What the scripts beside it share: they read the offers once, then answer so many questions when told to."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def read_task() -> dict[str, Any]:
    """Return what the script was given: `offers`, `questions` (each three GPUs), `bandwidth_tb_s` by GPU."""
    task: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    return task


def answer_questions(
    ask: Callable[[Sequence[str]], Sequence[str]], questions: Sequence[Sequence[str]]
) -> None:
    """Answer the questions that each line of input names by a start and a number; write times and first SKUs.

    `ask` takes the GPUs to look for and returns the SKUs found, the lowest dollars per TB/s-hour first.
    """
    print("ready", flush=True)
    for line in sys.stdin:
        start, count = map(int, line.split())
        seconds, first = [], []
        for question in questions[start : start + count]:
            began = time.perf_counter()
            found = ask(question)
            seconds.append(time.perf_counter() - began)
            first.append(found[0])
        print(json.dumps({"seconds": seconds, "first": first}), flush=True)
