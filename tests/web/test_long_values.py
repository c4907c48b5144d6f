"""A long value in any parameter of any page: refused in a short answer that names the parameter."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI
from httpx2 import Response
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.query import WHERE
from app.domain.query_error import MOST_SHOWN_CHARS, QueryError, cut
from app.domain.serving.reading import InputError
from app.web.docs_page import Address, addresses
from app.web.tools.registry import TOOLS
from tests.web.conftest import Market

LONG = 5_000
VALUE = "9" * LONG
INSTEAD = ("columns",)
"""What is refused in the place of another field: the first of five figures of a shape that go together."""
TOOL_OF = {f"{tool.path}{ending}": tool for tool in TOOLS for ending in ("", ".json")}
TOOL_OF |= {f"/figures{tool.path}.json": tool for tool in TOOLS}
MOST_BESIDE = 2_500
"""Characters of an example beside which the long value fits into a link."""


def filled(served: Market, path: str) -> str:
    """Return an address with everything in braces filled in."""
    known = {
        "{variant}": "h200-sxm",
        "{provider}": "runpod",
        "{offer_id}": str(served.ids["odd", "euro"]),
        "{llm}": "Qwen/Qwen3-8B",
        "{name}": "2026-11-20",
    }
    for name, value in known.items():
        path = path.replace(name, value)
    return path


def asked(served: Market) -> Iterator[tuple[str, str]]:
    """Yield each address with each parameter that its query may have; a condition at the board alone."""
    application = served.client.app
    assert isinstance(application, FastAPI)
    for address in addresses(application):
        for path in pages(address):
            for one in address.parameters:
                if one["in"] == "query" and (path == "/" or not one["name"].startswith(WHERE)):
                    yield filled(served, path), one["name"]


def pages(address: Address) -> Iterator[str]:
    """Yield an address that answers JSON, and its page where it has one."""
    path, _, ending = address.path.rpartition(".")
    if ending == "json":
        yield address.path
        if not path.startswith(("/figures", "/dumps", "/schemas", "/view", "/charts")):
            yield "/" if path == "/offers" else path


def beside(path: str) -> Mapping[str, str]:
    """Return what a tool needs for any of its fields to be read: an example of it, where that fits."""
    texts = TOOL_OF[path].examples[0].texts if path in TOOL_OF else {}
    return texts if len(urlencode(texts)) < MOST_BESIDE else {}


def refusal(path: str, answer: Response) -> str:
    """Return what an answer says; of a tool's form, which keeps what was typed into it, the notices alone."""
    if path in TOOL_OF and 'class="tool-form"' in answer.text:
        return " ".join(each.text() for each in LexborHTMLParser(answer.text).css("main .notice"))
    return answer.text


def test_a_long_value_is_refused_in_a_short_answer_that_names_its_parameter(served: Market) -> None:
    """Nines are no name, and a number that is too long; some fields of tools do take them."""
    refused = set()
    for path, name in asked(served):
        answer = served.client.get(path, params={**beside(path), name: VALUE}, follow_redirects=False)
        said = refusal(path, answer)
        place = (path, name, answer.status_code, said[:300])
        if answer.status_code != 422:
            assert path in TOOL_OF, place
            continue
        refused.add(name)
        if answer.headers["content-type"] == "application/problem+json":
            assert answer.json()["field"].partition(" ")[0].rstrip(":") in (name, *INSTEAD), place
        elif path not in TOOL_OF:
            assert name in said, place
        assert VALUE[: MOST_SHOWN_CHARS + 1] not in said, place
        assert 0 < len(said) < LONG, place
    assert {
        "q",
        "gpu",
        "min_gpus",
        "weights_gb",
        "as_of",
        "quote",
        "own",
        "where.provider",
        "batch",
    } <= refused
    assert {"ended", "warm_up", "config", "llm", "url", "flags", "gpus"} <= refused


@pytest.mark.parametrize("path", ["/", "/offers.json", "/compare", "/history.json", "/changes", "/llms.json"])
def test_a_long_name_of_no_parameter_is_cut_too(client: TestClient, path: str) -> None:
    for name in ("x" * LONG, "where." + "x" * LONG):
        answer = client.get(path, params={name: "1"})
        assert answer.status_code == 422
        assert "x" * (MOST_SHOWN_CHARS + 1) not in answer.text
        assert "x" * 70 in answer.text


def test_what_is_cut_says_so_and_what_fits_is_whole() -> None:
    assert cut("x" * 80) == "x" * 80
    assert cut("x" * 81) == "x" * 80 + "..."
    assert QueryError("f", "y" * 90, "right").value == "y" * 80 + "..."
    said = str(InputError("f", "\x1b" + "y" * 90, "right"))
    assert said == f"f: '\ufffd{'y' * 79}...' is not right: right"
