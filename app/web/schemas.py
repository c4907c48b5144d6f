"""JSON Schema (2020-12) of every row that programs get, made from what the columns say of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from app.domain.columns import EXPORT_ENDS, EXPORT_FACTS
from app.domain.fields import STANDS, Field, Kind, field_of, row_fields
from app.domain.metrics import METRICS
from app.web import llm_row_parts, row_parts
from app.web.answers import Answer, respond_made
from app.web.api import JSON, REFUSALS
from app.web.exports import json_bytes
from app.web.kept import take_nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.web.row_parts import Part

router = APIRouter()

SCHEMA: Final = "application/schema+json"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_TYPES: Final[dict[Kind, dict[str, Any]]] = {
    "text": {"type": "string", "minLength": 1},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "exact": {"type": "number"},
    "flag": {"type": "boolean"},
    "day": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "date-time"},
    "texts": {"type": "array", "items": {"type": "string", "minLength": 1}},
    "reasons": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
    "range": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSchema:
    """The schema of one kind of row: where such rows stand, and what they are made of.

    `chosen` are the fields that only stand in some rows: when the query asks for them, or where no head of a
    document says what the figures stand for. With `has_more` a row may hold other numbers, too.
    """

    name: str
    title: str
    at: tuple[str, ...]
    fields: Sequence[Field | Part]
    chosen: Sequence[Field] = ()
    has_more: bool = False


_OFFERS: Final = row_fields((*EXPORT_FACTS, *EXPORT_ENDS))
SCHEMAS: Final = {
    each.name: each
    for each in (
        RowSchema(
            name="offers",
            title="An offer with its figures",
            at=("/offers.json, rows", "/offers.ndjson, each line"),
            fields=_OFFERS,
            chosen=(*(field_of(key) for key in METRICS if key not in EXPORT_FACTS), *STANDS),
            has_more=True,
        ),
        RowSchema(
            name="compare",
            title="Cards at one provider under the same terms",
            at=("/compare.json, lines",),
            fields=row_parts.COMPARE,
        ),
        RowSchema(
            name="history",
            title="What a card cost at one provider over time",
            at=("/history.json, lines",),
            fields=row_parts.HISTORY,
        ),
        RowSchema(
            name="gpus",
            title="An accelerator with its figures",
            at=("/gpus.json, gpus",),
            fields=row_parts.GPUS,
        ),
        RowSchema(
            name="providers",
            title="A provider, and what is known of it",
            at=("/providers.json, providers",),
            fields=row_parts.PROVIDERS,
        ),
        RowSchema(
            name="changes",
            title="One thing that happened to an offer",
            at=("/changes.json, changes of each of days",),
            fields=row_parts.CHANGES,
        ),
        RowSchema(
            name="claims",
            title="A claim, and whether it holds",
            at=("/claims.json, claims",),
            fields=row_parts.CLAIMS,
        ),
        RowSchema(
            name="llms",
            title="A language model, and what decides its memory and speed",
            at=("/llms.json, models",),
            fields=llm_row_parts.LLMS,
        ),
        RowSchema(
            name="llm-costs",
            title="What a language model comes to at best at an offer",
            at=("/llms/{llm}.json, offers", "/llms/{llm}/offers/{number}.json, offers"),
            fields=llm_row_parts.LLM_COSTS,
        ),
        RowSchema(
            name="measured",
            title="A measured speed of a language model beside its bounds",
            at=("/measured.json, measurements", "/llms/{llm}.json, measured"),
            fields=llm_row_parts.MEASURED,
        ),
    )
}


def document_of(schema: RowSchema) -> dict[str, Any]:
    """Return the JSON Schema of a row."""
    made = _object((*schema.fields, *schema.chosen), required=schema.fields)
    if schema.has_more:
        made["additionalProperties"] = {
            "type": ["number", "null"],
            "description": "A price in the units that the query asks for, which its name ends in.",
        }
    return {
        "$schema": DIALECT,
        "$id": f"/schemas/{schema.name}.json",
        "title": schema.title,
        "description": f"In {'; '.join(schema.at)}.",
        **made,
    }


def _object(
    fields: Sequence[Field | Part], *, required: Sequence[Field | Part] | None = None
) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [each.key for each in (fields if required is None else required)],
        "properties": {each.key: _value(each) for each in fields},
        "additionalProperties": False,
    }


def _value(field: Field | Part) -> dict[str, Any]:
    """Return the schema of one value: unknown is null, where that may be."""
    if isinstance(field, Field):
        made, about = dict(_TYPES[field.kind]), field.described
        if field.words:
            made = {"type": "string", "enum": list(field.words)}
    else:
        about, made = field.meaning, _object(field.fields)
        made = {"type": "array", "items": made} if field.many else made
    if not field.is_known or (isinstance(field, Field) and field.unless_own):
        made["type"] = [made["type"], "null"]
    return {"description": about, **made}


@router.get(
    "/schemas.json",
    response_class=Response,
    summary="The JSON Schemas of all rows, as JSON",
    responses={
        200: {"description": "The list.", "content": {JSON: {"schema": {"type": "object"}}}},
        **REFUSALS,
    },
)
def schemas(request: Request) -> Response:
    """Give the name, title and address of each schema, and where rows of its kind stand."""
    listed = [
        {"name": each.name, "title": each.title, "href": f"/schemas/{each.name}.json", "rows_at": each.at}
        for each in SCHEMAS.values()
    ]
    return _respond(request, Answer(json_bytes({"dialect": DIALECT, "schemas": listed}), JSON))


@router.get(
    "/schemas/{name}.json",
    response_class=Response,
    summary="The JSON Schema of one kind of row",
    responses={
        200: {"description": "The schema.", "content": {SCHEMA: {"schema": {"type": "object"}}}},
        404: {"description": "There is no such schema.", "content": REFUSALS[422]["content"]},
        **REFUSALS,
    },
)
def schema(request: Request, name: str) -> Response:
    """Give a schema by its name, as the list has it: offers, compare, history and so on."""
    found = SCHEMAS.get(name)
    if found is None:
        raise HTTPException(404, f"There is no schema '{name[:40]}': use one of {', '.join(SCHEMAS)}")
    return _respond(request, Answer(json_bytes(document_of(found)), SCHEMA))


def _respond(request: Request, answer: Answer) -> Response:
    take_nothing(request)
    return respond_made(request, answer)


router.add_route("/schemas.json", schemas, methods=["HEAD"], include_in_schema=False)
router.add_route(
    "/schemas/{name}.json",
    lambda request: schema(request, request.path_params["name"]),
    methods=["HEAD"],
    include_in_schema=False,
)
