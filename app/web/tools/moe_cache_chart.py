"""The figure of the tool on expert caches in plotly's form: what each budget holds, with marks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.serving.figures import counted_as
from app.web.charts import DASHES, FEW_MARKS, INK, OWN_SYMBOL, layout, styles

if TYPE_CHECKING:
    from app.domain.serving.expert_curve import BudgetCurve, GroupCurve
    from app.web.charts import Figure, Styled


def cache_figure(curve: BudgetCurve, *, planned_mib: int) -> Figure:
    """Return the share of the experts of each group that a cache holds, by its budget, with the marks."""
    last = max([planned_mib, *(group.points[-1].budget_mib for group in curve.groups)])
    looks = styles(len(curve.groups))
    traces = [
        _cache_line(
            group, f"group {number}", style=(colour, symbol, DASHES[(number - 1) % len(DASHES)]), last=last
        )
        for number, (group, (colour, symbol, _)) in enumerate(zip(curve.groups, looks, strict=True), start=1)
    ]
    marks = (
        ("every group is cached", curve.floor_mib, "dot", "triangle-up-open"),
        ("one token's experts fit", curve.whole_token_mib, "dashdot", "diamond-open"),
        ("planned", planned_mib, "dash", OWN_SYMBOL),
    )
    traces += [_mark_line(*mark) for mark in marks if mark[1] <= last]
    x = {"title": {"text": "budget, MiB"}, "rangemode": "tozero", "tickformat": ","}
    y = {"title": {"text": "experts held, %"}, "range": [0, 105]}
    return {"data": traces, "layout": layout(x, y, showlegend=True)}


def _cache_line(group: GroupCurve, name: str, *, style: Styled, last: int) -> Figure:
    """Return one group's line: two points at each step, level from where all experts are held."""
    colour, symbol, dash = style
    points = [*group.points]
    if points[-1].budget_mib < last:
        points.append(replace(points[-1], budget_mib=last))
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [point.budget_mib for point in points],
        "y": [float(point.slots_percent) for point in points],
        "text": [
            f"{point.slots_told} % held<br>{counted_as(point.slots, 'slot')}, "
            f"steps of up to {counted_as(point.largest_batch_tokens, 'token')}"
            for point in points
        ],
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"color": colour, "symbol": symbol, "size": 7, "maxdisplayed": FEW_MARKS},
        "hovertemplate": f"%{{x:,}} MiB: %{{text}}<extra>{name}</extra>",
    }


def _mark_line(words: str, budget_mib: int, dash: str, symbol: str) -> Figure:
    """Return the upright line of a budget at which something changes."""
    said = f"{words}: {budget_mib:,} MiB"
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": said,
        "x": [budget_mib, budget_mib],
        "y": [0, 100],
        "line": {"color": INK, "dash": dash, "width": 1.5},
        "marker": {"color": INK, "symbol": symbol, "size": [0, 10]},
        "hovertemplate": f"{said}<extra></extra>",
    }
