"""Figures with the sign and the unit that they are printed with, and the units that do not fit."""

from decimal import Decimal

import pytest

from app.domain.serving.arithmetic import follows_arithmetic
from app.domain.serving.printed import (
    follows_printed,
    read_milliseconds,
    read_percent,
    read_printed,
)
from app.domain.serving.reading import InputError
from app.domain.serving.speedup import Follows, Form


def told(before: str, after: str, stated: str, form: Form) -> Follows:
    one, other, figure = map(read_printed, (before, after, stated))
    return follows_printed(one, other, stated=figure, form=form)


@pytest.mark.parametrize(
    ("text", "value", "unit", "is_signed"),
    [
        ("613", "613", "", False),
        ("+46.8 %", "46.8", "%", True),
        ("46.80%", "46.80", "%", False),
        ("\N{MINUS SIGN}20 percent", "-20", "%", True),
        ("4.8x", "4.8", "times", False),
        ("4.8 \N{MULTIPLICATION SIGN}", "4.8", "times", False),
        ("4.8\N{NO-BREAK SPACE}times", "4.8", "times", False),
        ("1.23 s", "1.23", "s", False),
        ("1,200 ms", "1200", "ms", False),
        ("170.6 \N{MICRO SIGN}s", "170.6", "us", False),
        ("170.6\N{GREEK SMALL LETTER MU}s", "170.6", "us", False),
        ("613 tok/s", "613", "tokens/s", False),
        ("613 Tokens/s", "613", "tokens/s", False),
        ("47.68 GiB", "47.68", "GiB", False),
        (" $3.99 ", "3.99", "", False),
        ("100 GB/s", "100", "GB/s", False),
        ("100 Gb/s", "100", "Gb/s", False),
        ("100 Gbps", "100", "Gb/s", False),
        ("100 Gbit/s", "100", "Gb/s", False),
        ("8 KB", "8", "KB", False),
        ("8 kB", "8", "kB", False),
        ("4.8 X", "4.8", "times", False),
        ("613 TPS", "613", "tokens/s", False),
        ("3 Seconds", "3", "s", False),
    ],
)
def test_figures_as_they_are_printed(text: str, value: str, unit: str, *, is_signed: bool) -> None:
    found = read_printed(text)
    assert (str(found.value), found.unit, found.is_signed) == (value, unit, is_signed)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "NaN",
            "inf",
            "-Infinity",
            "1e400",
            "1e9",
            "0x10",
            "a lot",
            "%",
            "43,2 ms",
            "1.2.3 s",
            "- 5 - 3",
        ),
        *(
            "5 furlongs",
            "46.8 % faster",
            "4.8x x",
            "1" * 41,
            "5 \x1b[31m",
            "1_000",
            "\N{ARABIC-INDIC DIGIT ONE}",
        ),
    ],
)
def test_what_is_no_figure(text: str) -> None:
    for read in (read_printed, read_milliseconds, read_percent):
        with pytest.raises(ValueError, match=r"is no number as|is no unit that is known"):
            read(text)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("100 gb/s", "GB/s or Gb/s"),
        ("5 gB", "GB or Gb"),
        ("5 mb", "MB or Mb"),
        ("5 kib", "KiB or Kib"),
        # Megaseconds and megasiemens, siemens, and what has no meaning at all.
        ("5 Ms", "ms"),
        ("5 MS", "ms"),
        ("5 Msec", "ms"),
        ("5 S", "s"),
        ("5 US", "us"),
        ("5 \N{MICRO SIGN}S", "us"),
        ("5 GB/S", "GB/s or Gb/s"),
        ("5 T/s", "tokens/s"),
    ],
)
def test_capitals_that_have_a_meaning_are_not_folded(text: str, right: str) -> None:
    for read in (read_printed, read_milliseconds, read_percent):
        with pytest.raises(ValueError, match=f"where capitals tell units apart: give {right}$"):
            read(text)


@pytest.mark.parametrize("text", ["5 M", "5 m", "5 k", "5 K", "5 Ki", "5 M tokens", "5 ktok/s"])
def test_a_prefix_without_its_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no unit that is known here, give the number alone"):
        read_printed(text)


@pytest.mark.parametrize(
    ("before", "after", "stated"),
    [
        # Eight bits are a byte: 100 GB/s are 8 times 100 Gb/s, and 25 MB/s are 16 times 12.5 Mb/s.
        ("100 Gb/s", "100 GB/s", "1x"),
        ("12.5 Mb/s", "25 MB/s", "2x"),
        ("100 MB", "100 MiB", "1x"),
        ("100 KB", "100 kB", "1x"),
        ("100 KB", "100 KiB", "1x"),
    ],
)
def test_numbers_in_units_of_two_sizes_are_not_compared(before: str, after: str, stated: str) -> None:
    with pytest.raises(InputError, match=f"the number before is in {before.split()[1]}$") as refused:
        told(before, after, stated, "times")
    assert refused.value.field == "after"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0.109", "0.109"),
        ("0.109 ms", "0.109"),
        ("109 us", "0.109"),
        ("109 \N{MICRO SIGN}s", "0.109"),
        ("0.000109 s", "0.109"),
        ("1.23 s", "1230"),
        ("109,000 ns", "0.109"),
        ("-5 ms", "-5"),
    ],
)
def test_a_time_comes_to_milliseconds_exactly(text: str, ms: str) -> None:
    assert read_milliseconds(text) == Decimal(ms)


@pytest.mark.parametrize("text", ["75 %", "4.8x", "613 tok/s", "5 GB"])
def test_a_time_has_no_other_unit(text: str) -> None:
    with pytest.raises(
        ValueError, match=f"a time is not in {read_printed(text).unit}: give it in ms, us or s"
    ):
        read_milliseconds(text)


def test_a_gain_is_in_percent_alone() -> None:
    assert [read_percent(text) for text in ("75", "+75 %", "75percent")] == [75, 75, 75]
    with pytest.raises(ValueError, match="not in times: twice as fast, or 2x, is 100 %"):
        read_percent("1.75x")
    with pytest.raises(ValueError, match="a gain is in percent, not in ms"):
        read_percent("75 ms")


@pytest.mark.parametrize(
    ("figures", "wrong", "said"),
    [
        (
            ("1.23 s", "465 ms", "4.8x", "times"),
            "after",
            "'465 ms' is not right: give both in one unit; .* in s$",
        ),
        (
            ("613", "972", "4.8x", "percent"),
            "stated",
            "'4.8 times' .* a percentage is in %; .* as times as much$",
        ),
        (("1.23", "4.65", "4.8 %", "times"), "stated", "a factor is in times; .* as percent, or as a share$"),
        (("63", "55.5", "7.5 ms", "share"), "stated", "a share is in %; .* as the difference$"),
        (
            ("170.6 us", "61.9 us", "108.7 ms", "difference"),
            "stated",
            "give the difference in us, as the two",
        ),
        (("170.6 us", "61.9 us", "20 %", "difference"), "stated", "'20 %' .* give the difference in us"),
    ],
)
def test_a_unit_that_does_not_fit_is_refused_by_name(
    figures: tuple[str, str, str, Form], wrong: str, said: str
) -> None:
    with pytest.raises(InputError, match=said) as refused:
        told(*figures)
    assert refused.value.field == wrong


def test_units_that_fit_change_nothing_of_what_follows() -> None:
    """4.65 / 1.23 is 3.78, 972 / 613 is 1.586, and 170.6 less 61.9 is 108.7."""
    assert told("1.23 s", "4.65 s", "3.78x", "times").agrees
    assert not told("1.23 s", "4.65 s", "4.8 times", "times").agrees
    assert told("613 tok/s", "972 tok/s", "+58.6 %", "percent").agrees
    assert told("613", "972 tok/s", "58.6", "percent").agrees
    assert told("61.9 us", "170.6 us", "+108.7 us", "difference").agrees
    assert told("61.9", "170.6", "108.7 us", "difference").agrees


def test_a_saving_agrees_but_for_its_sign() -> None:
    """61.9 - 170.6 = -108.7; 61.85 - 170.65 = -108.8 and 61.95 - 170.55 = -108.6 are the ends as rounded."""
    found = told("170.6 us", "61.9 us", "108.7 us", "difference")
    assert (found.agrees, found.but_for_sign, found.otherwise) == (True, True, "")
    assert found.sentence == (
        "61.9 less 170.6 is -108.7 (-108.8 to -108.6 as rounded); the stated 108.7 agrees but for its sign: "
        "right of what fell or was saved, wrong of what was gained."
    )
    assert (found.before_if_stated, found.after_if_stated) == (Decimal("170.6"), Decimal("61.9"))
    assert "stated 108.7 may be 108.65 to 108.75: with a minus, as -108.7, the two ranges meet" in (
        follows_arithmetic(found)
    )


@pytest.mark.parametrize(
    ("before", "after", "stated", "form", "agrees", "but_for_sign"),
    [
        # 80 / 100 - 1 is -20 %, from 79.5 / 100.5 - 1 = -20.9 to 80.5 / 99.5 - 1 = -19.1.
        ("100", "80", "20 %", "percent", True, True),
        ("100", "80", "-20 %", "percent", True, False),
        ("100", "80", "+20 %", "percent", False, False),
        ("100", "80", "22 %", "percent", False, False),
        # What rose is no fall, whichever way it is signed; a factor and a share have no sign to mistake.
        ("80", "100", "-25 %", "percent", False, False),
        ("80", "100", "25 %", "percent", True, False),
        ("80", "100", "-20", "difference", False, False),
        ("100", "80", "+20", "difference", False, False),
        ("100", "100", "0", "percent", True, False),
        ("100", "80", "0.8", "times", True, False),
        ("100", "80", "80", "share", True, False),
    ],
)
def test_only_an_amount_without_a_sign_may_be_a_fall(
    before: str, after: str, stated: str, form: Form, *, agrees: bool, but_for_sign: bool
) -> None:
    found = told(before, after, stated, form)
    assert (found.agrees, found.but_for_sign) == (agrees, but_for_sign)
    assert ("inconsistent" in found.sentence, "but for its sign" in found.sentence) == (
        not agrees,
        but_for_sign,
    )


def test_a_sign_that_is_printed_is_shown_with_what_follows_instead() -> None:
    found = told("100", "80", "+20 %", "percent")
    assert found.sentence.endswith("the stated +20 % does not follow from them: inconsistent.")
    assert found.otherwise == "As -20 % it follows: a figure of what falls is below 0."


@pytest.mark.parametrize(
    ("before", "after", "form", "said"),
    [
        # 0.1 - 123456.7, and its ends 0.05 - 123456.75 and 0.15 - 123456.65.
        ("123456.7", "0.1", "difference", "is -123,456.6 (-123,456.7 to -123,456.5 as rounded)"),
        # 999.9 - 1000.1, from 999.85 - 1000.15 to 999.95 - 1000.05.
        ("1000.1", "999.9", "difference", "is -0.2 (-0.3 to -0.1 as rounded)"),
        # 999.95 / 999.85 is 1.0001000, from 999.945 / 999.855 = 1.0000900 to 999.955 / 999.845 = 1.0001100.
        ("999.85", "999.95", "times", "is 1.0001 times (1.00009 to 1.00011 as rounded)"),
        # 0.95 / 0.15 is 6.3333, and 1.05 / 0.05 is 21.
        ("0.1", "1.0", "times", "is 10 times (6.3333 to 21 as rounded)"),
    ],
)
def test_what_two_numbers_give_lies_in_its_range_and_shows_its_digits(
    before: str, after: str, form: Form, said: str
) -> None:
    assert said in told(before, after, "1", form).sentence
