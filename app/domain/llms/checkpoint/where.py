"""A filter in words: `mtp and ple_dtype == 'F8_E4M3'`, read by hand, nothing of it is ever run.

    filter     = all, { "or", all } ;
    all        = one, { "and", one } ;
    one        = "not", one | "(", filter, ")" | fact | comparison ;
    comparison = operand, ( "==" | "!=" | "<" | "<=" | ">" | ">=" ), operand
               | operand, [ "not" ], "in", ( fact | "(", literal, { ",", literal }, ")" ) ;
    operand    = fact | literal ;
    literal    = 'text' | "text" | number, [ "KB" | "MB" | "GB" | "TB" | "KiB" | "MiB" | "GiB" | "TiB" ]
               | "true" | "false" | "none" ;

Texts are the same but for case. What depends on an unknown fact is itself unknown, except `== none` and where
the other side of an `and` or `or` decides.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from app.domain.names import fold, one_of
from app.domain.query_error import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Kind = Literal["yes_no", "text", "texts", "number", "bytes", "none"]
Value = bool | str | int | Decimal | frozenset[str] | None

FIELD: Final = "where"
MOST_CHARS: Final = 1_000
MOST_DEPTH: Final = 40

_TOKEN: Final = re.compile(
    r"\s*+(?:(?P<number>\d[\d_]*+(?:\.\d++)?(?:[eE]\d{1,2})?)(?:\s++(?=[kmgtKMGT][iI]?[bB]\b))?(?P<unit>[A-Za-z]*+)|(?P<name>[A-Za-z_]\w*+)"
    r"|'(?P<single>[^']*+)'|\"(?P<double>[^\"]*+)\"|(?P<sign>==|!=|<=|>=|<|>|\(|\)|,))"
)
_UNITS: Final = {
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}
_SIGNS: Final[dict[str, Callable[[Decimal, Decimal], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EQUAL: Final = ("==", "!=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One word of a filter: a `name`, `number`, `text` or `sign`, and how it was written."""

    kind: Literal["name", "number", "text", "sign", "end"]
    text: str
    value: Value = None
    is_bytes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact that a filter names."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Literally:
    """A value that stands in the filter itself."""

    kind: Kind
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two operands and how they compare; `in` has a fact of several texts or some values on its right."""

    left: Fact | Literally
    sign: str
    right: Fact | Literally | tuple[Literally, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Filters of which all (`and`), any (`or`) or none (`not`) hold."""

    word: Literal["and", "or", "not"]
    parts: tuple[Filter, ...]


Filter = Fact | Literally | Comparison | Joined


def parse(text: str, kinds: Mapping[str, Kind]) -> Filter:
    """Return a filter over facts of these kinds; raises QueryError for what the grammar does not have."""
    if len(text) > MOST_CHARS:
        raise QueryError(FIELD, text, f"give at most {MOST_CHARS} characters")
    reader = _Reader(tokens=_tokens(text), kinds=kinds)
    found = reader.any_of(0)
    if reader.next.kind != "end":
        raise reader.wrong("'and', 'or' or the end would be right there")
    return found


def holds(where: Filter, facts: Mapping[str, Value]) -> bool | None:
    """Tell whether a filter holds for these facts; None when what it depends on is not known."""
    if isinstance(where, Joined):
        return _joined(where, facts)
    if isinstance(where, Comparison):
        return _compared(where, facts)
    value = facts[where.name] if isinstance(where, Fact) else where.value
    return value if isinstance(value, bool) else None


def _joined(where: Joined, facts: Mapping[str, Value]) -> bool | None:
    found = [holds(part, facts) for part in where.parts]
    if where.word == "not":
        return None if found[0] is None else not found[0]
    decisive = where.word == "or"
    if decisive in found:
        return decisive
    return None if None in found else not decisive


def _compared(where: Comparison, facts: Mapping[str, Value]) -> bool | None:
    left = _value(where.left, facts)
    if isinstance(where.right, tuple):
        return None if left is None else left in {each.value for each in where.right}
    right = _value(where.right, facts)
    if "none" in {where.left.kind, where.right.kind}:
        # A part that is not there has no type: its text is empty.
        is_same = (left or None if isinstance(left, str) else left) == (
            right or None if isinstance(right, str) else right
        )
        return is_same == (where.sign == "==")
    if left is None or right is None:
        return None
    if where.sign == "in":
        return isinstance(right, frozenset) and left in right
    if where.sign in _EQUAL:
        return (left == right) == (where.sign == "==")
    return _SIGNS[where.sign](_decimal(left), _decimal(right))


def _decimal(value: Value) -> Decimal:
    if isinstance(value, (int, Decimal)):
        return Decimal(value)
    raise TypeError(f"{value!r} is no number, and `parse` compares only numbers by size")


def _value(operand: Fact | Literally, facts: Mapping[str, Value]) -> Value:
    value = facts[operand.name] if isinstance(operand, Fact) else operand.value
    if isinstance(value, str):
        return value.casefold()
    return frozenset(each.casefold() for each in value) if isinstance(value, frozenset) else value


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if not found:
            raise QueryError(FIELD, text[at : at + 20].strip(), "this cannot begin a word of a filter")
        tokens.append(_token(found))
        at = found.end()
    return [*tokens, Token(kind="end", text="")]


def _token(found: re.Match[str]) -> Token:
    if found["number"]:
        unit = found["unit"].casefold()
        if unit and unit not in _UNITS:
            raise QueryError(FIELD, found[0].strip(), "units are KB, MB, GB, TB, KiB, MiB, GiB and TiB")
        value = Decimal(found["number"].replace("_", "")) * _UNITS.get(unit, 1)
        return Token(kind="number", text=found[0].strip(), value=value, is_bytes=bool(unit))
    if found["name"]:
        return Token(kind="name", text=found["name"])
    if found["sign"]:
        return Token(kind="sign", text=found["sign"])
    return Token(kind="text", text=found[0].strip(), value=found["single"] or found["double"] or "")


@dataclass(slots=True, kw_only=True)  # it moves on through the words
class _Reader:
    tokens: list[Token]
    kinds: Mapping[str, Kind]
    at: int = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def wrong(self, expected: str) -> QueryError:
        return QueryError(FIELD, self.next.text or "the end", expected)

    def takes(self, word: str) -> bool:
        """Move past a word or sign if it comes next."""
        is_next = self.next.kind in {"name", "sign"} and self.next.text.casefold() == word
        self.at += is_next
        return is_next

    def any_of(self, depth: int) -> Filter:
        if depth > MOST_DEPTH:
            raise self.wrong(f"a filter is at most {MOST_DEPTH} brackets deep")
        parts = [self.all_of(depth)]
        while self.takes("or"):
            parts.append(self.all_of(depth))
        return parts[0] if len(parts) == 1 else Joined(word="or", parts=tuple(parts))

    def all_of(self, depth: int) -> Filter:
        parts = [self.one(depth)]
        while self.takes("and"):
            parts.append(self.one(depth))
        return parts[0] if len(parts) == 1 else Joined(word="and", parts=tuple(parts))

    def one(self, depth: int) -> Filter:
        if depth > MOST_DEPTH:
            raise self.wrong(f"a filter is at most {MOST_DEPTH} brackets deep")
        if self.takes("not"):
            return Joined(word="not", parts=(self.one(depth + 1),))
        if self.takes("("):
            inner = self.any_of(depth + 1)
            self.closed()
            return inner
        left = self.operand()
        if self.takes("in"):
            return self.contained(left)
        if self.takes("not"):
            if not self.takes("in"):
                raise self.wrong("'in' would be right after 'not'")
            return Joined(word="not", parts=(self.contained(left),))
        if self.next.kind == "sign" and (self.next.text in _EQUAL or self.next.text in _SIGNS):
            return self.compared(left)
        if left.kind != "yes_no":
            name = left.name if isinstance(left, Fact) else "this"
            raise self.wrong(f"{name} is no yes or no: compare it with something")
        return left

    def closed(self) -> None:
        if not self.takes(")"):
            raise self.wrong("a closing bracket would be right there")

    def compared(self, left: Fact | Literally) -> Comparison:
        sign = self.next
        self.at += 1
        right = self.operand()
        kinds = {left.kind, right.kind}
        fits = _fit(left, right) and "texts" not in kinds
        if sign.text in _SIGNS:
            fits = fits and kinds <= {"number", "bytes"}
        if not fits:
            raise QueryError(FIELD, sign.text, f"{_words(left)} and {_words(right)} do not compare like this")
        return Comparison(left=left, sign=sign.text, right=right)

    def contained(self, left: Fact | Literally) -> Comparison:
        if self.takes("("):
            values = [self.literal()]
            while self.takes(","):
                values.append(self.literal())
            self.closed()
            if left.kind in {"none", "texts"} or not all(
                _fit(left, each) and each.kind != "none" for each in values
            ):
                raise QueryError(FIELD, "in", f"give values like {_words(left)}")
            folded = tuple(Literally(kind=each.kind, value=_value(each, {})) for each in values)
            return Comparison(left=left, sign="in", right=folded)
        right = self.operand()
        if right.kind != "texts" or left.kind != "text":
            raise QueryError(
                FIELD, "in", "give values in brackets, or a text in a fact of several: 'BF16' in dtypes"
            )
        return Comparison(left=left, sign="in", right=right)

    def literal(self) -> Literally:
        found = self.operand()
        if isinstance(found, Fact):
            raise QueryError(FIELD, found.name, "values in brackets are texts or numbers")
        return found

    def operand(self) -> Fact | Literally:
        token = self.next
        if token.kind in {"end", "sign"}:
            raise self.wrong("a fact, a text in quotes or a number would be right there")
        if token.kind == "name":
            return self.named(token)
        self.at += 1
        if token.kind == "number":
            return Literally(kind="bytes" if token.is_bytes else "number", value=token.value)
        return Literally(kind="text", value=token.value)

    def named(self, token: Token) -> Fact | Literally:
        word = token.text.casefold()
        if word in {"and", "or", "not", "in"}:
            raise self.wrong("a fact, a text in quotes or a number would be right there")
        self.at += 1
        if word in {"true", "false"}:
            return Literally(kind="yes_no", value=word == "true")
        if word == "none":
            return Literally(kind="none", value=None)
        name = one_of(FIELD, token.text, names=fold(self.kinds))
        return Fact(name=name, kind=self.kinds[name])


def _fit(left: Fact | Literally, right: Fact | Literally) -> bool:
    """Tell whether two operands compare: of one kind, or bytes with a plain number, or either with none."""
    if left.kind == right.kind or "none" in {left.kind, right.kind}:
        return True
    # A bare number is as good as bytes, but 5 GB are no number of layers.
    plain = [each for each in (left, right) if each.kind == "number"]
    return {left.kind, right.kind} == {"number", "bytes"} and isinstance(plain[0], Literally)


def _words(operand: Fact | Literally) -> str:
    kinds = {"yes_no": "a yes or no", "text": "a text", "texts": "several texts", "number": "a number"}
    what = {**kinds, "bytes": "bytes", "none": "none"}[operand.kind]
    return f"{operand.name} ({what})" if isinstance(operand, Fact) else what
