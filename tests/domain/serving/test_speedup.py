"""What a claim implies, by hand; and which printed figures follow from their neighbours."""

from decimal import Decimal

import pytest

from app.domain.serving.reading import InputError
from app.domain.serving.speedup import Form, about, ends, follows, implied, short


def test_75_percent_from_0_109_ms_saved_is_a_step_of_0_254_ms() -> None:
    """0.109 x 1.75 / 0.75 = 0.25433; 1000 / 0.25433 = 3931.8; 0.109 / 0.75 = 0.14533."""
    found = implied(saved_ms=Decimal("0.109"), gain_percent=Decimal(75))
    assert round(found.old_step_ms, 5) == Decimal("0.25433")
    assert round(found.new_step_ms, 5) == Decimal("0.14533")
    assert round(found.old_tokens_per_s, 1) == Decimal("3931.8")
    assert found.sentence == (
        "+75 % from 0.109 ms saved means a 0.254 ms step, about 3,900 tokens/s on one stream, "
        "and a 0.145 ms step after, about 6,900."
    )


@pytest.mark.parametrize(
    ("given", "old", "new"),
    [
        ({"saved_ms": "5", "old_step_ms": "20"}, "20", "15"),
        ({"saved_ms": "5", "new_step_ms": "15"}, "20", "15"),
        ({"gain_percent": "25", "old_step_ms": "20"}, "20", "16"),
        ({"gain_percent": "25", "new_step_ms": "16"}, "20", "16"),
        ({"old_step_ms": "20", "new_step_ms": "16"}, "20", "16"),
        ({"saved_ms": "4", "gain_percent": "25"}, "20", "16"),
        ({"saved_ms": "-5", "gain_percent": "-20"}, "20", "25"),
    ],
)
def test_any_two_give_the_other_two(given: dict[str, str], old: str, new: str) -> None:
    found = implied(**{name: Decimal(text) for name, text in given.items()})
    assert (found.old_step_ms, found.new_step_ms) == (Decimal(old), Decimal(new))


def test_the_same_saving_is_little_of_a_longer_step_and_batches_count_their_streams() -> None:
    found = implied(saved_ms=Decimal("0.109"), old_step_ms=Decimal(20), streams=32)
    assert round(found.gain_percent, 3) == Decimal("0.548")
    assert found.old_tokens_per_s == 1600
    assert "on 32 streams" in found.sentence


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"saved_ms": "1"},
        {"saved_ms": "1", "gain_percent": "75", "old_step_ms": "3"},
        {"saved_ms": "20", "old_step_ms": "20"},
        {"saved_ms": "-20", "new_step_ms": "20"},
        {"saved_ms": "1", "gain_percent": "-75"},
        {"saved_ms": "1", "gain_percent": "0"},
        {"gain_percent": "-100", "old_step_ms": "20"},
        {"old_step_ms": "0", "new_step_ms": "1"},
        {"old_step_ms": "-1", "new_step_ms": "1"},
        {"old_step_ms": "NaN", "new_step_ms": "1"},
        {"old_step_ms": "Infinity", "new_step_ms": "1"},
        {"old_step_ms": "1E+99999", "new_step_ms": "1"},
    ],
)
def test_claims_that_imply_no_step(given: dict[str, str]) -> None:
    with pytest.raises(InputError):
        implied(**{name: Decimal(text) for name, text in given.items()})


def test_the_ends_of_a_range_have_digits_that_tell_them_apart() -> None:
    """Five digits of 150.001 and 150.003 are 150.00 twice; with as many more as 0.002 takes they differ."""
    assert ends(Decimal("149.8"), Decimal("150.4")) == ("149.8", "150.4")
    assert ends(Decimal("150.001"), Decimal("150.003")) == ("150.001", "150.003")
    assert ends(Decimal("819.75"), Decimal("821.25")) == ("819.75", "821.25")
    third = Decimal(400) / 3
    assert ends(third, third) == ("133.33", "133.33")


def test_no_streams() -> None:
    with pytest.raises(InputError, match="streams"):
        implied(saved_ms=Decimal(1), gain_percent=Decimal(1), streams=0)


@pytest.mark.parametrize(
    ("before", "after", "stated", "form", "agrees"),
    [
        ("613", "972", "46.8", "percent", False),
        ("613", "972", "58.6", "percent", True),
        ("613", "984", "60.5", "percent", True),
        ("1.23", "4.65", "4.8", "times", False),
        ("1.23", "4.65", "3.78", "times", True),
        ("1.23", "4.65", "3.8", "times", True),
        ("600", "300", "-50", "percent", True),
        ("2048", "64", "3.1", "share", True),
        ("648858", "665573", "16715", "difference", True),
        ("648858", "665573", "16717", "difference", False),
        # 0.1 may be anything from 0.05 to 0.15, so 24.1 over it is 160 to 483 times.
        ("0.1", "24.1", "240", "times", True),
        ("0.1", "24.1", "500", "times", False),
        ("0.10", "24.1", "300", "times", False),
    ],
)
def test_what_follows_from_rounded_numbers(
    before: str, after: str, stated: str, form: Form, *, agrees: bool
) -> None:
    found = follows(Decimal(before), Decimal(after), stated=Decimal(stated), form=form)
    assert found.agrees is agrees
    assert found.sentence.endswith("follows from them." if agrees else "inconsistent.")


@pytest.mark.parametrize(
    ("before", "after", "stated"),
    [
        *(("0", "1", "1"), ("-1", "1", "1"), ("1", "NaN", "1"), ("0.0", "1", "1"), ("1E+13", "1", "1")),
        *(("1", "1", "Infinity"), ("1", "1", "NaN"), ("1", "1", "1E+13"), ("1", "1", "-1E+13")),
    ],
)
def test_numbers_from_which_nothing_follows(before: str, after: str, stated: str) -> None:
    with pytest.raises(InputError):
        follows(Decimal(before), Decimal(after), stated=Decimal(stated), form="times")


def test_rounding_for_people() -> None:
    assert [about(Decimal(text)) for text in ("3931.8", "48", "0.0547", "996", "0")] == [
        "3,900",
        "48",
        "0.055",
        "1,000",
        "0",
    ]
    assert [short(Decimal(text)) for text in ("0.25433", "1234.5", "19.891", "20")] == [
        "0.254",
        "1,235",
        "19.9",
        "20",
    ]


def test_what_a_figure_follows_as_where_it_does_not_follow() -> None:
    # 100 ms down to 70 ms is 30 % less time, and 100 / 70 - 1 = 42.9 % more speed.
    def otherwise(before: str, after: str, stated: str, form: Form) -> str:
        numbers = (Decimal(before), Decimal(after))
        return follows(*numbers, stated=Decimal(stated), form=form, is_signed=stated[0] in "+-").otherwise

    assert (
        otherwise("100", "70", "+30", "percent") == "As -30 % it follows: a figure of what falls is below 0."
    )
    assert otherwise("70", "100", "-42.9", "percent").startswith("As 42.9 % it follows: one of what rises")
    assert otherwise("143.2", "45.1", "+98.1", "difference").startswith("As -98.1 it follows")
    assert otherwise("100", "70", "43", "percent").startswith(
        "The other way round it follows: 100 over 70 is +42.9 %. That is right where both numbers are times"
    )
    assert "100 over 50 is 2 times" in otherwise("100", "50", "2", "times")
    assert otherwise("100", "50", "200", "share").startswith(
        "The other way round it follows: 100 of 50 is 200 %"
    )
    # What is published and follows neither way, and what follows as it stands.
    assert otherwise("613", "972", "46.8", "percent") == ""
    assert otherwise("1.23", "4.65", "4.8", "times") == ""
    assert otherwise("100", "70", "-30", "percent") == ""
    assert otherwise("5", "7", "9", "difference") == ""


def test_a_half_is_rounded_away_from_zero() -> None:
    assert [about(Decimal(text)) for text in ("125", "62.5", "-125")] == ["130", "63", "-130"]
    assert [short(Decimal(text)) for text in ("0.2545", "99.95", "1000.5")] == ["0.255", "100", "1,001"]


def test_a_coarse_figure_that_follows_is_said_to_be_coarse() -> None:
    # 151 / 100 = 1.51 is 2 as rounded, and so is all from 1.5 to 2.5.
    def coarse(before: str, after: str, stated: str, form: Form) -> str:
        return follows(Decimal(before), Decimal(after), stated=Decimal(stated), form=form).coarse

    assert coarse("100", "151", "2", "times") == (
        "It is stated so coarsely that anything from 1.5 to 2.5 times would follow as well."
    )
    assert "-1.5 to -0.5 %" in coarse("100", "99", "-1", "percent")
    assert coarse("22.6", "43.2", "1.9", "times") == ""
    assert coarse("100", "340", "2", "times") == ""
    assert coarse("100", "100", "0", "percent") == ""
