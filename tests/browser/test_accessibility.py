"""axe-core finds nothing to object to in light and dark, and the keyboard reaches everything."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from app.domain.rows import FLAG_MEANINGS
from tests.browser.conftest import SIZES, Visit


@pytest.fixture(scope="module", params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=list(SIZES))
def page(request: pytest.FixtureRequest, browser: Browser, scheme: str, axe: str) -> Iterator[Page]:
    """A page into which axe may be put: it is not from our server, so for it the policy is set aside."""
    context = browser.new_context(viewport=SIZES[request.param], color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]  # plain values will do
    context.add_init_script(axe)
    opened = context.new_page()
    yield opened
    context.close()


def violations(page: Page) -> list[str]:
    """Run axe with all its rules and return what it objects to, each with where."""
    found: dict[str, Any] = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {each['help']}: {node['html'][:120]} {node['any'][:1]}"
        for each in found["violations"]
        for node in each["nodes"][:3]
    ]


COMPARED = "/compare?gpu=h100-sxm&gpu=h200-sxm&gpu=b200-sxm&gpu=rtx-pro-6000-server&spec=alt"
BOARDS = "/?per_page=12&baseline=h100-sxm&sort=-flags"


@pytest.mark.parametrize(
    "path",
    [
        BOARDS,
        "/?as_of=2026-11-01",
        "/offers/1",
        "/docs",
        "/?gpu=x",
        "/nothing",
        "/changes",
        "/status",
        COMPARED,
        "/claims",
    ],
    ids=[
        "board",
        "empty board of a past day",
        "evidence",
        "API",
        "wrong value",
        "not found",
        "changes",
        "status",
        "compare",
        "claims",
    ],
)
def test_no_violation_on_any_page(page: Page, base: str, path: str) -> None:
    page.goto(base + path)
    assert violations(page) == []


@pytest.mark.parametrize(
    "path",
    [
        *("/gpus", "/gpus/h100-sxm", "/gpus/h100", "/history?gpu=h100-sxm", "/history?metric=x"),
        *(
            "/charts/scatter",
            "/charts/bars",
            "/providers",
            "/providers/runpod",
            "/methodology",
            "/about-data",
        ),
    ],
)
def test_no_violation_on_pages_about_cards_providers_and_method(page: Page, base: str, path: str) -> None:
    page.goto(base + path)
    for place in page.locator("[data-figure]").all():
        expect(place).to_have_attribute("data-drawn", "yes")
    assert violations(page) == []


def test_no_violation_with_findings_and_meanings_unfolded(page: Page, base: str) -> None:
    for path in ("/status", "/changes", "/compare", "/claims"):
        page.goto(base + path)
        page.evaluate("for (const each of document.querySelectorAll('#board details')) each.open = true")
        assert violations(page) == [], path


def test_no_violation_with_menus_notes_and_evidence_open(page: Page, base: str) -> None:
    page.goto(base + BOARDS)
    for menu in ("gpu", "size", "columns"):
        page.locator(f"#menu-{menu} > summary").click()
        assert violations(page) == [], menu
        page.keyboard.press("Escape")
    page.locator("#meanings > summary").click()
    page.locator("td.open a").first.click()
    expect(page.locator("tr.evidence")).to_be_visible()
    assert violations(page) == []


def test_every_warning_is_on_the_board_that_axe_looks_at(page: Page, base: str) -> None:
    """Colours of badges are only checked where they show."""
    page.goto(
        f"{base}/?per_page=1000&gpu=rubin&gpu=h100&gpu=b200&provider=odd&provider=nebius&provider=runpod"
    )
    shown = page.eval_on_selector_all("tbody .flag", "flags => flags.map(flag => flag.className)")
    page.goto(
        f"{base}/?per_page=1000&provider=acme&provider=odd&provider=nebius&provider=runpod"
        "&provider=oldhost&provider=ancient&quote=Inbox|h100-sxm|2.50&weights_gb=140"
    )
    assert violations(page) == []
    shown += page.eval_on_selector_all("tbody .flag", "flags => flags.map(flag => flag.className)")
    # Converted and aggregator rows look like plain badges and have tests of their own.
    assert {each.removeprefix("flag ") for each in shown} == set(FLAG_MEANINGS) - {"converted", "aggregator"}


# ---------------------------------------------------------------- the keyboard


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim().slice(0, 30)"))


def test_the_first_stop_skips_to_the_table(visit: Visit) -> None:
    visit.go("/")
    visit.page.keyboard.press("Tab")
    assert focused(visit.page) == "Skip to the table"
    visit.page.keyboard.press("Enter")
    expect(visit.page).to_have_url(re.compile(r"/#board$"))


def test_tab_to_a_header_and_sort_with_the_return_key(visit: Visit) -> None:
    visit.go("/?per_page=5")
    visit.page.locator(".scroll").focus()
    for _ in range(3):
        visit.page.keyboard.press("Tab")
    assert focused(visit.page) == "$/GPU-h"
    for direction in ("ascending", "descending"):
        visit.page.keyboard.press("Enter")
        expect(visit.page.locator(f"th[aria-sort={direction}]")).to_contain_text("$/GPU-h")
        assert focused(visit.page) == "$/GPU-h", "the reader's place in the page is kept"
    assert visit.path() == "/?sort=-usd_per_gpu_hour&per_page=5"


def test_a_menu_opens_and_closes_with_the_keyboard(visit: Visit) -> None:
    visit.go("/")
    summary = visit.page.locator("#menu-provider > summary")
    summary.focus()
    visit.page.keyboard.press("Enter")
    first = visit.page.locator("#menu-provider input").first
    expect(first).to_be_visible()
    visit.page.keyboard.press("Tab")
    expect(first).to_be_focused()
    visit.page.keyboard.press("Space")
    expect(visit.page.locator("#menu-provider > summary .count")).to_have_text("1")
    expect(first).to_be_visible()
    expect(first).to_be_focused()
    visit.page.keyboard.press("Escape")
    expect(first).not_to_be_visible()
    expect(summary).to_be_focused()


def test_evidence_opens_and_closes_with_the_keyboard(visit: Visit) -> None:
    visit.go("/?q=runpod")
    opener = visit.page.locator("td.open a").first
    opener.focus()
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("tr.evidence")).to_be_visible()
    expect(opener).to_be_focused()
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("tr.evidence")).to_have_count(0)
    expect(opener).to_be_focused()


def test_opening_a_menu_closes_the_other(visit: Visit) -> None:
    visit.go("/")
    visit.page.locator("#menu-gpu > summary").click()
    visit.page.locator("#menu-columns > summary").click()
    expect(visit.page.locator("details.menu[open]")).to_have_count(1)
    visit.page.locator("h1").click(force=True)
    expect(visit.page.locator("details.menu[open]")).to_have_count(0)
