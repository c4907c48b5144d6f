"""Changes to the HTML of CoreWeave's and Nebius's pages; see `drift` for what becomes of the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.scrapers import drift_numbers, drift_shape, drift_words
from tests.scrapers.dom import read, write

if TYPE_CHECKING:
    from tests.scrapers.drift import Dice
    from tests.scrapers.drift_tables import Truth

CHANGES = (*drift_shape.CHANGES, *drift_words.CHANGES, *drift_numbers.CHANGES)


def cut(text: str, dice: Dice) -> bytes:
    """Break the page off at any byte, which may be inside a character."""
    body = text.encode()
    return body[: dice.number(0, len(body) - 1)]


def other_page(text: str, dice: Dice) -> bytes:
    """An error page, a page behind a check for humans, an empty page, or the page inside a string."""
    pages = ["", "<html><body>503</body></html>", "<html><body><h1>Are you human?</h1></body></html>"]
    return str(
        dice.pick([*pages, f"<html><body><script>var page = `{text}`</script></body></html>"])
    ).encode()


def unchanged(body: bytes) -> bytes:
    """Return the page as `mutate` would write it without a change."""
    return write(read(body)).encode()


def mutate(body: bytes, truth: Truth, dice: Dice) -> tuple[bytes, list[str]]:
    """Return a changed page and the names of the changes; the truth is changed in place."""
    root = read(body)
    provider = "coreweave" if b"REGION: " in body else "nebius"
    names = []
    for _ in range(dice.pick([1, 1, 1, 2])):
        change = dice.pick((*CHANGES, cut, other_page))
        names.append(change.__name__)
        if change in {cut, other_page}:
            return change(write(root), dice), names
        change(root, provider, truth, dice)
    return write(root).encode(), names
