"""Figures of the charts as plain dictionaries in plotly's form; the browser adds its scheme's colours."""

from __future__ import annotations

from decimal import Decimal
from itertools import cycle
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from app.domain.accelerators import other_figures
from app.domain.offers import OWN_PREFIX
from app.domain.roofline import attainable_tflops, ridge_point
from app.web import words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from app.domain.accelerators import Accelerator
    from app.domain.history import Line, Stretch
    from app.web.history_query import History

INK: Final = "#000000"
"""Black, in place of which the browser takes the colour of its text: nearly white on dark."""

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7E6543", "#8E79FB", INK)
"""Four of Okabe and Ito (2008), Color Universal Design, and two that are not as pale as its others.

Each has a contrast of 3 with the ground of either scheme, and the colour-blind tell any two apart.
"""

OWN_SYMBOL: Final = "hexagram"
"""The star that marks the reader's own figures, in ink; no series has it."""

SYMBOLS: Final = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star", "triangle-down")
PATTERNS: Final = ("", "/", "\\", ".", "x", "-", "|")
"""What fills a bar: another pattern for each colour."""
NOTHING: Final = "rgba(0,0,0,0)"
"""What a hollow bar is filled with: the ground shows, light or dark."""
DASHES: Final = ("solid", "dash", "longdash", "dashdot")
WHAT: Final = {"price": "", "min": "lowest", "median": "median", "max": "highest"}

MOST_MARKED: Final = 1000
"""Points of a history of which each has its symbol."""
FEW_MARKS: Final = 8

Figure = dict[str, Any]
Styled = tuple[str, str, str]


def styles(number: int) -> list[Styled]:
    """Return a colour, a symbol and a dash for each of so many series; no two of the first 56 are alike."""
    colours, symbols = cycle(COLOURS), cycle(SYMBOLS)
    return [
        (next(colours), next(symbols), DASHES[each // len(COLOURS) % len(DASHES)]) for each in range(number)
    ]


def layout(x: Mapping[str, Any], y: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a layout with these axes; a legend lies below, so that nothing jumps when it is long."""
    return {
        "xaxis": {"automargin": True, **x},
        "yaxis": {"automargin": True, **y},
        "hovermode": "closest",
        "margin": {"l": 56, "r": 16, "t": 16, "b": 48},
        "legend": {
            "orientation": "h",
            "yref": "container",
            "y": 0.01,
            "yanchor": "bottom",
            "x": 0,
            "maxheight": 0.35,
        },
        **more,
    }


def log_axis(title: str) -> dict[str, Any]:
    """Return a logarithmic axis whose marks are written in full: a bare 2 could be 0.2 or 20."""
    marks = [digit * 10.0**power for power in range(-4, 6) for digit in (1, 2, 3, 5, 7)]
    return {
        "type": "log",
        "title": {"text": title},
        "tickvals": marks,
        "ticktext": [f"{mark:,.4f}".rstrip("0").rstrip(".") for mark in marks],
    }


def provider_label(provider: str) -> str:
    """Return how a chart calls a provider: a reader's own figure is told from a provider of its name."""
    name = words.provider_name(provider)
    return f"yours: {name}" if provider.startswith(OWN_PREFIX) else name


def series_name(line: Line) -> str:
    """Return how a line of the history is called."""
    what = WHAT[line.what]
    name = words.provider_name(line.provider)
    return f"{name}, {what}" if what else name


def history_figure(history: History, *, unit: str) -> Figure:
    """Return the step lines of a history: whole where read, dotted where announced, nothing in a gap.

    The reader's own figures are level lines of ink between two stars.
    """
    traces: list[dict[str, Any]] = []
    many = sum(len(line.stretches) for line in history.lines) > MOST_MARKED
    for line, (colour, symbol, dash) in zip(history.lines, styles(len(history.lines)), strict=True):
        name = series_name(line)
        known = [each for each in line.stretches if not each.announced]
        style = {
            "mode": "lines+markers",
            "hovertemplate": f"%{{x|%Y-%m-%d}}: %{{y:.3f}} {unit}<extra>{_plain(name)}</extra>",
        }
        line_style = {"color": colour, "shape": "hv", "width": 2}
        # Of a long history only a few points a line are marked: drawing each takes the browser seconds.
        shown = {"maxdisplayed": FEW_MARKS} if many else {}
        marker = {"color": colour, "symbol": symbol, "size": 6, **shown}
        common = {
            "type": "scatter",
            "name": _plain(name),
            "legendgroup": f"{line.provider} {line.what}",
            "marker": marker,
            **style,
        }
        x, y = _points(known, history.figures)
        traces.append({**common, "x": x, "y": y, "line": {**line_style, "dash": dash}, "connectgaps": False})
        x, y = _announced(line.stretches, history.figures, now=history.now)
        if x:
            open_marker = {**marker, "symbol": f"{symbol}-open"}
            traces.append(
                {
                    **common,
                    "x": x,
                    "y": y,
                    "line": {**line_style, "dash": "dot"},
                    "marker": open_marker,
                    "showlegend": not known,
                    "connectgaps": False,
                }
            )
    traces += [_own_line(each.line, history.figures, unit=unit) for each in history.own]
    return {
        "data": traces,
        "layout": layout({"type": "date"}, {"title": {"text": unit}, "rangemode": "tozero"}, showlegend=True),
    }


def _own_line(line: Line, figures: Mapping[int, Decimal | None], *, unit: str) -> Figure:
    """Return the level line of one of the reader's own figures."""
    x, y = _points(line.stretches, figures)
    name = _plain(provider_label(line.provider))
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": INK, "dash": "solid", "width": 2},
        "marker": {"color": INK, "symbol": OWN_SYMBOL, "size": 14},
        "hovertemplate": f"%{{y:.3f}} {unit}<extra>{name}</extra>",
        "connectgaps": False,
    }


def _plain(text: str) -> str:
    """Return a text without what plotly would read as markup or as a template."""
    return text.replace("<", "\u2039").replace(">", "\u203a").replace("%{", "% {")


def _points(
    stretches: Iterable[Stretch], figures: Mapping[int, Decimal | None]
) -> tuple[list[str | None], list[float | None]]:
    """Return where a step line turns; None stands between two parts with a gap between them."""
    x: list[str | None] = []
    y: list[float | None] = []
    ended: datetime | None = None
    last: float | None = None
    for each in stretches:
        value = figures[each.usd_micros]
        number = None if value is None else float(value)
        if ended is not None and ended != each.starts:
            x += [_moment(ended), None]
            y += [last, None]
        x.append(_moment(each.starts))
        y.append(number)
        ended, last = each.ends, number
    if ended is not None:
        x.append(_moment(ended))
        y.append(last)
    return x, y


def _announced(
    stretches: Sequence[Stretch], figures: Mapping[int, Decimal | None], *, now: datetime
) -> tuple[list[str | None], list[float | None]]:
    """Return the dotted parts: what is announced, with the price that stands until then before it."""
    found: list[Stretch] = []
    for before, each in zip([None, *stretches], stretches, strict=False):
        if not each.announced:
            continue
        if before and not before.announced and before.ends >= now:
            found.append(_until(before, each.starts))
        found.append(each)
    return _points(found, figures)


def _until(before: Stretch, starts: datetime) -> Stretch:
    """Return the wait from the end of what is known to the date of an announced price."""
    return before._replace(starts=before.ends, ends=starts, announced=True)


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def roofline_figure(card: Accelerator) -> Figure:
    """Return the roofline of a card with its ridge points: one line for the precisions of one rate.

    Dotted is the same with the other published bandwidth, where there is one.
    """
    by_ridge: dict[Decimal, list[str]] = {}
    for name in card.dense_tflops:
        ridge = ridge_point(card, name)
        if ridge is not None:
            by_ridge.setdefault(ridge, []).append(name)
    far = max(by_ridge, default=Decimal(1)) * 8
    looks = styles(len(by_ridge))
    traces = [
        _roof(card, names, ridge=ridge, far=far, style=style)
        for (ridge, names), style in zip(by_ridge.items(), looks, strict=True)
    ]
    other = other_figures(card)
    if other is not None:
        for names, (colour, symbol, _) in zip(by_ridge.values(), looks, strict=True):
            ridge = ridge_point(other, names[0]) or far
            traces.append(_roof(other, names, ridge=ridge, far=far, style=(colour, f"{symbol}-open", "dot")))
            traces[-1]["name"] += f" with {other.bandwidth_tb_s} TB/s"
    axes = (log_axis("operations per byte"), log_axis("dense TFLOPS, at most"))
    return {"data": traces, "layout": layout(*axes, showlegend=True)}


def _roof(card: Accelerator, names: Sequence[str], *, ridge: Decimal, far: Decimal, style: Styled) -> Figure:
    """Return one roof: up with the bandwidth to the ridge point, then level."""
    colour, symbol, dash = style
    at = (Decimal(1), ridge, far)
    rates = [attainable_tflops(card, names[0], ops_per_byte=each) for each in at]
    said = ", ".join(name.upper() for name in names)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": said,
        "x": [float(each) for each in at],
        "y": [None if rate is None else float(rate) for rate in rates],
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"color": colour, "symbol": symbol, "size": [0, 10, 0]},
        "hovertemplate": f"%{{x:.0f}} op/byte: %{{y:.1f}} TFLOPS at most<extra>{said}</extra>",
    }


Point = tuple[float, float, str]
"""A point's two numbers and what it is, in words."""


def scatter_figure(
    groups: Mapping[str, Sequence[Point]],
    frontier: Sequence[Point],
    *,
    own: Mapping[str, Sequence[Point]],
    x_unit: str,
    y_unit: str,
) -> Figure:
    """Return the points of each card, the reader's `own` by name, and the efficient frontier.

    Nothing is cheaper in both at once than what is on the frontier.
    """
    hover = f"%{{text}}<br>%{{x:.3f}} {x_unit}<br>%{{y:.2f}} {y_unit}<extra></extra>"
    traces: list[dict[str, Any]] = []
    for (name, points), (colour, symbol, _) in zip(groups.items(), styles(len(groups)), strict=True):
        marker = {"color": colour, "symbol": symbol, "size": 9}
        traces.append(_points_trace(name, points, marker=marker, hover=hover))
    for name, points in own.items():
        marker = {"color": INK, "symbol": OWN_SYMBOL, "size": 14}
        traces.append(_points_trace(name, points, marker=marker, hover=hover))
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "efficient frontier",
            "x": [point[0] for point in frontier],
            "y": [point[1] for point in frontier],
            "line": {"color": INK, "dash": "dash", "width": 1.5, "shape": "hv"},
            "marker": {"color": INK, "symbol": "circle-open", "size": 15},
            "hoverinfo": "skip",
        }
    )
    axes = (log_axis(x_unit), log_axis(y_unit))
    return {"data": traces, "layout": layout(*axes, showlegend=True)}


def _points_trace(
    name: str, points: Sequence[Point], *, marker: dict[str, Any], hover: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": _plain(name),
        "x": [point[0] for point in points],
        "y": [point[1] for point in points],
        "text": [_plain(point[2]) for point in points],
        "marker": marker,
        "hovertemplate": hover,
    }


def bars_figure(
    cards: Mapping[str, Mapping[str, float]],
    providers: Sequence[str],
    *,
    unit: str,
    own: Collection[str] = (),
    floors: Collection[tuple[str, str]] = (),
    terms: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> Figure:
    """Return bars of a figure by provider, one bar for each card that the provider lists.

    Those of `own`, the reader's among the providers, have an edge of ink. `floors` are the pairs of a card
    and a provider whose price is written as "from": their bars are hollow, saying at least how much. `terms`
    are those of each pair's price in words, which a bar says where a pointer is on it.
    """
    traces: list[Figure] = []
    looks = zip(styles(len(cards)), _patterns(len(cards)), strict=True)
    for (name, values), ((colour, _, _), pattern) in zip(cards.items(), looks, strict=True):
        listed = [each for each in providers if each in values]
        firm = [each for each in listed if (name, each) not in floors]
        least = [each for each in listed if (name, each) in floors]
        if firm or not least:
            marker = _bar_marker(colour, pattern, [each in own for each in firm])
            trace = _bars(name, firm, values, said=f"%{{x:.3f}} {unit}", marker=marker)
            traces.append(_with_terms(trace, [terms.get((name, each), "") for each in firm]))
        if least:
            said = f"at least %{{x:.3f}} {unit}"
            marker = _hollow(colour, pattern)
            trace = _bars(name, least, values, said=said, marker=marker)
            trace = _with_terms(trace, [terms.get((name, each), "") for each in least])
            traces.append({**trace, "name": f"{trace['name']}, at least"})
    order = {
        "dtick": 1,
        "categoryorder": "array",
        "categoryarray": [_plain(each) for each in reversed(providers)],
    }
    return {
        "data": traces,
        "layout": layout(
            {"title": {"text": unit}, "rangemode": "tozero"}, order, showlegend=True, barmode="group"
        ),
    }


def _bars(
    name: str, providers: Sequence[str], values: Mapping[str, float], *, said: str, marker: Figure
) -> Figure:
    """Return bars of one card; all of it have one place in each provider's group."""
    return {
        "type": "bar",
        "orientation": "h",
        "name": _plain(name),
        "offsetgroup": _plain(name),
        "y": [_plain(each) for each in providers],
        "x": [values[each] for each in providers],
        "marker": marker,
        "hovertemplate": f"%{{y}}: {said}<extra>{_plain(name)}</extra>",
    }


def _with_terms(trace: Figure, terms: Sequence[str]) -> Figure:
    """Return bars that say their terms, too; nothing is written on the bars themselves."""
    if not any(terms):
        return trace
    hover = trace["hovertemplate"].replace("<extra>", "<br>%{customdata}<extra>")
    return {**trace, "customdata": [_plain(each) for each in terms], "hovertemplate": hover}


def _patterns(number: int) -> list[str]:
    """Return a pattern for each of so many bars: another one each time that the colours begin anew."""
    count = len(PATTERNS)
    return [PATTERNS[(each + each // count) % count] for each in range(number)]


def _bar_marker(colour: str, pattern: str, are_own: Sequence[bool]) -> dict[str, Any]:
    """Return how the bars of a card look, those of the reader's own with an edge."""
    fill = {"shape": pattern, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.6)"}
    marker: dict[str, Any] = {"color": colour, "pattern": fill}
    if any(are_own):
        marker["line"] = {"color": INK, "width": [2 if is_own else 0 for is_own in are_own]}
    return marker


def _hollow(colour: str, pattern: str) -> Figure:
    """Return how a card's bars look whose price is only a floor: its pattern in an edge, on the ground."""
    fill = {"shape": pattern, "fillmode": "overlay", "fgcolor": colour, "fgopacity": 1}
    return {"color": NOTHING, "pattern": fill, "line": {"color": colour, "width": 2}}
