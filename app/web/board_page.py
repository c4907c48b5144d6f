"""The board page: everything its template shows for one query, worked out before the template runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup, escape

from app.domain.query import DEFAULT_PER_PAGE, DEFAULT_SORT, OfferQuery, query_pairs
from app.web import words
from app.web.menus import baseline_options, column_options, menus, precision_options
from app.web.render import environment, headings_html, row_html
from app.web.source_status import board_freshness
from app.web.state import joined, link, query_string

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from app.domain.board import Selection
    from app.domain.rows import Row
    from app.web.boards import Served


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPage:
    """What the board's template shows. Links hold only what differs from the default."""

    title: str
    canonical: str
    csv_href: str
    json_href: str
    notices: tuple[str, ...]
    menus: Markup
    sizes_chosen: int
    column_options: Markup
    baseline_options: Markup
    precision_options: Markup
    sort_field: str
    per_page_field: str
    today: str
    first_day: str
    total: int
    total_words: str
    when: str
    fresh: str
    headings: Markup
    rows: str
    pages: int
    beyond: bool
    previous_href: str
    next_href: str
    last_href: str
    meanings: Markup


_HERE: Final = "\x1a"
"""Marks in a template's output where something made apart belongs. No text of others can hold this sign."""


def render_board(served: Served, query: OfferQuery, *, partial: bool) -> bytes:
    """Return the board page for a query, or only the part that htmx swaps, as UTF-8."""
    selection = served.board.select(query)
    page = board_page(served, selection)
    html = environment().get_template("_board.html").render(page=page, query=query)
    above, below = html.split(_HERE)
    if not partial:
        head, foot = _frame(page).split(_HERE)
        above, below = head + above, below + foot
    return b"".join([above.encode(), *rendered_rows(served, selection), below.encode()])


def _frame(page: BoardPage) -> str:
    """Return the page around the board: the same for all but for the few words that name the query."""
    html = _empty_frame()
    for name in ("title", "canonical", "csv_href", "json_href"):
        html = html.replace(f"@{name}@", escape(getattr(page, name)))
    return html


class _Frame(NamedTuple):
    """What stands in the page around the board until the words of a `BoardPage` take its place."""

    title: str = "@title@"
    canonical: str = "@canonical@"
    csv_href: str = "@csv_href@"
    json_href: str = "@json_href@"
    board: str = _HERE


@cache
def _empty_frame() -> str:
    return environment().get_template("board.html").render(page=_Frame())


def board_page(served: Served, selection: Selection) -> BoardPage:
    """Work out what the page shows beside its rows."""
    query = selection.query
    pairs = query_pairs(query)
    text = joined(pairs)
    suffix = f"?{text}" if text else ""
    beyond = query.page > selection.pages
    size_fields = (query.min_gpus, query.max_gpus, query.min_memory_gb)
    return BoardPage(
        title=_title(query),
        canonical=f"/{suffix}",
        csv_href=f"/offers.csv{suffix}",
        json_href=f"/offers.json{suffix}",
        notices=_notices(served, query),
        menus=menus(served, selection),
        sizes_chosen=sum(field is not None for field in size_fields),
        column_options=column_options(query.columns),
        baseline_options=baseline_options(served, query.baseline),
        precision_options=precision_options(query.precision),
        sort_field="" if query.sort == DEFAULT_SORT else query.sort,
        per_page_field="" if query.per_page == DEFAULT_PER_PAGE else str(query.per_page),
        today=served.words.today.isoformat(),
        first_day=served.first_day.isoformat() if served.first_day else "",
        total=selection.total,
        total_words=f"{selection.total:,} of {len(served.board.rows):,} offers",
        when=served.kept(("when", query.as_of), lambda: _when(served, query.as_of)),
        fresh=served.kept(("fresh", query.as_of), lambda: board_freshness(served, query.as_of)),
        headings=headings_html(query, rest=joined(pair for pair in pairs if pair[0] not in {"sort", "page"})),
        rows=_HERE,
        pages=selection.pages,
        beyond=beyond,
        previous_href=link("/", query, page=query.page - 1) if 1 < query.page <= selection.pages else "",
        next_href=link("/", query, page=query.page + 1) if query.page < selection.pages else "",
        last_href=link("/", query, page=selection.pages) if beyond else "",
        meanings=_meanings(),
    )


def rendered_rows(served: Served, selection: Selection) -> list[bytes]:
    """Return the asked rows as HTML."""
    return served.rendered(selection, "html", renderer=lambda: _row_renderer(selection))


def _row_renderer(selection: Selection) -> Callable[[Row], bytes]:
    query, view = selection.query, selection.view
    text = query_string(OfferQuery(**{name: getattr(query, name) for name in _IN_EVIDENCE}))
    evidence = f"?{text}" if text else ""
    return lambda row: row_html(row, view, columns=query.columns, evidence_query=evidence).encode()


_IN_EVIDENCE: Final = ("precision", "weights_gb", "baseline", "as_of", "columns")
"""Fields that a row's link to its evidence keeps."""


def _title(query: OfferQuery) -> str:
    about = " and ".join(query.gpu) or "GPU prices"
    day = f", {query.as_of}" if query.as_of else ""
    return f"{about}{day} - InferPrice"


def _notices(served: Served, query: OfferQuery) -> tuple[str, ...]:
    notices = []
    if served.outage:
        notices.append(f"The database is away. This is the board of {words.moment(served.board.instant)}.")
    if query.as_of is not None and query.as_of < served.words.today:
        notices.append(f"These are the prices of {query.as_of}, not today's.")
        if served.first_day is not None and query.as_of < served.first_day:
            notices.append(f"No price was recorded before {served.first_day}.")
    elif served.newest is not None and served.all_stale:
        days = (served.board.instant - served.newest).days
        notices.append(f"Every price here is {days} days old or older: no provider has been read since.")
    return tuple(notices)


def _when(served: Served, as_of: date | None) -> str:
    if served.newest is None or served.oldest is None:
        return "No prices yet."
    newest, oldest = words.moment(served.newest), words.moment(served.oldest)
    read = f"read {newest}" if newest == oldest else f"read between {oldest} and {newest}"
    return f"as of {as_of.isoformat()}, {read}" if as_of else read


@cache
def _meanings() -> Markup:
    return Markup(environment().get_template("_meanings.html").render())  # noqa: S704 - a template's output
