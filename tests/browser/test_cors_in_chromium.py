"""The CORS check against a browser: what it says that a page may do, a page in Chromium does, and no more."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from app.domain.serving.cors import asked_of, may_post_with_credentials
from app.ingest.cors import check_cors
from app.ingest.fetched import Limits
from tests.web.server import listening

LIMITS = Limits(user_agent="InferPrice/test", delay_s=0, timeout_s=10, max_body_bytes=1_000)
ORIGIN, NAMES = "access-control-allow-origin", "access-control-allow-headers"
STAR = {ORIGIN: "*"}
CREDS = {ORIGIN: "{origin}", "access-control-allow-credentials": "true"}
Reply = tuple[int, dict[str, str]]

# The answer to a preflight for content-type alone, to one for authorization as well, and to all else. Then by
# hand, from the Fetch standard: whether a page's POST without and with authorization arrives, the first also
# with cookies, and whether the page can read the GET. One that is led on with leave is decided by the last.
CASES: dict[str, tuple[Reply, Reply, Reply, tuple[bool, bool, bool, bool]]] = {
    "wild": ((204, {**STAR, NAMES: "*"}),) * 2 + ((401, {}), (True, False, False, False)),
    "listed": ((200, {**STAR, NAMES: "Content-Type"}),) * 2 + ((405, STAR), (True, False, False, True)),
    "mirrored": (
        (200, {**STAR, NAMES: "content-type"}),
        (200, {**STAR, NAMES: "authorization,content-type"}),
        (200, STAR),
        (True, True, False, True),
    ),
    "refused by name": (
        (200, {**STAR, NAMES: "content-type"}),
        (400, {**STAR, NAMES: "content-type"}),
        (200, {}),
        (True, False, False, False),
    ),
    "refused without": (
        (400, STAR),
        (200, {**STAR, NAMES: "authorization,content-type"}),
        (200, {}),
        (False, True, False, False),
    ),
    "refused without, wild": (
        (400, STAR),
        (200, {**STAR, NAMES: "*"}),
        (200, {}),
        (False, False, False, False),
    ),
    "key alone": ((200, {**STAR, NAMES: "authorization"}),) * 2 + ((200, {}), (False, False, False, False)),
    "origin alone": ((200, STAR),) * 2 + ((200, STAR), (False, False, False, True)),
    "closed": ((400, {}),) * 2 + ((200, {}), (False, False, False, False)),
    "redirected": ((307, {**STAR, NAMES: "*", "location": "/elsewhere"}),) * 2
    + ((200, {}), (False, False, False, False)),
    "led on to a closed one": ((405, {}),) * 2
    + ((302, {**STAR, "location": "/closed"}), (False, False, False, False)),
    "led on to an open one": ((405, {}),) * 2
    + ((307, {**STAR, "location": "/listed"}), (False, False, False, True)),
    "led on without leave": ((405, {}),) * 2 + ((301, {"location": "/listed"}), (False, False, False, False)),
    "led to nowhere": ((405, {}),) * 2 + ((302, STAR), (False, False, False, True)),
    "no redirect": ((405, {}),) * 2 + ((300, {**STAR, "location": "/closed"}), (False, False, False, True)),
    "cookies": ((200, {**CREDS, NAMES: "content-type"}),) * 2 + ((200, CREDS), (True, False, True, True)),
    "cookies, wild": ((200, {**CREDS, NAMES: "*"}),) * 2 + ((200, CREDS), (True, False, False, True)),
}
LENIENT = ("wild", "cookies, wild", "refused without, wild")
"""Where Chromium may send what the standard refuses: in 156 at least, its * covers authorization, too."""

LED_ON = ("led on to a closed one", "led on to an open one")
"""Where the last answer decides whether the GET is read, so the check does not tell."""

FETCHES = """async url => {
  const post = (headers, credentials) => fetch(url, {
    method: "POST", body: "{}", credentials, headers: {"content-type": "application/json", ...headers},
  }).then(() => true, () => false);
  await post({}, "omit");
  await post({authorization: "Bearer x"}, "omit");
  await post({}, "include");
  return await fetch(url).then(() => true, () => false);
}"""


class Server:
    """Answers below each case's name as the case says, and keeps which POSTs arrived."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, bool]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self._reply(Request(scope))(scope, receive, send)

    def _reply(self, request: Request) -> Response:
        name = request.url.path.strip("/")
        if name not in CASES:
            return HTMLResponse("<!doctype html><title>a page of another site</title>")
        bare, full, rest, _ = CASES[name]
        status, headers = rest
        if request.method == "OPTIONS":
            wanted = request.headers["access-control-request-headers"]
            status, headers = full if "authorization" in wanted else bare
        elif request.method == "POST":
            self.posts.append((name, "authorization" in request.headers))
        return Response(status_code=status, headers=_filled(headers, request))


def _filled(headers: Mapping[str, str], request: Request) -> dict[str, str]:
    origin = request.headers.get("origin", "")
    return {key: value.replace("{origin}", origin) for key, value in headers.items()}


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A page of a site of its own: another port is another origin."""
    context = browser.new_context()
    with listening(Server()) as site:
        opened = context.new_page()
        opened.goto(f"{site}/")
        yield opened
    context.close()


@pytest.mark.parametrize("name", CASES)
def test_a_page_gets_what_the_check_says_and_no_more(name: str, page: Page) -> None:
    bare, full, cookies, reads = CASES[name][3]
    server = Server()
    with listening(server) as address:
        url = f"{address}/{name}"
        may_read = page.evaluate(FETCHES, url)
        origin = page.evaluate("location.origin")
        asked = asked_of(url, origin=origin, names=["authorization"])
        # The browser's own loop runs in this thread.
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(check_cors, asked, LIMITS).result().exchange
    assert found.asked.origin in {origin, "null"}
    # Those without authorization are two, the one without cookies and the one with them.
    sent = [has_key for _, has_key in server.posts]
    assert sent.count(False) == int(bare) + int(cookies)
    assert sent.count(True) in ({0, 1} if name in LENIENT else {int(full)})
    assert may_read is reads
    with_cookies = may_post_with_credentials(found.asked.bare, found.preflight)
    assert (found.may_post_bare, found.may_post_full, with_cookies) == (bare, full, cookies)
    assert found.may_read is (None if name in LED_ON else reads)


FRAMED = """url => new Promise(resolve => {
  addEventListener("message", said => resolve(said.data), {once: true});
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  frame.srcdoc = `<script>fetch(${JSON.stringify(url)}).then(
    () => parent.postMessage(true, "*"), () => parent.postMessage(false, "*"))</` + `script>`;
  document.body.append(frame);
})"""


class Listed:
    """Lets in by name the origins of a list, with cookies and logins."""

    def __init__(self, *listed: str) -> None:
        self.listed = listed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            origin = request.headers.get("origin", "")
            headers = {**CREDS, NAMES: "content-type"} if origin in self.listed else {}
            await Response(headers=_filled(headers, request))(scope, receive, send)


@pytest.mark.parametrize(
    ("listed", "kind", "reads"),
    [
        (("https://chat.example", "null"), "null_origin", True),
        (("https://chat.example",), "this_origin", False),
    ],
)
def test_a_list_with_null_is_read_by_a_sandboxed_frame_of_any_site(
    listed: tuple[str, ...], kind: str, page: Page, *, reads: bool
) -> None:
    with listening(Listed(*listed)) as address:
        assert page.evaluate(FETCHES, f"{address}/v1") is False
        assert page.evaluate(FRAMED, f"{address}/v1") is reads
        asked = asked_of(f"{address}/v1", origin="https://chat.example")
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(check_cors, asked, LIMITS).result().kind == kind
