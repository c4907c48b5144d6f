"""What a browser without scripts sends of a form: its successful controls (HTML, 4.10.21.4)."""

import re
from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

from httpx2 import Response
from selectolax.lexbor import LexborHTMLParser, LexborNode
from starlette.testclient import TestClient

Pairs = list[tuple[str, str]]

TEXTS = {"hidden", "search", "text"}
TICKED = {"checkbox", "radio"}
KEPT = {
    "number": re.compile(r"-?(\d+(\.\d+)?|\.\d+)([eE][-+]?\d+)?"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
}
"""What a field of a type holds; a browser empties it of anything else before the form is sent."""


def controls(tree: LexborHTMLParser, form: LexborNode) -> Pairs:
    """Return what a form of a page sends unchanged, by its own button, in the order of the page.

    A kind of control that these tests do not know is an error, so that none is passed over in silence.
    """
    found: Pairs = []
    for node in tree.css("input, select, textarea"):
        name = node.attributes.get("name")
        if name and "disabled" not in node.attributes and _owner(tree, node) == form.mem_id:
            found += [(name, value) for value in _values(node)]
    return found


def _owner(tree: LexborHTMLParser, node: LexborNode) -> int | None:
    """Return which form a control belongs to: the one that it names, else the one that it stands in."""
    if "form" in node.attributes:
        named = tree.css_first(f"form#{node.attributes['form']}")
        return None if named is None else int(named.mem_id)
    above = node.parent
    while above is not None and above.tag != "form":
        above = above.parent
    return None if above is None else int(above.mem_id)


def _values(node: LexborNode) -> Iterator[str]:
    if node.tag == "textarea":
        yield re.sub(r"\r\n|\r|\n", "\r\n", node.text())
    elif node.tag == "select":
        yield from _options(node)
    else:
        yield from _input(node)


def _options(node: LexborNode) -> list[str]:
    """Return the chosen options; of a list that takes one the last of them, or the first there is."""
    options = [each for each in node.css("option") if "disabled" not in each.attributes]
    chosen = [each for each in options if "selected" in each.attributes]
    shown = chosen if "multiple" in node.attributes else (chosen[-1:] or options[:1])
    return [each.attributes["value"] or "" if "value" in each.attributes else each.text() for each in shown]


def _input(node: LexborNode) -> Iterator[str]:
    kind, value = node.attributes.get("type") or "text", node.attributes.get("value") or ""
    if kind in TICKED:
        if "checked" in node.attributes:
            yield value if "value" in node.attributes else "on"
    elif kind in KEPT:
        yield value if KEPT[kind].fullmatch(value) else ""
    elif kind in TEXTS:
        yield re.sub(r"[\r\n]", "", value)
    else:
        raise AssertionError(f"a kind of field that these tests do not know: {node.html}")


def send(client: TestClient, form: LexborNode, pairs: Pairs) -> Response:
    """Send a form and follow where it leads."""
    path = urlsplit(form.attributes["action"] or "").path
    if form.attributes.get("method") == "post":
        answer = client.post(path, content=urlencode(pairs), headers=_AS_A_FORM)
    else:
        answer = client.get(f"{path}?{urlencode(pairs)}")
    while answer.is_redirect:
        answer = client.get(answer.headers["location"])
    return answer


_AS_A_FORM = {"content-type": "application/x-www-form-urlencoded"}
