"""The addresses of pages about cards, providers, history, charts and method, and of their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.routing import Route

from app.domain.offers import PricingModel
from app.web import (
    about_page,
    chart_pages,
    gpu_page,
    gpu_pages,
    history_page,
    methodology_page,
    provider_page,
)
from app.web.api import JSON, REFUSALS
from app.web.history_query import DAYS, PRICED
from app.web.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PAGES: Final = [
    Route("/gpus", gpu_pages.gpus, methods=["GET"]),
    Route("/charts/scatter", chart_pages.scatter, methods=["GET"]),
    Route("/charts/bars", chart_pages.bars, methods=["GET"]),
    Route("/providers", provider_page.providers, methods=["GET"]),
    Route("/providers/{provider:path}", provider_page.provider, methods=["GET"]),
    Route("/methodology", methodology_page.methodology, methods=["GET"]),
    Route("/about-data", about_page.about_data, methods=["GET"]),
    Route("/history", history_page.history, methods=["GET"]),
]

router = APIRouter()

_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_TEXT: Final[dict[str, Any]] = {"type": "string"}
CSV: Final = "text/csv"


def _of_board(names: Collection[str]) -> list[dict[str, Any]]:
    """Return the parameters of the board with these names."""
    return [each for each in PARAMETERS if each["name"] in names]


def _twin(
    path: str,
    endpoint: Callable[[Request], Response],
    *,
    summary: str,
    media_type: str,
    parameters: list[dict[str, Any]],
) -> None:
    """Register what programs ask for, with its place in the OpenAPI document."""
    schema = _OBJECT if media_type == JSON else _TEXT

    def answer(request: Request) -> Response:
        return endpoint(request)

    answers: dict[int | str, dict[str, Any]] = {
        200: {"description": summary, "content": {media_type: {"schema": schema}}},
        **REFUSALS,
    }
    router.add_route(path, endpoint, methods=["HEAD"], include_in_schema=False)
    router.add_api_route(
        path,
        answer,
        methods=["GET"],
        response_class=Response,
        operation_id=path.strip("/").replace("/", "_").replace(".", "_"),
        summary=summary,
        responses=answers,
        openapi_extra={"parameters": parameters},
    )


_twin(
    "/gpus.json",
    gpu_pages.gpus_json,
    summary="Every accelerator with its figures, their sources, and its cheapest on-demand price, as JSON",
    media_type=JSON,
    parameters=_of_board(gpu_pages.NAMES),
)
_twin(
    "/gpus.csv",
    gpu_pages.gpus_csv,
    summary="Every accelerator with its figures and its cheapest on-demand price, as CSV",
    media_type=CSV,
    parameters=_of_board(gpu_pages.NAMES),
)


def _single(name: str, about: str, *, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": about, "schema": schema}


_DAY: Final[dict[str, Any]] = {"type": "string", "format": "date"}
_HISTORY: Final = [
    _single("gpu", "A variant, h100-sxm by default.", schema=_TEXT),
    _single("metric", "A figure that a price gives.", schema={"type": "string", "enum": list(PRICED)}),
    *_of_board(("precision", "weights_gb", "service")),
    _single(
        "pricing",
        "How the price binds; on_demand by default.",
        schema={"type": "string", "enum": list(PricingModel)},
    ),
    _single("from", f"The first day in UTC; {DAYS} days before the last by default.", schema=_DAY),
    _single("to", "The last day in UTC; without it also what is announced.", schema=_DAY),
]
for _path, _endpoint, _summary, _media_type in (
    (
        "/history.json",
        history_page.history_json,
        "A card's prices over time, a line a provider, as JSON",
        JSON,
    ),
    ("/history.csv", history_page.history_csv, "A card's prices over time, a line a provider, as CSV", CSV),
    ("/figures/history.json", history_page.history_figure, "The same as a figure for plotly", JSON),
):
    _twin(_path, _endpoint, summary=_summary, media_type=_media_type, parameters=_HISTORY)

_twin(
    "/figures/roofline.json",
    gpu_page.roofline_figure,
    summary="The roofline of one variant as a figure for plotly",
    media_type=JSON,
    parameters=[{**_HISTORY[0], "required": True}],
)

for _path, _endpoint, _summary in (
    ("/figures/scatter.json", chart_pages.scatter_figure, "Both ratios of each offer as a figure for plotly"),
    ("/figures/bars.json", chart_pages.bars_figure, "A figure by provider and card as a figure for plotly"),
):
    _twin(_path, _endpoint, summary=_summary, media_type=JSON, parameters=PARAMETERS)

_twin(
    "/providers.json",
    provider_page.providers_json,
    summary="Every provider, how fresh it is and what it lists, as JSON",
    media_type=JSON,
    parameters=[],
)
_twin(
    "/methodology.json",
    methodology_page.methodology_json,
    summary="Every metric, rule, state and finding with its meaning, as JSON",
    media_type=JSON,
    parameters=[],
)
_twin(
    "/gpus/{variant}.json",
    gpu_page.gpu_json,
    summary="One accelerator with its figures, their sources, its siblings and its names, as JSON",
    media_type=JSON,
    parameters=[
        {"name": "variant", "in": "path", "required": True, "schema": _TEXT},
        *_of_board(("precision",)),
    ],
)
# After the address that ends in .json, which it would take as well.
router.add_route("/gpus/{variant}", gpu_page.gpu, methods=["GET", "HEAD"], include_in_schema=False)
