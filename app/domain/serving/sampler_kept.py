"""What is left of requests without all that their sampler path does not depend on, prompts first of all."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from app.domain.serving.reading import read_documents, read_values
from app.domain.serving.sampler import (
    NESTED,
    fields_of,
    is_nested,
    read_config,
    request_in,
    stated_in,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.serving.sampler_rules import Endpoint, Field


def kept_requests(data: bytes, name: str, *, endpoint: Endpoint, most: int | None = None) -> str:
    """Return JSON that `read_documents` reads under the same names and `judge` judges the same.

    Of what would be longer than `most` characters only a beginning is returned, that is longer than that.

    Raises:
        InputError: it cannot be read, or the parameters of a request are no object.
    """
    read_documents(data, name)
    parts: list[str] = []
    line, length = 1, 0
    for value in read_values(data, name):
        if most is not None and length > most:
            break
        # Without lines of their own (line 0) values follow each other at once, so that they get none.
        parts.append("\n" * max(0, value.line - line))
        line = value.line or line
        if isinstance(value.found, list):
            parts.append(f"[{','.join(_kept(body, endpoint=endpoint) for body in value.found[:most])}]")
        else:
            parts.append(_kept(value.found, endpoint=endpoint))
        length += len(parts[-1])
    return "".join(parts)


def kept_config(data: bytes, name: str) -> str:
    """Return a generation_config.json, or preferred parameters, as JSON of those of the four it states.

    Raises:
        InputError: it is not one JSON object, or one of the four has no value that the server takes.
    """
    return _compact(_numbers(read_config(data, name)))


def _kept(body: Mapping[str, Any], *, endpoint: Endpoint) -> str:
    # That something stands where it is not read is worth a note, so it is kept, but not what it says.
    request = request_in(body)
    each = [_numbers(stated_in(fields)) for fields in fields_of(body, endpoint=endpoint, name="")]
    if endpoint != "generate" and NESTED in request:
        return _compact({**each[0], NESTED: {}})
    if endpoint != "generate" or not is_nested(request):
        return _compact(each[0])
    nested = each if isinstance(request.get(NESTED), list) else each[0]
    beside = next(iter(stated_in(request)), None)
    return _compact({NESTED: nested} if beside is None else {NESTED: nested, beside: 1})


def _numbers(stated: Mapping[Field, Any]) -> dict[str, Any]:
    """Return values as the server holds them: a Decimal is taken for the float nearest to it."""
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in stated.items()}


def _compact(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))
