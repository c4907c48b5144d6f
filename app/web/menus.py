"""The filters' choices as HTML: made once for a board with holes, then filled with ticks and counts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup, escape

from app.domain.accelerators import PRECISIONS
from app.domain.columns import COLUMNS, DEFAULT_COLUMNS
from app.domain.offers import PricingModel, ServiceKind
from app.web import words

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

    from app.domain.accelerators import Catalogue
    from app.domain.board import Selection
    from app.web.boards import Served


class Menu(NamedTuple):
    """One filter's drop-down: its name, how many choices are on, and the choices as HTML."""

    name: str
    label: str
    chosen: int
    options: Markup


class Choices(NamedTuple):
    """The choices of a menu: `html` has two holes for each value, in order: for its tick and its count."""

    values: tuple[str, ...]
    places: Mapping[str, int]
    html: str


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


def menus(served: Served, selection: Selection) -> list[Menu]:
    """Return every menu with the query's choices on and the number of rows behind each choice."""
    return [_menu(served, selection, name=name) for name in _LABELS]


def _menu(served: Served, selection: Selection, *, name: str) -> Menu:
    chosen: tuple[str, ...] = getattr(selection.query, name)
    counts = _counts(name, selection)
    # What is chosen shows even where the board has none of it.
    foreign = tuple(value for value in chosen if value not in counts)
    counts |= dict.fromkeys(foreign, 0)
    choices = served.kept(
        ("menu", name, foreign), lambda: _choices(name, {*map(str, counts), *foreign}, served)
    )
    return Menu(name, _LABELS[name][0], len(chosen), _filled(choices, chosen, counts=counts))


def _counts(name: str, selection: Selection) -> dict[Hashable, int]:
    if name == "gpu":
        return {**selection.facets["variant"], **selection.facets["family"]}
    return dict(selection.facets[name])


def _filled(choices: Choices, chosen: Iterable[str], *, counts: Mapping[Hashable, int]) -> Markup:
    holes: list[str | int] = [""] * (2 * len(choices.values))
    # The family of a chosen card shows above it also where the board has none of that family.
    holes[1::2] = [counts.get(value, 0) for value in choices.values]
    for value in chosen:
        holes[2 * choices.places[value]] = _TICK
    return Markup(choices.html % tuple(holes))  # noqa: S704 - made by `option`; the holes hold no text of others


def _choices(name: str, values: Collection[str], served: Served) -> Choices:
    if name == "gpu":
        listed = list(_gpus(served.board.catalogue, values))
    else:
        said = _LABELS[name][1]
        say = words.provider_name if name == "provider" else lambda value: said.get(value, value)
        listed = sorted(((value, say(value), False) for value in values), key=lambda one: one[1].casefold())
    html = "".join(option(name, value, label=label, inner=inner) for value, label, inner in listed)
    known = tuple(value for value, _, _ in listed)
    return Choices(known, {value: place for place, value in enumerate(known)}, html)


def _gpus(catalogue: Catalogue, values: Collection[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield families, each with its variants below it, as value, label and whether it stands below."""
    cards = [card for card in catalogue.accelerators if card.id in values]
    families = {card.family for card in cards} | {value for value in values if catalogue.get(value) is None}
    for family in sorted(families):
        yield family, family.upper(), False
        for card in cards:
            if card.family == family and card.id != family:
                yield card.id, card.name, True


def option(name: str, value: str, *, label: str, inner: bool = False) -> str:
    """Return one choice of a filter as HTML with two holes: for its tick and for its count."""
    kind = ' class="inner"' if inner else ""
    value, label = (str(escape(text)).replace("%", "%%") for text in (value, label))
    return (
        f'<label{kind}><input type="checkbox" name="{name}" value="{value}"%s>{label}'
        '<span class="count">%d</span></label>\n'
    )


@lru_cache(maxsize=64)
def column_options(chosen: tuple[str, ...]) -> Markup:
    """Return the chosen columns in their order, then the others."""
    others = [key for key in COLUMNS if key not in chosen]
    rest = [key for key in others if key in DEFAULT_COLUMNS] + [k for k in others if k not in DEFAULT_COLUMNS]
    return _joined(
        f'<label><input type="checkbox" name="columns" value="{key}"{_TICK if key in chosen else ""}>'
        f"{escape(COLUMNS[key].label)}</label>\n"
        for key in (*chosen, *rest)
    )


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
