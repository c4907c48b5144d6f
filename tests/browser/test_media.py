"""Paper, strong contrast, forced colours and little motion: what a reader's system asks for is given."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import scrolls_sideways

PRINTED = (
    "/?as_of=2026-11-14&per_page=100",
    "/compare",
    "/gpus/b200-sxm",
    "/status",
    "/history?gpu=h100-sxm",
)
NOT_ON_PAPER = ".skip, header nav, form, input, select, button, .menu, .out, .pager, .choices, .chart, .open"
A4_WIDTH_PX = 720
"""About the width between the margins of an A4 page, in CSS pixels."""
MOVES = """() => {
    const all = [...document.querySelectorAll("*")];
    return all.flatMap((each) => ["", "::before", "::after"].flatMap((part) => {
        const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(each, part);
        const still = /^0s(, 0s)*$/.test(transitionDuration) && animationName === "none";
        return still && scrollBehavior === "auto" ? [] : [`${each.tagName} ${each.className} ${part}`];
    }));
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in dark, the harder case on paper."""
    context = browser.new_context(viewport={"width": A4_WIDTH_PX, "height": 1000}, color_scheme="dark")
    opened = context.new_page()
    yield opened
    context.close()


def colour(page: Page, selector: str, name: str) -> str:
    return str(page.locator(selector).first.evaluate(f"each => getComputedStyle(each).{name}"))


@pytest.mark.parametrize("path", PRINTED)
def test_paper_holds_words_and_the_whole_table_in_black_on_white(page: Page, base: str, path: str) -> None:
    page.goto(base + path)
    page.emulate_media(media="print")
    shown = page.eval_on_selector_all(
        NOT_ON_PAPER, "all => all.filter(each => each.checkVisibility()).map(each => each.outerHTML)"
    )
    assert shown == []
    assert colour(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    for selector in ("h1", "table.offers thead th.n", "table.offers td.n", "table.offers a"):
        assert colour(page, selector, "color") == "rgb(0, 0, 0)", selector
    assert not scrolls_sideways(page)
    cut = page.eval_on_selector_all(
        ".scroll",
        "all => all.filter(each => getComputedStyle(each).overflow !== 'visible'"
        " || each.scrollWidth > each.clientWidth).length",
    )
    assert cut == 0, "a table stands whole on paper, it does not scroll"
    for link in page.locator("main tbody a:visible").all()[:50]:
        assert link.evaluate("each => getComputedStyle(each, '::after').content") in {"none", "normal"}


def test_paper_keeps_the_notice_and_repeats_the_heads(page: Page, base: str) -> None:
    page.goto(base + PRINTED[0])
    page.emulate_media(media="print")
    expect(page.locator(".notice").first).to_be_visible()
    heads = page.locator("table.offers thead")
    assert heads.evaluate("each => getComputedStyle(each).display") == "table-header-group"
    assert colour(page, "table.offers thead th", "position") == "static"
    rows = page.locator("table.offers tbody tr").count()
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 2, f"{rows} rows need more than one page"


def test_paper_is_no_wider_than_its_words_need(page: Page, base: str) -> None:
    """Every column of the board stands inside the width of the paper."""
    page.goto(f"{base}/?per_page=100")
    page.emulate_media(media="print")
    edges = page.eval_on_selector_all(
        "table.offers thead th:last-child", "all => all.map(e => e.getBoundingClientRect().right)"
    )
    assert max(edges) <= A4_WIDTH_PX


@pytest.mark.parametrize("path", ["/?baseline=h100-sxm", "/history?gpu=h100-sxm", "/compare"])
def test_nothing_moves_for_who_wants_no_motion(page: Page, base: str, path: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(base + path)
    expect(page.locator("[data-figure]:not([data-drawn=yes])")).to_have_count(0)
    assert page.evaluate(MOVES) == []
    assert page.evaluate("document.getAnimations().length") == 0


def test_a_waiting_table_does_not_fade_for_who_wants_no_motion(page: Page, base: str) -> None:
    fade = "document.querySelector('main').classList.add('htmx-request')"
    faded = "getComputedStyle(document.querySelector('table.offers')).opacity"
    for wish, opacity in (("reduce", "1"), ("no-preference", "0.6")):
        page.emulate_media(reduced_motion=wish)  # type: ignore[arg-type]  # both are among its literals
        page.goto(f"{base}/?per_page=5")
        page.evaluate(fade)
        assert page.evaluate(faded) == opacity


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_who_wants_contrast_gets_stronger_inks_lines_and_underlines(
    page: Page, base: str, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # both are among its literals
    page.goto(f"{base}/?baseline=h100-sxm")
    soft, line = colour(page, ".summary", "color"), colour(page, "td.n", "borderBottomColor")
    page.emulate_media(color_scheme=scheme, contrast="more")  # type: ignore[arg-type]  # same
    strongest = "rgb(0, 0, 0)" if scheme == "light" else "rgb(255, 255, 255)"
    assert colour(page, "td.n", "color") == strongest
    for before, selector, name in ((soft, ".summary", "color"), (line, "td.n", "borderBottomColor")):
        after = colour(page, selector, name)
        assert darkness(after) > darkness(before) if scheme == "light" else darkness(after) < darkness(before)
    assert colour(page, "thead th a", "textDecorationLine") == "underline"
    assert colour(page, "tbody .flag", "borderBottomStyle") == "solid"


def darkness(value: str) -> int:
    """Return how dark an rgb() colour is, 0 to 765."""
    return 765 - sum(int(part) for part in re.findall(r"\d+", value)[:3])


def test_forced_colours_keep_every_mark_apart(page: Page, base: str) -> None:
    page.emulate_media(forced_colors="active")
    page.goto(f"{base}/?baseline=h100-sxm&as_of=2026-11-14&gpu=h100")
    for selector in ("tbody .flag", ".notice", "summary .count"):
        assert colour(page, selector, "borderBottomStyle") == "solid", selector
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert not scrolls_sideways(page)
