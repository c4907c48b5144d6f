"""The board page: everything its template shows for one query, worked out before the template runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup, escape

from app.domain.query import DEFAULT_PER_PAGE, OfferQuery, query_pairs
from app.domain.shown import shown_column
from app.web import words as say
from app.web.menus import (
    UnitOptions,
    baseline_options,
    column_options,
    menus,
    precision_options,
    unit_options,
)
from app.web.own_figures import own_figures
from app.web.public_address import public_address
from app.web.render import environment, headings_html, row_html
from app.web.source_status import board_freshness
from app.web.state import joined, link, query_string

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from app.domain.board import Selection
    from app.domain.rows import Row
    from app.domain.shown import Units
    from app.web.boards import Served

    Pairs = Sequence[tuple[str, str]]


class Words(NamedTuple):
    """What the board's template shows that differs from query to query. Empty means: not there.

    `suffix` is the link's query string with its question mark; it holds only what differs from the default.
    `public_suffix` is that without the reader's own figures.
    `own` are the reader's own figures, `picks` and `kept_fields` the hidden fields of the forms, `conditions`
    the fields of conditions on columns that are not shown, and `beyond` is a page asked for that does not
    exist. `announced` says how many offers the rule hides that keeps announced cards out, and
    `announced_href` shows them. `base` is the address of this site, with a slash at its end.
    """

    base: str
    title: str
    suffix: str
    public_suffix: str
    menus: Markup
    own: Markup
    picks: Markup
    q: str
    min_gpus: str
    max_gpus: str
    min_memory_gb: str
    sizes_chosen: str
    weights_gb: str
    kept_fields: Markup
    conditions: Markup
    total: str
    headings: Markup
    column_options: Markup
    beyond: str
    pages: str
    place: str
    previous_href: str
    next_href: str
    last_href: str
    announced: str
    announced_href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPage:
    """What else the board's template shows: it follows from the board and from `Fixed`."""

    notices: tuple[str, ...]
    baseline_options: Markup
    precision_options: Markup
    units: UnitOptions
    rate: str
    compact: bool
    as_of: str
    today: str
    first_day: str
    board_size: str
    own: str
    when: str
    fresh: str
    rows: str
    meanings: Markup


class Fixed(NamedTuple):
    """The parts of a query that a page is rendered for once; words are filled in for each query."""

    precision: str
    baseline: str | None
    as_of: date | None
    columns: tuple[str, ...]
    spec: str
    period: str
    per: str
    currency: str
    density: str


_MARK: Final = "\x1a"
"""Stands around the name of what is filled in later. No text of others can hold this sign."""


def render_board(served: Served, query: OfferQuery, *, partial: bool, base: str) -> bytes:
    """Return the board page for a query on the site at `base`, or only the part that htmx swaps, as UTF-8.

    The template runs once for each set of fixed parts and of words that are there at all.
    """
    selection = served.board.select(query)
    words = board_words(served, selection, base=base)
    there = tuple(map(bool, words))
    fixed = Fixed(*[getattr(query, name) for name in Fixed._fields])
    above, below = served.kept(
        ("board", partial, fixed, there), lambda: _with_holes(served, fixed, there, partial=partial)
    )
    filling = dict(zip(Words._fields, [text and escape(text) for text in words], strict=True))
    rows = rendered_rows(served, selection)
    return b"".join([(above % filling).encode(), *rows, (below % filling).encode()])


def _with_holes(served: Served, fixed: Fixed, there: tuple[bool, ...], *, partial: bool) -> tuple[str, str]:
    """Return the page above and below its rows, with a hole for each word that is there."""
    names = zip(Words._fields, there, strict=True)
    marks = {name: f"{_MARK}{name}{_MARK}" if is_there else "" for name, is_there in names}
    template = environment().get_template("_board.html" if partial else "board.html")
    html = template.render(words=marks, page=_board_page(served, fixed), base=marks["base"])
    above, below = html.replace("%", "%%").split(f"{_MARK}rows{_MARK}")
    return _holes(above), _holes(below)


def _holes(html: str) -> str:
    return re.sub(rf"{_MARK}(\w+){_MARK}", r"%(\1)s", html)


def board_words(served: Served, selection: Selection, *, base: str) -> Words:
    """Return what a page says of its query and of the rows found."""
    query, pages = selection.query, selection.pages
    pairs = query_pairs(query)
    text = joined(pairs)
    beyond = query.page > pages
    hidden = _hidden_own(served, query) if query.has_own else frozenset()
    total = selection.total - (_own_rows(served) - len(hidden))
    sizes = (query.min_gpus, query.max_gpus, query.min_memory_gb)
    return Words(
        base=base,
        title=_title(query),
        suffix=f"?{text}" if text else "",
        public_suffix=public_address(f"?{text}"),
        menus=menus(served, selection),
        own=own_figures(query, hidden=hidden) if query.has_own else Markup(),
        picks=_hidden(pairs, _WITH_PICKS),
        q=query.q,
        min_gpus=str(query.min_gpus or ""),
        max_gpus=str(query.max_gpus or ""),
        min_memory_gb="" if query.min_memory_gb is None else say.exact(query.min_memory_gb),
        sizes_chosen=str(sum(size is not None for size in sizes) or ""),
        weights_gb=say.exact(query.weights_gb),
        kept_fields=_hidden(pairs, _KEPT_FIELDS),
        conditions=_conditions(query, selection.units),
        total=f"{total:,}" if selection.total else "",
        headings=headings_html(query, selection.units, rest=_but(pairs, _ORDER)),
        column_options=column_options(query.columns, rest=_but(pairs, _CHOICE)),
        beyond=str(query.page) if beyond else "",
        pages=str(pages),
        place=f"page {query.page} of {pages}" if pages > 1 else "",
        previous_href=link("/", query, page=query.page - 1) if 1 < query.page <= pages else "",
        next_href=_next_href(query, text) if query.page < pages else "",
        last_href=link("/", query, page=pages) if beyond else "",
        **_announced(served, selection),
    )


def _announced(served: Served, selection: Selection) -> dict[str, str]:
    """Return how many offers of announced cards are left out, and the link that shows them."""
    cards = [served.board.rows[number].accelerator for number in selection.announced]
    ids = tuple(dict.fromkeys(card.id for card in cards if card))
    if not ids:
        return {"announced": "", "announced_href": ""}
    whose = "an announced card" if len(ids) == 1 else "announced cards"
    said = f"{len(cards):,} of {whose} {'is' if len(cards) == 1 else 'are'} left out"
    return {"announced": said, "announced_href": link("/", selection.query, gpu=ids, page=1)}


_ORDER: Final = frozenset({"sort", "page"})
_CHOICE: Final = frozenset({"columns"})
_KEPT_FIELDS: Final = frozenset({"sort", "per_page", "quote", "own"})
"""What the form of filters keeps without showing it."""
_WITH_PICKS: Final = frozenset(
    {"pricing", "service", "precision", "weights_gb", "as_of", "spec", "quote", "own"}
)
"""What a comparison of the picked cards keeps of the board's query."""


def _hidden_own(served: Served, query: OfferQuery) -> frozenset[int]:
    """Return the ids of the reader's own offers that the query's filters hide."""
    rows = served.board.rows
    matching = served.board.select(query, everything=True, counted=False).rows
    shown = {rows[number].stored.offer_id for number in matching}
    return frozenset(row.stored.offer_id for row in rows if row.offer.is_own) - shown


def _but(pairs: Pairs, names: frozenset[str]) -> str:
    return joined([pair for pair in pairs if pair[0] not in names])


def _hidden(pairs: Pairs, names: frozenset[str]) -> Markup:
    fields = [_FIELD.format(name, value) for name, value in pairs if name in names]
    return Markup().join(fields) if fields else Markup()


def _conditions(query: OfferQuery, units: Units) -> Markup:
    """Return a field for each condition on a column that is not shown, and so has no field in the table."""
    fields = [
        _CONDITION.format(shown_column(each.column, units).label, each.column, each.text)
        for each in query.where
        if each.column not in query.columns
    ]
    return Markup().join(fields) if fields else Markup()


_CONDITION: Final = Markup(
    '<label>{}<input type="text" name="where.{}" value="{}" maxlength="200" autocomplete="off" '
    'spellcheck="false"></label>\n'
)
_FIELD: Final = Markup('<input type="hidden" name="{}" value="{}">')


def _next_href(query: OfferQuery, text: str) -> str:
    """Return the link to the next page. Nearly all come from a first page, whose own link it continues."""
    if query.page == 1 and query.per_page == DEFAULT_PER_PAGE:
        return f"/?{text}&page=2" if text else "/?page=2"
    return link("/", query, page=query.page + 1)


def _board_page(served: Served, fixed: Fixed) -> BoardPage:
    as_of, own = fixed.as_of, _own_rows(served)
    return BoardPage(
        notices=_notices(served, as_of, fixed.spec),
        baseline_options=baseline_options(served, fixed.baseline),
        precision_options=precision_options(fixed.precision),
        units=unit_options(served, fixed),
        rate=_rate(served, fixed.currency),
        compact=fixed.density == "compact",
        as_of=as_of.isoformat() if as_of else "",
        today=served.words.today.isoformat(),
        first_day=served.first_day.isoformat() if served.first_day else "",
        board_size=f"{len(served.board.rows) - own:,}",
        own=f"{own} of your own" if own else "",
        when=_when(served, as_of),
        fresh=board_freshness(served, as_of),
        rows=f"{_MARK}rows{_MARK}",
        meanings=_meanings(),
    )


def _own_rows(served: Served) -> int:
    """Return how many of the offers are the reader's own, which nobody has read anywhere."""
    return sum(row.offer.is_own for row in served.board.rows) if served.is_private else 0


def rendered_rows(served: Served, selection: Selection) -> list[bytes]:
    """Return the asked rows as HTML."""
    return served.rendered(selection, "html", renderer=lambda: _row_renderer(selection))


def _row_renderer(selection: Selection) -> Callable[[Row], bytes]:
    query, view, columns = selection.query, selection.view, selection.columns
    text = query_string(OfferQuery(**{name: getattr(query, name) for name in _IN_EVIDENCE}))
    evidence = f"?{text}" if text else ""
    return lambda row: row_html(row, view, columns=columns, evidence_query=evidence, has_picks=True).encode()


_IN_EVIDENCE: Final = ("precision", "weights_gb", "baseline", "as_of", "spec", "columns", "quote", "own")
"""Fields that a row's link to its evidence keeps."""


def _title(query: OfferQuery) -> str:
    about = " and ".join(query.gpu) or "GPU prices"
    day = f", {query.as_of}" if query.as_of else ""
    return f"{about}{day} - InferPrice"


def _notices(served: Served, as_of: date | None, spec: str) -> tuple[str, ...]:
    notices = []
    if served.outage:
        notices.append(f"The database is away. This is the board of {say.moment(served.board.instant)}.")
    if served.notice and (as_of is None or as_of >= served.words.today):
        notices.append(served.notice)
    if spec == "alt":
        notices.append("Figures use the other published bandwidth of each card that has one.")
    if as_of is not None and as_of < served.words.today:
        notices.append(f"These are the prices of {as_of}, not today's.")
        if served.first_day is not None and as_of < served.first_day:
            notices.append(f"No price was recorded before {served.first_day}.")
    elif served.newest is not None and served.all_stale:
        days = (served.board.instant - served.newest).days
        notices.append(f"Every price here is {days} days old or older: no provider has been read since.")
    return tuple(notices)


def _rate(served: Served, currency: str) -> str:
    """Return by which rate of which day dollars are shown in another currency, else nothing."""
    rate = served.board.rates.get(currency)
    return "" if rate is None else say.rate(rate)


def _when(served: Served, as_of: date | None) -> str:
    if served.newest is None or served.oldest is None:
        return "No prices yet."
    newest, oldest = say.moment(served.newest), say.moment(served.oldest)
    read = f"read {newest}" if newest == oldest else f"read between {oldest} and {newest}"
    return f"as of {as_of.isoformat()}, {read}" if as_of else read


@cache
def _meanings() -> Markup:
    return Markup(environment().get_template("_meanings.html").render())  # noqa: S704 - a template's output
