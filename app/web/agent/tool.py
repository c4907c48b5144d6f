"""What a tool is: its name, what it is for, its arguments, the shape of its result, and what runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import Tool as ListedTool
from mcp_types import ToolAnnotations

from app.domain.duties import DutyError
from app.domain.query import QueryError
from app.web.agent.asking import DEFAULT_ROWS, MAX_PAGE, MAX_ROWS, bounded
from app.web.boards import NoBoardError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from app.web.agent.asking import Call

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. `parameters` are as the OpenAPI document states them; `result` is a JSON Schema.

    What it changes, if anything, it says by `is_read_only`; `is_open_world` that it asks other sites.
    """

    name: str
    title: str
    about: str
    parameters: Sequence[Schema]
    result: Schema
    run: Callable[[Call], dict[str, Any]]
    is_read_only: bool
    is_open_world: bool = False

    def listed(self) -> ListedTool:
        """Return the tool as readers are told of it."""
        return ListedTool(
            name=self.name,
            title=self.title,
            description=self.about,
            input_schema=arguments_schema(self.parameters),
            output_schema=self.result,
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=self.is_read_only,
                destructive_hint=not self.is_read_only,
                idempotent_hint=self.is_read_only,
                open_world_hint=self.is_open_world,
            ),
        )


def answer_of(tool: Tool, call: Call) -> dict[str, Any]:
    """Return what a tool answers, within its bounds; raises ToolError with a sentence that says why not."""
    try:
        return bounded(tool.run(call))
    except (QueryError, NoBoardError, DutyError) as error:
        raise ToolError(str(error)) from error


def arguments_schema(parameters: Sequence[Schema]) -> Schema:
    """Return the JSON Schema of a tool's arguments."""
    properties = {each["name"]: {"description": each["description"], **each["schema"]} for each in parameters}
    required = [each["name"] for each in parameters if each.get("required")]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def argument(name: str, schema: Schema, *, about: str, required: bool = False) -> Schema:
    """Return a parameter in the form of the OpenAPI document."""
    return {"name": name, "description": about, "schema": schema, "required": required}


def named(parameters: Sequence[Schema], names: Collection[str]) -> list[Schema]:
    """Return the parameters with these names."""
    return [each for each in parameters if each["name"] in names]


def told_once(parameters: Iterable[Schema]) -> Iterator[Schema]:
    """Yield parameters, a rule for conditions only where it comes first: a model reads them all each time."""
    first: dict[str, str] = {}
    for each in parameters:
        name, rule = each["name"], each["description"].partition(": use ")[2]
        if name.startswith("where.") and first.setdefault(rule, name) != name:
            yield {**each, "description": f"As {first[rule]}."}
        else:
            yield each


WINDOW: Final = (
    argument("page", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}, about="A page of rows, from 1."),
    argument(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_ROWS},
        about=f"Rows of a page; {DEFAULT_ROWS} by default.",
    ),
)
"""The parameters of every tool that gives rows."""

_TEXT: Final[Schema] = {"type": "string"}


def rows_schema(row: Schema) -> Schema:
    """Return the schema of a result with rows of this shape."""
    plain = {key: value for key, value in row.items() if not key.startswith("$")}
    properties: dict[str, Schema] = {
        "address": {**_TEXT, "description": "The page that shows the same to people."},
        "json_address": {**_TEXT, "description": "The whole of it as JSON."},
        "as_of": {**_TEXT, "format": "date-time", "description": "When the prices hold."},
        "source": {**_TEXT, "description": "Where the figures are from."},
        "units": {
            "type": "object",
            "additionalProperties": _TEXT,
            "description": "The unit of each figure by its key; the name of any other ends in its unit.",
        },
        "total": {"type": "integer", "minimum": 0, "description": "Rows in all."},
        "page": {"type": "integer", "minimum": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS},
        "next_page": {"type": ["integer", "null"], "description": "The page after this one, if any."},
        "about": {"type": "object", "description": "What was asked, and what holds for all rows."},
        "rows": {"type": "array", "maxItems": MAX_ROWS, "items": plain},
    }
    return {"type": "object", "properties": properties, "required": list(properties)}
