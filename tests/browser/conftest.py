"""A real browser before the filled market; every page is listened to, and may not complain."""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from app.web.main import create_app
from tests.browser import chromium
from tests.web import market
from tests.web.conftest import settings_for
from tests.web.server import listening

ContextOf = Callable[..., BrowserContext]
"""Takes a width and `scripts`, gives the context of that kind."""

SCREENSHOTS = "INFERPRICE_SCREENSHOTS"
SIZES = {1280: {"width": 1280, "height": 900}, 390: {"width": 390, "height": 844}}
TIMEOUT_MS = 5000
VENDOR = Path(__file__).parent.parent / "vendor"


@dataclass(slots=True)
class Visit:
    """A page under test with what its console said."""

    page: Page
    base: str
    said: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("console", lambda message: self._note(message))  # noqa: PLW0108 - a method cannot be marked
        page.on("pageerror", lambda error: self.said.append(f"page error: {error}"))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.said.append(f"{message.type}: {message.text}")

    def go(self, path: str) -> None:
        self.page.goto(self.base + path)

    def ids(self) -> list[str]:
        """Return the ids of the table's rows in order, once the page has come to its end."""
        self.page.wait_for_load_state()  # a link that was clicked is only known to have been answered
        return list(
            self.page.eval_on_selector_all("table.offers > tbody > tr[id^=o]", "rows => rows.map(r => r.id)")
        )

    def path(self) -> str:
        return self.page.url.removeprefix(self.base)

    def shoot(self, name: str) -> None:
        """Save a picture when somebody asked for pictures."""
        folder = os.environ.get(SCREENSHOTS)
        if folder:
            place = (
                Path(folder)
                if Path(folder).is_dir()
                else Path(tempfile.gettempdir()) / "inferprice-screenshots"
            )
            place.mkdir(exist_ok=True)
            width = (self.page.viewport_size or {"width": 0})["width"]
            self.page.screenshot(path=place / f"{name}-{width}.png")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A Chromium for the tests of this folder; where there is none they are skipped, in CI they fail."""
    with sync_playwright() as playwright:
        found = chromium.find(playwright)
        if found is None and os.environ.get("CI"):
            pytest.fail(chromium.NONE_HERE, pytrace=False)
        if found is None:
            pytest.skip(chromium.NONE_HERE)
        launched = playwright.chromium.launch(executable_path=found, args=list(chromium.FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the filled market."""
    url = f"sqlite:///{tmp_path_factory.mktemp('browser') / 'market.db'}"
    market.fill(url)
    with listening(create_app(settings_for(url), clock=lambda: market.NOW)) as address:
        yield address


@pytest.fixture(scope="package")
def axe() -> str:
    """The axe-core script, which the build hook puts beside the tests."""
    manifest = VENDOR / "manifest.json"
    assert manifest.exists(), "axe-core is not here: pip install -e . brings it (package-lock.json names it)"
    files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
    return (VENDOR / files["axe.js"]["file"]).read_text(encoding="utf-8")


@pytest.fixture(params=list(SIZES))
def width(request: pytest.FixtureRequest) -> int:
    """Width of the window: a desk's and a telephone's."""
    return int(request.param)


def open_context(
    browser: Browser, width: int, *, scripts: bool = True, scheme: str = "light"
) -> BrowserContext:
    context = browser.new_context(
        viewport=SIZES[width],  # type: ignore[arg-type]  # a plain dictionary will do
        java_script_enabled=scripts,
        color_scheme=scheme,  # type: ignore[arg-type]  # one of its literals
        locale="en-US",
        timezone_id="UTC",
    )
    context.set_default_timeout(TIMEOUT_MS)
    return context


@pytest.fixture(scope="package")
def context(browser: Browser) -> Iterator[ContextOf]:
    """Gives the one context of a width, with or without scripts: nothing is kept in a browser."""
    opened: dict[tuple[int, bool], BrowserContext] = {}

    def of(width: int, *, scripts: bool) -> BrowserContext:
        key = (width, scripts)
        if key not in opened:
            opened[key] = open_context(browser, width, scripts=scripts)
        return opened[key]

    yield of
    for each in opened.values():
        each.close()


@pytest.fixture
def visit(context: ContextOf, base: str, width: int) -> Iterator[Visit]:
    """A page with scripts, of either width; afterwards its console must have been quiet."""
    with visiting(context(width, scripts=True), base) as visited:
        yield visited


@pytest.fixture
def plain_visit(context: ContextOf, base: str, width: int) -> Iterator[Visit]:
    """A page with scripts off."""
    with visiting(context(width, scripts=False), base) as visited:
        yield visited


@pytest.fixture(params=["light", "dark"])
def scheme_visit(request: pytest.FixtureRequest, browser: Browser, base: str, width: int) -> Iterator[Visit]:
    """A page in light or dark."""
    context = open_context(browser, width, scheme=request.param)
    with visiting(context, base) as visited:
        yield visited
    context.close()


@contextmanager
def visiting(context: BrowserContext, base: str) -> Iterator[Visit]:
    """Give a new page whose console has to be quiet until the block ends."""
    visited = Visit(context.new_page(), base)
    visited.listen(visited.page)
    yield visited
    visited.page.close()
    assert complaints(visited.said) == []


def complaints(said: list[str]) -> list[str]:
    """Return what a console said, but for refusals that the test asked for itself."""
    expected = re.compile(r"Failed to load resource: the server responded with a status of (404|422|503)")
    return [each for each in said if not expected.search(each)]


def scrolls_sideways(page: Page) -> bool:
    """Tell whether the page is wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
