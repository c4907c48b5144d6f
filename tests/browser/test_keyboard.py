"""By keyboard alone: every menu opens and closes, the reader's place outlives a swap, a new count is said."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visit


def place(page: Page) -> list[str]:
    """Return what tells the focused control from all others."""
    here = "[document.activeElement.tagName, document.activeElement.id, document.activeElement.name]"
    return [str(each) for each in page.evaluate(here)]


def swapped(visit: Visit, address: str) -> None:
    """Wait until the board of an address has been swapped in."""
    visit.page.wait_for_url(re.compile(re.escape(address) + "$"))
    expect(visit.page.locator("a.copy")).to_have_attribute("href", address)


@pytest.mark.parametrize("path", ["/", "/compare"])
def test_every_menu_opens_and_closes_and_gives_the_place_back(visit: Visit, path: str) -> None:
    visit.go(path)
    menus = visit.page.locator("details.menu > summary")
    assert menus.count() >= 2
    for number in range(menus.count()):
        summary = menus.nth(number)
        inside = visit.page.locator("details.menu").nth(number).locator(":is(input, select, a, button)").first
        for key in ("Enter", "Space"):
            summary.focus()
            visit.page.keyboard.press(key)
            expect(inside).to_be_visible()
            visit.page.keyboard.press("Tab")
            assert inside.evaluate("each => each === document.activeElement")
            visit.page.keyboard.press("Escape")
            expect(inside).not_to_be_visible()
            expect(summary).to_be_focused()


def test_the_place_is_kept_when_filters_change(visit: Visit) -> None:
    page = visit.page
    visit.go("/")
    page.locator("select[name=precision]").focus()
    before = place(page)
    page.keyboard.press("ArrowDown")
    swapped(visit, "/?precision=int8")
    assert place(page) == before
    page.locator("input[name=weights_gb]").focus()
    before = place(page)
    page.keyboard.press("Control+A")
    page.keyboard.type("140")
    page.keyboard.press("Enter")
    swapped(visit, "/?precision=int8&weights_gb=140")
    assert place(page) == before
    page.locator("#q").focus()
    page.keyboard.type("runpod")
    page.keyboard.press("Enter")
    swapped(visit, "/?precision=int8&weights_gb=140&q=runpod")
    assert page.evaluate("document.activeElement.id") == "q"
    assert page.locator("#q").input_value() == "runpod"


def press(visit: Visit, control: Locator, address: str) -> None:
    control.focus()
    visit.page.keyboard.press("Enter")
    swapped(visit, address)


def test_the_place_is_kept_when_pages_turn(visit: Visit) -> None:
    page = visit.page
    visit.go("/?per_page=20")
    for number in (2, 3):
        press(visit, page.locator(".pager a[rel=next]"), f"/?page={number}&per_page=20")
        assert page.evaluate("document.activeElement.textContent") == "Next"
    press(visit, page.locator(".pager a[rel=prev]"), "/?page=2&per_page=20")
    assert page.evaluate("document.activeElement.textContent") == "Previous"


def test_the_place_stays_in_the_pager_at_its_ends(visit: Visit) -> None:
    """Where the link that was pressed is none any more, the place goes to the other, not to the top."""
    page = visit.page
    visit.go("/?page=2")
    press(visit, page.locator(".pager a[rel=prev]"), "/")
    assert page.evaluate("document.activeElement.textContent") == "Next"
    press(visit, page.locator(".pager a[rel=next]"), "/?page=2")
    assert page.evaluate("document.activeElement.textContent") == "Previous"


def test_reset_keeps_the_place(visit: Visit) -> None:
    visit.go("/?gpu=h100&sort=-usd_per_gpu_hour")
    press(visit, visit.page.locator("a.reset"), "/")
    expect(visit.page.locator("a.reset")).to_be_focused()


def test_a_new_count_is_said_by_the_node_that_was_there(visit: Visit) -> None:
    """A reader's voice listens to one node: it has to outlive every swap and change its words."""
    page = visit.page
    visit.go("/")
    live = page.locator("[aria-live=polite]")
    expect(live).to_have_count(1)
    before = live.inner_text()
    page.evaluate("""() => {
        const live = document.querySelector("[aria-live=polite]");
        live.watched = true;
        window.said = [];
        new MutationObserver(() => window.said.push(live.textContent.trim()))
            .observe(live, { childList: true, characterData: true, subtree: true });
    }""")
    page.locator("#menu-gpu > summary").click()
    page.locator("#menu-gpu input[value=h100]").check()
    swapped(visit, "/?gpu=h100")
    page.keyboard.press("Escape")
    page.locator("#q").fill("runpod")
    page.locator("#q").press("Enter")
    swapped(visit, "/?gpu=h100&q=runpod")
    press(visit, page.locator("thead a", has_text="$/GPU-h"), "/?gpu=h100&sort=usd_per_gpu_hour&q=runpod")
    assert page.evaluate("document.querySelector('[aria-live=polite]').watched") is True
    after = live.inner_text()
    assert after != before
    assert re.match(r"\d+ of \d+ offers", after)
    said = page.evaluate("window.said")
    assert [each for each in said if each.startswith(after[:10])]
