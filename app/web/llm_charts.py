"""Figures of a model's curves in plotly's form: cost by batch, throughput by interactivity, the roofline."""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from app.domain.llms.costs import peaks_at
from app.domain.llms.curves import curves, efficient
from app.domain.llms.unknown import Unknown
from app.domain.roofline import attainable_tflops
from app.web import llm_words, words
from app.web.charts import INK, Figure, layout, log_axis, provider_label, styles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from app.domain.llms.costs import Serving
    from app.domain.llms.curves import Curve, Point
    from app.web.charts import Styled
    from app.web.llm_found import Found

_CARDS_OF_ROOFLINE: Final = 3


def curves_of(found: Found) -> tuple[Curve, ...]:
    """Return the curves that the charts of a page show."""
    return curves(found.serving, found.costs)


def name_of(curve: Curve) -> str:
    """Return how a chart calls a curve."""
    provider = provider_label(curve.cost.row.offer.provider)
    return f"{curve.gpus} \N{MULTIPLICATION SIGN} {curve.card.name}, {provider}"


def cost_figure(found: Found) -> Figure:
    """Return dollars a million tokens by requests at once; a line ends at the last that memory holds."""
    shown = curves_of(found)
    top = max((point.usd_per_mtok for curve in shown for point in curve.points), default=Decimal(1))
    traces: list[Figure] = []
    for curve, style in zip(shown, styles(len(shown)), strict=True):
        traces.append(
            {
                **_line(curve, style),
                "x": [point.batch for point in curve.points],
                "y": [float(point.usd_per_mtok) for point in curve.points],
                "text": [_said(point) for point in curve.points],
                "hovertemplate": "%{x} requests: $%{y:.4f}/M at least<br>%{text}<extra></extra>",
            }
        )
        if curve.is_walled:
            traces.append(_wall(curve, style[0], top=top))
    if found.serving.api_usd_per_mtok is not None and shown:
        traces.append(_api(shown, found.serving.api_usd_per_mtok))
    return _figure(traces, "requests at once", "$/M output, at least")


def _wall(curve: Curve, colour: str, *, top: Decimal) -> Figure:
    """Return the upright line at which memory is full."""
    last = curve.points[-1]
    said = f"memory is full: at most {last.batch:,} requests on {llm_words.gpus(curve.gpus)}"
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"memory wall, {curve.card.name}",
        "showlegend": False,
        "x": [last.batch, last.batch],
        "y": [float(last.usd_per_mtok), float(top)],
        "line": {"color": colour, "dash": "dot", "width": 2},
        "hovertemplate": f"{said}<extra>{curve.card.name}</extra>",
    }


def _api(shown: Sequence[Curve], usd: Decimal) -> Figure:
    last = max(point.batch for curve in shown for point in curve.points)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"API, ${words.money(usd)}/M",
        "x": [1, last],
        "y": [float(usd), float(usd)],
        "line": {"color": INK, "dash": "dash", "width": 1.5},
        "hovertemplate": f"an API asks ${words.money(usd)}/M<extra></extra>",
    }


def throughput_figure(found: Found) -> Figure:
    """Return tokens a second of each GPU by those of each request, with the efficient frontier."""
    shown = curves_of(found)
    traces: list[Figure] = []
    for curve, style in zip(shown, styles(len(shown)), strict=True):
        traces.append(
            {
                **_line(curve, style),
                "x": [float(point.decode.tokens_per_s_per_stream) for point in curve.points],
                "y": [float(point.tokens_per_s_per_gpu) for point in curve.points],
                "text": [f"{point.batch} requests; {_said(point)}" for point in curve.points],
                "hovertemplate": "%{x:.1f} tok/s a request, %{y:.1f} a GPU<br>%{text}<extra></extra>",
            }
        )
    best = efficient(shown)
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "efficient frontier",
            "x": [float(point.decode.tokens_per_s_per_stream) for _, point in best],
            "y": [float(point.tokens_per_s_per_gpu) for _, point in best],
            "line": {"color": INK, "dash": "dash", "width": 1.5},
            "marker": {"color": INK, "symbol": "circle-open", "size": 13},
            "hoverinfo": "skip",
        }
    )
    return _figure(traces, "tok/s of each request, at most", "tok/s of each GPU, at most")


def roofline_figure(found: Found) -> Figure:
    """Return the roofs of the first cards at the weights' precision, and where each batch stands."""
    shown = curves_of(found)[:_CARDS_OF_ROOFLINE]
    traces: list[Figure] = []
    for curve, style in zip(shown, styles(len(shown)), strict=True):
        asked = [point for point in curve.points if point.batch in found.query.batch]
        traces += [_roof(curve, style, serving=found.serving), _points(curve, style, asked)]
    return _figure(traces, "operations per byte", "TFLOPS of each GPU, at most")


def _roof(curve: Curve, style: Styled, *, serving: Serving) -> Figure:
    """Return one roof: up with the bandwidth to the ridge point, then level."""
    rate = peaks_at(serving, curve.card).rate
    assert not isinstance(rate, Unknown)  # noqa: S101 - a curve has bounds, and so a rate
    ridge = rate.dense_tflops / curve.card.bandwidth_tb_s
    at = (Decimal(1), ridge, ridge * 8)
    roof = [attainable_tflops(curve.card, rate.precision, ops_per_byte=each) for each in at]
    said = f"{curve.card.name}, {rate.precision.upper()}"
    return {
        "type": "scatter",
        "mode": "lines",
        "name": said,
        "x": [float(each) for each in at],
        "y": [None if each is None else float(each) for each in roof],
        "line": {"color": style[0], "dash": style[2], "width": 2},
        "hovertemplate": f"%{{x:.0f}} op/byte: %{{y:.1f}} TFLOPS at most<extra>{said}</extra>",
    }


def _points(curve: Curve, style: Styled, asked: Sequence[Point]) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": f"batches on the {curve.card.name}",
        "showlegend": False,
        "x": [float(point.decode.ops_per_byte) for point in asked],
        "y": [float(point.tflops_per_gpu) for point in asked],
        "text": [str(point.batch) for point in asked],
        "textposition": "top center",
        "marker": {"color": style[0], "symbol": style[1], "size": 11},
        "hovertemplate": f"%{{text}} requests: %{{x:.1f}} op/byte<extra>{curve.card.name}</extra>",
    }


def _line(curve: Curve, style: Styled) -> Figure:
    colour, symbol, dash = style
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name_of(curve),
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"color": colour, "symbol": symbol, "size": 7},
    }


def _said(point: Point) -> str:
    total = llm_words.rate(point.decode.tokens_per_s)
    return f"{total} tok/s in all, {point.decode.bound_by}-bound, $/M {llm_words.usd(point.usd_per_mtok)}"


def _figure(traces: list[Figure], x: str, y: str) -> Figure:
    return {"data": traces, "layout": layout(log_axis(x), log_axis(y), showlegend=True)}


FIGURES: Final[Mapping[str, Callable[[Found], Figure]]] = MappingProxyType(
    {"cost": cost_figure, "throughput": throughput_figure, "roofline": roofline_figure}
)
"""The figures of a model's page by the name in their address."""
