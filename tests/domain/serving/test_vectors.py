"""Every row of the test vectors for the sampler and the claims, which another program worked out."""

import csv
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from app.domain.serving.batch import Running, judge
from app.domain.serving.sampler import Server, sampling_of
from app.domain.serving.speedup import Form, follows, implied
from tests.conftest import Tell

EXPECTED = Path(__file__).resolve().parents[4] / "shared" / "expected"
pytestmark = pytest.mark.skipif(not EXPECTED.is_dir(), reason="not run: ../shared is not here")

QWEN3 = {"temperature": 0.6, "top_p": 0.95, "top_k": 20}
BODIES = {"A": {}, "B": {"top_p": 0.95}, "C": {}, "D": {}}
Line = dict[str, str]


def lines(name: str) -> list[Line]:
    with (EXPECTED / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def truth_table() -> list[bool]:
    return [agrees(line) for line in lines("sampler_path_truth_table.csv")]


def agrees(line: Line) -> bool:
    server = Server(
        generation_config=QWEN3 if line["generation_config"] == "qwen3" else None,
        sampling_defaults="openai" if line["sampling_defaults"] == "openai" else "model",
        deterministic=line["deterministic"] == "True",
    )
    bodies = [(f"request {at}", body) for at, body in enumerate(json.loads(line["request_json"]))]
    found = judge(bodies, server, endpoint="chat" if line["endpoint"] == "chat" else "generate")
    top_ks = [int(text) for text in line["normalized_top_k"].split(";")]
    same = (found.path, [one.top_k for one in found.requests]) == (line["path"], top_ks)
    if line["effective_top_p"]:
        (only,) = found.requests
        stated = [line[f"effective_{name}"] for name in ("top_k", "top_p", "temperature")]
        same &= [only.asked_top_k, only.top_p, only.temperature] == [float(text) for text in stated]
    return same


def sticky_flags() -> list[bool]:
    running, passed = Running(), []
    for line in lines("sampler_sticky_flags.csv"):
        there = [name for name in line["running"].split(",") if name]
        running = running.end(one.name for one in running.requests if one.name not in there)
        new = [name for name in there if name not in {one.name for one in running.requests}]
        if new:
            running = running.join(
                [sampling_of(BODIES[name], Server(), endpoint="chat", name=name) for name in new]
            )
        filtered = running.flags is not None and running.flags.filtered
        told = (str(filtered), running.path(deterministic=False) or "")
        passed.append(told == (line["flag_filtered"], line["path"]))
    return passed


def timings() -> list[bool]:
    """Four rows with both times and what was saved; one with the step, and one with its tokens a second."""
    table = lines("sampler_timings.csv")
    step = implied(saved_ms=Decimal("0.109"), gain_percent=Decimal(75))
    passed = [
        round(float(step.old_step_ms), 4) == float(table[4]["old_us"]),
        round(float(step.old_tokens_per_s), 1) == float(table[5]["old_us"]),
    ]
    for line in table[:4]:
        new, old, saved = (Decimal(line[name]) for name in ("new_us", "old_us", "published_saved"))
        passed.append(follows(new, old, stated=saved, form="difference").agrees)
    return passed


def arithmetic() -> list[bool]:
    """The rows of one step on two numbers with a published number; seven others take more steps or words."""
    passed = []
    for line in lines("seed_arithmetic.csv"):
        found = re.fullmatch(r"([\d.]+)([-/])([\d.]+)(-1)?", line["expression"])
        figure = re.search(r"\d[\d,.]*", line["published"])
        if found and figure:
            form: Form = "percent" if found[4] else "difference" if found[2] == "-" else "times"
            form = "share" if form == "times" and line["published"].endswith("%") else form
            stated = Decimal(figure[0].replace(",", ""))
            told = follows(Decimal(found[3]), Decimal(found[1]), stated=stated, form=form)
            passed.append(str(told.agrees) == line["agrees"])
    return passed


@pytest.mark.parametrize(
    ("name", "check", "rows"),
    [
        ("sampler_path_truth_table.csv", truth_table, 120),
        ("sampler_sticky_flags.csv", sticky_flags, 6),
        ("sampler_timings.csv", timings, 6),
        ("seed_arithmetic.csv", arithmetic, 14),
    ],
)
def test_the_rows_of_the_file(name: str, check: Callable[[], list[bool]], rows: int, tell: Tell) -> None:
    passed = check()
    tell(f"vectors {name}: {sum(passed)} of {len(passed)} rows")
    assert passed == [True] * rows


def test_the_two_figures_that_do_not_follow_are_caught_from_their_inputs() -> None:
    marked = [line["expression"] for line in lines("seed_arithmetic.csv") if line["agrees"] == "False"]
    assert marked == ["972/613-1", "4.65/1.23"]
    gain = follows(Decimal(613), Decimal(972), stated=Decimal("46.8"), form="percent")
    times = follows(Decimal("1.23"), Decimal("4.65"), stated=Decimal("4.8"), form="times")
    assert (gain.agrees, times.agrees) == (False, False)
