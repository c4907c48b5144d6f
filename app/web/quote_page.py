"""The page of two forms that add the reader's own figures to a link: a quote, and hardware of one's own.

What is typed goes back to the reader in the link, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.responses import RedirectResponse

from app.domain.compare_query import CompareQuery, compare_pairs, parse_compare
from app.domain.llms.cost_query import CostQuery, cost_pairs, parse_cost
from app.domain.query import OfferQuery, QueryError, parse_query, query_pairs
from app.domain.quotes import (
    HOURS_PER_YEAR,
    MAX_NAME_LENGTH,
    MAX_QUOTES,
    OWN_PARTS,
    QUOTE_PARTS,
    OwnHardware,
    Quote,
    parse_own,
    parse_quote,
)
from app.web.answers import respond_privately
from app.web.history_query import HistoryQuery, history_pairs, read_history_query
from app.web.kept import base_of, page_of
from app.web.own_figures import figures_of
from app.web.pages import find_board
from app.web.state import MAX_QUERY_STRING, joined, query_text, read_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.accelerators import Accelerator
    from app.domain.llms.facts import Llm
    from app.domain.names import Names
    from app.web.boards import Served
    from app.web.own_figures import OwnFigure

    Pairs = Sequence[tuple[str, str]]
    Query = OfferQuery | CompareQuery | CostQuery | HistoryQuery

PLACES: Final = {
    "/": "the board",
    "/compare": "the comparison",
    "/charts/scatter": "the chart of both ratios",
    "/charts/bars": "the bars by provider",
    "/history": "the history of prices",
}
"""The pages that the forms may lead back to, beside those of models; `back` names one of them."""

_LLMS: Final = "/llms/"

NEEDED: Final = "this has to be filled in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of the two forms: the parameter it makes, the parts of that, and a right value of each part.

    The value of a right part stands in for a wrong one, so that one look finds all that are wrong.
    """

    name: str
    parts: tuple[str, ...]
    right: tuple[str, ...]
    optional: frozenset[str]
    parse: Callable[[str, Names], Quote | OwnHardware]

    def field(self, part: str) -> str:
        """Return the name of a part's field in the form."""
        return f"{self.name}_{part}"


KINDS: Final = (
    Kind(
        name="quote",
        parts=tuple(QUOTE_PARTS.split("|")),
        right=("A", "h100-sxm", "1", ""),
        optional=frozenset({"terms"}),
        parse=parse_quote,
    ),
    Kind(
        name="own",
        parts=tuple(OWN_PARTS.split("|")),
        right=("A", "h100-sxm", "1000", "1", "100", "0.1", "1"),
        optional=frozenset(),
        parse=parse_own,
    ),
)

FIELDS: Final = frozenset(kind.field(part) for kind in KINDS for part in kind.parts)


class Filled(NamedTuple):
    """A form as it was sent: what each part says, what is wrong with which, what is wrong with the whole."""

    values: Mapping[str, str]
    errors: Mapping[str, str]
    error: str = ""
    made: Quote | OwnHardware | None = None


class Make(NamedTuple):
    """Cards of one maker to choose from."""

    vendor: str
    cards: tuple[Accelerator, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotePage:
    """What the template shows. `kept` are the hidden fields of both forms; `card` is chosen beforehand."""

    back_name: str
    back_href: str
    kept: Pairs
    quote: Filled
    own: Filled
    figures: Sequence[OwnFigure]
    makes: Sequence[Make]
    card: str
    hours_per_year: str
    most_figures: int
    longest_name: int


def quote(request: Request) -> Response:
    """Answer the forms, or what was sent by one: a redirect to a link that holds it, or what is wrong."""
    pairs = read_pairs(query_text(request))
    llms: Mapping[str, Llm] = request.app.state.shared.llms
    back = _back(pairs, llms)
    rest = [pair for pair in pairs if pair[0] not in FIELDS and pair[0] != "back"]
    served = find_board(request.app.state.shared, joined(rest))
    query = _read(back, rest, served=served)
    typed = _typed(pairs)
    forms = {kind.name: _filled(kind, typed, variants=served.words.variants) for kind in KINDS}
    for kind in KINDS:
        filled = forms[kind.name]
        if filled.made is None:
            continue
        added = _added(query, kind, filled.made)
        target = _link(back, added)
        error = _too_much(added, target)
        if not error:
            return RedirectResponse(target, status_code=303)
        forms[kind.name] = filled._replace(error=error)
    page = _page(back, query, served=served, forms=forms, llms=llms)
    response = respond_privately(request, page_of("quote.html", page=page, base=base_of(request)))
    response.status_code = 422 if any(each.error or each.errors for each in forms.values()) else 200
    return response


def _back(pairs: Pairs, llms: Mapping[str, Llm]) -> str:
    """Return the page to lead back to; only pages of this site are, so no link can lead astray."""
    asked = [value for name, value in pairs if name == "back" and value]
    if len(asked) > 1 or (asked and not _place(asked[0], llms)):
        raise QueryError("back", asked[-1], f"use one of {', '.join(PLACES)}")
    return asked[0] if asked else "/"


def _place(back: str, llms: Mapping[str, Llm]) -> str:
    """Return what a page to lead back to is called, empty when there is no such page."""
    llm = llms.get(back.removeprefix(_LLMS))
    return f"the costs of {llm.name}" if llm and back.startswith(_LLMS) else PLACES.get(back, "")


def _read(back: str, pairs: Pairs, *, served: Served) -> Query:
    if back == "/compare":
        return parse_compare(pairs, served.words, catalogue=served.board.catalogue)
    if back == "/history":
        return read_history_query(joined(pairs), served.words)
    if back.startswith(_LLMS):
        return parse_cost(pairs, served.words).replace(page=1)
    return parse_query(pairs, served.words).replace(page=1)


def _pairs(query: Query) -> Pairs:
    if isinstance(query, CostQuery):
        return cost_pairs(query)
    if isinstance(query, HistoryQuery):
        return history_pairs(query)
    return compare_pairs(query) if isinstance(query, CompareQuery) else query_pairs(query)


def _link(path: str, query: Query) -> str:
    text = joined(_pairs(query))
    return f"{path}?{text}" if text else path


def _typed(pairs: Pairs) -> Mapping[str, str]:
    """Return what stands in the fields; raises QueryError for one that is given twice."""
    typed: dict[str, str] = {}
    for name, value in pairs:
        if name in typed:
            raise QueryError(name, value, "give it once")
        if name in FIELDS:
            typed[name] = " ".join(value.split())
    return typed


def _filled(kind: Kind, typed: Mapping[str, str], *, variants: Names) -> Filled:
    """Return what was sent by a form and everything that is wrong with it; nothing was sent: nothing is."""
    values = {part: typed.get(kind.field(part), "") for part in kind.parts}
    if not any(kind.field(part) in typed for part in kind.parts):
        return Filled(values, {})
    errors = {
        part: "leave out the |" if value else NEEDED
        for part, value in values.items()
        if "|" in value or not (value or part in kind.optional)
    }
    right = dict(zip(kind.parts, kind.right, strict=True))
    # Each round finds one wrong part more.
    for _ in kind.parts:
        text = "|".join(right[part] if part in errors else value for part, value in values.items())
        try:
            made = kind.parse(text, variants)
        except QueryError as error:
            part, _, sentence = error.expected.partition(": ")
            if part not in values or part in errors:
                return Filled(values, errors, error="" if errors else error.expected)
            errors[part] = sentence
        else:
            return Filled(values, errors, made=None if errors else made)
    return Filled(values, errors)


def _added(query: Query, kind: Kind, made: Quote | OwnHardware) -> Query:
    before = getattr(query, kind.name)
    return query if made in before else query.replace(**{kind.name: (*before, made)})


def _too_much(query: Query, target: str) -> str:
    """Return why a link cannot hold one figure more, else nothing."""
    if len(query.quote) + len(query.own) > MAX_QUOTES:
        return f"a link holds at most {MAX_QUOTES} figures of your own: take one away first"
    if len(target) > MAX_QUERY_STRING:
        return f"the link would be longer than {MAX_QUERY_STRING:,} characters: take a figure away"
    return ""


def _page(
    back: str, query: Query, *, served: Served, forms: Mapping[str, Filled], llms: Mapping[str, Llm]
) -> QuotePage:
    return QuotePage(
        back_name=_place(back, llms),
        back_href=_link(back, query),
        kept=_kept(back, query),
        quote=forms["quote"],
        own=forms["own"],
        figures=figures_of(query, href=lambda without: f"/quote?{joined(_kept(back, without))}"),
        makes=_makes(served),
        card=_card(query),
        hours_per_year=f"{HOURS_PER_YEAR:,}",
        most_figures=MAX_QUOTES,
        longest_name=MAX_NAME_LENGTH,
    )


def _card(query: Query) -> str:
    """Return the one card that a page is about, empty for several."""
    if isinstance(query, HistoryQuery):
        return query.gpu
    return query.gpu[0] if len(query.gpu) == 1 else ""


def _kept(back: str, query: Query) -> Pairs:
    return [("back", back), *_pairs(query)]


def _makes(served: Served) -> list[Make]:
    cards = served.board.catalogue.accelerators
    vendors = dict.fromkeys(card.vendor for card in cards)
    return [Make(each, tuple(card for card in cards if card.vendor == each)) for each in vendors]
