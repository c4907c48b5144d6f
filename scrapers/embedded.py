"""What frameworks put into a page as data: __NEXT_DATA__, streamed flight payloads and JSON-LD."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any, Final

from scrapers.base import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from selectolax.lexbor import LexborNode

_PUSH: Final = re.compile(r"self\.__next_f\.push\((\[.*\])\)\s*;?\s*", re.DOTALL)
_ROW: Final = re.compile(r"([0-9a-f]+):")
_TEXT_ROW: Final = re.compile(r"T([0-9a-f]+),")
_REFERENCE: Final = re.compile(r"\$L?([0-9a-f]+)")
_ELEMENT_PARTS: Final = 4
_DEEPEST: Final = 200
_SHOWN_PROPS: Final = {"className": "class", "style": "style", "colSpan": "colspan", "rowSpan": "rowspan"}


def load_json(text: str | bytes, what: str) -> Any:
    """Return JSON with its decimals as written; raise ParseError for anything else."""
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise ParseError("not_json", f"{what} is not JSON.", error=str(error)[:120]) from None


def embedded_values(root: LexborNode) -> Iterator[Any]:
    """Yield the JSON values embedded in a page: __NEXT_DATA__, then each row of the flight payload."""
    for script in root.css("script#__NEXT_DATA__"):
        yield load_json(script.text(), "__NEXT_DATA__")
    yield from flight_rows(root).values()


def linked_data(root: LexborNode) -> Iterator[dict[str, Any]]:
    """Yield every object of the page's JSON-LD scripts, nested ones too."""
    for script in root.css('script[type="application/ld+json"]'):
        yield from objects(load_json(script.text(), "The JSON-LD"))


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value, outer ones first."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


def flight_rows(root: LexborNode) -> dict[str, Any]:
    """Return the rows of a streamed flight payload under their ids; rows of code and hints are left out.

    Source of the format: React's flight client; a row is `id:JSON`, or `id:Tlength,text` in bytes.
    """
    pieces: list[str] = []
    for script in root.css("script"):
        found = _PUSH.fullmatch(script.text().strip())
        chunk = load_json(found[1], "A flight chunk") if found else None
        if isinstance(chunk, list) and len(chunk) > 1 and isinstance(chunk[1], str):
            pieces.append(chunk[1])
    return dict(_split_rows("".join(pieces).encode()))


def _split_rows(payload: bytes) -> Iterator[tuple[str, Any]]:
    place = 0
    while place < len(payload):
        head = _ROW.match(payload[place : place + 20].decode("ascii", "replace"))
        if head is None:
            place = _line_end(payload, place)
            continue
        place += head.end()
        text = _TEXT_ROW.match(payload[place : place + 20].decode("ascii", "replace"))
        if text is not None:
            start = place + text.end()
            place = start + int(text[1], 16)
            yield head[1], payload[start:place].decode("utf-8", "replace")
            continue
        end = _line_end(payload, place)
        if payload[place : place + 1] in {b"[", b"{", b'"'}:
            yield head[1], load_json(payload[place:end], "A flight row")
        place = end


def _line_end(payload: bytes, place: int) -> int:
    end = payload.find(b"\n", place)
    return len(payload) if end < 0 else end + 1


def rendered_html(value: Any, rows: Mapping[str, Any], *, depth: int = 0) -> str:
    """Return the HTML that a value of a flight payload stands for: its elements, in order, with their text.

    An element is `["$", tag, key, properties]`; of a component only its children are known. A reference to
    another row (`$L5`) is followed.
    """
    if depth > _DEEPEST or value is None or isinstance(value, bool):
        return ""
    if isinstance(value, str):
        found = _REFERENCE.fullmatch(value)
        return rendered_html(rows.get(found[1]), rows, depth=depth + 1) if found else _text(value)
    if isinstance(value, list):
        if is_element(value):
            return _element(value, rows, depth=depth + 1)
        return "".join(rendered_html(one, rows, depth=depth + 1) for one in value)
    return "" if isinstance(value, dict) else escape(str(value))


def _text(value: str) -> str:
    """Return escaped text; in a payload a leading dollar sign of a text is doubled."""
    return escape(value[1:] if value.startswith("$$") else value)


def is_element(value: Any) -> bool:
    """Tell whether a JSON value is an element of a flight payload."""
    return (
        isinstance(value, list)
        and len(value) >= _ELEMENT_PARTS
        and value[0] == "$"
        and isinstance(value[1], str)
        and isinstance(value[3], dict)
    )


def _element(value: list[Any], rows: Mapping[str, Any], *, depth: int) -> str:
    tag, properties = value[1], value[3]
    raw = properties.get("dangerouslySetInnerHTML")
    inner = (
        str(raw.get("__html", "")) if isinstance(raw, dict)
        else rendered_html(properties.get("children"), rows, depth=depth)
    )  # fmt: skip
    if not re.fullmatch("[a-z][a-z0-9]*", tag):
        return f"<div>{inner}</div>"
    return f"<{tag}{''.join(_attributes(properties))}>{inner}</{tag}>"


def _attributes(properties: Mapping[str, Any]) -> Iterator[str]:
    for key, name in _SHOWN_PROPS.items():
        value = properties.get(key)
        if isinstance(value, dict):
            value = ";".join(f"{_dashed(part)}:{text}" for part, text in value.items())
        if value is not None:
            yield f' {name}="{escape(str(value), quote=True)}"'
    if properties.get("hidden"):
        yield " hidden"


def _dashed(name: str) -> str:
    return re.sub("([A-Z])", r"-\1", name).lower()
