"""The lines that show how a claim is worked out, from whichever two figures are given, and the way back."""

from decimal import Decimal

import pytest

from app.domain.serving.arithmetic import comparison_arithmetic, follows_arithmetic, speedup_arithmetic
from app.domain.serving.reading import InputError
from app.domain.serving.speedup import Form, follows, implied
from app.domain.serving.timings import after_warm_up, compared, read_timings
from app.domain.serving.traps import Evidence, most_requests, unchecked


@pytest.mark.parametrize(
    ("given", "first", "second"),
    [
        (
            {"saved_ms": "4", "gain_percent": "25"},
            "old step = saved x (1 + gain) / gain = 4 x 1.25 / 0.25 = 20 ms",
            "new step = old step - saved = 20 - 4 = 16 ms",
        ),
        (
            {"saved_ms": "4", "old_step_ms": "20"},
            "new step = old step - saved = 20 - 4 = 16 ms",
            "gain = old step / new step - 1 = 20 / 16 - 1 = +25 %",
        ),
        (
            {"saved_ms": "4", "new_step_ms": "16"},
            "old step = new step + saved = 16 + 4 = 20 ms",
            "gain = old step / new step - 1 = 20 / 16 - 1 = +25 %",
        ),
        (
            {"gain_percent": "25", "old_step_ms": "20"},
            "new step = old step / (1 + gain) = 20 / 1.25 = 16 ms",
            "saved = old step - new step = 20 - 16 = 4 ms",
        ),
        (
            {"gain_percent": "25", "new_step_ms": "16"},
            "old step = new step x (1 + gain) = 16 x 1.25 = 20 ms",
            "saved = old step - new step = 20 - 16 = 4 ms",
        ),
        (
            {"old_step_ms": "20", "new_step_ms": "16"},
            "saved = old step - new step = 20 - 16 = 4 ms",
            "gain = old step / new step - 1 = 20 / 16 - 1 = +25 %",
        ),
    ],
)
def test_each_two_figures_lead_to_the_others_and_back(given: dict[str, str], first: str, second: str) -> None:
    """A step of 20 ms that is 16 after: 20 / 16 is 1.25; two streams get 100 a second, and 125."""
    numbers = {name: Decimal(text) for name, text in given.items()}
    lines = speedup_arithmetic(implied(**numbers, streams=2))
    assert lines[:2] == (first, second)
    assert lines[2:4] == (
        "tokens/s before = streams x 1000 / step = 2 x 1000 / 20 = 100",
        "tokens/s after = streams x 1000 / step = 2 x 1000 / 16 = 125, about 130",
    )
    back = [line for line in lines[4:] if line.startswith("And back: ")]
    assert back
    assert len(back) == len(lines) - 4


def test_a_loss_and_a_change_of_nothing() -> None:
    worse = speedup_arithmetic(implied(old_step_ms=Decimal(20), new_step_ms=Decimal(25)))
    assert "gain = old step / new step - 1 = 20 / 25 - 1 = -20 %" in worse
    assert worse[-1] == "And back: old step = saved x (1 + gain) / gain = -5 x 0.8 / -0.2 = 20 ms"
    same = speedup_arithmetic(implied(old_step_ms=Decimal(20), new_step_ms=Decimal(20)))
    assert same[-1] == "And back: no time is saved and nothing is gained, so any step would do"


@pytest.mark.parametrize(
    ("stated", "form", "after", "before"),
    [
        # From 200 to 300: half as much again, 1.5 times, 100 more, 150 %.
        ("50", "percent", "300", "200"),
        ("1.5", "times", "300", "200"),
        ("100", "difference", "300", "200"),
        ("150", "share", "300", "200"),
        ("-100", "percent", None, None),
        ("0", "times", None, None),
        ("300", "difference", "500", None),
        ("-200", "difference", None, "500"),
    ],
)
def test_what_a_stated_figure_would_need(
    stated: str, form: Form, after: str | None, before: str | None
) -> None:
    found = follows(Decimal(200), Decimal(300), stated=Decimal(stated), form=form)
    assert found.after_if_stated == (after and Decimal(after))
    assert found.before_if_stated == (before and Decimal(before))
    told = [line for line in follows_arithmetic(found) if line.startswith("And back: ")]
    assert len(told) == (after is not None) + (before is not None)


def test_equal_values_have_one_range() -> None:
    found = compared([Decimal(5)] * 4, [Decimal(5)] * 4, unit="ms")
    assert "overlap: every value is 5, so both ranges are one" in comparison_arithmetic(found)


def test_a_warm_up_leaves_something() -> None:
    values = [Decimal(text) for text in "123"]
    assert after_warm_up(values, "before", warm_up=2) == [Decimal(3)]
    with pytest.raises(InputError, match="warm_up: '3' is not right: leave at least one of the 3 of before"):
        after_warm_up(values, "before", warm_up=3)


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"1.5, 2.5\t3\n# a remark, 9\n4 # another\n", ["1.5", "2.5", "3", "4"]),
        (b"100,101,99", ["100", "101", "99"]),
        (b"\xef\xbb\xbf1\r\n2\r\n", ["1", "2"]),
    ],
)
def test_numbers_between_commas_spaces_and_lines(data: bytes, values: list[str]) -> None:
    assert read_timings(data, "x") == tuple(map(Decimal, values))


@pytest.mark.parametrize(
    "data", [b"1,200", b"12,500.5,13,000", b"1 2,3", b"43,2\n43,1", b"1;2", b"0x1", b"1_0", b"1\n" * 100_001]
)
def test_what_may_be_one_number_or_two_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^x"):
        read_timings(data, "x")


def test_what_was_not_looked_for() -> None:
    assert len(list(unchecked(Evidence()))) == 1
    assert list(unchecked(Evidence(log="a=1\nRunning: 3 reqs", sent=3, flags=("--a",)))) == []
    told = list(unchecked(Evidence(log="nothing of use")))
    assert [sentence.split(",", 1)[0] for sentence in told] == [
        "No line of the log tells how many requests ran",
        "No flag is named",
    ]


def test_lines_end_as_any_system_ends_them() -> None:
    assert most_requests("Running: 3 reqs\rRunning: 9 reqs, Waiting: 1\r\nRunning: 4") == 10
