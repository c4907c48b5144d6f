"""What is left of requests without all that their sampler path does not depend on, prompts first of all."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from app.domain.serving.reading import read_documents, read_values
from app.domain.serving.sampler import (
    CLIENT_ONLY,
    NESTED,
    fields_as_sent,
    is_client_call,
    is_nested,
    other_endpoint,
    read_config,
    request_in,
    stated_in,
)
from app.domain.serving.sampler_rules import FIELDS, RULES

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
    kept = _request(body, endpoint=endpoint)
    other = other_endpoint(body, endpoint)
    return _compact(kept if other is None else {"url": RULES.endpoints[other].route, "body": kept})


def _request(body: Mapping[str, Any], *, endpoint: Endpoint) -> Mapping[str, Any]:
    request = request_in(body)
    # That something stands where it is not read is worth a note, so it is kept, but not what it says.
    has_nulls = RULES.endpoints[endpoint].null != "left out"
    each = [
        _numbers({**_nulls(fields, wanted=has_nulls), **stated_in(fields)})
        for fields in fields_as_sent(body, endpoint=endpoint, name="")
    ]
    client = {CLIENT_ONLY: {"top_p": 1}} if is_client_call(request) else {}
    if endpoint != "generate" and NESTED in request:
        return {**each[0], NESTED: {}, **client}
    if endpoint != "generate" or not is_nested(request):
        return {**each[0], **client}
    nested = each if isinstance(request.get(NESTED), list) else each[0]
    beside = next(iter(stated_in(request)), None)
    return {NESTED: nested, **({} if beside is None else {beside: 1}), **client}


def _nulls(fields: Mapping[str, Any], *, wanted: bool) -> dict[Field, Any]:
    return {field: None for field in FIELDS if wanted and field in fields and fields[field] is None}


def _numbers(stated: Mapping[Field, Any]) -> dict[str, Any]:
    """Return values as the server holds them: a Decimal is taken for the float nearest to it."""
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in stated.items()}


def _compact(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))
