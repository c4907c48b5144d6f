"""The reader of labelled records: what becomes of tables, grids, lists, cards, Markdown and data."""

import re

import pytest

from scrapers import ParseError
from scrapers.blocks import Vocabulary
from scrapers.labelled import read_labelled
from scrapers.records import Record

WORDS = Vocabulary(
    titles=frozenset({"price", "memory", "price per hour"}),
    title_patterns=(re.compile("[0-9]+ days"),),
    name_titles=frozenset({"gpu"}),
    headings=frozenset({"cards"}),
    heading_patterns=(re.compile("[0-9]x"),),
    names=frozenset({"swift 9", "swift 9 max"}),
)


def html(body: str) -> str:
    return f"<html><body>{body}</body></html>"


def records(text: str) -> tuple[Record, ...]:
    return read_labelled(text.encode(), WORDS, wanted=lambda one: bool({"price", "30 days"} & one.keys))


def flat(text: str) -> list[tuple[str, ...]]:
    """Return section, name, and title and text of each cell."""
    return [
        (one.section, one.name, *(f"{cell.key}={cell.text}" for cell in one.cells)) for one in records(text)
    ]


def code(text: str) -> str:
    with pytest.raises(ParseError) as refusal:
        records(text)
    return refusal.value.code


def test_a_cell_over_two_rows_stands_in_both() -> None:
    table = (
        "<table><tr><th>GPU</th><th>Memory</th><th>Price</th></tr>"
        "<tr><td rowspan=2>Swift 9</td><td>80 GB</td><td>$1.00</td></tr>"
        "<tr><td>40 GB</td><td>$0.50</td></tr></table>"
    )
    assert flat(html(f"<h2>Cards</h2>{table}")) == [
        ("cards", "Swift 9", "memory=80 GB", "price=$1.00"),
        ("cards", "Swift 9", "memory=40 GB", "price=$0.50"),
    ]


def test_the_name_column_may_stand_anywhere() -> None:
    head = "<tr><th></th><th>Price</th><th>GPU</th></tr>"
    table = f"<table>{head}<tr><td>*</td><td>$1.00</td><td>X1</td></tr></table>"
    assert flat(html(table)) == [("", "X1", "=*", "price=$1.00")]


def test_one_text_across_a_table_is_a_heading_for_the_rows_below() -> None:
    table = (
        "<table><tr><th>GPU</th><th>Price</th></tr><tr><td colspan=2>Reserved</td></tr>"
        "<tr><td>Swift 9</td><td>$1.00</td></tr></table>"
    )
    assert records(html(table))[0].path == ("Reserved",)


def test_titles_one_short_of_the_cells_get_the_name_title_back() -> None:
    text = "| GPU | Terms |\n|---|---|\n| 30 days | 90 days |\n| Swift 9 | $2.00 | $1.00 |\n"
    assert flat(text) == [("", "Swift 9", "30 days=$2.00", "90 days=$1.00")]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("<tr><td>Swift 9</td><td>$1.00</td></tr>", "wrong_cell_count"),
        ("<tr><td>Swift 9</td><td>80 GB</td><td>$1.00</td><td>x</td></tr>", "titles_unclear"),
        (
            "<tr><td>Swift 9</td><td>80 GB</td><td>$1.00</td></tr><tr><td>X</td><td>$2.00</td></tr>",
            "wrong_cell_count",
        ),
    ],
)
def test_a_row_of_another_length_with_a_price_is_refused(rows: str, problem: str) -> None:
    head = "<tr><th>GPU</th><th>Memory</th><th>Price</th></tr>"
    whole = f"{head}<tr><td>Swift 9 Max</td><td>80 GB</td><td>$3.00</td></tr>"
    table = f"<table>{whole if problem == 'wrong_cell_count' else head}{rows}</table>"
    assert code(html(table)) == problem


def test_a_shorter_row_without_a_price_has_empty_cells() -> None:
    table = (
        "<table><tr><th>GPU</th><th>Price</th><th>30 days</th></tr>"
        "<tr><td>Swift 9</td><td>$2.00</td><td>$1.00</td></tr>"
        "<tr><td>Swift 9 Max</td><td>Contact us</td></tr></table>"
    )
    assert flat(html(table))[1] == ("", "Swift 9 Max", "price=Contact us")


def test_a_title_above_a_title_that_is_unknown_is_refused() -> None:
    table = (
        "<table><tr><th rowspan=2>GPU</th><th colspan=1>At night</th></tr><tr><th>Price</th></tr>"
        "<tr><td>Swift 9</td><td>$2.00</td></tr></table>"
    )
    assert code(html(table)) == "unknown_column"


def test_tabs_are_dealt_out_over_as_many_tables() -> None:
    table = "<table><tr><th>GPU</th><th>Price</th></tr><tr><td>Swift 9</td><td>${}.00</td></tr></table>"
    tabs = "<button>4x</button><button>2x</button>"
    two = html(tabs + table.format(8) + table.format(5))
    assert flat(two) == [("4x", "Swift 9", "price=$8.00"), ("2x", "Swift 9", "price=$5.00")]
    three = html(tabs + table.format(8) + table.format(5) + table.format(3))
    assert {section for section, *_ in flat(three)} == {""}


def test_a_known_name_inside_another_is_not_it() -> None:
    assert flat(html("<p>Swift 9 Max</p><p>Price: $2.00</p><p>Swift 9</p><p>Price: $1.00</p>")) == [
        ("", "Swift 9 Max", "price=$2.00"),
        ("", "Swift 9", "price=$1.00"),
    ]


def test_an_unknown_name_in_a_card_is_kept() -> None:
    one = "<div><p>{}</p><p>Price</p><p>${}.00</p></div>"
    page = html(
        "<h2>Cards</h2><p>Choose.</p><div>" + one.format("Swift 9", 1) + one.format("Hawk 1", 2) + "</div>"
    )
    assert flat(page) == [("cards", "Swift 9", "price=$1.00"), ("cards", "Hawk 1", "price=$2.00")]


def test_two_texts_that_could_both_be_the_name_are_refused() -> None:
    page = "<div><p>Hawk 1</p><p>For hunters</p><p>Price: $2.00</p></div>"
    assert code(html(f"<h2>Cards</h2>{page}")) == "name_unclear"


def test_a_label_does_not_take_the_next_name_for_its_value() -> None:
    found = flat(html("<p>Swift 9</p><p>$1.00</p><p>Price</p><p>Swift 9 Max</p><p>$2.00</p><p>Price</p>"))
    assert found == [("", "Swift 9", "=$1.00", "price="), ("", "Swift 9 Max", "=$2.00", "price=")]


def test_hidden_and_struck_cells_say_so() -> None:
    table = (
        "<table><tr><th>GPU</th><th>Price</th><th class='hide'>30 days</th></tr>"
        "<tr><td>Swift 9</td><td><s>$2.00</s> $1.00</td><td class='hide'>$0.50</td></tr></table>"
    )
    cells = records(html(table))[0].cells
    assert [(cell.is_struck, cell.is_hidden) for cell in cells] == [(True, False), (False, True)]


@pytest.mark.parametrize("classes", ["hidden md:table", "hidden lg:block"])
def test_what_is_shown_on_wide_screens_is_not_hidden(classes: str) -> None:
    table = "<table><tr><th>GPU</th><th>Price</th></tr><tr><td>Swift 9</td><td>$1.00</td></tr></table>"
    assert not records(html(f"<div class='{classes}'>{table}</div>"))[0].is_hidden
    assert records(html(f"<div class='hidden'>{table}</div>"))[0].is_hidden


def test_a_cell_may_print_its_title_again() -> None:
    table = (
        "<table><tr><th>GPU</th><th>Price</th></tr>"
        "<tr><td>Swift 9</td><td><span class='md:hidden'>Price</span>$1.00</td></tr></table>"
    )
    assert flat(html(table)) == [("", "Swift 9", "price=$1.00")]


def test_pieces_around_comments_are_one_number_and_around_elements_two() -> None:
    assert flat(html("<p>Swift 9</p><p>Price: $1<!-- -->.00</p>")) == [("", "Swift 9", "price=$1.00")]
    assert flat(html("<p>Swift 9</p><p>Price: $1<b>0</b>.00</p>")) == [("", "Swift 9", "price=$1 0 .00")]


@pytest.mark.parametrize(
    "where", ["<h2>Cards in EUR</h2>", "<p>All prices in euros.</p>", "<p>Prices in CAD</p>"]
)
def test_another_currency_near_the_table_is_refused(where: str) -> None:
    table = "<table><tr><th>GPU</th><th>Price</th></tr><tr><td>Swift 9</td><td>$1.00</td></tr></table>"
    assert code(html(where + table)) == "other_currency"
    assert flat(html(f"<h2>Other</h2>{where}<h2>Cards</h2>{table}"))


def test_what_the_page_shows_is_read_before_its_data() -> None:
    table = "<table><tr><th>GPU</th><th>Price</th></tr><tr><td>Swift 9</td><td>$1.00</td></tr></table>"
    data = '{"rows": [{"GPU": "Swift 9", "Price": "$7.00"}]}'
    script = f"<script id='__NEXT_DATA__' type='application/json'>{data}</script>"
    assert flat(html(table + script)) == [("", "Swift 9", "price=$1.00")]
    assert flat(html(script)) == [("", "Swift 9", "price=$7.00")]


def test_a_flight_reference_is_followed_and_a_doubled_dollar_is_one() -> None:
    rows = (
        '2:["$","h2",null,{"children":"Cards"}]\n'
        '3:["$","p",null,{"children":"Swift 9"}]\n'
        '0:["$","main",null,{"children":["$L2","$L3",["$","p",null,{"children":["Price: ","$$1.00"]}]]}]\n'
    )
    push = "self.__next_f.push([1," + repr(rows).replace('"', '\\"').replace("'", '"') + "])"
    found = flat(html(f"<script>{push}</script>"))
    assert ("cards", "Swift 9", "price=$1.00") in found


def test_linked_data_in_another_currency_keeps_it() -> None:
    data = (
        '{"@type": "Product", "name": "Swift 9", "offers": {"@type": "Offer", "name": "Price",'
        ' "price": "1.00", "priceCurrency": "EUR"}}'
    )
    assert flat(html(f"<script type='application/ld+json'>{data}</script>")) == [
        ("", "Swift 9", "price=EUR 1.00")
    ]


def test_markdown_without_a_rule_with_links_and_escapes() -> None:
    text = "## [Cards](#cards)\n| GPU | Price |\n| **Swift 9** | \\$1.00 |\n\n* Price of all: low\n"
    assert flat(text) == [("cards", "Swift 9", "price=$1.00")]


def test_a_page_nested_too_deep_is_refused() -> None:
    assert code(html("<div>" * 5000 + "$1.00" + "</div>" * 5000)) == "too_deep"


def test_broken_data_is_refused() -> None:
    assert code(html("<script id='__NEXT_DATA__'>{nope</script>")) == "not_json"
