"""Lines of text as records: names with labels and amounts after them, as cards and lists print them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from scrapers.amounts import NO_PRICE
from scrapers.blocks import AMOUNT, undoubled
from scrapers.reading import one_line, title_key
from scrapers.records import Cell, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapers.blocks import Line, Vocabulary

_LABELLED: Final = re.compile(r"(.+?)\s*:\s+(.+)|(.+?):")
_MOST_VALUE_WORDS: Final = 4
"""A label and its value in one line without a colon: more words after a known label are a sentence."""


@dataclass(slots=True)  # filled in while the lines are read, and handed on as a Record
class _Open:
    """A record that is being read; `label` waits for its value."""

    name: str
    inside: tuple[int, ...]
    is_hidden: bool = False
    is_heading: bool = False
    is_guess: bool = False
    problem: str = ""
    label: str = ""
    cells: list[Cell] = field(default_factory=list)


def line_records(
    lines: Sequence[Line], vocabulary: Vocabulary, *, path: tuple[str, ...], key: str
) -> Iterator[Record]:
    """Yield the records of the lines below one heading; a name without a label or amount after it is none.

    A name is a GPU name of the provider or what a name's title labels; else the heading above, when it opens
    no part we know and one entry stands below it; else the one other text before an entry's first label, in
    the same element as the label.
    """
    heading = path[-1] if path and not vocabulary.is_heading(path[-1]) else ""
    reader = _Reader(vocabulary, heading)
    for line in lines:
        reader.take(line)
    found = reader.finished()
    if len(found) == 1 and found[0].is_guess and vocabulary.may_be_name(heading):
        found[0].name, found[0].is_heading, found[0].problem = heading, True, ""
    for one in found:
        yield Record(
            path=path[:-1] if one.is_heading else path,
            section=key,
            name=undoubled(one.name),
            cells=tuple(one.cells),
            problem=one.problem,
            is_hidden=one.is_hidden,
        )


class _Reader:
    """Takes line after line and sorts each into names, labels, values and other text."""

    __slots__ = ("_names_next", "_open", "_pending", "_records", "_vocabulary")

    def __init__(self, vocabulary: Vocabulary, heading: str) -> None:
        self._vocabulary = vocabulary
        self._records: list[_Open] = []
        self._pending: list[Line] = []
        self._names_next = False
        self._open: _Open | None = None
        if heading and vocabulary.is_name(heading):
            self._start(_Open(heading, (), is_heading=True))

    def finished(self) -> list[_Open]:
        self._end_label()
        return [one for one in self._records if _counts(one)]

    def take(self, line: Line) -> None:
        named = self._names_next and not self._vocabulary.is_title(line.text)
        self._names_next = False
        if named or self._vocabulary.is_name(line.text):
            self._start(_Open(line.text, line.inside, is_hidden=line.is_hidden))
            return
        label, value = self._labelled(line.text)
        if label:
            self._take_label(line, label, value)
        elif self._open is not None and self._open.label:
            self._add(line, self._open.label, line.text)
        elif AMOUNT.search(line.text):
            self._take_amount(line)
        else:
            self._pending.append(line)

    def _take_label(self, line: Line, label: str, value: str) -> None:
        if title_key(label) in self._vocabulary.name_titles:
            self._names_next = not value
            if value:
                self._start(_Open(value, line.inside, is_hidden=line.is_hidden))
            return
        one = self._record_for(line)
        self._end_label()
        if value:
            self._add(line, label, value)
        else:
            one.label = label

    def _take_amount(self, line: Line) -> None:
        """Take an amount without a label we know: alone, after a name, or after words nobody has met."""
        found = AMOUNT.search(line.text)
        start = found.start() if found else 0
        before = one_line(line.text[:start]).rstrip(" :")
        if self._vocabulary.is_name(before):
            self._start(_Open(before, line.inside, is_hidden=line.is_hidden))
            self._add(line, "", line.text[start:])
            return
        self._record_for(line)
        self._add(line, "", line.text)

    def _labelled(self, text: str) -> tuple[str, str]:
        """Return a label we know and what follows it in the same line, both empty when there is none."""
        if self._vocabulary.is_title(text):
            return text, ""
        found = _LABELLED.fullmatch(text)
        if found is not None and self._vocabulary.is_title(found[1] or found[3]):
            return found[1] or found[3], found[2] or ""
        words = text.split()
        for count in range(len(words) - 1, max(0, len(words) - 1 - _MOST_VALUE_WORDS), -1):
            value = " ".join(words[count:])
            is_value = any(sign.isdigit() for sign in value) or value.casefold() in NO_PRICE
            if is_value and self._vocabulary.is_title(" ".join(words[:count])):
                return " ".join(words[:count]), value
        return "", ""

    def _start(self, one: _Open) -> None:
        self._end_label()
        self._open = one
        self._records.append(one)
        self._pending.clear()

    def _end_label(self) -> None:
        """Give a label that found no value an empty one."""
        if self._open is not None and self._open.label:
            self._open.cells.append(Cell(titles=(self._open.label,), text=""))
            self._open.label = ""

    def _add(self, line: Line, label: str, value: str) -> None:
        if self._open is not None:
            self._open.label = ""
            titles = (label,) if label else ()
            cell = Cell(titles=titles, text=value, is_hidden=line.is_hidden, is_struck=line.is_struck)
            self._open.cells.append(cell)

    def _record_for(self, line: Line) -> _Open:
        """Return the entry a label or amount belongs to, a new one when a new name stands before it."""
        if self._open is not None and not self._begins_anew(self._open, line):
            self._pending.clear()
            return self._open
        deepest = max((_shared(one.inside, line.inside) for one in self._pending), default=0)
        names = [one for one in self._pending if _shared(one.inside, line.inside) == deepest]
        name, inside = (names[0].text, names[0].inside) if names else ("", line.inside)
        is_clear = len(names) == 1 and self._vocabulary.may_be_name(name)
        problem = "" if is_clear else "name_unclear"
        opened = _Open(name, inside, is_hidden=line.is_hidden, is_guess=True, problem=problem)
        self._start(opened)
        return opened

    def _begins_anew(self, current: _Open, line: Line) -> bool:
        """Tell whether a text between the entry at hand and this line names another entry."""
        if current.is_heading or not self._pending or not (current.cells or current.label):
            return False
        nearest = max(_shared(one.inside, line.inside) for one in self._pending)
        return nearest >= _shared(current.inside, line.inside)


def _counts(one: _Open) -> bool:
    """Tell whether it is an entry: a name of the provider is one by itself, any other text with a value."""
    return not (one.is_guess or one.is_heading) or any(cell.text for cell in one.cells)


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return how many elements around two lines are the same, from the outside in."""
    count = 0
    for here, there in zip(one, other, strict=False):
        if here != there:
            break
        count += 1
    return count
