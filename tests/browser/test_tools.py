"""Every tool in a browser: its example typed by keyboard alone, its link opened again, nothing for axe."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from app.web.tools.registry import TOOLS
from app.web.tools.tool import Tool
from tests.browser.conftest import SIZES, Visit, scrolls_sideways
from tests.browser.test_accessibility import violations
from tests.browser.test_by_keyboard import tab_to

EACH_TOOL = [pytest.param(tool, id=tool.name) for tool in TOOLS]


def type_example(page: Page, tool: Tool) -> None:
    """Type an example into a bare form as a reader without a mouse does: by Tab, keys, Space and Enter."""
    for field in tool.fields:
        text = tool.examples[0].texts.get(field.name)
        if not text:
            continue
        tab_to(page, f"#{field.name}")
        if field.is_switch:
            page.keyboard.press("Space")
        elif field.choices:
            page.keyboard.type(dict(field.choices)[text])
        else:
            page.keyboard.press("Control+A")
            page.keyboard.insert_text(text)
    tab_to(page, ".tool-form button[type=submit]")
    with page.expect_navigation():
        page.keyboard.press("Enter")


def found_text(page: Page) -> str:
    """Return what a page found as it is read, its charts drawn, whose words are among it."""
    for chart in page.locator("#found [data-figure]").all():
        expect(chart).to_have_attribute("data-drawn", "yes")
    return page.locator("#found").inner_text()


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_a_tool_is_used_without_a_mouse_and_its_link_opened_again(visit: Visit, tool: Tool) -> None:
    page = visit.page
    visit.go("/tools")
    tab_to(page, f'main a[href="{tool.path}"]')
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert visit.path() == tool.path
    type_example(page, tool)
    place = urlsplit(visit.path())
    assert (place.path, place.fragment) == (tool.path, "found")
    expect(page.locator("#found")).to_be_in_viewport()
    found = found_text(page)
    assert len(found) > 40
    tab_to(page, "p.out a")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    again = visit.path()
    assert urlsplit(again).path == tool.path
    assert found_text(page) == found
    visit.go(again)
    assert found_text(page) == found
    assert not scrolls_sideways(page)
    visit.shoot(f"tool-{tool.name}")


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_a_tool_works_without_scripts(plain_visit: Visit, tool: Tool) -> None:
    page = plain_visit.page
    plain_visit.go(tool.path)
    for name, text in tool.examples[0].texts.items():
        field = tool.by_name[name]
        control = page.locator(f"#{name}")
        if field.is_switch:
            control.check()
        elif field.choices:
            control.select_option(text)
        else:
            control.fill(text)
    page.locator(".tool-form button[type=submit]").last.click()
    assert urlsplit(plain_visit.path()).path == tool.path
    expect(page.locator("#found")).to_be_visible()
    page.locator(".tool-form .actions a").click()
    assert plain_visit.path() == tool.path


@pytest.fixture(scope="module", params=["light", "dark"])
def looked(request: pytest.FixtureRequest, browser: Browser, axe: str) -> Iterator[list[Page]]:
    """A page of each width into which axe is put, in one scheme."""
    contexts = [
        browser.new_context(viewport=size, color_scheme=request.param, bypass_csp=True)  # type: ignore[arg-type]  # a plain dictionary will do
        for size in SIZES.values()
    ]
    for context in contexts:
        context.add_init_script(axe)
    yield [context.new_page() for context in contexts]
    for context in contexts:
        context.close()


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_axe_finds_nothing_in_a_tool_its_findings_and_its_errors(
    looked: list[Page], base: str, tool: Tool
) -> None:
    field = next(each for each in tool.fields if not each.choices and not each.is_switch)
    wrong = f"{tool.path}?{field.name}=%7B%22no"
    for page in looked:
        for path in (tool.path, *(tool.example_link(each) for each in tool.examples), wrong):
            answer = page.goto(base + path)
            assert answer is not None
            assert answer.status == (422 if path == wrong else 200)
            for place in page.locator("[data-figure]").all():
                expect(place).to_have_attribute("data-drawn", "yes")
            page.evaluate("for (const each of document.querySelectorAll('#board details')) each.open = true")
            assert violations(page) == [], path


@pytest.mark.parametrize("tool", EACH_TOOL)
def test_what_is_wrong_has_the_focus_and_its_words(visit: Visit, tool: Tool) -> None:
    """A form with a wrong field comes back as it was, with the place in it and what is wrong read out."""
    page = visit.page
    visit.go(tool.path)
    field = next(each for each in tool.fields if not each.choices and not each.is_switch)
    page.locator(f"#{field.name}").fill('{"no')
    page.locator(".tool-form button[type=submit]").last.click()
    marked = page.locator("[aria-invalid=true]")
    expect(marked).to_have_value('{"no')
    expect(marked).to_be_focused()
    described = (marked.get_attribute("aria-describedby") or "").split()
    assert [page.locator(f"#{each}").inner_text() for each in described][1]
    expect(page.locator("p.notice[role=alert]")).to_contain_text(field.label)


def test_a_line_for_a_terminal_is_copied(visit: Visit) -> None:
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.go("/tools/prefix-cache?cold_s=4.65&warm_s=1.23")
    button = page.locator("button.copy-text")
    button.click()
    expect(button).to_have_class("copy-text copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "inferprice check prefix-cache --cold-s 4.65 --warm-s 1.23"


def test_without_scripts_nothing_offers_to_copy(plain_visit: Visit) -> None:
    plain_visit.go("/tools/prefix-cache")
    expect(plain_visit.page.locator("pre.command")).to_be_visible()
    expect(plain_visit.page.locator("button.copy-text")).to_be_hidden()
