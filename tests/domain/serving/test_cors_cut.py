"""Answers that were pasted with lines left out, or not all of them, and what is then known of a server."""

import pytest

from app.domain.serving.cors import asked_of
from app.domain.serving.cors_curl import label, mark_of, origins
from app.domain.serving.cors_found import Finding, find_pasted
from app.domain.serving.cors_pasted import Pasted, read_pasted

ASKED = asked_of("https://llm.example/v1/chat/completions")
KEYED = asked_of(ASKED.url, names=["authorization"])
ORIGIN, NULL, _ = origins(ASKED)
STAR = "access-control-allow-origin: *\n"
POST = "access-control-allow-headers: content-type\n"
CREDS = "access-control-allow-credentials: true\n"
REFUSED = "HTTP/1.1 400 Bad Request\nserver: uvicorn\n\n"
PLAIN = "HTTP/1.1 200 OK\nserver: uvicorn\n\n"
GET_MISSING = f"the answer to the GET as {ORIGIN}: whether a page may read the answer to a GET"


def pasted(answers: str = "", **one_each: str) -> Pasted:
    return read_pasted(ASKED, answers=answers, **one_each)


def found(answers: str = "", **one_each: str) -> Finding:
    return find_pasted(ASKED, pasted(answers, **one_each))


def both(text: str, origin: str) -> str:
    """Give an answer to the preflight and to the GET as the curl line writes them."""
    mark = mark_of(ASKED)
    return f"{text}{label('preflight', origin, mark=mark)}\n{text}{label('GET', origin, mark=mark)}\n"


def test_the_output_of_a_search_for_one_line_is_no_refusal() -> None:
    """What the article's own check prints of an open server, as it greps for status and allowed origin."""
    finding = found(preflight=f"HTTP/1.1 200 OK\n{STAR.strip()}")
    assert (finding.kind, finding.is_open, finding.own.may_post) == (None, None, None)
    assert finding.sentences[0] == (
        f"not all is pasted; so far cannot tell: whether a page at {ORIGIN} may send a JSON POST is not"
        " known: access-control-allow-headers is missing from what was pasted. The line"
        " access-control-allow-origin: * by itself reads as open: take it so until the whole answer is here."
    )
    assert finding.missing == (
        (
            f"the whole answer to the preflight as {ORIGIN}, with every line of its headers,"
            " access-control-allow-headers too if it was sent: lines were left out, as by grep"
        ),
        GET_MISSING,
    )
    means = {each.header: each.means for each in finding.lines}
    assert means["access-control-allow-headers"] == "not in what was pasted, of which lines were left out"


ECHOED = f"access-control-allow-origin: {ORIGIN}\n"
FIXED = "access-control-allow-origin: https://chat.example\n"


# By the Fetch standard: what each line settles by itself, and what a line that may be missing leaves open.
@pytest.mark.parametrize(
    ("field", "text", "may"),
    [
        ("preflight", STAR, None),
        ("preflight", ECHOED, None),
        ("preflight", f"{ECHOED}{CREDS}", None),
        ("preflight", f"{ECHOED}vary: Origin\n", None),
        ("preflight", f"{STAR}vary: access-control-request-headers\n\n", None),
        ("preflight", "", None),
        ("preflight", POST, None),
        ("preflight", f"{STAR}{POST}", True),
        ("preflight", f"{STAR}access-control-allow-headers: *\n", True),
        ("preflight", f"{STAR}access-control-allow-headers: x-a\n", False),
        ("preflight", FIXED, False),
        # Whole ones: a header that nobody asked about shows that none was left out.
        ("preflight", f"{STAR}date: x\n", False),
        ("preflight", f"{STAR}content-length: 0\n", False),
        ("preflight", f"{STAR}vary: Accept-Encoding\n", False),
        ("preflight", "server: uvicorn\n", False),
        ("plain", "", None),
        ("plain", CREDS, None),
        ("plain", STAR, True),
        ("plain", ECHOED, True),
        ("plain", FIXED, False),
        # Status 200 is none that leads on, whatever the location.
        ("plain", f"{STAR}location: /x\n", True),
        ("plain", "content-type: application/json\n", False),
    ],
)
def test_a_line_that_may_have_been_left_out_decides_nothing(
    field: str, text: str, *, may: bool | None
) -> None:
    read = pasted(**{field: f"HTTP/1.1 200 OK\n{text}"})
    finding = find_pasted(ASKED, read)
    assert (finding.own.may_post if field == "preflight" else finding.own.may_read) is may
    assert (finding.kind, finding.is_open) == (None, True if may else None)
    # The link leads to the same.
    (reply,) = read.replies.values()
    assert find_pasted(ASKED, pasted(**{field: reply.text})) == finding


def test_a_get_that_is_led_on_may_have_lost_where_to() -> None:
    """Fetch: with a location a browser goes on, without one it shows the answer; the line may be left out."""
    cut = found(plain=f"HTTP/1.1 302 Found\n{STAR}")
    assert (cut.own.may_read, cut.is_open) == (None, None)
    assert "the GET is redirected (302) to an address that was left out" in cut.sentences[0]
    whole = found(plain=f"HTTP/1.1 302 Found\n{STAR}date: x\n")
    assert (whole.own.may_read, whole.is_open) == (True, True)


@pytest.mark.parametrize("status", [400, 401, 403, 405])
def test_a_preflight_that_is_no_success_fails_whatever_was_left_out(status: int) -> None:
    """The article's reading of a server that is locked down: 400, and no line of who is let in."""
    finding = found(preflight=f"HTTP/1.1 {status} X", plain="HTTP/1.1 200 OK")
    assert (finding.own.may_post, finding.own.may_read) == (False, None)
    # The GET may yet be open, so it is not called closed.
    assert (finding.kind, finding.is_open, len(finding.missing)) == (None, None, 2)


def test_no_cut_answer_leads_to_closed() -> None:
    """Whatever is cut, and whatever stands beside it."""
    cut = ["HTTP/1.1 400 X", "HTTP/1.1 200 OK", f"HTTP/1.1 200 OK\n{FIXED}", f"HTTP/1.1 200 OK\n{STAR}"]
    for one, other in [*((each, PLAIN) for each in cut), *((PLAIN, each) for each in cut)]:
        finding = found(preflight=one, plain=other)
        assert (finding.kind, finding.is_open in {None, True}) == (None, True)
        assert "so far closed" not in finding.sentences[0]


def test_another_origin_that_is_named_may_be_the_one_that_was_sent() -> None:
    finding = found(preflight=f"HTTP/1.1 200 OK\n{FIXED}{POST}date: x\n", plain=PLAIN)
    assert finding.sentences[-1] == (
        "It names https://chat.example. If that is the origin that was sent, it may be an echo of any:"
        " give that origin above."
    )


MIRRORED = f"HTTP/1.1 200 OK\n{STAR}access-control-allow-headers: authorization, content-type\ndate: x\n"


@pytest.mark.parametrize(
    ("given", "is_open", "posts", "missing"),
    [
        ({"preflight_headers": MIRRORED}, True, (True, True), ["preflight", "GET"]),
        ({"preflight_headers": REFUSED}, None, (None, False), ["preflight", "GET"]),
        ({"preflight": REFUSED, "plain": PLAIN}, None, (None, None), ["preflight with headers"]),
        ({"preflight": REFUSED, "preflight_headers": REFUSED}, None, (False, False), ["GET"]),
        ({"preflight": MIRRORED, "preflight_headers": REFUSED}, True, (True, False), ["GET"]),
    ],
)
def test_a_refusal_of_further_headers_alone_closes_nothing(
    given: dict[str, str], posts: tuple[bool | None, bool | None], missing: list[str], *, is_open: bool | None
) -> None:
    finding = find_pasted(KEYED, read_pasted(KEYED, answers="", **given))
    assert (finding.kind, finding.is_open) == (None, is_open)
    assert (finding.own.may_post, finding.own.may_post_full) == posts
    assert [
        each.partition(" as ")[0].removeprefix("the answer to the ") for each in finding.missing
    ] == missing


def test_an_open_preflight_without_further_headers_is_open_whatever_the_other_says() -> None:
    given = {"preflight": MIRRORED, "preflight_headers": REFUSED, "plain": PLAIN.replace("200 OK", "401 X")}
    finding = find_pasted(KEYED, read_pasted(KEYED, answers="", **given))
    assert (finding.kind, finding.is_open, finding.missing) == ("wildcard", True, ())
    assert "send a JSON POST without authorization" in finding.sentences[0]


def test_a_challenge_that_is_pasted_is_not_called_closed() -> None:
    text = "HTTP/2 403\nserver: cloudflare\ncf-ray: 9a1-FRA\ncf-mitigated: challenge\n\n<!DOCTYPE html>"
    for given in ({"preflight": text}, {"plain": text}, {"preflight": text, "plain": text}):
        finding = found(**given)
        assert (finding.kind, finding.is_open) == (None, None)
        assert finding.sentences[0].startswith(
            "not all is pasted; so far answered by something in front: the "
        )
    whole = found(both(f"{text}\n", ORIGIN) + both(f"{text}\n", NULL))
    assert (whole.kind, whole.is_open) == ("in_front", None)
