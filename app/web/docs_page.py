"""How programs ask: each address with its parameters, from the OpenAPI document, as a page and its twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.web.answers import respond_made
from app.web.kept import base_of, csv_of_objects, json_of, page_of, take_nothing
from app.web.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response


CSV_COLUMNS: Final = (
    *("path", "summary", "media_type", "parameter", "place", "is_required", "is_repeatable", "description"),
    *("values", "format", "minimum", "maximum"),
)


_OF_BOARD: Final = frozenset(each["name"] for each in PARAMETERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One address that programs ask, with its parameters as the OpenAPI document has them."""

    path: str
    summary: str
    media_type: str
    parameters: tuple[dict[str, Any], ...]

    @property
    def takes_board_query(self) -> bool:
        """Tell whether all parameters of the board are taken."""
        return _OF_BOARD.issubset(each["name"] for each in self.parameters)

    @property
    def own_names(self) -> tuple[str, ...]:
        """Return the names of the parameters, without the board's where all of those are taken."""
        names = (each["name"] for each in self.parameters)
        return tuple(name for name in names if not (self.takes_board_query and name in _OF_BOARD))


def addresses(application: FastAPI) -> tuple[Address, ...]:
    """Return every address that programs ask, in the order of the OpenAPI document."""
    return tuple(
        Address(
            path=path,
            summary=methods["get"]["summary"],
            media_type=next(iter(methods["get"]["responses"]["200"]["content"])),
            parameters=tuple(methods["get"].get("parameters", ())),
        )
        for path, methods in application.openapi()["paths"].items()
    )


def docs(request: Request) -> Response:
    """Answer the page that says how programs ask."""
    take_nothing(request)
    base = base_of(request)
    page = page_of("api.html", parameters=PARAMETERS, addresses=addresses(request.app), base=base)
    return respond_made(request, page)


def docs_json(request: Request) -> Response:
    """Answer the addresses with their parameters as JSON."""
    take_nothing(request)
    found = [
        {
            "path": each.path,
            "summary": each.summary,
            "media_type": each.media_type,
            "parameters": [plain_parameter(one) for one in each.parameters],
        }
        for each in addresses(request.app)
    ]
    return respond_made(request, json_of({"openapi": "/openapi.json", "addresses": found}))


def docs_csv(request: Request) -> Response:
    """Answer the same as CSV: a line for each parameter of an address, one for an address without any."""
    take_nothing(request)
    return respond_made(request, csv_of_objects("api", _lines(request.app), columns=CSV_COLUMNS))


def plain_parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter without the nesting of its schema."""
    schema = parameter["schema"]
    is_many = schema.get("type") == "array"
    schema = schema["items"] if is_many else schema
    return {
        "parameter": parameter["name"],
        "place": parameter["in"],
        "is_required": parameter.get("required", False),
        "is_repeatable": is_many,
        "description": parameter.get("description"),
        "values": list(schema.get("enum", ())),
        "format": schema.get("format", schema.get("type")),
        "minimum": schema.get("minimum"),
        "maximum": schema.get("maximum"),
    }


def _lines(application: FastAPI) -> Iterator[dict[str, Any]]:
    for each in addresses(application):
        about = {"path": each.path, "summary": each.summary, "media_type": each.media_type}
        for one in each.parameters:
            yield {**about, **plain_parameter(one)}
        if not each.parameters:
            yield about
