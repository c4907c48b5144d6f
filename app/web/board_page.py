"""The board page: everything its template shows for one query, worked out before the template runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from app.domain.accelerators import PRECISIONS
from app.domain.columns import COLUMNS, DEFAULT_COLUMNS
from app.domain.offers import PricingModel, ServiceKind
from app.domain.query import DEFAULT_SORT, OfferQuery
from app.web import words
from app.web.render import Heading, environment, headings, row_html
from app.web.state import link, query_string

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from app.domain.accelerators import Catalogue
    from app.domain.board import Selection
    from app.web.boards import Served


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """One filter's drop-down: its name, how many choices are on, and the choices as HTML."""

    name: str
    label: str
    chosen: int
    options: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPage:
    """What the board's template shows. Links hold only what differs from the default."""

    title: str
    canonical: str
    csv_href: str
    json_href: str
    notices: tuple[str, ...]
    menus: tuple[Menu, ...]
    sizes_chosen: int
    column_options: Markup
    baseline_options: Markup
    precisions: tuple[str, ...]
    sort_field: str
    today: str
    first_day: str
    total: int
    total_words: str
    when: str
    headings: list[Heading]
    rows: Markup
    pages: int
    beyond: bool
    previous_href: str
    next_href: str
    last_href: str
    meanings: Markup


def render_board(served: Served, query: OfferQuery, *, partial: bool) -> str:
    """Return the board page for a query, or only the part that htmx swaps."""
    page = board_page(served, query)
    template = environment().get_template("_board.html" if partial else "board.html")
    return template.render(page=page, query=query)


def board_page(served: Served, query: OfferQuery) -> BoardPage:
    """Work out what the page shows for a query on a board."""
    selection = served.board.select(query)
    here = link("/", query)
    suffix = here[1:]
    beyond = query.page > selection.pages
    size_fields = (query.min_gpus, query.max_gpus, query.min_memory_gb)
    return BoardPage(
        title=_title(query),
        canonical=here,
        csv_href=f"/offers.csv{suffix}",
        json_href=f"/offers.json{suffix}",
        notices=_notices(served, query),
        menus=_menus(served.board.catalogue, query, selection),
        sizes_chosen=sum(field is not None for field in size_fields),
        column_options=_column_options(query.columns),
        baseline_options=_baseline_options(served, query.baseline),
        precisions=PRECISIONS,
        sort_field="" if query.sort == DEFAULT_SORT else query.sort,
        today=served.words.today.isoformat(),
        first_day=served.first_day.isoformat() if served.first_day else "",
        total=selection.total,
        total_words=f"{selection.total:,} of {len(served.board.rows):,} offers",
        when=_when(served, query),
        headings=headings(query),
        rows=rows_html(served, selection),
        pages=selection.pages,
        beyond=beyond,
        previous_href=link("/", query, page=query.page - 1) if 1 < query.page <= selection.pages else "",
        next_href=link("/", query, page=query.page + 1) if query.page < selection.pages else "",
        last_href=link("/", query, page=selection.pages) if beyond else "",
        meanings=_meanings(),
    )


def rows_html(served: Served, selection: Selection) -> Markup:
    """Return the asked rows as HTML; a row is rendered once for each set of columns and figures."""
    query = selection.query
    shown = OfferQuery(
        precision=query.precision,
        weights_gb=query.weights_gb,
        baseline=query.baseline,
        as_of=query.as_of,
        columns=query.columns,
    )
    made = served.rendered(shown)
    missing = [number for number in selection.rows if number not in made]
    if missing:
        text = query_string(shown)
        evidence = f"?{text}" if text else ""
        for number in missing:
            row = served.board.rows[number]
            made[number] = row_html(row, selection.view, columns=query.columns, evidence_query=evidence)
    return Markup("".join([made[number] for number in selection.rows]))  # noqa: S704 - rows are templates' output


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


def _when(served: Served, query: OfferQuery) -> str:
    if served.newest is None or served.oldest is None:
        return "No prices yet."
    newest, oldest = words.moment(served.newest), words.moment(served.oldest)
    read = f"read {newest}" if newest == oldest else f"read between {oldest} and {newest}"
    return f"{'as of ' + query.as_of.isoformat() + ', ' if query.as_of else ''}{read}"


_CHOICES: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "pricing": ("Pricing", {kind.value: words.PRICING[kind] for kind in PricingModel}),
    "service": ("Service", {kind.value: words.SERVICE[kind] for kind in ServiceKind}),
    "form_factor": ("Form factor", words.FORM_FACTOR),
    "region": ("Region", {}),
}


def _menus(catalogue: Catalogue, query: OfferQuery, selection: Selection) -> tuple[Menu, ...]:
    facets = selection.facets
    names = {provider: words.provider_name(str(provider)) for provider in facets["provider"]}
    names |= {provider: words.provider_name(provider) for provider in query.provider}
    menus = [
        Menu(name="gpu", label="GPU", chosen=len(query.gpu), options=_gpu_options(catalogue, query, facets)),
        _menu("provider", "Provider", names, query.provider, facets["provider"]),
    ]
    for name, (label, labels) in _CHOICES.items():
        counts = facets[name]
        known = {str(value): labels.get(str(value), str(value)) for value in (*counts, *getattr(query, name))}
        menus.append(_menu(name, label, known, getattr(query, name), counts))
    return tuple(menus)


def _menu(
    name: str,
    label: str,
    labels: Mapping[Hashable, str] | Mapping[str, str],
    chosen: tuple[str, ...],
    counts: Mapping[Hashable, int],
) -> Menu:
    options = (
        option(name, str(value), label=text, count=counts.get(value, 0), checked=value in chosen)
        for value, text in sorted(labels.items(), key=lambda item: item[1].casefold())
    )
    return Menu(name=name, label=label, chosen=len(chosen), options=_joined(options))


def _gpu_options(
    catalogue: Catalogue, query: OfferQuery, facets: Mapping[str, Mapping[Hashable, int]]
) -> Markup:
    """Return families, each with its variants below, for those on the board and those chosen."""
    listed = {str(value) for value in facets["variant"]} | set(query.gpu)
    families = {str(value) for value in facets["family"]} | (set(query.gpu) & set(catalogue.families()))
    parts: list[str] = []
    for family in sorted(families | {c.family for c in catalogue.accelerators if c.id in query.gpu}):
        count = facets["family"].get(family, 0)
        parts.append(option("gpu", family, label=family.upper(), count=count, checked=family in query.gpu))
        parts.extend(
            option(
                "gpu",
                card.id,
                label=card.name,
                count=facets["variant"].get(card.id, 0),
                checked=card.id in query.gpu,
                inner=True,
            )
            for card in catalogue.family_members(family)
            if card.id in listed and card.id != family
        )
    return _joined(parts)


def _column_options(chosen: tuple[str, ...]) -> Markup:
    """Return the chosen columns in their order, then the others."""
    others = [key for key in COLUMNS if key not in chosen]
    rest = [key for key in others if key in DEFAULT_COLUMNS] + [k for k in others if k not in DEFAULT_COLUMNS]
    return _joined(
        option("columns", key, label=COLUMNS[key].label, count=None, checked=key in chosen)
        for key in (*chosen, *rest)
    )


def _baseline_options(served: Served, chosen: str | None) -> Markup:
    listed = sorted({row.accelerator.id for row in served.board.rows if row.accelerator} | {chosen or ""})
    return _joined(
        f'<option value="{escape(card)}"{" selected" if card == chosen else ""}>{escape(card)}</option>'
        for card in listed
        if card
    )


_option_labels: dict[tuple[str, str, str, bool], tuple[str, str]] = {}


def option(
    name: str, value: str, *, label: str, count: int | None, checked: bool, inner: bool = False
) -> str:
    """Return one choice of a filter as HTML. The parts that need escaping are escaped once and kept."""
    key = (name, value, label, inner)
    parts = _option_labels.get(key)
    if parts is None:
        kind = ' class="inner"' if inner else ""
        head = f'<label{kind}><input type="checkbox" name="{escape(name)}" value="{escape(value)}"'
        parts = _option_labels[key] = (head, f">{escape(label)}")
    counted = "" if count is None else f'<span class="count">{count}</span>'
    return f"{parts[0]}{' checked' if checked else ''}{parts[1]}{counted}</label>\n"


def _joined(parts: Iterable[str]) -> Markup:
    return Markup("".join(parts))  # noqa: S704 - each part is escaped where it is made


@cache
def _meanings() -> Markup:
    return Markup(environment().get_template("_meanings.html").render())  # noqa: S704 - a template's output
