"""The filters' choices as HTML: made once for a board with holes, then filled with ticks and counts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote_plus

from markupsafe import Markup, escape

from app.domain.accelerators import PRECISIONS
from app.domain.columns import COLUMNS, DEFAULT_COLUMNS
from app.domain.offers import OWN_PREFIX, PricingModel, ServiceKind
from app.domain.query import OfferQuery
from app.domain.shown import DOLLARS
from app.web import words
from app.web.render import REST, environment, filled_links

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

    from app.domain.accelerators import Catalogue
    from app.domain.board import Selection
    from app.web.board_page import Fixed
    from app.web.boards import Served


class Menu(NamedTuple):
    """One filter's drop-down: `html` has a hole for the number chosen, then two holes for each value.

    The first is for the value's tick, the second for the number of rows behind it.
    """

    values: tuple[str, ...]
    places: Mapping[str, int]
    html: str


class Choice(NamedTuple):
    """One choice of a menu; an inner one stands below its family."""

    value: str
    label: str
    inner: bool = False


_LABELS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "gpu": ("GPU", {}),
    "provider": ("Provider", {}),
    "pricing": ("Pricing", {kind.value: words.PRICING[kind] for kind in PricingModel}),
    "service": ("Service", {kind.value: words.SERVICE[kind] for kind in ServiceKind}),
    "form_factor": ("Form factor", words.FORM_FACTOR),
    "region": ("Region", {}),
}
"""What each menu is called, and its choices that are said in other words than they are written in a link."""

_TICK: Final = " checked"


def menus(served: Served, selection: Selection) -> Markup:
    """Return every menu with the query's choices on and the number of rows behind each choice."""
    return _joined(_menu_html(served, selection, name=name) for name in _LABELS)


def _menu_html(served: Served, selection: Selection, *, name: str) -> str:
    chosen: tuple[str, ...] = getattr(selection.query, name)
    counts = _counts(name, selection)
    # What is chosen shows even where the board has none of it.
    foreign = tuple(value for value in chosen if value not in counts)
    menu = served.kept(("menu", name, foreign), lambda: _menu(name, {*map(str, counts), *foreign}, served))
    holes: list[str | int] = [""] * (2 * len(menu.values) + 1)
    holes[0] = f' <span class="count">{len(chosen)}</span>' if chosen else ""
    # The family of a chosen card shows above it also where the board has none of that family.
    holes[2::2] = [counts.get(value, 0) for value in menu.values]
    for value in chosen:
        holes[2 * menu.places[value] + 1] = _TICK
    return menu.html % tuple(holes)


def _counts(name: str, selection: Selection) -> Mapping[Hashable, int]:
    if name == "gpu":
        return {**selection.facets["variant"], **selection.facets["family"]}
    found = selection.facets[name]
    if name == "provider":  # a reader's own offers are no provider's: they show whichever is chosen
        return {value: count for value, count in found.items() if not str(value).startswith(OWN_PREFIX)}
    return found


def _menu(name: str, values: Collection[str], served: Served) -> Menu:
    label, said = _LABELS[name]
    if name == "gpu":
        choices = list(_gpus(served.board.catalogue, values))
    else:
        say = words.provider_name if name == "provider" else lambda value: said.get(value, value)
        choices = sorted((Choice(each, say(each)) for each in values), key=lambda one: one.label.casefold())
    html = environment().get_template("_menu.html").render(name=name, label=label, choices=choices)
    known = tuple(choice.value for choice in choices)
    return Menu(known, {value: place for place, value in enumerate(known)}, html)


def _gpus(catalogue: Catalogue, values: Collection[str]) -> Iterator[Choice]:
    """Yield families, each with its variants below it."""
    cards = [card for card in catalogue.accelerators if card.id in values]
    families = {card.family for card in cards} | {value for value in values if catalogue.get(value) is None}
    for family in sorted(families):
        yield Choice(family, family.upper())
        for card in cards:
            if card.family == family and card.id != family:
                yield Choice(card.id, card.name, inner=True)


def column_options(chosen: tuple[str, ...], *, rest: str) -> Markup:
    """Return the chosen columns in their order, each with a link that moves it forward, then the others.

    `rest` is the query string of what the links keep.
    """
    return filled_links(_column_options(chosen), rest)


@lru_cache(maxsize=64)
def _column_options(chosen: tuple[str, ...]) -> str:
    others = [key for key in COLUMNS if key not in chosen]
    rest = [key for key in others if key in DEFAULT_COLUMNS] + [k for k in others if k not in DEFAULT_COLUMNS]
    choices = [
        ColumnChoice(key, COLUMNS[key].label, key in chosen, _moved_href(chosen, key))
        for key in (*chosen, *rest)
    ]
    return environment().get_template("_columns.html").render(choices=choices)


class ColumnChoice(NamedTuple):
    """One column to choose; `move_href` moves it one place forward, empty where it is first or not chosen."""

    key: str
    label: str
    chosen: bool
    move_href: str


def _moved_href(chosen: tuple[str, ...], key: str) -> str:
    place = chosen.index(key) if key in chosen else 0
    if place == 0:
        return ""
    moved = [*chosen[: place - 1], key, chosen[place - 1], *chosen[place + 1 :]]
    if tuple(moved) == DEFAULT_COLUMNS:
        return f"/?{REST}"
    return f"/?{REST}&columns={quote_plus(','.join(moved))}"


class UnitOptions(NamedTuple):
    """The choices of units as options of lists, and how many of them are not as usual."""

    period: Markup
    per: Markup
    currency: Markup
    spec: Markup
    density: Markup
    changed: int


_PERIODS: Final = {"hour": "hour", "day": "day", "month": "month of 730 h", "year": "year of 8,760 h"}
_PER: Final = {"gpu": "GPU", "instance": "instance"}
_SPECS: Final = {"main": "as listed", "alt": "the other published ones"}
_DENSITIES: Final = {"normal": "normal", "compact": "compact"}


def unit_options(served: Served, chosen: Fixed) -> UnitOptions:
    """Return the choices of units; a currency is one only on a day with its rate."""
    currencies = {code: code for code in (DOLLARS, *sorted(served.board.rates))}
    usual = OfferQuery()
    return UnitOptions(
        period=_options(_PERIODS, chosen.period),
        per=_options(_PER, chosen.per),
        currency=_options(currencies, chosen.currency),
        spec=_options(_SPECS, chosen.spec),
        density=_options(_DENSITIES, chosen.density),
        changed=sum(
            getattr(chosen, name) != getattr(usual, name) for name in UnitOptions._fields if name != "changed"
        ),
    )


def _options(said: Mapping[str, str], chosen: str) -> Markup:
    return _joined(_list_option(value, label, chosen=chosen) for value, label in said.items())


@lru_cache(maxsize=len(PRECISIONS))
def precision_options(chosen: str) -> Markup:
    """Return the precisions as choices of a list."""
    return _joined(_list_option(name, name.upper(), chosen=chosen) for name in PRECISIONS)


def baseline_options(served: Served, chosen: str | None) -> Markup:
    """Return the accelerators on the board as choices of a list."""

    def make() -> Markup:
        listed = {row.accelerator.id for row in served.board.rows if row.accelerator} | {chosen or ""}
        return _joined(_list_option(card, card, chosen=chosen) for card in sorted(listed) if card)

    return served.kept(("baselines", chosen), make)


def _list_option(value: str, label: str, *, chosen: str | None) -> str:
    on = " selected" if value == chosen else ""
    return f'<option value="{escape(value)}"{on}>{escape(label)}</option>'


def _joined(parts: Iterable[str]) -> Markup:
    return Markup("".join(parts))  # noqa: S704 - each part is escaped where it is made
