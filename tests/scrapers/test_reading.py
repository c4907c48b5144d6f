"""The strict readers: what they take, and what they refuse rather than guess."""

from datetime import date
from decimal import Decimal

import pytest

from scrapers.base import ParseError
from scrapers.reading import NoPrice, read_count, read_date, read_number, read_price, split_marks, title_key

WORDS = {"n/a": NoPrice.NOT_SOLD, "contact us": NoPrice.CONTACT}
FLOORS = frozenset({"from"})


@pytest.mark.parametrize(
    ("text", "bare", "marks"),
    [
        ("4^1", "4", ("1",)),
        ("4 ^1", "4", ("1",)),
        ("4¹", "4", ("1",)),
        ("$0.74**", "$0.74", ("**",)),
        ("Price²", "Price", ("2",)),
        ("8^1^2", "8", ("1", "2")),
        ("8 †", "8", ("†",)),
        ("41", "41", ()),
        ("H100", "H100", ()),
        ("**", "**", ()),
        ("4^", "4^", ()),
    ],
)
def test_a_footnote_mark_is_split_off_only_where_it_looks_like_one(
    text: str, bare: str, marks: tuple[str, ...]
) -> None:
    assert split_marks(text) == (bare, marks)


@pytest.mark.parametrize(
    ("text", "number"),
    [("8", "8"), ("61.44", "61.44"), ("4,096", "4096"), ("1,024.5", "1024.5"), ("\u00a080\u200b ", "80")],
)
def test_a_plain_number_is_read(text: str, number: str) -> None:
    assert read_number(text, "it")[0] == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "1,00",
        "10,24",
        "1,0245",
        "1.024,5",
        "08",
        "1 024",
        "1e3",
        "8-40",
        "8x",
        "\u0668",
        "½",
        "8^x",
        ".5",
        "5.",
    ],
)
def test_what_is_no_plain_number_is_refused(text: str) -> None:
    with pytest.raises(ParseError) as refusal:
        read_number(text, "the memory")
    assert refusal.value.evidence["place"] == "the memory"


def test_a_count_is_whole() -> None:
    assert read_count("4^1", "GPUs") == (4, ("1",))
    with pytest.raises(ParseError):
        read_count("4.0", "GPUs")


@pytest.mark.parametrize(
    ("text", "usd", "is_floor", "marks"),
    [
        ("$7.85", "7.85", False, ()),
        ("$ 7.85", "7.85", False, ()),
        ("$1,234.50", "1234.50", False, ()),
        ("from $0.74**", "0.74", True, ("**",)),
        ("From  $0.74", "0.74", True, ()),
        ("$7.85^2", "7.85", False, ("2",)),
    ],
)
def test_a_price_is_read(text: str, usd: str, is_floor: bool, marks: tuple[str, ...]) -> None:  # noqa: FBT001 - a case
    cell = read_price(text, "it", no_price=WORDS, floors=FLOORS)
    assert (cell.usd, cell.is_floor, cell.marks, cell.no_price) == (Decimal(usd), is_floor, marks, None)


@pytest.mark.parametrize(("text", "reason"), [("N/A", NoPrice.NOT_SOLD), (" Contact  us ", NoPrice.CONTACT)])
def test_a_known_word_says_why_there_is_no_price(text: str, reason: NoPrice) -> None:
    cell = read_price(text, "it", no_price=WORDS)
    assert (cell.usd, cell.no_price) == (None, reason)


@pytest.mark.parametrize(
    "text",
    [
        "", "7.85", "€7.85", "A$7.85", "US$7.85", "$7.85 USD", "$7.8", "$7", "$7.850", "$7,85", "$07.85",
        "$7.85/mo", "$7.85 - $9.50", "$7.85 $9.50", "up to $7.85", "about $7.85", "TBD", "$", "$-7.85",
        "-$7.85", "$$7.85", "$0.00", "785¢", "$7.852", "$7 .85",
    ],
)  # fmt: skip
def test_what_is_no_dollar_price_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        read_price(text, "it", no_price=WORDS, floors=FLOORS)


def test_a_floor_word_counts_only_where_the_provider_uses_it() -> None:
    with pytest.raises(ParseError):
        read_price("from $7.85", "it", no_price=WORDS)


def test_a_date_is_read_in_english_words() -> None:
    assert read_date("October 1, 2026", "it") == date(2026, 10, 1)
    assert read_date("february 29, 2028", "it") == date(2028, 2, 29)


@pytest.mark.parametrize(
    "text", ["October 32, 2026", "Oct 1, 2026", "1 October 2026", "2026-10-01", "February 29, 2027", ""]
)
def test_a_date_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        read_date(text, "it")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Inference Single GPU Price(Per Hour)²", "inference single gpu price (per hour)"),
        ("System RAM\n (GB)", "system ram (gb)"),
        ("Spot price, GPU-hour*", "spot price, gpu-hour"),
    ],
)
def test_a_title_is_looked_up_without_case_space_and_marks(text: str, key: str) -> None:
    assert title_key(text) == key
