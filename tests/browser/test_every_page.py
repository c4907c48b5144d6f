"""Every page at a desk's, a tablet's and a telephone's width, in light and dark, with scripts and without."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from starlette.routing import compile_path

from app.web.main import create_app
from app.web.site_files import page_paths
from app.web.tools.registry import TOOLS
from tests.browser.conftest import Visit, complaints, scrolls_sideways
from tests.browser.test_accessibility import violations
from tests.web.conftest import settings_for

PAGES = (
    *("/", "/?as_of=2026-11-01", "/?q=no+such+offer"),
    *("/compare", "/claims", "/gpus", "/gpus/h200-sxm", "/providers", "/providers/runpod"),
    *("/history", "/changes", "/status", "/methodology", "/measured"),
    *("/about-data", "/docs", "/quote", "/charts/scatter", "/charts/bars", "/offers/1"),
    *(
        "/llms",
        "/llms?q=nothing+like+it",
        "/llms/config",
        "/llms/Qwen/Qwen3-8B?batch=1,512&measured=41.5|h200-sxm|fp8||1|4096|bf16|Hale",
        "/llms/Qwen/Qwen3-8B/offers/1",
    ),
    *("/tools", *(tool.example_link(tool.examples[-1]) for tool in TOOLS)),
    *("/?gpu=x", "/nothing", "/gpus/h100", "/compare?gpu=x", "/tools/prefix-cache?cold_s=1&warm_s=2"),
)
WIDTHS = {1280: 900, 768: 1024, 390: 844}
SHIFT_LIMIT = 0.05
"""The cumulative layout shift of a page that its reader would not notice."""
COUNT_SHIFTS = """
    window.shifted = 0;
    new PerformanceObserver((list) => {
        for (const each of list.getEntries()) if (!each.hadRecentInput) window.shifted += each.value;
    }).observe({ type: "layout-shift", buffered: true });
"""
SETTLED = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(
    () => setTimeout(() => done(window.shifted), 60))))"""
UNSEEN = """() => {
    const seen = (each) => each.checkVisibility() && !each.closest(".chart") && each.tabIndex >= 0;
    const reached = [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")];
    return reached.filter(seen).flatMap((each) => {
        each.focus({ preventScroll: true });
        const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(each);
        const drawn = outlineStyle === "solid" && parseFloat(outlineWidth) >= 2;
        const accent = getComputedStyle(document.querySelector("main a, .top nav a")).color;
        return drawn && outlineColor === accent ? [] : [`${each.outerHTML.slice(0, 90)} ${outlineStyle}`];
    });
}"""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a page is looked at."""

    width: int
    scheme: str
    scripts: bool


KINDS = [
    Kind(width, scheme, scripts)
    for width in WIDTHS
    for scheme in ("light", "dark")
    for scripts in (True, False)
]


@pytest.fixture(
    params=KINDS, ids=lambda kind: f"{kind.width}-{kind.scheme}-{'scripts' if kind.scripts else 'plain'}"
)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
def seen(kind: Kind, browser: Browser) -> Iterator[BrowserContext]:
    """A browser of one kind, which counts what jumps."""
    context = browser.new_context(
        viewport={"width": kind.width, "height": WIDTHS[kind.width]},
        java_script_enabled=kind.scripts,
        color_scheme=kind.scheme,  # type: ignore[arg-type]  # one of its literals
        locale="en-US",
        timezone_id="UTC",
    )
    context.set_default_timeout(15_000)
    if kind.scripts:
        context.add_init_script(COUNT_SHIFTS)
    yield context
    context.close()


def faults(visit: Visit, path: str, kind: Kind, axe: str) -> Iterator[str]:
    """Go to a page and yield what is wrong with it."""
    visit.said.clear()
    visit.go(path)
    if kind.scripts:
        expect(visit.page.locator("[data-figure]:not([data-drawn=yes])")).to_have_count(0, timeout=15_000)
        shift = float(visit.page.evaluate(SETTLED))
        if shift > SHIFT_LIMIT:
            yield f"{path} jumps: {shift:.3f}"
    if scrolls_sideways(visit.page):
        yield f"{path} is wider than the window"
    yield from (f"{path} {each}" for each in complaints(visit.said))
    if kind == Kind(768, "light", True):  # test_accessibility.py looks at the other two widths, in dark too
        visit.page.evaluate(axe)
        yield from (f"{path} {each}" for each in violations(visit.page))


def test_nothing_jumps_overflows_or_complains(kind: Kind, seen: BrowserContext, base: str, axe: str) -> None:
    visit = Visit(seen.new_page(), base)
    visit.listen(visit.page)
    assert [fault for path in PAGES for fault in faults(visit, path, kind, axe)] == []


def test_a_page_that_jumps_is_noticed(browser: Browser, base: str) -> None:
    """The check of the check: what pushes the page down by hand is counted."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(COUNT_SHIFTS)
    page = context.new_page()
    page.goto(f"{base}/compare")
    assert page.evaluate(SETTLED) <= SHIFT_LIMIT
    page.evaluate(
        "document.body.prepend(Object.assign(document.createElement('div'), {textContent: 'x'}));"
        "document.body.firstChild.style.height = '400px'"
    )
    assert page.evaluate(SETTLED) > SHIFT_LIMIT
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_keyboard_s_place_is_seen_everywhere(browser: Browser, base: str, scheme: str) -> None:
    """What the keyboard reaches has a line around it in the page's accent; the first skips the head."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]  # one of its literals
    page = context.new_page()
    for path in PAGES if scheme == "light" else PAGES[:5]:
        page.goto(base + path)
        if page.locator("[autofocus]").count():
            # What is wrong in a form has the focus at once, so Tab goes on from there.
            assert page.evaluate("document.activeElement.matches('[autofocus][aria-invalid]')"), path
        else:
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.matches('a.skip')"), path
            assert page.evaluate("document.querySelector(document.activeElement.hash).matches('main')"), path
            assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0, path
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert page.evaluate(UNSEEN) == [], path
    assert contrast_of_accent(page) >= 3
    context.close()


def contrast_of_accent(page: Page) -> float:
    """Return WCAG 2.2's contrast ratio of the accent to the ground: (lighter + 0.05) / (darker + 0.05)."""
    link = page.evaluate("getComputedStyle(document.querySelector('main a')).color")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark, light = sorted(map(luminance, (link, ground)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_no_page_is_forgotten(base: str) -> None:
    """Every page the application serves, and every page another leads to, is among the pages of this file."""
    served = page_paths(create_app(settings_for("sqlite://")))
    looked_at = [urlsplit(path).path for path in PAGES]
    for path in served:
        pattern = compile_path(path)[0]
        assert [each for each in looked_at if pattern.match(each)], f"{path} is not among PAGES"
    led_to = {shape(path) for path in addresses(base, r"(/[^\"?#]*)") if "." not in path}
    assert led_to - {"/static/*", "/figures/*"} <= {shape(path) for path in looked_at}


def test_no_address_takes_the_mark_after_it_along(base: str) -> None:
    """What is made a link from running text ends before the bracket, comma or colon of its sentence."""
    found = addresses(base, r"(https?://[^\"]*)")
    assert len(set(found)) > 20
    assert [each for each in found if each[-1] in ".,:;)"] == []


def addresses(base: str, pattern: str) -> list[str]:
    """Return the addresses of one kind that links of any page lead to."""
    with httpx.Client(base_url=base, trust_env=False) as client:
        return [each for path in PAGES for each in re.findall(f'href="{pattern}"', client.get(path).text)]


def shape(path: str) -> str:
    """Return the path with all after its first part as a star."""
    first, _, rest = path.removeprefix("/").partition("/")
    return f"/{first}/*" if rest else f"/{first}"
