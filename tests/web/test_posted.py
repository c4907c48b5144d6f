"""Forms that are sent, held against the standard library's decoding, in whatever pieces they are read."""

import tracemalloc
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import QueryError
from app.web import posted

PARTS = ("a", "+", "&", "=", "%", "%4", "%41", "%zz", "%26", "%3D", "%0A", "%C3%A9", "%C3", "\u00e9", "%00")


def read(body: bytes, *, piece: int) -> list[tuple[str, str]] | None:
    """Return the fields as they are read in pieces of so many bytes, None where they are refused."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posted, "_DECODED_AT_ONCE_BYTES", piece)
        try:
            return posted.form_pairs(body)
        except QueryError:
            return None


@given(st.lists(st.sampled_from(PARTS), max_size=20).map("".join), st.integers(3, 9))
def test_a_form_is_decoded_as_the_standard_library_does(text: str, piece: int) -> None:
    try:
        expected = parse_qsl(text, keep_blank_values=True, errors="strict")
    except ValueError:
        expected = None
    assert read(text.encode(), piece=piece) == expected


def test_more_fields_than_any_form_has_are_refused() -> None:
    assert read(b"a=1&" * 499 + b"a=1", piece=9) == [("a", "1")] * 500
    assert read(b"a=1&" * 500 + b"a=1", piece=9) is None


def test_escapes_take_no_more_memory_than_their_text_a_few_times() -> None:
    """A million escapes are 3 MB as sent and 1 MB as text; an object of 40 bytes for each would be 40 MB."""
    body = b"x=" + b"%5B" * 1_000_000
    tracemalloc.start()
    try:
        assert posted.form_pairs(body) == [("x", "[" * 1_000_000)]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
