"""The page of measured speeds beside their bounds, with one case worked to its end, and its twins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import RedirectResponse

from app.domain.accelerators import load_catalogue
from app.domain.llms.measurements import load_measurements
from app.domain.llms.own_measured import MEASURED_PARTS, canonical_measured
from app.domain.llms.worked_case import load_case
from app.web.answers import respond_made, respond_privately
from app.web.kept import base_of, csv_of_objects, json_of, page_of
from app.web.measured_query import MeasuredQuery, parse_measured_query
from app.web.measured_view import all_lines, chapters, groups, lines_of, plain_figure, plain_line
from app.web.state import query_text, read_pairs

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from app.domain.llms.worked_case import Figure, WorkedCase
    from app.web.answers import Answer
    from app.web.measured_view import Group

CSV_COLUMNS: Final = (
    *("section", "id", "kind", "benchmark", "llm", "llm_as_written", "accelerator", "gpu_count", "engine"),
    *("engine_version", "weights", "weights_as_written", "kv", "weights_gb", "batch", "context_in_tokens"),
    *("context_out_tokens", "metric", "label", "value", "unit", "per_gpu_tokens_per_s"),
    *("one_stream_per_gpu_tokens_per_s", "times_one_stream_ceiling", "batch_bound_per_gpu_tokens_per_s"),
    *("batch_bound_by", "share_of_batch_bound_percent", "any_batch_per_gpu_tokens_per_s"),
    *("share_of_any_batch_percent", "arithmetic", "source", "source_url", "licence", "as_of", "note"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPage:
    """What the template shows. `llms` and `gpus` are the choices there are, as ids with names.

    `own` are the reader's own measurements as the link carries them, `own_parts` says of what each is made.
    """

    query: MeasuredQuery
    canonical: str
    json_href: str
    csv_href: str
    groups: tuple[Group, ...]
    shown: int
    own: tuple[str, ...]
    own_parts: str
    total: int
    llms: tuple[tuple[str, str], ...]
    gpus: tuple[tuple[str, str], ...]
    case: WorkedCase
    chapters: dict[str, tuple[Figure, ...]]


def measured(request: Request) -> Response:
    """Answer the page. A form's empty field is redirected away."""
    text, query = query_text(request), _query(request)
    if any(not value for _, value in read_pairs(text)):
        return RedirectResponse(query.link("/measured"), 303)
    page = page_of("measured.html", page=measured_page(query), base=base_of(request))
    return _respond(request, page, query=query)


def measured_json(request: Request) -> Response:
    """Answer the same as one document."""
    query = _query(request)
    document = {
        "measurements": [plain_line(each) for each in lines_of(query)],
        "worked_case": {key: [plain_figure(each) for each in part] for key, part in chapters().items()},
    }
    return _respond(request, json_of(document), query=query)


def measured_csv(request: Request) -> Response:
    """Answer the same as CSV: a line for each measurement, then one for each figure of the worked case."""
    query = _query(request)
    lines: list[dict[str, Any]] = [
        *({"section": "measurement", **plain_line(each)} for each in lines_of(query)),
        *(
            {"section": f"worked case, {key}", **plain_figure(each)}
            for key, part in chapters().items()
            for each in part
        ),
    ]
    return _respond(request, csv_of_objects("measured", lines, columns=CSV_COLUMNS), query=query)


def _query(request: Request) -> MeasuredQuery:
    today = request.app.state.shared.clock().date()
    return parse_measured_query(query_text(request), today=today)


def measured_page(query: MeasuredQuery) -> MeasuredPage:
    """Work out what the page shows."""
    found = groups(query)
    return MeasuredPage(
        query=query,
        canonical=replace(query, measured=()).link("/measured"),
        json_href=query.link("/measured.json"),
        csv_href=query.link("/measured.csv"),
        groups=found,
        shown=sum(len(group.lines) for group in found if group.kind != "own"),
        own=tuple(map(canonical_measured, query.measured)),
        own_parts=MEASURED_PARTS,
        total=len(load_measurements()),
        llms=_with(query.llm, _measured_llms()),
        gpus=_with(query.gpu, _measured_gpus()),
        case=load_case(),
        chapters=chapters(),
    )


@cache
def _measured_llms() -> tuple[tuple[str, str], ...]:
    named = {line.beside.measurement.llm: line.model for line in all_lines() if line.beside.measurement.llm}
    return tuple(sorted(named.items(), key=lambda pair: pair[1].casefold()))


@cache
def _measured_gpus() -> tuple[tuple[str, str], ...]:
    """Return the measured cards in the order of the catalogue."""
    ids = {each.accelerator for each in load_measurements()}
    return tuple((card.id, card.name) for card in load_catalogue().accelerators if card.id in ids)


def _with(chosen: str, choices: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the choices, with what is chosen where it is none of them."""
    return choices if not chosen or chosen in dict(choices) else ((chosen, chosen), *choices)


def _respond(request: Request, answer: Answer, *, query: MeasuredQuery) -> Response:
    if query.measured:
        return respond_privately(request, answer)
    return respond_made(request, answer)
