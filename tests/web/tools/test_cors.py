"""The tool on CORS: the line that it makes, what it reads of pasted answers, and that it asks nobody."""

import csv
import io
import shlex
import socket
from collections.abc import Iterator
from typing import Any, NoReturn
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.serving.cors import asked_of
from app.domain.serving.cors_curl import curl_line, label, mark_of
from app.domain.serving.cors_found import find_pasted
from app.domain.serving.cors_pasted import read_pasted
from app.domain.serving.documents import pasted_document
from app.web.tools.cors import MEANS, NOT_REACHED, TOOL

PATH = "/tools/cors"
URL = "https://llm.example/v1/chat/completions"
ASKED = asked_of(URL)
ORIGIN, OTHER = "https://some-page.example", "https://no-such-page.invalid"
POST = "access-control-allow-headers: content-type\r\n"
MARKUP = "<script>alert(1)</script>"


def answered(origin: str, preflight: str, plain: str) -> str:
    """Give both answers to one origin as curl writes them."""
    mark = mark_of(ASKED)
    return "".join(
        f"HTTP/1.1 {text}\r\ndate: today\r\nset-cookie: id=s3cret\r\nwww-authenticate: s3cret\r\n\r\n"
        f"{label('preflight' if at == 0 else 'GET', origin, mark=mark)}\n"
        for at, text in enumerate((preflight, plain))
    )


def lets_in(origin: str, more: str = "") -> tuple[str, str]:
    text = f"200 OK\r\naccess-control-allow-origin: {origin}\r\n{POST}{more}server: uvicorn"
    return text, text


CREDS = "access-control-allow-credentials: true\r\n"
REFUSED = ("400 Bad Request\r\nserver: uvicorn", "200 OK\r\nserver: uvicorn")
# By the Fetch standard, worked out by hand: the answers to each origin, the title, and whether it is open.
VERDICTS = {
    "closed": (answered(ORIGIN, *REFUSED) + answered("null", *REFUSED), "closed", False),
    "null": (
        answered(ORIGIN, *REFUSED) + answered("null", *lets_in("null")),
        "lets in the origin null",
        True,
    ),
    "wildcard": (answered(ORIGIN, *lets_in("*")), "wildcard", True),
    "echo": (
        answered(ORIGIN, *lets_in(ORIGIN)) + answered(OTHER, *lets_in(OTHER)),
        "echoes any origin",
        True,
    ),
    "credentials": (
        answered(ORIGIN, *lets_in(ORIGIN, CREDS)) + answered(OTHER, *lets_in(OTHER, CREDS)),
        "echoes with credentials",
        True,
    ),
    "list": (
        answered(ORIGIN, *lets_in(ORIGIN)) + answered(OTHER, *REFUSED) + answered("null", *REFUSED),
        "lets in this origin",
        True,
    ),
    "list with null": (
        answered(ORIGIN, *lets_in(ORIGIN)) + answered(OTHER, *REFUSED) + answered("null", *lets_in("null")),
        "lets in the origin null",
        True,
    ),
    "too many": (
        answered(ORIGIN, *lets_in(ORIGIN))
        + answered(OTHER, *["429 Too Many\r\nserver: uvicorn"] * 2)
        + answered("null", *["429 Too Many\r\nserver: uvicorn"] * 2),
        "lets in this origin, at least",
        True,
    ),
    "too many for null": (
        answered(ORIGIN, *REFUSED) + answered("null", *["429 Too Many\r\nserver: uvicorn"] * 2),
        "cannot tell",
        None,
    ),
    "GET led on": (
        answered(
            ORIGIN,
            "405 No\r\nserver: uvicorn",
            "302 There\r\nserver: uvicorn\r\naccess-control-allow-origin: *\r\nlocation: /x?state=s3cret",
        )
        + answered("null", *REFUSED),
        "cannot tell",
        None,
    ),
    "front": (
        answered(ORIGIN, lets_in("*")[0].replace("uvicorn", "nginx"), REFUSED[1]),
        "answered by something in front",
        True,
    ),
    "challenge": (
        answered(ORIGIN, *["403 Forbidden\r\ncf-mitigated: challenge\r\ncf-ray: s3cret"] * 2)
        + answered("null", *["403 Forbidden\r\ncf-mitigated: challenge\r\ncf-ray: s3cret"] * 2),
        "answered by something in front",
        None,
    ),
    "redirect": (
        answered(ORIGIN, *["307 There\r\nlocation: https://sso.example/?state=s3cret"] * 2)
        + answered("null", *REFUSED),
        "cannot tell",
        None,
    ),
}


def posted(tools: TestClient, **texts: str) -> Any:
    return tools.post(PATH, data={"url": URL, **texts})


@pytest.mark.parametrize("name", VERDICTS)
def test_pasted_answers_lead_to_a_link_with_the_verdict(tools: TestClient, name: str) -> None:
    text, words, is_open = VERDICTS[name]
    answer = posted(tools, answers=text)
    assert answer.status_code == 303
    target = answer.headers["location"]
    page = LexborHTMLParser(tools.get(target).text)
    assert page.css_first("#found h2").text() == f"The verdict: {words}"
    found = tools.get(target.replace(PATH, f"{PATH}.json")).json()["found"]
    finding = find_pasted(ASKED, read_pasted(ASKED, answers=text))
    assert found == pasted_document(finding)
    assert (found["is_open"], found["missing"]) == (is_open, [])
    means = NOT_REACHED if name == "challenge" else MEANS[finding.kind]
    assert page.css_first("#found .summary").text() == means
    shown = [each.text() for each in page.css("#found .verdict, #found ul.said li")]
    assert len(shown) == len(found["sentences"])
    assert shown[1:] == found["sentences"][1:]
    assert found["sentences"][0].lower().endswith(shown[0].lower())
    lines = list(csv.DictReader(io.StringIO(tools.get(target.replace(PATH, f"{PATH}.csv")).text, newline="")))
    cells = [
        [cell.text() for cell in row.css("th, td")] for row in page.css('[aria-labelledby="lines"] tbody tr')
    ]
    assert [(line["answer"], line["header"], line["means"]) for line in lines] == [
        (row[0], row[1], row[3]) for row in cells
    ]


@pytest.mark.parametrize("name", VERDICTS)
def test_a_link_holds_nothing_but_what_the_check_reads(tools: TestClient, name: str) -> None:
    target = posted(tools, answers=VERDICTS[name][0]).headers["location"]
    kept = parse_qs(urlsplit(target).query)
    assert set(kept) == {"url", "answers"}
    headers = {
        line.partition(":")[0] for line in kept["answers"][0].splitlines() if line[:2] not in {"", "==", "HT"}
    }
    assert headers <= {
        *("access-control-allow-origin", "access-control-allow-headers", "access-control-allow-credentials"),
        *("server", "location", "cf-mitigated", "cf-ray"),
    }
    assert "s3cret" not in target
    assert "s3cret" not in tools.get(target).text


@pytest.mark.parametrize(
    ("texts", "title", "sentence", "missing"),
    [
        (
            {"preflight": f"HTTP/2 200\naccess-control-allow-origin: *\n{POST}date: x\n"},
            "Not all is pasted",
            f"So far a page at {ORIGIN} may send a JSON POST.",
            ["GET"],
        ),
        (
            {"plain": "HTTP/2 200\ndate: x\n"},
            "Not all is pasted",
            f"So far a page at {ORIGIN} may not read the answer to a GET.",
            ["preflight"],
        ),
        (
            {"answers": answered(ORIGIN, *lets_in(ORIGIN))},
            "Not all is pasted",
            f"So far it lets in {ORIGIN} by name. What it would say to another origin is not known.",
            [OTHER],
        ),
        ({"answers": answered(ORIGIN, *REFUSED)}, "Not all is pasted", "So far closed: a page", ["null"]),
        # What the article's own check prints, and what is left of a GET.
        (
            {"preflight": "HTTP/1.1 200 OK\naccess-control-allow-origin: *"},
            "Not all is pasted",
            "So far cannot tell: whether a page at",
            ["the whole answer to the preflight", "GET"],
        ),
        (
            {"plain": "HTTP/1.1 200 OK\n\n"},
            "Not all is pasted",
            "So far cannot tell: whether a page at",
            ["preflight", "the whole answer to the GET"],
        ),
        (
            {"header": "authorization", "preflight_headers": "HTTP/1.1 400 Bad Request\nserver: uvicorn\n"},
            "Not all is pasted",
            f"So far a page at {ORIGIN} may not send a JSON POST with authorization.",
            ["preflight", "GET"],
        ),
    ],
)
def test_of_one_answer_it_guesses_nothing(
    tools: TestClient, texts: dict[str, str], title: str, sentence: str, missing: list[str]
) -> None:
    target = posted(tools, **texts).headers["location"]
    page = LexborHTMLParser(tools.get(target).text)
    assert page.css_first("#found h2").text() == title
    assert page.css_first("#found .verdict").text().startswith(sentence)
    found = tools.get(target.replace(PATH, f"{PATH}.json")).json()["found"]
    assert (found["verdict"], len(found["missing"])) == (None, len(missing))
    lacks = [each.text() for each in page.css("#found li") if each.text().startswith("Missing: ")]
    assert [word in said for word, said in zip(missing, lacks, strict=True)] == [True] * len(missing)


def test_with_further_headers_the_page_shows_both_preflights(tools: TestClient) -> None:
    """A * does not allow authorization, by the Fetch standard, but a POST without it is sent."""
    wild = (
        "HTTP/1.1 204 No Content\naccess-control-allow-origin: *\naccess-control-allow-headers: *\ndate: x\n"
    )
    answers = {"preflight": wild, "preflight_headers": wild, "plain": "HTTP/1.1 401 X\ndate: x\n"}
    target = posted(tools, header="authorization", **answers).headers["location"]
    page = LexborHTMLParser(tools.get(target).text)
    assert page.css_first("#found h2").text() == "The verdict: wildcard"
    table = page.css_first('[aria-labelledby="origins"] table')
    cells = [each.text() for each in table.css("tbody tr:first-child th, tbody tr:first-child td")]
    assert cells == [ORIGIN, "204, lets in *", "204, lets in *", "yes", "no", "401, lets in nobody", "no"]
    assert len(table.css("thead th")) == len(cells)
    found = tools.get(target.replace(PATH, f"{PATH}.json")).json()["found"]
    assert (found["verdict"], found["is_open"]) == ("wildcard", True)
    assert (found["may_send_json_post"], found["may_send_json_post_with_headers"]) == (True, False)
    assert found["preflight"] == found["preflight_with_headers"] != found["plain_get"]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"url": "http://127.0.0.1:9/v1?a=b&c=$(id)'\"<script>"},
        {"url": URL, "origin": "https://chat.internal.example", "header": "Authorization, x-trace"},
        {"url": URL, "origin": "null"},
    ],
)
def test_the_page_shows_the_line_to_run_and_the_command_that_asks_by_itself(
    tools: TestClient, query: dict[str, str]
) -> None:
    answer = tools.get(f"{PATH}?{urlencode(query)}" if query else PATH)
    line, command = (each.text() for each in LexborHTMLParser(answer.text).css("pre.command"))
    asked = asked_of(
        query.get("url", "http://127.0.0.1:8000/v1/chat/completions"),
        origin=query.get("origin"),
        names=query.get("header", "").replace(",", " ").split(),
    )
    assert line == curl_line(asked)
    words = shlex.split(line.replace("\\\n", ""))
    # As each origin both preflights, where there are two, and the GET.
    asks = 3 if query.get("header") else 2
    assert words.count(asked.url) == asks * (2 if asked.origin == "null" else 3)
    unrelated = OTHER if asked.origin == ORIGIN else ORIGIN
    assert {"-X", "OPTIONS", f"origin: {asked.origin}", f"origin: {unrelated}", "origin: null"} <= set(words)
    given = shlex.split(command)
    assert given[:4] == ["inferprice", "check", "cors", asked.url]
    assert given[4:] == [
        *(["--origin", query["origin"]] if "origin" in query else []),
        *(word for name in query.get("header", "").split(", ") if name for word in ("--header", name)),
    ]
    assert "nothing" in answer.text
    assert "#found" in answer.text
    assert 'id="found"' not in answer.text


@pytest.mark.parametrize(
    ("texts", "field", "place"),
    [
        ({"url": f"ftp://{MARKUP}"}, "url", ""),
        ({"url": "http://me:pw@llm.example/"}, "url", ""),
        ({"origin": MARKUP}, "origin", ""),
        ({"origin": "https://llm.example"}, "origin", ""),
        ({"header": MARKUP}, "header", ""),
        ({"answers": f"{answered(ORIGIN, *REFUSED)}HTTP/1.1 200 {MARKUP}"}, "answers", " line 15"),
        ({"answers": answered(ORIGIN, f"200 OK\r\n{MARKUP}", "200 OK")}, "answers", " line 2"),
        ({"answers": answered(ORIGIN, *REFUSED), "header": "authorization"}, "answers", " line 7"),
        ({"answers": answered(ORIGIN, *REFUSED), "plain": MARKUP}, "plain", ""),
        ({"preflight": f"HTTP/1.1 200\n{MARKUP}"}, "preflight", " line 2"),
        ({"plain": f"{MARKUP}"}, "plain", ""),
    ],
)
def test_what_is_wrong_is_marked_with_its_line_and_nothing_is_lost(
    tools: TestClient, texts: dict[str, str], field: str, place: str
) -> None:
    answer = posted(tools, **texts)
    assert answer.status_code == 422
    assert MARKUP not in answer.text
    page = LexborHTMLParser(answer.text)
    assert [each.attributes["id"] for each in page.css("[aria-invalid]")] == [field]
    notice = page.css_first(".notice[role=alert]").text()
    assert notice.startswith(f"{TOOL.by_name[field].label}{place}: “")
    for name, text in texts.items():
        control = page.css_first(f"#{name}")
        kept = control.text() if TOOL.by_name[name].rows else control.attributes["value"]
        assert kept == text.replace("\r\n", "\n")
    # The line stays there to be run again, unless it is what is wrong.
    assert len(page.css("pre.command")) == (1 if field in {"url", "origin", "header"} else 2)
    if field in {"preflight", "plain"}:
        assert page.css_first("details[open]").css_first(f"#{field}") is not None
    twin = tools.get(f"{PATH}.json?{urlencode({'url': URL, **texts})}")
    assert (twin.status_code, twin.json()["field"]) == (422, f"{field}{place}")


def test_what_a_server_says_is_text_on_the_page(tools: TestClient) -> None:
    text = f"200 OK\r\naccess-control-allow-origin: {MARKUP}\r\naccess-control-x: {MARKUP}\r\nserver: x"
    both = answered(ORIGIN, text, text) + answered("null", *REFUSED)
    target = posted(tools, answers=both).headers["location"]
    answer = tools.get(target)
    assert MARKUP not in answer.text
    assert LexborHTMLParser(answer.text).css("#found script") == []
    assert "&lt;script&gt;" in answer.text


def test_a_long_list_of_headers_is_cut_on_the_page_alone(tools: TestClient) -> None:
    many = "".join(f"access-control-x{at}: 1\r\n" for at in range(900))
    preflight, plain = (f"{text}\r\n{many}x: y" for text in lets_in("*"))
    answer = posted(tools, answers=answered(ORIGIN, preflight, plain))
    # Too long for a link, so it is answered at once.
    assert answer.status_code == 200
    page = LexborHTMLParser(answer.text)
    assert len(page.css('[aria-labelledby="lines"] tbody tr')) == 50
    # Status, allowed origin, allowed headers, and 900 more of each of two answers.
    assert "And 1756 more" in page.css_first("#found").text()
    assert "too long for a link" in page.css_first("main").text()


# ---------------------------------------------------------------- nobody is asked


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server's socket: who connects waits in its queue."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


def knocks(listener: socket.socket) -> int:
    """Count who has connected since."""
    count = 0
    while True:
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return count
        connection.close()
        count += 1


def ask_all(tools: TestClient, url: str) -> None:
    """Ask page and twins for a server's address, with answers and without, right and wrong."""
    for answers, _, _ in VERDICTS.values():
        text = answers.replace(mark_of(ASKED), mark_of(asked_of(url)))
        target = tools.post(PATH, data={"url": url, "answers": text}).headers["location"]
        for address in (target, f"{PATH}?{urlencode({'url': url})}"):
            for kind in ("", ".json", ".csv"):
                answer = tools.get(address.replace(PATH, f"{PATH}{kind}", 1))
                assert answer.status_code == 200
                assert kind == ".csv" or url.partition("//")[2] in answer.text
    assert tools.post(PATH, data={"url": url, "answers": "x"}).status_code == 422
    assert tools.post(PATH, data={"url": url}).status_code == 303


def test_a_server_whose_address_is_typed_is_never_asked(tools: TestClient, listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/models"
    ask_all(tools, url)
    assert knocks(listener) == 0
    # So that the count of none means something.
    socket.create_connection(listener.getsockname()[:2]).close()
    assert knocks(listener) == 1


def test_no_name_is_looked_up_and_no_connection_made(
    tools: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a connection")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    ask_all(tools, "https://llm.example/v1/models")
    with socket.socket() as made, pytest.raises(AssertionError, match="a connection"):
        made.connect(("127.0.0.1", 9))


def test_the_examples_are_a_closed_an_open_and_a_fronted_server(tools: TestClient) -> None:
    kinds = []
    for example in TOOL.examples:
        address = TOOL.example_link(example)
        assert len(address) < 500
        kinds.append(tools.get(address.replace(PATH, f"{PATH}.json")).json()["found"]["verdict"])
        assert dict(parse_qsl(urlsplit(address).query)) == dict(example.texts)
    assert kinds == ["closed", "wildcard", "in_front"]
