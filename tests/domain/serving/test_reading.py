"""Hostile and odd input to every serving check: each ends in a sentence, and none is read without a bound."""

import io
import json
import tracemalloc
from decimal import Decimal

import pytest

from app.domain.serving.reading import (
    MOST_BYTES,
    MOST_ENTRIES,
    MOST_FIGURE,
    InputError,
    as_figure,
    figure,
    most_values_in,
    read_bounded,
    read_documents,
    read_numbers,
    read_text,
    shown,
)


class Endless(io.RawIOBase):
    """A stream that never ends, and counts what was asked of it."""

    asked = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "read without a bound"
        self.asked += size
        return b"[" * size


def test_no_more_is_read_than_a_check_takes() -> None:
    stream = Endless()
    with pytest.raises(InputError, match="more than 32,000,000 bytes"):
        read_bounded(stream, "body")  # type: ignore[arg-type]  # it reads as a file does
    assert stream.asked == MOST_BYTES + 1
    assert read_bounded(io.BytesIO(b"{}"), "body") == b"{}"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"  \n ",
        b"nonsense",
        b'{"a": 1',
        b"5",
        b'"text"',
        b"null",
        b"[1, 2]",
        b"[[]]",
        b'{"a": 1}\n5\n',
        b'{"a": 1}\n{"b": \n',
        b"{}\x00",
        b"[" * 1_000_000,
        b'{"a":' * 100_000,
        b'{"a": [' * 50_000 + b"]}" * 50_000,
        b'{"a": ' + b"9" * 5_000_000 + b"}",
        b'{"a": 0.' + b"9" * 5_000_000 + b"}",
        b'{"a": 1e999999999999999999999}',
        b"\xff\xfe{\x00}\x00",
        b"\xfe\xff\x00{\x00}",
        b'{"a": "\xe9"}',
        b"\x80\x81",
        "{'a': 1}".encode("utf-16"),
        b"PK\x03\x04\x14\x00",
    ],
    ids=range(24),
)
def test_what_is_no_json_object_ends_in_one_sentence(data: bytes) -> None:
    with pytest.raises(InputError) as refused:
        read_documents(data, "body.json")
    said = str(refused.value)
    assert said.startswith("body.json")
    assert len(said) < 300
    assert said.isprintable()


@pytest.mark.parametrize("data", [b"[" + b"{}," * 1_500_000 + b"{}]", b"[" + b"0.1," * 2_500_000 + b"1]"])
def test_many_small_values_are_refused_before_they_take_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="values"):
            read_documents(data, "body")
        with pytest.raises(InputError, match="values"):
            read_numbers(data, "body")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_too_many_entries() -> None:
    for data in (b"{}\n" * (MOST_ENTRIES + 1), b"[" + b"{}," * MOST_ENTRIES + b"{}]"):
        with pytest.raises(InputError, match="100,001 entries"):
            read_documents(data, "body")
    for data in (b"1\n" * (MOST_ENTRIES + 1), b"[" + b"1," * MOST_ENTRIES + b"1]"):
        with pytest.raises(InputError, match="entries"):
            read_numbers(data, "body")
    assert len(read_documents(b"{}\n" * 1000, "body")) == 1000


def test_the_three_ways_to_hand_in_requests() -> None:
    one, two = {"top_p": 0.5}, {"top_k": 4}
    line = read_documents(f"{json.dumps(one)}\r\n\n{json.dumps(two)}".encode(), "r")
    assert line == [("r line 1", {"top_p": Decimal("0.5")}), ("r line 3", two)]
    array = read_documents(json.dumps([one, two], indent=1).encode(), "r")
    assert [place for place, _ in array] == ["r entry 1", "r entry 2"]
    assert read_documents(b"\xef\xbb\xbf" + json.dumps(two, indent=1).encode(), "r") == [("r", two)]
    assert read_documents(b"[]", "r") == []


def places(text: str) -> list[str]:
    return [place for place, _ in read_documents(text.encode(), "r")]


def test_values_one_after_another() -> None:
    one, two = json.dumps({"a": 1}, indent=2), json.dumps([{"b": 2}, {"b": 3}], indent=2)
    assert places(f"{one}\n{one}\n\n{one}") == ["r", "r 2", "r 3"]
    assert places(f"{two}\n{two}\n") == ["r entry 1", "r entry 2", "r 2 entry 1", "r 2 entry 2"]
    assert places(f"{one}{two} {{}}") == ["r", "r 2 entry 1", "r 2 entry 2", "r 3"]
    assert places(f"{{}}\n\n{one}\n{{}}\n") == ["r line 1", "r line 3", "r line 6"]
    assert places("{}{}\n{}") == ["r", "r 2", "r 3"]
    assert read_documents(b'{"a": 1.50}[{"a": 2}]', "r")[1] == ("r 2 entry 1", {"a": 2})


def test_two_objects_on_a_line_have_names_of_their_own() -> None:
    text = b'{"a": 1} {"a": 2}\n{"a": 3} {"a": 4}{"a": 5}\n{"a":\n6} {"a": 7}\n'
    assert [place for place, _ in read_documents(text, "r")] == [
        *("r", "r 2", "r 3", "r 4", "r 5", "r 6", "r 7"),
    ]
    lines = b'{"a": 1}\n{"a": 2} {"a": 3}\n[{"a": 4}] {"a": 5}\n{"a":\n6} {"a": 7}\n'
    assert [place for place, _ in read_documents(lines, "r")] == [
        *("r line 1", "r line 2", "r line 2 object 2", "r line 3 entry 1", "r line 3 object 2"),
        *("r line 4", "r line 5"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}\n{"b": \n', "r line 2: '{\"b\": \ufffd' is not right: give JSON (Expecting value: line 3"),
        ('{\n}\n{"b": \n', "r 2: '{\"b\": \ufffd' is not right: give JSON (Expecting value: line 4 column 1"),
        ("{} and more", "r 2: 'and more' is not right: give JSON (Expecting value: line 1 column 4"),
        ("{},{}", "r 2: ',{}' is not right"),
        ("{}\n[]\n5", "r line 3: '5' is not right: give a JSON object"),
        ("{\n}[{}, 5]", "r 2 entry 2: '5' is not right: give a JSON object"),
        ("{}" + "[" * 100_000, "r 2: '[[["),
    ],
    ids=range(7),
)
def test_the_place_of_a_wrong_value_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_documents(text.encode(), "r")
    assert str(refused.value).startswith(said)


def test_entries_are_counted_over_all_values() -> None:
    half = b"[" + b"{}," * (MOST_ENTRIES // 2) + b"{}]"
    with pytest.raises(InputError, match="100,002 entries"):
        read_documents(half + half, "body")
    assert len(read_documents(half, "body")) == MOST_ENTRIES // 2 + 1


def test_numbers_of_a_plain_file() -> None:
    assert read_numbers(b"1.5 # warm\n\n2e1\r\n3\n", "t") == (Decimal("1.5"), Decimal(20), Decimal(3))
    assert read_numbers(b"[1.5, 2]", "t") == (Decimal("1.5"), Decimal(2))


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"",
            b"# nothing\n",
            b"[]",
            b"fast\n",
            b"1\nNaN\n",
            b"Infinity",
            b"-1",
            b"9e99",
            b'["1"]',
            b"[true]",
        ),
        *(
            b"[NaN]",
            b"[null]",
            b"[[1]]",
            b"1,5",
            b"[1",
            b"\xff\xfe1\x00",
            b"1e999999999999999999999",
            b"sNaN",
        ),
    ],
)
def test_what_is_no_timing(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^t"):
        read_numbers(data, "t")


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -1, 2**63, True, None, "5", [5], Decimal("1E+99999")]
)
def test_what_is_no_figure(value: object) -> None:
    with pytest.raises(InputError, match=r"^rate"):
        as_figure(value, "rate")
    assert as_figure(int(MOST_FIGURE), "rate") == MOST_FIGURE


def test_a_missing_figure_is_said_to_be_missing() -> None:
    with pytest.raises(
        InputError, match=r"^f: rate: 'missing' is not right: give a number from 0 to 1e\+15$"
    ):
        figure({}, "rate", place="f")
    with pytest.raises(InputError, match=r"'0' is not right"):
        figure({"rate": 0}, "rate", place="f", least=Decimal(1))


def test_what_is_shown_can_be_printed_anywhere() -> None:
    assert shown("a\x1b[31mred\ud800\n") == "a\ufffd[31mred\ufffd\ufffd"
    assert shown("x" * 100) == "x" * 60 + "..."
    assert shown(Decimal("1.50")) == "1.50"
    assert read_text("caf\u00e9".encode(), "t") == "caf\u00e9"


def test_values_are_counted_without_reading_them() -> None:
    """Six values, of which the outermost alone has no mark before it; what a text holds counts as well."""
    assert most_values_in(b'[1, 2, {"a": [3]}]') == 6 - 1
    assert most_values_in(b'{"a": "one, two [or {three\\n"}\n{}\n') == 4 + 3
    assert most_values_in(b"1\n2\n3\n") == 3
    assert most_values_in(b"") == 0
