"""The archive gives back exactly what was put in, or says that it cannot."""

import gzip
from pathlib import Path

import pytest

from app.ingest.archive import ArchiveError, body_path, read_body, store_body

# printf 'hello' | sha256sum
HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def test_a_body_comes_back_by_its_hash(tmp_path: Path) -> None:
    assert store_body(tmp_path, b"hello") == HELLO
    assert read_body(tmp_path, HELLO) == b"hello"
    assert body_path(tmp_path, HELLO) == tmp_path / "2c" / f"{HELLO}.gz"


def test_equal_bodies_make_one_equal_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for archive in (one, one, other):
        store_body(archive, b"hello")
    assert [path.name for path in (one / "2c").iterdir()] == [f"{HELLO}.gz"]
    assert body_path(one, HELLO).read_bytes() == body_path(other, HELLO).read_bytes()


def test_an_empty_body_is_a_body(tmp_path: Path) -> None:
    assert read_body(tmp_path, store_body(tmp_path, b"")) == b""


def test_a_body_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="has no body"):
        read_body(tmp_path, HELLO)


@pytest.mark.parametrize(
    ("on_disk", "sentence"),
    [
        (gzip.compress(b"hullo"), "is no longer what was put there"),
        (gzip.compress(b"hello")[:-4], "cannot be read"),
        (b"hello", "cannot be read"),
        (gzip.compress(b"hello" * 99)[:15] + b"\xff" * 20, "cannot be read"),
    ],
    ids=["changed", "cut short", "not compressed", "damaged"],
)
def test_a_file_that_changed_is_not_believed(tmp_path: Path, on_disk: bytes, sentence: str) -> None:
    store_body(tmp_path, b"hello")
    body_path(tmp_path, HELLO).write_bytes(on_disk)
    with pytest.raises(ArchiveError, match=sentence):
        read_body(tmp_path, HELLO)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store_body(tmp_path, b"hello")
    assert list((tmp_path / "2c").iterdir()) == []
