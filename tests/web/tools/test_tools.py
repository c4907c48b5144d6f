"""What holds for every tool: links, twins, refusals that lose nothing, and bodies that mean harm."""

import csv
import io
import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.web.state import MAX_QUERY_STRING
from app.web.tools.registry import TOOLS
from app.web.tools.tool import MOST_BYTES, Tool

MARKUP = "<script>alert(1)</script>\"'"
HARMFUL = {
    "markup": MARKUP,
    "deep lists": "[" * 100_000,
    "deep objects": '{"a":' * 50_000,
    "not a number": '{"temperature": NaN, "output_throughput": NaN}',
    "infinite": '{"temperature": 1e999, "output_throughput": Infinity}',
    "negative": "-1",
    "2^63": str(2**63),
    "2^63 in an object": json.dumps({"temperature": 2**63, "top_k": 2**63, "output_throughput": 2**63}),
    "a thousand digits": "9" * 1000,
    "a long exponent": "1e400000000",
    "no character": "\0",
    "no character of any language": "\ufffe",
    "right to left": "\u202e42",
    "many lines": "\n" * 200_000,
    "commas": "," * 200_000,
    "a long word": "x" * 300_000,
}


EACH_TOOL = [pytest.param(tool, id=tool.name) for tool in TOOLS]
EACH_EXAMPLE = [
    pytest.param(tool, tool.example_link(example), id=f"{tool.name}: {example.label}")
    for tool in TOOLS
    for example in tool.examples
]


def main_text(html: str) -> str:
    return LexborHTMLParser(html).css_first("main").text()


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_the_bare_form_says_what_each_field_takes(tools: TestClient, tool: Tool) -> None:
    tree = LexborHTMLParser(tools.get(tool.path).text)
    assert tree.css_first("h1").text() == tool.title
    for field in tool.fields:
        control = tree.css_first(f"#{field.name}")
        assert control.attributes["name"] == field.name
        assert tree.css_first(f'label[for="{field.name}"]').text().strip() == field.label
        hint = (control.attributes["aria-describedby"] or "").split()[0]
        assert tree.css_first(f"#{hint}").text() == field.about
    assert tree.css_first("form.tool-form").attributes["method"] == ("post" if tool.is_pasted else "get")
    described = tools.get(f"{tool.path}.json").json()["takes"]
    assert list(described) == [field.name for field in tool.fields]


def test_the_list_leads_to_every_tool_and_its_examples(tools: TestClient) -> None:
    tree = LexborHTMLParser(tools.get("/tools").text)
    links = {a.attributes["href"] for a in tree.css("main dl a")}
    examples = {tool.example_link(example) for tool in TOOLS for example in tool.examples}
    assert links == {tool.path for tool in TOOLS} | examples
    assert [each["tool"] for each in tools.get("/tools.json").json()["tools"]] == [t.name for t in TOOLS]
    assert tree.css_first('nav a[href="/tools"]').text() == "Tools"


@pytest.mark.parametrize(("tool", "address"), EACH_EXAMPLE)
def test_an_example_finds_something_and_its_twins_the_same(
    tools: TestClient, tool: Tool, address: str
) -> None:
    answer = tools.get(address)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "private, no-store"
    tree = LexborHTMLParser(answer.text)
    assert tree.css_first("#found") is not None
    link = tree.css_first("p.out a").attributes["href"] or ""
    assert sorted(parse_qsl(urlsplit(link).query)) == sorted(parse_qsl(urlsplit(address).query))
    query = urlsplit(address).query
    document = tools.get(f"{tool.path}.json?{query}").json()
    assert document["tool"] == tool.name
    assert document["found"]
    lines = list(csv.DictReader(io.StringIO(tools.get(f"{tool.path}.csv?{query}").text, newline="")))
    assert lines
    assert tuple(lines[0]) == tool.columns


@pytest.mark.parametrize(("tool", "address"), EACH_EXAMPLE)
def test_a_form_leads_to_a_link_that_finds_the_same(tools: TestClient, tool: Tool, address: str) -> None:
    """Of a pasted form the link may hold less than was pasted, never another finding."""
    if not tool.is_pasted:
        filled = {field.name: field.initial if not field.is_switch else "" for field in tool.fields}
        filled |= dict(parse_qsl(urlsplit(address).query))
        answer = tools.get(f"{tool.path}?{urlencode(filled)}")
        if answer.status_code == 303:
            answer = tools.get(answer.headers["location"])
        assert answer.status_code == 200
        return
    answer = tools.post(tool.path, data=dict(parse_qsl(urlsplit(address).query)))
    assert (answer.status_code, answer.headers["cache-control"]) == (303, "private, no-store")
    target = answer.headers["location"]
    was = tools.get(f"{tool.path}.json?{urlsplit(address).query}").json()["found"]
    assert tools.get(target.replace(tool.path, f"{tool.path}.json", 1)).json()["found"] == was
    again = tools.post(tool.path, data=dict(parse_qsl(urlsplit(target).query)))
    assert again.headers["location"] == target


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_the_command_names_itself(tools: TestClient, tool: Tool) -> None:
    command = LexborHTMLParser(tools.get(tool.path).text).css_first("pre.command").text()
    assert command.split()[0] in {"inferprice", "curl"}


@pytest.mark.parametrize("kind", ["", ".json", ".csv"])
@pytest.mark.parametrize("tool", EACH_TOOL)
def test_what_is_no_field_or_stands_twice_is_refused(tools: TestClient, tool: Tool, kind: str) -> None:
    name = tool.fields[0].name
    for query in ("colour=green", f"{name}=1&{name}=1", f"{name}=%ff"):
        answer = tools.get(f"{tool.path}{kind}?{query}")
        assert answer.status_code == 422, query
        assert ("colour" if "green" in query else name) in answer.text
    for field in tool.fields:
        if field.choices or field.is_switch:
            answer = tools.get(f"{tool.path}{kind}?{urlencode({field.name: 'nothing like it'})}")
            assert answer.status_code == 422
            assert field.name in answer.text


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_empty_fields_are_tidied_away(tools: TestClient, tool: Tool) -> None:
    answer = tools.get(f"{tool.path}?{urlencode({field.name: '' for field in tool.fields})}")
    assert (answer.status_code, answer.headers["location"]) == (303, tool.path)


@pytest.mark.parametrize("harm", HARMFUL)
@pytest.mark.parametrize("tool", EACH_TOOL)
def test_a_harmful_text_in_any_field_ends_in_a_sentence(tools: TestClient, tool: Tool, harm: str) -> None:
    """Each is refused with 4xx, or found harmless; nothing of it is lost from the form or runs."""
    text = HARMFUL[harm]
    best = dict(tool.examples[0].texts)
    for field in tool.fields:
        data = {**best, field.name: text}
        answers = [tools.post(tool.path, data=data)] if tool.is_pasted else []
        if len(urlencode(data)) < MAX_QUERY_STRING:
            answers.append(tools.get(f"{tool.path}?{urlencode(data)}"))
        for answer in answers:
            assert answer.status_code in {200, 303, 422}, (field.name, answer.status_code)
            assert MARKUP not in answer.text
            if answer.status_code == 422 and not (field.choices or field.is_switch):
                tree = LexborHTMLParser(answer.text)
                assert "is not right" in tree.css_first("p.notice[role=alert]").text(), field.name
                control = tree.css_first(f"#{field.name}")
                kept = control.text() if field.rows else control.attributes["value"] or ""
                if harm not in {"no character", "many lines"}:
                    assert kept == text, field.name


SHELL = "$(touch x)`id`;&|>x \\ '"


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_a_command_to_copy_runs_nothing_that_a_link_types(tools: TestClient, tool: Tool) -> None:
    """A shell takes what is typed into any field as words of the one command, or it is not there at all."""
    for field in tool.fields:
        if field.choices or field.is_switch:
            continue
        page = tools.get(f"{tool.path}?{urlencode({**tool.examples[0].texts, field.name: SHELL})}")
        assert page.status_code in {200, 422}, field.name
        for block in LexborHTMLParser(page.text).css("pre.command"):
            unquoted = re.sub(r"""'[^']*'|"'\"""", "", block.text())
            assert not set(unquoted) & set("$`;&|>('"), (field.name, block.text())


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_a_wrong_field_is_marked_and_led_to(tools: TestClient, tool: Tool) -> None:
    """Of the harmful texts at least one is refused in each field that takes free text, by its name."""
    best = dict(tool.examples[0].texts)
    for field in tool.fields:
        if field.choices or field.is_switch:
            continue
        marked = False
        for harm in ("markup", "negative", "a thousand digits", "deep lists", "2^63 in an object"):
            data = {**best, field.name: HARMFUL[harm]}
            if tool.is_pasted:
                answer = tools.post(tool.path, data=data)
            elif len(urlencode(data)) < 6000:
                answer = tools.get(f"{tool.path}?{urlencode(data)}")
            else:
                continue
            if answer.status_code == 422:
                tree = LexborHTMLParser(answer.text)
                wrong = tree.css_first(f'#{field.name}[aria-invalid="true"]')
                marked = marked or (
                    wrong is not None and tree.css_first(f'.notice a[href="#{field.name}"]') is not None
                )
        assert marked or field.name in FREE.get(tool.name, ()), field.name


FREE: dict[str, frozenset[str]] = {"timings": frozenset({"log"}), "bench": frozenset({"log"})}
"""Fields of which no text is wrong."""


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_bytes_that_are_no_form_are_refused(tools: TestClient, tool: Tool) -> None:
    for body in (b"\xff\xfe", b"a=1&" * 1000, b"%00=%00", b'{"a": 1}', b"\x1f\x8b" * 50):
        answer = tools.post(tool.path, content=body)
        assert answer.status_code in {422, 303}, body[:9]
        assert "Traceback" not in answer.text


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_a_body_that_is_too_large_is_not_read(tools: TestClient, tool: Tool) -> None:
    read = 0

    def chunks() -> Iterator[bytes]:
        nonlocal read
        yield b"requests="
        for _ in range(100):
            read += 1_000_000
            yield b"x" * 1_000_000

    answer = tools.post(tool.path, content=b"x=" + b"y" * MOST_BYTES)
    assert answer.status_code == 413
    assert f"{MOST_BYTES:,} bytes" in answer.text
    stated = tools.post(tool.path, content=b"x", headers={"content-length": str(10**30)})
    assert stated.status_code == 413
    assert tools.post(tool.path, content=chunks()).status_code == 413


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_other_methods_are_not_there(tools: TestClient, tool: Tool) -> None:
    assert tools.put(tool.path).status_code == 405
    assert tools.post(f"{tool.path}.json").status_code == 405
    assert tools.head(tool.path).status_code == 200


def test_every_field_has_a_name_of_its_own_kind() -> None:
    for tool in TOOLS:
        names = [field.name for field in tool.fields]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
        assert all(field.about.endswith(".") for field in tool.fields)
