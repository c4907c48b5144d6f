"""Pasted timings, read the same whatever stands between the numbers, each wrong one named by its line."""

import csv
import io

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize(
    "text", ["1.5 2\n3e1\t.5\n+4.\n", "1.5 2\n3e1 # warm\n.5, +4.", "[1.5, 2, 3e1, 0.5, 4]"]
)
def test_numbers_are_the_same_whatever_stands_between_them(tools: TestClient, text: str) -> None:
    """In order they are 0.5, 1.5, 2, 4 and 30."""
    answer = tools.get("/tools/timings.csv", params={"before": text, "after": "1\n2\n3\n4\n", "unit": "ms"})
    read = {(part, quantity): value for part, quantity, value, *_ in csv.reader(io.StringIO(answer.text))}
    assert read["before", "repetitions"] == "5"
    assert [float(read["before", name]) for name in ("least", "median", "most")] == [0.5, 2, 30]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\n2 fast\n3", "before line 2: 'fast' is not right: give a number"),
        ("1\n2\n0x10", "before line 3: '0x10' is not right: give a number"),
        ("1\n2\n1_000", "before line 3: '1_000' is not right: give a number"),
        ("1\n\u0662", "before line 2: '\u0662' is not right: give a number"),
    ],
    ids=range(4),
)
def test_what_is_no_number_is_named_by_its_line(tools: TestClient, text: str, said: str) -> None:
    answer = tools.get("/tools/timings.json", params={"before": text, "after": "1\n2", "unit": "ms"})
    assert (answer.status_code, answer.json()["detail"]) == (422, said)
