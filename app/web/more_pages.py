"""The addresses of pages about cards, providers, history, charts and method, and of all pages' twins.

A page's twins are its address with `.json` and `.csv` behind it and take its query. Those that came first
stand in `api` (the board's are `/offers.json` and `/offers.csv`), `more_api` and `pairing_api`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.routing import Route

from app.domain.llms.own_measured import MAX_MEASURED, MEASURED_PARTS
from app.domain.offers import PricingModel
from app.web import (
    about_page,
    changes_page,
    chart_pages,
    chart_twins,
    claims_page,
    docs_page,
    evidence_twins,
    gpu_page,
    gpu_pages,
    history_page,
    llm_config_page,
    llm_page,
    llms_page,
    measured_page,
    methodology_page,
    pages,
    provider_page,
    site_files,
    status_page,
    view_exports,
)
from app.web.api import JSON, REFUSALS
from app.web.changes_query import DAYS_PER_PAGE
from app.web.history_query import DAYS, PRICED
from app.web.llm_parameters import LLM_PARAMETERS
from app.web.parameters import PARAMETERS
from app.web.tools import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PAGES: Final = [
    Route("/gpus", gpu_pages.gpus, methods=["GET"]),
    Route("/charts/scatter", chart_pages.scatter, methods=["GET"]),
    Route("/charts/bars", chart_pages.bars, methods=["GET"]),
    Route("/providers", provider_page.providers, methods=["GET"]),
    Route("/docs", docs_page.docs, methods=["GET"]),
    Route("/methodology", methodology_page.methodology, methods=["GET"]),
    Route("/about-data", about_page.about_data, methods=["GET"]),
    Route("/history", history_page.history, methods=["GET"]),
    Route("/measured", measured_page.measured, methods=["GET"]),
    Route("/llms", llms_page.llms, methods=["GET"]),
    Route("/llms/config", llm_config_page.config, methods=["GET", "POST"]),
    *registry.PAGES,
    Route("/llms.txt", site_files.llms_txt, methods=["GET"]),
    Route("/robots.txt", site_files.robots_txt, methods=["GET"]),
    Route("/sitemap.xml", site_files.sitemap_xml, methods=["GET"]),
]

router = APIRouter()

_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_FILE: Final[dict[str, Any]] = {"type": "string", "format": "binary"}
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
    schema = _OBJECT if media_type == JSON else _TEXT if media_type.startswith("text/") else _FILE

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
        operation_id="_".join(re.findall(r"\w+", path)),
        summary=summary,
        responses=answers,
        openapi_extra={"parameters": parameters},
    )


def _single(name: str, about: str, *, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": about, "schema": schema}


def _in_path(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "description": about, "schema": _TEXT}


_DAY: Final[dict[str, Any]] = {"type": "string", "format": "date"}
HISTORY_PARAMETERS: Final = [
    _single("gpu", "A variant, h100-sxm by default.", schema=_TEXT),
    _single("metric", "A figure that a price gives.", schema={"type": "string", "enum": list(PRICED)}),
    *_of_board(("precision", "weights_gb", "provider", "service")),
    _single(
        "pricing",
        "How the price binds; on_demand by default.",
        schema={"type": "string", "enum": list(PricingModel)},
    ),
    _single("from", f"The first day in UTC; {DAYS} days before the last by default.", schema=_DAY),
    _single("to", "The last day in UTC; without it also what is announced.", schema=_DAY),
    *_of_board(("spec", "quote", "own")),
]
_CHANGES: Final = [
    *_of_board(("gpu", "provider")),
    _single(
        "day",
        f"The last day in UTC, up to today; with it come up to {DAYS_PER_PAGE - 1} before.",
        schema=_DAY,
    ),
]
_VARIANT: Final = [_in_path("variant", "A variant, such as h100-sxm."), *_of_board(gpu_page.NAMES)]
_PROVIDER: Final = [_in_path("provider", "A provider's id.")]
_OWN_MEASURED: Final = {
    **_single(
        "measured",
        f"A measurement of your own of the page's model, as {MEASURED_PARTS}; it is not kept.",
        schema={"type": "array", "items": _TEXT, "maxItems": MAX_MEASURED},
    ),
    "style": "form",
    "explode": True,
}
_LLM: Final = [
    _in_path("llm", "A model's id, an organisation and a name with a slash between."),
    *LLM_PARAMETERS,
    _OWN_MEASURED,
]
_MEASURED: Final = [
    _single("llm", "A model's id, such as openai/gpt-oss-20b.", schema=_TEXT),
    _single("gpu", "A variant, or a family of them.", schema=_TEXT),
    {
        **_OWN_MEASURED,
        "description": f"A measurement of your own of the model that llm names, as {MEASURED_PARTS}; "
        "it is not kept.",
    },
]
_TOOLS: Final = [
    (
        each.path,
        registry.twin_of_tool(each, "json"),
        registry.twin_of_tool(each, "csv"),
        each.about.rstrip("."),
        [_single(field.name, field.about, schema=field.schema) for field in each.fields],
    )
    for each in registry.TOOLS
]
_TOOL_FIGURES: Final = [
    (path.removeprefix("/"), registry.figure_of_tool(tool), about, parameters)
    for tool, (path, _, _, about, parameters) in zip(registry.TOOLS, _TOOLS, strict=True)
    if tool.figure
]
_OFFER: Final = [_in_path("offer_id", "The number of an offer, as exports give it."), *PARAMETERS]

for _path, _as_json, _as_csv, _about, _parameters in (
    (
        "/gpus",
        gpu_pages.gpus_json,
        gpu_pages.gpus_csv,
        "Every accelerator with its figures, their sources, and its cheapest on-demand price",
        _of_board(gpu_pages.NAMES),
    ),
    (
        "/gpus/{variant}",
        gpu_page.gpu_json,
        gpu_page.gpu_csv,
        "One accelerator with its figures, their sources, its siblings and its names",
        _VARIANT,
    ),
    (
        "/history",
        history_page.history_json,
        history_page.history_csv,
        "A card's prices over time, a line a provider",
        HISTORY_PARAMETERS,
    ),
    (
        "/charts/scatter",
        chart_twins.scatter_json,
        chart_twins.scatter_csv,
        "Both ratios of each offer of the board's query, and which are efficient",
        PARAMETERS,
    ),
    (
        "/charts/bars",
        chart_twins.bars_json,
        chart_twins.bars_csv,
        "The lowest figure of each card at each provider, under the board's query",
        PARAMETERS,
    ),
    (
        "/providers",
        provider_page.providers_json,
        provider_page.providers_csv,
        "Every provider, how fresh it is and what it lists",
        [],
    ),
    (
        "/providers/{provider:path}",
        provider_page.provider_json,
        provider_page.provider_csv,
        "One provider with its offers; as JSON also its terms, runs and what was held",
        _PROVIDER,
    ),
    (
        "/llms",
        llms_page.llms_json,
        llms_page.llms_csv,
        "Every language model with its parameters, weights and cache",
        _of_board(llms_page.NAMES),
    ),
    (
        "/llms/{llm:path}/offers/{offer_id}",
        llm_page.offer_json,
        llm_page.offer_csv,
        "What a language model costs at best at one offer; as JSON also its arithmetic",
        [*_LLM, _OFFER[0]],
    ),
    (
        "/llms/{llm:path}",
        llm_page.llm_json,
        llm_page.llm_csv,
        "What a language model costs at best at each offer: fit, ceilings and dollars for a million tokens",
        _LLM,
    ),
    (
        "/measured",
        measured_page.measured_json,
        measured_page.measured_csv,
        "Measured speeds of language models beside their bounds, and one slow pass followed to its end",
        _MEASURED,
    ),
    (
        "/offers/{offer_id}",
        evidence_twins.evidence_json,
        evidence_twins.evidence_csv,
        "The evidence of one offer: what was printed where and when, every column, what was assumed",
        _OFFER,
    ),
    (
        "/methodology",
        methodology_page.methodology_json,
        methodology_page.methodology_csv,
        "Every metric, rule, state, finding and claim with its meaning",
        [],
    ),
    (
        "/about-data",
        about_page.about_data_json,
        about_page.about_data_csv,
        "What may be done with the data, downloads, providers' terms, sources of facts",
        [],
    ),
    ("/docs", docs_page.docs_json, docs_page.docs_csv, "Every address for programs with its parameters", []),
    ("/tools", registry.index_json, registry.index_csv, "The checks of serving setups and of claims", []),
    *_TOOLS,
):
    _twin(f"{_path}.json", _as_json, summary=f"{_about}, as JSON", media_type=JSON, parameters=_parameters)
    _twin(f"{_path}.csv", _as_csv, summary=f"{_about}, as CSV", media_type=CSV, parameters=_parameters)

for _path, _as_csv, _about, _parameters in (
    (
        "/claims.csv",
        claims_page.claims_csv,
        "Whether each condition of each claim holds and by how much, as CSV",
        _of_board(("as_of",)),
    ),
    (
        "/changes.csv",
        changes_page.changes_csv,
        "What moved, came, went and was announced, a line a change, as CSV",
        _CHANGES,
    ),
    (
        "/status.csv",
        status_page.status_csv,
        "How old each source is and how its runs ended, as CSV",
        [],
    ),
):
    _twin(_path, _as_csv, summary=_about, media_type=CSV, parameters=_parameters)

for _path, _figure, _about, _parameters in (
    ("history", history_page.history_figure, "A card's prices over time", HISTORY_PARAMETERS),
    (
        "roofline",
        gpu_page.roofline_figure,
        "The roofline of one variant",
        [{**HISTORY_PARAMETERS[0], "required": True}],
    ),
    ("scatter", chart_pages.scatter_figure, "Both ratios of each offer", PARAMETERS),
    ("bars", chart_pages.bars_figure, "A figure by provider and card", PARAMETERS),
    *_TOOL_FIGURES,
):
    _twin(
        f"/figures/{_path}.json",
        _figure,
        summary=f"{_about} as a figure for plotly",
        media_type=JSON,
        parameters=_parameters,
    )

for _name, _about in (
    ("cost", "Dollars for a million tokens of a language model by requests at once, up to the memory wall"),
    ("throughput", "Tokens a second of each GPU by those of each request, with the efficient frontier"),
    ("roofline", "The roofline with a language model's batches on it"),
):
    _twin(
        f"/figures/llms/{{llm:path}}/{_name}.json",
        llm_page.figure(_name),
        summary=f"{_about}, as a figure for plotly",
        media_type=JSON,
        parameters=_LLM,
    )

for _ending, _form in view_exports.FORMS.items():
    _twin(
        f"/view.{_ending}",
        view_exports.view_answer(_ending),
        summary=f"What the board shows, in its columns, order and units, as {_form.name}",
        media_type=_form.media_type.partition(";")[0],
        parameters=PARAMETERS,
    )

LAST_PAGES: Final = [
    Route("/gpus/{variant}", gpu_page.gpu, methods=["GET"]),
    Route("/providers/{provider:path}", provider_page.provider, methods=["GET"]),
    Route("/llms/{llm:path}/offers/{offer_id}", llm_page.offer, methods=["GET"]),
    Route("/llms/{llm:path}", llm_page.llm, methods=["GET"]),
    Route("/offers/{offer_id}", pages.evidence, methods=["GET"]),
]
"""To be found after the addresses that end in .json and .csv, which these would take as well."""
