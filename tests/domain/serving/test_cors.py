"""What a browser makes of two answers, by the Fetch standard, for answers that no server here gives."""

import pytest

from app.domain.serving.cors import Answer, Asked, Exchange, Verdict, asked_of, judge
from app.domain.serving.cors_found import readings

ORIGIN = "https://some-page.example"
OTHER = "https://no-such-page.invalid"
ANYONE = {"access-control-allow-origin": "*", "access-control-allow-headers": "content-type"}


def exchange(
    preflight: tuple[int, dict[str, str]], plain: tuple[int, dict[str, str]], origin: str = ORIGIN
) -> Exchange:
    asked = Asked(url="http://127.0.0.1/", origin=origin, names=("content-type",))
    first, second = (Answer(status=status, headers=headers) for status, headers in (preflight, plain))
    return Exchange(asked=asked, preflight=first, plain=second)


def echo(origin: str, **more: str) -> Exchange:
    said = {
        "access-control-allow-origin": origin,
        "access-control-allow-headers": "Content-Type",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return exchange((200, said), (200, said), origin)


CLOSED = exchange((400, {}), (200, {}))


def short(found: Verdict) -> tuple[str, bool | None]:
    return found.kind, found.is_open


def test_a_status_that_is_no_success_fails_the_preflight_whatever_its_headers() -> None:
    for status, may_post in ((200, True), (204, True), (299, True), (300, False), (400, False), (101, False)):
        assert exchange((status, ANYONE), (200, ANYONE)).may_post is may_post


def test_an_answer_is_read_whatever_its_status() -> None:
    assert exchange((400, {}), (500, ANYONE)).may_read


def test_an_origin_is_compared_to_the_letter() -> None:
    for said in (
        "https://some-page.example/",
        "https://SOME-PAGE.example",
        "https://some-page.example:443",
        "",
    ):
        assert not exchange((200, {"access-control-allow-origin": said}), (200, {})).is_open
    spaced = {"access-control-allow-origin": f" {ORIGIN} "}
    assert exchange((400, {}), (200, spaced)).may_read


@pytest.mark.parametrize(
    ("said", "with_credentials"), [("true", True), ("True", False), ("1", False), ("", False)]
)
def test_only_one_spelling_allows_credentials(said: str, *, with_credentials: bool) -> None:
    found = judge(echo(ORIGIN, access_control_allow_credentials=said), other=echo(OTHER))
    assert found.exchange.with_credentials is with_credentials
    assert found.kind == ("echoes_with_credentials" if with_credentials else "echoes")


def test_an_echo_is_of_any_origin_unless_an_unrelated_one_is_refused() -> None:
    assert short(judge(echo(ORIGIN))) == short(judge(echo(ORIGIN), other=echo(OTHER))) == ("echoes", True)
    refused = exchange((400, {}), (200, {}), OTHER)
    found = judge(echo(ORIGIN), other=refused)
    assert short(found) == ("this_origin", True)
    assert found.sentences[0].startswith(
        f"lets in this origin: it lets in {ORIGIN}, and not {OTHER}: the page"
    )


def test_a_closed_server_that_takes_the_origin_null_is_open() -> None:
    assert short(judge(CLOSED)) == ("closed", False)
    assert short(judge(CLOSED, null=exchange((400, {}), (200, {}), "null"))) == ("closed", False)
    found = judge(CLOSED, null=echo("null"))
    assert short(found) == ("null_origin", True)
    assert found.exchange.asked.origin == "null"


def test_the_worse_of_two_answers_counts() -> None:
    said = {"access-control-allow-origin": ORIGIN, "access-control-allow-credentials": "true"}
    assert short(judge(exchange((200, ANYONE), (200, said)))) == ("echoes_with_credentials", True)


@pytest.mark.parametrize(
    ("preflight", "plain", "kind", "is_open"),
    [
        ((200, ANYONE), (200, {**ANYONE, "via": "1.1 edge"}), "in_front", True),
        ((200, {**ANYONE, "cf-ray": "1"}), (200, ANYONE), "in_front", True),
        ((200, {**ANYONE, "via": "1.1 edge"}), (200, {**ANYONE, "via": "1.1 edge"}), "wildcard", True),
        ((200, {**ANYONE, "server": "a/1"}), (200, {**ANYONE, "server": "A/2"}), "wildcard", True),
        ((200, {**ANYONE, "server": "a"}), (200, ANYONE), "wildcard", True),
        # A key that is asked for before the layer leaves its header out; a page that is read does not.
        ((200, ANYONE), (401, {}), "wildcard", True),
        ((200, ANYONE), (200, {}), "in_front", True),
        ((400, {}), (504, {}), "in_front", None),
        ((407, {}), (200, {}), "in_front", None),
        ((400, {}), (500, {}), "cannot_tell", None),
        ((404, {}), (404, {}), "cannot_tell", None),
        ((400, {}), (404, {}), "closed", False),
        ((404, {}), (200, {}), "closed", False),
        ((405, {}), (405, {}), "closed", False),
        ((502, {}), (200, ANYONE), "wildcard", True),
        ((400, {}), (200, {"access-control-allow-origin": f"{ORIGIN}, *"}), "in_front", None),
        ((400, {}), (304, {}), "cannot_tell", None),
    ],
)
def test_who_answered_and_what_that_leaves(
    preflight: tuple[int, dict[str, str]],
    plain: tuple[int, dict[str, str]],
    kind: str,
    *,
    is_open: bool | None,
) -> None:
    assert short(judge(exchange(preflight, plain))) == (kind, is_open)


def test_what_a_server_says_of_itself_is_shown_short_and_printable() -> None:
    found = judge(exchange((302, {"location": "\x1b[31m" + "a" * 5_000}), (200, {"server": "\x07" * 5_000})))
    assert short(found) == ("cannot_tell", None)
    assert all(each.isprintable() and len(each) < 400 for each in found.sentences)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("HTTPS://Evil.test", "https://evil.test"),
        ("https://evil.test:443", "https://evil.test"),
        ("http://evil.test:80", "http://evil.test"),
        ("http://evil.test:443", "http://evil.test:443"),
        ("https://evil.test:8443", "https://evil.test:8443"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("null", "null"),
        (None, ORIGIN),
    ],
)
def test_an_origin_is_asked_as_browsers_write_it(given: str | None, asked: str) -> None:
    assert asked_of("http://127.0.0.1:8000/v1/models", origin=given).origin == asked


def test_headers_are_asked_for_as_browsers_do() -> None:
    asked = asked_of("http://127.0.0.1/", names=["X-B", "authorization", "x-b"])
    assert asked.preflight() == {
        "origin": ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-b",
    }
    assert asked.plain() == {"origin": ORIGIN}


def test_a_wildcard_of_headers_allows_none_where_cookies_go_along() -> None:
    """Fetch, CORS-preflight fetch: with credentials `*` is but a header of that name."""
    origin = {"access-control-allow-origin": ORIGIN}
    said = {**origin, "access-control-allow-credentials": "true", "access-control-allow-headers": "*"}
    found = exchange((200, said), (404, origin))
    assert (found.may_post, found.with_credentials) == (True, False)
    assert judge(found).kind == "echoes"
    listed = exchange((200, said | {"access-control-allow-headers": "content-type"}), (404, origin))
    assert (listed.with_credentials, judge(listed).kind) == (True, "echoes_with_credentials")
    means = {each.header: each.means for each in readings(found.asked, preflight=found.preflight, plain=None)}
    assert means["access-control-allow-credentials"].startswith("not for this POST")
    refused = exchange((400, said), (404, {}))
    told = [each.means for each in readings(refused.asked, preflight=refused.preflight, plain=None)]
    assert "nothing, as the preflight fails" in told
