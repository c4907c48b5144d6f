"""What a browser makes of two answers, by the Fetch standard, for answers that no server here gives."""

import pytest

from app.domain.serving.cors import Asked, Exchange, Verdict, asked_of, further_origin, judge
from app.domain.serving.cors_answer import Answer
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


LED_ON = (301, 302, 303, 307, 308)
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
    null = exchange((400, {}), (200, {}), "null")
    found = judge(echo(ORIGIN), other=refused, null=null)
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


def test_every_origin_that_can_make_it_worse_is_asked_as() -> None:
    """Null where nothing is got; an unrelated one where it echoes, and null where that one is shut out."""
    null, other = exchange((400, {}), (200, {}), "null"), exchange((400, {}), (200, {}), OTHER)
    for asked, further, origin in (
        (CLOSED, {}, "null"),
        (CLOSED, {"null": null}, None),
        (null, {}, None),
        (echo(ORIGIN), {}, OTHER),
        (echo(ORIGIN), {OTHER: echo(OTHER)}, None),
        (echo(ORIGIN), {OTHER: other}, "null"),
        (echo(ORIGIN), {OTHER: "none."}, "null"),
        (echo(ORIGIN), {OTHER: other, "null": null}, None),
        (echo("null"), {}, ORIGIN),
        (echo("null"), {ORIGIN: CLOSED}, None),
        (exchange((200, ANYONE), (200, ANYONE)), {}, None),
    ):
        assert further_origin(asked, further) == origin


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        # The same fault for both, beside a refusal by the preflight: the list is what tells them apart.
        ((500, {}), (500, {}), "this_origin"),
        ((401, {}), (500, {}), "at_least_this_origin"),
        ((403, {}), (403, {"server": "cloudflare"}), "at_least_this_origin"),
        # Led on with leave, the other origin may yet read.
        (
            (302, {"location": "/x"}),
            (302, {"location": "/x", "access-control-allow-origin": "{other}"}),
            "at_least_this_origin",
        ),
        ((302, {"location": "/x"}), (302, {"location": "/x"}), "this_origin"),
        ((401, {}), (401, {"access-control-allow-origin": "{other}, *"}), "at_least_this_origin"),
    ],
)
def test_what_another_origin_got_counts_where_the_first_did_not_get_the_same(
    first: tuple[int, dict[str, str]], second: tuple[int, dict[str, str]], kind: str
) -> None:
    """Both GETs, beside a preflight that lets the first in and refuses the other."""
    preflight = (200, {**ANYONE, "access-control-allow-origin": ORIGIN})
    headers = {name: value.replace("{other}", OTHER) for name, value in second[1].items()}
    other = exchange((400, {}), (second[0], headers), OTHER)
    null = exchange((400, {}), first, "null")
    assert short(judge(exchange(preflight, first), other=other, null=null)) == (kind, True)


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
        # Fetch, HTTP-redirect fetch: of these five a browser goes on to the location, where there is one.
        *(((405, {}), (each, {**ANYONE, "location": "/"}), "cannot_tell", None) for each in LED_ON),
        ((405, {}), (302, ANYONE), "wildcard", True),
        ((405, {}), (300, {**ANYONE, "location": "/"}), "wildcard", True),
        ((200, ANYONE), (302, {**ANYONE, "location": "/"}), "wildcard", True),
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
    sent = {"origin": ORIGIN, "access-control-request-method": "POST"}
    every = "authorization,content-type,x-b"
    assert asked.requests == {
        "preflight": ("OPTIONS", {**sent, "access-control-request-headers": "content-type"}),
        "preflight with headers": ("OPTIONS", {**sent, "access-control-request-headers": every}),
        "GET": ("GET", {"origin": ORIGIN}),
    }
    assert list(asked_of("http://127.0.0.1/", names=["Content-Type"]).requests) == ["preflight", "GET"]


STAR = {"access-control-allow-origin": "*"}
NAMES = "access-control-allow-headers"
LIST = {**STAR, NAMES: "DNT,Cache-Control,Content-Type,Range"}
MIRRORED = {**STAR, NAMES: "authorization,content-type"}
ECHO = {"access-control-allow-origin": ORIGIN, "access-control-allow-credentials": "true"}


ONLY_KEY = (204, {**STAR, NAMES: "authorization"})


# By the Fetch standard, by hand: a browser asks for content-type alone where the page adds no authorization,
# and for both where it does. "CORS-preflight fetch": the status must be ok, the origin let in, each name on
# the list, for which * stands but not for authorization, nor for any name where cookies go along.
@pytest.mark.parametrize(
    ("bare", "full", "plain", "kind", "posts"),
    [
        ((204, {**STAR, NAMES: "*"}), (204, {**STAR, NAMES: "*"}), (401, {}), "wildcard", (True, False)),
        ((204, LIST), (204, LIST), (200, STAR), "wildcard", (True, False)),
        ((200, MIRRORED), (200, MIRRORED), (401, {}), "wildcard", (True, True)),
        ((200, {**STAR, NAMES: "content-type"}), (400, STAR), (405, STAR), "wildcard", (True, False)),
        # A server may as well refuse the one without: a page then sends the one with it.
        ((400, {}), (200, MIRRORED), (401, {}), "wildcard", (False, True)),
        (ONLY_KEY, ONLY_KEY, (401, {}), "closed", None),
        ((400, {}), (400, {}), (200, {}), "closed", None),
        ((200, STAR), (200, STAR), (401, {}), "closed", None),
        # Chromium 156 sends this one with authorization, which the standard refuses: not to be called closed.
        ((400, {}), (204, {**STAR, NAMES: "*"}), (401, {}), "cannot_tell", None),
        # Only the one without it is sent with cookies.
        (
            (200, {**ECHO, NAMES: "content-type"}),
            (200, {**ECHO, NAMES: "*"}),
            (401, {}),
            "echoes_with_credentials",
            (True, False),
        ),
        (
            (200, {**STAR, NAMES: "content-type"}),
            (200, {**ECHO, NAMES: "authorization,content-type"}),
            (401, {}),
            "echoes_with_credentials",
            (True, True),
        ),
        # What answers the one of them only is something in front, or at fault.
        ((400, {}), (502, {}), (200, {}), "in_front", None),
        ((400, {}), (403, {"cf-mitigated": "challenge"}), (200, {}), "in_front", None),
    ],
)
def test_the_worst_that_a_page_can_do_counts(
    bare: tuple[int, dict[str, str]],
    full: tuple[int, dict[str, str]],
    plain: tuple[int, dict[str, str]],
    kind: str,
    posts: tuple[bool, bool] | None,
) -> None:
    asked = Asked(url="http://127.0.0.1/", origin=ORIGIN, names=("authorization", "content-type"))
    first, second, third = (Answer(status=status, headers=headers) for status, headers in (bare, full, plain))
    found = judge(Exchange(asked=asked, preflight=first, full=second, plain=third))
    assert found.kind == kind
    assert (found.exchange.may_post_bare, found.exchange.may_post_full) == (posts or (False, False))
    assert found.is_open is {"closed": False, "in_front": None, "cannot_tell": None}.get(kind, True)
    ways = {
        (True, True): "send a JSON POST with authorization or without",
        (True, False): "send a JSON POST without authorization",
        (False, True): "send a JSON POST with authorization,",
    }
    if posts is not None:
        assert f"the page may {ways[posts]}" in found.sentences[0]
    elif kind == "closed":
        assert "can neither send a JSON POST with authorization or without nor" in found.sentences[0]


CLOUDFLARE = {"server": "cloudflare", "cf-ray": "8abc-FRA"}
HTML = {"content-type": "text/html; charset=utf-8"}


# Whose answer each is, by what the makers of these gateways say that they send; None: not the server's own.
@pytest.mark.parametrize(
    ("preflight", "plain", "is_open"),
    [
        ((403, {"cf-mitigated": "challenge", **CLOUDFLARE}), (403, {"cf-mitigated": "challenge"}), None),
        ((200, {"cf-mitigated": "challenge"}), (200, {}), None),
        ((400, {}), (403, {"cf-mitigated": "challenge"}), None),
        ((202, {"x-amzn-waf-action": "challenge"}), (202, {"x-amzn-waf-action": "challenge"}), None),
        ((429, {"x-vercel-mitigated": "challenge"}), (429, {"x-vercel-mitigated": "challenge"}), None),
        ((401, {"x-goog-iap-generated-response": "true"}), (401, {}), None),
        ((401, {"x-kong-response-latency": "1"}), (401, {"x-kong-response-latency": "1"}), None),
        *(((status, CLOUDFLARE), (status, CLOUDFLARE), None) for status in (403, 429, 503, 521, 530)),
        *(((status, {"server": "AkamaiGHost"}), (status, {}), None) for status in (400, 403, 503)),
        *(((status, {"server": "awselb/2.0"}), (200, {}), None) for status in (401, 403, 404, 405, 503)),
        ((403, {"server": "CloudFront", "x-cache": "Error from cloudfront"}), (403, {}), None),
        ((403, {"x-amz-cf-id": "a"}), (403, {"x-amz-cf-id": "b"}), None),
        ((403, {"server": "Google Frontend"}), (403, {}), None),
        *(((status, {}), (status, {}), None) for status in (407, 502, 503, 504, 511, 520, 527)),
        ((403, {**CLOUDFLARE, "server": "uvicorn, cloudflare"}), (403, {}), None),
        # A web page for each: a captive portal, a parked name, a filter's refusal, a login.
        ((200, HTML), (200, HTML), None),
        ((403, HTML), (403, HTML), None),
        ((401, HTML), (403, HTML), None),
        # A server behind the same, which answered itself.
        ((400, CLOUDFLARE), (200, CLOUDFLARE), False),
        ((405, CLOUDFLARE), (401, CLOUDFLARE), False),
        ((200, CLOUDFLARE), (200, CLOUDFLARE), False),
        ((400, {"x-amz-cf-id": "a", "via": "1.1 x"}), (200, {"x-amz-cf-id": "b", "via": "1.1 x"}), False),
        ((403, {"server": "uvicorn", "x-amz-cf-id": "a"}), (403, {"server": "uvicorn"}), False),
        ((400, {"server": "nginx"}), (200, {"server": "nginx"}), False),
        ((403, {}), (403, {}), False),
        ((401, {}), (401, {}), False),
        # Frameworks answer OPTIONS with a list of methods, whatever they call its type.
        ((200, {**HTML, "allow": "GET, HEAD, OPTIONS"}), (200, HTML), False),
        ((405, HTML), (200, HTML), False),
        ((200, HTML), (200, {"content-type": "application/json"}), False),
        # Who is let in is let in, whoever says it.
        ((200, {**ANYONE, **CLOUDFLARE}), (200, {**STAR, **CLOUDFLARE}), True),
        ((403, CLOUDFLARE), (403, {**STAR, **CLOUDFLARE}), True),
        ((200, {**ANYONE, **HTML}), (200, {**STAR, **HTML}), True),
    ],
)
def test_who_speaks_for_itself_in_front_and_who_does_not(
    preflight: tuple[int, dict[str, str]], plain: tuple[int, dict[str, str]], *, is_open: bool | None
) -> None:
    found = judge(exchange(preflight, plain))
    assert found.is_open is is_open
    assert (found.kind == "in_front") is (is_open is None)
    assert (found.kind == "closed") is (is_open is False)


def test_a_wildcard_of_headers_allows_none_where_cookies_go_along() -> None:
    """Fetch, CORS-preflight fetch: with credentials `*` is but a header of that name."""
    origin = {"access-control-allow-origin": ORIGIN}
    said = {**origin, "access-control-allow-credentials": "true", "access-control-allow-headers": "*"}
    found = exchange((200, said), (404, origin))
    assert (found.may_post, found.with_credentials) == (True, False)
    assert judge(found).kind == "echoes"
    listed = exchange((200, said | {"access-control-allow-headers": "content-type"}), (404, origin))
    assert (listed.with_credentials, judge(listed).kind) == (True, "echoes_with_credentials")
    means = {each.header: each.means for each in readings(found.asked, {"preflight": found.preflight})}
    assert means["access-control-allow-credentials"].startswith("not for this POST")
    refused = exchange((400, said), (404, {}))
    told = [each.means for each in readings(refused.asked, {"preflight": refused.preflight})]
    assert "nothing, as the preflight fails" in told
