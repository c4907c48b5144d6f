"""The filter over named facts: what it means, what it refuses, and that what is unknown stays unknown."""

from collections.abc import Mapping
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.domain.llms.checkpoint.where import Kind, Value, holds, parse
from app.domain.query_error import QueryError

KINDS: dict[str, Kind] = {
    "mtp": "yes_no",
    "packed": "yes_no",
    "ple_dtype": "text",
    "files": "number",
    "tensor_bytes": "bytes",
    "parameters": "number",
    "dtypes": "texts",
}
FACTS: dict[str, Value] = {
    "mtp": True,
    "packed": None,
    "ple_dtype": "F8_E4M3",
    "files": 3,
    "tensor_bytes": 5_000_000_000,
    "parameters": None,
    "dtypes": frozenset(("BF16", "U8")),
}


def verdict(text: str, facts: Mapping[str, Value] = FACTS) -> bool | None:
    return holds(parse(text, KINDS), facts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mtp", True),
        ("not mtp", False),
        ("not not mtp", True),
        ("mtp and ple_dtype == 'F8_E4M3'", True),
        ('MTP AND ple_dtype == "f8_e4m3"', True),
        ("ple_dtype != 'BF16'", True),
        ("files == 3", True),
        ("3 >= files", True),
        ("files < 3 or files > 3", False),
        ("files in (1, 2, 3)", True),
        ("files not in (1, 2, 3)", False),
        ("ple_dtype in ('bf16', 'F8_E4M3')", True),
        ("'u8' in dtypes", True),
        ("'F32' not in dtypes", True),
        ("tensor_bytes == 5GB", True),
        ("tensor_bytes < 5 GiB", True),
        ("tensor_bytes > 4.6GiB and tensor_bytes < 4.7GiB", True),
        ("tensor_bytes >= 5_000_000_000", True),
        ("tensor_bytes == 5e9", True),
        ("mtp == true and mtp != false", True),
        ("true", True),
        # `and` binds before `or`.
        ("true or true and false", True),
        ("(true or true) and false", False),
        ("not false and false", False),
        # What is unknown stays unknown, unless the rest decides.
        ("packed", None),
        ("not packed", None),
        ("packed and mtp", None),
        ("packed and not mtp", False),
        ("packed or mtp", True),
        ("packed or not mtp", None),
        ("parameters > 1", None),
        ("not parameters > 1", None),
        ("parameters == 7", None),
        ("parameters in (7, 8)", None),
        ("parameters == none", True),
        ("parameters != none", False),
        ("files == none", False),
        ("none == packed", True),
    ],
)
def test_what_a_filter_means(text: str, expected: bool | None) -> None:  # noqa: FBT001
    assert verdict(text) is expected


def test_a_part_that_is_not_there_has_no_type() -> None:
    facts = {**FACTS, "ple_dtype": ""}
    assert verdict("ple_dtype == none", facts) is True
    assert verdict("ple_dtype == 'BF16'", facts) is False
    assert verdict("ple_dtype != none", facts) is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'the end' is not right: a fact"),
        ("mtpp", "'mtpp' is not right: did you mean mtp?"),
        ("mtp and", "a fact, a text in quotes or a number would be right there"),
        ("mtp mtp", "'and', 'or' or the end would be right there"),
        ("(mtp", "a closing bracket would be right there"),
        ("mtp)", "'and', 'or' or the end would be right there"),
        ("files", "files is no yes or no: compare it with something"),
        ("'text'", "this is no yes or no"),
        ("mtp > false", "do not compare like this"),
        ("ple_dtype < 'x'", "ple_dtype (a text) and a text do not compare like this"),
        ("files == 'x'", "files (a number) and a text do not compare like this"),
        ("files < none", "do not compare like this"),
        ("dtypes == 'BF16'", "do not compare like this"),
        ("files > 5GB", "files (a number) and bytes do not compare like this"),
        ("files > tensor_bytes", "do not compare like this"),
        ("files > 5 parsecs", "'and', 'or' or the end would be right there"),
        ("files > 5parsecs", "units are KB, MB, GB, TB, KiB, MiB, GiB and TiB"),
        ("files in (1, 'x')", "give values like files (a number)"),
        ("files in (none)", "give values like files (a number)"),
        ("files in (files)", "values in brackets are texts or numbers"),
        ("files in ple_dtype", "give values in brackets"),
        ("ple_dtype not == 'x'", "'in' would be right after 'not'"),
        ("files = 3", "'= 3' is not right: this cannot begin a word of a filter"),
        ("ple_dtype == 'x", "cannot begin a word"),
        ("1 < files < 5", "'and', 'or' or the end would be right there"),
        ("__import__('os')", "'__import__' is not right: use one of"),
        ("mtp.__class__", "'.__class__' is not right: this cannot begin a word"),
        ("mtp; files", "cannot begin a word"),
        ("a" * 1_001, "give at most 1000 characters"),
        ("(" * 500, "at most 40 brackets deep"),
        ("not " * 200 + "mtp", "at most 40 brackets deep"),
    ],
)
def test_a_wrong_filter_is_told_what_would_be_right(text: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, KINDS)
    assert caught.value.field == "where"
    assert said in str(caught.value)


WORDS = st.lists(
    st.sampled_from(
        [
            *KINDS,
            "and",
            "or",
            "not",
            "in",
            "(",
            ")",
            ",",
            "==",
            "<",
            "none",
            "true",
            "3",
            "5GB",
            "'x'",
            "9e99",
            "\0",
        ]
    ),
    max_size=40,
).map(" ".join)


@given(st.one_of(st.text(max_size=200), WORDS))
@example("9e99 < files")
def test_any_text_is_a_filter_or_a_wrong_one(text: str) -> None:
    try:
        found = parse(text, KINDS)
    except QueryError:
        return
    assert holds(found, FACTS) in {True, False, None}
    assert holds(found, dict.fromkeys(KINDS)) in {True, False, None}


def test_numbers_are_exact() -> None:
    assert verdict("files == 0.1", {**FACTS, "files": Decimal("0.1")}) is True
    assert verdict("files > 0.1", {**FACTS, "files": Decimal("0.1")}) is False
