"""A condition keeps the rows it says; what cannot be read is refused, with what would be right."""

from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.conditions import Condition, parse_condition
from app.domain.query_error import QueryError
from app.web import words

MANY = settings(max_examples=300, deadline=None)


def figure(text: str, *, decimals: int | None = None) -> Condition:
    return parse_condition("usd_per_gpu_hour", text, numeric=True, decimals=decimals)


def wording(text: str) -> Condition:
    return parse_condition("region", text, numeric=False)


def kept(condition: Condition, values: Sequence[str | None]) -> list[str | None]:
    """Return which of some figures, written as text, a condition keeps."""
    return [value for value in values if condition.holds(None if value is None else Decimal(value))]


# ---------------------------------------------------------------- figures

FIGURES = ("-5", "0", "0.5", "1", "2", "2.17", "3", "4.00", "1200", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">2", ["2.17", "3", "4.00", "1200"]),
        ("> 2", ["2.17", "3", "4.00", "1200"]),
        (">=2", ["2", "2.17", "3", "4.00", "1200"]),
        (">= 2", ["2", "2.17", "3", "4.00", "1200"]),
        ("<2", ["-5", "0", "0.5", "1"]),
        ("<=2", ["-5", "0", "0.5", "1", "2"]),
        ("=2", ["2"]),
        ("= 2.0", ["2"]),
        ("2", ["2"]),
        ("4", ["4.00"]),
        ("2.17", ["2.17"]),
        ("1..3", ["1", "2", "2.17", "3"]),
        ("3..", ["3", "4.00", "1200"]),
        ("..0", ["-5", "0"]),
        ("-5..-1", ["-5"]),
        ("..-5", ["-5"]),
        ("2..2", ["2"]),
        ("$1,200", ["1200"]),
        ("1,200", ["1200"]),
        (">$1,199.99", ["1200"]),
        ("-$5", ["-5"]),
        (">1 <3", ["2", "2.17"]),
        (">1 <3 !2", ["2.17"]),
        ("2|4", ["2", "4.00"]),
        ("2 | 4", ["2", "4.00"]),
        ("<0|>1000", ["-5", "1200"]),
        ("0..1|3..4", ["0", "0.5", "1", "3", "4.00"]),
        ("!1..3", ["-5", "0", "0.5", "4.00", "1200"]),
        ("! 1..3", ["-5", "0", "0.5", "4.00", "1200"]),
        ("!0..1|3..4", ["-5", "2", "2.17", "1200"]),
        ("!=2", ["-5", "0", "0.5", "1", "2.17", "3", "4.00", "1200"]),
        ("known", ["-5", "0", "0.5", "1", "2", "2.17", "3", "4.00", "1200"]),
        ("Unknown", [None]),
        ("!unknown", ["-5", "0", "0.5", "1", "2", "2.17", "3", "4.00", "1200"]),
        ("!known", [None]),
        ("unknown|>3", ["4.00", "1200", None]),
        ("!>2", ["-5", "0", "0.5", "1", "2"]),
        ("!>2|unknown", ["-5", "0", "0.5", "1", "2"]),
        ("!>2|known", []),
        ("known unknown", []),
        (">3 <1", []),
    ],
)
def test_a_figure_is_kept_by_what_the_condition_says(text: str, expected: list[str | None]) -> None:
    assert kept(figure(text), FIGURES) == expected


@pytest.mark.parametrize(
    "text", [">2", "<2", "2", "1..3", "1..", "..3", "!2", "!>2", "!1..3|5", "known", "2|known"]
)
def test_a_figure_that_is_missing_is_no_evidence_for_anything(text: str) -> None:
    assert figure(text).holds(None) is False
    assert figure(text, decimals=2).holds(None) is False


def test_whole_numbers_are_figures_too() -> None:
    assert figure("8").holds(8)
    assert not figure("8").holds(4)
    assert figure("!8").holds(4)
    assert figure("known").holds(0)


@pytest.mark.parametrize("value", [True, "2.17", 2.17])
def test_what_no_numeric_column_holds_is_an_error_of_ours(value: object) -> None:
    with pytest.raises(TypeError, match="whole numbers and decimals"):
        figure("known").holds(value)


def test_a_figure_shown_in_full_is_compared_in_full() -> None:
    condition = figure("<2.17")
    assert condition.holds(Decimal("2.169999999999999999999999999"))
    assert not condition.holds(Decimal("2.17"))
    assert not figure("2.17").holds(Decimal("2.1700000000000000000000000001"))


# ---------------------------------------------------------------- figures as they are shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 2.1650 to 2.1749 all read 2.17 on the page; 2.1649 reads 2.16 and 2.175 reads 2.18.
        ("2.17", ["2.1650", "2.1684", "2.17", "2.1749"]),
        ("=2.17", ["2.1650", "2.1684", "2.17", "2.1749"]),
        ("2.17..2.17", ["2.1650", "2.1684", "2.17", "2.1749"]),
        ("<2.17", ["2.1649"]),
        ("<=2.17", ["2.1649", "2.1650", "2.1684", "2.17", "2.1749"]),
        (">2.17", ["2.175"]),
        (">=2.17", ["2.1650", "2.1684", "2.17", "2.1749", "2.175"]),
        ("..2.16", ["2.1649"]),
        ("2.18..", ["2.175"]),
        ("!2.17", ["2.1649", "2.175"]),
        # Fewer decimals typed than shown: 2.2 is 2.20, and nothing here is shown as that.
        ("2.2", []),
        ("<2.2", ["2.1649", "2.1650", "2.1684", "2.17", "2.1749", "2.175"]),
        # More decimals typed than shown: the reader has seen more elsewhere, so that many count.
        ("2.168", ["2.1684"]),
        ("<2.168", ["2.1649", "2.1650"]),
        ("2.165..2.168", ["2.1649", "2.1650", "2.1684"]),
        ("2.1650", ["2.1650"]),
    ],
)
def test_a_rounded_figure_is_compared_as_it_is_shown(text: str, expected: list[str]) -> None:
    shown = ("2.1649", "2.1650", "2.1684", "2.17", "2.1749", "2.175")
    assert kept(figure(text, decimals=2), shown) == expected


def test_halves_are_rounded_away_from_zero_as_on_the_page() -> None:
    assert figure("-2", decimals=0).holds(Decimal("-1.5"))
    assert figure("3", decimals=0).holds(Decimal("2.5"))
    assert figure("0", decimals=0).holds(Decimal("-0.4"))


@given(
    st.decimals(min_value=-(10**9), max_value=10**9, places=8),
    st.integers(min_value=0, max_value=6),
)
@MANY
def test_who_types_what_the_page_shows_finds_the_row_and_nothing_below_or_above_it(
    value: Decimal, decimals: int
) -> None:
    seen = words.number(value, decimals)
    for text in (seen, f"={seen}", f"{seen}..{seen}", f"<={seen}", f">={seen}"):
        assert figure(text, decimals=decimals).holds(value), text
    for text in (f"<{seen}", f">{seen}", f"!{seen}"):
        assert not figure(text, decimals=decimals).holds(value), text


# ---------------------------------------------------------------- against a plain evaluation

Part = tuple[str, tuple[Fraction | None, Fraction | None], int]
"""A sign, the bounds and the most decimals typed: what one alternative says."""


@st.composite
def numbers(draw: st.DrawFn) -> tuple[str, Fraction, int]:
    """Draw a number near those of `values`: as text with or without commas, its value, its decimals."""
    decimals = draw(st.integers(min_value=0, max_value=4))
    scaled = draw(st.integers(min_value=-3000, max_value=3000)) * draw(st.sampled_from((1, 1, 1000)))
    whole, rest = divmod(abs(scaled), 10**decimals)
    text = f"{whole:,}" if draw(st.booleans()) else str(whole)
    text += f".{rest:0{decimals}}" if decimals else ""
    dollar = "$" if draw(st.booleans()) else ""
    return ("-" if scaled < 0 else "") + dollar + text, Fraction(scaled, 10**decimals), decimals


@st.composite
def alternatives(draw: st.DrawFn) -> tuple[str, Part]:
    """Draw what stands between two bars, as text and as what it says."""
    sign = draw(st.sampled_from((">", ">=", "<", "<=", "=", "", "..", "from", "to", "known", "unknown")))
    if sign in {"known", "unknown"}:
        return sign, (sign, (None, None), 0)
    first, low, decimals = draw(numbers())
    if sign == "..":
        second, high, others = draw(numbers())
        if low > high:
            first, second, low, high = second, first, high, low
        return f"{first}..{second}", (sign, (low, high), max(decimals, others))
    if sign in {"from", "to"}:
        ends = (low, None) if sign == "from" else (None, low)
        return f"{first}.." if sign == "from" else f"..{first}", ("..", ends, decimals)
    space = " " if sign and draw(st.booleans()) else ""
    return f"{sign}{space}{first}", (sign or "=", (low, low), decimals)


Said = list[tuple[bool, list[Part]]]


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, Said]:
    """Draw a condition of one to four terms, as text and as what it says."""
    terms, said = [], []
    for _ in range(draw(st.integers(min_value=1, max_value=4))):
        drawn = draw(st.lists(alternatives(), min_size=1, max_size=3))
        negated = draw(st.booleans())
        bar = draw(st.sampled_from(("|", " | ", "| ")))
        terms.append(("!" if negated else "") + bar.join(text for text, _ in drawn))
        said.append((negated, [part for _, part in drawn]))
    return draw(st.sampled_from((" ", "  ", "\t"))).join(terms), said


def rounded(value: Fraction, places: int) -> Fraction:
    """Round halves away from zero."""
    size = Fraction(floor(abs(value) * 10**places + Fraction(1, 2)), 10**places)
    return size if value >= 0 else -size


def plainly(part: Part, value: Fraction | None, decimals: int | None) -> bool | None:
    """Say whether an alternative holds for a figure, None when an unknown figure leaves it open."""
    sign, (low, high), typed = part
    if sign in {"known", "unknown"}:
        return (value is not None) == (sign == "known")
    if value is None:
        return None
    seen = value if decimals is None else rounded(value, max(decimals, typed))
    if sign == "..":
        return not (low is not None and seen < low) and not (high is not None and seen > high)
    assert low is not None
    return {">": seen > low, ">=": seen >= low, "<": seen < low, "<=": seen <= low, "=": seen == low}[sign]


def holds_plainly(said: Said, value: Fraction | None, decimals: int | None) -> bool:
    """Say whether a condition holds: every term has one that does, or when negated none that may."""
    for negated, parts in said:
        answers = [plainly(part, value, decimals) for part in parts]
        if negated and not all(answer is False for answer in answers):
            return False
        if not negated and True not in answers:
            return False
    return True


values = st.one_of(
    st.none(),
    st.integers(min_value=-30, max_value=30),
    st.decimals(min_value=-3000, max_value=3000, places=5),
    st.integers(min_value=-30000, max_value=30000).map(lambda scaled: Decimal(scaled) / 10**4),
)


@given(conditions(), st.lists(values, min_size=1, max_size=8), st.sampled_from((None, 0, 1, 2, 3)))
@MANY
def test_conditions_hold_where_a_plain_reading_of_them_does(
    drawn: tuple[str, Said], figures: list[Decimal | int | None], decimals: int | None
) -> None:
    text, said = drawn
    condition = figure(text, decimals=decimals)
    for value in figures:
        exact = None if value is None else Fraction(value)
        assert condition.holds(value) == holds_plainly(said, exact, decimals), (text, value, decimals)


@given(conditions(), st.sampled_from((None, 2)))
@MANY
def test_the_canonical_spelling_says_the_same(drawn: tuple[str, Said], decimals: int | None) -> None:
    condition = figure(drawn[0], decimals=decimals)
    assert figure(condition.text, decimals=decimals) == condition


# ---------------------------------------------------------------- words

TEXTS = ("us-east", "US-West 2", "eu-north", "Straße 1|2", "known", "", None)
SOME = ["us-east", "US-West 2", "eu-north", "Straße 1|2", "known"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("us", ["us-east", "US-West 2"]),
        ("US", ["us-east", "US-West 2"]),
        ("us west", ["US-West 2"]),
        ("east us", ["us-east"]),
        ('"west 2"', ["US-West 2"]),
        ('"west  2"', ["US-West 2"]),
        ('"2 west"', []),
        ("=us", []),
        ("=us-EAST", ["us-east"]),
        ('="us-west 2"', ["US-West 2"]),
        ("strasse", ["Straße 1|2"]),
        ('"1|2"', ["Straße 1|2"]),
        ("east|north", ["us-east", "eu-north"]),
        ('east | "west 2"', ["us-east", "US-West 2"]),
        ("!us", ["eu-north", "Straße 1|2", "known", "", None]),
        ("! us", ["eu-north", "Straße 1|2", "known", "", None]),
        ("!us|eu", ["Straße 1|2", "known", "", None]),
        ("!=us-east", ["US-West 2", "eu-north", "Straße 1|2", "known", "", None]),
        ('!"west 2"', ["us-east", "eu-north", "Straße 1|2", "known", "", None]),
        ("!us known", ["eu-north", "Straße 1|2", "known"]),
        ("known", SOME),
        ("!unknown", SOME),
        ("unknown", ["", None]),
        ("!known", ["", None]),
        ('"known"', ["known"]),
        ("=unknown", []),
        ("=known", ["known"]),
        ("unknown|north", ["eu-north", "", None]),
        ("north unknown", []),
    ],
)
def test_a_text_is_kept_by_its_words(text: str, expected: list[str | None]) -> None:
    condition = wording(text)
    assert [value for value in TEXTS if condition.holds(value)] == expected
    assert wording(condition.text) == condition


def test_yes_and_no_stand_for_true_and_false() -> None:
    assert wording("yes").holds(True)
    assert not wording("yes").holds(False)
    assert wording("=no").holds(False)
    assert wording("known").holds(False)


def test_names_with_a_value_are_read_by_it() -> None:
    colour = StrEnum("colour", {"DARK": "dark_red"})
    assert wording("=dark_red").holds(colour.DARK)


@given(st.text(max_size=30), st.text(max_size=30))
@MANY
def test_a_phrase_is_found_where_it_stands_and_only_there(phrase: str, text: str) -> None:
    spaced = " ".join(phrase.replace('"', "").split())
    if spaced and spaced.isprintable():
        seen = " ".join(text.split())
        found = spaced.casefold() in seen.casefold()
        assert wording(f'"{spaced}"').holds(text) is found
        assert wording(f'!"{spaced}"').holds(text) is not found
        assert wording(f'="{spaced}"').holds(f" {spaced}  ")


# ---------------------------------------------------------------- spelling and refusals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  >   2 ", ">2"),
        ("! >2", "!>2"),
        ("1..3   <\t2", "1..3 <2"),
        ("2 |  3| 4", "2|3|4"),
        ("$1,200", "$1,200"),
    ],
)
def test_the_canonical_spelling_has_no_needless_spaces(text: str, expected: str) -> None:
    condition = figure(text)
    assert (condition.column, condition.text) == ("usd_per_gpu_hour", expected)


def test_words_keep_the_case_they_were_typed_in() -> None:
    assert wording('= US   ! "West  2"').text == '=US !"West 2"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "use >2, >=2, <2"),
        ("   ", "use >2, >=2, <2"),
        ("abc", "'abc' is no number as 1,200 or 0.5"),
        (">", "use >2, >=2, <2"),
        ("!", "use >2, >=2, <2"),
        (">>2", "use >2, >=2, <2"),
        ("!!2", "use >2, >=2, <2"),
        ("=>2", "use >2, >=2, <2"),
        ("..", "use >2, >=2, <2"),
        (">1..3", "use >2, >=2, <2"),
        ("1..2..3", "'2..3' is no number"),
        ("1...3", "'.3' is no number"),
        ("3..1", "put the smaller bound first: 1..3"),
        ("2|", "use >2, >=2, <2"),
        ("|2", "use >2, >=2, <2"),
        ("2||3", "use >2, >=2, <2"),
        ("2|!3", "put ! in front of the whole term"),
        ("2 3 |", "use >2, >=2, <2"),
        ("1,5", "'1,5' is no number as 1,200 or 0.5"),
        ("12,34", "'12,34' is no number"),
        ("1.", "'1.' is no number"),
        (".5", "'.5' is no number as 1,200 or 0.5"),
        ("1e3", "'1e3' is no number"),
        ("+1", "'+1' is no number"),
        ("1_000", "'1_000' is no number"),
        ("--1", "'--1' is no number"),
        ("nan", "'nan' is no number"),
        ("Infinity", "'Infinity' is no number"),
        ("50%", "'50%' is no number"),
        ("\N{FULLWIDTH DIGIT ONE}", "is no number as 1,200 or 0.5"),
        ("\N{ARABIC-INDIC DIGIT THREE}", "is no number as 1,200 or 0.5"),
        ('"2"', "is no number as 1,200 or 0.5"),
        ("=known", "'known' is no number"),
        ("0.1234567891", "give at most 9 decimals"),
        ("1000000000000", "give numbers of less than 1,000,000,000,000"),
        ("-1,000,000,000,000..0", "give numbers of less than 1,000,000,000,000"),
        ("1" * 41, "is no number"),
        (" ".join(["2"] * 13), "give at most 12 terms"),
        ("2\N{ZERO WIDTH SPACE}", "give at most 200 printable characters"),
        ("2\x00", "give at most 200 printable characters"),
    ],
)
def test_what_is_no_condition_on_figures_is_refused(text: str, expected: str) -> None:
    with pytest.raises(QueryError) as caught:
        figure(text)
    assert (caught.value.field, caught.value.value) == ("where.usd_per_gpu_hour", text)
    assert expected in caught.value.expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'use word, "two words"'),
        ("=", 'use word, "two words"'),
        ("a|", 'use word, "two words"'),
        ("a||b", 'use word, "two words"'),
        ("!!a", 'use word, "two words"'),
        ('a"b"', 'use word, "two words"'),
        ('"a"b', 'use word, "two words"'),
        ('"a b', 'close the quotation with "'),
        ('a"', 'close the quotation with "'),
        ('""', "give at least one character"),
        ('="  "', "give at least one character"),
        (">2026-10-01", "this column has words, no order"),
        ("<a", "this column has words, no order"),
        ("a|!b", "!a|b is neither a nor b"),
        (" ".join(["a"] * 13), "give at most 12 terms"),
        ("a\x07", "give at most 200 printable characters"),
    ],
)
def test_what_is_no_condition_on_words_is_refused(text: str, expected: str) -> None:
    with pytest.raises(QueryError) as caught:
        wording(text)
    assert (caught.value.field, caught.value.value) == ("where.region", text)
    assert expected in caught.value.expected


def test_what_is_at_the_limits_is_read() -> None:
    assert figure("999,999,999,999.999999999").holds(Decimal("999999999999.999999999"))
    assert figure(" ".join(["2"] * 12)).holds(2)
    assert wording("a" * 200).text == "a" * 200
    with pytest.raises(QueryError) as caught:
        wording("a" * 201)
    assert caught.value.value == "a" * 40
    assert "at most 200" in caught.value.expected


def read(text: str, *, numeric: bool) -> Condition | QueryError:
    try:
        return parse_condition("sku", text, numeric=numeric, decimals=2)
    except QueryError as error:
        return error


odd_texts = st.text(alphabet=st.sampled_from('12.,$-<>=!|" \tak'), max_size=24) | st.text(max_size=24)


@given(text=odd_texts, numeric=st.booleans())
@MANY
def test_any_text_is_read_or_refused_and_what_is_read_can_be_written_again(
    *, text: str, numeric: bool
) -> None:
    found = read(text, numeric=numeric)
    if isinstance(found, QueryError):
        assert (found.field, found.value) == ("where.sku", text)
        assert found.expected
    else:
        assert read(found.text, numeric=numeric) == found
        assert found.holds(Decimal("1.2") if numeric else "1.2 ak") in {True, False}
