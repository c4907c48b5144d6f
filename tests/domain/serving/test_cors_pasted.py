"""Response headers as people paste them, in texts of our own: whose answers they are, and what they say."""

import random
import string

import pytest

from app.domain.serving.cors import Exchange, asked_of, judge
from app.domain.serving.cors_answer import Answer
from app.domain.serving.cors_curl import label, mark_of, origins
from app.domain.serving.cors_found import Finding, find_pasted
from app.domain.serving.cors_front import is_read
from app.domain.serving.cors_pasted import MOST_CHARS, MOST_LINES, Pasted, kept_answers, read_pasted
from app.domain.serving.documents import cors_document, pasted_document
from app.domain.serving.reading import InputError

ASKED = asked_of("https://llm.example/v1/chat/completions")
ORIGIN, NULL, OTHER = origins(ASKED)
MARK = mark_of(ASKED)
STAR = "access-control-allow-origin: *\n"
POST = "access-control-allow-headers: content-type\n"
REFUSED = "HTTP/1.1 400 Bad Request\nserver: uvicorn\n\n"
PLAIN = "HTTP/1.1 200 OK\nserver: uvicorn\n\n"


def said(what: str, text: str, origin: str = ORIGIN) -> str:
    """Give an answer with the line that says whose it is."""
    return f"{text}{label('preflight' if what == 'preflight' else 'GET', origin, mark=MARK)}\n"


def both(preflight: str, plain: str, origin: str = ORIGIN) -> str:
    return said("preflight", preflight, origin) + said("GET", plain, origin)


def echo(origin: str, more: str = "") -> str:
    text = f"HTTP/1.1 200 OK\naccess-control-allow-origin: {origin}\n{POST}{more}\n"
    return both(text, text, origin)


def pasted(answers: str = "", **one_each: str) -> Pasted:
    return read_pasted(ASKED, answers=answers, **one_each)


def found(answers: str = "", **one_each: str) -> Finding:
    return find_pasted(ASKED, pasted(answers, **one_each))


def alone(text: str) -> Answer:
    """Read an answer to a preflight from a field of its own."""
    answer = pasted(preflight=text).answer("preflight", ORIGIN)
    assert answer is not None
    return answer


WILD = {"access-control-allow-origin": "*"}


@pytest.mark.parametrize(
    "text",
    [
        f"HTTP/1.1 200 OK\n{STAR}\n",
        f"HTTP/1.1 200 OK\r\n{STAR.strip()}\r\n\r\n",
        f"HTTP/1.1 200\n{STAR}",
        f"HTTP/2 200 \n{STAR}\n",
        f"HTTP/3 200\n{STAR}\n",
        "HTTP/1.0 200 Fine by me\nAccess-Control-ALLOW-Origin:*   \n\n",
        "HTTP/1.1 200 OK\naccess-control-allow-origin:\n   *\n\n",
        "HTTP/1.1 200 OK\naccess-control-allow-origin:\n\t*\nx: y\n\n",
        f"\n\n$ curl -si -X OPTIONS https://llm.example\nHTTP/1.1 200 OK\n{STAR}\n\n$ \n",
        f"HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\n{STAR}\n",
        f"HTTP/1.1 103 Early Hints\nlink: </a>\n{STAR.replace('*', 'null')}\nHTTP/1.1 200 OK\n{STAR}\n",
        f"HTTP/1.1 200 Connection established\nproxy-agent: x\n\nHTTP/2 200\n{STAR}\n",
        f"HTTP/1.0 200 Connection Established\n\nHTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\n{STAR}\n",
        f'HTTP/1.1 200 OK\n{STAR}\n{{"object": "list",\n "data": []}}\n',
        f"HTTP/1.1 200 OK\n{STAR}set-cookie: a=b\n\naccess-control-allow-origin: null\n",
        (
            "* Trying 127.0.0.1:8000...\n> OPTIONS /v1 HTTP/1.1\n> Host: llm.example\n"
            f"> origin: {ORIGIN}\n>\n< HTTP/1.1 200 OK\n< access-control-allow-origin: *\n<\n"
            "{ [2 bytes data]\n* Connection #0 to host llm.example left intact\n"
        ),
        # What -v and -D - write together is one answer, not two.
        f"< HTTP/1.1 200 OK\nHTTP/1.1 200 OK\n< {STAR}{STAR}< \n\n",
    ],
)
def test_an_answer_is_read_in_every_form_it_is_pasted_in(text: str) -> None:
    answer = alone(text)
    assert (answer.status, answer.headers) == (200, WILD)


def test_several_headers_of_one_name_are_joined_as_one() -> None:
    twice = alone(f"HTTP/1.1 200 OK\n{STAR}Access-Control-Allow-Origin: {ORIGIN}\n\n")
    assert twice.headers == {"access-control-allow-origin": f"*, {ORIGIN}"}
    finding = found(both(f"HTTP/1.1 200 OK\n{STAR}{STAR}\n", PLAIN) + both(REFUSED, PLAIN, NULL))
    assert (finding.kind, finding.is_open) == ("in_front", None)


def test_of_redirects_the_first_is_the_answer() -> None:
    """A browser takes no redirect of a preflight, and the command follows none."""
    there = (
        f"HTTP/1.1 301 Moved\nlocation: https://me:pw@there.example/a?token=s3cret#x\n\nHTTP/2 200\n{STAR}\n"
    )
    answer = alone(there)
    assert (answer.status, answer.headers) == (301, {"location": "https://there.example/a"})
    finding = found(both(there, PLAIN) + both(there, PLAIN, NULL))
    assert finding.kind == "cannot_tell"
    assert finding.sentences[0] == (
        "cannot tell: the preflight is redirected (301) to https://there.example/a: check that address."
    )


def test_only_what_the_check_reads_is_kept() -> None:
    secret = "s" * 9
    text = both(
        "".join(
            [
                f"HTTP/1.1 200 {secret}\n",
                *(f"{name}: {secret}\n" for name in ("set-cookie", "authorization", "x-api-key", "date")),
                *(f"{name}: {secret}\n" for name in ("via", "cf-ray", "x-amz-cf-id", "www-authenticate")),
                f"location: /x?{secret}\nserver: uvicorn\n{STAR}{POST}\n{secret}: body\n",
            ]
        ),
        f"> authorization: Bearer {secret}\n{PLAIN}",
    )
    kept = kept_answers(ASKED, pasted(text))
    assert secret not in kept
    assert pasted(kept) == pasted(kept_answers(ASKED, pasted(kept)))
    assert find_pasted(ASKED, pasted(kept)) == found(text)
    names = {line.partition(":")[0] for line in kept.splitlines() if ": " in line}
    assert names == {
        *("via", "cf-ray", "x-amz-cf-id", "location", "server"),
        *("access-control-allow-origin", "access-control-allow-headers"),
    }


def test_what_no_terminal_takes_is_replaced() -> None:
    answer = alone("HTTP/1.1 200 OK\nserver: a\x1b[31m\x00b\naccess-control-allow-origin: \x85*\n\n")
    assert answer.headers == {"server": "a\ufffd[31m\ufffdb", "access-control-allow-origin": "\ufffd*"}


@pytest.mark.parametrize(
    ("one_each", "field", "why"),
    [
        ({"answers": f"{PLAIN}"}, "answers line 1", "says whose answer this is"),
        ({"answers": f"{both(REFUSED, PLAIN)}\n{PLAIN}"}, "answers line 10", "says whose answer this is"),
        ({"answers": "nothing like it"}, "answers", "holds no answer"),
        ({"answers": said("GET", f"HTTP/1.1 200 OK\n{STAR}oops\n\n")}, "answers line 3", "name: value"),
        ({"answers": said("GET", "HTTP/1.1 200 OK\n folded first\n\n")}, "answers line 2", "name: value"),
        ({"answers": said("GET", f"{STAR}\n")}, "answers line 1", "no status line"),
        ({"answers": said("GET", PLAIN + PLAIN)}, "answers line 4", "a second answer"),
        ({"answers": said("GET", PLAIN) + said("GET", REFUSED)}, "answers line 8", "it is there twice"),
        (
            {"answers": said("GET", PLAIN).replace(MARK, "000000")},
            "answers line 4",
            "another address, origin",
        ),
        ({"answers": said("GET", PLAIN, "https://x.test")}, "answers line 4", "another address, origin"),
        ({"answers": said("GET", PLAIN), "plain": PLAIN}, "plain", "not in both"),
        ({"answers": said("GET", PLAIN), "preflight": "x"}, "preflight", "not in both"),
        ({"preflight": "x"}, "preflight", "holds no answer"),
        ({"preflight": STAR}, "preflight line 1", "no status line"),
        ({"plain": PLAIN + PLAIN}, "plain line 4", "a second answer"),
        ({"plain": "HTTP/1.1 000\n\n"}, "plain line 1", "from 100"),
        ({"plain": "HTTP/1.1 200 OK\nAccess-Control-Allow-Origin : *\n"}, "plain line 2", "name: value"),
        ({"plain": "HTTP/1.1 200 OK\n<b>: x\n"}, "plain line 2", "name: value"),
        ({"plain": f"> OPTIONS / HTTP/1.1\n{PLAIN}"}, "plain line 1", "this answers OPTIONS"),
        ({"preflight": f"> GET / HTTP/2\n{PLAIN}"}, "preflight line 1", "this answers GET"),
        ({"plain": f"> GET / HTTP/2\n> Origin: {OTHER}\n{PLAIN}"}, "plain line 2", "as another origin"),
        (
            {"preflight": f"> Access-Control-Request-Headers: authorization,content-type\n{PLAIN}"},
            "preflight line 1",
            "other headers than content-type",
        ),
        ({"preflight_headers": PLAIN}, "preflight_headers", "name its further headers"),
        ({"answers": "x" * (MOST_CHARS + 1)}, "answers", f"at most {MOST_CHARS:,}"),
        ({"plain": "\n" * MOST_LINES + "x"}, "plain", f"at most {MOST_LINES:,}"),
    ],
)
def test_what_cannot_be_read_is_refused_by_field_and_line(
    one_each: dict[str, str], field: str, why: str
) -> None:
    with pytest.raises(InputError) as raised:
        pasted(one_each.pop("answers", ""), **one_each)
    assert (raised.value.field, why in raised.value.expected) == (field, True), raised.value


def test_the_same_answer_pasted_twice_is_one() -> None:
    assert pasted(said("GET", PLAIN) * 2) == pasted(said("GET", PLAIN))


def test_answers_to_another_question_are_told_apart() -> None:
    """The mark is another for each address, origin and header."""
    marks = {
        mark_of(asked_of(url, origin=origin, names=names))
        for url in ("http://a.test/", "http://b.test/")
        for origin in (None, "https://x.test", "null")
        for names in ((), ("authorization",))
    }
    assert len(marks) == 12


CLOSED = both(REFUSED, PLAIN)
ANYONE = both(f"HTTP/1.1 200 OK\n{STAR}{POST}\n", f"HTTP/1.1 405\n{STAR}\n")
CREDS = "access-control-allow-credentials: true\n"


@pytest.mark.parametrize(
    ("text", "kind", "is_open"),
    [
        (CLOSED + both(REFUSED, PLAIN, NULL), "closed", False),
        (CLOSED + echo(NULL), "null_origin", True),
        (ANYONE, "wildcard", True),
        (echo(ORIGIN) + echo(OTHER), "echoes", True),
        (echo(ORIGIN, CREDS) + echo(OTHER, CREDS), "echoes_with_credentials", True),
        (
            echo(ORIGIN) + both(REFUSED, PLAIN, OTHER) + both(REFUSED, PLAIN, NULL),
            "this_origin",
            True,
        ),
        (echo(ORIGIN) + both(REFUSED, PLAIN, OTHER) + echo(NULL), "null_origin", True),
        (echo(ORIGIN) + both("", PLAIN, OTHER) + both("", PLAIN, NULL), "at_least_this_origin", True),
        (both(f"HTTP/1.1 204\nserver: nginx\n{STAR}{POST}\n", PLAIN), "in_front", True),
        (both("HTTP/1.1 404\n\n", "HTTP/1.1 404\n\n") + both(REFUSED, PLAIN, NULL), "cannot_tell", None),
        # The line that curl writes last was written by none of the requests that failed.
        (both("", "curl: (7) Failed to connect to llm.example\n"), "cannot_tell", None),
        (CLOSED + both("", PLAIN, NULL), "cannot_tell", None),
        (said("preflight", f"HTTP/1.1 200 OK\n{STAR}{POST}\n") + said("GET", ""), "cannot_tell", None),
        # curl takes headers that break off for whole ones; only the blank line below them tells.
        (both(f"HTTP/1.1 200 OK\n{STAR}", PLAIN), "cannot_tell", None),
    ],
)
def test_the_verdict_on_whole_answers(text: str, kind: str, *, is_open: bool | None) -> None:
    finding = found(text)
    assert (finding.kind, finding.is_open, finding.missing) == (kind, is_open, ())
    kept = kept_answers(ASKED, pasted(text))
    assert find_pasted(ASKED, pasted(kept)) == finding


GET_MISSING = f"the answer to the GET as {ORIGIN}: whether a page may read the answer to a GET"
PREFLIGHT_MISSING = f"the answer to the preflight as {ORIGIN}: whether a page may send a JSON POST"
NULL_MISSING = (
    "the answers to the preflight and the GET as null: any page can take that origin, in a sandboxed frame"
)
OTHER_MISSING = (
    f"the answers to the GET as {OTHER}:"
    f" they tell a server that lets in {ORIGIN} from one that lets in whoever asks"
)


@pytest.mark.parametrize(
    ("given", "is_open", "so_far", "missing"),
    [
        (
            {"preflight": REFUSED},
            None,
            f"; so far a page at {ORIGIN} may not send a JSON POST.",
            [GET_MISSING],
        ),
        (
            {"plain": f"HTTP/1.1 200 OK\n{STAR}date: x\n"},
            True,
            f"; so far a page at {ORIGIN} may read the answer to a GET.",
            [PREFLIGHT_MISSING],
        ),
        (
            {"preflight": "HTTP/1.1 302\nlocation: /x\n"},
            None,
            "; so far cannot tell: the preflight is redirected (302) to /x: check that address.",
            [GET_MISSING],
        ),
        (
            {"preflight": REFUSED, "plain": PLAIN},
            None,
            f"; so far closed: a page at {ORIGIN} can neither send a JSON POST nor read the answer to a GET.",
            [NULL_MISSING],
        ),
        (
            {"answers": echo(ORIGIN) + said("preflight", REFUSED, OTHER)},
            True,
            f"; so far it lets in {ORIGIN} by name. What it would say to another origin is not known.",
            [OTHER_MISSING],
        ),
        (
            {"answers": echo(ORIGIN) + both(REFUSED, PLAIN, OTHER)},
            True,
            (
                f"; so far lets in this origin: it lets in {ORIGIN}, and not {OTHER}:"
                " the page may send a JSON POST and read the answer to a GET."
            ),
            [NULL_MISSING],
        ),
        (
            {"plain": f"HTTP/1.1 302\n{STAR}location: /x\n"},
            None,
            (
                "; so far cannot tell: the GET is redirected (302) to /x, where a browser takes the page:"
                " whether it reads the answer there is not known: check that address."
            ),
            [PREFLIGHT_MISSING],
        ),
        (
            {"answers": both(REFUSED, PLAIN, NULL)},
            None,
            ": nothing can be said yet.",
            [PREFLIGHT_MISSING, GET_MISSING],
        ),
    ],
)
def test_of_part_of_the_answers_it_says_what_can_be_said_and_what_is_missing(
    given: dict[str, str], so_far: str, missing: list[str], *, is_open: bool | None
) -> None:
    finding = found(given.pop("answers", ""), **given)
    assert (finding.kind, finding.is_open) == (None, is_open)
    assert (finding.sentences[0], list(finding.missing)) == (f"not all is pasted{so_far}", missing)


def test_nothing_pasted_is_empty() -> None:
    assert pasted(" \n\n", preflight="\n", plain=" ").is_empty


def test_the_document_is_that_of_the_command() -> None:
    finding = found(ANYONE)
    preflight = Answer(status=200, headers={**WILD, "access-control-allow-headers": "content-type"})
    asked = judge(Exchange(asked=ASKED, preflight=preflight, plain=Answer(status=405, headers=WILD)))
    document = pasted_document(finding)
    expected = cors_document(asked)
    assert {name: document[name] for name in expected} == expected
    assert (document["missing"], len(document["lines"])) == ([], 5)
    assert (document["may_send_json_post_with_headers"], document["preflight_with_headers"]) == (None, None)
    partly = pasted_document(found(preflight=REFUSED))
    unknown = [name for name, value in partly.items() if value is None]
    headers = ["may_send_json_post_with_headers", "preflight_with_headers"]
    expected_unknown = {*headers, "verdict", "is_open", "may_read_plain_get", "with_credentials", "plain_get"}
    assert set(unknown) == expected_unknown


def test_what_a_browser_makes_of_each_header() -> None:
    """Fetch standard: CORS check, CORS-preflight fetch, CORS protocol and credentials."""
    asked = asked_of("https://llm.example/", names=["authorization", "x-a"])

    def means(text: str, field: str = "preflight_headers") -> dict[str, str]:
        read = read_pasted(asked, answers="", **{field: f"{text}date: x\n"})
        return {each.header: each.means for each in find_pasted(asked, read).lines}

    allowed = f"{STAR}{CREDS}access-control-allow-headers: *\n"
    star = means(f"HTTP/1.1 200\n{allowed}access-control-max-age: 9\n")
    assert means(f"HTTP/1.1 200\n{allowed}", "preflight")["access-control-allow-headers"] == (
        "allows content-type, which is all that the POST asks for"
    )
    assert star == {
        "status": "a success, which a preflight must be",
        "access-control-allow-origin": "every page is let in, without cookies and logins",
        "access-control-allow-headers": (
            "* does not allow authorization: by the standard a POST with it is not sent; Chromium sends it"
            " nevertheless"
        ),
        "access-control-allow-credentials": "nothing beside *: a request with cookies and logins is refused",
        "access-control-max-age": (
            "for how many seconds a browser may go by this answer without asking again"
        ),
    }
    assert means("HTTP/1.1 400\n") == {
        "status": "no success, so the preflight fails whatever its headers say",
        "access-control-allow-origin": "not there: no page on another site is let in",
        "access-control-allow-headers": (
            "does not allow authorization, content-type, x-a, so the POST is not sent"
        ),
    }
    own = means(f"HTTP/1.1 500\naccess-control-allow-origin: {ORIGIN}\n{CREDS}access-control-x: 1\n", "plain")
    assert own == {
        "status": "any status: whether a page may read an answer does not depend on it",
        "access-control-allow-origin": "the very origin that asked is let in",
        "access-control-allow-credentials": (
            "the page is let in with the cookies and logins of whoever opens it"
        ),
        "access-control-x": "nothing in an answer to this request",
    }
    there = means(f"HTTP/1.1 302\nlocation: /x\n{STAR}", "plain")
    assert there["status"] == (
        "a redirect: a page that is let in follows it, and the last answer decides what it may read"
    )
    for value, meaning in ((OTHER, f"not {ORIGIN} to the letter"), (f"{ORIGIN}, *", "more than one origin")):
        assert (
            meaning
            in means(f"HTTP/1.1 200\naccess-control-allow-origin: {value}\n")["access-control-allow-origin"]
        )


def test_any_text_ends_in_an_answer_or_in_a_sentence() -> None:
    """Lines of all kinds in any order: nothing but an InputError of one of the three fields comes out."""
    chance = random.Random(4)  # noqa: S311 - the same texts in each run
    kinds = [
        *("HTTP/1.1 200 OK", "HTTP/2 404", "HTTP/1.1 100 Continue", "HTTP/1.1 999 x", "", "", " ", "<", "< "),
        *("< HTTP/1.1 200", f"< {STAR.strip()}", STAR.strip(), "server: a", "via: b", " folded", "\t", ">"),
        *("> GET / HTTP/1.1", f"> origin: {ORIGIN}", "curl: (52) Empty reply", "* info", "}", "oops", "\x00"),
        *(label("GET", each, mark=MARK) for each in origins(ASKED)),
        *(label("preflight", each, mark=MARK) for each in origins(ASKED)),
        "".join(chance.choices(string.printable, k=50)),
    ]
    answered, refused = 0, list[bool]()
    for _ in range(3_000):
        lines = chance.choices(kinds, k=chance.randrange(1, 14))
        field = chance.choice(["answers", "preflight", "plain"])
        try:
            read = read_pasted(ASKED, **{"answers": "", field: "\n".join(lines)})
        except InputError as error:
            refused.append(error.field.partition(" ")[0] == field)
            continue
        if read.is_empty:
            continue
        answered += 1
        finding = find_pasted(ASKED, read)
        assert finding.sentences
        if field == "answers":
            assert find_pasted(ASKED, pasted(kept_answers(ASKED, read))) == finding
        assert all(is_read(name) for reply in read.replies.values() for name in reply.answer.headers)
    assert answered > 100
    assert all(refused)
    assert len(refused) > 100
