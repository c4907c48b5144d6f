"""What a reader may write over one column to keep some of its rows: `>2`, `1..3`, `!spot`, words, `unknown`.

A condition is terms with spaces between, and all of them must hold. A term is one or more alternatives with
`|` between; a `!` in front of it turns the whole term, so `!a|b` is neither a nor b.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from app.domain.query_error import QueryError
from app.domain.typed import read_number

MAX_CONDITION_LENGTH: Final = 200
MAX_TERMS: Final = 12
MAX_CONDITION_DECIMALS: Final = 9
CONDITION_LIMIT: Final = Decimal(10) ** 12
"""Every number of a condition stands nearer to zero than this."""

NUMERIC_TERMS: Final = "use >2, >=2, <2, <=2, 2, 1..3, 1.., ..3, !2, 2|4, known or unknown"
TEXT_TERMS: Final = 'use word, "two words", =whole, !word, one|other, known or unknown'

_ATOM: Final = re.compile(
    r"""(?P<not>!\ ?)?
        (?P<sign>>=|<=|=|>|<)?\ ?
        (?P<words>"[^"]*"|[^\ "|!=<>][^\ "|]*)""",
    re.VERBOSE,
)
_BETWEEN: Final = re.compile(r" ?(\|) ?| |\Z")
_SHOWN: Final = Context(prec=100, rounding=ROUND_HALF_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Holds for what is known, or for what is not."""

    known: bool

    def holds(self, value: Decimal | str | None) -> bool:
        return (value not in {None, ""}) is self.known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """Holds for a figure between two bounds, or tells nothing (None) of an unknown one.

    `places` are the decimals that the figure is rounded to first, None for none.
    """

    low: Decimal | None = None
    high: Decimal | None = None
    with_ends: bool = True
    places: int | None = None

    def holds(self, value: Decimal | str | None) -> bool | None:
        if not isinstance(value, Decimal):
            return None
        figure = value if self.places is None else _rounded(value, self.places)
        if not self.with_ends and figure in (self.low, self.high):
            return False
        return (self.low is None or self.low <= figure) and (self.high is None or figure <= self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """Holds for a folded text that has the words in it, or is them; an unknown text has none."""

    words: str
    whole: bool

    def holds(self, value: Decimal | str | None) -> bool:
        text = str(value or "")
        return text == self.words if self.whole else self.words in text


_Alternative = _Known | _Span | _Words


@dataclass(frozen=True, slots=True, kw_only=True)
class _Term:
    """Holds where one of its alternatives does, or, `negated`, where it is sure that none does."""

    alternatives: tuple[_Alternative, ...]
    negated: bool

    def holds(self, value: Decimal | str | None) -> bool:
        said = [each.holds(value) for each in self.alternatives]
        return all(one is False for one in said) if self.negated else any(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a column must be for a row to stay; its canonical `text` parses to an equal condition."""

    column: str
    text: str
    _numeric: bool
    _terms: tuple[_Term, ...]

    def holds(self, value: object | None) -> bool:
        """Tell whether a column's value fits; an unknown figure fits `unknown` alone, as it proves nothing.

        An unknown or empty text has no word in it, so it also fits `!word`. True and False read yes and no.
        """
        read = _figure(value) if self._numeric else _folded(value)
        return all(term.holds(read) for term in self._terms)


def parse_condition(column: str, text: str, *, numeric: bool, decimals: int | None = None) -> Condition:
    """Read what must hold of a column; `decimals` is how many its figures are shown with, None for all.

    A figure is compared as it is shown: rounded half up to `decimals`, or to as many more as were typed.
    Raises QueryError for the field `where.COLUMN`, with what would be right.
    """
    try:
        spelled, terms = _terms(text, numeric=numeric, decimals=decimals)
    except ValueError as error:
        shown = text if len(text) <= MAX_CONDITION_LENGTH else text[:40]
        raise QueryError(f"where.{column}", shown, str(error)) from None
    return Condition(column=column, text=spelled, _numeric=numeric, _terms=terms)


def _terms(text: str, *, numeric: bool, decimals: int | None) -> tuple[str, tuple[_Term, ...]]:
    """Return the canonical spelling and what it says; raises ValueError with what would be right."""
    line = " ".join(text.split())
    usable = NUMERIC_TERMS if numeric else TEXT_TERMS
    if len(text) > MAX_CONDITION_LENGTH or not line.isprintable():
        raise ValueError(f"give at most {MAX_CONDITION_LENGTH} printable characters")
    groups = _groups(line, usable)
    if len(groups) > MAX_TERMS:
        raise ValueError(f"give at most {MAX_TERMS} terms")
    terms = tuple(
        _Term(
            alternatives=tuple(_span(atom, decimals=decimals) if numeric else _words(atom) for atom in group),
            negated=bool(group[0]["not"]),
        )
        for group in groups
    )
    return " ".join("|".join(_spelled(atom) for atom in group) for group in groups), terms


def _groups(line: str, usable: str) -> list[list[re.Match[str]]]:
    """Return the alternatives of each term in the order written."""
    groups: list[list[re.Match[str]]] = []
    at, joined = 0, False
    while at < len(line) or joined or not groups:
        atom = _ATOM.match(line, at)
        between = _BETWEEN.match(line, atom.end()) if atom else None
        if atom is None or between is None:
            raise ValueError('close the quotation with "' if line.count('"') % 2 else usable)
        if joined and atom["not"]:
            raise ValueError("put ! in front of the whole term: !a|b is neither a nor b")
        if joined:
            groups[-1].append(atom)
        else:
            groups.append([atom])
        at, joined = between.end(), bool(between[1])
    return groups


def _spelled(atom: re.Match[str]) -> str:
    return f"{'!' if atom['not'] else ''}{atom['sign'] or ''}{atom['words']}"


def _known(atom: re.Match[str]) -> _Known | None:
    word = atom["words"].casefold()
    return _Known(known=word == "known") if word in {"known", "unknown"} and not atom["sign"] else None


def _words(atom: re.Match[str]) -> _Alternative:
    if atom["sign"] not in {None, "="}:
        raise ValueError(
            f'this column has words, no order ({TEXT_TERMS}; quote what begins with < or >: ">2")'
        )
    words = _folded(atom["words"].strip('"'))
    if not words:
        raise ValueError('give at least one character between the " "')
    return _known(atom) or _Words(words=words, whole=atom["sign"] == "=")


def _span(atom: re.Match[str], *, decimals: int | None) -> _Alternative:
    known = _known(atom)
    if known is not None:
        return known
    low, dots, high = atom["words"].partition("..")
    if (dots and atom["sign"]) or not (low or high):
        raise ValueError(NUMERIC_TERMS)
    bounds = [_number(part) for part in (low, high) if part]
    places = None if decimals is None else max(decimals, *(_decimals(bound) for bound in bounds))
    if dots:
        return _range(_number(low) if low else None, _number(high) if high else None, places=places)
    return _compared(atom["sign"] or "=", bounds[0], places=places)


def _range(low: Decimal | None, high: Decimal | None, *, places: int | None) -> _Span:
    if low is not None and high is not None and low > high:
        raise ValueError(f"put the smaller bound first: {high}..{low}")
    return _Span(low=low, high=high, places=places)


def _compared(sign: str, bound: Decimal, *, places: int | None) -> _Span:
    return _Span(
        low=None if "<" in sign else bound,
        high=None if ">" in sign else bound,
        with_ends="=" in sign,
        places=places,
    )


def _number(text: str) -> Decimal:
    number = read_number(text, decimals=MAX_CONDITION_DECIMALS)
    if abs(number) >= CONDITION_LIMIT:
        raise ValueError("give numbers of less than 1,000,000,000,000")
    return number


def _decimals(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), context=_SHOWN)


def _figure(value: object | None) -> Decimal | None:
    """Return a numeric column's value; raises TypeError for what no such column holds."""
    if value is None or isinstance(value, Decimal):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    raise TypeError(f"a numeric column holds whole numbers and decimals, not {value!r}")


def _folded(value: object | None) -> str:
    if value is None:
        return ""
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    return " ".join(text.casefold().split())
